"""How questions are answered: what every door leads to.

Whoever asks waits for as little as possible. Reading a question, answering it from the hypothesis and looking
up what was answered before happen in the asker's own thread, behind no lock that anybody else waits for. The
ledger and the records are locked for single look-ups; the gate of the shared conversation for a block of
questions; and only the engine for as long as one priced question takes, since there is but one of it.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass

from discreet.core import checks
from discreet.core.errors import DiscreetError, EngineFailed, Refused
from discreet.curator.amounts import Amounts
from discreet.curator.doors import Desk
from discreet.curator.history import Quote
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.offers import choose_offer, read_bought
from discreet.curator.records import Records
from discreet.curator.released_counts import find_least_sure
from discreet.curator.reply import Reply
from discreet.curator.shared import SharedHypothesis
from discreet.curator.ticks import FairLock, Ticks
from discreet.data.linear import Counts
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.pricing.usefulness import RowsKnown, require_useful
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql
from discreet.data.table import Table
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_query, write_workload
from discreet.query_release.synopses.online_answer import OnlineAnswer


@dataclass(frozen=True, slots=True)
class _Question:
    """A question that is planned: who keeps its record, and what it is in other words."""

    plan: Plan
    tables: PlanTables
    key: Hashable

    @property
    def text(self) -> str:
        """The question in its canonical form."""
        return to_sql(self.plan, self.tables)


class Service:
    """Answers analysts' questions about a table, from one hypothesis and on one ledger.

    Parameters
    ----------
    table, hypothesis, ledger
        What is asked about, what answers at no cost (if there is one), and what pays for the rest.
    policy
        The most one question may cost.
    ticks
        When replies leave.
    apart
        Whether each analyst has records of her own, so that nobody learns what another asked.
    """

    def __init__(
        self,
        table: Table,
        hypothesis: SharedHypothesis | None,
        ledger: Ledger,
        *,
        policy: Policy,
        ticks: Ticks,
        apart: bool,
    ) -> None:
        self.hypothesis, self.engine = hypothesis, FairLock()
        self._table, self._ledger, self._policy = table, ledger, policy
        self._ticks, self._apart = ticks, apart
        self._tables = PlanTables.of(table.schemas)
        self._records = Records()
        self._closed = False
        self._process = os.getpid()

    def close(self) -> None:
        """Answer nothing more, and give the engine back once it is through with what it is doing."""
        self._closed = True
        with self.engine.turn():
            if self.hypothesis is not None:
                self.hypothesis.close()
            self._table.close()

    # What doors lead to ------------------------------------------------------------------------------

    def universe(self) -> Universe:
        """Return what linear queries are built over."""
        return self._open_hypothesis().universe

    def plan(self, desk: Desk, text: str, *, fresh: bool) -> Quote:
        """Say what a question would cost."""
        with self._ticks.hold():
            self._require_open()
            question = self._read(desk, text, fresh)
            known = self._records.get(question.key)
            if known is not None:
                return known.repeat(question.plan).quote()
            counts = self._counts(question, fresh)
            if counts is not None:
                return self._open_hypothesis().quote(question.plan, counts)
            plan = self._price(desk, question)
            cost = self._ledger.quote(desk.name, plan.guarantee, bought=read_bought(plan))
            words = plan.describe(self._expect(question))
            return Quote("priced", plan.columns, cost, plan.guarantee, words)

    def sql(self, desk: Desk, text: str, *, fresh: bool, insist: bool) -> Reply:
        """Answer a question."""
        with self._ticks.hold():
            self._require_open()
            checks.instance(bool, insist=insist)
            question = self._read(desk, text, fresh)
            with self._records.turn(question.key):
                self._require_open()
                known = self._records.get(question.key)
                if known is not None:
                    reply = known.repeat(question.plan)
                else:
                    counts = self._counts(question, fresh)
                    if counts is None:
                        reply = self._buy(desk, question, insist=insist)
                    else:
                        reply = self._look(question, counts)
                    self._records.keep(desk.name, question.key, reply.copy())
            desk.history.note(question.text, reply.kind, reply.cost, repeated=reply.repeated)
            return reply

    def ask(self, desk: Desk, query: LinearQuery | Workload) -> OnlineAnswer | tuple[OnlineAnswer, ...]:
        """Answer linear queries."""
        with self._ticks.hold():
            self._require_open()
            hypothesis = self._open_hypothesis()
            # Analysts are not believed: code of their own is run here, before any data are read.
            if issubclass(type(query), Workload):  # not by __class__, which may say anything
                workload = write_workload(query)  # type: ignore[arg-type]
                answers = hypothesis.ask_many(workload)
                desk.history.note(repr(workload), find_least_sure(answers), {})
                return tuple(answers)
            one = write_query(query)  # type: ignore[arg-type]
            answer = hypothesis.ask(one)
            desk.history.note(repr(one), answer.kind, {})
            return answer

    def left(self, desk: Desk) -> Amounts:
        """Return what may still be spent."""
        with self._ticks.hold():
            return self._ledger.left(desk.name)

    # How -------------------------------------------------------------------------------------------

    def _read(self, desk: Desk, text: str, fresh: bool) -> _Question:
        checks.instance(bool, fresh=fresh)
        plan = parse(text, schemas=self._tables, policy=self._policy)
        owner = desk.name if self._apart else None
        # What is computed from the numbers, and which rows are shown, makes no other question of it.
        key = owner, canonicalise(plan), plan.shown_sets, fresh
        return _Question(plan, self._tables, key)

    def _price(self, desk: Desk, question: _Question) -> QuestionPlan:
        return choose_offer(self._ledger, desk.name, question.plan, question.tables, self._policy)

    def _counts(self, question: _Question, fresh: bool) -> Counts | None:
        """Return the question as counts that the hypothesis answers; None where it must be bought."""
        if fresh or self.hypothesis is None:
            return None
        return self.hypothesis.counts(question.plan, question.tables)

    def _look(self, question: _Question, counts: Counts) -> Reply:
        return self._open_hypothesis().answer(question.plan, counts)

    def _expect(self, question: _Question) -> RowsKnown | None:
        """Return how many rows there are, where the hypothesis says so: it is released already."""
        if self.hypothesis is None or question.plan.joins:
            return None
        return self.hypothesis.expect(question.plan, question.tables)

    def _buy(self, desk: Desk, question: _Question, *, insist: bool) -> Reply:
        """Reserve the price of a question and let the engine answer it: one of each analyst at a time."""
        with desk.line.turn():
            plan = self._price(desk, question)
            if not insist:
                require_useful(plan.budget, self._expect(question), most=self._policy.epsilon)
            ticket, charge = Ticket(), Amounts()
            try:
                number = self._ledger.reserve(
                    desk.name, question.text, plan.guarantee, bought=read_bought(plan), ticket=ticket
                )
                charge |= self._ledger.entry(number).charge
                with self.engine.turn():
                    self._require_open()
                    self._ledger.start(number)  # whatever happens from here on, the charge stays
                    reply = self._measure(plan, charge)
                if reply is None:
                    raise EngineFailed
                self._ledger.finish(number)
            except BaseException:  # an interrupt, say, while she waited: what was not started costs nothing
                if not self._ledger.void_unless_started(ticket):
                    desk.history.note(question.text, "failed", charge)
                raise
            return reply

    def _measure(self, plan: QuestionPlan, charge: Amounts) -> Reply | None:
        """Return the answer of the engine; None where it fails, for whatever it says may quote data."""
        try:
            return Reply.of(self._table.answer(plan), charge)
        except Exception:  # the error we raise later keeps no link to it
            return None

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise DiscreetError("this curator belongs to another process: a fork would double the budget")
        if self._closed:
            raise Refused(
                what="question", why="the curator is closed", way_out="Ask its owner to open another one"
            )

    def _open_hypothesis(self) -> SharedHypothesis:
        if self.hypothesis is None:
            raise Refused(
                what="shared hypothesis",
                why="this curator was opened without one",
                way_out="Ask by SQL, or open it with shared above 0",
            )
        return self.hypothesis
