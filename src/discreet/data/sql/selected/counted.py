"""Counts of rows that meet a condition: however written, they are one plan with the price of a count."""

from __future__ import annotations

from discreet.data.plan.atoms import choose
from discreet.data.plan.canonical import compare, is_there
from discreet.data.plan.numbers import add, constant, scale, value_of, variable
from discreet.data.plan.row_nodes import TRUE, And, Choice, Condition, Field, Polynomial, Within
from discreet.data.schema.columns import Boolean, Category, Identifier, Text
from discreet.data.sql.nodes import Scope
from discreet.data.sql.text import refuse


def keep(number: Polynomial, kept: Condition, scope: Scope) -> Polynomial:
    """Return a number where a condition holds, missing elsewhere."""
    return _require(choose([(kept, number)], None, scope.tables))


def _require(number: Polynomial | None) -> Polynomial:
    """Refuse a number that no row has: None stands for all rows from here on."""
    if number is None:
        raise refuse("an aggregate", "no row can meet its condition", "Change the condition")
    return number


def count_where(kept: Condition, scope: Scope) -> Polynomial | None:
    """Return a number that is there where a condition holds; None where that is in every row."""
    if kept == TRUE:
        return None
    if isinstance(kept, Within) and kept == is_there(kept.field, scope.tables):
        # Such a count of a category, or of free text, is not known as one of a number.
        if not isinstance(scope.column(kept.field), Category | Identifier | Text):
            return variable(kept.field)
    return keep(constant(1), kept, scope)


def count_present(number: Polynomial, scope: Scope) -> Polynomial | None:
    """Return a number that is there in the same rows, whatever its values: only that is counted."""
    if all(isinstance(atom, Field) for atom in number.atoms):
        return variable(number.atoms[0]) if len(number.atoms) == 1 else number
    there = is_there(number, scope.tables)
    if all(isinstance(part, Within) for part in (there.parts if isinstance(there, And) else (there,))):
        return count_where(there, scope)
    (atom, *more) = number.atoms
    if isinstance(atom, Choice) and not more:
        cases = [(test, _as_present(value, scope, test)) for test, value in atom.cases]
        return _require(choose(cases, _as_present(atom.otherwise, scope), scope.tables))
    return number


def _as_present(value: Polynomial | None, scope: Scope, given: Condition | None = None) -> Polynomial | None:
    return value if value is None or scope.tables.nullable(value, given) else constant(1)


def is_zero_or_one(number: Polynomial, scope: Scope) -> bool:
    """Say whether a number is 0 or 1 in every row where it is there."""
    return bool(number.atoms) and number == variable(number.atoms[0]) and _is_small(number, scope)


def _is_small(number: Polynomial, scope: Scope) -> bool:
    atom = number.atoms[0]
    if isinstance(atom, Field):
        return isinstance(scope.column(atom), Boolean)
    low, high = scale(number, scope.tables).span
    return 0 <= low and high == 1


def count_ones(number: Polynomial, scope: Scope) -> Polynomial | None:
    """Return what to count for the sum of a number that is 0 or 1."""
    atom = number.atoms[0]
    if isinstance(atom, Choice):
        values = [*(value for _, value in atom.cases), atom.otherwise]
        if all(value is None or value_of(value) in (0, 1) for value in values):
            cases = [(test, _one_or_none(value)) for test, value in atom.cases]
            ones = _require(choose(cases, _one_or_none(atom.otherwise), scope.tables))
            return count_present(ones, scope)
    return count_where(compare(add(number, constant(-1)), "=", scope.tables), scope)


def _one_or_none(value: Polynomial | None) -> Polynomial | None:
    return None if value is None or value_of(value) == 0 else value
