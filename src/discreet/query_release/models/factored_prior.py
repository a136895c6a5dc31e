"""A first guess of one attribute's counts from noisy ones, where neighbouring values may be alike.

A spike is kept as it was measured; the rest is smoothed with the width that an unbiased estimate of the
squared error likes best. Where no width helps, nothing is smoothed: an order that means nothing does no harm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SHORTEST = 16
"""Fewer values are not smoothed: there is little to gain."""

_WIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 30.0, 1000.0)
_FAR = 3.5  # standard deviations of noise that make a spike
_HALF = 4  # values on either side that a spike is compared with
_FLOOR = 0.02  # the share of all rows that is spread evenly: no value is ruled out
_SWEEPS = 4
_REACH = 30  # widths: further off, a neighbour counts for nothing


def first_guess(counts: Array, deviation: float, total: float) -> Array:
    """Return positive counts that add up to the total."""
    if len(counts) < SHORTEST:
        return np.full(len(counts), total / len(counts))
    noisy = np.asarray(counts, dtype=np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(noisy, _HALF, mode="reflect"), 2 * _HALF + 1)
    spikes = np.abs(noisy - np.median(windows, axis=1)) > 1.1 * _FAR * deviation
    guess = noisy
    for _ in range(_SWEEPS):
        guess = _smooth(noisy, ~spikes, deviation)
        found = spikes | (np.abs(noisy - guess) > _FAR * deviation)
        if bool((found == spikes).all()):
            break
        spikes = found
    guess = np.maximum(np.where(spikes, noisy, guess), _FLOOR * total / len(noisy))
    return np.asarray(guess * (total / guess.sum()))


def _smooth(noisy: Array, ordinary: Array, deviation: float) -> Array:
    """Average over neighbours that are no spikes, at the width of the least estimated error."""
    known, variance = int(ordinary.sum()), deviation * deviation
    best, result = known * variance, noisy
    for width in _WIDTHS if known else ():
        reach = min(len(noisy) - 1, math.ceil(_REACH * width))
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        inside = slice(reach, reach + len(noisy))
        mass = np.maximum(np.convolve(ordinary.astype(np.float64), kernel)[inside], 1e-300)
        guess = np.convolve(np.where(ordinary, noisy, 0.0), kernel)[inside] / mass
        # Stein's unbiased estimate: how much of its own noise does each guess still carry?
        misfit = float((((noisy - guess) ** 2)[ordinary]).sum())
        risk = misfit + variance * (2 * float((1 / mass)[ordinary].sum()) - known)
        if risk < best:
            best, result = risk, guess
    return result
