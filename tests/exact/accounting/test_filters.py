"""Filters against every adaptive spender, exactly.

The spender chooses each mechanism after seeing all outputs, so the worst one is found by going backwards:
with n moves left, what has been charged and the likelihood ratio so far, the best move is the one whose
outputs lead to the largest mean of (1 - e^epsilon / final ratio)+. That value is the delta of the worst
adaptive strategy with these mechanisms, in Fractions, and the filter itself says which moves fit.
"""

from __future__ import annotations

import math
import random  # noqa: TID251 - test data
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import pytest

from discreet.accounting.charges import Charge
from discreet.accounting.filters import AdvancedFilter, ApproxFilter, EitherFilter, Filter, PureFilter
from discreet.core.loss import ApproxLoss, Loss, PureLoss, ZCDPLoss
from discreet.core.rounding import exp_bounds

Law = tuple[Fraction, ...]


class Move(NamedTuple):
    """A mechanism: what it declares, and the probabilities of its outputs on the two neighbours."""

    loss: Loss
    first: Law
    second: Law


def respond(ratio: Fraction) -> Move:
    """Randomized response, declared at its pure epsilon."""
    most, least = ratio / (1 + ratio), 1 / (1 + ratio)
    return Move(PureLoss(log_up(ratio)), (most, least), (least, most))


def respond_or_reveal(ratio: Fraction, mass: Fraction) -> Move:
    """The worst (epsilon, delta) mechanism there is."""
    kept, (_, first, second) = 1 - mass, respond(ratio)
    zero = Fraction(0)
    return Move(
        ApproxLoss(log_up(ratio), mass),
        (mass, zero, *(kept * p for p in first)),
        (zero, mass, *(kept * q for q in second)),
    )


def rare(chance: Fraction, ratio: int) -> Move:
    """A rare telling output, declared by its rho only, as noise without a pure epsilon is."""
    first, second = (chance, 1 - chance), (chance / ratio, 1 - chance / ratio)
    rho = max(rho_of(first, second), rho_of(second, first))
    return Move(ZCDPLoss(Fraction(math.ceil(rho * 1.001 * 10**9), 10**9)), first, second)


def log_up(ratio: Fraction) -> Fraction:
    """Return a decimal a hair above the logarithm."""
    return Fraction(math.ceil(math.log(ratio) * 10**12) + 1, 10**12)


def rho_of(first: Law, second: Law) -> float:
    """Return the largest Rényi divergence over its order, among 350: in between it moves by below 1e-3."""
    best = 0.0
    for k in range(-200, 150):
        order = 1 + 10 ** (k / 60)
        logs = [order * math.log(p) + (1 - order) * math.log(q) for p, q in zip(first, second, strict=True)]
        top = max(logs)
        divergence = (top + math.log(sum(math.exp(x - top) for x in logs))) / (order - 1)
        best = max(best, divergence / order)
    return best


Step = Callable[[Charge, Charge], Charge | None]


def worst_delta(budget: Filter, moves: list[Move], count: int, epsilon: Fraction, step: Step | None = None):
    """Return the largest delta at epsilon of any adaptive choice of `count` moves the filter lets through."""
    scale = Fraction(1 << 80, exp_bounds(epsilon, 80)[1])  # a hair below e^epsilon: the delta is never below

    def admit(spent: Charge, cost: Charge) -> Charge | None:
        return spent + cost if budget.fits(spent + cost) else None

    take = step or admit
    priced = [
        (budget.cost(move.loss), [(p, q) for p, q in zip(move.first, move.second, strict=True) if p])
        for move in moves
    ]

    @cache
    def value(left: int, spent: Charge, ratio: Fraction) -> Fraction:
        best = max(Fraction(0), 1 - scale / ratio)
        for cost, outputs in priced if left else ():
            after = None if cost is None else take(spent, cost)
            if after is None:
                continue
            mean = sum(
                (p * value(left - 1, after, ratio * p / q) if q else p for p, q in outputs), Fraction(0)
            )
            best = max(best, mean)
        return best

    return value(count, budget.nothing, Fraction(1))


