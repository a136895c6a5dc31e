"""How a budget is shared out among the rounds: choosing, measuring, and counting the rows once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import up
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import ConcentratedGaussian, Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.query_release.explicit.mwem_questions import Questions
from discreet.query_release.linear.joint_noise import root_up, variance

_COUNTING = Fraction(1, 20)  # of the budget, for the number of rows where it is private
_CHOOSING = Fraction(1, 10)  # of rho; choosing well takes less than measuring well
_CHOOSING_PURE = Fraction(1, 4)  # of epsilon, which grows with the root of rho

SURE = 1e-6
"""Probability that some noise is larger than what counts as clearly missed."""

Noise = Laplace | ConcentratedGaussian


@dataclass(frozen=True, slots=True)
class MWEMPlan:
    """The mechanisms of one release: all known before any data are seen.

    Attributes
    ----------
    choosing
        Chooses the candidate of a round; None where there is no choice.
    measuring
        The noise of a measured number; its size is that of the widest candidate.
    counting
        The noise of the number of rows; None where that is public.
    """

    choosing: Exponential | None
    measuring: Noise
    counting: Noise | None
    rounds: int

    @property
    def loss(self) -> Loss:
        """All rounds together."""
        parts: list[tuple[Loss, int]] = [(self.measuring.loss, self.rounds)]
        if self.choosing is not None:
            parts.append((self.choosing.loss, self.rounds))
        if self.counting is not None:
            parts.append((self.counting.loss, 1))
        return Composed(tuple(parts))

    def mean_noise(self) -> float:
        """Return about the mean size of one measured noise."""
        spread = math.sqrt(variance_of(self.measuring))
        return spread * math.sqrt(0.5 if isinstance(self.measuring, Laplace) else 2 / math.pi)

    def bound(self, reach: int, beta: float) -> float:
        """Bound the noise of all single measurements, plus `reach` times that of the count, but for beta."""
        each = resize(self.measuring, 1).error(beta / (2 * self.rounds))
        return each + (0.0 if self.counting is None else reach * self.counting.error(beta / 2))

    def slack(self, asked: Questions) -> float:
        """Return up to where a difference may be noise: surely for queries, by and large for tables."""
        return self.bound(asked.reach, SURE) if asked.widest == 1 else math.sqrt(variance_of(self.measuring))


def variance_of(noise: Noise) -> float:
    """Return the variance of one noise."""
    return up(noise.variance) if isinstance(noise, ConcentratedGaussian) else variance(noise)


@lru_cache(maxsize=256)
def resize(noise: Noise, size: int) -> Noise:
    """Return the same noise for another number of numbers."""
    if isinstance(noise, Laplace):
        return Laplace(
            sensitivity=noise.sensitivity, epsilon=noise.epsilon, size=size, neighbours=noise.neighbours
        )
    return ConcentratedGaussian(
        l2_sensitivity=noise.l2_sensitivity, rho=noise.rho, size=size, neighbours=noise.neighbours
    )


@lru_cache(maxsize=64)
def plan(
    asked: Questions, neighbours: Neighbours, rounds: int, epsilon: Fraction, delta: Fraction
) -> MWEMPlan:
    """Share out a budget: pure where delta is 0, else by zCDP."""
    counted = Fraction(0) if isinstance(neighbours, Replace) else _COUNTING
    if delta == 0:
        return _plan_pure(asked, neighbours, rounds, epsilon, counted)
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    chosen = _CHOOSING if asked.count > 1 else Fraction(0)
    measuring = Gaussian.for_rho(
        rho * (1 - counted - chosen) / rounds,
        l2_sensitivity=root_up(asked.square),
        size=asked.widest,
        neighbours=neighbours,
    )
    choosing = counting = None
    if chosen:
        choosing = Exponential.for_rho(
            rho * chosen / rounds, sensitivity=asked.shift, size=asked.count, neighbours=neighbours
        )
    if counted:
        counting = Gaussian.for_rho(rho * counted, l2_sensitivity=1, neighbours=neighbours)
    return MWEMPlan(choosing, measuring, counting, rounds)


def _plan_pure(
    asked: Questions, neighbours: Neighbours, rounds: int, epsilon: Fraction, counted: Fraction
) -> MWEMPlan:
    chosen = _CHOOSING_PURE if asked.count > 1 else Fraction(0)
    measuring = Laplace(
        sensitivity=asked.moved,
        epsilon=epsilon * (1 - counted - chosen) / rounds,
        size=asked.widest,
        neighbours=neighbours,
    )
    choosing = counting = None
    if chosen:
        choosing = Exponential(
            sensitivity=asked.shift,
            epsilon=epsilon * chosen / rounds,
            size=asked.count,
            neighbours=neighbours,
        )
    if counted:
        counting = Laplace(sensitivity=1, epsilon=epsilon * counted, neighbours=neighbours)
    return MWEMPlan(choosing, measuring, counting, rounds)
