"""Which aggregates are days: those chosen from a column of dates as it is."""

from __future__ import annotations

from fractions import Fraction

from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.row_nodes import Choice, Field, Polynomial, StepFunction
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Date


def find_day(aggregate: Aggregate, tables: PlanTables) -> Field | None:
    """Return the column of dates that a date is chosen from; None where something else is."""
    if aggregate.kind not in ("quantile", "minimum", "maximum") or aggregate.number is None:
        return None
    field = _find_own(aggregate.number, Fraction(1), tables)
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
