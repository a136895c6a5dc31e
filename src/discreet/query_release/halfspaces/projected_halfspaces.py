"""Halfspaces by random projections, as in the source: for the reader, with its sizes stated."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.halfspaces import Halfspaces
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.base import PointCounts, PointRelease
from discreet.query_release.halfspaces.halfspace_net import Direction, nearest_direction
from discreet.query_release.halfspaces.points import directions, signs, whole_direction
from discreet.query_release.linear.weight_grid import sensitivity_of

MOST = 100_000
"""The most counts that are measured."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the source's algorithm needs. Powers of ten where the number itself would be unreadable.

    Attributes
    ----------
    dimension
        Of the space that points are projected to.
    projections
        How many there are.
    log10_net, log10_counts, log10_rows
        Directions in one net, noisy counts in all, and rows that the accuracy needs.
    """

    dimension: int
    projections: int
    log10_net: float
    log10_counts: float
    log10_rows: float


def printed_sizes(
    *,
    margin: checks.Number,
    accuracy: checks.Number,
    beta: checks.Number,
    epsilon: checks.Number,
    bits: int,
    attributes: int,
    sharp: bool = False,
) -> Sizes:
    """Return the sizes of [Roth10] Theorem 11, with half of accuracy and beta for each of its two steps.

    The rows are (counts / (accuracy epsilon)) ln(counts / beta): the source adds what must be multiplied.

    With `sharp`, the smaller sizes that sharper inequalities allow: a Gaussian projection turns the side of a
    point outside the margin with probability at most exp(-dimension margin^2 / 2), and most projections are
    wrong with probability exp(-0.1438 projections).
    """
    wide, half = float(checks.probability(margin=margin)), float(checks.probability(accuracy=accuracy)) / 2
    missed = float(checks.probability(beta=beta)) / 2
    narrow = wide / 16
    printed = 4 * math.log(8 / half) / (narrow**2 - narrow**3)
    dimension = math.ceil(2 * math.log(4 / half) / wide**2 if sharp else printed)
    factor = 1 / 0.1438 if sharp else 12
    projections = math.ceil(factor * (math.log(1 / missed) + bits * attributes * math.log(2)))
    net = (dimension - 1) * -math.log10(wide)
    counts = net + math.log10(projections)
    spread = math.log10(counts * math.log(10) - math.log(missed))
    rows = counts + spread - math.log10(half * float(checks.positive(epsilon=epsilon)))
    return Sizes(dimension, projections, net, counts, rows)


honest_sizes = partial(printed_sizes, sharp=True)
"""The sizes by sharper inequalities: still far too large."""


class ProjectedCounts(PointCounts):
    """Noisy counts of all directions of all projections."""

    def __init__(self, mechanism: ProjectedHalfspaces, noisy: tuple[int, ...]) -> None:
        self._mechanism, self.transcript = mechanism, noisy

    def answer(self, normal: Sequence[checks.Number]) -> float:
        """Estimate how many rows have <normal, row - centre> >= 0.

        In each projection the direction nearest to the projected normal answers; the median is returned.
        """
        made = self._mechanism
        asked = np.array(whole_direction(made.universe, normal), dtype=object)
        found = []
        for place, matrix in enumerate(made.matrices):
            seen = tuple(int(each) for each in asked @ matrix)
            near = nearest_direction(made.net, seen)[0] if any(seen) else 0
            found.append(self.transcript[place * len(made.net) + near])
        return float(statistics.median(found))

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self._mechanism, self.transcript

    def __repr__(self) -> str:
        return f"<ProjectedCounts: {len(self._mechanism.matrices)} projections>"


@frozen
class ProjectedHalfspaces(PointRelease[ProjectedCounts]):
    """Project the points at random, count every direction of a net in each projection, answer by medians.

    Privacy: (epsilon, 0) for all counts together: the projections are public. [Roth10] Theorem 11.
    Accuracy: measured_error(beta) bounds the noise of all counts. That the projections lose little needs
    sizes that nobody has, so there is no error(beta): see `printed_sizes`. Use `HalfspaceNet`.
    Time: O(cells x counts).

    Parameters
    ----------
    universe
        Attributes whose values are numbers.
    projections, dimension, directions
        How many projections, onto how many dimensions, and how many directions each net has.
    seed
        Public: the projections are made from it.
    epsilon, rows, centre, neighbours
        As in `HalfPlanes`.
    """

    delta: Exact = derived()
    projections: int = public(checks.integer, 1)
    dimension: int = public(checks.integer, 1)
    directions: int = public(checks.integer, 1)
    seed: int = public(checks.integer, 0)

    def _complete(self) -> None:
        self._set(delta=Fraction(0))
        PointRelease._complete(self)  # noqa: SLF001 - its own base
        if self.projections * self.directions > MOST:
            raise _absurd(math.log10(self.projections) + math.log10(self.directions))
        self._require_both_sides()

    @classmethod
    def as_printed(
        cls,
        *,
        universe: Universe,
        margin: checks.Number,
        accuracy: checks.Number,
        beta: checks.Number,
        bits: int,
        epsilon: checks.Number,
        **public: Any,
    ) -> Self:
        """Return the mechanism with the sizes of [Roth10] Theorem 11; refused where they are absurd."""
        sizes = printed_sizes(
            margin=margin,
            accuracy=accuracy,
            beta=beta,
            epsilon=epsilon,
            bits=checks.integer(1, bits=bits),
            attributes=len(universe.shape),
        )
        if sizes.log10_counts > math.log10(MOST):
            raise _absurd(sizes.log10_counts)
        return cls(
            universe=universe,
            projections=sizes.projections,
            dimension=sizes.dimension,
            directions=round(10**sizes.log10_net),
            epsilon=epsilon,
            **public,
        )

    @property
    def net(self) -> tuple[Direction, ...]:
        """The directions that are counted in every projection."""
        return directions(self.dimension, self.directions, self.seed)

    @property
    def matrices(self) -> tuple[Any, ...]:
        """The public projections: matrices of 1 and -1, one row an attribute."""
        size = len(self.universe.shape)
        return tuple(signs(size, self.dimension, self.seed + place) for place in range(self.projections))

    @property
    def workload(self) -> Halfspaces:
        """All counts: a direction y of a projection M is the halfspace with normal M y."""
        normals = tuple(
            tuple(int(each) for each in matrix @ np.array(direction))
            for matrix in self.matrices
            for direction in self.net
        )
        return _halfspaces(self.universe, self.centre, normals)

    @property
    def size(self) -> int:
        """How many counts are measured."""
        return self.projections * len(self.net)

    def sensitivity(self, norm: int) -> Fraction:
        """Return the sensitivity of all counts together; the source takes their number."""
        return sensitivity_of(self.workload, self.neighbours, norm)

    def error(self, beta: checks.Number) -> float:
        """Refuse: what the projections lose of a halfspace depends on the data."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the answers from projections",
            why="what these lose depends on the data, and is bounded at the sizes of Theorem 11 only",
            way_out="Use HalfspaceNet; measured_error is about the counts in the projections",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Return alpha: some measured count is off by more with probability at most beta."""
        return self.noise.error(beta)

    def _draw(self, data: Histogram, rng: Rng) -> ProjectedCounts:
        counts = np.asarray(self.workload.answers(self._points(data)), dtype=np.int64)
        noisy = self.noise.release(counts if counts.size > 1 else int(counts[0]), rng=rng).value
        return ProjectedCounts(self, tuple(int(each) for each in np.atleast_1d(noisy)))


@lru_cache(maxsize=16)
def _halfspaces(
    universe: Universe, centre: tuple[Fraction, ...], normals: tuple[Direction, ...]
) -> Halfspaces:
    borders = (sum((a * c for a, c in zip(normal, centre, strict=True)), Fraction(0)) for normal in normals)
    named = (dict(zip(universe.names, normal, strict=True)) for normal in normals)
    return Halfspaces(universe, list(zip(named, borders, strict=True)))


def _absurd(log10: float) -> Refused:
    return Refused(
        what=f"10^{log10:.0f} noisy counts",
        why=f"at most {MOST} are measured, and the noise of each grows with their number",
        way_out="Use HalfspaceNet, or HalfPlanes in two dimensions",
    )


def _tiny() -> Iterator[Tiny]:
    rows = [Histogram.dense(_LINE, counts) for counts in ((2, 1), (1, 2))]
    hidden: dict[str, Any] = {"universe": _LINE, "projections": 1, "dimension": 1, "seed": 1}
    one = ProjectedHalfspaces(directions=1, epsilon=2, rows=3, neighbours=Replace("row"), **hidden)
    yield Tiny(one, [(rows[0], rows[1])])
    two = ProjectedHalfspaces(directions=2, epsilon=6, rows=3, neighbours=Replace("row"), **hidden)
    yield Tiny(two, [(rows[0], rows[1])])
    more = Histogram.dense(_LINE, (2, 2))
    private = ProjectedHalfspaces(directions=2, epsilon=4, neighbours=AddRemove("row"), **hidden)
    yield Tiny(private, [(rows[0], more), (rows[1], more)])


_LINE = Universe([("x", (-1, 1))])
_SPACE = Universe([(name, (-1, 0, 1)) for name in ("a", "b", "c", "d")])
_ROWS = np.fromfunction(lambda a, b, c, d: 20 * (a + b > c) + 5 * d, (3, 3, 3, 3), dtype=np.int64)

CARD = Card(
    title="Halfspaces by random projections, as in the source",
    theorem="(epsilon, 0)-differential privacy; useful only at sizes that are stated and refused",
    reference="[Roth10] Theorem 11",
    example=lambda: (
        ProjectedHalfspaces(
            universe=_SPACE,
            projections=5,
            dimension=2,
            directions=8,
            seed=1,
            epsilon=2,
            neighbours=AddRemove("row"),
        ),
        Histogram.dense(_SPACE, _ROWS),
    ),
    tiny=_tiny,
)
