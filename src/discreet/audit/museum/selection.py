"""Choices that give away more than they claim."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.museum.exhibit import Exhibit, Exhibited
from discreet.core.loss import BoundedRangeLoss, LaplaceLoss, Loss
from discreet.core.rng import Rng
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.noise.selection import ExponentialChoice, FlippedChoice, NoisyArgmax


@dataclass(frozen=True, slots=True, repr=False)
class LaplaceMax(Exhibited):
    """The candidate with the largest noisy score; the noise has scale `factor` / epsilon."""

    factor: int = 1

    def _draw(self, data: Sequence[int], rng: Rng) -> int:
        step = NoisyArgmax(DiscreteLaplace(self.factor / self.epsilon), Fraction(2))
        return rng.perform(step, np.array(data))


@dataclass(frozen=True, slots=True, repr=False)
class WinningCount(Exhibited):
    """The best of counts that all move the same way, and with `value` also its noisy count."""

    value: bool = True

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        noisy = rng.perform(AddNoise(DiscreteLaplace(1 / self.epsilon), Fraction(len(data))), np.array(data))
        best = int(np.argmax(noisy))
        return (best, int(np.ravel(noisy)[best])) if self.value else best


@dataclass(frozen=True, slots=True, repr=False)
class Weighing(Exhibited):
    """The exponential mechanism with rate epsilon / `factor` for scores of sensitivity 1."""

    factor: int = 1

    def _draw(self, data: Sequence[int], rng: Rng) -> int:
        return rng.perform(ExponentialChoice(self.epsilon / self.factor, Fraction(2)), np.array(data))


@dataclass(frozen=True, slots=True, repr=False)
class BoundedRangeChoice(Exhibited):
    """A choice at rate epsilon / 2 with the exponential mechanism's curve: permute-and-flip has none."""

    choice: type[ExponentialChoice | FlippedChoice] = FlippedChoice

    @property
    def loss(self) -> Loss:
        """A claim that is proved for the exponential mechanism."""
        return BoundedRangeLoss(self.epsilon)

    def _draw(self, data: Sequence[int], rng: Rng) -> int:
        return rng.perform(self.choice(self.epsilon / 2, Fraction(2)), np.array(data))


@dataclass(frozen=True, slots=True, repr=False)
class ContinuousCurve(Exhibited):
    """Integer Laplace noise with the loss curve of continuous noise; with `pure`, of randomized response."""

    pure: bool = False

    @property
    def loss(self) -> Loss:
        """The continuous curve, which is too good for the integers."""
        return super(ContinuousCurve, self).loss if self.pure else LaplaceLoss(self.epsilon)

    def _draw(self, data: int, rng: Rng) -> Any:
        return self._add_noise(data, rng)


def _general(size: int, top: int) -> tuple[tuple[Any, Any], ...]:
    """All pairs of score vectors that differ by at most 1 in every coordinate."""
    every = list(itertools.product(range(top + 1), repeat=size))
    close = (
        (a, b)
        for a, b in itertools.combinations(every, 2)
        if max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 1
    )
    return tuple(close)


_SHIFTED = (((0, 5), (1, 4)), ((0, 0, 20), (1, 1, 19)), ((5, 0), (4, 1)))
_COUNTS = tuple((a, b) for a, b in _general(2, 1) if all(x <= y for x, y in zip(a, b, strict=True)))

EXHIBITS = (
    Exhibit(
        name="noisy-max-general",
        wrong="Laplace noise of scale 1 / epsilon is enough only where all scores move the same way",
        source="[DR14] Claim 3.9 used for general scores",
        shown=LaplaceMax(Fraction(1)).against(_SHIFTED, factor=2),
    ),
    Exhibit(
        name="winning-count",
        wrong="the noisy score of the winner is published for free",
        source="[DR14] section 3.3: noisy max releases the index only",
        shown=WinningCount(Fraction(2)).against(_COUNTS, value=False),
    ),
    Exhibit(
        name="exponential-without-two",
        wrong="the exponent lacks the factor 1 / 2, so general scores cost twice the claim",
        source="[DR14] Definition 3.4",
        shown=Weighing(Fraction(1)).against(_general(3, 2), factor=2),
    ),
    Exhibit(
        name="permute-and-flip-as-exponential",
        wrong="permute-and-flip has no bounded range, yet was charged as if it had",
        source="opendp #2911",
        shown=BoundedRangeChoice(Fraction(4)).against(_general(3, 2), choice=ExponentialChoice),
    ),
    Exhibit(
        name="continuous-curve-on-integers",
        wrong="integer noise was charged by the curve of continuous noise",
        source="docs/algorithms/laplace.md",
        shown=ContinuousCurve(Fraction(1)).against([(0, 1)], pure=True),
    ),
)
