"""Calibration: the least noise, or the largest loss, that meets a target.

Monotone bisection on exact rationals; the result is rounded to the safe side and tried again there. Curves
are computed in floats, whose last digits need not be monotone: where the rounded number misses its target,
the next ones a hair further on are tried, and at last the number itself, which was seen to hold. A result
that fails the check is never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.optimal import compose_equal
from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import Loss, gaussian_delta, zcdp_delta
from discreet.core.rounding import down, shorten_down, shorten_up, up

_PRECISION = Fraction(1, 10**12)
_SLACKS = (Fraction(0), *(Fraction(1, 10**power) for power in range(14, 8, -1)))
_WIDEST = 400  # doublings tried in each direction before giving up


def smallest(holds: Callable[[Fraction], bool], *, digits: int = 9) -> Fraction:
    """Return a short decimal at most a hair above the smallest x > 0 with holds(x).

    `holds` must stay true once it is true, but for the last digits of floats it may rest on.
    """
    high = _double(holds, Fraction(1), Fraction(2), wanted=True)
    low = _double(holds, high, Fraction(1, 2), wanted=False)
    while high - low > high * _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
        low = max(low, shorten_down(low, 15))
    return _find_first(holds, (shorten_up(high * (1 + slack), digits) for slack in _SLACKS), high)


def largest(holds: Callable[[Fraction], bool], *, digits: int = 9) -> Fraction:
    """Return a short decimal at most a hair below the largest x > 0 with holds(x).

    `holds` must stay false once it is false, but for the last digits of floats it may rest on.
    """
    high = 1 / smallest(lambda x: holds(1 / x), digits=15)
    return _find_first(holds, (shorten_down(high * (1 - slack), digits) for slack in _SLACKS), high)


def _double(holds: Callable[[Fraction], bool], x: Fraction, factor: Fraction, *, wanted: bool) -> Fraction:
    for _ in range(_WIDEST):
        if holds(x) is wanted:
            return x
        x *= factor
    raise InvalidParameter(name="target", rule="attainable by some positive parameter", value="none found")


def _find_first(holds: Callable[[Fraction], bool], shorter: Iterable[Fraction], seen: Fraction) -> Fraction:
    for x in (*shorter, seen):
        if holds(x):
            return x
    raise InternalError(f"a calibrated parameter, {float(seen)}, misses its target")


def gaussian_sigma(*, epsilon: checks.Number, delta: checks.Number) -> Fraction:
    """Return the smallest sigma / sensitivity of continuous Gaussian noise for (epsilon, delta) [BW18].

    Noise on the integers needs a little more: calibrate its own loss with `smallest`.
    """
    e, d = checks.non_negative(epsilon=epsilon), checks.probability(delta=delta)

    def holds(sigma: Fraction) -> bool:
        square = 1 / (sigma * sigma)
        return gaussian_delta(square, square, e) <= d

    return smallest(holds)


def zcdp_rho(*, epsilon: checks.Number, delta: checks.Number) -> Fraction:
    """Return the largest rho whose rho-zCDP implies (epsilon, delta)."""
    return _zcdp_rho(down(checks.positive(epsilon=epsilon)), checks.probability(delta=delta))


@lru_cache(maxsize=256)
def _zcdp_rho(epsilon: float, delta: Fraction) -> Fraction:
    return largest(lambda rho: zcdp_delta(up(rho), epsilon) <= delta)


def per_step_epsilon(*, count: int, epsilon: checks.Number, delta: checks.Number) -> Fraction:
    """Return the largest epsilon_0 such that `count` adaptive epsilon_0-private steps are (epsilon, delta).

    By the optimal composition theorem [KOV15]: no accountant that knows only epsilon_0 can allow more.
    """
    k = checks.integer(1, count=count)
    e, d = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    if d == 0:
        return e / k

    def holds(step: Fraction) -> bool:
        return step * k <= e or compose_equal(epsilon=step, delta=0, count=k).delta(e) <= d

    return largest(holds)


def largest_parameter(
    make: Callable[[Fraction], Loss], *, epsilon: checks.Number, delta: checks.Number
) -> Fraction:
    """Return the largest x such that make(x), whose loss grows with x, is (epsilon, delta)."""
    return largest(lambda x: make(x).implies(epsilon=epsilon, delta=delta), digits=6)


def smallest_noise(
    make: Callable[[Fraction], Loss], *, epsilon: checks.Number, delta: checks.Number
) -> Fraction:
    """Return the smallest x such that make(x), whose loss falls with x, is (epsilon, delta)."""
    return smallest(lambda x: make(x).implies(epsilon=epsilon, delta=delta), digits=6)
