"""Every query of a workload measured on its own, with noise that is calibrated to all of them together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound, Refused
from discreet.core.fixed import Array, Floats
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import MaybeExact, derived, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import up
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.query import LinearQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.queries.written import write_workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.joint_noise import Joint, smallest_noise, variance
from discreet.query_release.linear.weight_grid import on_grid
from discreet.query_release.synopses.raking import synthetic_rows
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.query_release.tiny import list_pairs

_FLOAT = 1e-12  # what a weight that is meant to be on the grid may be off by, relatively


class NoisyAnswers(Synopsis):
    """One released number a query. It knows nothing about other queries.

    Attributes
    ----------
    workload
        The queries.
    values
        The estimates, in the order of the queries.
    """

    def __init__(self, workload: Workload, values: Array, *, deviation: float) -> None:
        self.universe, self.workload = workload.universe, workload
        self.values = np.asarray(values)
        self.values.flags.writeable = False
        self.transcript = self.values.tobytes()
        self._deviation = deviation

    def answers(self, workload: Workload) -> Array:
        """Return the released numbers of queries that were asked for."""
        if (fixed := write_workload(workload)) is self.workload:
            return self.values
        return np.array([self.answer(query) for query in fixed])

    def answer(self, query: LinearQuery) -> float:
        """Return the released number of a query that was asked for."""
        place = self._places.get(_identity(checks.instance(LinearQuery, query=query)))
        if place is None or query.universe != self.universe:
            raise Refused(
                what=f"the query {query.name}",
                why="it is not one of those that were measured",
                way_out="Put it into the workload, or release a synopsis that answers other queries too",
            )
        return float(self.values[place])

    def marginal(self, names: Any) -> Array:
        """Return a table that was asked for, in the order of the universe."""
        axes = self.universe.axes(names)
        if isinstance(self.workload, Marginals) and axes in self.workload.sets:
            return self.workload.table(self.values, self.workload.sets.index(axes))
        return super().marginal(names)

    def standard_errors(self) -> Floats:
        """Return the standard deviation of every number, rounded up."""
        return np.full(len(self.workload), self._deviation)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {_identity(query): place for place, query in enumerate(self.workload)}

    @property
    def total(self) -> float:
        """The estimated number of rows, where a query counts them all or whole tables were asked for."""
        if isinstance(self.workload, Marginals):
            tables = [self.workload.table(self.values, place) for place in range(len(self.workload.sets))]
            smallest = min(tables, key=lambda table: table.size)
            return float(smallest.sum())
        for place, query in enumerate(self.workload):
            if query.extent() == (1, 1):
                return float(self.values[place])
        raise Refused(
            what="the number of rows",
            why="no query of the workload counts all of them",
            way_out="Add the marginal over no attributes to the workload",
        )

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows whose tables are close to those that were asked for; refuse where it were no tables."""
        if not isinstance(self.workload, Marginals):
            raise Refused(
                what="a synthetic table",
                why="single numbers need not belong to any table",
                way_out="Release the workload by a mechanism that fits a distribution, such as MWEM",
            )
        sets = enumerate(self.workload.sets)
        tables = [(axes, self.workload.table(self.values, place)) for place, axes in sets]
        return synthetic_rows(self.universe, tables, total=self.total, rows=rows, rng=rng)

    def __repr__(self) -> str:
        return f"<Answers: {len(self.workload)} numbers over {', '.join(self.universe.names)}>"


