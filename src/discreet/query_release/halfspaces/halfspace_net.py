"""Halfspaces in any dimension: public directions, and how much lies near their borders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Queries
from discreet.query_release.halfspaces.base import PointCounts, PointRelease
from discreet.query_release.halfspaces.points import Between, directions, points, whole_direction
from discreet.query_release.linear.weight_grid import sensitivity_of

Direction = tuple[int, ...]

_NEAR = 1e-9  # far above the error of an angle in floats
_DOUBT = 1e-12  # far above the relative error of a product of four floats


class MarginQuery(LinearQuery):
    """Counts the rows x with <direction, x> >= margin |direction| |x|; the margin may be negative."""

    def __init__(
        self, universe: Universe, *, centre: tuple[Fraction, ...], direction: Direction, margin: Fraction
    ) -> None:
        name = f"<{direction}, x> >= {margin} |x|"
        super().__init__(universe, tuple(range(len(universe.shape))), name)
        self._centre, self._direction, self._margin = centre, direction, margin

    def table(self) -> Array:
        """Return the weights as an array over the universe."""
        self.universe.require_dense()
        return self.at(self.universe.unravel(np.arange(self.universe.size))).reshape(self.universe.shape)

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        rows = points(self.universe, self._centre, codes)
        along = rows @ np.array(self._direction, dtype=np.int64)
        squares = (rows**2).sum(axis=1)
        length = sum(each * each for each in self._direction)
        # Compare along^2 with the squared margin; floats only where they are sure.
        left = along.astype(np.float64) ** 2
        right = float(self._margin) ** 2 * length * squares.astype(np.float64)
        beyond = np.sign(left - right)
        for place in np.flatnonzero(np.abs(left - right) <= _DOUBT * (left + right)):
            exact = int(along[place]) ** 2 - self._margin**2 * length * int(squares[place])
            beyond[place] = (exact > 0) - (exact < 0)
        if self._margin >= 0:
            return np.asarray((along >= 0) & (beyond >= 0))
        return np.asarray((along >= 0) | (beyond <= 0))


class MarginCounts(PointCounts):
    """Noisy counts of rows beyond both margins of every public direction. Public.

    Attributes
    ----------
    low, high
        For every direction: rows that are inside by the margin, and rows that are not outside by it.
    """

    def __init__(
        self, universe: Universe, noisy: tuple[int, ...], *, net: tuple[Direction, ...], margin: Fraction
    ) -> None:
        self.universe, self.transcript, self.net, self.margin = universe, noisy, net, margin
        self.low, self.high = noisy[: len(net)], noisy[len(net) :]

    def answer(self, normal: Sequence[checks.Number]) -> Between:
        """Estimate how many rows have <normal, row - centre> >= 0, by the nearest direction.

        Without noise the true count lies between `low` and `high`: a row that is inside the nearest
        direction's halfspace by more than the angle between the two is inside the asked one.

        Raises
        ------
        Refused
            When no direction is within the margin.
        """
        place, apart = nearest_direction(self.net, whole_direction(self.universe, normal))
        if apart > float(self.margin) - _NEAR:
            raise Refused(
                what="this halfspace",
                why=f"the nearest direction is {apart:.3g} away and the margin is {float(self.margin):.3g}",
                way_out="Release more directions or a wider margin",
            )
        low, high = sorted((self.low[place], self.high[place]))
        return Between(low, (low + high) / 2, high)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.universe, self.net, self.margin, self.transcript

    def __repr__(self) -> str:
        return f"<MarginCounts: {len(self.net)} directions with margin {float(self.margin):.3g}>"


def _list_net(net: int | Sequence[Sequence[int]]) -> int | Sequence[Sequence[int]]:
    if isinstance(net, int):
        return checks.integer(1, net=net)
    return tuple(checks.several(net=direction) for direction in checks.several(net=net))


@frozen
class HalfspaceNet(PointRelease[MarginCounts]):
    """Count, for every direction of a public net, the rows beyond the near and beyond the far margin.

    Privacy: (epsilon, delta) with Gaussian noise, or (epsilon, 0) with Laplace noise, for all directions.
    Accuracy: error(beta) bounds the error of all counts; between `low` and `high` lies what no net can tell.
    Time: O(cells x directions).

    Parameters
    ----------
    universe
        Attributes whose values are numbers.
    net
        Public directions in whole numbers, or how many to spread (`directions` makes them).
    margin
        The sine of an angle: halfspaces whose normal is that near to a direction can be asked.
    epsilon, delta, rows, centre, neighbours
        As in `HalfPlanes`.
    """

    net: Public[int | Sequence[Sequence[int]], tuple[Direction, ...]] = public(_list_net)
    margin: Exact = public(checks.probability)

    def _complete(self) -> None:
        PointRelease._complete(self)  # noqa: SLF001 - its own base
        self._set(net=_spread_net(self.universe, self.net))
        self._require_both_sides()

    @property
    def workload(self) -> Queries:
        """The measured counts: the near margins of all directions, then the far ones."""
        return _margins(self.universe, self.centre, self.net, self.margin)

    @property
    def size(self) -> int:
        """How many counts are measured."""
        return 2 * len(self.net)

    def sensitivity(self, norm: int) -> Fraction:
        """Return the joint sensitivity: exact, or a bound where there are too many cells to search."""
        return sensitivity_of(self.workload, self.neighbours, norm)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: some measured count is off by more with probability at most beta."""
        return self.noise.error(beta)

    def _draw(self, data: Histogram, rng: Rng) -> MarginCounts:
        counts = np.asarray(self.workload.answers(self._points(data)), dtype=np.int64)
        noisy = tuple(int(each) for each in self.noise.release(counts, rng=rng).value)
        return MarginCounts(self.universe, noisy, net=self.net, margin=self.margin)


