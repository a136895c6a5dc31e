"""The curator: one table, one budget, many analysts who need trust neither it nor each other's restraint.

A count over declared columns is answered by a conversation that all analysts share and that was paid for when
the curator opened. Anything else is priced, reserved in the ledger and answered by itself. Whatever the
analysts ask, together and adaptively, everything they see is covered by the one budget.

Under a promise between analysts nothing is shared that a question could change: the hypothesis is published
when the curator opens, and each analyst has a record, a history and a share of the budget of her own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from discreet.accounting.deltas import read_delta
from discreet.accounting.filters import HELD_BACK
from discreet.analysts.promises import AnalystPromise, perfect
from discreet.core import checks
from discreet.core.errors import BudgetNotKept, DiscreetError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.rng import SYSTEM
from discreet.curator.desks import Desk
from discreet.curator.doors import Analyst, make_door
from discreet.curator.expects import read_expects
from discreet.curator.hypotheses.opening import WHO, Opening, read_version
from discreet.curator.hypotheses.published import Published
from discreet.curator.hypotheses.shared import Shared, SharedHypothesis
from discreet.curator.ledger.book import Book
from discreet.curator.ledger.books.files import open_ledger
from discreet.curator.ledger.people import People
from discreet.curator.service import Service
from discreet.curator.ticks import Ticks
from discreet.data.plan.nodes import Policy
from discreet.data.table import Table
from discreet.queries.universe import Universe


class Curator:
    """Stands in front of a private table and answers questions on one budget.

    Parameters
    ----------
    table
        The private table, which only this curator can read from then on.
    epsilon, delta
        What everything that will ever be answered costs together, in the words of the table's privacy unit.
        delta is the probability that the promise fails for someone: far below one over the number of people,
        and never above a thousandth unless `large_delta` says that it is meant.
    expects
        What will be asked: a number of priced questions, "counts", or example questions in SQL. The shared
        part and the price of a question follow from it (`curator.expects`) where they are not given.
    shared
        The part of the budget that buys the shared hypothesis; 0 for none. Public. By default what `expects`
        says, or four fifths.
    columns
        What the shared hypothesis is about: names of columns with declared values. By default the smallest
        ones, as many as fit.
    question
        The most a question that is priced by itself may cost, as (epsilon, delta). By default what `expects`
        says, or a fiftieth of epsilon, and of that part of delta which the ledger keeps for failures.
    promise
        What is hidden between analysts, such as `OneAnalystToMany()`. None hides nothing between them.
    large_delta
        Whether a delta above a thousandth is meant.
    ledger
        A file that keeps the budget, what the shared hypothesis learned and what was bought, when the process
        ends: the next curator goes on where this one was. Or a book that is open, for several of them, and
        closed by whoever opened it. Without it the budget dies with the process.
    version
        Which state of the table this is, such as "2026-11": another one whenever rows were added or changed.
        What was bought, and what the shared hypothesis learned, belongs to one version; for another one it is
        bought and measured again, on the same budget, since the people are the same.
    people
        Whose data these are, where they are in other data sets of the same ledger too: one budget for all of
        them, on which everything counts, the shared hypothesis included.
    pace
        A share of the budget for priced questions, and seconds: no more is spent in each period of so long.
    shares
        Who will ask, and with which share: `set_aside` before the shared hypothesis of another version is.
    tick
        Seconds between the public times at which replies leave. 0: as soon as they are ready, and how long
        that takes tells who else asked: a price that was worked out before, for anybody, comes sooner. Must
        be given under a promise; with 0 that is about words and numbers only, not about time.
    """

    def __init__(
        self,
        table: Table,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        expects: int | str | Iterable[str] | None = None,
        shared: checks.Number | None = None,
        columns: Iterable[str] | None = None,
        question: tuple[checks.Number, checks.Number] | None = None,
        promise: AnalystPromise | None = None,
        tick: checks.Number | None = None,
        large_delta: bool = False,
        ledger: str | os.PathLike[str] | Book | None = None,
        version: str | None = None,
        people: People | None = None,
        pace: tuple[checks.Number, int] | None = None,
        shares: Mapping[str, checks.Number] | None = None,
    ) -> None:
        self._table: Table = checks.instance(Table, table=table)
        table.require_open()  # first: opening a hypothesis is charged for before the table is read
        e, d = checks.positive(epsilon=epsilon), read_delta(delta, large=large_delta)
        columns = None if columns is None else tuple(columns)
        expected = read_expects(expects, table, columns)
        part = expected.shared if shared is None else checks.non_negative(shared=shared)
        if part >= 1:
            raise InvalidParameter(name="shared", rule="below 1", value=shared)
        self._loss = ApproxLoss(e, d) if d else PureLoss(e)
        default = (expected.price(e, part), (1 - part) * d * HELD_BACK / expected.one_of)
        self._words = expected.words if shared is None or question is None else "as the owner chose"
        policy = _read_policy(default if question is None else question)
        if policy.epsilon > (1 - part) * e:
            raise InvalidParameter(
                name="question",
                rule=f"of an epsilon of at most {float((1 - part) * e):.6g}, which is there for all of them",
                got=f"{float(policy.epsilon):.6g}",
                hint="Ask for less, or give the curator a larger epsilon or a smaller shared part",
            )
        self._version = read_version(version)
        if people is not None and ledger is None:
            raise InvalidParameter(
                name="people", rule="given with a ledger, which their data sets share", got="no ledger"
            )
        self._promise = None if promise is None else checks.instance(AnalystPromise, promise=promise)
        if promise is not None and tick is None:
            rule = "given under a promise between analysts: seconds, or 0 to leave time out of the promise"
            raise InvalidParameter(name="tick", rule=rule, value=tick)
        self._lock = threading.Lock()  # of the list of analysts; no question waits for it
        self._desks: dict[str, Desk] = {}
        self._doors: WeakValueDictionary[str, Analyst] = WeakValueDictionary()
        # The conversation and the ledger run side by side; what they may cost adds up to the whole.
        self.ledger = open_ledger(
            ledger,
            (1 - part) * e,
            (1 - part) * d,
            neighbours=table.neighbours,
            name=table.schema.name,
            apart=promise is not None,
            people=people,
            pace=pace,
        )
        self._outlived = self.ledger.durable or isinstance(ledger, Book)
        if not self.ledger.durable:
            _warn_once()
        try:
            self.set_aside(shares or {})
            self._shared = self._open_shared(part * e, part * d, columns)
            self._table = table.hand_over()  # last: a table is not lost to a curator that could not be made
        except BaseException:
            self.ledger.close()
            raise
        self._service = Service(
            self._table,
            self._shared,
            self.ledger,
            policy=policy,
            ticks=Ticks(tick or 0),
            apart=promise is not None,
            version=self._version,
        )

    def _open_shared(
        self, epsilon: Fraction, delta: Fraction, columns: tuple[str, ...] | None
    ) -> SharedHypothesis | None:
        """Open the shared hypothesis, or go on with the one that the ledger knows of."""
        kind: Any = Shared if self._promise is None else Published
        # Whatever outlives this curator knows what it measured: another one would measure it once more.
        opening = Opening(self.ledger, self._version) if self._outlived else None
        if not epsilon:
            if opening is not None:
                opening.require_none()
            return None
        if opening is not None:
            epsilon, delta = opening.find_price(epsilon, delta)
        SYSTEM.require_alive()
        found: SharedHypothesis | None = kind.open(
            self._table, epsilon=epsilon, delta=delta, columns=columns, opening=opening
        )
        return found

    @property
    def promise(self) -> AnalystPromise | None:
        """What is hidden between analysts; None where nothing is."""
        return self._promise

    @property
    def guarantee(self) -> Guarantee:
        """What every answer to every analyst promises, together."""
        return Guarantee(self._loss, self._table.neighbours)

    @property
    def analyst_guarantee(self) -> Guarantee | None:
        """What all other analysts together learn of what one asks: nothing, or None where nobody promised."""
        return None if self._promise is None else perfect(self._promise)

    @property
    def universe(self) -> Universe:
        """What the shared hypothesis is about; queries for `Analyst.ask` are built over it."""
        return self._service.find_universe()

    def analyst(self, name: str, *, share: checks.Number | None = None) -> Analyst:
        """Return the door of an analyst, made on the first call.

        Parameters
        ----------
        name
            Who asks.
        share
            The most of the budget for priced questions that this analyst may use; set on the first call, and
            never changed. All of it by default. Under a promise between analysts it must be given, and all
            shares together are at most 1, so that what one spends leaves the others as much as before.
        """
        if checks.text(name=name).startswith(WHO):
            rule = f"another name than that of {WHO}, which has a share of its own"
            raise InvalidParameter(name="name", rule=rule, value=name)
        with self._lock:
            part = self.ledger.share(name)  # the ledger's word: an interrupt may have come before the desk
            if part is None:
                self.ledger.refresh()  # another process of the same server may have set it
                part = self.ledger.share(name)
            if part is None:
                part = self._cap(name, self._share(share))
            if share is not None and checks.positive(share=share) != part:
                rule = f"left out, or the {part} that {name} has: a share is set once"
                raise InvalidParameter(name="share", rule=rule, value=share)
            desk = self._desks.get(name)
            if desk is None:
                desk = self._desks[name] = self._service.open_desk(name, part)
            door = self._doors.get(name)
            if door is None:
                door = self._doors[name] = make_door(self._service, desk)
            return door

    def set_aside(self, shares: Mapping[str, checks.Number]) -> None:
        """Set aside the shares of analysts who have none yet, in this order, before any of them asks.

        Under a promise, whoever asked first would otherwise have hers, and the others would see that. Where
        there is no room for a share, its owner is told so at her door.
        """
        for name, share in shares.items():
            with contextlib.suppress(InvalidParameter):
                if self.ledger.share(checks.text(name=name)) is None:
                    self.ledger.cap(name, share)

    def _cap(self, name: str, share: Fraction) -> Fraction:
        """Set the share of a new analyst; return the one she has, where another process was faster."""
        try:
            self.ledger.cap(name, share)
        except InvalidParameter:
            known = self.ledger.share(name)
            if known is None:
                raise
            return known
        return share

    def _share(self, share: checks.Number | None) -> Fraction:
        """Return a new analyst's share; under a promise it must be given, and is set aside for her alone."""
        if share is not None:
            return checks.positive(share=share)
        if self._promise is not None:
            rule = "given under a promise between analysts: it is set aside for her alone"
            raise InvalidParameter(name="share", rule=rule, value=share)
        return Fraction(1)

    def close(self) -> None:
        """Answer nothing more, and give the engine back once it is through with what it is doing."""
        self._service.close()
        self.ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a curator cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        state = "no shared hypothesis" if self._shared is None else str(self._shared)
        facts = f"{self.guarantee}; {state}; {self._words}; {self.ledger!r}"
        return f"<Curator of {self._table.schema.name}: {facts}>"


@cache
def _warn_once() -> None:
    """Say, once in a process, that a budget in memory is no budget over restarts."""
    warnings.warn(
        "this curator's budget is in memory: it dies with the process, and the next one begins with all of "
        'it. Pass ledger="budget.db" to keep it.',
        BudgetNotKept,
        stacklevel=3,
    )


def _read_policy(question: Any) -> Policy:
    if not isinstance(question, tuple | list) or len(question) != 2:
        raise InvalidParameter(name="question", rule="a pair (epsilon, delta)", value=question)
    return Policy(epsilon=checks.exact(epsilon=question[0]), delta=checks.exact(delta=question[1]))
