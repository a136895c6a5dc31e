"""Junction trees: how to sum over every cell of a huge universe with small tables only.

A product of tables over small sets of attributes is summed by arranging the sets in a tree of cliques.
All tables here have their axes in one order, the smallest attribute first: sums then run along long rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.core.fixed import Array

Axes = tuple[int, ...]

_DEEPEST = -600.0  # logarithms this far below the largest are lifted, so that no sum is zero


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques in an order where every parent comes before its children.

    Attributes
    ----------
    shape
        The universe's shape.
    cliques
        Sets of axes, each in the order of `ordered`; no clique contains another.
    parents
        The position of each clique's parent; -1 for the first, which is the root.
    """

    shape: tuple[int, ...]
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]

    @classmethod
    def over(cls, shape: Sequence[int], sets: Iterable[Axes]) -> JunctionTree:
        """Make a tree in which every given set lies inside a clique, and every attribute in some clique."""
        cliques = [order_axes(shape, clique) for clique in triangulate(shape, sets)]
        cliques.sort(key=lambda clique: -cells(shape, clique))
        placed, parents, rest = [cliques[0]], [-1], cliques[1:]
        while rest:
            # The clique that shares most with one already placed: then shared attributes run along the tree.
            _, place, parent = max(
                (len(set(clique) & set(other)), -i, -j)
                for i, clique in enumerate(rest)
                for j, other in enumerate(placed)
            )
            placed.append(rest.pop(-place))
            parents.append(-parent)
        return cls(tuple(shape), tuple(placed), tuple(parents))

    @property
    def cells(self) -> int:
        """How many numbers the cliques' tables hold."""
        return sum(cells(self.shape, clique) for clique in self.cliques)

    def home(self, axes: Iterable[int]) -> int | None:
        """Return the smallest clique that contains a set, if there is one."""
        wanted = set(axes)
        homes = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(homes, key=lambda place: cells(self.shape, self.cliques[place]), default=None)

    def separator(self, place: int) -> Axes:
        """Return the attributes that a clique shares with its parent."""
        if self.parents[place] < 0:
            return ()
        shared = set(self.cliques[self.parents[place]])
        return tuple(axis for axis in self.cliques[place] if axis in shared)

    def table_shape(self, place: int) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(self.shape[axis] for axis in self.cliques[place])

    def beliefs(self, logits: Sequence[Array]) -> tuple[float, list[Array]]:
        """Sum the product of exp(logits) over the universe.

        Time: one exponential and a few sums for each cell of the cliques.

        Returns
        -------
        The logarithm of the sum, and every clique's marginal probabilities.
        """
        work = [np.array(logit) for logit in logits]
        log_sum = 0.0
        # Upwards: each clique becomes a conditional distribution given what it shares with its parent.
        for place in reversed(range(len(work))):
            table, clique, shared = work[place], self.cliques[place], self.separator(place)
            top = float(table.max())
            table -= top
            np.maximum(table, _DEEPEST, out=table)
            np.exp(table, out=table)
            sums = onto(table, clique, shared)
            table /= wide(sums, shared, clique)
            if self.parents[place] < 0:
                log_sum = top + math.log(float(sums))
            else:
                parent = self.parents[place]
                work[parent] += wide(np.log(sums) + top, shared, self.cliques[parent])
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                shared = self.separator(place)
                above = onto(work[parent], self.cliques[parent], shared)
                work[place] *= wide(above, shared, self.cliques[place])
        return log_sum, work


def order_axes(shape: Sequence[int], axes: Iterable[int]) -> Axes:
    """Return axes in the order that all tables of a tree use: the smallest attribute first."""
    return tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))


@lru_cache(maxsize=64)
def closure(sets: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """Return every non-empty part of every set, each once, the smallest first."""
    parts = {
        part for axes in sets for k in range(1, len(axes) + 1) for part in itertools.combinations(axes, k)
    }
    return tuple(sorted(parts, key=lambda part: (len(part), part)))


def cells(shape: Sequence[int], axes: Iterable[int]) -> int:
    """Count the cells of a table."""
    return math.prod(shape[axis] for axis in axes)


def onto(table: Array, axes: Axes, kept: Iterable[int]) -> Array:
    """Sum a table onto some of its axes."""
    stays = set(kept)
    gone = tuple(place for place, axis in enumerate(axes) if axis not in stays)
    return np.asarray(table.sum(axis=gone)) if gone else table


def wide(table: Array, axes: Axes, target: Axes) -> Array:
    """Give a table the axes of a larger one of the same order, of length one where it had none."""
    held = iter(table.shape)
    own = set(axes)
    return table.reshape([next(held) if axis in own else 1 for axis in target])


def triangulate(shape: Sequence[int], sets: Iterable[Axes]) -> list[Axes]:
    """Return cliques of a chordal graph that contain every set, eliminating the smallest first."""
    near: dict[int, set[int]] = {axis: set() for axis in range(len(shape))}
    for axes in sets:
        for axis in axes:
            near[axis] |= set(axes) - {axis}
    cliques: list[set[int]] = []
    while near:
        first = min(near, key=lambda axis: (cells(shape, near[axis]) * shape[axis], axis))
        clique = near.pop(first) | {first}
        for axis in clique - {first}:
            near[axis] |= clique
            near[axis] -= {axis, first}
        if not any(clique <= other for other in cliques):
            cliques.append(clique)
    return [tuple(sorted(clique)) for clique in cliques]
