"""What a question asks, whichever way it is written: its identity, and its box where it is one.

A predicate is a box where it asks each attribute for a set of values on its own. The codes that some cell of
the predicate has are found attribute by attribute; where their product has as many cells as the predicate,
it is that product. So two ways to write one box are one question, and have one answer.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.queries.query import Array, Axes, LinearQuery, ProductQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import written

Bools = NDArray[np.bool_]
Key = bytes


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One question with whole weights: how many units of the grid a row of each kind counts.

    Attributes
    ----------
    key
        The same for questions with the same weights.
    axes, units
        The attributes it looks at, and its weights over them.
    codes
        For a box: which codes of which attribute it asks for, attribute after attribute; else None.
    """

    key: Key
    axes: Axes
    units: Array
    codes: Bools | None


def read_question(query: LinearQuery, universe: Universe, scale: int) -> Question:
    """Write a query with weights from 0 to 1 down and return it as a question in units of 1 / scale."""
    fixed = written(query, universe)
    table = fixed.table()
    if table.dtype.kind == "b":
        codes = _box(fixed, table)
        key = _listed_key(fixed.axes, table) if codes is None else _box_key(codes[None])[0]
        return Question(key, fixed.axes, table.astype(np.int64) * scale, codes)
    if scale == 1 or not (0 <= table.min() and table.max() <= 1):
        raise InvalidParameter(
            name="query",
            rule="a predicate, or with a grid a query whose weights lie between 0 and 1",
            value=fixed,
            hint="Divide the weights by the largest one, and pass grid= to the mechanism",
        )
    units = np.rint(np.asarray(table, dtype=np.float64) * scale).astype(np.int64)
    return Question(_listed_key(fixed.axes, units), fixed.axes, units, None)


_FEW = 64  # queries: below this a look at each is quicker than a pass for each code


def read_boxes(workload: Workload) -> tuple[Bools, Bools]:
    """Return, for every predicate of a workload, the codes it has and whether it is their product.

    One pass over the universe a code: a cell that has the code counts one. A few queries are looked at one by
    one instead.
    """
    universe = workload.universe
    found = np.zeros((len(workload), sum(universe.shape)), dtype=np.bool_)
    if len(workload) <= _FEW:
        listed = [_box(query, np.asarray(query.table())) for query in workload]
        for place, codes in enumerate(listed):
            if codes is not None:
                found[place] = codes
        return found, np.array([codes is not None for codes in listed])
    column = 0
    for axis, size in enumerate(universe.shape):
        for code in range(size):
            cells = np.zeros(universe.shape, dtype=np.int64)
            cells[(slice(None),) * axis + (code,)] = 1
            found[:, column] = workload.answers(cells) > 0
            column += 1
    volume = workload.answers(np.ones(universe.shape, dtype=np.int64))
    sizes = box_sizes(found, universe)
    return found, (volume > 0) & (volume == sizes.prod(axis=1))


def read_keys(workload: Workload, codes: Bools, boxes: Bools) -> list[Key]:
    """Return the key of every predicate of a workload, as `read_question` gives it."""
    keys = _box_key(codes)
    for place in np.flatnonzero(~boxes).tolist():
        query = workload.query(place)
        keys[place] = _listed_key(query.axes, np.asarray(query.table()))
    return keys


def box_sizes(codes: Bools, universe: Universe) -> NDArray[np.int64]:
    """Return how many codes of each attribute each box has."""
    starts = np.concatenate([[0], np.cumsum(universe.shape)[:-1]])
    return np.add.reduceat(codes, starts, axis=1, dtype=np.int64)


def box_runs(codes: Bools, universe: Universe) -> Bools:
    """Return whether each box is an interval of every attribute."""
    runs = np.ones(len(codes), dtype=np.bool_)
    start = 0
    for size in universe.shape:
        part = codes[:, start : start + size]
        runs &= part[:, 0] + (part[:, 1:] & ~part[:, :-1]).sum(axis=1) == 1
        start += size
    return runs


def _box(query: LinearQuery, table: Array) -> Bools | None:
    if isinstance(query, ProductQuery) and not query.complement:
        masks = dict(zip(query.axes, query.masks, strict=True))
    else:
        places = range(table.ndim)
        masks = {
            axis: np.asarray(table.any(axis=tuple(other for other in places if other != place)))
            for place, axis in enumerate(query.axes)
        }
        if math.prod(int(mask.sum()) for mask in masks.values()) != int(table.sum()):
            return None
    if not all(mask.any() for mask in masks.values()):
        return None
    shape = query.universe.shape
    return np.concatenate([masks.get(axis, np.ones(size, dtype=np.bool_)) for axis, size in enumerate(shape)])


def _box_key(codes: Bools) -> list[Key]:
    packed = np.packbits(codes, axis=1)
    width, whole = packed.shape[1], packed.tobytes()
    return [b"box" + whole[start : start + width] for start in range(0, len(whole), width)]


def _listed_key(axes: Axes, table: Any) -> Key:
    content = np.ascontiguousarray(table).tobytes()
    return hashlib.blake2b(repr((axes, table.dtype.kind)).encode() + content, digest_size=24).digest()
