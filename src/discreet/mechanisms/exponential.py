"""The exponential mechanism, sampled exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Self

from discreet.accounting.calibrate import largest
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.parameters import Public, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above
from discreet.mechanisms.scores import Monotone, Selection, Sensitivity
from discreet.mechanisms.tiny import CASES, DISEASES, REAL_GRID, REAL_PAIRS, score_pairs
from discreet.noise.selection import ExponentialChoice

WIDEST_BASE = 1 << 1000
"""The largest ratio of two base weights, so that floats can guide the sampler."""

Weights = Public[Iterable[checks.Number] | None, tuple[Fraction, ...] | None]


def _read_base(**named: Iterable[checks.Number]) -> tuple[Fraction, ...]:
    weights = tuple(checks.positive(base=weight) for weight in checks.several(**named))
    if weights and max(weights) > min(weights) * WIDEST_BASE:
        raise InvalidParameter(name="base", rule="weights within a factor of 2**1000", value=max(weights))
    total = sum(weights)
    return tuple(weight / total for weight in weights)


@frozen
class Exponential(Selection):
    """Choose a candidate with probability proportional to base * exp(rate * score).

    Privacy: (epsilon, 0), and the log-likelihood ratio has range epsilon, so rho is below epsilon^2 / 8.
    [DR14] Theorem 3.10, [DDR20].
    Accuracy: error(beta) is exact for the worst scores; never above [DR14] Theorem 3.11.
    Time: O(size).

    Parameters
    ----------
    base
        Positive public weights, one a candidate; equal where left out.

    Sensitivity, epsilon, size or candidates, grid and neighbours are those of every `Selection`.

    Examples
    --------
    >>> Exponential(sensitivity=Monotone(1), epsilon=1, size=100).error(0.05)
    7.0
    """

    base: Weights = public(_read_base, default=None)

    def _complete(self) -> None:
        Selection._complete(self)  # noqa: SLF001 - its own base
        if self.base is not None and len(self.base) != self.size:
            raise InvalidParameter(name="base", rule=f"{self.size} weights", value=len(self.base))

    @classmethod
    def for_rho(cls, rho: checks.Number, **public: Any) -> Self:
        """Return the mechanism that costs at most rho in zCDP: about epsilon = sqrt(8 rho)."""
        return cls(epsilon=range_for_rho(rho), **public)

    @property
    def loss(self) -> Loss:
        """Bounded range: neighbours move the logarithms of two weights by at most rate * spread apart."""
        return BoundedRangeLoss(self.rate * self.spread)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the choice is more than alpha behind the best score with probability <= beta.

        The worst scores put all other candidates just beyond alpha and give the best one the smallest
        base weight; for those the bound is exact.
        """
        b = checks.probability(beta=beta)
        weights = self.base if self.base is not None else (Fraction(1),)
        odds = sum(weights) / min(weights) - 1 if self.base is not None else Fraction(self.size - 1)
        return self._behind(units_behind(odds * (1 - b) / b, self.rate))

    def _draw(self, data: Any, rng: Rng) -> Hashable:
        step = ExponentialChoice(self.rate, Fraction(self.spread), self.base)
        return self._name(rng.perform(step, self._units(data)))


def units_behind(odds: Fraction, rate: Fraction) -> int:
    """Return the smallest t >= 0 with odds * exp(-rate (t + 1)) <= 1."""
    if odds <= 1:
        return 0
    log = above(math.log(odds.numerator) - math.log(odds.denominator), steps=8) + 1e-12
    return max(0, math.ceil(Fraction(log) / rate) - 1)


def range_for_rho(rho: checks.Number) -> Fraction:
    """Return a range, nearly the largest, whose bounded-range loss costs at most rho in zCDP."""
    wanted = checks.positive(rho=rho)
    return largest(lambda range_: BoundedRangeLoss(range_).zcdp() <= wanted, digits=12)


def _tiny() -> Iterator[Tiny]:
    levels = list(itertools.product((0, 4, 9), repeat=3))
    for sensitivity in (Sensitivity(1), Monotone(1), Sensitivity(2)):
        mechanism = Exponential(sensitivity=sensitivity, epsilon=1, size=3)
        yield Tiny(mechanism, list(score_pairs(sensitivity, levels)))
    weighted = Exponential(sensitivity=1, epsilon=2, candidates=("a", "b"), base=(1, 5))
    yield Tiny(weighted, list(score_pairs(Sensitivity(1), itertools.product((0, 4, 9), repeat=2))))
    rounded = Exponential(sensitivity=1, epsilon=1, candidates=("a", "b", "c"), grid=REAL_GRID)
    name = partial(zip, "cab", strict=True)
    named = [(dict(name(left)), dict(name(right))) for left, right in REAL_PAIRS]
    yield Tiny(rounded, [*REAL_PAIRS, *named])


CARD = Card(
    title="Exponential mechanism, sampled exactly",
    theorem="(epsilon, 0)-differential privacy with bounded range; rho below epsilon^2 / 8",
    reference="[DR14] Theorems 3.10 and 3.11",
    example=lambda: (Exponential(sensitivity=Monotone(1), epsilon=0.5, candidates=DISEASES), CASES),
    tiny=_tiny,
)
