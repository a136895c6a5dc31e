"""What an aggregate is computed from: vectors of whole numbers, one entry a group, that an engine adds up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.core.errors import Refused
from discreet.data.plan.kinds import Kind
from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import MAX_UNITS, add, constant, multiply, scale, variable
from discreet.data.plan.row_nodes import Choice, Field, Polynomial, Span, StepFunction
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.schema.columns import Date, Ranged

MeasureKind = Literal["rows", "units", "sum", "squares", "histogram", "values", "distinct"]
CHOSEN: tuple[MeasureKind, ...] = ("histogram", "values")
"""Measures that values are chosen from; noise is added to all others."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A vector of whole numbers that the engine computes exactly.

    Parameters
    ----------
    kind
        rows (present values), units, sum, sum of squares, rows by value of a number (histogram) or of a
        column (values), or different values.
    number
        What is summed or counted; None counts rows whatever they hold.
    column
        The column whose present or different values are counted.
    unit
        What one step of the whole numbers is worth (of a square: its root).
    row
        Each row's value is clamped to these steps. Of a column's values: as many as are declared.
    centre
        Steps subtracted from each row's clamped value, to halve what a unit can move.
    group
        Each unit's total in a group is clamped to these steps.
    """

    kind: MeasureKind
    number: Polynomial | None = None
    unit: Fraction = Fraction(1)
    row: Span = (1, 1)
    centre: int = 0
    group: Span | None = None
    column: Field | None = None

    @property
    def width(self) -> int:
        """How many values a row can have."""
        return self.row[1] - self.row[0] + 1

    @property
    def each_row(self) -> Span:
        """Between which steps one row adds to its group."""
        if self.kind not in ("sum", "squares"):
            return 0, 1
        low, high = self.row[0] - self.centre, self.row[1] - self.centre
        if self.kind == "squares":
            return 0, max(low * low, high * high)
        return low, high


def measures(aggregate: Aggregate, tables: PlanTables) -> tuple[Measure, ...]:
    """Return the measures one aggregate is computed from."""
    group = None
    if aggregate.kind == "count_units":
        return (Measure("units"),)
    if aggregate.kind == "count":
        if aggregate.group_bounds is not None:
            group = int(aggregate.group_bounds[0]), int(aggregate.group_bounds[1])
        return (Measure("rows", _absent(aggregate.number, tables), group=group, column=aggregate.column),)
    if aggregate.column is not None:
        kind: MeasureKind = "values" if aggregate.kind == "mode" else "distinct"
        return (Measure(kind, row=_values(aggregate.column, tables), column=aggregate.column),)
    if aggregate.number is None:
        raise Refused(what=aggregate.kind, why="it is computed of a number", way_out="Name a column")
    exact = scale(aggregate.number, tables)
    row, unit = _steps(aggregate.row_bounds, exact.unit) or exact.span, exact.unit
    if aggregate.other is not None:
        return _pair_measures(aggregate.number, aggregate.other, aggregate.kind, tables)
    if aggregate.kind in ("quantile", "minimum", "maximum"):
        return (Measure("histogram", aggregate.number, unit, row),)
    if aggregate.kind == "count_distinct":
        # Combinations are told apart by a number that says nothing else: what is counted has no unit.
        return (Measure("distinct", aggregate.number, row=row),)
    if aggregate.kind == "sum":
        group = _steps(aggregate.group_bounds, exact.unit)
        return (Measure("sum", aggregate.number, unit, row, group=group),)
    centre = (row[0] + row[1]) // 2
    total = Measure("sum", aggregate.number, unit, row, centre)
    count = Measure("rows", _absent(aggregate.number, tables))
    if aggregate.kind == "average":
        return total, count
    return _squares(total), total, count


def _squares(total: Measure) -> Measure:
    """Return the squares of what a measure adds up."""
    if max(total.row[1] - total.centre, total.centre - total.row[0]) ** 2 > MAX_UNITS:
        raise Refused(
            what="variance",
            why="the declared bounds are too wide for squares in 64-bit integers",
            way_out="Use narrower contribution bounds, or ask the owner for a coarser grid",
        )
    return replace(total, kind="squares")


def _pair_measures(
    first: Polynomial, second: Polynomial, kind: Kind, tables: PlanTables
) -> tuple[Measure, ...]:
    """Return products, sums, squares and the count of the pairs that are there, around the middles.

    The squares of the second number are there for all but covariances, those of the first for correlations.
    """
    nothing = [multiply(constant(0), one) for one in (first, second)]
    numbers = add(first, nothing[1]), add(second, nothing[0])  # each missing where the other is
    sums, around = [], []
    for number in numbers:
        exact = scale(number, tables)
        centre = (exact.span[0] + exact.span[1]) // 2
        sums.append(Measure("sum", number, exact.unit, exact.span, centre))
        around.append(add(number, constant(-centre * exact.unit)))
    product = multiply(*around)
    exact = scale(product, tables)
    found = [Measure("sum", product, exact.unit, exact.span), *sums]
    if not kind.startswith("covariance"):
        found.append(_squares(sums[1]))
    if kind in ("correlation", "determination"):
        found.append(_squares(sums[0]))
    return *found, Measure("rows", _absent(add(*nothing), tables))


def _values(field: Field, tables: PlanTables) -> Span:
    """Return the codes of a column, or more than any unit has rows where its values are not declared."""
    return tables.span(field) if is_declared(tables.column(field)) else (0, MAX_UNITS)


def _absent(number: Polynomial | None, tables: PlanTables) -> Polynomial | None:
    """Return a number that may be missing; None where it never is, so that all rows are counted once."""
    if number is None or not tables.nullable(number):
        return None
    atom = number.atoms[0]
    if len(number.atoms) == 1 and isinstance(atom, StepFunction) and is_there_with(atom, tables):
        return variable(atom.field)  # in the same rows, and counted without being computed
    return number


def is_there_with(function: StepFunction, tables: PlanTables) -> bool:
    """Say whether a function of a number or date is there where its column is, and nowhere else."""
    if not isinstance(tables.column(function.field), Ranged):
        return False
    return function.missing is None and all(code is not None for _, code in function.pieces)


def _steps(bounds: tuple[Fraction, Fraction] | None, unit: Fraction) -> Span | None:
    return None if bounds is None else (int(bounds[0] / unit), int(bounds[1] / unit))


def find_day(aggregate: Aggregate, tables: PlanTables) -> Field | None:
    """Return the column of dates that a date is chosen from; None where something else is."""
    if aggregate.kind not in ("quantile", "minimum", "maximum") or aggregate.number is None:
        return None
    return find_own_day(aggregate.number, tables)


def find_own_day(number: Polynomial, tables: PlanTables) -> Field | None:
    """Return the column of dates whose own days a number is, wherever it is there; None for any other."""
    field = _find_own(number, Fraction(1), tables)
    return field if field is not None and isinstance(tables.column(field), Date) else None


def _find_own(number: Polynomial, times: Fraction, tables: PlanTables) -> Field | None:
    """Return the column whose own code so many times a number is, wherever that is there; None for others.

    A day under a condition is a day. The month of a day, or the days since then, is computed from it.
    """
    if len(number.terms) != 1 or len(number.terms[0][0]) != 1:
        return None
    (((atom,), coefficient),) = number.terms
    times *= coefficient
    if isinstance(atom, Field):
        return atom if times == 1 else None
    if isinstance(atom, StepFunction):
        before = [tables.span(atom.field)[0] - 1, *(last for last, _ in atom.pieces)]
        own = all(
            code is None or (code * times == last and first == last - 1)
            for first, (last, code) in zip(before[:-1], atom.pieces, strict=True)
        )
        return atom.field if own and atom.missing is None else None
    if not isinstance(atom, Choice):
        return None
    values = [value for value in (*(value for _, value in atom.cases), atom.otherwise) if value is not None]
    found = {_find_own(value, times, tables) for value in values}
    return found.pop() if len(found) == 1 else None