@frozen
class Independent(WorkloadRelease):
    """Add noise of one law to every answer of a workload.

    Privacy: (epsilon, delta). Laplace noise for the L1 sensitivity of all answers together, or, where delta
    allows it and it is less, Gaussian noise for the L2 sensitivity. [DR14] Theorems 3.6 and 3.22.
    Accuracy: error(beta) is the exact quantile of the largest of all noises, for weights on the grid.
    Time: that of the workload's own answers.

    Parameters
    ----------
    workload
        The queries.
    epsilon, delta
        The budget; with delta 0 the noise is Laplace's.
    neighbours
        The change that is hidden.
    grid
        The unit that real weights are rounded to, so that answers are whole multiples of it. A row then
        counts for at most half a unit more or less. Whole weights need none.

    Examples
    --------
    >>> universe = Universe([("age", range(100)), ("smoker", (False, True))])
    >>> each = Marginals.of_order(universe, 1)
    >>> Independent(workload=each, epsilon=1, delta=0, neighbours=AddRemove("person")).error(0.05)
    15.0
    """

    grid: MaybeExact = public(checks.positive, default=None)
    noise: Joint = derived()

    def _complete(self) -> None:
        measured, neighbours = self.measured, self.neighbours
        root = measured.sensitivity_bound(neighbours, norm=2) if self.delta else 0
        noise = smallest_noise(
            shift=max(1, math.floor(measured.sensitivity_bound(neighbours, norm=1))),
            square=max(1, math.floor(root * root)),
            size=len(measured),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=neighbours,
        )
        self._set(noise=noise)

    @property
    def measured(self) -> Workload:
        """The queries with whole weights that are measured, in units of the grid."""
        return on_grid(self.workload, self.grid)

    @property
    def is_noise_alone(self) -> bool:
        """Whether no weight is rounded; answers are then what was measured."""
        return self.grid is None or _is_on_grid(self.workload, self.grid)

    @property
    def loss(self) -> Loss:
        """The curve of the noise; counts that each move by one lose least."""
        if isinstance(self.noise, Laplace) and self.measured.is_predicates:
            return Composed(((DiscreteLaplaceLoss(1, self.noise.scale), self.noise.shift),))
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all answers.

        Raises
        ------
        NoBound
            Where some weight is no multiple of the grid: every row then adds what it is rounded by.
        """
        bound = self.measured_error(beta)
        if self.grid is None or _is_on_grid(self.workload, self.grid):
            return bound
        raise NoBound(
            what="answers whose weights are rounded to a grid",
            why="a row may add half a unit, and the number of rows is not known",
            way_out="Pass weights on the grid; measured_error is about the rounded ones",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among the answers to the `measured` queries."""
        return up(Fraction(self.noise.error(beta)) * (self.grid or 1))

    def _draw(self, data: Any, rng: Rng) -> NoisyAnswers:
        true = self.measured.answers(self._histogram(data))
        noisy = self.noise.release(true, rng=rng).value
        unit = float(self.grid or 1)
        deviation = math.sqrt(variance(self.noise)) * unit
        return NoisyAnswers(self.workload, noisy * unit if self.grid else noisy, deviation=deviation)


@lru_cache(maxsize=32)
def _is_on_grid(workload: Workload, grid: Fraction) -> bool:
    """Tell whether every weight is a multiple of the grid, but for the rounding of floats."""
    for query in workload:
        units = np.asarray(query.table(), dtype=np.float64) / float(grid)
        if (np.abs(units - np.rint(units)) > _FLOAT * np.maximum(1.0, np.abs(units))).any():
            return False
    return True


def _identity(query: LinearQuery) -> Hashable:
    return query.axes, np.asarray(query.table(), dtype=np.float64).tobytes()


_PEOPLE = Universe([("sex", ("f", "m")), ("age", tuple(range(20, 70)))])
_EXAMPLE = Marginals(_PEOPLE, [["sex"], ["age"], ["sex", "age"]])
_PAIR = Universe([("a", (0, 1))])
_EACH = Marginals(_PAIR, [["a"]])
_NESTED = Prefixes(_PAIR, ["a"])
_REAL = Queries(_PAIR, [TableQuery(_PAIR, (0,), "half", table=[0.5, 1.0])])


def _example() -> tuple[Independent, Histogram]:
    mechanism = Independent(workload=_EXAMPLE, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    return mechanism, Histogram.dense(_PEOPLE, np.arange(100))


def _tiny() -> Iterator[Tiny]:
    for workload, epsilon, delta, neighbours, rows, grid in (
        (_EACH, 4, 0, AddRemove("row"), 2, None),
        (_EACH, 6, 0, Replace("row"), 2, None),
        (_NESTED, 4, 0, AddRemove("row"), 2, None),
        (_NESTED, 3, Fraction(1, 100), AddRemove("row"), 1, None),
        (_REAL, 3, 0, AddRemove("row"), 2, Fraction(1, 2)),
    ):
        mechanism = Independent(
            workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, grid=grid
        )
        yield Tiny(mechanism, list_pairs(_PAIR, neighbours, rows))


CARD = Card(
    title="Independent noise for every query",
    theorem="(epsilon, delta)-differential privacy; error the exact quantile of the largest noise",
    reference="[DR14] Theorems 3.6, 3.8 and 3.22",
    example=_example,
    tiny=_tiny,
)
