"""How far one row can move the answers of a workload.

A row in cell c adds column c of the queries-by-cells matrix to the answers. Adding or removing a row moves
them by one column, changing a row by the difference of two: the sensitivity is the largest norm of those.
Families with structure have formulas. Elsewhere the columns are searched, after cells that no query tells
apart are merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InternalError, NeighboursMismatch, Refused
from discreet.core.fixed import Array, Integers
from discreet.core.neighbours import AddRemove, Bidder, Event, LocalReport, Neighbours, Replace
from discreet.queries.universe import Codes

if TYPE_CHECKING:
    from discreet.queries.workload import Workload

_COLUMNS = 200_000_000  # weights looked at to find the largest column
_CELLS = 8192  # cells whose pairs are compared
_PRODUCTS = 50_000_000_000  # multiplications of a matrix product over all pairs
_PAIRS = 4_000_000_000  # differences over all pairs
_UNIT = Fraction(1, 1 << 52)


def largest_weight(workload: Workload) -> Fraction:
    """Return the largest size of a weight."""
    return _largest_single(workload, replaced=False)


def find_exact(workload: Workload, neighbours: Neighbours, norm: float) -> Fraction:
    """Return the sensitivity in a norm."""
    norm = checks.one_of((1, 2, math.inf), norm=norm)
    replaced = _is_replaced(neighbours)
    if norm == math.inf:
        return _largest_single(workload, replaced)
    if norm == 2:
        return _root_up(find_square(workload, neighbours))
    return _largest(workload, replaced, 1)


def find_square(workload: Workload, neighbours: Neighbours) -> Fraction:
    """Return the square of the L2 sensitivity."""
    return _largest(workload, _is_replaced(neighbours), 2)


def find_bound(workload: Workload, neighbours: Neighbours, norm: float) -> Fraction:
    """Return the sensitivity, or a number above it that is quick to find."""
    try:
        return find_exact(workload, neighbours, norm)
    except Refused:
        worst = workload.bound_loosely(replaced=_is_replaced(neighbours), power=int(norm))
    return worst if norm == 1 else _root_up(worst)


def bound_loosely(workload: Workload, replaced: bool, power: int) -> Fraction:
    """Return the largest sum over queries, or every query's worst though no row may meet all at once."""
    try:
        return _largest(workload, replaced, power)
    except Refused:
        spans = (_span(*query.extent(), replaced) for query in workload)
        worst = sum((span**power for span in spans), Fraction(0))
    if replaced:  # two columns, each as large as a column can be
        worst = min(worst, 2**power * workload.bound_loosely(replaced=False, power=power))
    return worst


def _is_replaced(neighbours: Neighbours) -> bool:
    """Tell whether a row changes its cell (True) or comes and goes (False)."""
    if isinstance(neighbours, AddRemove):
        return False
    if isinstance(neighbours, Replace | Event | Bidder | LocalReport):
        return True
    raise NeighboursMismatch(f"no bound on how many rows of a histogram change by {neighbours}")


def _largest_single(workload: Workload, replaced: bool) -> Fraction:
    pairs = set(workload.extents())
    return max(_span(low, high, replaced) for low, high in pairs)


def _span(low: Any, high: Any, replaced: bool) -> Fraction:
    a, b = (Fraction(int(x) if np.asarray(x).dtype.kind in "biu" else float(x)) for x in (low, high))
    if a > b:
        raise InternalError(
            "a query's smallest weight is above its largest: its sensitivity would be too small"
        )
    return b - a if replaced else max(abs(a), abs(b))


