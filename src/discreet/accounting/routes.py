"""The ways to bound a composition, each from the views of its parts alone.

A route gives an upper bound on epsilon at a delta and on delta at an epsilon; infinity and 1 where it
does not apply. All of them hold for mechanisms chosen adaptively with losses fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting import optimal
from discreet.accounting.advanced import advanced_slack, advanced_sum
from discreet.accounting.numeric import Parts, distributions
from discreet.core.loss import ORDERS, ApproxLoss, Loss, ZCDPLoss, gaussian_delta, renyi_delta
from discreet.core.losses.base import smallest_epsilon
from discreet.core.losses.pld import LossDistribution
from discreet.core.rounding import above, down, sum_up, up
from discreet.core.search import narrow

_TARGETS = (1e-60, 0.25)
_LOGARITHMS = (-140.0, -1.0)  # of the deltas that a sum is inverted over
_HALVINGS = 20


class Route(NamedTuple):
    """One way to bound a composition."""

    name: str
    words: str
    epsilon: Callable[[Parts, Fraction], float]
    delta: Callable[[Parts, Fraction], float]


def failure(parts: Parts) -> Fraction:
    """Return the sum of the failure masses."""
    return sum_up(count * loss.exact_failure() for loss, count in parts)


def rho(parts: Parts) -> Fraction | None:
    """Return the sum of the rhos; None where a part has none."""
    rhos = [(loss.exact_rho(), count) for loss, count in parts]
    known = [count * value for value, count in rhos if value is not None]
    return sum_up(known) if len(known) == len(rhos) else None


def pure(parts: Parts) -> Fraction | None:
    """Return the sum of the epsilons at the failure masses; None where a part has none."""
    cases = worst_cases(parts)
    return None if cases is None else sum_up(count * value for value, _, count in cases)


def zcdp(parts: Parts) -> float:
    """Return the sum of the rhos, rounded up."""
    total = rho(parts)
    return math.inf if total is None else up(total)


def renyi(parts: Parts, order: float) -> float:
    """Return the sum of the divergences of one order, rounded up."""
    values = [(loss.renyi(order), count) for loss, count in parts]
    if any(math.isinf(value) for value, _ in values):
        return math.inf
    return up(sum((count * Fraction(value) for value, count in values), Fraction(0)))


def gaussian(parts: Parts) -> tuple[Fraction, Fraction] | None:
    """Return the sums of the Gaussian views, where every part has one."""
    views = [(loss.gaussian(), count) for loss, count in parts]
    known = [(view, count) for view, count in views if view is not None]
    if len(known) < len(views):
        return None
    return sum_up(count * view[0] for view, count in known), sum_up(count * view[1] for view, count in known)


def worst_cases(parts: Parts) -> list[tuple[Fraction, Fraction, int]] | None:
    """Return (epsilon, delta, count) of every part at its own failure mass; None where one has none."""
    cases = []
    for loss, count in parts:
        value = loss.exact_epsilon()
        if value is None:
            return None
        cases.append((value, loss.exact_failure(), count))
    return cases


# --- one loss that stands for all ----------------------------------------------------------------


def _stand_in(name: str, words: str, find: Callable[[Parts], Loss | LossDistribution | None]) -> Route:
    """Return the route by one loss that covers all parts, where there is one."""

    def epsilon(parts: Parts, delta: Fraction) -> float:
        found = find(parts)
        return math.inf if found is None else found.epsilon(delta)

    def delta(parts: Parts, epsilon: Fraction) -> float:
        found = find(parts)
        return 1.0 if found is None else found.delta(epsilon)

    return Route(name, words, epsilon, delta)


def _is_single(parts: Parts) -> bool:
    return len(parts) == 1 and parts[0][1] == 1


# --- sums ----------------------------------------------------------------------------------------


def _basic_epsilon(parts: Parts, delta: Fraction) -> float:
    """Sum the epsilons; parts without one at their failure mass share the delta that is left."""
    return _add_epsilons(
        [(loss, loss.exact_epsilon(), count) for loss, count in parts], failure(parts), delta
    )


def _add_epsilons(values: list[tuple[Loss, Fraction | None, int]], mass: Fraction, delta: Fraction) -> float:
    if mass > delta or mass >= 1:
        return math.inf
    sharing = sum(count for _, value, count in values if value is None)
    share = (delta - mass) / sharing if sharing else Fraction(0)
    found = [
        count * (loss.epsilon(loss.exact_failure() + share) if value is None else value)
        for loss, value, count in values
    ]
    if any(math.isinf(value) for value in found):
        return math.inf
    return up(sum_up(map(Fraction, found)))


def _basic_delta(parts: Parts, epsilon: Fraction) -> float:
    mass, total = failure(parts), pure(parts)
    if mass >= 1:
        return 1.0
    if total is not None:
        return up(mass) if total <= epsilon else 1.0
    if gaussian(parts) is not None:
        return 1.0  # their own route is exact

    def delta(logarithm: float) -> Fraction:
        return mass + (1 - mass) * Fraction(math.exp(logarithm))

    values = [(loss, loss.exact_epsilon(), count) for loss, count in parts]

    def holds(logarithm: float) -> bool:
        return _add_epsilons(values, mass, delta(logarithm)) <= epsilon

    # Invert the sum: parts without an epsilon share the delta. Any point where it holds is sound.
    least, most = _LOGARITHMS
    if not holds(most):
        return 1.0
    _, most = narrow(holds, least, most, steps=_HALVINGS)
    return up(delta(most))


def _advanced_epsilon(parts: Parts, delta: Fraction) -> float:
    cases = worst_cases(parts)
    mass = failure(parts)
    if cases is None or delta <= mass:
        return math.inf
    return advanced_sum([(e, count) for e, _, count in cases], delta - mass)


def _advanced_delta(parts: Parts, epsilon: Fraction) -> float:
    cases = worst_cases(parts)
    if cases is None:
        return 1.0
    slack = advanced_slack([(e, count) for e, _, count in cases], down(epsilon))
    return min(1.0, above(up(failure(parts)) + slack))


# --- optimal for worst cases -----------------------------------------------------------------------


def _compose_equal(parts: Parts) -> LossDistribution | None:
    cases = worst_cases(parts)
    if not cases or len({(e, d) for e, d, _ in cases}) > 1 or cases[0][0] == 0:
        return None
    count = sum(count for _, _, count in cases)
    if not optimal.is_spelled_out(count):
        return None
    return optimal.compose_equal(epsilon=cases[0][0], delta=cases[0][1], count=count)


def _mix(parts: Parts) -> Parts | None:
    """Return the parts with every loss replaced by its worst case, where these differ."""
    cases = worst_cases(parts)
    if not cases or len({(e, d) for e, d, _ in cases}) == 1:
        return None
    return tuple((ApproxLoss(e, d), count) for e, d, count in cases)


# --- concentrated ----------------------------------------------------------------------------------


def _zcdp_epsilon(parts: Parts, delta: Fraction) -> float:
    total, mass = rho(parts), failure(parts)
    if total is None or delta <= mass:
        return 0.0 if total == 0 and delta >= mass else math.inf
    return smallest_epsilon(ZCDPLoss(total).delta, down(delta - mass))


def _zcdp_delta(parts: Parts, epsilon: Fraction) -> float:
    total, mass = rho(parts), failure(parts)
    if total is None:
        return 1.0
    return min(1.0, above(up(mass) + ZCDPLoss(total).delta(epsilon)))


def _renyi_epsilon(parts: Parts, delta: Fraction) -> float:
    mass = failure(parts)
    if delta <= mass:
        return math.inf
    log_delta = math.log(down(delta - mass)) if down(delta - mass) > 0 else -math.inf
    best = math.inf
    for order in ORDERS:
        divergence = renyi(parts, order)
        cost = -(log_delta + math.log(order)) / (order - 1)
        found = divergence + cost + math.log1p(-1 / order)
        best = min(best, found + 1e-13 * (1 + divergence + abs(cost)))
    return max(0.0, best)


def _renyi_delta(parts: Parts, epsilon: Fraction) -> float:
    e = down(epsilon)
    best = min(renyi_delta(order, renyi(parts, order), e) for order in ORDERS)
    return min(1.0, above(up(failure(parts)) + best))


def _gaussian_epsilon(parts: Parts, delta: Fraction) -> float:
    view = gaussian(parts)
    if view is None:
        return math.inf
    return smallest_epsilon(lambda e: gaussian_delta(*view, Fraction(e)), down(delta))


def _gaussian_delta(parts: Parts, epsilon: Fraction) -> float:
    view = gaussian(parts)
    return 1.0 if view is None else gaussian_delta(*view, epsilon)


# --- numerical -------------------------------------------------------------------------------------


def _pld_epsilon(parts: Parts, delta: Fraction) -> float:
    pair = distributions(parts, down(delta))
    return math.inf if pair is None else max(d.epsilon(delta) for d in pair)


def _pld_delta(parts: Parts, epsilon: Fraction) -> float:
    """Aim at the delta another route gives, then at the one found, until they are close."""
    target = min(_zcdp_delta(parts, epsilon), _renyi_delta(parts, epsilon))
    best = 1.0
    for _ in range(4):
        target = min(max(target, _TARGETS[0]), _TARGETS[1])
        pair = distributions(parts, target)
        if pair is None:
            return 1.0
        best = min(best, max(d.delta(epsilon) for d in pair))
        if best > target / 10:
            break
        target = best
    return best


ALONE = _stand_in(
    "alone", "the curve of the only mechanism", lambda parts: parts[0][0] if _is_single(parts) else None
)
BASIC = Route("basic", "the sum of the epsilons and of the deltas", _basic_epsilon, _basic_delta)
ADVANCED = Route("advanced", "Theorem 3.20 of the book", _advanced_epsilon, _advanced_delta)
OPTIMAL = _stand_in("optimal", "the optimal theorem for equal (epsilon, delta)", _compose_equal)
OPTIMAL_MIXED = Route(
    "optimal, mixed",
    "the optimal theorem for different (epsilon, delta), approximated from above",
    lambda parts, delta: _pld_epsilon(worst, delta) if (worst := _mix(parts)) else math.inf,
    lambda parts, epsilon: _pld_delta(worst, epsilon) if (worst := _mix(parts)) else 1.0,
)
ZCDP = Route("zCDP", "the sum of the rhos, converted with the best order", _zcdp_epsilon, _zcdp_delta)
RENYI = Route("Rényi", "the sum of the Rényi divergences at the best order", _renyi_epsilon, _renyi_delta)
GAUSSIAN = Route(
    "Gaussian", "one Gaussian whose mu^2 is the sum of theirs", _gaussian_epsilon, _gaussian_delta
)
NUMERIC = Route("PLD", "numerical privacy-loss distributions, rounded up", _pld_epsilon, _pld_delta)

ROUTES = (ALONE, BASIC, ADVANCED, OPTIMAL, OPTIMAL_MIXED, ZCDP, RENYI, GAUSSIAN, NUMERIC)


def choose_routes(parts: Parts) -> tuple[Route, ...]:
    """Return the routes one of which is the tightest known: others are dominated."""
    if _is_single(parts):
        return (ALONE,)
    if gaussian(parts) is not None:
        return (BASIC, GAUSSIAN)
    numeric = all(loss.gaussian() is not None or loss.pld(Fraction(1)) is not None for loss, _ in parts)
    return (BASIC, OPTIMAL, ZCDP, RENYI, NUMERIC if numeric else OPTIMAL_MIXED)
