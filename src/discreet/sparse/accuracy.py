"""How wrong a sparse-vector conversation can be: exact tails, no detour through loose theorems.

An answer is wrong by more than alpha when a value below threshold - alpha is answered positively or one
above threshold + alpha negatively. Given the threshold's noise, fresh query noise makes each of k answers
wrong with probability at most m, whatever was asked; so one of them is wrong with probability at most
1 - (1 - m)^k, and the threshold's law averages that. Where c thresholds are drawn, either each of them may
meet all k questions, or no threshold strays from an interval and no query noise is large for the worst
threshold in it: the smaller of both bounds holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.search import first_integer
from discreet.noise import DiscreteGaussian, Noise, OneSidedGeometric
from discreet.sparse.plan import Form, SparsePlan

Floats = NDArray[np.float64]

_POINTS = 512
_SLACK = 1e-9


def tail(noise: Noise, x: Floats) -> Floats:
    """Return upper bounds on P[X >= x]: exact for Laplace and exponential noise.

    The discrete Gaussian's tail is at most the continuous one a unit nearer [CKS20, Proposition 25].
    """
    if isinstance(noise, DiscreteGaussian):
        spread = math.sqrt(2 * noise.variance)
        far = np.maximum(x - 1, 0.0) / spread
        bound = np.array([0.5 * math.erfc(value) for value in far.tolist()])
        return np.where(x >= 1, bound, 1.0)
    scale = float(noise.scale)  # type: ignore[attr-defined]
    if isinstance(noise, OneSidedGeometric):
        return np.exp(-np.maximum(x, 0.0) / scale)
    share = 1 / (1 + math.exp(-1 / scale))
    return np.where(
        x >= 1,
        share * np.exp(-np.maximum(x, 1.0) / scale),
        1 - share * np.exp(-np.maximum(1 - x, 1.0) / scale),
    )


def below(noise: Noise, x: Floats) -> Floats:
    """Return upper bounds on P[X < x]."""
    return 1 - tail(noise, x) if isinstance(noise, OneSidedGeometric) else tail(noise, 1 - x)


def comparison_failure(plan: SparsePlan, alpha: int, *, queries: int, positives: int) -> float:
    """Return a bound on the probability that some of `queries` answers is wrong by more than alpha units."""
    edges = _edges(plan.threshold_noise)
    bar = edges + plan.offset
    # On [a, b) a false positive is likeliest at a, a false negative at b - 1.
    false_positive = tail(plan.query_noise, bar[:-1] + alpha + 1)
    false_negative = below(plan.query_noise, bar[1:] - 1 - alpha - 1)
    wrong = np.minimum(np.maximum(false_positive, false_negative), 1.0)
    with np.errstate(divide="ignore"):
        some = -np.expm1(queries * np.log1p(-wrong))
    once = _average(plan.threshold_noise, edges, some) * (1 + _SLACK)
    if plan.form is Form.ONCE or positives == 1:
        return min(1.0, once)
    return min(1.0, once * positives, _strays(plan, alpha, queries=queries, positives=positives))


def _strays(plan: SparsePlan, alpha: int, *, queries: int, positives: int) -> float:
    """Bound the failure by: no threshold noise outside the best [u, v], no large query noise inside."""
    u = _edges(plan.threshold_noise)
    false_positive = tail(plan.query_noise, u + plan.offset + alpha + 1)
    false_negative = below(plan.query_noise, u + plan.offset - alpha - 1)
    last = np.searchsorted(false_negative, false_positive, side="right") - 1
    inside = last >= np.arange(u.size)
    outside = below(plan.threshold_noise, u) + tail(plan.threshold_noise, u[last] + 1)
    bounds = positives * outside + queries * false_positive
    return float(bounds[inside].min(initial=1.0)) * (1 + _SLACK)


def value_failure(noise: Noise, alpha: int, *, positives: int) -> float:
    """Return a bound on the probability that some released value is off by more than alpha units."""
    beyond = float(tail(noise, np.array([alpha + 1.0]))[0])
    return min(1.0, 2 * beyond * positives * (1 + _SLACK))


def find_error(failure: Callable[[int], float], missed: Fraction | float) -> int:
    """Return the smallest error >= 0, in units, whose probability of being exceeded is at most `missed`."""
    return first_integer(lambda alpha: failure(alpha) <= missed, low=-1)


def _edges(noise: Noise) -> Floats:
    """Cut the bulk of a law into at most a few thousand pieces of whole units."""
    if isinstance(noise, DiscreteGaussian):
        reach = math.ceil(12 * math.sqrt(noise.variance)) + 1
    else:
        reach = math.ceil(50 * float(noise.scale)) + 1  # type: ignore[attr-defined]
    start = 0 if isinstance(noise, OneSidedGeometric) else -reach
    width = max(1, math.ceil((reach - start) / _POINTS))
    return np.arange(start, reach + width, width, dtype=np.float64)


def _average(noise: Noise, edges: Floats, heights: Floats) -> float:
    """Bound the mean of a step function that falls and then rises, from upper bounds on tails alone."""
    lowest = int(np.argmin(heights))
    falls = np.diff(heights[: lowest + 1]) * -1
    rises = np.diff(heights[lowest:])
    left = below(noise, edges[1 : lowest + 1]) @ falls
    right = tail(noise, edges[lowest + 1 : -1]) @ rises
    ends = below(noise, edges[:1]).item() + tail(noise, edges[-1:]).item()
    return float(heights[lowest] + left + right + ends)
