"""Report noisy max: add noise to every score and name the largest."""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss, PureLoss
from discreet.core.parameters import frozen, public
from discreet.core.rng import Primitive, Rng
from discreet.core.search import first_integer
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.scores import Monotone, Selection, Sensitivity
from discreet.mechanisms.tiny import CASES, DISEASES, REAL_GRID, REAL_PAIRS, score_pairs
from discreet.noise import DiscreteLaplace
from discreet.noise.selection import ExponentialChoice, FlippedChoice, NoisyArgmax, NoisyArgmaxGap


class MaxNoise(enum.Enum):
    """The noises whose largest sum may be named. Closed: others would need another proof."""

    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@frozen
class NoisyMax(Selection):
    """Name the candidate whose score plus noise is largest. The sums themselves stay private.

    Privacy: (epsilon, 0). [DR14] Claim 3.9, with twice its noise where scores are not monotone.
    Accuracy: error(beta), exact for the worst scores but for Laplace noise, where it is a union bound.
    Time: O(size).

    Exponential noise makes it permute-and-flip, Gumbel noise the exponential mechanism, and it is drawn
    as such. Laplace noise is the book's version; its error bound is the largest of the three.

    Parameters
    ----------
    noise
        A `MaxNoise`.
    gap
        Release (name, gap): also by how much the winner won, at no further cost. Laplace noise only.

    Sensitivity, epsilon, size or candidates, grid and neighbours are those of every `Selection`.

    Examples
    --------
    >>> NoisyMax(noise=MaxNoise.LAPLACE, sensitivity=Monotone(1), epsilon=1, size=100).error(0.05)
    8.0
    """

    noise: MaxNoise = public(checks.instance, MaxNoise)
    gap: bool = public(checks.one_of, (False, True), default=False)

    def _complete(self) -> None:
        Selection._complete(self)  # noqa: SLF001 - its own base
        if self.gap and (self.noise is not MaxNoise.LAPLACE or self.size == 1):
            raise InvalidParameter(
                name="gap", rule="False but for Laplace noise and >= 2 candidates", value=self.gap
            )

    @property
    def scale(self) -> Fraction:
        """The scale of Laplace noise in grid units, never below spread / epsilon."""
        return 1 / self.rate

    @property
    def loss(self) -> Loss:
        """Pure, and with Gumbel noise of bounded range."""
        return PureLoss(self.spread / self.scale) if self.noise is MaxNoise.LAPLACE else self._same_law().loss

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the choice is more than alpha behind the best score with probability <= beta."""
        if self.noise is not MaxNoise.LAPLACE:
            return self._same_law().error(beta)
        return self._behind(_laplace_behind(self.size, self.scale, checks.probability(beta=beta)))

    def _same_law(self) -> Selection:
        """Return the mechanism whose choice has the same law as the noisy maximum's."""
        kind = PermuteAndFlip if self.noise is MaxNoise.EXPONENTIAL else Exponential
        return kind(
            sensitivity=self.sensitivity,
            epsilon=self.epsilon,
            size=self.size,
            grid=self.grid,
            neighbours=self.neighbours,
        )

    def _step(self) -> Primitive[NDArray[np.int64], int]:
        spread = Fraction(self.spread)
        if self.noise is MaxNoise.LAPLACE:
            return NoisyArgmax(DiscreteLaplace(self.scale), spread)
        kind = FlippedChoice if self.noise is MaxNoise.EXPONENTIAL else ExponentialChoice
        return kind(self.rate, spread)

    def _draw(self, data: Any, rng: Rng) -> Hashable:
        if self.gap:
            step = NoisyArgmaxGap(DiscreteLaplace(self.scale), Fraction(self.spread))
            place, units = rng.perform(step, self._units(data))
            return self._name(place), Grid(self.grid).from_units(units)
        return self._name(rng.perform(self._step(), self._units(data)))


def _laplace_behind(size: int, scale: Fraction, beta: Fraction) -> int:
    """Return the smallest t >= 0 with (size - 1) P[X - Y > t] <= beta for two discrete Laplace noises.

    P[X - Y >= d] = q^d (d (1 - q) + (1 + q + 2 q^2) / (1 + q)) / (1 + q)^2 for d >= 1, q = exp(-1 / scale).
    """
    if size == 1:
        return 0
    q, step = math.exp(-float(1 / scale)), -math.expm1(-float(1 / scale))
    wanted = math.log(beta.numerator) - math.log(beta.denominator) - math.log(size - 1) - 1e-12

    def fits(t: int) -> bool:
        d = t + 1
        share = d * step + (1 + q + 2 * q * q) / (1 + q)
        return math.log(share) - 2 * math.log1p(q) - float(d / scale) * (1 - 1e-14) <= wanted

    return first_integer(fits, low=-1)


def _tiny() -> Iterator[Tiny]:
    for noise in MaxNoise:
        for sensitivity in (Sensitivity(1), Monotone(1)):
            mechanism = NoisyMax(noise=noise, sensitivity=sensitivity, epsilon=2, size=3)
            yield Tiny(mechanism, list(score_pairs(sensitivity, ((0, 0, 0), (0, 9, 9)))))
    two = NoisyMax(noise=MaxNoise.LAPLACE, sensitivity=1, epsilon=1, size=2)
    yield Tiny(two, list(score_pairs(Sensitivity(1), ((0, 0), (0, 5), (0, 12)))))
    for sensitivity in (Sensitivity(1), Monotone(1)):
        mechanism = NoisyMax(noise=MaxNoise.LAPLACE, sensitivity=sensitivity, epsilon=4, size=3, gap=True)
        yield Tiny(mechanism, list(score_pairs(sensitivity, ((0, 0, 0),))))
    for gap in (False, True):
        rounded = NoisyMax(noise=MaxNoise.LAPLACE, sensitivity=1, epsilon=8, size=3, grid=REAL_GRID, gap=gap)
        yield Tiny(rounded, REAL_PAIRS)


CARD = Card(
    title="Report noisy max",
    theorem="(epsilon, 0)-differential privacy for the index of the largest noisy score",
    reference="[DR14] Claim 3.9 and Theorem 3.13",
    example=lambda: (
        NoisyMax(noise=MaxNoise.EXPONENTIAL, sensitivity=Monotone(1), epsilon=0.5, candidates=DISEASES),
        CASES,
    ),
    tiny=_tiny,
)
