"""Comparisons of two operands of one kind; anything else is refused with both sides named."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

from discreet.data.plan.canonical import (
    MIRRORED,
    AnySign,
    compare,
    conjunction,
    disjunction,
    outside,
    within,
)
from discreet.data.plan.numbers import add, constant, multiply, negate, value_of, variable
from discreet.data.plan.row_nodes import FALSE, TRUE, Condition, Field, Polynomial, Span
from discreet.data.schema.columns import Ranged
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.operands import (
    ChoiceColumn,
    Day,
    Labelled,
    Mapped,
    Missing,
    Operand,
    Ratio,
    as_truth,
    describe,
    differ,
    kind_of,
    unify,
)
from discreet.data.sql.text import refuse, shorten
from discreet.data.sql.values import refuse_undeclared, refuse_unreachable, write_value

EPOCH = datetime.date(1970, 1, 1).toordinal()
_MIDNIGHT = re.compile(r"[ T]00:00(:00(\.0{1,9})?)?(Z|\+00(:?00)?)?\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:")
_LIKE_WITH_LIKE = "Compare numbers with numbers, without quotes, and dates with dates"


def compare_sides(left: Operand, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    """Compare two operands of one kind; text beside a date is read as a date."""
    if isinstance(left, Missing) or isinstance(right, Missing):
        raise refuse(f"{sign} NULL", "no comparison with NULL is true", "Write IS NULL or IS NOT NULL")
    if _is_plain(left) and not _is_plain(right):
        return compare_sides(right, MIRRORED[sign], left, scope)
    if isinstance(left, Day) and isinstance(right, str):
        right = Day(constant(days(right)))
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {"truth"} and not (isinstance(left, ChoiceColumn) and isinstance(right, bool)):
        return _compare_truth(left, sign, right, scope)
    if isinstance(right, ChoiceColumn) and isinstance(left, Polynomial):
        return compare_sides(right, MIRRORED[sign], left, scope)
    if isinstance(left, ChoiceColumn) and not isinstance(right, ChoiceColumn | Mapped | Labelled):
        return _compare_choice(left, sign, right, scope)
    if kinds == {"label"}:
        return _compare_labels(left, sign, right, scope)
    if isinstance(left, Day) and isinstance(right, Day):
        return _numbers(add(left.number, negate(right.number)), sign, scope)
    if isinstance(left, Polynomial | Ratio) and isinstance(right, Polynomial | Ratio):
        return _compare_numbers(left, sign, right, scope)
    raise refuse_sides(left, sign, right)


def _is_plain(side: Operand) -> bool:
    return isinstance(side, str | bool)


def refuse_sides(left: Operand, sign: AnySign, right: Operand) -> Exception:
    """Return the refusal of a comparison of two kinds."""
    sides = (write_side(left), write_side(right))
    kinds = " and ".join(f"{side} is {describe(one)}" for side, one in zip(sides, (left, right), strict=True))
    return refuse(f"{sides[0]} {sign} {sides[1]}", shorten(kinds, most=100), _LIKE_WITH_LIKE)


def write_side(side: Operand) -> str:
    """Print one side of a comparison: a column or a value as the request has it, anything longer as dots."""
    if isinstance(side, ChoiceColumn):
        return side.field.name
    if isinstance(side, str | bool):
        return write_value(side)
    if isinstance(side, Missing):
        return "NULL"
    number = side.number if isinstance(side, Day) else side
    value = value_of(number) if isinstance(number, Polynomial) else None
    if value is not None:
        is_day = isinstance(side, Day)
        return write_value(datetime.date.fromordinal(int(value) + EPOCH) if is_day else value)
    if isinstance(number, Polynomial) and isinstance(number.atoms[0], Field):
        return number.atoms[0].name if number == variable(number.atoms[0]) else "..."
    return "..."


def days(text: str) -> Fraction:
    """Return a written date as days since 1970-01-01."""
    return Fraction(read_day_text(text).toordinal() - EPOCH)


def read_day_text(text: str) -> datetime.date:
    """Return a written date, also as the midnight with which it begins."""
    try:
        return datetime.date.fromisoformat(_MIDNIGHT.sub("", text))
    except ValueError:
        if _MOMENT.match(text) is None:
            raise refuse(f"'{shorten(text)}'", "it is not a date", "Write DATE '2020-12-31'") from None
    way_out = "Write DATE '2020-12-31'; what is before a moment of a day is < the next day"
    raise refuse(f"'{shorten(text)}'", "dates have no time of day here", way_out)


def _compare_numbers(
    left: Polynomial | Ratio, sign: AnySign, right: Polynomial | Ratio, scope: Scope
) -> Condition:
    """Compare exactly: a quotient is not rounded first."""
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        return _numbers(add(left, negate(right)), sign, scope)
    one = constant(1)
    above, below = (left.above, left.below) if isinstance(left, Ratio) else (left, one)
    other, under = (right.above, right.below) if isinstance(right, Ratio) else (right, one)
    difference = add(multiply(above, under), negate(multiply(other, below)))
    bottom = multiply(below, under)
    tables = scope.tables
    sides = [
        conjunction([compare(bottom, ">", tables), compare(difference, sign, tables)], tables),
        conjunction([compare(bottom, "<", tables), compare(difference, MIRRORED[sign], tables)], tables),
    ]
    return disjunction(sides, tables)


def _numbers(difference: Polynomial, sign: AnySign, scope: Scope) -> Condition:
    """Return the condition `difference sign 0`; refuse an equality that no value of its one column meets."""
    held = {atom for names, coefficient in difference.terms for atom in names if coefficient}
    columns = [atom for atom in held if isinstance(atom, Field)]
    if sign in ("=", "<>") and len(held) == 1 and columns and compare(difference, "=", scope.tables) == FALSE:
        (field,) = columns
        column, terms = scope.column(field), dict(difference.terms)
        if isinstance(column, Ranged) and (field,) in terms:
            raise refuse_unreachable(field.name, -terms.get((), Fraction(0)) / terms[(field,)], column)
    return compare(difference, sign, scope.tables)


def _compare_choice(left: ChoiceColumn, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    name = left.field.name
    if sign not in ("=", "<>"):
        what = f"{name} {sign} {write_side(right)}"
        way_out = "Use =, <>, IN or LIKE"
        if left.kind is int:
            way_out = f"Use =, <> or IN, or CAST({name} AS INT)"
        raise refuse(what, f"the values of {name} have no order", way_out)
    value: object = right
    if isinstance(right, Polynomial) and not right.atoms:
        value = value_of(right)
    if not isinstance(value, Fraction if left.kind is int else left.kind):
        words = {bool: "TRUE or FALSE", str: "text in single quotes"}.get(left.kind, "a whole number")
        what = f"{name} {sign} {write_side(right)}"
        raise refuse(what, f"{name} is compared with {words}", "Use one of its declared values")
    if value not in left.positions:
        raise refuse_undeclared(name, value, scope.column(left.field))
    spans: list[Span] = [(left.positions[value],) * 2]
    if sign == "<>":
        return outside(left.field, spans, tables=scope.tables)
    return within(left.field, spans, missing=False, tables=scope.tables)


def _compare_truth(left: Operand, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    one, other = as_truth(left, scope.tables), as_truth(right, scope.tables)
    if one is None or other is None or sign not in ("=", "<>"):
        raise refuse(f"... {sign} ...", "truth values have no order", "Use =, <>, AND, OR or NOT")
    same, different = differ(one, other, scope.tables)
    return same if sign == "=" else different


def _compare_labels(left: Operand, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    if sign not in ("=", "<>"):
        raise refuse(f"... {sign} ...", "texts have no order here", "Use =, <>, IN or LIKE")
    if isinstance(left, str) and isinstance(right, str):
        return TRUE if (left == right) == (sign == "=") else FALSE
    if isinstance(left, Mapped) and isinstance(right, str):
        return _compare_mapped(left, sign, right, scope)
    _, numbers, _ = unify([left, right], "a comparison", scope.tables)
    if isinstance(right, str) and isinstance(left, Labelled) and right not in left.labels:
        raise _refuse_value(right, left.labels)
    if numbers[0] is None or numbers[1] is None:
        return FALSE
    return compare(add(numbers[0], negate(numbers[1])), sign, scope.tables)


def _compare_mapped(left: Mapped, sign: AnySign, right: str, scope: Scope) -> Condition:
    """Compare on the declared values: a set, however many there are."""
    if right not in left.values and right != left.missing:
        raise _refuse_value(right, [value for value in left.values if value is not None])
    wanted = sign == "="
    spans = [
        (i, i) for i, value in enumerate(left.values) if value is not None and (value == right) == wanted
    ]
    missing = left.missing is not None and (left.missing == right) == wanted
    return within(left.field, spans, missing=missing, tables=scope.tables)


def _refuse_value(value: str, labels: object) -> Exception:
    known = ", ".join(write_value(label) for label in list(dict.fromkeys(labels))[:8])  # type: ignore[call-overload]
    why = "no declared value gives it"
    return refuse(f"... = {write_value(value)}", why, f"Possible are {shorten(known, most=200)}")
