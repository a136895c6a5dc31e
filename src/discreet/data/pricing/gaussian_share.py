"""The variance of Gaussian noise on several vectors that share one budget."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import smallest
from discreet.core.loss import gaussian_delta
from discreet.core.rounding import shorten_up
from discreet.mechanisms.gaussian import NARROWEST, discrete_view

Squares = tuple[tuple[int, int], ...]
"""Each squared sensitivity with the number of vectors that have it."""

_DIGITS = 12
_NEAR = Fraction(1, 10**10)  # relative: far above what variances are rounded by, and what floats lose


def find_variance(square: int, factor: Fraction) -> Fraction:
    """Return the variance of a vector with this squared sensitivity, of which it is `factor` times."""
    return max(NARROWEST, shorten_up(square * factor, _DIGITS))


@lru_cache(maxsize=256)
def find_factor(squares: Squares, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest variance, in squared sensitivities, for which all vectors cost (epsilon, delta)."""
    total = sum(count for _, count in squares)
    least, most = min(one for one, _ in squares), max(one for one, _ in squares)

    def keeps(factor: Fraction) -> bool:
        if most * factor < NARROWEST:
            return False
        plain = keeps_plainly(factor)
        return keeps_exactly(factor) if plain is None else plain

    def keeps_plainly(factor: Fraction) -> bool | None:
        """Decide by floats where the loss is further off than they and rounded variances can be wrong."""
        if least * factor < 1:
            return None
        quarter = 1 / (4 * float(factor))
        slacks = Fraction(sum(count / (1 - quarter / one) ** 2 for one, count in squares))
        low, high = (
            gaussian_delta(total / factor * apart, slacks / factor * apart, epsilon)
            for apart in (1 - _NEAR, 1 + _NEAR)
        )
        return True if high <= delta else False if low > delta else None

    def keeps_exactly(factor: Fraction) -> bool:
        square, spread = Fraction(0), Fraction(0)
        for one, count in squares:
            view = discrete_view(Fraction(one), find_variance(one, factor))
            square, spread = square + count * view[0], spread + count * view[1]
        return gaussian_delta(square, spread, epsilon) <= delta

    return smallest(keeps, digits=_DIGITS)
