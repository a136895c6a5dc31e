"""The noises: frozen laws on the integers that can be sampled exactly and that know their own tails.

A law is public. ``draw``, ``draws`` and ``sample`` draw through the one door for randomness; ``pmf`` and
``tail`` are correct to 2**-100 and serve the exact audits and the error bounds; ``reach(beta)`` is the
error theorem of one draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.parameters import checked, public
from discreet.core.rng import TAIL, Rng
from discreet.noise import samplers, tails


class Noise(ABC):
    """A law on the integers."""

    @abstractmethod
    def draw(self, rng: Rng) -> int:
        """Draw one value, a Python integer of any size."""

    @abstractmethod
    def draws(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` independent values, exactly at any size.

        The array holds 64-bit integers, or Python integers if one of the values reaches 2**62.
        """

    def sample(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` independent values, cut off at -2**62 and 2**62.

        Add noise to data with `AddNoise` instead: cutting off noise before it is added is no
        post-processing, cutting off the sum is.
        """
        drawn = self.draws(checks.integer(0, size=size), rng)
        if drawn.dtype == object:
            drawn = np.clip(drawn, -samplers.LIMIT, samplers.LIMIT).astype(np.int64)
        return drawn

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


@checked
class DiscreteLaplace(Noise):
    """P[z] proportional to exp(-|z| / scale)."""

    scale: Fraction = public(checks.positive)

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return samplers.laplace_one(self.scale).draw(rng)

    def draws(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` independent values."""
        return samplers.laplace_draws(self.scale, size, rng)

    def pmf(self, x: int) -> Fraction:
        """Return (1 - q) / (1 + q) q^|x| with q = exp(-1 / scale)."""
        return tails.middle(tails.laplace_pmf(self.scale, x, tails.BITS))

    def tail(self, x: int) -> Fraction:
        """Return q^x / (1 + q) for x > 0, one minus the mirror image otherwise."""
        if x <= 0:
            return 1 - self.tail(1 - x)
        return tails.middle(tails.laplace_tail(self.scale, x, tails.BITS))

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with 2 q^(t+1) / (1 + q) <= beta."""
        return tails.laplace_reach(self.scale, checks.probability(beta=beta))


@checked
class OneSidedGeometric(Noise):
    """One-sided: P[z] proportional to exp(-z / scale) for z >= 0. The discrete exponential noise."""

    scale: Fraction = public(checks.positive)

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return samplers.geometric_one(self.scale).draw(rng)

    def draws(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` independent values."""
        return samplers.geometric_draws(self.scale, size, rng)

    def pmf(self, x: int) -> Fraction:
        """Return (1 - q) q^x for x >= 0."""
        return Fraction(0) if x < 0 else tails.middle(tails.geometric_pmf(self.scale, x, tails.BITS))

    def tail(self, x: int) -> Fraction:
        """Return q^x for x > 0, else 1."""
        return Fraction(1) if x <= 0 else tails.middle(tails.geometric_tail(self.scale, x, tails.BITS))

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with q^(t+1) <= beta."""
        return tails.geometric_reach(self.scale, checks.probability(beta=beta))

    def window(self) -> range:
        """Return the integers outside which less than TAIL lies."""
        return range(self.reach(TAIL) + 1)


@checked
class DiscreteGaussian(Noise):
    """P[z] proportional to exp(-z^2 / (2 variance))."""

    variance: Fraction = public(checks.positive)

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return samplers.gaussian_one(self.variance).draw(rng)

    def draws(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` independent values."""
        return samplers.gaussian_draws(self.variance, size, rng)

    def pmf(self, x: int) -> Fraction:
        """Return the weight over the sum of all weights."""
        return tails.middle(tails.gaussian_pmf(self.variance, x))

    def tail(self, x: int) -> Fraction:
        """Return P[X >= x]; beyond a standard deviation of 2048 a bound that is tight to 1 / deviation.

        That bound is from above for x > 0, and one minus the bound for the mirror image otherwise.
        """
        if x <= 0:
            return 1 - self.tail(1 - x)
        return tails.gaussian_tail(self.variance, x)

    def reach(self, beta: checks.Number) -> int:
        """Return the smallest t with P[|X| > t] <= beta.

        Beyond a standard deviation of 2048 it may come out larger, by one and 1e-10 of itself at most.
        """
        return tails.gaussian_reach(self.variance, checks.probability(beta=beta))
