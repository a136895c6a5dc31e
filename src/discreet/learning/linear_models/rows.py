"""Rows of whole numbers and their targets: which count, their scores, and how badly they are foretold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.rng import Rng
from discreet.learning.budgets import Noisy
from discreet.learning.linear_models.links import PARTS, REACH, Link, Tables

WEIGHT = 1 << 14
"""Weights are whole numbers of this part of one while rows are read, so that scores are exact."""

CHUNK = 1 << 14
"""Rows that are read at a time: sums over them are whole below 2**53."""


class Judged(NamedTuple):
    """How badly rows are foretold on average, the deviation noise gives it, and how many rows there are."""

    mean: float
    deviation: float
    rows: float


def read_rows(data: Any, size: int) -> tuple[Array, Integers]:
    """Return rows and targets, which must be whole-number arrays of as many rows."""
    if isinstance(data, tuple | list) and len(data) == 2 and all(type(part) is np.ndarray for part in data):
        rows, targets = data
        whole = rows.dtype.kind in "iu" and targets.dtype.kind in "iu"
        if whole and rows.ndim == 2 and targets.ndim == 1 and rows.shape == (len(targets), size):
            return rows, targets
    raise InvalidParameter(
        name="data",
        rule=f"a pair of whole-number arrays: rows of {size} numbers, and as many targets",
        got="something else",
        hint="The estimators of discreet.learning read frames and arrays by declared columns",
    )


def keep_known(
    rows: Array, targets: Integers, *, link: Link, most: Fraction, resolution: int
) -> tuple[Array, Integers]:
    """Return the rows without a number above one whose target is one of the link, and their targets."""
    inside = ((rows >= -resolution) & (rows <= resolution)).all(axis=1)
    if link.labels:
        inside &= (targets == 0) | (targets == PARTS)
    else:
        low, high = (-PARTS, PARTS) if link is Link.LINEAR else (0, math.floor(most * PARTS))
        inside &= (targets >= low) & (targets <= high)
    return rows[inside].astype(np.int32), targets[inside].astype(np.int64)


def keep_short(rows: Array, targets: Integers, *, length: int, resolution: int) -> tuple[Array, Integers]:
    """Return the rows whose squared length is at most `length`, in squares of one, and their targets."""
    short = np.einsum("ij,ij->i", rows, rows, dtype=np.int64) <= length * resolution**2
    return rows[short], targets[short]


def walk(
    rows: Array, targets: Integers, weights: Floats, resolution: int
) -> Iterator[tuple[Floats, Integers, Integers]]:
    """Yield rows, some at a time, with their targets and exact scores."""
    whole = np.rint(weights * WEIGHT)
    unit = resolution * WEIGHT // PARTS
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK].astype(np.float64)
        scores = ((part @ whole).astype(np.int64) + unit // 2) // unit
        yield part, targets[start : start + CHUNK], np.clip(scores, -REACH, REACH)


def judge(
    rows: Array,
    targets: Integers,
    weights: Floats,
    *,
    tables: Tables,
    resolution: int,
    noise: Noisy,
    rng: Rng,
) -> Judged:
    """Measure how badly all rows are foretold, and how many they are.

    A row more moves both numbers by `worst` at most, and so does one that is replaced by one that counts
    nowhere.
    """
    found = sum(
        int(tables.judge(scores, wanted).sum())
        for _, wanted, scores in walk(rows, targets, weights, resolution)
    )
    sums = np.array([found, len(targets) * tables.worst], dtype=np.int64)
    badly, whole = np.asarray(rng.perform(noise.step, sums), dtype=np.float64)
    unit = 1.0 if tables.link.labels else float(tables.cut) ** 2
    if whole <= 0:
        return Judged(unit, math.inf, 0.0)
    mean = min(1.0, max(0.0, badly / whole))
    return Judged(mean * unit, noise.deviation * math.hypot(1, mean) / whole * unit, whole / tables.worst)
