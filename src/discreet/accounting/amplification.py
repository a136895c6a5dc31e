"""Amplification by subsampling: run a mechanism on a random sample and pay less.

Two schemes, each tied to the neighbours it is proved for:

* `poisson`: every unit enters the sample on its own with probability `rate`; adding or removing a unit;
* `without_replacement`: a uniformly random set of `size` among `population` units; changing one unit.

The sample must stay secret, and everything released about it must be covered by the inner guarantee.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss, Pair, PureLoss
from discreet.core.losses.base import FailingExactly, check_order
from discreet.core.losses.pld import LossDistribution, Vector, from_floats
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rounding import above, below, down, up

_NEAR_ONE = Fraction(1, 10**9)
_NEGLIGIBLE = 1e-40
_FINENESS = 64  # points to a standard deviation of a normal loss, or to a loss of 1 where that is less


@dataclass(frozen=True, slots=True)
class _Sampled(FailingExactly):
    """What both schemes share: with rate q, a pure epsilon becomes log(1 + q (e^epsilon - 1))."""

    loss: Loss
    rate: Fraction

    def __post_init__(self) -> None:
        checks.instance(Loss, loss=self.loss)
        rate = checks.positive(rate=self.rate)
        if not rate <= 1:
            raise InvalidParameter(name="rate", rule="above 0 and at most 1", value=self.rate)
        if 1 - rate < _NEAR_ONE:
            rate = Fraction(1)  # floats cannot tell such a rate from 1, and 1 is the safe side
        object.__setattr__(self, "rate", rate)

    def delta(self, epsilon: checks.Number) -> float:
        """Return rate * delta of the inner loss at log(1 + (e^epsilon - 1) / rate) [BBG18]."""
        e = checks.non_negative(epsilon=epsilon)
        inner = self.loss.delta(_spread(down(e), self.rate))
        return min(1.0, above(up(self.rate) * inner, 4)) if inner else 0.0

    def renyi(self, order: checks.Number) -> float:
        """Return the view of the amplified worst case."""
        worst = _worst_case(self.loss, self.rate)
        return math.inf if worst is None else worst.renyi(check_order(order))

    def epsilon(self, delta: checks.Number) -> float:
        """Invert the curve, which floats lose for huge losses; never above the amplified worst case."""
        d, known, found = checks.delta(delta=delta), self.exact_epsilon(), Loss.epsilon(self, delta)
        return min(found, up(known)) if known is not None and self.exact_failure() <= d else found

    def zcdp(self) -> float:
        """Return the view of the amplified worst case."""
        worst = _worst_case(self.loss, self.rate)
        return math.inf if worst is None else worst.zcdp()

    def exact_epsilon(self) -> Fraction | None:
        """Return the amplified worst case."""
        worst = _worst_case(self.loss, self.rate)
        return None if worst is None else worst.value

    def exact_failure(self) -> Fraction:
        """Return rate times the inner failure mass."""
        return self.rate * self.loss.exact_failure()

    @abstractmethod
    def pld(self, step: Fraction) -> Pair | None:
        """Return the amplified loss distributions."""

    def _inner(self, step: Fraction) -> Pair | None:
        """Return the inner distributions, on a grid of their own where that can be coarser.

        A small sample makes losses small, and steps with them: millions of points for the inner loss, where
        a few thousand add less than a part in ten thousand to the variance.
        """
        view = self.loss.gaussian()
        if view is None or not view[1] or self.rate == 1:
            return self.loss.pld(step)
        return self.loss.pld(max(step, Fraction(min(1.0, math.sqrt(float(view[1])))) / _FINENESS))


@dataclass(frozen=True, slots=True)
class PoissonLoss(_Sampled):
    """The loss of a mechanism run on a Poisson sample, for adding or removing a unit."""

    def pld(self, step: Fraction) -> Pair | None:
        """Return both directions: with the unit P becomes (1 - q) Q + q P, without it Q does."""
        inner = self._inner(step)
        if inner is None or self.rate == 1:
            return inner
        return _mixed_first(inner[0], self.rate, step), _mixed_second(inner[1], self.rate, step)

    def __str__(self) -> str:
        return f"{self.loss} on a Poisson sample of rate {float(self.rate):.4g}"


@dataclass(frozen=True, slots=True)
class FixedSampleLoss(_Sampled):
    """The loss of a mechanism run on a sample of fixed size, for changing a unit."""

    def pld(self, step: Fraction) -> Pair | None:
        """Return the curve of (1 - q) Q + q P against Q above 1, and its mirror image below.

        Changing a unit is symmetric, so the curve below e^epsilon = 1 follows from the one above.
        Every loss l > 0 has a twin at -l with e^-l of its mass, and what is left has no loss.
        """
        inner = self._inner(step)
        if inner is None or self.rate == 1:
            return inner
        if inner[0] is not inner[1]:
            return None
        losses, masses = _mixture(inner[0], self.rate)
        kept = losses > 0
        losses, masses = losses[kept], masses[kept]
        twins = masses * np.exp(-losses) * (1 + 1e-13)
        infinity = above(up(self.rate) * inner[0].infinity)
        rest = max(0.0, above(1 - below(float(np.sum(masses)) + float(np.sum(twins)) + infinity) + 1e-12))
        one = from_floats(
            step,
            np.concatenate([losses, -losses, [0.0]]),
            np.concatenate([masses, twins, [rest]]),
            infinity,
        )
        return one, one

    def __str__(self) -> str:
        return f"{self.loss} on a random share of {float(self.rate):.4g} of the units"


def poisson(guarantee: Guarantee, *, rate: checks.Number) -> Guarantee:
    """Return the guarantee of a mechanism run on a Poisson sample of the units.

    Raises
    ------
    NeighboursMismatch
        Unless the guarantee hides adding or removing a unit: only then are the others' draws independent
        of whether it is there.
    """
    if not isinstance(guarantee.neighbours, AddRemove):
        raise NeighboursMismatch(
            f"Poisson sampling needs a guarantee for adding or removing a unit, not {guarantee.neighbours}"
        )
    return Guarantee(PoissonLoss(guarantee.loss, checks.positive(rate=rate)), guarantee.neighbours)


def without_replacement(guarantee: Guarantee, *, size: int, population: int) -> Guarantee:
    """Return the guarantee of a mechanism run on a uniformly random set of `size` of the units.

    Raises
    ------
    NeighboursMismatch
        Unless the guarantee hides changing a unit: sizes are public here.
    """
    if not isinstance(guarantee.neighbours, Replace):
        raise NeighboursMismatch(
            f"sampling without replacement needs a guarantee for changing a unit, not {guarantee.neighbours}"
        )
    n = checks.integer(1, population=population)
    m = checks.integer(1, size=size)
    if m > n:
        raise InvalidParameter(name="size", rule=f"at most the population, {n}", value=size)
    return Guarantee(FixedSampleLoss(guarantee.loss, Fraction(m, n)), guarantee.neighbours)


@lru_cache(maxsize=256)
def _worst_case(loss: Loss, rate: Fraction) -> PureLoss | None:
    """Return the amplified epsilon at the failure mass; None where there is none."""
    value = loss.exact_epsilon()
    return None if value is None else PureLoss(Fraction(amplified_epsilon(up(value), rate)))


def amplified_epsilon(epsilon: float, rate: Fraction) -> float:
    """Return log(1 + rate (e^epsilon - 1)), rounded up."""
    q = up(rate)
    if epsilon > 30:
        return above(epsilon + math.log(q) + math.log1p((1 - q) / q * math.exp(-epsilon)) + 1e-14)
    return above(math.log1p(q * math.expm1(epsilon) * (1 + 1e-15)), 4)


def _spread(epsilon: float, rate: Fraction) -> float:
    """Return log(1 + (e^epsilon - 1) / rate), rounded down."""
    q = up(rate)
    if epsilon > 30:
        found = epsilon - math.log(q) + math.log1p(-(1 - q) * math.exp(-epsilon))
    else:
        found = math.log1p(math.expm1(epsilon) / q * (1 - 1e-15))
    return max(0.0, below(found * (1 - 1e-15), 4))


def _log_mixture(x: Vector, q: float) -> Vector:
    """Return log(1 - q + q e^x)."""
    far = np.maximum(x, 30.0)
    near = np.minimum(x, 30.0)
    high = far + math.log(q) + np.log1p((1 - q) / q * np.exp(-far))
    low = np.log1p(q * np.expm1(near))
    if q > 0.5:
        low = np.where(near < -0.5, np.log((1 - q) + q * np.exp(near)), low)
    chosen: Vector = np.where(x > 30.0, high, low)
    return chosen


def _mixture(inner: LossDistribution, rate: Fraction) -> tuple[Vector, Vector]:
    """Return losses and masses of (1 - q) Q + q P against Q."""
    q, x = float(rate), inner.losses()
    with np.errstate(divide="ignore"):
        q_masses = np.exp(np.minimum(np.log(inner.masses) - x, 0.0)) * (1 + 4e-15 * (1 + np.abs(x)))
    masses = ((1 - q) * q_masses + q * inner.masses) * (1 + 1e-14)
    return _log_mixture(x, q), masses


def _mixed_first(inner: LossDistribution, rate: Fraction, step: Fraction) -> LossDistribution:
    """Return the distribution of (1 - q) Q + q P against Q.

    Outputs that P never gives keep the loss log(1 - q); they take what the listed masses leave of 1.
    """
    losses, masses = _mixture(inner, rate)
    infinity = above(up(rate) * inner.infinity)
    rest = max(0.0, above(1 - below(float(np.sum(masses)) + infinity) + 1e-12))
    floor = math.log1p(-float(rate))
    return from_floats(step, np.append(losses, floor), np.append(masses, rest), infinity)


def _mixed_second(inner: LossDistribution, rate: Fraction, step: Fraction) -> LossDistribution:
    """Return the distribution of P against (1 - q) P + q Q: no loss is above -log(1 - q)."""
    q = float(rate)
    losses = -_log_mixture(-inner.losses(), q)
    if inner.infinity < _NEGLIGIBLE:  # infinite it stays: a ceiling far away would make the vector long
        return from_floats(step, losses, inner.masses, inner.infinity)
    ceiling = -math.log1p(-q)
    return from_floats(
        step, np.append(losses, ceiling), np.append(inner.masses, inner.infinity), infinity=0.0
    )
