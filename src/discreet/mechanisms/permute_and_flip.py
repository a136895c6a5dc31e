"""Permute-and-flip: the best single selection under pure differential privacy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import down
from discreet.core.search import narrow
from discreet.mechanisms.scores import Monotone, Selection, Sensitivity
from discreet.mechanisms.tiny import CASES, DISEASES, REAL_GRID, REAL_PAIRS, score_pairs
from discreet.noise.selection import FlippedChoice


@frozen
class PermuteAndFlip(Selection):
    """Visit the candidates in random order; choose the first whose coin exp(-rate * gap) shows heads.

    Privacy: (epsilon, 0). [MS20] Theorem 1. It has **no** bounded range: in a composition use `Exponential`.
    Accuracy: error(beta) is exact for the worst scores, and never above the exponential mechanism's.
    Time: O(size).

    Sensitivity, epsilon, size or candidates, grid and neighbours are those of every `Selection`.

    Examples
    --------
    >>> PermuteAndFlip(sensitivity=Monotone(1), epsilon=1, size=100).error(0.05)
    6.0
    """

    @property
    def loss(self) -> Loss:
        """Pure only: near a tie the log-likelihood ratio ranges over almost twice epsilon."""
        return PureLoss(self.rate * self.spread)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the choice is more than alpha behind the best score with probability <= beta.

        The worst scores put all other candidates just beyond alpha; for those the bound is exact.
        """
        b = down(checks.probability(beta=beta))
        most = max(0.0, math.log(self.size) - math.log(2 * b)) + 1
        _, depth = narrow(lambda depth: _failure(self.size, depth) <= b, 0.0, most, steps=80)
        return self._behind(max(0, math.ceil(Fraction(depth) / self.rate) - 1))

    def _draw(self, data: Any, rng: Rng) -> Hashable:
        step = FlippedChoice(self.rate, Fraction(self.spread))
        return self._name(rng.perform(step, self._units(data)))


def _failure(size: int, depth: float) -> float:
    """Bound from above the probability not to choose the best when all others show heads with exp(-depth).

    With p = exp(-depth) it is 1 - E[1 / (1 + H)], H ~ Bin(size - 1, p), which is
    1 - (1 - (1 - p)^size) / (size p), and at most E[H] / 2.
    """
    p = math.exp(-depth) * (1 + 1e-14)
    few = (size - 1) * p / 2
    if p >= 1:
        return (size - 1) / size
    return min(few, 1 + math.expm1(size * math.log1p(-p)) / (size * p) + 1e-13)


def _tiny() -> Iterator[Tiny]:
    levels = list(itertools.product((0, 4, 9), repeat=3))
    for sensitivity in (Sensitivity(1), Monotone(1), Sensitivity(2)):
        mechanism = PermuteAndFlip(sensitivity=sensitivity, epsilon=1, size=3)
        yield Tiny(mechanism, list(score_pairs(sensitivity, levels)))
    yield Tiny(PermuteAndFlip(sensitivity=1, epsilon=1, size=3, grid=REAL_GRID), REAL_PAIRS)


CARD = Card(
    title="Permute-and-flip",
    theorem="(epsilon, 0)-differential privacy; expected error never above the exponential mechanism's",
    reference="[MS20] Theorems 1 and 2",
    example=lambda: (PermuteAndFlip(sensitivity=Monotone(1), epsilon=0.5, candidates=DISEASES), CASES),
    tiny=_tiny,
)
