"""Questions by SQL to a session: planned from public facts, answered once, and given again at no cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from discreet.accounting.filters import HELD_BACK
from discreet.core import checks
from discreet.core.rng import Rng
from discreet.curator.kept.requests import QuestionForm
from discreet.curator.offers import choose_offer, read_bought
from discreet.curator.sessions.holding import Holding
from discreet.curator.sessions.purchases import KeptAnswers, Purchase
from discreet.curator.sessions.spending import Purse
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.question_plan import QuestionPlan, require_priced
from discreet.data.pricing.usefulness import require_useful
from discreet.data.pricing.wanted_errors import OneOrMore, QuestionsPlan, plan_questions
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

_ONE_OF = 50  # a question that names no delta may use one part in so many of what is kept for deltas


class SessionQuestions:
    """What a session does with SQL."""

    def __init__(self, held: Holding, purse: Purse) -> None:
        self._held, self._purse, self._answers = held, purse, KeptAnswers()

    def plan(self, text: str, epsilon: checks.Number, delta: checks.Number | None) -> QuestionPlan:
        """Price a question with the noise that leaves most open."""
        part = self._purse.guarantee.loss.exact_failure() * HELD_BACK / _ONE_OF
        policy = Policy(
            epsilon=checks.exact(epsilon=epsilon), delta=part if delta is None else checks.exact(delta=delta)
        )
        tables = self._tables()
        question = parse(text, schemas=tables, policy=policy)
        return choose_offer(self._purse.ledger, self._purse.name, question, tables, policy)

    def plan_within(
        self, questions: Iterable[str], within: OneOrMore, of: OneOrMore | None, beta: checks.Number
    ) -> QuestionsPlan:
        """Price questions so that all of them meet their wanted errors."""
        return plan_questions(
            questions,
            tables=self._tables(),
            within=within,
            of=of,
            beta=beta,
            delta=self._purse.guarantee.loss.exact_failure(),
            fits=self._purse.fits,
        )

    def require_priced(self, plan: QuestionPlan) -> QuestionPlan:
        """Return a plan that must have been priced for this table."""
        require_priced(plan, self._tables())
        return plan

    def answer(self, plan: QuestionPlan, *, fresh: bool, insist: bool, rng: Rng) -> Answer:
        """Buy an answer unless it would say nothing, or give that which was bought before."""
        # Names, order and what is computed from the numbers make no other question of it.
        key = QuestionForm(plan.question), plan.epsilon, plan.delta
        known = None if fresh else self._answers.get(key)
        if known is not None:
            return _show(known, plan)
        if not insist:
            require_useful(plan.budget, self._answers.expect(plan))
        return self._buy(key, plan, fresh=fresh, rng=rng)

    def _buy(self, key: Hashable, plan: QuestionPlan, *, fresh: bool, rng: Rng) -> Answer:
        """Buy an answer, unless somebody who was ahead in line has bought it."""
        with self._purse.wait():
            known = None if fresh else self._answers.get(key)
            if known is not None:
                return _show(known, plan)
            table, text = self._held.need_table(), to_sql(plan.question, plan.tables)
            purchase = Purchase("sql", text, plan.guarantee, read_bought(plan))
            answer = self._purse.buy(purchase, lambda: table.answer(plan, rng=rng), _pass_on)
            self._answers.keep(key, answer)
            return answer

    def _tables(self) -> PlanTables:
        return PlanTables.of(self._held.need_table().schemas)


def _show(known: Answer, plan: QuestionPlan) -> Answer:
    """Return the numbers that were bought as a question asks for them."""
    return known if known.plan.question == plan.question else known.present(plan.question)


def _pass_on(answer: Answer) -> Answer:
    return answer
