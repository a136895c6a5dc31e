"""Databases on which the efficient median mechanism is proved to be useful: [Roth10] section 4.4.

The theorem says nothing about every database; it is about most of those drawn like this: a random histogram
with fractions, uniform among all, and rows drawn from it. Corollary 24 is about these, Corollary 25 about
rows that are uniform themselves.
"""

from __future__ import annotations

import numpy as np

from discreet.core import checks
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe

_WORD = 2.0**64


def sample_database(universe: Universe, *, rows: int, rng: Rng = SYSTEM) -> Histogram:
    """Draw a fractional histogram, uniform among all, and `rows` rows from it. No data are met."""
    count = checks.integer(0, rows=rows)
    universe.require_dense()
    # Exponentials over their sum are uniform on the simplex.
    shares = np.cumsum(-np.log1p(-_uniforms(universe.size, rng)))
    places = np.searchsorted(shares, _uniforms(count, rng) * shares[-1], side="right")
    drawn = np.bincount(np.minimum(places, universe.size - 1), minlength=universe.size)
    return Histogram.dense(universe, drawn.reshape(universe.shape))


def _uniforms(count: int, rng: Rng) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return (rng.words(count) >> np.uint64(11)).astype(np.float64) * (2048 / _WORD)
