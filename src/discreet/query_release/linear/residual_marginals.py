"""The matrix mechanism for marginal tables: the best Gaussian measurement of residuals, in closed form."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.core.search import narrow
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import LIMIT
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe
from discreet.query_release.base import write_as
from discreet.query_release.fitting.residual import Layout, contrasts, group_places, shares, subsets
from discreet.query_release.linear.joint_noise import JointRelease, gaussian_noise
from discreet.query_release.synopses.marginal_tables import MarginalTables
from discreet.query_release.tiny import list_pairs

_REWEIGHTED = 300  # rounds of re-weighting towards the worst table
FINENESS = 256
"""How finely multipliers are rounded: to one part in this many, or better."""


class Goal(enum.Enum):
    """What a plan makes small."""

    TOTAL = "total"
    """The sum of the weighted squared errors of all cells."""
    WORST = "worst"
    """The largest weighted squared error of a cell."""


@frozen
class ResidualMarginals(JointRelease):
    """Release marginal tables by measuring what each set of attributes says that its subsets do not.

    Privacy: (epsilon, delta), Gaussian noise of one law on whole-number contrasts.
    Accuracy: of all unbiased Gaussian measurements the smallest `goal` [XHZK23], up to the rounding of
    multipliers (below 1 %). error(beta) holds for all cells of all tables at once.
    Time: O(cells of all tables and their subsets); no matrix is made.

    Parameters
    ----------
    workload
        Marginal tables. Their number, not the universe, sets the cost: 100 attributes are fine.
    epsilon, delta
        The budget; delta must be positive.
    neighbours
        The change that is hidden. Under `Replace` the number of rows is public and taken as it is.
    goal, weights
        What to make small, and a weight for the squared error of each table (1 where left out).
    fineness
        How finely multipliers are rounded; only audits want it coarse.

    Examples
    --------
    >>> universe = Universe([(name, range(4)) for name in "abcdef"])
    >>> pairs = Marginals.of_order(universe, 2)
    >>> public = {"epsilon": 1, "delta": 1e-9, "neighbours": AddRemove("person")}
    >>> round(ResidualMarginals(workload=pairs, **public).deviation(["a", "b"]), 1)
    15.9
    """

    workload: Marginals = public(write_as, Marginals)
    goal: Goal = public(checks.instance, Goal, default=Goal.TOTAL)
    weights: Public[Iterable[checks.Number] | None, tuple[Fraction, ...]] = public(
        checks.each, checks.positive, default=None
    )
    fineness: int = public(checks.integer, 1, default=FINENESS)
    layout: Layout = derived()
    noise: Gaussian = derived()

    def _complete(self) -> None:
        if self.delta == 0:
            raise InvalidParameter(
                name="delta",
                rule="> 0 for Gaussian noise",
                value=self.delta,
                hint="Independent(...) adds Laplace noise at delta 0",
            )
        count, replaced = len(self.workload.sets), isinstance(self.neighbours, Replace)
        given: Any = self.weights
        weights = (Fraction(1),) * count if given is None else given
        if len(weights) != count:
            raise InvalidParameter(name="weights", rule=f"{count} numbers, one a table", value=len(weights))
        layout = plan(self.workload, weights, self.goal, fineness=self.fineness, counted=replaced)
        noise = gaussian_noise(
            square=max(1, layout.square(replaced=replaced)),
            size=int(layout.starts[-1]),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
        )
        self._set(weights=weights, layout=layout, noise=noise)

    def deviation(self, names: Iterable[str]) -> float:
        """Bound the standard deviation of every cell of a table, measured or part of a measured one."""
        axes = self.workload.universe.axes(names)
        if not any(set(axes) <= set(known) for known in self.workload.sets):
            raise InvalidParameter(name="names", rule="inside a set of the workload", value=tuple(names))
        return math.sqrt(self._squares([axes])[0] * up(self.noise.variance))

    def _squares(self, sets: Sequence[Axes]) -> Array:
        """Bound the variance of a cell of each table for noise of variance one."""
        known = {kept: place for place, kept in enumerate(self.layout.sets)}
        tables, residuals, variances = shares(sets, self.layout.shape, known)
        strengths = np.array(self.layout.strengths, dtype=np.float64)
        lost = (1 - 1 / (self.fineness + 1)) ** -2  # a multiplier k was cut down from less than k + 1
        return lost * np.bincount(tables, variances / strengths[residuals], minlength=len(sets))

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of all cells of all tables, but for a probability beta.

        The discrete Gaussian is sub-Gaussian with its own variance, and so are sums; a union over all cells.
        """
        missed = float(checks.probability(beta=beta))
        shape, noise = self.layout.shape, up(self.noise.variance)
        counts = np.array([math.prod(shape[axis] for axis in axes) for axes in self.workload.sets])
        spreads = 2 * noise * self._squares(self.workload.sets)
        spreads = np.maximum(spreads, 1e-300)
        most = math.sqrt(spreads.max() * math.log(2 * counts.sum() / missed))

        def is_enough(bound: float) -> bool:
            return float((2 * counts * np.exp(-(bound**2) / spreads)).sum()) <= missed

        return narrow(is_enough, 0.0, most, steps=60)[1] * (1 + 1e-9)

    def _draw(self, data: Any, rng: Rng) -> MarginalTables:
        histogram = self._histogram(data)
        rows = histogram.total
        numbers = self._coordinates(histogram, rows)
        noisy = self.noise.release(numbers, rng=rng).value
        return self.restore(noisy, rows=rows)

    def restore(self, noisy: Integers, *, rows: int | None) -> MarginalTables:
        """Return the tables that were released as these numbers; `rows` where their number is public."""
        known = rows if isinstance(self.neighbours, Replace) else None
        universe, sets = self.workload.universe, self.workload.sets
        return MarginalTables(universe, sets, self.layout, noisy, rows=known, variance=self.noise.variance)

    def _coordinates(self, histogram: Histogram, rows: int) -> Array:
        """Return all contrasts of all residuals, multiplied, as one vector."""
        whole: Any = np.int64 if rows * self.layout.reach < LIMIT else object
        answers = self.workload.answers(histogram).astype(whole, copy=False)
        starts = self.layout.starts
        numbers = np.empty(starts[-1], dtype=whole)
        for places, homes, shape, gone in _steps(self.workload, self.layout):
            cells = homes[:, None] + np.arange(math.prod(shape))
            tables = answers[cells].reshape(-1, *shape).sum(axis=gone)
            own = contrasts(tables, first=1) * self.layout.multipliers(places).astype(whole)
            coordinates = own.reshape(len(places), -1)
            numbers[starts[places][:, None] + np.arange(coordinates.shape[1])] = coordinates
        return np.clip(numbers, -LIMIT, LIMIT).astype(np.int64) if whole is object else numbers


