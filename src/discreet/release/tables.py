"""The synopsis of measured residuals: marginal tables that agree with one another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.release.consistency import fit_tables, onto_simplex
from discreet.release.residual import Array, Layout, contrasts, spread, squares, subsets, summed
from discreet.release.synopsis import Synopsis, Weights
from discreet.release.synthetic import SyntheticTable


class MarginalTables(Synopsis):
    """Estimated marginal tables, unbiased and consistent: two tables agree on what they share.

    It answers every query that looks at attributes of one measured table only, with its standard deviation.

    Attributes
    ----------
    sets
        The axes of the measured tables.
    layout
        How precisely each residual was measured.
    """

    def __init__(
        self,
        universe: Universe,
        sets: tuple[Axes, ...],
        layout: Layout,
        noisy: NDArray[np.int64],
        *,
        rows: int | None,
        variance: Fraction,
    ) -> None:
        self.universe, self.sets, self.layout = universe, sets, layout
        self.transcript = noisy.tobytes()
        self._noisy, self._rows, self._variance = noisy, rows, float(variance)
        self._known: dict[Axes, Array] = {}

    @cached_property
    def _places(self) -> dict[Axes, tuple[int, int]]:
        """Where each residual is among the sets, and where its coordinates begin."""
        found, start = {}, 0
        for place, axes in enumerate(self.layout.sets):
            found[axes] = (place, start)
            start += math.prod(n - 1 for n in self.layout.sizes(axes))
        return found

    def _residual(self, axes: Axes) -> Array:
        """Return the estimated residual of one set: a table with mean zero along every axis."""
        if axes not in self._known:
            if not axes and self._rows is not None:
                self._known[axes] = np.array(float(self._rows))
            else:
                place, start = self._places[axes]
                weights = self._weights(axes, place)
                noisy = self._noisy[start : start + weights.size].reshape(weights.shape)
                self._known[axes] = np.asarray(spread(noisy * weights))
        return self._known[axes]

    def _weights(self, axes: Axes, place: int) -> Array:
        """Return what turns a measured coordinate into the coefficient of its contrast."""
        return np.asarray(1 / (self.layout.multipliers([place])[0] * squares(self.layout.sizes(axes))))

    def _home(self, axes: Axes, what: str) -> Axes:
        """Return a measured table that has all of these axes."""
        for known in self.sets:
            if set(axes) <= set(known):
                return known
        names = ", ".join(self.universe.names[axis] for axis in axes)
        raise Refused(
            what=what,
            why=f"no measured table has all of {names}",
            way_out="Add this set of attributes to the workload",
        )

    def table(self, axes: Axes) -> Array:
        """Return the estimated table over some axes that one measured table has."""
        self._home(axes, "this table")
        shape = self.layout.sizes(axes)
        result = np.zeros(shape)
        for kept in subsets(axes, self.layout.shape):
            narrow = [n if axis in kept else 1 for axis, n in zip(axes, shape, strict=True)]
            others = math.prod(shape) / math.prod(narrow)
            result += self._residual(kept).reshape(narrow) / others
        return result

    def marginal(self, names: Iterable[str]) -> Array:
        """Return the estimated table over some attributes, in the order of the universe."""
        return self.table(self.universe.axes(names))

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query."""
        checks.instance(Workload, workload=workload)
        if isinstance(workload, Marginals) and workload.universe == self.universe:
            return np.concatenate([self.table(axes).reshape(-1) for axes in workload.sets])
        return np.array([self.answer(query) for query in workload])

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        self._home(checks.instance(LinearQuery, query=query).axes, f"the query {query.name}")
        return float((self.table(query.axes) * query.table()).sum())

    def standard_error(self, query: LinearQuery) -> float:
        """Return the standard deviation of one answer; exact but for the noise's own, which is rounded up."""
        axes = checks.instance(LinearQuery, query=query).axes
        self._home(axes, f"the query {query.name}")
        weights = np.asarray(query.table(), dtype=np.float64)
        total = 0.0
        for kept in subsets(axes, self.layout.shape):
            if kept or self._rows is None:
                part = contrasts(np.asarray(summed(weights, axes, kept)))
                others = math.prod(self.layout.shape[axis] for axis in axes if axis not in kept)
                own = self._weights(kept, self._places[kept][0])
                total += float(((part * own) ** 2).sum()) / others**2
        return math.sqrt(total * self._variance)

    def standard_errors(self, names: Iterable[str]) -> Array:
        """Return the standard deviation of every cell of a table."""
        axes = self.universe.axes(names)
        self._home(axes, "this table")
        shape = self.layout.sizes(axes)
        result = np.zeros(shape)
        for kept in subsets(axes, self.layout.shape):
            if kept or self._rows is None:
                narrow = [n if axis in kept else 1 for axis, n in zip(axes, shape, strict=True)]
                others = math.prod(shape) / math.prod(narrow)
                own = self._weights(kept, self._places[kept][0])
                result += spread(own**2, power=2).reshape(narrow) / others**2
        return np.sqrt(result * self._variance)

    @property
    def total(self) -> float:
        """The estimated number of rows, or the public one."""
        return float(self._residual(()))

    def nonnegative(self, names: Iterable[str]) -> Array:
        """Return the nearest table without negative counts and with the same total.

        Each table is moved on its own, so two of them may no longer agree; `fit` makes them agree.
        """
        return onto_simplex(self.marginal(names), max(self.total, 0.0))

    def fit(self) -> Weights:
        """Return weights for every cell that fit all tables, without negative counts."""
        if not self.universe.is_dense:
            raise Refused(
                what="weights for every cell",
                why=f"the universe has {self.universe.size} cells",
                way_out="Ask for tables, or use a mechanism with a factored model",
            )
        total = max(self.total, 0.0)
        largest = [axes for axes in self.sets if not any(set(axes) < set(other) for other in self.sets)]
        tables = [(axes, onto_simplex(self.table(axes), total)) for axes in largest]
        return Weights(
            self.universe, fit_tables(self.universe, tables, total=total), transcript=self.transcript
        )

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows in proportion to the fitted weights."""
        return self.fit().synthetic(rows, rng=rng)
