"""How large weighted sums of many noises get: what error theorems of linear estimates need."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.core.rounding import above, down, up

_HALVINGS = 60


def gaussian_tail(variance: Fraction, square: float, count: int, beta: Fraction) -> float:
    """Return a number that all of `count` sums of discrete Gaussian noises stay within, but for beta.

    A discrete Gaussian is sub-Gaussian with its own variance [CKS20], so a sum is with variance * square.

    Parameters
    ----------
    square
        The largest sum of squares of the coefficients of one sum.
    """
    return above(math.sqrt(2 * up(variance) * square * math.log(2 * count / down(beta))) * (1 + 1e-12))


def gaussian_length(variance: Fraction, size: int, beta: Fraction) -> float:
    """Return a number that the L2 length of `size` discrete Gaussian noises stays within, but for beta.

    The bound of Hsu, Kakade and Zhang for sub-Gaussian vectors.
    """
    t = -math.log(down(beta))
    return above(math.sqrt(up(variance) * (size + 2 * math.sqrt(size * t) + 2 * t)) * (1 + 1e-12))


def laplace_tail(scale: Fraction, square: float, largest: float, count: int, beta: Fraction) -> float:
    """Return a number that all of `count` sums of discrete Laplace noises stay within, but for beta.

    The moments E exp(t X) are at most 1 / (1 - (scale t)^2), the continuous noise's, and the logarithm is
    convex in t^2; so a sum with coefficients of size at most `largest` has at most the moments of
    square / largest^2 noises with that coefficient. Chernoff's bound for any u = scale * t * largest below 1.
    """
    terms, log = square / largest**2, math.log(2 * count / down(beta))

    def bound(u: float) -> float:
        return (terms * -math.log1p(-u * u) + log) / u

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):  # the bound falls, then rises; any u would do
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    return above(up(scale) * largest * bound((low + high) / 2) * (1 + 1e-12))