def nearest_direction(net: Sequence[Direction], normal: Direction) -> tuple[int, float]:
    """Return the place of the nearest direction and the sine of the angle to it; 1 beyond a right angle."""
    known, longest = np.array(net, dtype=np.float64), Fraction(max(map(abs, normal)))
    asked = np.array([float(each / longest) for each in normal])  # as fractions: no normal is too long
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    asked /= np.linalg.norm(asked)
    place = int((known @ asked).argmax())
    chord = float(np.linalg.norm(known[place] - asked))  # accurate for small angles, where the cosine is not
    return place, math.sin(2 * math.asin(min(1.0, chord / 2))) if chord < math.sqrt(2) else 1.0


def _spread_net(universe: Universe, net: int | Sequence[Sequence[int]]) -> tuple[Direction, ...]:
    """Return the directions of a net: those that were given, or as many as were wanted."""
    if isinstance(net, int):
        return directions(len(universe.shape), net)
    listed = tuple(whole_direction(universe, direction) for direction in net)
    if not listed or max(abs(each) for direction in listed for each in direction) > 1 << 20:
        raise InvalidParameter(name="net", rule="directions of numbers up to 2**20", value=len(listed))
    return listed


@lru_cache(maxsize=16)
def _margins(
    universe: Universe, centre: tuple[Fraction, ...], net: tuple[Direction, ...], margin: Fraction
) -> Queries:
    return Queries(
        universe,
        [
            MarginQuery(universe, centre=centre, direction=direction, margin=side)
            for side in (margin, -margin)
            for direction in net
        ],
    )


def _tiny() -> Iterator[Tiny]:
    rows = [Histogram.dense(_LINE, counts) for counts in ((2, 0, 1), (1, 1, 1), (1, 0, 2))]
    hidden: dict[str, Any] = {"universe": _LINE, "net": [(1, 0)], "margin": 0.25}
    pairs = [(rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2])]
    yield Tiny(HalfspaceNet(epsilon=8, delta=0, rows=3, neighbours=Replace("row"), **hidden), pairs)
    yield Tiny(HalfspaceNet(epsilon=3, delta=1e-2, rows=3, neighbours=Replace("row"), **hidden), pairs)
    more = Histogram.dense(_LINE, (2, 0, 2))
    added = HalfspaceNet(epsilon=8, delta=0, neighbours=AddRemove("row"), **hidden)
    yield Tiny(added, [(rows[0], more), (rows[2], more)])


_LINE = Universe([("x", (-2, 0, 2)), ("y", (1,))])
_BODY = Universe([("height", range(-3, 4)), ("weight", range(-3, 4)), ("age", range(-3, 4))])
_PEOPLE = np.fromfunction(
    lambda x, y, z: (x + 2 * y + 3 * z) % 5 + 4 * (x + y > z + 3), (7, 7, 7), dtype=np.int64
)

CARD = Card(
    title="Halfspaces by a net of public directions, with margins",
    theorem="(epsilon, delta)-differential privacy; counts beyond both margins of every direction of the net",
    reference="[Roth10] Section 3.6",
    example=lambda: (
        HalfspaceNet(universe=_BODY, net=100, margin=0.3, epsilon=1, delta=1e-6, neighbours=AddRemove("row")),
        Histogram.dense(_BODY, _PEOPLE),
    ),
    tiny=_tiny,
)
