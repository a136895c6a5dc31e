"""Calibration: the least noise, or the largest loss, that meets a target.

Monotone bisection on exact rationals; the result is rounded to the safe side and checked again, and a
result that fails the check is never returned.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.optimal import homogeneous
from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import Loss, gaussian_delta, zcdp_delta
from discreet.core.rounding import down, shorten_down, shorten_up, up

_PRECISION = Fraction(1, 10**12)
_WIDEST = 400  # doublings tried in each direction before giving up


def smallest(holds: Callable[[Fraction], bool], *, digits: int = 9) -> Fraction:
    """Return a short decimal at most a hair above the smallest x > 0 with holds(x).

    `holds` must stay true once it is true.
    """
    high = _double(holds, Fraction(1), Fraction(2), wanted=True)
    low = _double(holds, high, Fraction(1, 2), wanted=False)
    while high - low > high * _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
        high = min(high, shorten_up(high, 15))
        low = max(low, shorten_down(low, 15))
    return _checked(holds, shorten_up(high, digits))


def largest(holds: Callable[[Fraction], bool], *, digits: int = 9) -> Fraction:
    """Return a short decimal at most a hair below the largest x > 0 with holds(x).

    `holds` must stay false once it is false.
    """
    inverse = smallest(lambda x: holds(1 / x), digits=15)
    return _checked(holds, shorten_down(1 / inverse, digits))


def _double(holds: Callable[[Fraction], bool], x: Fraction, factor: Fraction, *, wanted: bool) -> Fraction:
    for _ in range(_WIDEST):
        if holds(x) is wanted:
            return x
        x *= factor
    raise InvalidParameter(name="target", rule="attainable by some positive parameter", value="none found")


def _checked(holds: Callable[[Fraction], bool], x: Fraction) -> Fraction:
    if not holds(x):
        raise InternalError(f"a calibrated parameter, {float(x)}, misses its target")
    return x


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
    e, d = down(checks.positive(epsilon=epsilon)), checks.probability(delta=delta)
    return largest(lambda rho: zcdp_delta(up(rho), e) <= d)


def per_step_epsilon(*, count: int, epsilon: checks.Number, delta: checks.Number) -> Fraction:
    """Return the largest epsilon_0 such that `count` adaptive epsilon_0-private steps are (epsilon, delta).

    By the optimal composition theorem [KOV15]: no accountant that knows only epsilon_0 can allow more.
    """
    k = checks.integer(1, count=count)
    e, d = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    if d == 0:
        return e / k

    def holds(step: Fraction) -> bool:
        return step * k <= e or homogeneous(epsilon=step, delta=0, count=k).delta(e) <= d

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
