"""The ledger: what was promised, reserved and spent, in exact numbers, in the order it happened.

Every question is quoted, reserved, started and finished. A reservation can be voided as long as no data were
touched; from the start on the charge stays, whatever comes out. Spending is a function of the entries alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NoReturn

from discreet.accounting.composition import Item
from discreet.accounting.filters import AdvancedFilter, Filter, PureFilter
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, DiscreetError, InternalError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import Neighbours

Amounts = Mapping[str, Fraction]
State = Literal["reserved", "started", "finished", "voided"]

HELD_BACK = Fraction(1, 10)
"""The part of delta that pays for failures, such as those of thresholds; the rest converts rho to epsilon."""

_NEXT: dict[State, tuple[State, ...]] = {
    "reserved": ("started", "voided"),
    "started": ("finished",),
    "finished": (),
    "voided": (),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    Attributes
    ----------
    number
        Its place, from 0.
    analyst
        Who asked.
    what
        The question in its canonical form. It holds no data.
    charge
        What it costs, coordinate by coordinate.
    state
        How far it is.
    """

    number: int
    analyst: str
    what: str
    charge: tuple[tuple[str, Fraction], ...]
    state: State


class Ledger:
    """One budget for one data set, shares of it for analysts, and every charge against them.

    The data set's budget is an adaptive filter, so it holds for any number of analysts who choose their
    questions and prices after seeing all answers, and pool them.

    Parameters
    ----------
    epsilon, delta
        The budget of everything together.
    neighbours
        The change that all charges must be about.
    """

    def __init__(self, *, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours) -> None:
        d = checks.delta(delta=delta)
        self._filter: Filter = (
            AdvancedFilter(epsilon=epsilon, delta=d, failure=d * HELD_BACK, neighbours=neighbours)
            if d
            else PureFilter(epsilon=epsilon, neighbours=neighbours)
        )
        self._neighbours = neighbours
        self._entries: list[Entry] = []
        # Kept up to date, so that no answer takes the longer the more others have asked.
        self._spent: dict[str | None, dict[str, Fraction]] = {}
        self._caps: dict[str, dict[str, Fraction]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever charged here promises together."""
        return Guarantee(self._filter.guarantee, self._neighbours)

    @property
    def budget(self) -> dict[str, Fraction]:
        """The budget, coordinate by coordinate."""
        return self._filter.budget

    def cap(self, analyst: str, share: checks.Number) -> None:
        """Allow an analyst a share of the budget; once, and never more than that."""
        part = checks.positive(share=share)
        if part > 1:
            raise InvalidParameter(name="share", rule="at most 1", value=share)
        with self._lock:
            if analyst in self._caps:
                raise InvalidParameter(name="analyst", rule="one without a share yet", value=analyst)
            self._caps[analyst] = {name: part * most for name, most in self.budget.items()}

    def quote(self, item: Item) -> dict[str, Fraction]:
        """Return what an item would be charged. Nothing is reserved.

        Raises
        ------
        InvalidParameter
            When it has no finite charge here, such as Gaussian noise against a budget without delta.
        """
        cost = self._filter.cost(item)
        if cost is None:
            raise InvalidParameter(
                name="question", rule="one with a finite charge in this budget", got="none", hint=_WAY_OUT
            )
        return cost.amounts

    def reserve(self, analyst: str, what: str, item: Item) -> int:
        """Take an item's charge out of the budget before any data are touched, and return its number.

        Raises
        ------
        BudgetExceeded
            When it does not fit in the data set's budget or the analyst's share. Nothing is charged.
        """
        charge = self.quote(item)
        with self._lock:
            self._require_process()
            # One's own share first: where shares add up to the whole, no refusal tells what others spent.
            for name, left in (
                (f"the share of {analyst}", self._left(analyst)),
                ("the data set's budget", self._left(None)),
            ):
                if left is not None and any(charge[part] > left[part] for part in charge):
                    raise BudgetExceeded(
                        asked=_words(charge), left=_words(left), budget=name, way_out=_CHEAPER
                    )
            number = len(self._entries)
            self._entries.append(Entry(number, analyst, what, tuple(charge.items()), "reserved"))
            self._add(analyst, charge, 1)
            return number

    def start(self, number: int) -> None:
        """Mark that data are touched now: from here on the charge stays."""
        self._move(number, "started")

    def finish(self, number: int) -> None:
        """Mark that the answer is out."""
        self._move(number, "finished")

    def void(self, number: int) -> None:
        """Give a reservation back. Only possible before its start."""
        self._move(number, "voided")

    def void_unless_started(self, number: int) -> bool:
        """Give a reservation back where no data were touched for it; tell whether it was."""
        with self._lock:
            self._require_process()
            if self._entries[number].state != "reserved":
                return False
            self._set_state(number, "voided")
            return True

    def entry(self, number: int) -> Entry:
        """Return one entry."""
        with self._lock:
            return self._entries[checks.index(len(self._entries), number=number)]

    def entries(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """List the entries in order, or those of one analyst."""
        with self._lock:
            return tuple(e for e in self._entries if analyst is None or e.analyst == analyst)

    def spent(self, analyst: str | None = None) -> dict[str, Fraction]:
        """Return what is reserved or spent, by all or by one analyst."""
        with self._lock:
            return self._sum(analyst)

    def left(self, analyst: str | None = None) -> dict[str, Fraction]:
        """Return what the data set has left, or what one analyst may still spend of it."""
        with self._lock:
            whole = self._left(None) or {}
            own = None if analyst is None else self._left(analyst)
            return whole if own is None else {name: min(whole[name], own[name]) for name in whole}

    def _sum(self, analyst: str | None) -> dict[str, Fraction]:
        return dict(self._spent.get(analyst) or dict.fromkeys(self.budget, Fraction(0)))

    def _add(self, analyst: str, charge: Amounts, sign: int) -> None:
        for line in (None, analyst):
            total = self._sum(line)
            self._spent[line] = {name: total[name] + sign * charge[name] for name in total}

    def _left(self, analyst: str | None) -> dict[str, Fraction] | None:
        most = self.budget if analyst is None else self._caps.get(analyst)
        if most is None:
            return None
        used = self._sum(analyst)
        return {name: most[name] - used[name] for name in most}

    def _move(self, number: int, state: State) -> None:
        with self._lock:
            self._require_process()
            self._set_state(checks.index(len(self._entries), number=number), state)

    def _set_state(self, number: int, state: State) -> None:
        entry = self._entries[number]
        if state not in _NEXT[entry.state]:
            raise InternalError(f"entry {number} is {entry.state} and cannot become {state}")
        self._entries[number] = replace(entry, state=state)
        if state == "voided":
            self._add(entry.analyst, dict(entry.charge), -1)

    def _require_process(self) -> None:
        if os.getpid() != self._process:
            raise DiscreetError("this ledger belongs to another process: a fork would double the budget")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a ledger cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        return f"<Ledger: {len(self._entries)} entries; left {_words(self.left())}>"


_CHEAPER = (
    "Ask fewer or cheaper questions (counts that the shared hypothesis answers cost nothing), "
    "or ask the owner for a larger share"
)
_WAY_OUT = "Give the curator a delta above 0, or ask for pure noise"


def _words(amounts: Amounts) -> str:
    return ", ".join(f"{name} {float(amount):.6g}" for name, amount in amounts.items())
