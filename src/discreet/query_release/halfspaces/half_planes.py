"""Half-planes through one point: a circular tree of counts over the angles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.mechanisms.gaussian import Gaussian
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.base import PointCounts, PointRelease
from discreet.query_release.halfspaces.points import Between, points, rays, sector, whole_direction
from discreet.query_release.linear.joint_noise import root_up
from discreet.query_release.linear.tails import gaussian_tail, laplace_tail

MOST = 512
"""The most rays of half a turn: the error bound looks at all pairs of them."""


class HalfPlaneCounts(PointCounts):
    """Noisy counts of all sectors between rays through the centre. Public.

    Attributes
    ----------
    sectors
        The estimated count of each of the sectors, around the circle, from all released numbers together.
    total
        The number of rows: public, or estimated.
    """

    def __init__(self, universe: Universe, noisy: tuple[int, ...], *, turn: int, rows: int | None) -> None:
        self.universe, self.transcript, self.turn, self._rows = universe, noisy, turn, rows

    @cached_property
    def sectors(self) -> Array:
        """The estimated count of every sector."""
        return estimate(np.array(self.transcript, dtype=np.float64), self.turn, self._rows)

    @property
    def total(self) -> float:
        """The number of rows: public, or estimated."""
        return float(self.sectors.sum())

    def answer(self, normal: Sequence[checks.Number], *, margin: checks.Number = 0) -> Between:
        """Estimate how many rows have <normal, row - centre> >= 0.

        Parameters
        ----------
        normal
            Any two numbers that are not both 0.
        margin
            The sine of an angle below a right one: rows nearer to the border than this may count or not.

        Returns
        -------
        `low` leaves out every sector that is not wholly inside by the margin; `high` takes in every sector
        that is not wholly outside by it. Without noise the true count lies between them.
        """
        a, b = whole_direction(self.universe, normal)
        away = math.asin(float(checks.delta(margin=margin))) * self.turn / math.pi
        first = int(sector(self.turn, np.array([[b, -a]], dtype=object))[0])
        on_ray = self._is_ray(first, (b, -a))
        if away == 0 and on_ray:
            inside = self._arc(first, self.turn)
            return Between(inside, inside, self._arc(first, self.turn + 1))
        begin = first if on_ray else math.atan2(-a, b) * self.turn / math.pi % (2 * self.turn)
        # A hair further, so that rounding can only widen.
        inner = math.ceil(begin + away + 1e-9)
        outer = math.floor(begin - away - 1e-9)
        low = self._arc(inner, math.floor(begin + self.turn - away - 1e-9) - inner)
        high = self._arc(outer, math.ceil(begin + self.turn + away + 1e-9) - outer)
        return Between(low, (low + high) / 2, high)

    def _is_ray(self, index: int, at: tuple[int, int]) -> bool:
        ray = rays(self.turn)[index]
        return int(ray[0]) * at[1] == int(ray[1]) * at[0]

    def _arc(self, start: int, count: int) -> float:
        """Return the estimated count of consecutive sectors."""
        around = 2 * self.turn
        if count >= around:
            return self.total
        places = (start + np.arange(max(0, count))) % around
        return float(self.sectors[places].sum())

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.universe, self.turn, self._rows, self.transcript

    def __repr__(self) -> str:
        return f"<HalfPlaneCounts: {2 * self.turn} sectors, about {self.total:.0f} rows>"


@frozen
class HalfPlanes(PointRelease[HalfPlaneCounts]):
    """Release the counts of all half-planes through a centre whose borders lie on a grid of rays, together.

    Privacy: (epsilon, delta) with Gaussian noise, or (epsilon, 0) with Laplace noise, for all angles at once.
    Accuracy: error(beta) bounds the error of every arc of sectors, hence of `low` and `high` of every answer.
    Time: O(rows + sectors).

    Parameters
    ----------
    universe
        Two attributes whose values are numbers.
    turn
        How many rays half a turn has: a power of two.
    epsilon, delta
        The budget of one release. Where delta is 0 the noise is Laplace noise.
    rows
        With `Replace` the public number of rows; None with `AddRemove`.
    centre
        The point that all borders go through; the origin where left out. A row at the centre itself counts as
        if it lay on the first ray.
    neighbours
        `Replace` or `AddRemove`.
    """

    turn: int = public(checks.integer, 1)

    def _complete(self) -> None:
        PointRelease._complete(self)  # noqa: SLF001 - its own base
        if len(self.universe.shape) != 2:
            raise InvalidParameter(name="universe", rule="of two attributes", value=self.universe.names)
        if self.turn > MOST or self.turn & (self.turn - 1):
            raise InvalidParameter(name="turn", rule=f"a power of two up to {MOST}", value=self.turn)

    @property
    def size(self) -> int:
        """How many nodes of the tree are measured: the root only where the number of rows is private."""
        return 4 * self.turn - 2 + (self.rows is None)

    def sensitivity(self, norm: int) -> Fraction:
        """Return the sensitivity: a row is in one node a level; one that moves changes two by one each."""
        levels = (2 * self.turn).bit_length() - 1
        nodes = 2 * levels if self.rows is not None else levels + 1
        return Fraction(nodes) if norm == 1 else root_up(nodes)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the estimate of some arc of sectors is off by more with probability at most beta."""
        b, noise = checks.probability(beta=beta), self.noise
        square, largest = _arcs(self.turn, self.rows is None)
        count = (2 * self.turn) ** 2
        if isinstance(noise, Gaussian):
            return gaussian_tail(noise.variance, square, count, b)
        return laplace_tail(noise.scale, square, largest, count, b)

    def _draw(self, data: Histogram, rng: Rng) -> HalfPlaneCounts:
        codes, counts = self._points(data).entries()
        found = sector(self.turn, points(self.universe, self.centre, codes))
        leaves = np.zeros(2 * self.turn, dtype=np.int64)
        np.add.at(leaves, found, counts)
        levels = [leaves]
        while len(levels[-1]) > (2 if self.rows is not None else 1):
            levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
        noisy = self.noise.release(np.concatenate(levels), rng=rng).value
        return HalfPlaneCounts(
            self.universe, tuple(int(each) for each in noisy), turn=self.turn, rows=self.rows
        )


