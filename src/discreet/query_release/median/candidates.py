"""What could be the data, given all that was published: small databases, or random histograms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from discreet.core.errors import Refused
from discreet.core.fixed import Array, Floats, Integers
from discreet.query_release.fitting.hit_and_run import Slabs, sample

MOST = 5_000_000
"""The most numbers a listed family may take: databases times cells."""


class Agreeing(ABC):
    """Data sets that agree with everything published so far. Public: a function of the transcript."""

    @abstractmethod
    def answers(self, weights: Integers) -> Floats:
        """Return each candidate's answer to the query with these weights, in units, scaled to all rows."""

    @abstractmethod
    def cut(self, weights: Integers, answer: int, width: int) -> Agreeing | None:
        """Return those whose answer is within a width of a published one; None where none is."""


class Family(Agreeing):
    """Small databases, each a row of counts; a database of `size` rows stands for one of `rows`."""

    def __init__(self, counts: Array, *, size: int, rows: int) -> None:
        self._counts, self._size, self._rows = counts, size, rows

    def __len__(self) -> int:
        return len(self._counts)

    def answers(self, weights: Integers) -> Floats:
        """Return each database's answer, scaled to all rows."""
        # Whole numbers below 2**53, so the product is exact; one rounding follows.
        return np.asarray(self._counts @ weights.astype(np.float64) * self._rows / self._size)

    def cut(self, weights: Integers, answer: int, width: int) -> Family | None:
        """Return the databases whose answer is within a width of the published one."""
        kept = np.abs(self.answers(weights) - answer) <= width
        return Family(self._counts[kept], size=self._size, rows=self._rows) if kept.any() else None


def family_size(cells: int, size: int) -> int:
    """Return how many databases of `size` rows there are over a number of cells."""
    return math.comb(cells + size - 1, size)


@lru_cache(maxsize=8)
def small_databases(cells: int, size: int) -> Floats:
    """List every database of `size` rows as a row of counts."""
    count = family_size(cells, size)
    if count * cells > MOST:
        raise Refused(
            what=f"a family of {count} databases over {cells} cells",
            why=f"the basic median mechanism lists them all, up to {MOST} counts",
            way_out="Take a smaller size or universe, or MedianPolytope",
        )
    table, left = np.zeros((1, 0)), np.array([size])
    for _ in range(cells - 1):
        # Every unfinished row goes on with each count from 0 to what is left of it.
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(repeats.sum()) - starts
        table = np.column_stack([np.repeat(table, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    table = np.column_stack([table, left])
    table.flags.writeable = False
    return table


class Polytope(Agreeing):
    """Random histograms among those that agree with what was published."""

    def __init__(self, slabs: Slabs, units: int, before: Floats | None = None) -> None:
        self.slabs, self._units = slabs, units
        self.samples = sample(slabs, before)
        self.samples.flags.writeable = False  # conversations share the first ones

    def answers(self, weights: Integers) -> Floats:
        """Return the answer of each sampled histogram."""
        return np.asarray(self.samples @ weights.astype(np.float64))

    def cut(self, weights: Integers, answer: int, width: int) -> Polytope | None:
        """Return histograms that agree with one more answer, or None where no polytope is left."""
        low, high = (answer - width) / self._units, (answer + width) / self._units
        slabs = self.slabs.cut(weights / self._units, low, high)
        return None if slabs.centre is None else Polytope(slabs, self._units, self.samples)


@lru_cache(maxsize=8)
def all_histograms(cells: int, rows: int, units: int) -> Polytope:
    """Return histograms drawn from all there are."""
    return Polytope(Slabs.simplex(cells, float(rows)), units)
