"""A session: private data and one budget that goes with them.

Everything that is asked through a session is priced from public facts, charged, and only then answered.
Whatever is asked, and however each question is chosen after the answers before it, everything that comes out
is covered by the one budget: a filter underneath refuses what does not fit (docs/accounting.md).

A session takes its table out of the hands of whoever opened it, so that nothing is read around the budget by
mistake. It is no wall against hostile code: whatever runs in the same process is trusted. For analysts who
are not, there is the curator.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, overload
from weakref import WeakSet

from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.core.mechanism import Conversation, Interactive, Mechanism, Release
from discreet.core.neighbours import Neighbours
from discreet.core.progress import LongRun, bars
from discreet.core.rng import SYSTEM, Rng
from discreet.curator.ledger.entries import SpendingLedger
from discreet.curator.sessions.holding import Holding, Reader, hold
from discreet.curator.sessions.purchases import SessionHistory
from discreet.curator.sessions.questions import SessionQuestions
from discreet.curator.sessions.spending import Purse, given, read_budget, require_left_out
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.pricing.wanted_errors import BETA, OneOrMore, QuestionsPlan
from discreet.data.table import Declared
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.asked import TableWorkload
from discreet.query_release.planning.planner import ReleasePlan
from discreet.query_release.planning.planner import plan as plan_release
from discreet.query_release.planning.population import Public
from discreet.query_release.planning.released import Released

Data = TypeVar("Data")
Value = TypeVar("Value")
_Workload = Workload | TableWorkload
_ENDED = "its session was closed"


class Session:
    """One private data set and one budget: whatever is asked of it spends from there.

    Privacy: `guarantee`, for everything together, whatever is asked and in whatever order.

    Parameters
    ----------
    data
        A `Table`, which only this session can read from then on; a `Histogram`; whatever a `Table` is made
        of, with `schema`; or any other private data with `neighbours`, a graph for instance.
    epsilon, delta
        What everything that will ever be answered costs together. Left out where a ledger is given.
    schema
        A `Schema` or the path of one, where `data` is what a table is made of.
    neighbours
        The change that is hidden, where the data do not declare it; one row of a histogram by default.
    ledger
        A file that keeps the budget when the process ends: the next session goes on where this one was. Or
        a ledger in place of one of its own, such as one that several sessions share.
    name
        Under which name the ledger keeps this session's entries.
    large_delta
        Whether a delta above a thousandth is meant.

    Examples
    --------
    >>> from discreet.queries import Histogram, Marginals, Universe
    >>> universe = Universe([("smoker", (False, True)), ("region", ("north", "south"))])
    >>> people = Histogram.dense(universe, [300, 200, 150, 350])
    >>> with Session(people, epsilon=1, delta=0) as session:
    ...     found = session.release(Marginals.of_order(universe, 1), epsilon=0.4, delta=0)
    ...     session.left
    0.6
    """

    def __init__(
        self,
        data: Any,
        *,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        schema: Declared | None = None,
        neighbours: Neighbours | None = None,
        ledger: SpendingLedger | str | os.PathLike[str] | None = None,
        name: str = "session",
        large_delta: bool = False,
    ) -> None:
        budget = read_budget(epsilon, delta, ledger, large=large_delta)
        self._held: Holding = hold(data, schema, neighbours)
        self._own = self._held.open_ledger(ledger, *budget) if budget is not None else None
        try:
            kept: SpendingLedger = checks.instance(SpendingLedger, ledger=self._own or ledger)
            self._purse = Purse(kept, self._held.neighbours, name)
            self._questions = SessionQuestions(self._held, self._purse)
            self._open: WeakSet[Conversation[Any]] = WeakSet()
            self._held.take()  # last: a table is not lost to a session that could not be made
        except BaseException:
            if self._own is not None:
                self._own.close()
            raise

    # What it has ---------------------------------------------------------------------------------------

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever answered promises together."""
        return self._purse.guarantee

    @property
    def left(self) -> float:
        """The largest epsilon that one more question may cost at delta 0, rounded down.

        With Gaussian noise, or at a delta, more may fit: `plan` says what a question would be charged.
        """
        return self._purse.left

    @property
    def history(self) -> SessionHistory:
        """What was asked and paid for, in order: price, loss, charge, and how far it is."""
        return self._purse.history

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of declared values: what workloads are built over. Public."""
        return self._held.universe(columns)

    # What it answers -----------------------------------------------------------------------------------

    @overload
    def plan(
        self, wanted: str, *, epsilon: checks.Number, delta: checks.Number | None = None
    ) -> QuestionPlan: ...
    @overload
    def plan(
        self, wanted: _Workload, *, epsilon: checks.Number, delta: checks.Number, **public: Any
    ) -> ReleasePlan: ...
    def plan(
        self,
        wanted: str | _Workload,
        *,
        epsilon: checks.Number,
        delta: checks.Number | None = None,
        **public: Any,
    ) -> QuestionPlan | ReleasePlan:
        """Say what a question would cost and how well it would be answered. Nothing private is read or spent.

        Parameters
        ----------
        wanted
            One SELECT (see `Table.sql`), or a workload over `universe`, or what `discreet.marginals` made of
            the data.
        epsilon, delta
            The most it may cost. Of a question, delta is a small part of the session's where left out.
        public
            More that `discreet.plan` takes of a workload.
        """
        self._purse.require_open()
        if isinstance(wanted, TableWorkload):
            if not self._held.is_of(wanted.data):
                raise InvalidParameter(name="wanted", rule="about the data of this session", got="other data")
            wanted = wanted.workload
        if isinstance(wanted, Workload):
            request = TableWorkload(self._held.countable, wanted)
            public |= {"epsilon": epsilon, "delta": given(delta=delta), "neighbours": self._held.stated}
            return plan_release(request, **public)
        kind: type = type(wanted)
        if not issubclass(kind, str):
            rule = "one SELECT, or a workload over the session's universe"
            raise InvalidParameter(name="wanted", rule=rule, got=f"a {kind.__name__}")
        if public:
            raise InvalidParameter(name=min(public), rule="left out of a question by SQL", got="given")
        return self._questions.plan(wanted, epsilon, delta)

    def plan_within(
        self,
        questions: Iterable[str],
        *,
        within: OneOrMore,
        of: OneOrMore | None = None,
        beta: checks.Number = BETA,
    ) -> QuestionsPlan:
        """Split what is left over several questions so that all meet their wanted errors.

        Parameters
        ----------
        questions, within, of, beta
            As in `Table.plan_within`. The plan says whether they fit in what is left, and is a sequence of
            plans for `sql`.
        """
        self._purse.require_open()
        return self._questions.plan_within(questions, within, of, beta)

    def sql(
        self,
        query: str | QuestionPlan,
        *,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        fresh: bool = False,
        insist: bool = False,
        rng: Rng = SYSTEM,
    ) -> Answer:
        """Answer a question with noise.

        The same question at the same price has the same answer again, at no further cost.

        Parameters
        ----------
        query
            One SELECT, or what `plan` returned for one.
        epsilon, delta
            As in `plan`; a plan has them already.
        fresh
            Measure and pay again, where it was answered before.
        insist
            Buy an answer even where an interval would span most of what is possible.
        rng
            Where the noise comes from.

        Raises
        ------
        Refused
            For anything outside the language, for what would say nothing as far as the schema says how many
            rows there are, or once the session is closed. Nothing was read or charged.
        BudgetExceeded
            Where it does not fit in what is left. Nothing was read or charged.
        EngineFailed
            Where the engine gave up. The charge stays.
        """
        self._require(rng, fresh=fresh, insist=insist)
        if isinstance(query, QuestionPlan):
            require_left_out(epsilon=epsilon, delta=delta)
            planned = self._questions.require_priced(query)
        else:
            planned = self.plan(query, epsilon=given(epsilon=epsilon), delta=delta)
        return self._questions.answer(planned, fresh=fresh, insist=insist, rng=rng)

    def release(
        self,
        wanted: _Workload | ReleasePlan,
        *,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        rows: int | None = None,
        public: Public | None = None,
        by: str = "average",
        score: str = "answers",
        rng: Rng = SYSTEM,
        progress: bool = False,
    ) -> Released:
        """Answer a workload as well as a part of the budget allows; see `discreet.release`.

        Parameters
        ----------
        wanted
            A workload over `universe`, or a plan that was made for one.
        epsilon, delta, rows, public, by, score
            As in `discreet.release`; a plan has them already.
        rng, progress
            Where the noise comes from, and whether to show a bar.
        """
        self._require(rng, progress=progress)
        if isinstance(wanted, ReleasePlan):
            require_left_out(epsilon=epsilon, delta=delta, rows=rows, public=public)
            planned = checks.exactly(ReleasePlan, wanted=wanted)
        else:
            more: dict[str, Any] = {"rows": rows, "public": public, "by": by, "score": score}
            e, d = given(epsilon=epsilon), given(delta=delta)
            with bars(progress):
                planned = self.plan(wanted, epsilon=e, delta=d, **more)
        mechanism = planned.mechanism
        of_rows = self._held.price("release", mechanism)
        pair = ApproxLoss(planned.epsilon, planned.delta)
        if not of_rows.guarantee.implies(epsilon=pair.value, delta=pair.mass):
            raise InvalidParameter(
                name="wanted",
                rule=f"planned for {self._held.neighbours}",
                got="a plan for something else",
                hint="Plan with the session's plan",
            )
        purchase = replace(of_rows, bought=pair)

        def draw(data: Histogram) -> Released:
            made = mechanism.release(data, rng=rng, progress=progress)
            return Released(
                value=made.value, mechanism=mechanism, unsafe_seeded=made.unsafe_seeded, plan=planned
            )

        return self._purse.buy(purchase, self._held.make_reader(mechanism, None), draw)

    def run(
        self,
        mechanism: Mechanism[Data, Value],
        read: Reader | None = None,
        *,
        rng: Rng = SYSTEM,
        progress: bool = False,
    ) -> Release[Value]:
        """Draw one release of a mechanism, and pay what it costs whom the data protect.

        Parameters
        ----------
        mechanism
            Any mechanism. A guarantee about one row is charged for all rows that one unit may have.
        read
            From the data to what the mechanism is given: `read(table)` may use the table's `histogram`,
            `marginals` and `universe` until it returns. It is believed that this has the sensitivity which
            the mechanism was built for. Left out: the histogram over the universe of the mechanism's
            queries, or the data themselves where they are no table.
        rng, progress
            Where the noise comes from, and whether to show a bar.

        Raises
        ------
        NeighboursMismatch
            Where its guarantee says nothing about whom the data protect. Nothing was read or charged.
        BudgetExceeded
            Where it does not fit in what is left. Nothing was read or charged.
        ReadFailed
            Where reading or working failed. The charge stays.
        """
        if not issubclass(type(mechanism), Mechanism):  # not by __class__, which may say anything
            raise InvalidParameter(
                name="mechanism",
                rule="a Mechanism, such as dp.Laplace(...)",
                got=f"a {type(mechanism).__name__}",
                hint="Conversations are opened with the session's open",
            )
        self._require(rng, progress=progress)
        get = self._held.make_reader(mechanism, read)

        def draw(data: Data) -> Release[Value]:
            if isinstance(mechanism, LongRun):
                return mechanism.release(data, rng=rng, progress=progress)
            return mechanism.release(data, rng=rng)

        return self._purse.buy(self._held.price("run", mechanism), get, draw)

    def open(
        self, mechanism: Interactive[Data, Value], read: Reader | None = None, *, rng: Rng = SYSTEM
    ) -> Conversation[Value]:
        """Open a conversation, and pay for all of it. It ends with the session.

        Parameters
        ----------
        mechanism, read, rng
            As in `run`; the mechanism is an interactive one.
        """
        if not issubclass(type(mechanism), Interactive):
            raise InvalidParameter(
                name="mechanism",
                rule="an Interactive mechanism, such as dp.Sparse(...)",
                got=f"a {type(mechanism).__name__}",
                hint="Others are released with the session's run",
            )
        self._require(rng)
        get = self._held.make_reader(mechanism, read)

        def begin(data: Data) -> Conversation[Value]:
            conversation = mechanism.open(data, rng=rng)
            self._open.add(conversation)
            if self._purse.closed:  # while it was opened
                conversation.close(_ENDED)
            return conversation

        return self._purse.buy(self._held.price("open", mechanism), get, begin)

    # How -----------------------------------------------------------------------------------------------

    def _require(self, rng: Rng, **choices: bool) -> None:
        """Refuse what cannot be right whatever is asked."""
        self._purse.require_open()
        self._held.require_open()
        self._purse.require_safe(rng)
        for name, choice in choices.items():
            checks.instance(bool, **{name: choice})

    def close(self) -> None:
        """Answer nothing more, end all conversations, and give the engine back once it is through."""
        with self._purse.close():
            for conversation in list(self._open):
                conversation.close(_ENDED)
            self._held.close()
            if self._own is not None:
                self._own.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a session cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        state = "closed" if self._purse.closed else f"epsilon {self.left:g} left"
        return f"<Session of {self._held.name}: {self.guarantee}; {len(self.history)} asked, {state}>"
