"""How questions are answered: what every door leads to.

Whoever asks waits for as little as possible. Reading a question, answering it from the hypothesis and looking
up what was answered before happen in the asker's own thread, behind no lock that anybody else waits for. The
ledger and the records are locked for single look-ups; the gate of the shared conversation for a block of
questions; and only the engine for as long as one priced question takes, since there is but one of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.errors import DiscreetError, EngineFailed, InternalError, NotFree, Refused
from discreet.curator.amounts import Amounts
from discreet.curator.desks import Desk
from discreet.curator.failures import Failures
from discreet.curator.history import History, Quote
from discreet.curator.hypotheses.own_conversations import OwnConversations
from discreet.curator.hypotheses.released_counts import find_least_sure
from discreet.curator.hypotheses.shared import Shared, SharedHypothesis
from discreet.curator.kept.kept_replies import KeptReplies
from discreet.curator.kept.keys import require_key
from discreet.curator.kept.requests import DoorRequest
from discreet.curator.kept.written_answer import find_plan_digest
from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ledger.entries import KeyUse, Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.limits import require_rows
from discreet.curator.offers import choose_offer, read_bought
from discreet.curator.question_reader import QuestionReader
from discreet.curator.records import Records
from discreet.curator.reply import Reply
from discreet.curator.standing.standing_questions import StandingQuestions
from discreet.curator.ticks import FairLock, Ticks
from discreet.data.counts import Counts
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan, cap_rows
from discreet.data.pricing.usefulness import RowsKnown, require_useful
from discreet.data.schema.schema import Row
from discreet.data.table import Table
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_query, write_workload
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.query_release.synopses.synthetic import SyntheticTable


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
    version
        Which state of the table it is: what was bought of another one is not given for this one.
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
        version: str | None = None,
    ) -> None:
        self.hypothesis, self.engine = hypothesis, FairLock()
        self._table, self._ledger, self._policy = table, ledger, policy
        self._ticks, self._apart, self._version = ticks, apart, version
        self._tables = PlanTables.of(table.schemas)
        self._records, self._keyed = Records(), Records()
        self._kept = KeptReplies(ledger, self._tables, policy)
        self._reader, self._failures = QuestionReader(self._tables, policy), Failures(ledger)
        shared: dict[str, Any] = {
            "engine": self.engine,
            "failures": self._failures,
            "require_open": self._require_open,
            "count_rows": self._count_rows,
        }
        self._own = OwnConversations(table, ledger, version=version, **shared)
        self.standing = StandingQuestions(table, ledger, reader=self._reader, ticks=ticks, **shared)
        self._closed = False
        if isinstance(hypothesis, Shared):
            hypothesis.may_look = self._own.may_look
        self._process = os.getpid()

    def close(self) -> None:
        """Answer nothing more, and give the engine back once it is through with what it is doing."""
        self._closed = True
        with self.engine.turn():
            if self.hypothesis is not None:
                self.hypothesis.close()
            self._own.close_all()
            self._table.close()

    def open_desk(self, name: str, share: Fraction) -> Desk:
        """Return a desk for an analyst, with what she bought in earlier lives in its history."""
        return Desk(name, share, history=History(self._kept.list_bought(name)))

    # What doors lead to ------------------------------------------------------------------------------

    def find_universe(self) -> Universe:
        """Return what the shared hypothesis is about."""
        return self._open_hypothesis().universe

    def universe(self, desk: Desk, conversation: str | None = None) -> Universe:
        """Return what linear queries are built over."""
        return self._find_hypothesis(desk, conversation).universe

    def plan(self, desk: Desk, text: str, *, study: str | None = None, **how: Any) -> Quote:
        """Say what a question would cost."""
        with self._ticks.hold():
            self._require_open()
            asked = self._read(desk, text, study, **how)
            known = self._records.get(asked.record)
            counts = None if known is not None else self._counts(asked)
            if counts is not None:
                return self._open_hypothesis().quote(asked.plan, counts)
            known = known or self._kept.find_bought(asked)
            if known is not None:
                return known.repeat(asked.plan).quote()
            plan = self._price(desk, asked)
            line: dict[str, Any] = {"bought": read_bought(plan), "study": study}
            cost = self._ledger.quote(desk.name, plan.guarantee, **line)
            refusal = self._ledger.find_refusal(desk.name, plan.guarantee, **line)
            words = plan.describe(self._expect(asked))
            return Quote("priced", plan.columns, cost, plan.guarantee, words, refusal=refusal)

    def sql(
        self,
        desk: Desk,
        text: str,
        *,
        insist: bool,
        pay: bool = True,
        study: str | None = None,
        key: str | None = None,
        **how: Any,
    ) -> Reply:
        """Answer a question."""
        with self._ticks.hold():
            self._require_open()
            checks.instance(bool, insist=insist)
            checks.instance(bool, pay=pay)
            read = self._read(desk, text, study, **how)
            asked = replace(read, insist=insist, pay=pay, key=require_key(key))
            if key is None:
                return self._answer(desk, asked)
            # Whoever comes with the same key meanwhile waits, and is told the same.
            with self._keyed.turn((desk.name, key)):
                return self._answer_once(desk, asked)

    def ask(
        self, desk: Desk, query: LinearQuery | Workload, conversation: str | None = None
    ) -> OnlineAnswer | tuple[OnlineAnswer, ...]:
        """Answer linear queries."""
        with self._ticks.hold():
            self._require_open()
            hypothesis = self._find_hypothesis(desk, conversation)
            # Analysts are not believed: code of their own is run here, before any data are read.
            if issubclass(type(query), Workload):  # not by __class__, which may say anything
                workload = write_workload(query)  # type: ignore[arg-type]
                answers = hypothesis.ask_many(workload)
                desk.history.note(repr(workload), find_least_sure([answers]), {})
                return tuple(answers)
            one = write_query(query)  # type: ignore[arg-type]
            answer = hypothesis.ask(one)
            desk.history.note(repr(one), answer.kind, {})
            return answer

    def synthetic(self, desk: Desk, rows: int, conversation: str | None = None) -> SyntheticTable:
        """Make up rows in proportion to what a hypothesis says."""
        with self._ticks.hold():
            self._require_open()
            return self._find_hypothesis(desk, conversation).synthetic(require_rows(rows))

    def open(self, desk: Desk, columns: Iterable[str], **offered: Any) -> str:
        """Open a conversation of one's own."""
        with self._ticks.hold():
            return self._own.open(desk, columns, **offered)

    def plan_own(self, desk: Desk, columns: Iterable[str], **offered: Any) -> Quote:
        """Say what a conversation of one's own would cost."""
        with self._ticks.hold():
            return self._own.plan(desk, columns, **offered)

    def close_own(self, desk: Desk, conversation: str) -> None:
        """End a conversation of one's own."""
        with self._ticks.hold():
            self._own.close(desk, conversation)

    def left(self, desk: Desk) -> Amounts:
        """Return what may still be spent."""
        with self._ticks.hold():
            return self._ledger.left(desk.name)

    # How -------------------------------------------------------------------------------------------

    def _read(
        self,
        desk: Desk,
        text: str,
        study: str | None,
        *,
        fresh: bool,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
    ) -> DoorRequest:
        checks.instance(bool, fresh=fresh)
        if study is not None:
            self._ledger.require_study(checks.text(study=study))
        read = self._reader.read(desk.name, text, epsilon=epsilon, delta=delta)
        owner = desk.name if self._apart else None
        return DoorRequest(read, owner, fresh, study=study, version=self._version)

    def _answer_once(self, desk: Desk, asked: DoorRequest) -> Reply:
        """Answer a request that has a key: the first time, or as it was answered then."""
        use = self._kept.find_use(desk.name, asked)
        if use is None:
            reply = self._answer(desk, asked)
        else:
            known = self._keyed.get((desk.name, asked.key)) or self._kept.find_keyed(desk.name, asked, use)
            if known is None and use.entry is not None:
                with self._records.turn(asked.record):
                    known = self._resume(desk, asked, use.entry)
                    self._records.keep(desk.name, asked.record, known.copy())
            if known is None:
                raise InternalError("a key stands for nothing")
            reply = known.again()
        self._keyed.keep(desk.name, (desk.name, asked.key), reply.again())
        return reply

    def _answer(self, desk: Desk, asked: DoorRequest) -> Reply:
        """Answer a request: as the same numbers were given before, from the hypothesis, or by the engine."""
        record = asked.record
        with self._records.turn(record):
            self._require_open()
            known = self._records.get(record)
            counts = None if known is not None else self._counts(asked)
            if known is None and counts is None:
                known = self._kept.find_bought(asked)
                if known is not None:
                    self._records.keep(desk.name, record, known.copy())
            if known is not None:
                reply = known.repeat(asked.plan)
            elif counts is None and not asked.pay:
                raise NotFree(
                    what="question",
                    why="it has a price, and was to cost nothing",
                    way_out="Ask with pay=True",
                )
            else:
                reply = self._buy(desk, asked) if counts is None else self._look(asked, counts)
                self._records.keep(desk.name, record, reply.copy())
        if not reply.cost:
            reply = self._kept.give(desk.name, asked, reply)
        desk.history.note(asked.read.noted, reply.kind, reply.cost, repeated=reply.repeated)
        return reply

    def _price(self, desk: Desk, asked: DoorRequest) -> QuestionPlan:
        return choose_offer(
            self._ledger, desk.name, asked.plan, asked.tables, self._policy, study=asked.study
        )

    def _counts(self, asked: DoorRequest) -> Counts | None:
        """Return the question as counts that the hypothesis answers; None where it must be bought."""
        if asked.fresh or self.hypothesis is None:
            return None
        return self.hypothesis.counts(asked.plan, asked.tables)

    def _look(self, asked: DoorRequest, counts: Counts) -> Reply:
        schema = self._table.schema
        caps = () if isinstance(schema.unit, Row) else (cap_rows(schema, self._table.rows_per_unit),)
        return replace(self._open_hypothesis().answer(asked.plan, counts), caps=caps)

    def _expect(self, asked: DoorRequest) -> RowsKnown | None:
        """Return how many rows there are, where the hypothesis says so: it is released already."""
        if self.hypothesis is None or asked.plan.joins:
            return None
        return self.hypothesis.expect(asked.plan, asked.tables)

    def _count_rows(self) -> Fraction | None:
        """Return about how many rows there are, where the hypothesis or the owner said."""
        said = self._table.schema.rows
        if self.hypothesis is not None:
            return self.hypothesis.rows
        return None if said is None else Fraction(said)

    def _buy(self, desk: Desk, asked: DoorRequest) -> Reply:
        """Reserve the price of a question and let the engine answer it: one of each analyst at a time."""
        with desk.line.turn():
            self._failures.require_few(desk.name)
            plan = self._price(desk, asked)
            if not asked.insist:
                self._ledger.require_kept()  # first: to insist would not help
                require_useful(plan.budget, self._expect(asked), most=self._policy.epsilon)
            ticket, charge = Ticket(), Amounts()
            try:
                number = self._ledger.reserve(
                    desk.name,
                    asked.text,
                    plan.guarantee,
                    bought=read_bought(plan),
                    ticket=ticket,
                    study=asked.study,
                    key=asked.key,
                    request=None if asked.key is None else asked.digest,
                    question=asked.question,
                    plan=find_plan_digest(plan),
                )
                if ticket.number is None:  # another process was charged for the same key meanwhile
                    use = KeyUse(asked.digest, number)
                    return self._kept.find_keyed(desk.name, asked, use) or self._resume(desk, asked, number)
                charge |= self._ledger.entry(number).charge
                with self.engine.turn():
                    self._require_open()
                    self._table.require_open()
                    self._ledger.start(number)  # whatever happens from here on, the charge stays
                    reply = self._measure(plan, charge)
                return self._keep(desk, number, asked, reply)
            except BaseException:  # an interrupt, say, while she waited: what was not started costs nothing
                if not self._ledger.void_unless_started(ticket):
                    desk.history.note(asked.text, "failed", charge)
                raise

    def _resume(self, desk: Desk, asked: DoorRequest, number: int) -> Reply:
        """Answer what was charged under a key and not answered: nothing of it was ever said."""
        self._ledger.refresh()  # its owner may have retired it from another process
        self._ledger.require_kept()
        with desk.line.turn():
            self._failures.require_few(desk.name)
            plan, charge = self._kept.find_plan(number, asked), Amounts(self._ledger.entry(number).charge)
            with self.engine.turn():
                self._require_open()
                self._table.require_open()
                self._ledger.resume(number)
                reply = self._measure(plan, charge)
            return self._keep(desk, number, asked, reply)

    def _keep(self, desk: Desk, number: int, asked: DoorRequest, reply: Reply | None) -> Reply:
        """Keep what came of a charge before anybody is told."""
        if reply is not None:
            return self._kept.keep_bought(number, reply, keyed=asked.key is not None)
        self._failures.note(desk.name)
        if asked.key is not None:
            self._kept.keep_failure(number)
        raise EngineFailed

    def _measure(self, plan: QuestionPlan, charge: Amounts) -> Reply | None:
        """Return the answer of the engine; None where it fails, for whatever it says may quote data."""
        reach("before engine")
        try:
            return Reply.of(self._table.answer(plan), charge)
        except Exception:  # the error we raise later keeps no link to it
            return None
        finally:
            reach("after engine")

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise DiscreetError("this curator belongs to another process: a fork would double the budget")
        if self._closed:
            raise Refused(
                what="question", why="the curator is closed", way_out="Ask its owner to open another one"
            )

    def _find_hypothesis(self, desk: Desk, conversation: str | None) -> SharedHypothesis:
        return self._open_hypothesis() if conversation is None else self._own.find(desk, conversation)

    def _open_hypothesis(self) -> SharedHypothesis:
        if self.hypothesis is None:
            raise Refused(
                what="shared hypothesis",
                why="this curator was opened without one",
                way_out="Ask by SQL, or open it with shared above 0",
            )
        if self._ledger.is_retired:
            self.hypothesis.retire()
        return self.hypothesis
