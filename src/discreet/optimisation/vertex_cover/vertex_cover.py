"""Vertex cover as a private order of the vertices."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.parameters import derived, frozen
from discreet.core.rounding import above, shorten_up, up
from discreet.core.search import narrow
from discreet.optimisation.common.graphs import Vertices
from discreet.optimisation.common.orders import DegreeOrder
from discreet.optimisation.common.tiny import graph_pairs
from discreet.optimisation.vertex_cover.orientation import OfOrder

_SLACK = 1e-12  # relative: far above the rounding errors of the sums it covers
_FEW = 64  # up to so many vertices every number of picks is tried


@frozen
class VertexCover(OfOrder):
    """Order the vertices so that taking the earlier end of every edge is a small cover.

    Privacy: (epsilon, 0) for one edge, exactly the largest loss: no smaller number of ghost edges has it.
    Accuracy: the expected size of the cover is at most `ratio` times the smallest; error(beta) is that ratio
    over beta, by Markov's inequality.
    Time: O(vertices + edges).

    Every vertex has `ghosts` imagined edges besides its real ones. `picks` times an edge is drawn, real or
    imagined, and a real end of it taken out; the other vertices follow in random order.

    Parameters
    ----------
    vertices
        How many vertices there are, or their names. Public.
    epsilon
        The budget of one release.

    Examples
    --------
    >>> round(VertexCover(vertices=1000, epsilon=1).ratio, 1)
    6.3
    """

    _what = "the size of this cover"
    picks: int = derived()
    ghosts: Fraction = derived()
    growing: bool = derived()

    def _complete(self) -> None:
        picks, ghosts = tune(self.vertices.size, self.epsilon)
        self._set(picks=picks, ghosts=ghosts, growing=False)

    @classmethod
    def as_printed(cls, *, vertices: int | Iterable[Hashable] | Vertices, epsilon: checks.Number) -> Self:
        """Return Algorithm 3 as printed: 4 / epsilon ghosts, growing as vertices run out, in all picks.

        Its true loss is below epsilon, and `loss` says how far.
        """
        made = cls(vertices=vertices, epsilon=epsilon)
        made._set(picks=made.vertices.size, ghosts=shorten_up(4 / made.epsilon, 6), growing=True)
        return made

    @property
    def loss(self) -> Loss:
        """The budget, or the true loss of Algorithm 3 where that is smaller."""
        if not self.growing:
            return PureLoss(self.epsilon)
        return PureLoss(min(self.epsilon, Fraction(order_loss(self._order))))

    @property
    def ratio(self) -> float:
        """How many times the smallest cover the expected cover is at most."""
        size = self.vertices.size
        if size <= 2:
            return 1.0
        if self.growing:
            return min(size - 1.0, above(2 + float(np.mean(_weights(self._order))), 8))
        return up(min(Fraction(size - 1), (2 + self.ghosts) * size / self.picks))

    @property
    def _trivial(self) -> float:
        return self.vertices.size - 1.0

    @property
    def _order(self) -> DegreeOrder:
        return DegreeOrder(self.vertices.size, self.picks, self.ghosts, self.growing)


def order_loss(order: DegreeOrder) -> float:
    """Return the largest loss of an order by degrees, rounded up.

    An edge that is added favours its end by at most 1 + 1 / weight. One that is removed favours every pick
    before it is covered by at most 1 + 2 / (s weight), with s vertices left. A pick among the last two that
    covers it favours nothing: (2 w + 2 d + 2) / (2 w + 2 d) is just (w + d + 1) / (w + d).
    """
    first, last = order.size, max(order.size - order.picks, 2)
    if first <= last:
        return 0.0
    weights = _weights(order)[: first - last]
    left = np.arange(first, last, -1, dtype=np.float64)
    removed = float(np.log1p(2 / (left * weights)).sum())
    return max(math.log1p(1 / float(weights[0])), removed) * (1 + _SLACK)


def _weights(order: DegreeOrder) -> Any:
    left = range(order.size, order.size - order.picks, -1)
    if not order.growing:
        return np.full(order.picks, float(order.ghosts))
    return np.array([order.weight(s) / order.unit for s in left])


@lru_cache(maxsize=256)
def tune(size: int, epsilon: Fraction) -> tuple[int, Fraction]:
    """Return the number of picks and of ghosts with the best proved ratio, (2 + ghosts) size / picks.

    At most size - 2 picks: a last choice between two vertices would say whether they share an edge.
    """
    if size <= 2:
        return 0, Fraction(1)
    budget = float(epsilon)

    def rough(picks: int) -> float:
        ghosts = _least(lambda h: _integral(size, picks, h) <= budget, 1 / math.expm1(min(budget, 700.0)))
        return (2 + ghosts) * size / picks

    if size <= _FEW:
        picks = min(range(1, size - 1), key=rough)
    else:
        low, high = 1, size - 2
        while high - low > 2:
            a, b = low + (high - low) // 3, high - (high - low) // 3
            low, high = (low, b - 1) if rough(a) <= rough(b) else (a + 1, high)
        picks = min(range(low, high + 1), key=rough)
    return picks, ghosts_for(size, picks, epsilon)


def ghosts_for(size: int, picks: int, epsilon: Fraction) -> Fraction:
    """Return the smallest number of ghosts, to six digits, with which so many picks cost at most epsilon."""

    def holds(ghosts: float) -> bool:
        return order_loss(DegreeOrder(size, picks, Fraction(ghosts))) <= epsilon

    floor = 1 / math.expm1(min(float(epsilon), 700.0)) * (1 - 1e-9)
    return shorten_up(Fraction(_least(holds, floor)), 6)  # more ghosts lose less


def _integral(size: int, picks: int, ghosts: float) -> float:
    """Return the sum of log(1 + 2 / (s ghosts)) over the picks as an integral, good to plan with."""
    c = 2 / ghosts

    def primitive(s: float) -> float:
        return s * math.log1p(c / s) + c * math.log(s + c)

    return primitive(size + 0.5) - primitive(size - picks + 0.5)


def _least(holds: Callable[[float], bool], floor: float) -> float:
    """Return about the smallest x >= floor with holds(x)."""
    if holds(floor):
        return floor
    low = high = floor
    while not holds(high):
        low, high = high, 2 * high
    return narrow(holds, low, high, steps=27)[1]


def _tiny() -> Iterator[Tiny]:
    yield Tiny(VertexCover(vertices=3, epsilon=1), graph_pairs(3, 3), tight=False)
    yield Tiny(VertexCover(vertices=4, epsilon=Fraction(1, 2)), graph_pairs(4, 6))
    yield Tiny(VertexCover.as_printed(vertices=4, epsilon=1), graph_pairs(4, 2))


CARD = Card(
    title="Vertex cover by hallucinated edges",
    theorem="(epsilon, 0)-differential privacy for an edge; expected cover (2 + h) n / R times the smallest",
    reference="[Roth10] Section 7.6 and Theorems 49 and 50",
    example=lambda: (VertexCover(vertices=("ann", "bob", "cy", "dee"), epsilon=1), [("ann", "bob")]),
    tiny=_tiny,
)
