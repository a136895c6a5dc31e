"""The synopsis of measured residuals: marginal tables that agree with one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.core.fixed import Array, Integers
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.fitting.consistency import fit_tables, onto_simplex
from discreet.query_release.fitting.residual import (
    Layout,
    contrasts,
    group_places,
    spread,
    squares,
    subsets,
    sum_out,
)
from discreet.query_release.synopses.raking import synthetic_rows
from discreet.query_release.synopses.synopsis import Synopsis, Weights
from discreet.query_release.synopses.synthetic import SyntheticTable

_TOGETHER = 1 << 20  # cells of tables that are put together at once


class MarginalTables(Synopsis):
    """Estimated marginal tables, unbiased and consistent: two tables agree on what they share.

    It answers every query that looks at attributes of one measured table only, with its standard deviation.

    Attributes
    ----------
    sets
        The axes of the measured tables.
    layout
        How precisely each residual was measured.
    noisy, rows
        The numbers that were released, from which all else follows, and the number of rows if it is public.
    """

    def __init__(
        self,
        universe: Universe,
        sets: tuple[Axes, ...],
        layout: Layout,
        noisy: Integers,
        *,
        rows: int | None,
        variance: Fraction,
    ) -> None:
        self.universe, self.sets, self.layout = universe, sets, layout
        self.transcript, self.noisy = noisy.tobytes(), noisy
        self.rows, self._variance = rows, float(variance)

    @cached_property
    def _residuals(self) -> dict[tuple[int, ...], Array]:
        """The estimated residuals, tables with mean zero along every axis, stacked by their shape."""
        starts, found = self.layout.starts, {}
        for shape, places in self.layout.shapes.items():
            coordinates = starts[places][:, None] + np.arange(math.prod(n - 1 for n in shape))
            weights = self._weights(places)
            found[shape] = spread(self.noisy[coordinates].reshape(weights.shape) * weights, first=1)
        if self.rows is not None:
            found[()] = np.array([float(self.rows)])
        return found

    @cached_property
    def _rows_of(self) -> dict[Axes, int]:
        """Where each residual is among those of its shape."""
        known = {self.layout.sets[p]: row for ps in self.layout.shapes.values() for row, p in enumerate(ps)}
        return known if self.rows is None else {**known, (): 0}

    @cached_property
    def _place_of(self) -> dict[Axes, int]:
        return {axes: place for place, axes in enumerate(self.layout.sets)}

    def _weights(self, places: Sequence[int]) -> Array:
        """Return what turns coordinates into coefficients of contrasts, for residuals of one shape."""
        norms = squares(self.layout.sizes(self.layout.sets[places[0]]))
        return np.asarray(1 / (self.layout.multipliers(places) * norms))

    def _check_measured(self, axes: Axes, what: str) -> None:
        """Raise unless one measured table has all of these axes (one of a single value says nothing)."""
        if tuple([axis for axis in axes if self.layout.shape[axis] > 1]) in self._rows_of:
            return
        names = ", ".join(self.universe.names[axis] for axis in axes)
        raise Refused(
            what=what,
            why=f"no measured table has all of {names}",
            way_out="Add this set of attributes to the workload",
        )

    def table(self, axes: Axes) -> Array:
        """Return the estimated table over some axes that one measured table has."""
        self._check_measured(axes, "this table")
        return np.asarray(self._stack([axes])[0])

    def _stack(self, sets: Sequence[Axes]) -> Array:
        """Return the tables over some sets of axes of one shape, one after the other."""
        shape = self.layout.sizes(sets[0])
        result = np.zeros((len(sets), *shape))
        for places in subsets(range(len(shape)), shape):
            narrow = [n if place in places else 1 for place, n in enumerate(shape)]
            rows = [self._rows_of[tuple(axes[place] for place in places)] for axes in sets]
            residuals = self._residuals[tuple(shape[place] for place in places)][rows]
            result += residuals.reshape(len(sets), *narrow) / (math.prod(shape) / math.prod(narrow))
        return result

    def marginal(self, names: Iterable[str]) -> Array:
        """Return the estimated table over some attributes, in the order of the universe."""
        return self.table(self.universe.axes(names))

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query."""
        checks.instance(Workload, workload=workload)
        if isinstance(workload, Marginals) and workload.universe == self.universe:
            return self._all_cells(workload.sets)
        return np.array([self.answer(query) for query in workload])

    def _all_cells(self, sets: Sequence[Axes]) -> Array:
        """Return the cells of many tables, end to end, some tables of one shape at a time."""
        for axes in sets:
            self._check_measured(axes, "this table")
        sizes = [math.prod(self.layout.sizes(axes)) for axes in sets]
        starts = np.cumsum([0, *sizes])
        result = np.empty(starts[-1])
        for places in group_places(self.layout.sizes(axes) for axes in sets).values():
            size = sizes[places[0]]
            step = max(1, _TOGETHER // size)
            for first in range(0, len(places), step):
                some = places[first : first + step]
                cells = starts[some][:, None] + np.arange(size)
                result[cells] = self._stack([sets[place] for place in some]).reshape(-1, size)
        return result

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        self._check_measured(checks.instance(LinearQuery, query=query).axes, f"the query {query.name}")
        return float((self.table(query.axes) * query.table()).sum())

    def standard_error(self, query: LinearQuery) -> float:
        """Return the standard deviation of one answer; exact but for the noise's own, which is rounded up."""
        axes = checks.instance(LinearQuery, query=query).axes
        self._check_measured(axes, f"the query {query.name}")
        weights = np.asarray(query.table(), dtype=np.float64)
        total = 0.0
        for kept in subsets(axes, self.layout.shape):
            if kept or self.rows is None:
                part = contrasts(np.asarray(sum_out(weights, axes, kept)))
                others = math.prod(self.layout.shape[axis] for axis in axes if axis not in kept)
                own = self._weights([self._place_of[kept]])[0]
                total += float(((part * own) ** 2).sum()) / others**2
        return math.sqrt(total * self._variance)

    def standard_errors(self, names: Iterable[str]) -> Array:
        """Return the standard deviation of every cell of a table."""
        axes = self.universe.axes(names)
        self._check_measured(axes, "this table")
        shape = self.layout.sizes(axes)
        result = np.zeros(shape)
        for kept in subsets(axes, self.layout.shape):
            if kept or self.rows is None:
                narrow = [n if axis in kept else 1 for axis, n in zip(axes, shape, strict=True)]
                others = math.prod(shape) / math.prod(narrow)
                own = self._weights([self._place_of[kept]])[0]
                result += spread(own**2, power=2).reshape(narrow) / others**2
        return np.sqrt(result * self._variance)

    @property
    def total(self) -> float:
        """The estimated number of rows, or the public one."""
        return float(self._residuals[()][0])

    def nonnegative(self, names: Iterable[str]) -> Array:
        """Return the nearest table without negative counts and with the same total.

        Each table is moved on its own, so two of them may no longer agree; `fit` makes them agree.
        """
        return onto_simplex(self.marginal(names), max(self.total, 0.0))

    @cached_property
    def _largest(self) -> list[Axes]:
        """The measured tables that are no part of another one."""
        return [axes for axes in self.sets if not any(set(axes) < set(other) for other in self.sets)]

    def fit(self) -> Weights:
        """Return weights for every cell that fit all tables, without negative counts."""
        if not self.universe.is_dense:
            raise Refused(
                what="weights for every cell",
                why=f"the universe has {self.universe.size} cells",
                way_out="Ask for tables, or use a mechanism with a factored model",
            )
        total = max(self.total, 0.0)
        tables = [(axes, onto_simplex(self.table(axes), total)) for axes in self._largest]
        return Weights(
            self.universe, fit_tables(self.universe, tables, total=total), transcript=self.transcript
        )

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows whose tables are close to the measured ones, whatever the size of the universe."""
        tables = [(axes, self._likely(axes)) for axes in self._largest]
        return synthetic_rows(self.universe, tables, total=self.total, rows=rows, rng=rng)

    def _likely(self, axes: Axes) -> Array:
        """Return a table whose residuals are each held back by the part of their size that is noise.

        Biased, and much closer where most of a table is noise: rows need one table without negative counts.
        """
        result = np.zeros(self.layout.sizes(axes))
        for kept in subsets(axes, self.layout.shape):
            narrow = [n if axis in kept else 1 for axis, n in zip(axes, result.shape, strict=True)]
            residual = self._residuals[self.layout.sizes(kept)][self._rows_of[kept]]
            result += (
                self._trust(kept, residual) * residual.reshape(narrow) * (math.prod(narrow) / result.size)
            )
        return result

    def _trust(self, kept: Axes, residual: Array) -> float:
        """Return the factor that brings a residual nearest to the true one, estimated from its size."""
        energy = float((residual**2).sum())
        if not kept or not energy:
            return 1.0
        own = self._weights([self._place_of[kept]])[0]
        noise = float(spread(own**2, power=2).sum()) * self._variance
        return max(0.0, 1.0 - noise / energy)
