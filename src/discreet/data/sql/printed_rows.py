"""What a plan says of single rows, as SQL of our own dialect: numbers, conditions, names."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from fractions import Fraction

from discreet.core.errors import InternalError
from discreet.data.plan.canonical import gaps
from discreet.data.plan.numbers import constant
from discreet.data.plan.row_nodes import (
    And,
    Atom,
    Choice,
    Compare,
    Condition,
    Field,
    Polynomial,
    Quotient,
    Span,
    StepFunction,
    TextLike,
    UnitIn,
    Within,
    unescape,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Boolean, Category, Column, Date
from discreet.data.sql.printed_values import coefficient, decimal, decimal_between, literal

_SHORT = 8
"""Pieces of a function of one column that are printed as a CASE; more are listed by their last codes."""


def condition_sql(condition: Condition, tables: PlanTables) -> str:
    """Return a condition as SQL, in brackets where that matters."""
    if isinstance(condition, Within):
        return _within(condition, tables)
    if isinstance(condition, Compare):
        return f"{number_sql(condition.number, tables)} {condition.sign} 0"
    if isinstance(condition, TextLike):
        return _like(condition)
    if isinstance(condition, UnitIn):
        raise InternalError("a list of units is for rows, and not for what is computed of them")
    if not condition.parts:
        return "TRUE" if isinstance(condition, And) else "FALSE"
    word = " AND " if isinstance(condition, And) else " OR "
    return "(" + word.join(condition_sql(part, tables) for part in condition.parts) + ")"


def _like(condition: TextLike) -> str:
    name, word = name_sql(condition.field), "NOT " if condition.negated else ""
    read = [(pattern, *unescape(pattern)) for pattern in condition.patterns]
    plain = [literal(said) for _, said, marks in read if not marks]
    text = f"LOWER({name})" if condition.folded else name
    choices = [f"{text} {word}IN ({', '.join(plain)})"] if plain else []
    sign = "ILIKE" if condition.folded else "LIKE"
    choices += [f"{name} {word}{sign} {literal(one)} ESCAPE '!'" for one, _, marks in read if marks]
    joined = " AND " if condition.negated else " OR "
    return choices[0] if len(choices) == 1 else f"({joined.join(choices)})"


def _within(condition: Within, tables: PlanTables) -> str:
    column, name = tables.column(condition.field), name_sql(condition.field)
    choices = [f"{name} IS NULL"] if condition.missing else []
    if condition.spans == (tables.span(condition.field),):
        choices.append(f"{name} IS NOT NULL")
    elif isinstance(column, Boolean | Category):
        choices += [f"{name} {_list_values(column, condition.spans)}"] if condition.spans else []
    else:
        choices += [_range(name, span, column) for span in condition.spans]
    return choices[0] if len(choices) == 1 else "(" + " OR ".join(choices) + ")"


def _list_values(column: Boolean | Category, spans: tuple[Span, ...]) -> str:
    """List the values that lie in some spans, or the others where they are fewer."""
    inside = sum(b - a + 1 for a, b in spans)
    listed = spans if 2 * inside <= column.size else gaps(spans, (0, column.size - 1))
    values = column.values if isinstance(column, Category) else column.domain()
    shown = ", ".join(literal(values[i]) for a, b in listed for i in range(a, b + 1))
    return f"{'IN' if listed is spans else 'NOT IN'} ({shown})"


def _range(name: str, span: Span, column: Column) -> str:
    low, high = (column.decode(end) for end in span)
    if isinstance(low, datetime.date) or isinstance(high, datetime.date):
        return f"({name} >= {literal(low)} AND {name} <= {literal(high)})"
    step = getattr(column, "grid", Fraction(1))
    lowest = decimal_between(Fraction(low) - step, Fraction(low))
    highest = -decimal_between(-Fraction(high) - step, -Fraction(high))
    return f"({name} >= {decimal(lowest)} AND {name} <= {decimal(highest)})"


def number_sql(number: Polynomial, tables: PlanTables) -> str:
    """Return a number as SQL."""
    terms = []
    for names, times in number.terms:
        factors = [_atom(atom, tables) for atom in names]
        if times != 1 or not factors:
            factors.insert(0, coefficient(times))
        terms.append(" * ".join(factors))
    return " + ".join(terms) or "0"


def _atom(atom: Atom, tables: PlanTables) -> str:
    if isinstance(atom, Field):
        column = tables.column(atom)
        if isinstance(column, Boolean):
            return f"CAST({name_sql(atom)} AS INT)"
        return f"UNIX_DATE({name_sql(atom)})" if isinstance(column, Date) else name_sql(atom)
    if isinstance(atom, Quotient):
        return f"FLOOR_DIV({number_sql(atom.numerator, tables)}, {number_sql(atom.denominator, tables)})"
    if isinstance(atom, StepFunction) and len(atom.pieces) > _SHORT:
        listed = ", ".join(f"{last}, {'NULL' if code is None else code}" for last, code in atom.pieces)
        return f"STEPS({name_sql(atom.field)}, {'NULL' if atom.missing is None else atom.missing}, {listed})"
    return cases_sql(atom, tables, lambda number: number_sql(number, tables))


def cases_sql(atom: StepFunction | Choice, tables: PlanTables, leaf: Callable[[Polynomial], str]) -> str:
    """Print a choice; a leaf is a number, or what stands for it."""
    if isinstance(atom, Choice):
        cases = [(condition_sql(test, tables), value) for test, value in atom.cases]
        otherwise = atom.otherwise
    else:
        cases, otherwise = list(_pieces(atom, tables)), None
    shown = [f"WHEN {test} THEN {'NULL' if value is None else leaf(value)}" for test, value in cases]
    last = "" if otherwise is None else f" ELSE {leaf(otherwise)}"
    return f"CASE {' '.join(shown)}{last} END"


def _pieces(atom: StepFunction, tables: PlanTables) -> Iterator[tuple[str, Polynomial | None]]:
    field = atom.field
    low, _ = tables.span(field)
    if tables.nullable(field) and atom.missing is not None:
        yield f"{name_sql(field)} IS NULL", constant(atom.missing)
    if isinstance(tables.column(field), Category):
        spans: dict[int, list[Span]] = {}
        for last, code in atom.pieces:
            if code is not None:
                spans.setdefault(code, []).append((low, last))
            low = last + 1
        for code, listed in spans.items():
            yield _within(Within(field, tuple(listed), missing=False), tables), constant(code)
        return
    for last, code in atom.pieces:
        # Each test is of all codes so far: the pieces before it are taken already.
        test = _within(Within(field, ((low, last),), missing=False), tables)
        yield test, None if code is None else constant(code)


def name_sql(field: Field) -> str:
    """Return a column as SQL."""
    return f"{quote(field.table)}.{quote(field.name)}"


def quote(name: str) -> str:
    """Return a name in quotes."""
    return f'"{name}"'