def swapped(moves: list[Move]) -> list[Move]:
    return [Move(loss, second, first) for loss, first, second in moves]


TARGETS = [
    (Fraction(1), Fraction(1, 5), Fraction(1, 20)),
    (Fraction(1, 2), Fraction(1, 10), Fraction(1, 50)),
    (Fraction(2), Fraction(1, 10), Fraction(1, 40)),
]


def moves_of(seed: int, failure: Fraction) -> list[Move]:
    draw = random.Random(seed)
    return [
        *(respond(Fraction(draw.randint(11, 22), 10)) for _ in range(3)),
        rare(Fraction(1, draw.choice([5, 10, 20, 50])), draw.choice([2, 3, 5])),
        respond_or_reveal(Fraction(draw.randint(11, 20), 10), failure / draw.choice([1, 2, 3])),
    ]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_no_adaptive_spender_gets_more_than_delta_out_of_an_either_filter(target, seed):
    epsilon, delta, failure = target
    budget = EitherFilter(epsilon=epsilon, delta=delta, failure=failure)
    moves = moves_of(seed, failure)
    for game in (moves, swapped(moves)):
        found = worst_delta(budget, game, 5, epsilon)
        assert found <= delta
        # It allows what either rule alone allows.
        alone = AdvancedFilter(epsilon=epsilon, delta=delta, failure=failure)
        assert found >= worst_delta(alone, game, 5, epsilon)
        pure = [move for move in game if isinstance(move.loss, PureLoss)]
        assert worst_delta(PureFilter(epsilon=epsilon), pure, 5, epsilon) == 0


TELLING = [
    respond(Fraction(3, 2)),
    respond(Fraction(6, 5)),
    respond_or_reveal(Fraction(6, 5), Fraction(1, 20)),
]


def test_the_audit_is_not_idle():
    """The worst spender comes within a factor of two of delta."""
    epsilon, delta, failure = TARGETS[0]
    budget = EitherFilter(epsilon=epsilon, delta=delta, failure=failure)
    assert delta / 2 < worst_delta(budget, TELLING, 7, epsilon) <= delta


class FailuresForgotten(EitherFilter):
    ways = (("epsilon",), ("rho", "delta"))


class FailuresForgottenByRho(EitherFilter):
    ways = (("epsilon", "delta"), ("rho",))


@pytest.mark.parametrize("broken", [FailuresForgotten, FailuresForgottenByRho])
def test_a_way_that_forgets_failures_is_caught(broken):
    epsilon, delta, failure = TARGETS[0]
    assert worst_delta(broken(epsilon=epsilon, delta=delta, failure=failure), TELLING, 7, epsilon) > delta


def test_one_budget_after_the_other_is_caught():
    """The tempting mistake: charge epsilons while they fit, and start to count rhos when they do not."""
    epsilon, delta, failure = TARGETS[0]
    budget = EitherFilter(epsilon=epsilon, delta=delta, failure=failure)

    def first_one_then_the_other(spent: Charge, cost: Charge) -> Charge | None:
        both = spent + cost
        if both.amounts["epsilon"] <= epsilon:
            rho = Charge.of(cost.names, (Fraction(0), cost.amounts["rho"], Fraction(0)))
            return both - rho
        return both if both.amounts["rho"] <= budget.budget["rho"] else None

    moves = [respond(Fraction(27, 10)), respond(Fraction(9, 5))]
    assert worst_delta(budget, moves, 7, epsilon) <= delta
    assert worst_delta(budget, moves, 7, epsilon, first_one_then_the_other) > delta


@pytest.mark.parametrize("seed", range(4))
def test_epsilons_and_deltas_add_up(seed):
    epsilon, delta, _ = TARGETS[0]
    draw = random.Random(seed)
    moves = [
        *(respond(Fraction(draw.randint(11, 22), 10)) for _ in range(2)),
        *(
            respond_or_reveal(Fraction(draw.randint(11, 20), 10), delta / draw.randint(1, 4))
            for _ in range(2)
        ),
    ]
    assert 0 < worst_delta(ApproxFilter(epsilon=epsilon, delta=delta), moves, 6, epsilon) <= delta
