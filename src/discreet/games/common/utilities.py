"""What outcomes are worth for each player, on a grid between 0 and 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.reading import make_plain

FINEST = Fraction(1, 10**6)


def read_unit(**named: checks.Number) -> Fraction:
    """Read the unit of values between 0 and 1: one over a whole number, a million at most."""
    ((name, given),) = named.items()
    unit = checks.positive(**named)
    if unit.numerator != 1 or unit < FINEST:
        raise InvalidParameter(name=name, rule="one over a whole number of at most 10**6", value=given)
    return unit


def read_utilities(data: Any, outcomes: int, unit: Fraction) -> Integers:
    """Return a row of units a player, from rows of numbers that are rounded and clamped to [0, 1].

    A player whose row is none, or of another length, wants nothing; an entry that is no number is 0.
    """
    rows = make_plain(data)
    grid, most = Grid(unit), int(1 / unit)
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "iuf":
        if rows.shape[1] != outcomes:
            raise InvalidParameter(name="data", rule=f"rows of {outcomes} numbers", got="another length")
        units = np.array(grid.to_units(rows.ravel(), rows.size), dtype=np.int64).reshape(rows.shape)
        return units.clip(0, most)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O" and rows.ndim:
        rows = rows.tolist()
    if not isinstance(rows, list | tuple):
        raise InvalidParameter(
            name="data", rule="a row of utilities a player", got=f"a {type(rows).__name__}"
        )
    read = [_read_row(row, outcomes, grid) for row in rows]
    return np.array(read, dtype=np.int64).reshape(len(read), outcomes).clip(0, most)


def _read_row(row: Any, outcomes: int, grid: Grid) -> Any:
    if type(row) is np.ndarray and row.ndim == 1:
        row = row.tolist()
    if type(row) not in (list, tuple) or len(row) != outcomes:
        return [0] * outcomes
    return grid.to_units(row, outcomes)
