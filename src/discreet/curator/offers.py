"""What a question is bought for: the noise that is best for it, unless pure noise leaves more open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.core.loss import ApproxLoss
from discreet.curator.ledger.entries import SpendingLedger
from discreet.data.ask import price_plan
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan


def choose_offer(
    ledger: SpendingLedger, analyst: str, question: Plan, tables: PlanTables, policy: Policy
) -> QuestionPlan:
    """Price a question with the noise that is best for it, or where that does not fit with pure noise.

    Nor does it fit where it would be the end of adding up pairs, and pure noise would not: the next question
    may need them.
    """
    best = price_plan(question, tables, policy)
    if not best.delta or any(vector.threshold is not None for vector in best.budget.vectors):
        return best
    pure = price_plan(question, tables, replace(policy, delta=Fraction(0)))
    offers = [ledger.fit(analyst, one.guarantee, bought=read_bought(one)) for one in (best, pure)]
    return best if offers[0] >= offers[1] else pure


def read_bought(plan: QuestionPlan) -> ApproxLoss:
    """Return the pair that a question was bought for, which its noise was planned to keep."""
    return ApproxLoss(plan.epsilon, plan.delta)
