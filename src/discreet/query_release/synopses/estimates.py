"""Synopses that hold an estimate for every combination of a few ordered attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.query import LinearQuery
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.fitting.consistency import isotonic, onto_simplex
from discreet.query_release.fitting.residual import sum_out
from discreet.query_release.synopses.synopsis import Synopsis, Weights
from discreet.query_release.synopses.synthetic import SyntheticTable


class Estimates(Synopsis):
    """Estimated counts over some attributes, unbiased and so sometimes negative.

    It answers every query about these attributes. The estimates are made from the released numbers when
    they are first asked for.

    Attributes
    ----------
    axes
        The attributes, by place.
    """

    def __init__(
        self, universe: Universe, axes: Axes, estimate: Callable[[], Array], *, transcript: Hashable
    ) -> None:
        self.universe, self.axes, self.transcript = universe, axes, transcript
        self._estimate = estimate

    @cached_property
    def counts(self) -> Array:
        """The estimated count of every combination of values."""
        counts = self._estimate()
        counts.flags.writeable = False
        return counts

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query."""
        checks.instance(Workload, workload=workload)
        if workload.universe == self.universe and len(self.axes) == len(self.universe.shape):
            return np.asarray(workload.answers(self.counts), dtype=np.float64)
        return np.array([self.answer(query) for query in workload])

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        axes = checks.instance(LinearQuery, query=query).axes
        if query.universe != self.universe or not set(axes) <= set(self.axes):
            known = ", ".join(self.universe.names[axis] for axis in self.axes)
            raise Refused(
                what=f"the query {query.name}",
                why=f"only {known} was measured",
                way_out="Release another synopsis for it",
            )
        return float((sum_out(self.counts, self.axes, axes) * query.table()).sum())

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return float(self.counts.sum())

    def fit(self) -> Weights:
        """Return the nearest counts without negative ones; attributes that were not measured are flat."""
        own = Universe(self.universe.attributes[axis] for axis in self.axes)
        nearest = onto_simplex(self.counts, max(self.total, 0.0))
        if own == self.universe:
            return Weights(own, nearest, transcript=self.transcript)
        self.universe.require_dense()
        shape = [n if axis in self.axes else 1 for axis, n in enumerate(self.universe.shape)]
        others = self.universe.size // own.size
        flat = np.broadcast_to(nearest.reshape(shape) / others, self.universe.shape)
        return Weights(self.universe, flat.copy(), transcript=self.transcript)

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows in proportion to the nearest counts without negative ones."""
        return self.fit().synthetic(rows, rng=rng)


class Curve(Estimates):
    """Estimated counts along one ordered attribute: ranges, the distribution function, quantiles."""

    @cached_property
    def prefixes(self) -> Array:
        """The estimated number of rows at or before each value, unbiased."""
        return np.cumsum(self.counts)

    def range(self, first: Any, last: Any) -> float:
        """Return the estimated number of rows from a value to a value, both included."""
        axis = self.axes[0]
        low, high = self.universe.code(axis, first), self.universe.code(axis, last)
        if low > high:
            rule = "a value that is not declared before the first one"
            raise InvalidParameter(name="last", rule=rule, value=last)
        return float(self.prefixes[high] - (self.prefixes[low - 1] if low else 0.0))

    def distribution(self) -> Array:
        """Return the share of rows at or before each value: never falling, between 0 and 1, 1 at the end."""
        total = max(self.total, math.ulp(1.0))
        curve = isotonic(self.prefixes, low=0.0, high=total) / total
        curve[-1] = 1.0
        return curve

    def quantile(self, share: checks.Number) -> Any:
        """Return the first value at or before which lies at least this share of the rows."""
        wanted = float(checks.probability(share=share))
        values = self.universe.attributes[self.axes[0]].values
        return values[int(np.searchsorted(self.distribution(), wanted))]
