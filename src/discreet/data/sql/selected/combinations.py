"""COUNT(DISTINCT a, b), and of what is computed: each combination of values is one number."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import MAX_UNITS, add, constant, multiply, scale, variable
from discreet.data.plan.row_nodes import Field, Polynomial
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.language import operand
from discreet.data.sql.rows.operands import unify
from discreet.data.sql.text import refuse

MAX_COMBINED = 10
_WAY_OUT = "Count one column, or GROUP BY them and count the groups of the answer"


def list_columns(columns: list[exp.Expression]) -> list[exp.Expression]:
    """Return what is counted together, without the brackets around it."""
    if len(columns) == 1 and isinstance(columns[0], exp.Tuple):
        (columns,) = take(columns[0], "expressions")
    while len(columns) == 1 and isinstance(columns[0], exp.Paren):
        columns = list(take(columns[0], "this"))
    return columns


def combine(name: str, columns: list[exp.Expression], scope: Scope) -> Polynomial:
    """Return one number for each combination of values; it is missing where one of them is.

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
        # From 0 on, so that no two combinations are one number.
        steps = count_steps(number, scope.tables)
        combined = add(combined, multiply(constant(size), steps))
        size *= scale(steps, scope.tables).span[1] + 1
        if size > MAX_UNITS:
            raise refuse(name, "there are more combinations than 64-bit integers", _WAY_OUT)
    if not any(times for atoms, times in combined.terms if atoms):
        raise refuse(name, "it is computed of a constant", "Use a column")
    return combined


def count_different(number: Polynomial, tables: PlanTables) -> Aggregate:
    """Count the different values of a number: by their places, or of a column where these are its own.

    However it is written it is one plan, which is read again as it was: else it would be charged again.
    """
    steps = count_steps(number, tables)
    atom = steps.atoms[0]
    if isinstance(atom, Field) and steps == variable(atom):
        return Aggregate("count_distinct", column=atom)
    return Aggregate("count_distinct", steps)


def count_steps(number: Polynomial, tables: PlanTables) -> Polynomial:
    """Return how many steps above its least value a number is: the same again for what it returns.

    What lies above the least value may go in larger steps than the number itself: Mondays are 7 days apart.
    """
    exact = scale(number, tables)
    above = add(number, constant(-exact.span[0] * exact.unit))
    return multiply(constant(1 / scale(above, tables).unit), above)


def _place(name: str, node: exp.Expression, scope: Scope) -> Polynomial:
    _, (number,), _ = unify([operand(node, scope)], name, scope.tables)
    if number is None:
        raise refuse(name, "it is always missing", "Use a column that has values")
    return number
