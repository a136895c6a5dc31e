"""Made-up people to try mechanisms on: a population from the public schema alone, or one like public data.

Without public data the default population is a mixture of a few kinds of people. Each kind prefers values of
each attribute on its own: in declared order around a centre for numbers, in an order of its own for others.
Shares fall off as a power of the rank, as they do in most tables, so there are frequent and rare values and
attributes that depend on one another. It is the same for the same schema and number of
rows, on every machine.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Attribute, Universe
from discreet.release.synopsis import Synopsis
from discreet.release.synthetic import SyntheticTable

Array = NDArray[Any]
Public = Histogram | SyntheticTable | Synopsis
"""Data that may be looked at: public, or released already."""

_KINDS = 12
_FALL = 1.5  # how fast shares fall with the rank
_DRAWN = 1_000_000  # more rows than this are counted several times each


def population(universe: Universe, rows: int) -> Histogram:
    """Return the default population of a schema."""
    stream = _Stream(universe, rows)
    drawn = min(rows, _DRAWN)
    shares = 1 / np.arange(1, _KINDS + 1)
    kinds = np.searchsorted(np.cumsum(shares) / shares.sum(), stream.uniform(drawn), side="right")
    kinds = np.minimum(kinds, _KINDS - 1)
    codes = np.empty((drawn, len(universe.shape)), dtype=np.int64)
    for axis, attribute in enumerate(universe.attributes):
        uniform = stream.uniform(drawn)
        for kind in range(_KINDS):
            chances = _chances(attribute, stream)
            own = kinds == kind
            found = np.searchsorted(np.cumsum(chances), uniform[own] * chances.sum(), side="right")
            codes[own, axis] = np.minimum(found, attribute.size - 1)
    counts = np.full(drawn, rows // drawn, dtype=np.int64) if drawn else np.zeros(0, dtype=np.int64)
    counts[: rows - int(counts.sum())] += 1
    return _histogram(universe, codes, counts)


def alike(universe: Universe, public: Public, rows: int | None) -> Histogram:
    """Return public data as a histogram, with another number of rows if one is given."""
    table: object = public.synthetic(rows) if isinstance(public, Synopsis) else public
    histogram = table.histogram() if isinstance(table, SyntheticTable) else table
    if not isinstance(histogram, Histogram) or histogram.universe != universe:
        raise InvalidParameter(
            name="public",
            rule="a Histogram, SyntheticTable or Synopsis over the workload's universe",
            got=f"a {type(public).__name__}",
        )
    if rows is None or rows == histogram.total:
        return histogram
    codes, counts = histogram.entries()
    ends = np.floor(np.cumsum(counts) * (rows / max(1, histogram.total)) + 0.5).astype(np.int64)
    return _histogram(universe, codes, np.diff(ends, prepend=0))


def nobody(universe: Universe) -> Histogram:
    """Return an empty histogram: errors that do not depend on the data show on it as on any other."""
    none = np.zeros(0, dtype=np.int64)
    return _histogram(universe, np.zeros((0, len(universe.shape)), dtype=np.int64), none)


def _histogram(universe: Universe, codes: Array, counts: Array) -> Histogram:
    sparse = Histogram.sparse(universe, codes, counts)
    return sparse.to_dense() if universe.is_dense else sparse


def _chances(attribute: Attribute, stream: _Stream) -> Array:
    """Return how likely one kind of people has each value, not yet divided by the sum."""
    places, start = np.arange(attribute.size), float(stream.uniform(1)[0]) * attribute.size
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in attribute.values):
        width = 1 + attribute.size / 20
        return np.asarray((1 + np.abs(places - start) / width) ** (-2 * _FALL))
    order = np.argsort(stream.uniform(attribute.size))
    return np.asarray((1.0 + order) ** -_FALL)


class _Stream:
    """Numbers between 0 and 1 that look random and follow from the schema."""

    def __init__(self, universe: Universe, rows: int) -> None:
        self._seed = f"{universe.shape} {checks.integer(0, rows=rows)}"
        self._calls = 0

    def uniform(self, count: int) -> Array:
        self._calls += 1
        digest = hashlib.shake_256(f"{self._seed} {self._calls}".encode()).digest(4 * count)
        return np.frombuffer(digest, dtype=np.uint32) / 2.0**32
