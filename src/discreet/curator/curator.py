"""The curator: one table, one budget, many analysts who need trust neither it nor each other's restraint.

A count over declared columns is answered by a conversation that all analysts share and that was paid for when
the curator opened. Anything else is priced, reserved in the ledger and answered by itself. Whatever the
analysts ask, together and adaptively, everything they see is covered by the one budget.

Under a promise between analysts nothing is shared that a question could change: the hypothesis is published
when the curator opens, and each analyst has a record, a history and a share of the budget of her own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn

from discreet.analysts.promises import AnalystPromise, perfect
from discreet.core import checks
from discreet.core.errors import DiscreetError, EngineFailed, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.history import Asked, Quote
from discreet.curator.ledger import HELD_BACK, Ledger
from discreet.curator.published import Published
from discreet.curator.reply import Reply
from discreet.curator.shared import Hypothesis, Shared
from discreet.curator.ticks import Line, Ticks
from discreet.data.ask import Prepared, prepare
from discreet.data.canonical import canonical
from discreet.data.plan import Policy
from discreet.data.sql_print import to_sql
from discreet.data.table import Table
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import written, written_down
from discreet.release.answer import Answer

_SHARED = Fraction(4, 5)
_ONE_OF = 50  # a question that is priced by default costs one part in so many


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
        The most a question that is priced by itself may cost, as (epsilon, delta). By default a fiftieth of
        epsilon, and of that part of delta which the ledger keeps for failures.
    promise
        What is hidden between analysts, such as `OneAnalystToMany()`. None hides nothing between them.
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
        default = (e / _ONE_OF, (1 - part) * d * HELD_BACK / _ONE_OF)
        self._policy = _policy(default if question is None else question)
        self.promise = None if promise is None else checks.instance(AnalystPromise, promise=promise)
        if promise is not None and tick is None:
            rule = "given under a promise between analysts: seconds, or 0 to leave time out of the promise"
            raise InvalidParameter(name="tick", rule=rule, value=tick)
        self._ticks = Ticks(tick or 0)
        self._lock, self._engine = threading.RLock(), Line()
        self._closed = False
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
            The most of the budget for priced questions that this analyst may use; set on the first call, and
            never changed. All of it by default. Under a promise between analysts it must be given, and all
            shares together are at most 1, so that what one spends leaves the others as much as before.
        """
        checks.text(name=name)
        with self._lock:
            door = self._analysts.get(name)
            if door is None:
                part = self._share(share)
                self.ledger.cap(name, part)
                door = self._analysts[name] = Analyst(self, name, part)
            elif share is not None and checks.positive(share=share) != door.share:
                rule = f"left out, or the {door.share} that {name} has: a share is set once"
                raise InvalidParameter(name="share", rule=rule, value=share)
            return door

    def _share(self, share: checks.Number | None) -> Fraction:
        """Return a new analyst's share; under a promise it must be free, and is set aside for her alone."""
        if self.promise is None:
            return Fraction(1) if share is None else checks.positive(share=share)
        left = 1 - sum((door.share for door in self._analysts.values()), Fraction(0))
        if share is None or checks.positive(share=share) > left:
            rule = f"given under a promise between analysts, and at most {left}: the rest is set aside"
            raise InvalidParameter(name="share", rule=rule, value=share)
        return checks.positive(share=share)

    def close(self) -> None:
        """Answer nothing more, and give the engine back once it is through with what it is doing."""
        self._closed = True
        with self._lock, self._engine:
            if self._shared is not None:
                self._shared.close()
            self._table.close()

    # What analysts reach through their doors ---------------------------------------------------------

    def _plan(self, analyst: str, text: str, *, fresh: bool) -> Quote:
        self._require_open()
        prepared = self._prepare(text)
        if self._key(analyst, prepared, fresh) in self._records:
            return Quote.free("repeated", "the same numbers as before")
        if not fresh and self._shared is not None and self._shared.queries(prepared) is not None:
            return self._shared.quote()
        explanation = prepared.explanation
        return Quote("priced", self.ledger.quote(explanation.guarantee), str(explanation))

    def _sql(self, door: Analyst, text: str, *, fresh: bool) -> Reply:
        prepared = self._prepare(text)
        what, key = to_sql(prepared.plan, prepared.tables), self._key(door.name, prepared, fresh)
        names = tuple(output.name for output in prepared.plan.outputs)
        # Everybody waits for everybody, but under a promise only for herself.
        with self._lock if self.promise is None else door.turn:
            self._require_open()
            known = self._records.get(key)
            if known is not None:
                reply = known.again(names)
            else:
                queries = None if fresh or self._shared is None else self._shared.queries(prepared)
                if queries is None or self._shared is None:
                    reply = self._priced(door, what, prepared)
                else:
                    reply = self._shared.answer(prepared.plan, queries)
                self._records[key] = reply.again(names)  # a copy: the reply is hers, she may write in it
            door.note(what, reply.kind, reply.cost, repeated=reply.repeated)
            return reply

    def _priced(self, door: Analyst, what: str, prepared: Prepared) -> Reply:
        number = self.ledger.reserve(door.name, what, prepared.explanation.guarantee)
        charge = dict(self.ledger.entry(number).charge)
        with self._engine:
            if self._closed:
                self.ledger.void(number)
                self._require_open()
            self.ledger.start(number)  # whatever happens from here on, the charge stays
            reply = self._measured(prepared, charge)
        if reply is None:
            door.note(what, "failed", charge)
            raise EngineFailed
        self.ledger.finish(number)
        return reply

    def _measured(self, prepared: Prepared, charge: dict[str, Fraction]) -> Reply | None:
        """Return the answer of the engine; None where it fails, for whatever it says may quote data."""
        try:
            return Reply.of(self._table.answer(prepared), charge)
        except Exception:  # the error we raise later keeps no link to it
            return None

    def _ask(self, door: Analyst, query: LinearQuery | Workload) -> tuple[Answer, ...]:
        self._require_open()
        # Analysts are not believed: code of their own is run here, before any data are read.
        fixed = written_down(query) if isinstance(query, Workload) else written(query)
        given = self._open_shared().ask(fixed)
        kinds = {one.kind for one in given}
        door.note(repr(fixed), next(one for one in ("stale", "measured", "free") if one in kinds), {})
        return given

    def _require_open(self) -> None:
        if self._closed:
            raise Refused(
                what="question", why="the curator is closed", way_out="Ask its owner to open another one"
            )

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
        return owner, canonical(prepared.plan), tuple(one.what for one in prepared.plan.outputs), fresh

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
    """One analyst's door to a curator. Made by `Curator.analyst`.

    Attributes
    ----------
    name, share
        Who asks, and the most she may use of the budget for priced questions.
    """

    def __init__(self, curator: Curator, name: str, share: Fraction) -> None:
        self._curator, self.name, self.share = curator, name, share
        self.turn = threading.RLock()
        self._asked: list[tuple[str, str, bool, dict[str, Fraction]]] = []

    @property
    def universe(self) -> Universe:
        """What queries for `ask` are built over."""
        return self._curator.universe

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
            For anything outside the language, or once the curator is closed. Nothing was read or charged.
        BudgetExceeded
            Where it does not fit in what is left. Nothing was read or charged.
        EngineFailed
            Where the engine gave up. The charge stays.
        """
        with self._curator._ticks.held():  # noqa: SLF001
            return self._curator._sql(self, query, fresh=fresh)  # noqa: SLF001

    def ask(self, query: LinearQuery | Workload) -> Answer | tuple[Answer, ...]:
        """Answer linear queries over `universe` from the shared hypothesis: one, or a workload."""
        with self._curator._ticks.held():  # noqa: SLF001
            given = self._curator._ask(self, query)  # noqa: SLF001
            return given if isinstance(query, Workload) else given[0]

    def note(self, what: str, kind: str, cost: Mapping[str, Fraction], *, repeated: bool = False) -> None:
        """Keep a question in the history. For the curator."""
        self._asked.append((what, kind, repeated, dict(cost)))

    @property
    def history(self) -> tuple[Asked, ...]:
        """Everything this analyst asked that was answered or charged, in order, with what it cost."""
        # Numbered when read: two threads of one analyst could otherwise take the same number.
        return tuple(
            Asked(number, what, kind, repeated, dict(cost))
            for number, (what, kind, repeated, cost) in enumerate(tuple(self._asked))
        )

    @property
    def left(self) -> dict[str, Fraction]:
        """What this analyst may still spend on questions that are priced."""
        with self._curator._ticks.held():  # noqa: SLF001
            return self._curator.ledger.left(self.name)

    def __repr__(self) -> str:
        return f"<Analyst {self.name}: {len(self._asked)} asked>"


def _policy(question: Any) -> Policy:
    if not isinstance(question, tuple | list) or len(question) != 2:
        raise InvalidParameter(name="question", rule="a pair (epsilon, delta)", value=question)
    return Policy(epsilon=checks.exact(epsilon=question[0]), delta=checks.exact(delta=question[1]))
