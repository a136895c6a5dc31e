"""Intervals of a quotient of two noisy numbers, as Fieller found them: of the quotient, not of its parts.

A quotient r of S over N is where S - r N is 0. So it is believed where the noisy S - r N is no further from
0 than its own noise reaches. A box of S and N, each with half of the doubt, is up to 1.8 times as wide.

* Both noises are discrete Laplace. Made from one uniform number, such a noise and a continuous one of the
  same scale are less than a step apart: its size lies between that of the other rounded down and that rounded
  to the nearest. So |Z - r Y| exceeds t + 1 + |r| no more often than the continuous |Z - r Y| exceeds t.
* That reach is a norm of (1, r), as it is for every symmetric log-concave law. So it grows with r by no
  more than the reach of Y alone. Where N is further from 0 than that, what is believed is one interval; where
  it is not, everything is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.rounding import down
from discreet.data.plan.nodes import Aggregate, Computed, Constant, Shown

MAX_RATIOS = 1_000
"""Groups that are worth the time: a third of a millisecond each."""
_HALVINGS = 10
_SAFE = 1 + 1e-6
"""Far more than floats lose of a tail."""


@dataclass(frozen=True, slots=True)
class AnswerRatio:
    """A number times the quotient of two counts or sums."""

    times: Fraction
    above: Aggregate
    below: Aggregate


def read_ratio(what: Shown) -> AnswerRatio | None:
    """Return a column as a quotient of two aggregates; None where it is something else."""
    parted = _part_factor(what)
    if parted is not None:
        times, rest = parted
        found = read_ratio(rest)
        return None if found is None else AnswerRatio(times * found.times, found.above, found.below)
    if not isinstance(what, Computed) or what.function != "/":
        return None
    above, below = map(_read_multiple, what.parts)
    if above is None or below is None or above[1] == below[1]:
        return None
    return AnswerRatio(above[0] / below[0], above[1], below[1])


def _read_multiple(what: Shown) -> tuple[Fraction, Aggregate] | None:
    if isinstance(what, Aggregate):
        return (Fraction(1), what) if what.kind in ("count", "count_units", "sum") else None
    parted = _part_factor(what)
    found = None if parted is None else _read_multiple(parted[1])
    return None if parted is None or found is None else (parted[0] * found[0], found[1])


def _part_factor(what: Shown) -> tuple[Fraction, Shown] | None:
    """Part a number that is not 0 from what it multiplies or divides."""
    if not isinstance(what, Computed) or what.function not in ("*", "/"):
        return None
    left, right = what.parts
    if what.function == "*" and isinstance(left, Constant):
        left, right = right, left
    if not isinstance(right, Constant) or not isinstance(right.value, Fraction) or right.value == 0:
        return None
    return (right.value if what.function == "*" else 1 / right.value), left


@dataclass(frozen=True, slots=True)
class LaplaceNumber:
    """A number with discrete Laplace noise of a scale; `slack` is what dropped digits add to 1."""

    value: int
    scale: Fraction
    slack: int = 0


def tail(t: float, one: float, other: float) -> float:
    """Return the probability that two continuous Laplace numbers are more than t apart: never less."""
    small, large = sorted((one, other))
    if large - small <= 1e-6 * large:  # where the difference below would be lost
        return (1 + t / (2 * large)) * math.exp(-t / large)
    lost = small**2 * math.exp(-t / small) if small else 0.0
    return (large**2 * math.exp(-t / large) - lost) / (large**2 - small**2)


def enclose_ratio(
    above: LaplaceNumber, below: LaplaceNumber, beta: float
) -> tuple[Fraction, Fraction] | None:
    """Return between what the true quotient lies, but for probability beta; None where that is everything."""
    if below.value < 0:
        above, below = _negate(above), _negate(below)
    # Further than `is_outside` looks for any quotient: otherwise there may be none that is outside.
    reach = float(below.scale) * (math.log(1 / beta) + 1e-5) + 1 + below.slack
    if below.value <= reach:
        return None
    middle = Fraction(above.value, below.value)

    def is_outside(ratio: Fraction) -> bool:
        apart = abs(above.value - ratio * below.value)
        left = down(apart - 1 - above.slack - abs(ratio) * (1 + below.slack))
        return left > 0 and tail(left, float(above.scale), float(abs(ratio) * below.scale)) * _SAFE < beta

    width = float(above.scale + abs(middle) * below.scale) * math.log(2 / beta) / (below.value - reach)
    return _search(is_outside, middle, -Fraction(width)), _search(is_outside, middle, Fraction(width))


def _search(is_outside: Callable[[Fraction], bool], middle: Fraction, step: Fraction) -> Fraction:
    """Return a number outside, near the border, in the direction of a step."""
    inside = Fraction(0)
    while not is_outside(middle + step):
        inside, step = step, 2 * step
    for _ in range(_HALVINGS):
        half = (inside + step) / 2
        if is_outside(middle + half):
            step = half
        else:
            inside = half
    return middle + step


def _negate(number: LaplaceNumber) -> LaplaceNumber:
    return LaplaceNumber(-number.value, number.scale, number.slack)
