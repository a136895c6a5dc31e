"""The k best candidates, one exponential mechanism after another, in a single draw."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Self

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.mechanisms.exponential import range_for_rho, units_behind
from discreet.mechanisms.scores import Monotone, Selection, Sensitivity, rate_within
from discreet.mechanisms.tiny import CASES, DISEASES, REAL_GRID, REAL_PAIRS, score_pairs
from discreet.noise.selection import PeeledChoices


@frozen
class TopK(Selection):
    """Choose `k` different candidates, best first: peeling, which one-shot Gumbel noise equals in law.

    Privacy: (epsilon, 0), as k bounded-range steps of epsilon / k; rho is below epsilon^2 / (8 k).
    Accuracy: with probability 1 - beta the j-th choice is within error(beta) of the j-th best, for all j.
    Time: O(size + k).

    Parameters
    ----------
    k
        How many to choose.

    Sensitivity, epsilon (for all k choices together), size or candidates, grid and
    neighbours are those of every `Selection`.

    Examples
    --------
    >>> TopK(k=3, sensitivity=Monotone(1), epsilon=3, size=100).error(0.05)
    8.0
    """

    k: int = public(checks.integer, 1)

    def _complete(self) -> None:
        Selection._complete(self)  # noqa: SLF001 - its own base
        if self.k > self.size:
            raise InvalidParameter(name="k", rule=f"at most the {self.size} candidates", value=self.k)

    @classmethod
    def for_rho(cls, rho: checks.Number, *, k: int, **public: Any) -> Self:
        """Return the mechanism that costs at most rho in zCDP, all k choices together."""
        each = checks.positive(rho=rho) / checks.integer(1, k=k)
        return cls(k=k, epsilon=k * range_for_rho(each), **public)

    @property
    def rate(self) -> Fraction:
        """The exponent of one grid unit in every step, never above epsilon / (k * spread)."""
        return rate_within(self.epsilon, self.k * self.spread)

    @property
    def loss(self) -> Loss:
        """The composition of k choices of bounded range."""
        return Composed(((BoundedRangeLoss(self.rate * self.spread), self.k),))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta, every j-th choice is at most alpha below the j-th best.

        Each step fails with probability at most 1 - (1 - beta)^(1/k) whatever was chosen before, and the
        best of what is left is never below the j-th best.
        """
        each = Fraction(each_of(self.k, beta))
        return self._behind(units_behind((self.size - 1) * (1 - each) / each, self.rate))

    def _draw(self, data: Any, rng: Rng) -> tuple[Hashable, ...]:
        step = PeeledChoices(self.rate, Fraction(self.spread), self.k)
        return tuple(self._name(place) for place in rng.perform(step, self._units(data)))


def _tiny() -> Iterator[Tiny]:
    for sensitivity in (Sensitivity(1), Monotone(1)):
        mechanism = TopK(k=2, sensitivity=sensitivity, epsilon=1, size=3)
        yield Tiny(mechanism, list(score_pairs(sensitivity, ((0, 0, 20),))))
    wide, scores = TopK(k=3, sensitivity=Monotone(1), epsilon=1, size=5), (0, 0, 0, 40, 40)
    moved = [(scores, (0, 0, 0, 41, 41)), (scores, (1, 0, 0, 40, 41)), ((0, 0, 0, 0, 0), (1, 1, 0, 0, 0))]
    yield Tiny(wide, moved)
    both_up = (0.1999, 0.1999, 21.0001), (1.1999, 1.1999, 20.0001)
    yield Tiny(TopK(k=2, sensitivity=1, epsilon=1, size=3, grid=REAL_GRID), [*REAL_PAIRS, both_up])


CARD = Card(
    title="Top-k by peeling, in one shot",
    theorem="k bounded-range steps: (epsilon, 0)-differential privacy and rho below epsilon^2 / (8 k)",
    reference="[DDR20], with [DR14] Theorem 3.10 for each step",
    example=lambda: (TopK(k=2, sensitivity=Monotone(1), epsilon=1, candidates=DISEASES), CASES),
    tiny=_tiny,
)
