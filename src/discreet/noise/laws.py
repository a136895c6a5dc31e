"""The noises: frozen laws on the integers that can be sampled exactly and that know their own tails.

A law is public. ``sample`` draws through the one door for randomness; ``pmf`` and ``tail`` are correct
to 2**-100 and serve the exact audits and the error bounds; ``reach(beta)`` is the error theorem of one
draw.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.rng import TAIL, Rng
from discreet.core.rounding import exp_fraction
from discreet.noise import oracle


class Noise(ABC):
    """A law on the integers."""

    @abstractmethod
    def draw(self, rng: Rng) -> int:
        """Draw one value."""

    @abstractmethod
    def sample(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` independent values."""

    @abstractmethod
    def pmf(self, x: int) -> Fraction:
        """Return P[X = x] within 2**-100."""

    @abstractmethod
    def tail(self, x: int) -> Fraction:
        """Return P[X >= x] within 2**-100."""

    @abstractmethod
    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with P[|X| > t] <= beta."""

    def window(self) -> range:
        """Return the integers outside which less than TAIL lies."""
        t = self.reach(TAIL)
        return range(-t, t + 1)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Noise):
    """P[z] proportional to exp(-|z| / scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.positive(scale=self.scale))

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return oracle.discrete_laplace(self.scale, rng)

    def sample(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` independent values."""
        return np.array([self.draw(rng) for _ in range(size)], dtype=np.int64)

    def pmf(self, x: int) -> Fraction:
        """Return (1 - q) / (1 + q) q^|x| with q = exp(-1 / scale)."""
        q = exp_fraction(1 / self.scale)
        return (1 - q) / (1 + q) * exp_fraction(abs(x) / self.scale)

    def tail(self, x: int) -> Fraction:
        """Return q^x / (1 + q) for x > 0, one minus the mirror image otherwise."""
        if x <= 0:
            return 1 - self.tail(1 - x)
        return exp_fraction(x / self.scale) / (1 + exp_fraction(1 / self.scale))

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with 2 q^(t+1) / (1 + q) <= beta."""
        b = checks.probability(beta=beta)
        return _first(lambda t: 2 * self.tail(t + 1) <= b)


@dataclass(frozen=True, slots=True)
class Geometric(Noise):
    """One-sided: P[z] proportional to exp(-z / scale) for z >= 0. The discrete exponential noise."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.positive(scale=self.scale))

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return oracle.geometric(self.scale, rng)

    def sample(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` independent values."""
        return np.array([self.draw(rng) for _ in range(size)], dtype=np.int64)

    def pmf(self, x: int) -> Fraction:
        """Return (1 - q) q^x for x >= 0."""
        return Fraction(0) if x < 0 else (1 - exp_fraction(1 / self.scale)) * exp_fraction(x / self.scale)

    def tail(self, x: int) -> Fraction:
        """Return q^x for x > 0, else 1."""
        return Fraction(1) if x <= 0 else exp_fraction(x / self.scale)

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with q^(t+1) <= beta."""
        b = checks.probability(beta=beta)
        return _first(lambda t: self.tail(t + 1) <= b)

    def window(self) -> range:
        """Return the integers outside which less than TAIL lies."""
        return range(self.reach(TAIL) + 1)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Noise):
    """P[z] proportional to exp(-z^2 / (2 variance))."""

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", checks.positive(variance=self.variance))

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return oracle.discrete_gaussian(self.variance, rng)

    def sample(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` independent values."""
        return np.array([self.draw(rng) for _ in range(size)], dtype=np.int64)

    def pmf(self, x: int) -> Fraction:
        """Return the weight over the sum of all weights."""
        return self._weight(x) / self._total()

    def tail(self, x: int) -> Fraction:
        """Return the sum of the weights from x on."""
        if x <= 0:
            return 1 - self.tail(1 - x)
        return sum((self._weight(y) for y in range(x, x + self._span())), Fraction(0)) / self._total()

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with P[|X| > t] <= beta."""
        b = checks.probability(beta=beta)
        return _first(lambda t: 2 * self.tail(t + 1) <= b)

    def _weight(self, x: int) -> Fraction:
        return exp_fraction(Fraction(x * x) / (2 * self.variance))

    def _span(self) -> int:
        return math.isqrt(math.ceil(self.variance)) * 14 + 14  # exp(-98) < 2**-140

    def _total(self) -> Fraction:
        return 1 + 2 * sum((self._weight(y) for y in range(1, self._span())), Fraction(0))


def _first(holds: object) -> int:
    """Return the smallest t >= 0 with holds(t), for a condition that stays true."""
    low, high = -1, 1
    while not holds(high):  # type: ignore[operator]
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):  # type: ignore[operator]
            high = middle
        else:
            low = middle
    return high
