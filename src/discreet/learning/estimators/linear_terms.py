"""Declared columns as terms of a linear model: whole numbers that no row can move beyond one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.fixed import Array, Floats, Integers
from discreet.learning.declared import Declared, Range

UNITS = 1024
"""Terms are whole numbers of this part of one."""

Term = tuple[int, int | None]
"""The place of a column, and which of its codes; None for a column of numbers."""


def list_terms(declared: Sequence[Declared]) -> list[Term]:
    """Return the terms of all columns: one of a range, one for each code of choices."""
    return [
        (place, code)
        for place, column in enumerate(declared)
        for code in ([None] if isinstance(column, Range) else range(column.size))
    ]


def name_terms(names: Sequence[object], declared: Sequence[Declared], terms: Sequence[Term]) -> list[str]:
    """Return what each term is called: its column, and its choice."""

    def name(place: int, code: int | None) -> str:
        column = declared[place]
        if isinstance(column, Range) or code is None:
            return str(names[place])
        values = column.values
        return f"{names[place]}: {values[code] if code < len(values) else 'missing or undeclared'}"

    return [name(*term) for term in terms]


def spread(declared: Sequence[Declared], rows: Array) -> Integers:
    """Return a constant and a number for each term, in whole units."""
    made = [np.full(len(rows), UNITS, dtype=np.int64)]
    for place, column in enumerate(declared):
        if isinstance(column, Range):
            made.append(to_units(centre(column, rows[:, place])))
        else:
            codes = column.encode(rows[:, place])
            made += [(codes == code) * np.int64(UNITS) for code in range(column.size)]
    return np.stack(made, axis=1)


def differ(terms: Sequence[Term]) -> Floats:
    """Return what data can tell of each term's weight: against that of the first choice of its column.

    A line of factors of all weights, the constant's first, for each term; of a first choice there is nothing.
    """
    lines = np.eye(len(terms) + 1)[1:]
    for line, (column, code) in zip(lines, terms, strict=True):
        if code is not None:
            line[terms.index((column, 0)) + 1] -= 1
    return lines


def contrast(terms: Sequence[Term]) -> Floats:
    """Return what makes weights against the first choice of each column of those of all codes.

    The ones of all codes of a column add up to the constant, so no data tell their weights apart from the
    intercept: only differences mean something. A line for the intercept and for each term that is left.
    """
    lines = np.eye(len(terms) + 1)
    for place, (column, code) in enumerate(terms, start=1):
        if code is not None:
            first = terms.index((column, 0)) + 1
            lines[place, first] -= 1
            lines[0, first] = 1
    kept = [0, *(place for place, (_, code) in enumerate(terms, start=1) if code != 0)]
    return lines[kept]


def centre(column: Range, numbers: Array) -> Floats:
    """Return where numbers lie between the bounds, from -1 to 1."""
    return 2 * column.place(numbers) - 1


def to_units(numbers: Floats) -> Integers:
    """Return numbers in whole units, and 0 for what is none."""
    return np.rint(np.nan_to_num(numbers, nan=0.0) * UNITS).astype(np.int64)
