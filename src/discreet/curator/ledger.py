"""The ledger: what was promised, reserved and spent, in exact numbers, in the order it happened.

Every question is quoted, reserved, started and finished. A reservation can be voided as long as no data were
touched; from the start on the charge stays, whatever comes out. Spending is a function of the entries alone.

Every change is one step, which says how an entry and the sums it counts on are from then on, and it happens
by one assignment. Filing it where it is looked up comes after, and is done again by whoever comes next if it
was interrupted: so an interrupt, wherever it comes, leaves a change whole or undone.

A budget with a delta goes on in either of two ways: while the epsilons and deltas of all questions add up to
at most (epsilon, a tenth of delta), or while their rhos add up to at most what the rest of delta allows. Of
a transcript that ends within the first, the process stopped by the first alone says that it is off by at most
a tenth of delta, and of all others the process stopped by the second alone, by at most the rest. So a delta
never buys fewer answers than none, whatever noise each of them has.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NoReturn

from discreet.accounting.charges import Charge, words
from discreet.accounting.composition import Item
from discreet.accounting.filters import Filter, make_filter
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, DiscreetError, InternalError, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.curator.amounts import Amounts
from discreet.curator.entries import NEXT, ChargedEntry, Entry, LineSum, State, Ticket
from discreet.curator.limits import ENTRIES


@dataclass(slots=True)
class _Line:
    """What one analyst, or all of them together, may spend of a budget, and have spent."""

    name: str
    filter: Filter
    share: Fraction
    way_out: str
    given: Fraction
    """The part of the whole budget that was allowed here; `share` is of this line's own filter."""
    sum: LineSum

    @property
    def spent(self) -> Charge:
        """What is reserved or spent here."""
        return self.sum.spent

    def fits(self, charge: Charge) -> bool:
        """Tell whether a charge fits on top."""
        return self.filter.fits(self.spent + charge, share=self.share)

    def keeps_pairs(self, charge: Charge) -> bool:
        """Tell whether epsilons and deltas still add up to no more than the budget with a charge on top."""
        return "epsilon" in self.filter.left_of(self.spent + charge, share=self.share)

    def ends_pairs(self, charge: Charge) -> bool:
        """Tell whether it is this charge that makes epsilons and deltas add up to more than the budget."""
        return "epsilon" in self.left and not self.keeps_pairs(charge)

    @property
    def left(self) -> dict[str, Fraction]:
        """What is left, in the coordinates that can still be spent."""
        return self.filter.left_of(self.spent, share=self.share)


