"""Made-up people to try mechanisms on: a population from the public schema alone, or one like public data.

The default population has the features that most tables share: a few values of an attribute are frequent and
most are rare, shares falling off as a power of the rank; and attributes depend on one another, each on one
declared before it. It is the same for the same schema and number of rows, on every machine.
"""

from __future__ import annotations

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.noise.trial_noise import TrialNoise
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Attribute, Universe
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable

Public = Histogram | SyntheticTable | Synopsis
"""Data that may be looked at: public, or released already."""

_KINDS = 6  # of people, as far as the values of one attribute go
_FALL = 2.0  # how fast shares fall with the rank
_NEAR = 0.02  # of the values of a number count as one step away
_DRAWN = 1_000_000  # more rows than this are counted several times each


def population(universe: Universe, rows: int) -> Histogram:
    """Return the default population of a schema."""
    stream = TrialNoise(f"{universe.shape} {checks.integer(0, rows=rows)}")
    drawn = min(rows, _DRAWN)
    codes = np.zeros((drawn, len(universe.shape)), dtype=np.int64)
    for axis, attribute in enumerate(universe.attributes):
        parent = int(stream.uniform(1)[0] * axis)
        kinds = codes[:, parent] % _KINDS if axis else np.zeros(drawn, dtype=np.int64)
        uniform = stream.uniform(drawn)
        for kind in range(_KINDS):
            chances = _chances(attribute, stream)
            own = kinds == kind
            found = np.searchsorted(np.cumsum(chances), uniform[own] * chances.sum(), side="right")
            codes[own, axis] = np.minimum(found, attribute.size - 1)
    counts = np.full(drawn, rows // drawn, dtype=np.int64)
    counts[: rows % drawn] += 1
    return _histogram(universe, codes, counts)


def alike(universe: Universe, public: Public, rows: int | None) -> Histogram:
    """Return public data as a histogram, with another number of rows if one is given."""
    table: object = (
        public.synthetic(rows, rng=TrialNoise("public")) if isinstance(public, Synopsis) else public
    )
    histogram = table.histogram() if isinstance(table, SyntheticTable) else table
    if not isinstance(histogram, Histogram) or histogram.universe != universe:
        raise InvalidParameter(
            name="public",
            rule="a Histogram, SyntheticTable or Synopsis over the workload's universe",
            got=f"a {type(public).__name__}",
        )
    if rows is None or rows == histogram.total:
        return histogram
    if not histogram.total:
        raise InvalidParameter(name="public", rule="data with rows", got="none")
    codes, counts = histogram.entries()
    ends = np.floor(np.cumsum(counts) * (rows / histogram.total) + 0.5).astype(np.int64)
    return _histogram(universe, codes, np.diff(ends, prepend=0))


def nobody(universe: Universe) -> Histogram:
    """Return an empty histogram: errors that do not depend on the data show on it as on any other."""
    none = np.zeros(0, dtype=np.int64)
    return _histogram(universe, np.zeros((0, len(universe.shape)), dtype=np.int64), none)


def _histogram(universe: Universe, codes: Array, counts: Array) -> Histogram:
    sparse = Histogram.sparse(universe, codes, counts)
    return sparse.to_dense() if universe.is_dense else sparse


def _chances(attribute: Attribute, stream: TrialNoise) -> Array:
    """Return how likely one kind of people has each value, not yet divided by the sum."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in attribute.values):
        centre = float(stream.uniform(1)[0]) * attribute.size
        step = max(1.0, _NEAR * attribute.size)
        ranks = np.abs(np.arange(attribute.size) - centre) / step
    else:
        ranks = np.argsort(stream.uniform(attribute.size)).astype(np.float64)
    return np.asarray((1.0 + ranks) ** -_FALL)