_Step = tuple[list[int], Array, tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=8)
def _steps(workload: Marginals, layout: Layout) -> list[_Step]:
    """List residuals with where a table of theirs begins, its shape, and what of it is summed out.

    Each step has the residuals that are the same part of tables of the same shape.
    """
    home: dict[Axes, tuple[int, Axes]] = {}
    starts = workload.tables.offsets
    for start, axes in zip(starts[:-1], workload.sets, strict=True):
        for kept in subsets(axes, layout.shape):
            home.setdefault(kept, (start, axes))

    def part(kept: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
        axes = home[kept][1]
        return layout.sizes(axes), tuple([1 + i for i, axis in enumerate(axes) if axis not in kept])

    return [
        (places, np.array([home[layout.sets[place]][0] for place in places]), shape, gone)
        for (shape, gone), places in group_places(map(part, layout.sets)).items()
    ]


def plan(
    workload: Marginals, weights: tuple[Fraction, ...], goal: Goal, *, fineness: int, counted: bool
) -> Layout:
    """Return the precision of each residual that makes the goal small; public facts only.

    A residual of price p that adds V to the goal, both at unit precision, deserves the precision
    sqrt(V / p): by Cauchy and Schwarz no other choice of the same total price makes the sum of V / precision
    smaller. The worst table is found by giving more weight to worse tables until the best total is also the
    best worst. Where the rows are `counted` already, their number is no residual to measure.
    """
    shape, sets = workload.universe.shape, workload.sets
    parts = {kept: None for axes in sets for kept in subsets(axes, shape) if kept or not counted} or {
        (): None
    }
    found = {kept: place for place, kept in enumerate(parts)}
    tables, residuals, share = shares(sets, shape, found)
    price = np.array([math.prod(1 - 1 / shape[axis] for axis in kept) for kept in found])
    given = np.array([float(weight) for weight in weights])

    def precision(table_weights: Array) -> Array:
        value = np.bincount(residuals, table_weights[tables] * share, minlength=len(found))
        return np.asarray(np.sqrt(value / price))

    if goal is Goal.TOTAL:
        cells = [math.prod(shape[axis] for axis in axes) for axes in sets]
        return _layout(shape, tuple(found), precision(given * np.array(cells, dtype=np.float64)), fineness)
    current = given.copy()
    for step in range(1, _REWEIGHTED + 1):
        variances = given * np.bincount(tables, share / precision(current)[residuals], minlength=len(sets))
        current = np.maximum(current * (variances / variances.max()) ** (2 / math.sqrt(step)), 1e-12)
        current /= current.max()
    return _layout(shape, tuple(found), precision(current), fineness)


def _layout(shape: tuple[int, ...], sets: tuple[Axes, ...], precision: Array, fineness: int) -> Layout:
    largest = [math.prod(shape[axis] * (shape[axis] - 1) for axis in kept) for kept in sets]
    unit = max(norm * fineness**2 / float(p) for norm, p in zip(largest, precision, strict=True))
    return Layout(shape, sets, tuple(max(1, round(unit * float(p))) for p in precision))


_PEOPLE = Universe([("sex", ("f", "m")), ("region", range(4)), ("age", range(10)), ("smoker", (0, 1))])
_EXAMPLE = Marginals.of_order(_PEOPLE, 2)
_SINGLE = Marginals(Universe([("a", (0, 1))]), [["a"]])


def _example() -> tuple[ResidualMarginals, Histogram]:
    mechanism = ResidualMarginals(workload=_EXAMPLE, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    return mechanism, Histogram.dense(_PEOPLE, np.arange(160))


def _tiny() -> Iterator[Tiny]:
    for neighbours in (AddRemove("row"), Replace("row")):
        mechanism = ResidualMarginals(
            workload=_SINGLE, epsilon=3, delta=Fraction(1, 100), neighbours=neighbours, fineness=1
        )
        yield Tiny(mechanism, list_pairs(_SINGLE.universe, neighbours, 2))


CARD = Card(
    title="Marginal tables by measuring residuals",
    theorem="(epsilon, delta)-differential privacy with the least variance of all Gaussian measurements",
    reference="[XHZK23]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
