"""What a question is bought for: the noise that is best for it, unless pure noise leaves more open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from discreet.core.loss import ApproxLoss
from discreet.curator.ledger.entries import SpendingLedger
from discreet.data.ask import price_plan
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan


def choose_offer(
    ledger: SpendingLedger,
    analyst: str,
    question: Plan,
    tables: PlanTables,
    policy: Policy,
    *,
    study: str | None = None,
) -> QuestionPlan:
    """Price a question with the noise that is best for it, or where that does not fit with pure noise.

    Nor does it fit where it would be the end of adding up pairs, and pure noise would not: the next question
    may need them.
    """
    best, *others = list_offers(question, tables, policy)
    for pure in others:
        fits = [
            ledger.fit(analyst, one.guarantee, bought=read_bought(one), study=study) for one in (best, pure)
        ]
        if fits[0] < fits[1]:
            return pure
    return best


def list_offers(question: Plan, tables: PlanTables, policy: Policy) -> Iterator[QuestionPlan]:
    """List the plans that a question may be bought with: the best for it, then that with pure noise."""
    best = price_plan(question, tables, policy)
    yield best
    if best.delta and all(vector.threshold is None for vector in best.budget.vectors):
        yield price_plan(question, tables, replace(policy, delta=Fraction(0)))


def read_bought(plan: QuestionPlan) -> ApproxLoss:
    """Return the pair that a question was bought for, which its noise was planned to keep."""
    return ApproxLoss(plan.epsilon, plan.delta)