def estimate(noisy: Array, turn: int, rows: int | None) -> Array:
    """Return the least-squares estimates of all leaves of a binary tree from all its noisy nodes.

    The nodes come leaves first, level by level; the root is last, or known. Numbers may carry further axes.
    """
    levels, start, size = [], 0, 2 * turn
    while start < len(noisy):
        levels.append(noisy[start : start + size])
        start, size = start + size, size // 2
    # Upwards: a node's own number and its children's sum, each by its precision.
    seen, variances = [levels[0]], [1.0]
    for own in levels[1:]:
        below = 2 * variances[-1]
        children = seen[-1][0::2] + seen[-1][1::2]
        seen.append((own * below + children) / (1 + below))
        variances.append(below / (1 + below))
    if rows is not None:
        seen.append(np.full_like(seen[-1][:1], rows))
    # Downwards: children share what is missing to their parent.
    known = seen[-1]
    for level in reversed(seen[:-1]):
        missing = known - (level[0::2] + level[1::2])
        known = level + np.repeat(missing, 2, axis=0) / 2
    return known


@lru_cache(maxsize=32)
def _arcs(turn: int, private: bool) -> tuple[float, float]:
    """Return the largest sum of squares and the largest size of the coefficients of an arc's estimate."""
    nodes = 4 * turn - 2 + private
    leaves = estimate(np.eye(nodes), turn, None if private else 0)
    sums = np.concatenate([np.zeros((1, nodes)), np.cumsum(leaves, axis=0)])
    products = sums @ sums.T
    squares = np.diag(products)
    between = squares[:, None] + squares[None, :] - 2 * products
    around = (
        sums[-1] @ sums[-1] + between - 2 * (sums[-1] @ sums.T)[None, :] + 2 * (sums[-1] @ sums.T)[:, None]
    )
    spread = float((sums.max(axis=0) - sums.min(axis=0)).max())
    worst = max(float(between.max()), float(np.triu(around).max()))
    return worst * (1 + 1e-9), (spread + float(np.abs(sums[-1]).max())) * (1 + 1e-9)


def _tiny() -> Iterator[Tiny]:
    rows = [Histogram.dense(_SQUARE, counts) for counts in ((2, 0, 0, 1), (1, 1, 0, 1), (1, 0, 1, 1))]
    replaced = [(rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2])]
    hidden: dict[str, Any] = {"universe": _SQUARE, "turn": 1}
    yield Tiny(HalfPlanes(epsilon=6, delta=0, rows=3, neighbours=Replace("row"), **hidden), replaced)
    yield Tiny(HalfPlanes(epsilon=3, delta=1e-2, rows=3, neighbours=Replace("row"), **hidden), replaced)
    more = Histogram.dense(_SQUARE, (2, 1, 0, 1))
    added = HalfPlanes(epsilon=12, delta=0, neighbours=AddRemove("row"), **hidden)
    yield Tiny(added, [(rows[0], more)])


_SQUARE = Universe([("x", (-1, 1)), ("y", (-1, 1))])
_PLANE = Universe([("income", range(-20, 21)), ("debt", range(-20, 21))])
_CLOUD = np.fromfunction(lambda x, y: 3 * (x > y) + (3 * x + 5 * y) % 7, (41, 41), dtype=np.int64)

CARD = Card(
    title="All half-planes through a point, by a circular tree",
    theorem="(epsilon, delta)-differential privacy; every half-plane of the grid within O(log^1.5 turn)",
    reference="[Roth10] Section 3.6",
    example=lambda: (
        HalfPlanes(universe=_PLANE, turn=64, epsilon=1, delta=0, neighbours=AddRemove("row")),
        Histogram.dense(_PLANE, _CLOUD),
    ),
    tiny=_tiny,
)