def _largest(workload: Workload, replaced: bool, power: int) -> Fraction:
    found = workload.closed_form(replaced=replaced, power=power)
    if found is not None:
        return Fraction(found)
    if not replaced and workload.is_predicates and workload.universe.size <= 1 << 22:
        return Fraction(int(workload.adjoint(np.ones(len(workload), dtype=np.int64)).max()))
    codes = workload.cells(_COLUMNS // len(workload))
    if codes is None:
        raise _too_large()
    scale = _Scale.of(workload, power)
    if replaced:
        return _largest_difference(workload, codes, scale)
    sums = np.zeros(len(codes), dtype=np.int64 if scale.is_exact else np.float64)
    for rows in _blocks(workload, codes, scale):
        sums += (np.abs(rows) ** power).sum(axis=0)
    return scale.bound_sum(sums.max())


def _largest_difference(workload: Workload, codes: Codes, scale: _Scale) -> Fraction:
    cells, count = len(codes), len(workload)
    by_products = scale.is_exact and (workload.is_predicates or scale.power == 2)
    if cells > _CELLS or count * cells**2 > (_PRODUCTS if by_products else _PAIRS):
        raise _too_large()
    far = np.zeros((cells, cells))
    for rows in _blocks(workload, codes, scale):
        values = rows.astype(np.float64)
        if by_products:
            # (a - b)^2 = a^2 + b^2 - 2ab in whole numbers, which floats hold; 0 and 1 are their squares.
            squares = (values**2).sum(axis=0)
            far += squares[:, None] + squares[None, :] - 2 * (values.T @ values)
        else:
            for row in values:
                far += np.abs(row[:, None] - row[None, :]) ** scale.power
    return scale.bound_sum(far.max())


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sums of powers of weights: exact in whole numbers that are not too large, else rounded up.

    Other weights are first divided by a power of two, so that neither their squares nor the sums of them
    can leave the range of floats.
    """

    count: int
    power: int
    is_exact: bool
    exponent: int

    @classmethod
    def of(cls, workload: Workload, power: int) -> _Scale:
        largest = workload.largest_weight
        # Four times: a difference of two weights is at most twice the largest.
        if not largest or (workload.is_integral and len(workload) * 4 * largest**power <= 1 << 52):
            return cls(len(workload), power, True, 0)
        return cls(len(workload), power, False, math.frexp(float(largest))[1])

    def read(self, rows: Array) -> Array:
        """Return weights as numbers to add up."""
        return rows.astype(np.int64) if self.is_exact else np.ldexp(rows.astype(np.float64), -self.exponent)

    def bound_sum(self, largest: Any) -> Fraction:
        """Return a bound on the exact sum, given the one that was computed."""
        if self.is_exact:
            return Fraction(int(largest))
        # Each term and each addition is off by a unit in the last place at most; what was below the range of
        # floats was lost.
        raised = Fraction(float(largest)) * (1 + (self.count + 4) * _UNIT) + self._lost()
        return raised * Fraction(2) ** (self.exponent * self.power)

    def _lost(self) -> Fraction:
        # Without this a weight that is tiny next to the largest would count for nothing.
        return Fraction(self.count, 1 << (1000 if self.power == 2 else 1072))


def combine(classes: list[Integers], most: int) -> Codes | None:
    """Return every combination of one code a class and attribute; None if there are too many."""
    choices = [np.unique(labels, return_index=True)[1] for labels in classes]
    total = math.prod(len(codes) for codes in choices)
    if total > most:
        return None
    columns, repeat = [], total
    for codes in choices:
        repeat //= len(codes)
        columns.append(np.resize(np.repeat(codes, repeat), total))
    return np.stack(columns, axis=1)


def _blocks(workload: Workload, codes: Codes, scale: _Scale) -> Iterator[Array]:
    """Yield the weights of the queries at some cells, some queries at a time."""
    step = max(1, 4_000_000 // max(1, len(codes)))
    for start in range(0, len(workload), step):
        yield scale.read(workload.block(start, min(start + step, len(workload)), codes))


def _root_up(value: Fraction) -> Fraction:
    """Return the root, rounded up in about the twentieth digit; exact for squares."""
    scale = 1 << max(64, 64 + value.denominator.bit_length())
    below = math.isqrt(value.numerator * value.denominator * scale * scale)
    if below * below != value.numerator * value.denominator * scale * scale:
        below += 1
    return Fraction(below, value.denominator * scale)


def _too_large() -> Refused:
    return Refused(
        what="the exact sensitivity of this workload",
        why="its queries have too little structure to search all cells in a reasonable time",
        way_out="Ask sensitivity_bound for a number that is at least as large",
    )
