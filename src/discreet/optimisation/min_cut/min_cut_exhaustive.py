"""Minimum cut of a small graph: one exponential mechanism over all of its cuts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import Edge
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.scores import rate_within
from discreet.optimisation.common.graphs import OfGraph, read_edges
from discreet.optimisation.min_cut.choice import SMALL, CutChoice
from discreet.optimisation.min_cut.min_cut import Cut, adjacency_of


@frozen
class MinCutExhaustive(OfGraph[Cut]):
    """Choose among all 2^(n-1) - 1 cuts of a small graph, with the whole budget.

    Privacy: (epsilon, 0) for one edge, of bounded range: an edge raises cuts that it crosses, and no other.
    Accuracy: error(beta), about ((n - 1) ln 2 + ln(1 / beta)) / epsilon edges above the smallest cut.
    Time: O(2^n).

    Parameters
    ----------
    vertices
        How many vertices there are, or their names. Public; from 2 to 18.
    epsilon
        The budget of one release.

    Examples
    --------
    >>> MinCutExhaustive(vertices=12, epsilon=2).error(0.05)
    5.0
    """

    def _complete(self) -> None:
        if not 2 <= self.vertices.size <= SMALL:
            raise InvalidParameter(name="vertices", rule=f"from 2 to {SMALL}", value=self.vertices.size)

    @property
    def loss(self) -> Loss:
        """One choice of bounded range; costs are monotone, so no factor of two is lost."""
        return BoundedRangeLoss(self._choice.rate)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cut is more than alpha edges above the smallest with probability at most beta."""
        b, cuts = checks.probability(beta=beta), 2 ** (self.vertices.size - 1) - 1
        most = (self.vertices.size // 2) * (self.vertices.size - self.vertices.size // 2)
        bound = float(units_behind((cuts - 1) * (1 - b) / b, self._choice.rate))
        return require_useful(bound, trivial=float(most), what="the size of this cut", way_out=MORE)

    @property
    def _choice(self) -> CutChoice:
        return CutChoice(rate_within(self.epsilon, 1), Fraction(1))

    def _draw(self, data: Any, rng: Rng) -> Cut:
        side = rng.perform(self._choice, adjacency_of(read_edges(data, self.vertices), self.vertices.size))
        return Cut(frozenset(map(self.vertices.name, side)))


def _tiny() -> Iterator[Tiny]:
    for size, epsilon in ((3, 1), (4, 4), (4, 20)):
        pairs = list(Edge().pairs(range(size), size * size))
        yield Tiny(MinCutExhaustive(vertices=size, epsilon=epsilon), pairs, tight=epsilon >= 4)


CARD = Card(
    title="Minimum cut of a small graph, over all cuts",
    theorem="(epsilon, 0)-differential privacy for one edge, with bounded range",
    reference="[Roth10] Algorithm 1 and [DR14] Theorem 3.10",
    example=lambda: (
        MinCutExhaustive(vertices=10, epsilon=4),
        frozenset((*itertools.combinations(range(5), 2), *itertools.combinations(range(5, 10), 2), (4, 5))),
    ),
    tiny=_tiny,
)
