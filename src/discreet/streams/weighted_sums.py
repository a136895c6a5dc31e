"""The law of a weighted sum of independent discrete Laplace noises: bounds on its tails.

One noise of variance v has the moment generating function 1 / (1 - v (cosh t - 1)), which gives Chernoff's
bound, and the characteristic function 1 / (1 + v (1 - cos w)), from which the tail follows nearly exactly.
On a fine grid t and w are tiny: both differences are twice the square of half of it under a sine.
For that a sum U of eight small uniform numbers is added, at most `_HIDDEN` deviations: X + U has a density,
so that the trapezoidal rule for the integral of its characteristic function is wrong by tails far out, which
Chernoff bounds, and by what is cut off, where that of U alone is small (Poisson's formula).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SLACK = 1 + 1e-9  # far above what the floats below are off by
_POINTS = 96
_HIDDEN, _FAR, _UNIFORMS, _CUT = 0.04, 40.0, 8, 100.0


def log_moment(variance: float | Floats, at: Floats) -> Floats:
    """Return the logarithm of the moment generating function of one noise; infinity where there is none."""
    left = 1 - 2 * variance * np.sinh(at / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(left > 0, -np.log(left), np.inf)
    return found


def choose_points(variance: float) -> Floats:
    """Return where moments are looked at: up to where those of one noise with weight 1 end."""
    end = 2 * math.asinh(math.sqrt(0.5 / variance))
    return np.asarray(end * np.linspace(0, 1, _POINTS + 1)[1:-1])


@dataclass(frozen=True)
class TailBound:
    """Chernoff's bound on a symmetric law, or on several, from logarithms of moments that none exceeds."""

    variance: float
    points: Floats
    logs: Floats

    def __add__(self, other: TailBound) -> TailBound:
        """Return a bound on the sum of two that are independent, looked at in the same places."""
        return TailBound(self.variance + other.variance, self.points, self.logs + other.logs)

    def beyond(self, alpha: float) -> float:
        """Return a bound on P[|X| > alpha]."""
        return min(1.0, 2 * math.exp(min(0.0, float((self.logs - self.points * alpha).min()))) * _SLACK)


@dataclass(frozen=True)
class WeightedSum:
    """The sum of `times[i]` noises of variance `ones[i]`, each times `weights[i]`; no weight above 1."""

    ones: tuple[float, ...]
    times: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def variance(self) -> float:
        """The variance, in squares of units."""
        return float((np.array(self.ones) * self.times) @ np.square(self.weights)) * _SLACK

    def __add__(self, other: WeightedSum) -> WeightedSum:
        """Return the law of the sum of two that are independent."""
        return WeightedSum(self.ones + other.ones, self.times + other.times, self.weights + other.weights)

    def beyond(self, alpha: float) -> float:
        """Return a bound on P[|X| > alpha]."""
        return min(self._chernoff.beyond(alpha), self._invert(alpha))

    @cached_property
    def _chernoff(self) -> TailBound:
        return self.bound_at(choose_points(max(self.ones)))

    def bound_at(self, points: Floats) -> TailBound:
        """Return Chernoff's bound from moments in some places."""
        moments = log_moment(np.array(self.ones)[:, None], np.multiply.outer(self.weights, points))
        return TailBound(self.variance, points, np.array(self.times) @ moments)

    @cached_property
    def _waves(self) -> tuple[float, Floats, Floats]:
        """Return the deviation, and frequencies with the characteristic function of X + U."""
        spread = math.sqrt(self.variance)
        step, hidden = math.pi / (_FAR * spread), _HIDDEN * spread
        at: Floats = np.arange(1, math.ceil(_CUT / (hidden * step)) + 1, dtype=np.float64) * step
        smooth = np.sinc(at * hidden / (_UNIFORMS * math.pi)) ** _UNIFORMS
        turns = 2 * np.sin(np.multiply.outer(self.weights, at / 2)) ** 2
        logs = np.array(self.times) @ np.log1p(np.array(self.ones)[:, None] * turns)
        return spread, at, smooth * np.exp(-logs)

    def _invert(self, alpha: float) -> float:
        spread, at, values = self._waves
        near = alpha - _HIDDEN * spread
        if near <= 0:
            return 1.0
        step = float(at[0])
        inside = step / math.pi * (near + 2 * float((np.sin(at * near) / at) @ values))
        cut = (_UNIFORMS / _CUT) ** _UNIFORMS / (_UNIFORMS * math.pi) * 2
        far = self._chernoff.beyond((2 * _FAR - _HIDDEN) * spread - near)
        return min(1.0, max(0.0, 1 - inside) + cut + far + 1e-10)
