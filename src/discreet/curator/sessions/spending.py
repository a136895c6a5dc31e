"""Spending: charge first, and only then touch the data.

Whatever a session does goes through `Purse.buy`. The purchase is noted, then charged; data are read after
the ledger knows that they will be; and from there on the charge stays, whatever comes out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any, TypeVar

from discreet.accounting.deltas import read_delta
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter, ReadFailed, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.core.rng import Rng
from discreet.core.search import first_integer
from discreet.curator.ledger.entries import SpendingLedger
from discreet.curator.sessions.purchases import Purchase, PurchaseBook, SessionHistory
from discreet.curator.ticks import FairLock

Value = TypeVar("Value")

DIGITS = 9
"""Decimals that what is left is told with, rounded down."""


class Purse:
    """What one session may spend, and the only way to spend it.

    Parameters
    ----------
    ledger
        Keeps the budget.
    neighbours
        The change that all of it is about.
    name
        Under which name the ledger keeps what is bought here.
    """

    def __init__(self, ledger: SpendingLedger, neighbours: Neighbours, name: str) -> None:
        whole: Guarantee = checks.exactly(Guarantee, guarantee=ledger.guarantee)
        whole.require_same_neighbours(Guarantee(whole.loss, neighbours))
        self.ledger, self.name, self.guarantee = ledger, checks.text(name=name), whole
        self.closed = False
        self._turns, self._book, self._process = FairLock(), PurchaseBook(), os.getpid()

    @property
    def left(self) -> float:
        """The largest epsilon that one more purchase may have at delta 0."""
        unit = Fraction(1, 10**DIGITS)

        def is_too_much(parts: int) -> bool:
            loss = PureLoss(parts * unit)
            return not self.ledger.fit(self.name, Guarantee(loss, self.guarantee.neighbours))

        return float((first_integer(is_too_much, low=0) - 1) * unit)

    def fits(self, guarantee: Guarantee, pair: ApproxLoss) -> bool:
        """Tell whether something that was bought for a pair could be paid now."""
        return bool(self.ledger.fit(self.name, guarantee, bought=pair))

    @property
    def history(self) -> SessionHistory:
        """What was bought."""
        return self._book.list_entries(self.ledger)

    def buy(self, purchase: Purchase, read: Callable[[], Any], draw: Callable[[Any], Value]) -> Value:
        """Charge, and only then read and draw. What was not started comes back, and nothing else.

        Parameters
        ----------
        purchase
            What it costs.
        read, draw
            What gets the data, one thread at a time, and what makes a release of them.
        """
        self._book.note(purchase)
        try:
            number = self.ledger.reserve(
                self.name, purchase.what, purchase.guarantee, bought=purchase.bought, ticket=purchase.ticket
            )
            with self._turns.turn():
                self.require_open()
                self.ledger.start(number)  # whatever happens from here on, the charge stays
                data = _attempt(read)
            drawn = _attempt(lambda: draw(data))
            self.ledger.finish(number)
        except BaseException:  # an interrupt, say: what was not started costs nothing
            self.ledger.void_unless_started(purchase.ticket)
            if purchase.ticket.number is None:
                self._book.forget(purchase)
            raise
        return drawn

    def wait(self) -> AbstractContextManager[None]:
        """Wait for a turn to read: who has it may buy, and nobody else buys an answer meanwhile."""
        return self._turns.turn()

    def require_open(self) -> None:
        """Raise where nothing is answered any more, or in a fork, where a copy would be spent again."""
        if os.getpid() != self._process:
            raise DiscreetError("this session belongs to another process: a fork would double the budget")
        if self.closed:
            raise Refused(
                what="question",
                why="the session is closed",
                way_out="Ask before it is closed, or open another one: it has a budget of its own",
            )

    def require_safe(self, rng: Rng) -> None:
        """Refuse noise that can be foretold where it would be charged to a budget that is kept."""
        if checks.instance(Rng, rng=rng).unsafe and self.ledger.durable:
            hint = "Try things out on a session without a ledger"
            rule = "the system's own where the budget outlives the process"
            raise InvalidParameter(name="rng", rule=rule, got="one that can be foretold", hint=hint)

    @contextmanager
    def close(self) -> Iterator[None]:
        """Buy nothing more; clear up inside, when nobody reads."""
        self.closed = True
        with self._turns.turn():
            yield


def _attempt(work: Callable[[], Value]) -> Value:
    """Do work on private data; what it says where it fails may quote them, and is withheld.

    Our own errors never do. The error that is raised has no link to another, nor to where data are.
    """
    try:
        return work()
    except DiscreetError as error:
        failure: DiscreetError = error.with_traceback(None)
        failure.__cause__ = failure.__context__ = None
    except Exception:  # raised below, where no link to it is kept
        failure = ReadFailed()
    raise failure


def given(**named: checks.Number | None) -> checks.Number:
    """Return a part of a budget, which has no default."""
    ((name, value),) = named.items()
    if value is None:
        raise InvalidParameter(name=name, rule="given: a budget has no default", value=None)
    return value


def read_budget(
    epsilon: checks.Number | None, delta: checks.Number | None, ledger: object, *, large: bool
) -> tuple[Fraction, Fraction] | None:
    """Return the budget of a session; None where a ledger has it."""
    if ledger is not None and not isinstance(ledger, str | os.PathLike):
        require_left_out(epsilon=epsilon, delta=delta)
        return None
    return checks.positive(epsilon=given(epsilon=epsilon)), read_delta(given(delta=delta), large=large)


def require_left_out(**named: object) -> None:
    """Refuse a parameter that something else says already."""
    for name, value in named.items():
        if value is not None:
            rule = "left out: what is given with it has one already"
            raise InvalidParameter(name=name, rule=rule, value=value)
