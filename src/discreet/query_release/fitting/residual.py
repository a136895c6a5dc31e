"""Residuals of marginal tables: what a table says that no smaller one does.

A table over the axes A is cut into parts, one for each subset of A. The part of A itself is its *residual*:
the table with its mean along every axis taken out. Residuals of different sets are orthogonal, so each can be
measured with its own precision, and every table is put together again from the residuals of its subsets.

Along one axis of n values a residual has n - 1 coordinates, the whole-number contrasts

    h_j = (1, ..., 1, -j, 0, ..., 0)     j ones, j = 1, ..., n - 1,

which are orthogonal with squares j (j + 1). Over several axes they multiply. A row adds h_j at its own value,
so coordinates are whole numbers, and the squares h_j(x)^2 / |h_j|^2 add up to the product of (1 - 1/n) for
*every* x: all rows cost the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discreet.core.fixed import Array, Floats, Integers
from discreet.queries.tables import Axes

_Key = TypeVar("_Key", bound=Hashable)

_SUBSETS = 20  # attributes whose subsets are all looked at
_CLOSE = 1e-9  # relative: covers the floats on the way to whole multipliers


def contrasts(table: Array, *, first: int = 0) -> Array:
    """Return the coordinates of a table's residual, exactly for whole numbers.

    Axes before `first` number several tables.
    """
    for axis in range(first, table.ndim):
        entries = np.moveaxis(table, axis, -1)
        places = np.arange(1, entries.shape[-1])
        sums = np.cumsum(entries, axis=-1)[..., :-1]
        table = np.moveaxis(sums - places * entries[..., 1:], -1, axis)
    return table


def spread(coordinates: Array, *, first: int = 0, power: int = 1) -> Array:
    """Return the sum of coordinate times h_j ** power at every cell: the transpose of `contrasts`."""
    for axis in range(first, coordinates.ndim):
        values = np.moveaxis(coordinates, axis, -1)
        places = np.arange(1, values.shape[-1] + 1)
        later = np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]
        own = values * (-1.0 * places) ** power
        result = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        result[..., :-1] += later
        result[..., 1:] += own
        coordinates = np.moveaxis(result, -1, axis)
    return coordinates


def squares(shape: Sequence[int]) -> Floats:
    """Return the squared norms of the contrasts over a table of a shape."""
    result = np.ones(())
    for n in shape:
        result = np.multiply.outer(result, np.arange(1.0, n) * np.arange(2.0, n + 1))
    return result


def sum_out(table: Array, axes: Axes, kept: Axes) -> Array:
    """Sum a table over `axes` down to some of them."""
    return np.asarray(table.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in kept)))


def subsets(axes: Iterable[int], shape: Sequence[int]) -> list[Axes]:
    """List the sets of axes whose residuals make up a table; an axis of one value has none of its own."""
    varying = [axis for axis in axes if shape[axis] > 1]
    sizes = range(len(varying) + 1)
    return [kept for size in sizes for kept in itertools.combinations(varying, size)]


def group_places(keys: Iterable[_Key]) -> dict[_Key, list[int]]:
    """Return the places where each key stands."""
    found: dict[_Key, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found


def shares(sets: Sequence[Axes], shape: Sequence[int], known: Mapping[Axes, int]) -> tuple[Array, ...]:
    """List which table has which of the known residuals.

    Returns the places of the tables, the numbers of the residuals, and the variance that a cell of the table
    has from a residual of unit strength, pair by pair.
    """
    tables, residuals, variances = [], [], []
    for sizes, places in group_places(tuple(shape[axis] for axis in axes) for axes in sets).items():
        for kept in subsets(range(len(sizes)), sizes):
            if not kept and () not in known:
                continue
            own = math.prod(1 - 1 / sizes[axis] for axis in kept)
            variance = own * math.prod(1 / n**2 for axis, n in enumerate(sizes) if axis not in kept)
            tables.append(places)
            residuals.append([known[tuple([sets[place][axis] for axis in kept])] for place in places])
            variances.append(np.full(len(places), variance))
    if not tables:
        return np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)
    return np.concatenate(tables), np.concatenate(residuals), np.concatenate(variances)


@dataclass(frozen=True, slots=True)
class Layout:
    """How precisely each residual is measured: with whole multipliers, before noise of one law.

    Attributes
    ----------
    shape
        The universe's.
    sets
        The residuals, each once, with all their subsets.
    strengths
        For each, the square of multiplier times norm that no coordinate exceeds.
    """

    shape: tuple[int, ...]
    sets: tuple[Axes, ...]
    strengths: tuple[int, ...]

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the shape of a table."""
        return tuple(self.shape[axis] for axis in axes)

    @property
    def shapes(self) -> dict[tuple[int, ...], list[int]]:
        """The places of the residuals of each shape."""
        return group_places(map(self.sizes, self.sets))

    @property
    def starts(self) -> Integers:
        """Where the coordinates of each residual begin, and where the last ones end."""
        return np.cumsum([0, *(math.prod(n - 1 for n in self.sizes(axes)) for axes in self.sets)])

    def price(self, axes: Axes) -> float:
        """Return the squared length of a row's residual: the product of 1 - 1/n."""
        return math.prod(1 - 1 / n for n in self.sizes(axes))

    def multipliers(self, places: Sequence[int]) -> Integers:
        """Return, for residuals of one shape, the largest whole multipliers that their strengths allow."""
        norms = squares(self.sizes(self.sets[places[0]]))
        strengths = np.array([float(self.strengths[place]) for place in places])
        exact = np.sqrt(np.divide.outer(strengths, norms))
        return np.asarray(np.floor(exact * (1 + _CLOSE)), dtype=np.int64)

    def square(self, *, replaced: bool) -> int:
        """Bound the squared distance of neighbours' measurements, a whole number.

        One row moves the residual of A by `price`, scaled. Between two rows that differ in the attributes D
        the squared distance is twice price - prod over A in D of (-1/n) * prod over the rest of (1 - 1/n):
        largest where D meets A in one attribute of few values. All D are tried, or, among many attributes,
        each set is given its own worst.
        """
        prices = [s * self.price(axes) for s, axes in zip(self.strengths, self.sets, strict=True)]
        if not replaced:
            return math.floor(math.fsum(prices) * (1 + 8 * _CLOSE))
        used = sorted(set().union(*self.sets))
        if len(used) <= _SUBSETS:
            shared = float(self._sum_shared(used).min())
            return math.floor(2 * (math.fsum(prices) - shared) * (1 + 8 * _CLOSE))
        worst = [p * n / (n - 1) for p, n in zip(prices, self._fewest(), strict=True)]
        return math.floor(2 * math.fsum(worst) * (1 + 8 * _CLOSE))

    def _fewest(self) -> Iterable[int]:
        return (min(self.sizes(axes), default=2) for axes in self.sets)

    def _sum_shared(self, used: list[int]) -> Floats:
        """Return, for every set D of attributes, the sum over all A of the products that D leaves."""
        values = np.zeros((2,) * len(used))
        for strength, axes in zip(self.strengths, self.sets, strict=True):
            values[tuple(int(axis in axes) for axis in used)] = strength
        for place, axis in enumerate(used):
            without, with_it = np.moveaxis(values, place, 0)
            n = self.shape[axis]
            values = np.stack([without + (1 - 1 / n) * with_it, without - with_it / n], axis=place)
        return values

    @property
    def reach(self) -> int:
        """How far one row moves one coordinate at most."""
        return math.isqrt(max(self.strengths)) + 1