@dataclass(frozen=True, slots=True)
class _Step:
    """One change: a record as it is from now on, and the sums of its lines."""

    record: ChargedEntry
    sums: tuple[tuple[_Line, LineSum], ...]


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
    apart
        Whether a share is a budget of its own that nothing others spend can touch, and not a bound on what
        one analyst uses of the common one. Shares then add up to at most 1, and so do their guarantees.
    """

    def __init__(
        self, *, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours, apart: bool = False
    ) -> None:
        self._epsilon, self._delta = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
        self._neighbours, self._apart = neighbours, apart
        self._filter = self._make_filter(Fraction(1))
        all_of_it = Fraction(1), _OTHER_BUDGET, Fraction(1), LineSum(self._filter.nothing)
        self._whole = _Line("the data set's budget", self._filter, *all_of_it)
        self._step: _Step | None = None  # what happened last, as long as it is not filed
        self._records: dict[int, ChargedEntry] = {}
        # Sums are kept, so that no answer takes the longer the more others have asked.
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _make_filter(self, share: Fraction) -> Filter:
        part = {"epsilon": share * self._epsilon, "delta": share * self._delta}
        return make_filter(**part, neighbours=self._neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever charged here promises together."""
        loss = ApproxLoss(self._epsilon, self._delta) if self._delta else PureLoss(self._epsilon)
        return Guarantee(loss, self._neighbours)

    @property
    def budget(self) -> Amounts:
        """The budget, coordinate by coordinate."""
        return Amounts(self._filter.budget)

    def cap(self, analyst: str, share: checks.Number) -> None:
        """Allow an analyst a share of the budget; once, and never more than that."""
        part, most = checks.positive(share=share), Fraction(1)
        with self._lock:
            if self._apart:
                most -= self._given
            if part > most:
                rule = f"at most {most}{': the rest is set aside' if most < 1 else ''}"
                raise InvalidParameter(name="share", rule=rule, value=share)
            if analyst in self._lines:
                raise InvalidParameter(name="analyst", rule="one without a share yet", value=analyst)
            own, bound = (self._make_filter(part), Fraction(1)) if self._apart else (self._filter, part)
            self._lines[analyst] = _Line(
                f"the share of {analyst}", own, bound, _LARGER_SHARE, part, LineSum(own.nothing)
            )

    def share(self, analyst: str) -> Fraction | None:
        """Return the share an analyst was allowed; None where none was."""
        with self._lock:
            line = self._lines.get(analyst)
            return None if line is None else line.given

    @property
    def _given(self) -> Fraction:
        """The part of the budget that is set aside."""
        return sum((line.given for line in self._lines.values()), Fraction(0))

    def quote(self, analyst: str, item: Item, *, bought: ApproxLoss | None = None) -> Amounts:
        """Return what an analyst would be charged for an item. Nothing is reserved.

        Raises
        ------
        InvalidParameter
            When it has no finite charge here, such as Gaussian noise against a budget without delta.
        """
        with self._lock:
            self._file()
            return Amounts(self._charge(self._find_lines(analyst), item, bought)[-1].amounts)

    def fit(self, analyst: str, item: Item, *, bought: ApproxLoss | None = None) -> Literal[0, 1, 2]:
        """Tell whether an item could be reserved now: 0 for no, 1 if that ends adding up pairs, 2 if not."""
        with self._lock:
            self._file()
            lines = self._find_lines(analyst)
            charges = self._find_charges(lines, item, bought)
            if not charges or not all(map(_Line.fits, lines, charges)):
                return 0
            return 1 if any(map(_Line.ends_pairs, lines, charges)) else 2

    def reserve(
        self,
        analyst: str,
        what: str,
        item: Item,
        *,
        bought: ApproxLoss | None = None,
        ticket: Ticket | None = None,
    ) -> int:
        """Take an item's charge out of the budget before any data are touched, and return its number.

        Parameters
        ----------
        analyst, what
            Who asks, and what.
        item
            What it costs.
        bought
            A second true statement of what it costs: the pair that it was bought for.
        ticket
            What it can be given back by, should an interrupt come before its number is known.

        Raises
        ------
        BudgetExceeded
            When it does not fit in the data set's budget or the analyst's share. Nothing is charged.
        """
        with self._lock:
            self._require_process()
            self._file()
            lines = self._find_lines(analyst)
            charges = self._charge(lines, item, bought)
            if lines[0].sum.entries >= ENTRIES:
                raise Refused(
                    what="question",
                    why=f"an analyst may buy at most {ENTRIES} answers",
                    way_out="Ask what the shared hypothesis answers, or the owner for another budget",
                )
            # Where both refuse, a larger share would not help.
            for line, charge in zip(reversed(lines), reversed(charges), strict=True):
                if not line.fits(charge):
                    raise BudgetExceeded(
                        asked=str(charge),
                        left=words(line.left) or "nothing",
                        budget=line.name,
                        way_out=f"{_CHEAPER}{line.way_out}",
                    )
            number = len(self._records)
            charged = tuple(charges[-1].amounts.items())
            entry = Entry(number, analyst, what, charged, "reserved")
            sums = [
                LineSum(line.spent + charge, line.sum.entries + 1)
                for line, charge in zip(lines, charges, strict=True)
            ]
            self._take(ChargedEntry(entry, tuple(charges), ticket or Ticket()), lines, sums)
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

    def void_unless_started(self, ticket: Ticket) -> bool:
        """Give back what was reserved for a ticket; tell whether no data were touched for it.

        Nothing is given back where nothing was reserved, or where it was given back before.
        """
        with self._lock:
            self._require_process()
            self._file()
            if ticket.number is None:
                return True
            state = self._records[ticket.number].entry.state
            if state == "reserved":
                self._set_state(ticket.number, "voided")
            return state in ("reserved", "voided")

    def entry(self, number: int) -> Entry:
        """Return one entry."""
        with self._lock:
            self._file()
            return self._records[checks.index(len(self._records), number=number)].entry

    def entries(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """List the entries in order, or those of one analyst."""
        with self._lock:
            self._file()
            listed = [record.entry for record in self._records.values()]
        return tuple(entry for entry in listed if analyst is None or entry.analyst == analyst)

    def spent(self, analyst: str | None = None) -> Amounts:
        """Return what is reserved or spent, by all or by one analyst; leaves out what has no finite sum."""
        with self._lock:
            self._file()
            if analyst is not None:
                line = self._lines.get(analyst)
                return Amounts((self._filter.nothing if line is None else line.spent).amounts)
            return Amounts(self._whole.spent.amounts)

    def left(self, analyst: str | None = None) -> Amounts:
        """Return what the data set has left, or what one analyst may still spend of it.

        Where shares are apart: what is not set aside yet, or what is left of one's own. A coordinate in
        which nothing more can be spent has 0 left.
        """
        with self._lock:
            self._file()
            if self._apart and analyst is None:
                rest = 1 - self._given
                kept = self._make_filter(rest).budget if rest else {}
                return Amounts({name: kept.get(name, Fraction(0)) for name in self.budget})
            lines = [self._whole] if analyst is None else self._find_lines(analyst)
            lefts = [line.left for line in lines]
            return Amounts({name: min(left.get(name, Fraction(0)) for left in lefts) for name in self.budget})

    def _find_lines(self, analyst: str) -> list[_Line]:
        """Return the lines a charge of an analyst counts on; the refusal of the last one is told."""
        own = self._lines.get(analyst)
        if self._apart:
            if own is None:
                raise InvalidParameter(name="analyst", rule="one with a share", value=analyst)
            return [own]
        if own is None:  # she shares all of it with the others
            own = self._lines[analyst] = replace(self._whole, sum=LineSum(self._filter.nothing))
        return [own, self._whole]

    def _charge(self, lines: list[_Line], item: Item, bought: ApproxLoss | None) -> list[Charge]:
        charges = self._find_charges(lines, item, bought)
        if not charges:
            raise InvalidParameter(
                name="question", rule="one with a finite charge in this budget", got="none", hint=_WAY_OUT
            )
        return charges

    def _find_charges(self, lines: list[_Line], item: Item, bought: ApproxLoss | None) -> list[Charge]:
        """Return the charge of an item on each line: by both statements as long as that keeps both ways open.

        Empty where it has no finite charge. All lines have one filter's coordinates.
        """
        plain = lines[0].filter.cost(item)
        pair = None
        if bought is not None and (plain is None or "epsilon" not in plain.amounts):
            pair = lines[0].filter.cost(Guarantee(bought, self._neighbours))
        if plain is None or pair is None:
            found = plain or pair
            return [] if found is None else [found] * len(lines)
        # The pair for the way of pairs, the rho for the other; the delta of the pair is enough for both.
        delta = max(pair.amounts["delta"], plain.amounts["delta"])
        both = pair.amounts | plain.amounts | {"delta": delta}
        joined = Charge.of(plain.names, (both.get(name) for name in plain.names))
        return [joined if line.keeps_pairs(joined) else plain for line in lines]

    def _move(self, number: int, state: State) -> None:
        with self._lock:
            self._require_process()
            self._file()
            self._set_state(checks.index(len(self._records), number=number), state)

    def _set_state(self, number: int, state: State) -> None:
        record = self._records[number]
        entry = record.entry
        if state not in NEXT[entry.state]:
            raise InternalError(f"entry {number} is {entry.state} and cannot become {state}")
        lines = self._find_lines(entry.analyst)
        sums = [line.sum for line in lines]
        if state == "voided":
            pairs = zip(sums, record.charges, strict=True)
            sums = [replace(before, spent=before.spent - charge) for before, charge in pairs]
        self._take(replace(record, entry=replace(entry, state=state)), lines, sums)

    def _take(self, record: ChargedEntry, lines: list[_Line], sums: list[LineSum]) -> None:
        """Take a step: before this assignment nothing has happened, after it everything."""
        self._step = _Step(record, tuple(zip(lines, sums, strict=True)))
        self._file()

    def _file(self) -> None:
        """File what happened last where it is looked up. To do so again changes nothing."""
        step = self._step
        if step is None:
            return
        number = step.record.entry.number
        self._records[number] = step.record
        for line, after in step.sums:
            line.sum = after
        step.record.ticket.number = number
        self._step = None

    def _require_process(self) -> None:
        if os.getpid() != self._process:
            raise DiscreetError("this ledger belongs to another process: a fork would double the budget")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a ledger cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        return f"<Ledger: {len(self._records)} entries; left {self.left().paid}>"


_CHEAPER = "Ask cheaper questions (counts that the shared hypothesis answers cost nothing), "
_LARGER_SHARE = "or ask the owner for a larger share, which only a newly opened curator can give"
_OTHER_BUDGET = "or ask the owner to open a curator with another budget: all analysts share this one"
_WAY_OUT = "Give the curator a delta above 0, or ask for pure noise"
