"""One budget for several Gaussian measurements of whole numbers that follow each other.

A learner measures again and again: counts, then gradients at places that earlier answers decided. The
sensitivities and the noise of all of them are fixed beforehand, so their losses add up as Gaussians do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import largest, smallest, zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import BoundedRangeLoss, Loss, gaussian_delta
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import shorten_up
from discreet.mechanisms.gaussian import NARROWEST, discrete_loss, discrete_view
from discreet.noise import AddNoise, DiscreteGaussian
from discreet.query_release.base import require_rows
from discreet.query_release.linear.joint_noise import root_up

_DIGITS, _NEXT_TO_NONE = 12, Fraction(1, 1 << 100)
FINEST = 1 << 12
"""The finest resolution: sums over 2**39 rows of products of two such numbers are whole 64-bit numbers."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Whole numbers that are measured `count` times with noise of one law.

    Attributes
    ----------
    square
        The largest sum of the squared moves of all numbers between neighbours.
    share
        The part of the budget that all `count` measurements have together.
    """

    square: int
    share: Fraction
    count: int = 1

    def variance(self, spread: Fraction) -> Fraction:
        """Return the variance, where `spread` is that of a square of one for the whole budget."""
        return max(NARROWEST, shorten_up(self.square * spread * self.count / self.share, _DIGITS))


@dataclass(frozen=True, slots=True)
class Noisy:
    """The noise of one measurement."""

    square: int
    variance: Fraction
    count: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, which bounds that of the discrete one."""
        return math.sqrt(self.variance)

    @property
    def step(self) -> AddNoise:
        """The random step that adds it."""
        return AddNoise(DiscreteGaussian(self.variance), sensitivity=root_up(self.square), norm=2)


@lru_cache(maxsize=256)
def spread_budget(
    measurements: tuple[Measurement, ...], epsilon: Fraction, delta: Fraction
) -> tuple[Noisy, ...]:
    """Return the least noise for all measurements together at (epsilon, delta)."""
    if delta == 0:
        raise InvalidParameter(
            name="delta", rule="> 0 for Gaussian noise", value=delta, hint="Pass delta=1e-9, say"
        )
    if sum(each.share for each in measurements) > 1:
        raise InternalError("the shares of a budget are more than all of it")

    def keeps(spread: Fraction) -> bool:
        views = [(discrete_view(Fraction(m.square), m.variance(spread)), m.count) for m in measurements]
        square = sum((view[0] * count for view, count in views), Fraction(0))
        widened = sum((view[1] * count for view, count in views), Fraction(0))
        return gaussian_delta(square, widened, epsilon) <= delta

    # Of a very large epsilon something is left where all noise is as narrow as it may be.
    spread = _NEXT_TO_NONE if keeps(_NEXT_TO_NONE) else smallest(keeps, digits=_DIGITS)
    return tuple(Noisy(m.square, m.variance(spread), m.count) for m in measurements)


def widest_range(choices: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return nearly the largest range such that so many choices together are (epsilon, delta)."""
    pure = epsilon / choices
    if delta == 0:
        return pure
    spent = range_within(zcdp_rho(epsilon=epsilon, delta=delta) / choices)
    if choices == 1:
        alone = largest(lambda range_: BoundedRangeLoss(range_).delta(epsilon) <= delta, digits=_DIGITS)
        return max(pure, spent, alone)
    return max(pure, spent)


@lru_cache(maxsize=256)
def range_within(rho: Fraction) -> Fraction:
    """Return nearly the largest range of one choice that costs at most rho."""
    return largest(lambda range_: Fraction(BoundedRangeLoss(range_).zcdp()) <= rho, digits=_DIGITS)


def add_up(noises: Sequence[Noisy]) -> Loss:
    """Return the loss of all measurements together."""
    return Composed(tuple((discrete_loss(Fraction(n.square), n.variance), n.count) for n in noises))


def count_moves(neighbours: Neighbours, *, same: int, apart: int) -> int:
    """Return the squared sensitivity of sums over rows.

    Parameters
    ----------
    neighbours
        `AddRemove` or `Replace`.
    same
        The largest squared norm of what one row adds.
    apart
        The largest squared distance between what two rows add.
    """
    return apart if isinstance(require_rows(neighbours), Replace) else same
