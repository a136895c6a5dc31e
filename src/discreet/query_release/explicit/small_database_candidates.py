"""Public candidates for a small database: every multiset of a size, or a list drawn without the data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Integers, fix_array
from discreet.core.parameters import checked, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.search import first_integer
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.explicit.small_database_size import cover

MOST = 10_000_000
"""The most candidates that are scored one by one."""

_WEIGHTS = 100_000_000  # the most weights of cells and queries in memory
_BLOCK = 1 << 20  # numbers in one block of sums

_Block = tuple[Integers, Integers]  # what goes on, and the sums so far


class SmallDatabases(ABC):
    """Small databases of one size over a universe. Public, and free of data.

    Attributes
    ----------
    universe, size, count
        What they are made of, how many rows each has, and how many there are.
    """

    __slots__ = ()
    way_out: ClassVar[str] = "Leave it out for all multisets, or make a Listed"
    universe: Universe
    size: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many candidates there are."""

    @abstractmethod
    def cover(self, workload: Workload) -> float:
        """Bound the relative error of the best candidate on the worst data."""

    @abstractmethod
    def cells(self, place: int) -> tuple[int, ...]:
        """Return the rows of one candidate, by the numbers of their cells."""

    @abstractmethod
    def blocks(self, columns: Integers) -> Iterator[Integers]:
        """Yield the sums of the columns of all candidates, some candidates at a time."""

    def steps(self, queries: int) -> int:
        """Return about how many blocks there are."""
        return -(-self.count // _height(queries))

    def require_few(self, queries: int) -> None:
        """Raise unless all candidates can be scored."""
        if self.count > MOST:
            raise Refused(
                what=f"{self.count} candidates",
                why=f"at most {MOST} are scored one by one",
                way_out="Use multiplicative weights (MWEM), a smaller size, or a list of candidates that "
                "Listed.drawn makes without the data",
            )
        if self.universe.size * queries > _WEIGHTS:
            raise Refused(
                what=f"{queries} queries over {self.universe.size} cells",
                why=f"at most {_WEIGHTS} weights are kept in memory",
                way_out="Use multiplicative weights (MWEM)",
            )


@checked
class AllMultisets(SmallDatabases):
    """Every multiset of `size` cells, in lexicographic order."""

    universe: Universe = public(checks.instance, Universe)
    size: int = public(checks.integer, 1)

    @property
    def count(self) -> int:
        """How many multisets there are."""
        return _multisets(self.universe.size, self.size)

    def cover(self, workload: Workload) -> float:
        """Bound the relative error of the best multiset on the worst data."""
        return cover(workload, self.size).error

    def cells(self, place: int) -> tuple[int, ...]:
        """Return one multiset, ascending."""
        rest, first, found = checks.index(self.count, place=place), 0, []
        for left in range(self.size, 0, -1):
            first, rest = _find_first(self.universe.size, first, left, rest)
            found.append(first)
        return tuple(found)

    def blocks(self, columns: Integers) -> Iterator[Integers]:
        """Yield the sums of columns, each multiset from a smaller one: row by row, or cell by cell."""
        cells, queries = columns.shape
        start = np.zeros((1, queries), dtype=np.int64)
        if self.size < cells:
            return _walk((np.zeros(1, dtype=np.int64), start), self.size, partial(_add_row, columns))
        return _walk((np.array([self.size]), start), cells, partial(_add_cell, columns))


class Listed(SmallDatabases):
    """Candidates that are listed one by one.

    Parameters
    ----------
    cells
        One row a candidate: the numbers of the cells of its rows. They must not depend on the data.
    """

    __slots__ = ("_cells", "_key", "size", "universe")

    def __init__(self, universe: Universe, cells: Any) -> None:
        listed = np.array(cells)
        fits = listed.ndim == 2 and listed.size and listed.dtype.kind in "iu"
        if not fits or not 0 <= int(listed.min()) <= int(listed.max()) < universe.size:
            rule = f"rows of as many whole numbers in 0..{universe.size - 1}"
            raise InvalidParameter(name="cells", rule=rule, value=listed.shape)
        self._cells = fix_array(np.sort(listed.astype(np.int64), axis=1))
        self._key = (self._cells.shape, self._cells.tobytes())
        self.universe, self.size = universe, int(listed.shape[1])

    def restate(self, universe: Universe) -> Listed:
        """Return the same candidates over a universe, made anew from their cells."""
        return Listed(universe, self._cells)

    @classmethod
    def draw(cls, universe: Universe, *, size: int, count: int, prior: Any = None, rng: Rng = SYSTEM) -> Self:
        """Draw candidates whose rows come from a public prior: weights over the cells, equal if left out."""
        checks.integer(1, size=size)
        checks.integer(1, count=count)
        weights = np.ones(universe.size) if prior is None else np.asarray(prior, dtype=np.float64).reshape(-1)
        if weights.shape != (universe.size,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InvalidParameter(name="prior", rule=f"{universe.size} weights >= 0", got="others")
        ends = np.cumsum(weights)
        if not ends[-1] > 0:
            raise InvalidParameter(name="prior", rule="weights that are not all zero", got="zeros")
        darts = (rng.words(size * count) >> np.uint64(11)) * (ends[-1] / (1 << 53))
        cells = np.minimum(np.searchsorted(ends, darts, side="right"), universe.size - 1)
        return cls(universe, cells.reshape(count, size))

    @property
    def count(self) -> int:
        """How many are listed."""
        return len(self._cells)

    def cover(self, workload: Workload) -> float:
        """Return 1: the list may be far from the data. The error is then the range of the answers."""
        del workload
        return 1.0

    def cells(self, place: int) -> tuple[int, ...]:
        """Return one candidate, ascending."""
        return tuple(self._cells[checks.index(self.count, place=place)].tolist())

    def blocks(self, columns: Integers) -> Iterator[Integers]:
        """Yield the sums of columns, some candidates at a time."""
        height = _height(columns.shape[1])
        for start in range(0, self.count, height):
            chosen = self._cells[start : start + height]
            sums = np.zeros((len(chosen), columns.shape[1]), dtype=np.int64)
            for row in chosen.T:
                sums += columns[row]
            yield sums

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and (self.universe, self._key) == (other.universe, other._key)

    def __hash__(self) -> int:
        return hash((self.universe, self._key))

    def __deepcopy__(self, memo: object) -> Self:
        return self  # it never changes

    def __repr__(self) -> str:
        return f"<Listed: {self.count} candidates of {self.size} rows>"


def read_candidates(given: Any, universe: Universe, *, size: int) -> SmallDatabases:
    """Return candidates over a universe, made anew; of the kinds above, since others may do as they like.

    Where none are given, all multisets of a size.
    """
    if given is None:
        return AllMultisets(universe, size)
    if type(given) not in (AllMultisets, Listed):
        raise InvalidParameter(
            name="candidates",
            rule="AllMultisets or Listed",
            got=f"a {type(given).__name__}",
            hint=SmallDatabases.way_out,
        )
    if given.universe != universe:
        raise InvalidParameter(name="candidates", rule="over the workload's universe", got="another one")
    if type(given) is AllMultisets:
        return AllMultisets(universe, given.size)
    return given.restate(universe)  # type: ignore[no-any-return]


def _multisets(cells: int, size: int) -> int:
    return math.comb(cells + size - 1, size)


def _find_first(cells: int, first: int, size: int, place: int) -> tuple[int, int]:
    """Return the first cell of a multiset of a size, and its place among those that start there.

    It is the last cell such that the multisets that start before it, from `first` on, are not too many.
    """
    count = _multisets(cells - first, size)
    after = first_integer(lambda cell: count - _multisets(cells - cell, size) > place, low=first, high=cells)
    return after - 1, place - count + _multisets(cells - after + 1, size)


def _height(queries: int) -> int:
    return max(1, _BLOCK // queries)


def _walk(start: _Block, depth: int, longer: Callable[[int, _Block], Iterator[_Block]]) -> Iterator[Integers]:
    """Yield the sums of everything that `depth` steps from a start lead to, in order."""
    above = [iter([start])]
    while above:
        block = next(above[-1], None)
        if block is None:
            above.pop()
        elif len(above) > depth:
            yield block[1]
        else:
            above.append(longer(len(above) - 1, block))


def _add_row(columns: Integers, step: int, block: _Block) -> Iterator[_Block]:
    """Yield the largest cells and the sums of all multisets with one row more, from the largest cell on."""
    del step
    (largest, sums), (cells, queries) = block, columns.shape
    for entry, copy in _repeat(cells - largest, _height(queries)):
        added = largest[entry] + copy
        yield added, sums[entry] + columns[added]


def _add_cell(columns: Integers, step: int, block: _Block) -> Iterator[_Block]:
    """Yield how many rows are left and the sums, for all numbers of rows in the next cell, the most first."""
    (left, sums), (cells, queries) = block, columns.shape
    if step == cells - 1:
        yield left, sums + left[:, None] * columns[step]
        return
    for entry, copy in _repeat(left + 1, _height(queries)):
        yield copy, sums[entry] + (left[entry] - copy)[:, None] * columns[step]


def _repeat(repeats: Integers, height: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield which entry and which copy of it, for entries that are repeated, `height` at a time."""
    ends = np.cumsum(repeats)
    for first in range(0, int(ends[-1]), height):
        index = np.arange(first, min(first + height, int(ends[-1])))
        entry = np.searchsorted(ends, index, side="right")
        yield entry, index - (ends - repeats)[entry]
