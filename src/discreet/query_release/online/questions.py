"""What a question asks, whichever way it is written: its identity, and its box where it is one.

A predicate is known by the codes that some cell of it has, attribute by attribute, and by which of their
combinations it has. Attributes on which the latter does not depend are left out; where none is left it is a
box: it asks each attribute for a set of values on its own. So two ways to write one predicate are one
question, and have one answer. Sets of codes are written as the runs they consist of, so that what is short
to say is short to compare.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Bools, fix_array
from discreet.queries.query import Axes, LinearQuery, ProductQuery
from discreet.queries.universe import Universe
from discreet.queries.written import write_query

Key = bytes


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
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

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing: then its answer is 0, whatever the data."""
        return not self.units.any()


def read_question(query: LinearQuery, universe: Universe, scale: int) -> Question:
    """Write a query with weights from 0 to 1 down and return it as a question in units of 1 / scale."""
    fixed = write_query(query, universe)
    table = fixed.table()
    if table.dtype.kind == "b":
        key, codes = read_predicate(fixed, table)
        return Question(key, fixed.axes, fix_array(table.astype(np.int64) * scale), codes)
    if scale == 1 or not (0 <= table.min() and table.max() <= 1):
        raise InvalidParameter(
            name="query",
            rule="a predicate, or with a grid a query whose weights lie between 0 and 1",
            value=fixed,
            hint="Divide the weights by the largest one, and pass grid= to the mechanism",
        )
    units = np.rint(np.asarray(table, dtype=np.float64) * scale).astype(np.int64)
    return Question(_listed_key(fixed.axes, units), fixed.axes, fix_array(units), None)


def read_predicate(query: LinearQuery, table: Bools) -> tuple[Key, Bools | None]:
    """Return the identity of a predicate, and its codes, attribute after attribute, where it is a box."""
    shape = query.universe.shape
    if not table.any():
        return NOTHING, None
    masks, rest = _split(query, table)
    parts = (write_codes(axis, mask) for axis, mask in masks.items())
    key = make_key(parts, write_rest(rest, query.axes))
    if rest.size > 1:
        return key, None
    whole = (masks.get(axis, np.ones(size, dtype=np.bool_)) for axis, size in enumerate(shape))
    return key, np.concatenate(list(whole))


def _split(query: LinearQuery, table: Bools) -> tuple[Mapping[int, Bools], Bools]:
    """Return the codes that some cell has, by attribute, and which of their combinations there are."""
    if isinstance(query, ProductQuery) and not query.complement:
        return dict(zip(query.axes, query.masks, strict=True)), np.ones((1,) * len(query.axes), np.bool_)
    places = range(table.ndim)
    masks = {
        axis: np.asarray(table.any(axis=tuple(other for other in places if other != place)))
        for place, axis in enumerate(query.axes)
    }
    return masks, reduce_table(table[np.ix_(*(np.flatnonzero(mask) for mask in masks.values()))])


def reduce_table(table: Bools) -> Bools:
    """Return a table with one entry along every axis that it does not depend on."""
    for place in range(table.ndim):
        first = table.take([0], axis=place)
        if table.shape[place] > 1 and bool((table == first).all()):
            table = first
    return table


def write_codes(axis: int, mask: Bools) -> bytes:
    """Write a set of codes of an attribute as where its runs begin and end; nothing where it has all."""
    if mask.all():
        return b""
    return write_runs(axis, np.flatnonzero(np.diff(mask, prepend=False, append=False)))


def write_runs(axis: int, ends: Any) -> bytes:
    """Write runs of codes of an attribute."""
    return np.array([axis, len(ends), *ends], dtype="<i4").tobytes()


def write_rest(rest: Bools, axes: Axes) -> bytes:
    """Write which combinations of codes there are; nothing for a box."""
    if rest.size == 1:
        return b""
    kept = [axis for axis, size in zip(axes, rest.shape, strict=True) if size > 1]
    return np.array([-1, *kept], dtype="<i4").tobytes() + np.packbits(rest).tobytes()


def make_key(parts: Iterable[bytes], rest: bytes) -> Key:
    """Return the identity of a predicate from its codes, by ascending attribute, and their combinations."""
    return hashlib.blake2b(b"".join(parts) + rest, digest_size=24).digest()


NOTHING: Key = make_key((), b"nothing")
"""The identity of every predicate that no cell meets."""


def _listed_key(axes: Axes, units: Any) -> Key:
    content = np.ascontiguousarray(units).tobytes()
    return hashlib.blake2b(repr(axes).encode() + content, digest_size=24, person=b"weights").digest()
