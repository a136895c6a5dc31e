"""Factored models: a distribution over a huge universe as a product of small tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from discreet.core.errors import InternalError
from discreet.core.fixed import Array
from discreet.query_release.fitting.junction import Axes, JunctionTree, onto, order_axes, wide

_PAIRS = 12  # curvature pairs that the quasi-Newton method keeps
_LEVEL = 10.0  # counts below this are scaled alike
_TOLERANCE = 1e7  # in units in the last place of the function: stop at 2e-9


Grain = tuple[tuple[int, ...] | None, ...]
"""For each axis where its groups begin, and where the last one ends; None where every value is on its own.

Tables at a coarser grain count values that stand next to each other together.
"""


def coarsen(table: Array, grain: Grain) -> Array:
    """Add up the cells of each group."""
    for axis, edges in enumerate(grain):
        if edges is not None:
            table = np.add.reduceat(table, edges[:-1], axis=axis)
    return table


def refine(table: Array, grain: Grain) -> Array:
    """Repeat the number of each group for all its cells: the transpose of `coarsen`."""
    for axis, edges in enumerate(grain):
        if edges is not None:
            table = np.repeat(table, np.diff(edges), axis=axis)
    return table


def groups(weights: Array, count: int) -> tuple[int, ...] | None:
    """Return edges of about `count` groups of equal weight; None where there are no more values."""
    if len(weights) <= count:
        return None
    ends = np.cumsum(weights)
    cuts = np.searchsorted(ends, np.arange(1, count) / count * ends[-1]) + 1
    return tuple(np.unique([0, *np.minimum(cuts, len(weights)), len(weights)]).tolist())


@dataclass(frozen=True, slots=True)
class Target:
    """What a model should answer on one set of attributes.

    Attributes
    ----------
    axes
        The set, in the order of `junction.ordered`.
    grain
        At which grain it was counted.
    counts
        The wanted counts, an array over the set at that grain.
    ridge
        How much the logarithm of the model's table is held back: the variance of the counts, over how many
        times more than a sample's the true counts are believed to vary around a model without this set.
    """

    axes: Axes
    grain: Grain
    counts: Array
    ridge: float


class FactoredModel:
    """Probabilities of all cells that are proportional to exp(base + the sum of the sets' tables).

    Attributes
    ----------
    tree
        Where the sets live.
    beliefs
        The marginal probabilities of every clique.
    """

    __slots__ = ("beliefs", "tree")

    def __init__(self, tree: JunctionTree, beliefs: Sequence[Array]) -> None:
        self.tree, self.beliefs = tree, list(beliefs)

    def table(self, axes: Axes) -> Array:
        """Return the marginal probabilities over any set of attributes that makes a table of bearable size.

        `axes` must be in the order of `junction.ordered`, and so are the axes of the result.
        """
        home = self.tree.home(axes)
        if home is not None:
            return onto(self.beliefs[home], self.tree.cliques[home], axes)
        return self._eliminate(axes)

    def conditional(self, place: int) -> Array:
        """Return a clique's probabilities given what it shares with its parent."""
        clique, shared = self.tree.cliques[place], self.tree.separator(place)
        return _condition(self.beliefs[place], clique, onto(self.beliefs[place], clique, shared), shared)

    def _eliminate(self, axes: Axes) -> Array:
        """Multiply conditional tables along the tree, leaves first, and sum out what no longer matters."""
        wanted = set(axes)
        needed = self._subtree(wanted)
        top = min(needed)
        carried: dict[int, list[tuple[Axes, Array]]] = {place: [] for place in needed}
        for place in sorted(needed, reverse=True):
            shared = self.tree.separator(place) if place != top else ()
            factors = [(self.tree.cliques[place], self.beliefs[place]), *carried[place]]
            met = set().union(*(factor[0] for factor in factors))
            kept = order_axes(self.tree.shape, (wanted & met) | set(shared))
            table = _product(factors, kept)
            if place == top:
                return table
            below = onto(self.beliefs[place], self.tree.cliques[place], shared)
            carried[self.tree.parents[place]].append((kept, _condition(table, kept, below, shared)))
        raise InternalError("the root of a junction tree was not reached")

    def _subtree(self, wanted: set[int]) -> set[int]:
        """Return the cliques of the smallest subtree that covers the wanted attributes."""
        needed = set(range(len(self.tree.parents)))
        while (idle := self._idle(needed, wanted)) is not None:
            needed.remove(idle)
        return needed

    def _idle(self, needed: set[int], wanted: set[int]) -> int | None:
        """Return a leaf that has no wanted attribute which its only neighbour does not have."""
        parents = self.tree.parents
        for place in sorted(needed, reverse=True):
            around = [other for other in needed if parents[other] == place or parents[place] == other]
            own = wanted & set(self.tree.cliques[place])
            if len(around) == 1 and own <= set(self.tree.cliques[around[0]]):
                return place
        return None


def _condition(table: Array, axes: Axes, sums: Array, shared: Axes) -> Array:
    """Divide a table by its sums over some axes; nothing given nothing is nothing."""
    below = wide(sums, shared, axes)
    return np.divide(table, below, out=np.zeros_like(table), where=below > 0)


def _product(factors: Sequence[tuple[Axes, Array]], kept: Axes) -> Array:
    names = {axis: place for place, axis in enumerate(sorted({axis for axes, _ in factors for axis in axes}))}
    operands: list[Any] = []
    for axes, table in factors:
        operands += [table, [names[axis] for axis in axes]]
    return np.asarray(np.einsum(*operands, [names[axis] for axis in kept], optimize="greedy"))


def fit_model(
    tree: JunctionTree,
    targets: Sequence[Target],
    *,
    total: float,
    base: Sequence[Array],
    start: Sequence[Array],
    steps: int,
) -> tuple[FactoredModel, list[Array]]:
    """Find the model that answers the targets best.

    Minimises total * log(sum exp(base + tables)) - <tables, counts> + ridge |tables|^2 / 2, which is convex:
    the dual of the weighted squared error plus the relative entropy to the base, which keeps counts positive.

    Parameters
    ----------
    base
        Logarithms for every clique that the model starts from.
    start
        Logarithms for every target to begin the search with.
    steps
        How many steps of the quasi-Newton method (L-BFGS) to take at most.

    Returns
    -------
    The model, and the logarithms of its tables, to start from another time.
    """
    problem = _Problem(tree, targets, total, base)
    flat = np.concatenate([np.zeros(0), *(table.reshape(-1) for table in start)])
    if len(flat):
        scale = problem.scale()
        found, _, _ = optimize.fmin_l_bfgs_b(
            lambda x: problem.value(x, scale),
            flat / scale,
            m=_PAIRS,
            factr=_TOLERANCE,
            pgtol=0.0,
            maxiter=steps,
        )
        flat = found * scale
    tables = problem.split(flat)
    return FactoredModel(tree, problem.beliefs(tables)[1]), tables


class _Problem:
    """The convex function that `fitted` minimises, and its gradient."""

    def __init__(
        self, tree: JunctionTree, targets: Sequence[Target], total: float, base: Sequence[Array]
    ) -> None:
        self.tree, self.targets, self.total, self.base = tree, targets, total, base
        self.homes = [int(tree.home(target.axes)) for target in targets]  # type: ignore[arg-type]
        self.ends = np.cumsum([target.counts.size for target in targets])[:-1].astype(int)
        self.counts = np.concatenate([np.zeros(0), *(target.counts.reshape(-1) for target in targets)])
        ridges = (np.full(target.counts.size, target.ridge) for target in targets)
        self.ridges = np.concatenate([np.zeros(0), *ridges])

    def scale(self) -> Array:
        """Return how far each number moves for about the same effect: one over the root of the curvature."""
        return np.asarray(1.0 / np.sqrt(np.maximum(self.counts, 0.0) + self.ridges + _LEVEL))

    def split(self, flat: Array) -> list[Array]:
        """Return the tables that a flat vector holds."""
        parts = np.split(flat, self.ends) if self.targets else []
        return [part.reshape(target.counts.shape) for part, target in zip(parts, self.targets, strict=True)]

    def beliefs(self, tables: Sequence[Array]) -> tuple[float, list[Array]]:
        """Return the logarithm of the sum over the universe, and the cliques' probabilities."""
        logits = [np.array(table) for table in self.base]
        for target, home, table in zip(self.targets, self.homes, tables, strict=True):
            logits[home] += wide(refine(table, target.grain), target.axes, self.tree.cliques[home])
        return self.tree.beliefs(logits)

    def value(self, scaled: Array, scale: Array) -> tuple[float, Array]:
        """Return the function and its gradient in scaled numbers, both over the total."""
        flat = scaled * scale
        log_sum, beliefs = self.beliefs(self.split(flat))
        answers = [
            coarsen(onto(beliefs[home], self.tree.cliques[home], target.axes), target.grain).reshape(-1)
            for target, home in zip(self.targets, self.homes, strict=True)
        ]
        held = self.ridges * flat
        value = self.total * log_sum + float(flat @ (held / 2 - self.counts))
        gradient = self.total * np.concatenate(answers) - self.counts + held
        return value / self.total, gradient * scale / self.total
