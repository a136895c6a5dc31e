"""The synopsis of a factored model: tables over any few attributes, and rows over all of them.

Rows are made clique by clique along the tree, every share rounded with care.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.core.fixed import Array, Integers
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.kinds.union import Union
from discreet.queries.query import weigh
from discreet.queries.tables import ravel_codes
from discreet.queries.universe import Universe
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.fitting.junction import Axes, cells, order_axes
from discreet.query_release.models.factored import FactoredModel
from discreet.query_release.models.factored_learner import Learner, MeasuredTable
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable

LARGEST = 10_000_000
"""The most cells one answered table may have."""


class Factored(Synopsis):
    """A distribution over all attributes as a product of small tables, with corrections for single tables.

    Tables are answered by the model and by the measurements that it had no room for, so two of them may
    differ a little on what they share; synthetic rows come from the model alone.

    Attributes
    ----------
    measurements
        Every released noisy table, in order.
    """

    def __init__(self, universe: Universe, learner: Learner, measurements: Sequence[MeasuredTable]) -> None:
        self.universe, self.measurements = universe, tuple(measurements)
        self.transcript = tuple(
            (one.axes, one.grain, one.counts.tobytes(), one.variance) for one in self.measurements
        )
        self._learner = learner
        self._measured = {axis for one in self.measurements for axis in one.axes}
        self._table = lru_cache(maxsize=256)(self._make_table)

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query, for queries that look at few attributes each."""
        checks.instance(Workload, workload=workload)
        if isinstance(workload, Tabled):
            return np.asarray(workload.from_tables(self._table), dtype=np.float64)
        if isinstance(workload, Union):
            each = zip(workload.weights, workload.parts, strict=True)
            return np.concatenate([float(weight) * self.answers(part) for weight, part in each])
        found = [weigh(self._table(query.axes), query.table()) for query in workload]
        return np.array(found, dtype=np.float64)

    def deviations(self, workload: Workload) -> Array:
        """Estimate the standard deviation of every answer, as if the errors of cells were independent."""
        checks.instance(Workload, workload=workload)
        return np.asarray(
            np.sqrt(self._spread(workload, lambda axes: np.square(self._ask(self._learner.deviations, axes))))
        )

    def model_gaps(self, workload: Workload) -> Array:
        """Estimate the variance of every answer that releasing this synopsis' own rows again cannot show."""
        checks.instance(Workload, workload=workload)
        return self._spread(workload, partial(self._ask, self._learner.gaps))

    def _spread(self, workload: Workload, table: Callable[[Axes], Array]) -> Array:
        """Return the variance of every answer from that of cells, as if their errors were independent."""
        cells_of = {axes: table(axes) for axes in {query.axes for query in workload}}
        found = [weigh(cells_of[query.axes], query.table().astype(np.float64) ** 2) for query in workload]
        return np.array(found, dtype=np.float64)

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return made-up rows of the model; as many as it thinks there are by default."""
        count = round(self.total) if rows is None else checks.integer(0, rows=rows)
        return SyntheticTable(self.universe, rows_of(self._learner.model, count, rng))

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return self._learner.total

    def _make_table(self, axes: Axes) -> Array:
        table = self._ask(self._learner.best_table, axes)
        table.flags.writeable = False
        return table

    def _ask(self, find: Callable[[Axes], Array], axes: Axes) -> Array:
        """Return a table that the learner finds, with its axes in the order of the universe."""
        own = self._check_axes(axes)
        return np.ascontiguousarray(find(own).transpose(np.argsort(own))) if own else np.asarray(find(own))

    def _check_axes(self, axes: Axes) -> Axes:
        unknown = [self.universe.names[axis] for axis in axes if axis not in self._measured]
        if unknown:
            raise Refused(
                what=f"a query about {', '.join(unknown)}",
                why="the workload of this release did not contain it",
                way_out="Release again with a workload that does",
            )
        if cells(self.universe.shape, axes) > LARGEST:
            raise Refused(
                what=f"a table over {', '.join(self.universe.names[axis] for axis in axes)}",
                why=f"a table may have at most {LARGEST} cells",
                way_out="Ask about fewer attributes, or count synthetic rows",
            )
        return order_axes(self.universe.shape, axes)


def rows_of(model: FactoredModel, count: int, rng: Rng) -> Integers:
    """Return `count` rows of codes whose tables over the cliques stay close to the model's.

    Rows that agree on what a clique has in common with its parent are shared out among its other attributes:
    every combination gets its exact share rounded up or down, at random such that shares keep their mean.
    """
    codes = np.zeros((count, len(model.tree.shape)), dtype=np.int64)
    for place, clique in enumerate(model.tree.cliques):
        shared = model.tree.separator(place)
        new = tuple(axis for axis in clique if axis not in shared)
        order = [clique.index(axis) for axis in (*shared, *new)]
        table = model.conditional(place).transpose(order)
        group = ravel_codes(codes, shared, model.tree.shape)
        chosen = _shared_out(table.reshape(-1, cells(model.tree.shape, new)), group, rng)
        for axis in reversed(new):
            chosen, codes[:, axis] = np.divmod(chosen, model.tree.shape[axis])
    return codes


def _shared_out(shares: Array, group: Array, rng: Rng) -> Integers:
    """Choose a column of `shares` for each row, given the row of `shares` that it belongs to."""
    count, columns = len(group), shares.shape[1]
    # A random order, sorted by group: within a group the rows' other attributes are then in random order.
    shuffled = np.argsort(rng.words(count), kind="stable")
    turn = shuffled[np.argsort(group[shuffled], kind="stable")]
    sizes = np.bincount(group, minlength=len(shares))
    ranks = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begin = rng.words(len(shares)) / 2.0**64
    mine = group[turn]
    points = (ranks + begin[mine]) / sizes[mine]
    ends = np.cumsum(shares, axis=1)
    ends /= np.maximum(ends[:, -1:], 1e-300)
    # One search for all groups: group g occupies the numbers from g to g + 1.
    found = np.searchsorted((ends + np.arange(len(shares))[:, None]).reshape(-1), points + mine, side="right")
    chosen = np.empty(count, dtype=np.int64)
    chosen[turn] = np.clip(found - mine * columns, 0, columns - 1)
    return chosen
