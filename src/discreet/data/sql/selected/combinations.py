"""COUNT(DISTINCT a, b), and of what is computed: each combination of values is one number."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import MAX_UNITS, add, constant, multiply, scale
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.language import operand
from discreet.data.sql.rows.operands import unify
from discreet.data.sql.text import refuse

MAX_COMBINED = 10
_WAY_OUT = "Count one column, or GROUP BY them and count the groups of the answer"


def count_combinations(name: str, columns: list[exp.Expression], scope: Scope) -> Aggregate:
    """Count the different combinations of values that rows have; rows where one is missing do not count.

    Parameters
    ----------
    name
        What the request calls it.
    columns
        What is combined: declared columns, and whatever is computed of them.
    scope
        What names mean.
    """
    if not 1 <= len(columns) <= MAX_COMBINED:
        raise refuse(name, f"it counts combinations of 1 to {MAX_COMBINED} values", _WAY_OUT)
    numbers = [_place(name, column, scope) for column in columns]
    combined, size = constant(0), 1
    for number in sorted(dict.fromkeys(numbers), key=repr):  # in whichever order they are written
        exact = scale(number, scope.tables)
        low, high = exact.span
        # Places from 0, so that no two combinations are one number.
        place = add(multiply(constant(1 / exact.unit), number), constant(-low))
        combined = add(combined, multiply(constant(size), place))
        size *= high - low + 1
        if size > MAX_UNITS:
            raise refuse(name, "there are more combinations than 64-bit integers", _WAY_OUT)
    if not any(times for atoms, times in combined.terms if atoms):
        raise refuse(name, "it is computed of a constant", "Use a column")
    return Aggregate("count_distinct", combined)


def _place(name: str, node: exp.Expression, scope: Scope) -> Polynomial:
    _, (number,), _ = unify([operand(node, scope)], name, scope.tables)
    if number is None:
        raise refuse(name, "it is always missing", "Use a column that has values")
    return number
