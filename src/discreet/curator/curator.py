"""The curator: one table, one budget, many analysts who need trust neither it nor each other's restraint.

A count over declared columns is answered by a conversation that all analysts share and that was paid for when
the curator opened. Anything else is priced, reserved in the ledger and answered by itself. Whatever the
analysts ask, together and adaptively, everything they see is covered by the one budget.

Under a promise between analysts nothing is shared that a question could change: the hypothesis is published
when the curator opens, and each analyst has a record, a history and a share of the budget of her own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn

from discreet.analysts.promises import AnalystPromise, perfect
from discreet.core import checks
from discreet.core.errors import DiscreetError, EngineFailed, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.history import Asked, Quote
from discreet.curator.ledger import Ledger
from discreet.curator.published import Published
from discreet.curator.reply import Reply
from discreet.curator.shared import Hypothesis, Shared
from discreet.curator.ticks import Ticks
from discreet.data.ask import Prepared, prepare
from discreet.data.canonical import canonical
from discreet.data.plan import Policy
from discreet.data.sql_print import to_sql
from discreet.data.table import Table
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.release.answer import Answer

_SHARED = Fraction(4, 5)
_ONE_OF = 50  # questions that are priced by default are this part of the whole budget


class Curator:
    """Stands in front of a private table and answers questions on one budget.

    Parameters
    ----------
    table
        The private table. The curator reads it; nobody else needs to.
    epsilon, delta
        What everything that will ever be answered costs together, in the words of the table's privacy unit.
    shared
        The part of the budget that buys the shared hypothesis; 0 for none. Public.
    columns
        What the shared hypothesis is about: names of columns with declared values. By default the smallest
        ones, as many as fit.
    question
        The most a question that is priced by itself may cost, as (epsilon, delta).
    promise
        What is hidden between analysts, such as `OneAnalystToMany()`. None hides nothing between them.
    tick
        Seconds between the public times at which replies leave. None: as soon as they are ready, and how
        long that takes may tell who else asked.
    """

    def __init__(
        self,
        table: Table,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        shared: checks.Number = _SHARED,
        columns: Iterable[str] | None = None,
        question: tuple[checks.Number, checks.Number] | None = None,
        promise: AnalystPromise | None = None,
        tick: checks.Number | None = None,
    ) -> None:
        self._table: Table = checks.instance(Table, table=table)
        e, d = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
        part = checks.non_negative(shared=shared)
        if part >= 1:
            raise InvalidParameter(name="shared", rule="below 1", value=shared)
        self._loss = ApproxLoss(e, d) if d else PureLoss(e)
        most = question or (e / _ONE_OF, d / _ONE_OF)
        self._policy = Policy(epsilon=checks.exact(epsilon=most[0]), delta=checks.exact(delta=most[1]))
        self.promise = None if promise is None else checks.instance(AnalystPromise, promise=promise)
        self._ticks = Ticks(tick)
        self._lock, self._engine = threading.RLock(), threading.Lock()
        self._shares = Fraction(0)
        self._records: dict[Any, Reply] = {}
        self._analysts: dict[str, Analyst] = {}
        # The conversation and the ledger run side by side; what they may cost adds up to the whole.
        self.ledger = Ledger(epsilon=(1 - part) * e, delta=(1 - part) * d, neighbours=table.neighbours)
        kind = Shared if promise is None else Published
        self._shared: Hypothesis | None = None
        if part:
            self._shared = kind.open(table, epsilon=part * e, delta=part * d, columns=columns)

    @property
    def guarantee(self) -> Guarantee:
        """What every answer to every analyst promises, together."""
        return Guarantee(self._loss, self._table.neighbours)

    @property
    def analyst_guarantee(self) -> Guarantee | None:
        """What all other analysts together learn of what one asks: nothing, or None where nobody promised."""
        return None if self.promise is None else perfect(self.promise)

    @property
    def universe(self) -> Universe:
        """What the shared hypothesis is about; queries for `Analyst.ask` are built over it."""
        return self._open_shared().universe

    def analyst(self, name: str, *, share: checks.Number | None = None) -> Analyst:
        """Return the door of an analyst, made on the first call.

        Parameters
        ----------
        name
            Who asks.
        share
            The most of the budget for priced questions that this analyst may use; set on the first call.
            All of it by default. Under a promise between analysts it must be given, and all shares together
            are at most 1, so that what one spends leaves the others as much as before.
        """
        checks.text(name=name)
        with self._lock:
            if name not in self._analysts:
                self.ledger.cap(name, self._share(share))
                self._analysts[name] = Analyst(self, name)
            return self._analysts[name]

    def _share(self, share: checks.Number | None) -> checks.Number:
        """Return a share; under a promise it is set aside for its analyst alone."""
        if self.promise is None:
            return 1 if share is None else share
        left = 1 - self._shares
        if share is None or checks.positive(share=share) > left:
            rule = f"given under a promise between analysts, and at most {left}, which is not set aside yet"
            raise InvalidParameter(name="share", rule=rule, value=share)
        self._shares += checks.positive(share=share)
        return share

    def close(self) -> None:
        """Answer nothing more and give the engine back."""
        with self._lock:
            if self._shared is not None:
                self._shared.close()
            self._table.close()

    # What analysts reach through their doors ---------------------------------------------------------

    def _plan(self, analyst: str, text: str, *, fresh: bool) -> Quote:
        prepared = self._prepare(text)
        if self._key(analyst, prepared, fresh) in self._records:
            return Quote.free("repeated", "the same numbers as before")
        if not fresh and self._shared is not None and self._shared.queries(prepared) is not None:
            return self._shared.quote()
        explanation = prepared.explanation
        return Quote("priced", self.ledger.quote(explanation.guarantee), str(explanation))

    def _sql(self, analyst: str, text: str, *, fresh: bool) -> tuple[str, Reply]:
        prepared = self._prepare(text)
        what, key = to_sql(prepared.plan, prepared.tables), self._key(analyst, prepared, fresh)
        with self._turn(analyst):
            known = self._records.get(key)
            if known is not None:
                return what, known.again()
            queries = None if fresh or self._shared is None else self._shared.queries(prepared)
            if queries is None or self._shared is None:
                reply = self._priced(analyst, what, prepared)
            else:
                reply = self._shared.answer(prepared.plan, queries)
            self._records[key] = reply
            return what, reply

    def _priced(self, analyst: str, what: str, prepared: Prepared) -> Reply:
        number = self.ledger.reserve(analyst, what, prepared.explanation.guarantee)
        self.ledger.start(number)  # whatever happens from here on, the charge stays
        try:
            with self._engine:
                answer = self._table.answer(prepared)
        except Exception:
            raise EngineFailed from None  # whatever it says may quote data
        self.ledger.finish(number)
        return Reply.of(answer, dict(self.ledger.entry(number).charge))

    def _turn(self, analyst: str) -> threading.RLock:
        """Return the lock of a question: everybody's, or under a promise one's own, so that nobody waits."""
        return self._lock if self.promise is None else self._analysts[analyst].turn

    def _ask(self, query: LinearQuery | Workload) -> tuple[Answer, ...]:
        return self._open_shared().ask(query)

    def _open_shared(self) -> Hypothesis:
        if self._shared is None:
            raise Refused(
                what="shared hypothesis",
                why="this curator was opened without one",
                way_out="Ask by SQL, or open it with shared above 0",
            )
        return self._shared

    def _prepare(self, text: str) -> Prepared:
        return prepare(text, schemas=self._table.schemas, policy=self._policy)

    def _key(self, analyst: str, prepared: Prepared, fresh: bool) -> Any:
        """Return what a record is kept under; under a promise each analyst has a record of her own."""
        owner = None if self.promise is None else analyst
        return owner, canonical(prepared.plan), prepared.plan.outputs, fresh

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise DiscreetError("a curator cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        state = "no shared hypothesis" if self._shared is None else str(self._shared)
        return f"<Curator of {self._table.schema.name}: {self.guarantee}; {state}; {self.ledger!r}>"


class Analyst:
    """One analyst's door to a curator. Made by `Curator.analyst`."""

    def __init__(self, curator: Curator, name: str) -> None:
        self._curator, self.name = curator, name
        self.turn = threading.RLock()
        self._asked: list[Asked] = []

    def plan(self, query: str, *, fresh: bool = False) -> Quote:
        """Say what a question would cost and how well it would be answered. No row is read, nothing spent."""
        with self._curator._ticks.held():  # noqa: SLF001 - the other half of one object
            return self._curator._plan(self.name, query, fresh=fresh)  # noqa: SLF001

    def sql(self, query: str, *, fresh: bool = False) -> Reply:
        """Answer a question.

        Parameters
        ----------
        query
            One SELECT, plain or with BigQuery's WITH DIFFERENTIAL_PRIVACY clause.
        fresh
            Measure it by itself and pay for it, even where the shared hypothesis could answer.

        Raises
        ------
        Refused
            For anything outside the language. Nothing was read or charged.
        BudgetExceeded
            Where it does not fit in what is left. Nothing was read or charged.
        """
        with self._curator._ticks.held():  # noqa: SLF001
            what, reply = self._curator._sql(self.name, query, fresh=fresh)  # noqa: SLF001
        self._asked.append(Asked(len(self._asked), what, reply.kind, reply.repeated, dict(reply.cost)))
        return reply

    def ask(self, query: LinearQuery | Workload) -> Answer | tuple[Answer, ...]:
        """Answer linear queries over `Curator.universe` from the shared hypothesis: one, or a workload."""
        with self._curator._ticks.held():  # noqa: SLF001
            given = self._curator._ask(query)  # noqa: SLF001
        kinds = {one.kind for one in given}
        kind = next(one for one in ("stale", "measured", "free") if one in kinds)
        self._asked.append(Asked(len(self._asked), repr(query), kind, repeated=False, cost={}))
        return given if isinstance(query, Workload) else given[0]

    @property
    def history(self) -> tuple[Asked, ...]:
        """Everything this analyst asked, in order, with what it cost."""
        return tuple(self._asked)

    @property
    def left(self) -> dict[str, Fraction]:
        """What this analyst may still spend on questions that are priced."""
        with self._curator._ticks.held():  # noqa: SLF001
            return self._curator.ledger.left(self.name)

    def __repr__(self) -> str:
        return f"<Analyst {self.name}: {len(self._asked)} asked>"
