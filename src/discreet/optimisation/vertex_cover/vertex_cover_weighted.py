"""Weighted vertex cover with weight classes that are dumped: the algorithm with a proved ratio."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from discreet.accounting.calibrate import smallest
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import derived, frozen, public
from discreet.core.rounding import shorten_up, up
from discreet.optimisation.common.graphs import Vertices
from discreet.optimisation.common.labels import Weights, classes_of, require_count
from discreet.optimisation.common.tiny import graph_pairs
from discreet.optimisation.vertex_cover.orientation import OfOrder
from discreet.optimisation.vertex_cover.scored_orders import ScoredOrder

_SLACK = 1e-12
_MOST_CLASSES = 64
_SHARES = tuple(Fraction(k, 20) for k in range(2, 15))


@frozen
class VertexCoverWeighted(OfOrder):
    """Order weighted vertices so that taking the earlier end of every edge is a cheap cover.

    Privacy: (epsilon, 0) for one edge. The largest loss is computed for the classes at hand.
    Accuracy: the expected cost is at most `ratio` = 2 (2 + ghosts) (1 + 6 / share) times the least;
    error(beta) is that ratio over beta.
    Time: O((vertices + edges) * classes).

    Weights are rounded up to powers of two times the smallest. Vertices are taken with probability
    proportional to (degree + ghosts) / weight; as soon as `share` of a class's size has been taken from it
    and the heavier ones, the rest of the class is dumped in random order. All classes are filled up with
    fakes.

    Parameters
    ----------
    vertices, epsilon
        As in `VertexCover`.
    weights
        What each vertex costs: positive and public, in the order of the vertices.
    """

    weights: Weights = public(checks.each, checks.positive)
    share: Fraction = derived()
    ghosts: Fraction = derived()

    def _complete(self) -> None:
        require_count(self.vertices.size, weights=self.weights)
        levels = classes_of(self.weights)
        if max(levels) >= _MOST_CLASSES:
            raise InvalidParameter(
                name="weights", rule=f"within a factor of 2^{_MOST_CLASSES}", value=f"2^{max(levels)}"
            )
        share, ghosts = _tune(_width(levels), max(levels), self.epsilon)
        self._set(share=share, ghosts=ghosts)

    @classmethod
    def as_printed(
        cls,
        *,
        vertices: int | Iterable[Hashable] | Vertices,
        weights: Iterable[checks.Number],
        epsilon: checks.Number,
    ) -> Self:
        """Return Algorithm 4 as printed: 1 / epsilon ghosts and half of a class, with its true loss.

        That is more than epsilon, up to 2.6 times: `loss` says what it really loses.
        """
        made = cls(vertices=vertices, weights=weights, epsilon=epsilon)
        half, ghosts = Fraction(1, 2), shorten_up(1 / made.epsilon, 6)
        levels = classes_of(made.weights)
        true = Fraction(class_loss(_width(levels), max(levels), half, up(ghosts)))
        made._set(share=half, ghosts=ghosts, epsilon=true)
        return made

    @property
    def ratio(self) -> float:
        """How many times the least cost the expected cost is at most."""
        return max(1.0, min(self._trivial, up(2 * (2 + self.ghosts) * (1 + 6 / self.share))))

    @property
    def _trivial(self) -> float:
        return up((sum(self.weights) - min(self.weights)) / min(self.weights))

    @property
    def _order(self) -> ScoredOrder:
        levels = classes_of(self.weights)
        width, top = _width(levels), max(levels)
        sizes = np.bincount(levels, minlength=top + 1).tolist()
        return ScoredOrder(
            levels,
            tuple(1 << (top - j) for j in range(top + 1)),
            self.ghosts,
            tuple(width - size for size in sizes),
            math.ceil(self.share * width),
        )


def _width(levels: tuple[int, ...]) -> int:
    return int(np.bincount(levels).max())


def class_loss(width: int, top: int, share: Fraction, ghosts: float) -> float:
    """Return a bound on the loss, rounded up: classes 0 .. top of `width` vertices each.

    An edge that is added favours its end by 1 + 1 / ghosts. Let the lighter end of one that is removed be
    of class j. While the lowest class not dumped is i <= j, at most ceil(share width) vertices of class i or
    higher have been taken, each of score at most 2^-i, and every pick favours the order by the edge's
    score over all scores that are left.
    """
    count = math.ceil(share * width)
    lowest = 2.0 ** -np.arange(top + 1, dtype=np.float64)
    left = width * (2 * lowest - 2.0**-top)
    scores = left[:, None] - lowest[:, None] * np.arange(count, dtype=np.float64)
    worst = math.log1p(1 / ghosts)
    for j in range(top + 1):
        removed = float(np.log1p(2 * 2.0**-j / (ghosts * scores[: j + 1])).sum())
        worst = max(worst, removed)
    return worst * (1 + _SLACK)


@lru_cache(maxsize=256)
def _tune(width: int, top: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return the share and the ghosts with the best proved ratio."""
    found = [(share, _ghosts(width, top, share, epsilon)) for share in _SHARES]
    return min(found, key=lambda pair: (2 + pair[1]) * (1 + 6 / pair[0]))


def _ghosts(width: int, top: int, share: Fraction, epsilon: Fraction) -> Fraction:
    return smallest(lambda h: class_loss(width, top, share, float(h)) <= epsilon, digits=6)


def _tiny() -> Iterator[Tiny]:
    yield Tiny(VertexCoverWeighted.as_printed(vertices=4, weights=(1, 1, 1, 1), epsilon=1), graph_pairs(4, 2))
    two = VertexCoverWeighted(vertices=4, weights=(1, 2, 2, 1), epsilon=1)
    yield Tiny(two, graph_pairs(4, 2), tight=False)


CARD = Card(
    title="Weighted vertex cover by weight classes",
    theorem="(epsilon, 0)-differential privacy for an edge; cost 2 (2 + h)(1 + 6 / b) times the least",
    reference="[Roth10] Algorithm 4 and Theorem 52",
    example=lambda: (
        VertexCoverWeighted(vertices=("ann", "bob", "cy", "dee"), weights=(1, 1, 2, 5), epsilon=1),
        [("ann", "bob"), ("bob", "dee")],
    ),
    tiny=_tiny,
)
