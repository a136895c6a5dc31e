"""Textbook noise in floats: right on paper, broken on every computer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audit.museum.exhibit import Exhibit, Exhibited, Shown
from discreet.core.card import Tiny
from discreet.core.loss import GaussianLoss, Loss
from discreet.core.rng import Rng
from discreet.mechanisms.laplace import Laplace

_PAIRS = ((0.0, 1.0), (-0.0, 0.0), (2.0**53, 2.0**53 + 2))


@dataclass(frozen=True, slots=True, repr=False)
class FloatLaplace(Exhibited):
    """Laplace noise of scale 1 / epsilon by inversion, added to the value in floats."""

    def _draw(self, data: Any, rng: Rng) -> float:
        u = _uniform(rng) - 0.5
        noise = -math.copysign(math.log(max(1 - 2 * abs(u), 2.0**-53)), u) / float(self.epsilon)
        return float(data) + noise


@dataclass(frozen=True, slots=True, repr=False)
class FloatGaussian(Exhibited):
    """Gaussian noise of standard deviation 1 / epsilon by Box and Muller, added in floats."""

    @property
    def loss(self) -> Loss:
        """The claim of real Gaussian noise."""
        return GaussianLoss(self.epsilon)

    def _draw(self, data: Any, rng: Rng) -> float:
        radius = math.sqrt(-2 * math.log(max(_uniform(rng), 2.0**-53)))
        return float(data) + radius * math.cos(2 * math.pi * _uniform(rng)) / float(self.epsilon)


def _uniform(rng: Rng) -> float:
    return int(rng.words(1)[0] >> 11) * 2.0**-53


def _show(kind: type[Exhibited]) -> Shown:
    right = Laplace(sensitivity=1, epsilon=1, grid=2.0**-10)
    return Shown(lambda: Tiny(kind(Fraction(1)), _PAIRS), lambda: Tiny(right, _PAIRS[:2]))


EXHIBITS = (
    Exhibit(
        name="float-laplace",
        wrong="the sum of two floats is rounded to the larger one's grid, so its low bits tell the data",
        source="[Mir12]; [HDHSH22]",
        shown=_show(FloatLaplace),
        audit="precision",
    ),
    Exhibit(
        name="float-gaussian",
        wrong="the same rounding gives Gaussian noise away",
        source="[HDHSH22]",
        shown=_show(FloatGaussian),
        audit="precision",
    ),
)
