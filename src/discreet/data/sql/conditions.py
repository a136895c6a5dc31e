"""WHERE, one function per kind of node. NOT is pushed down on the way, so every function takes `negated`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.canonical import (
    MIRRORED,
    OPPOSITE,
    AnySign,
    compare,
    conjunction,
    disjunction,
    outside,
    within,
)
from discreet.data.plan.nodes import FALSE, TRUE, Condition, Field, Polynomial, Span
from discreet.data.plan.numbers import add, constant, multiply, negate, variable
from discreet.data.schema.columns import (
    Boolean,
    Category,
    Column,
    Date,
    Decimal,
    Identifier,
    Integer,
    Ranged,
    Text,
)
from discreet.data.sql.matches import Matched, translate_match
from discreet.data.sql.nodes import Scope, refuse_unknown, take
from discreet.data.sql.text import number, refuse, shorten
from discreet.data.sql.values import refuse_undeclared, refuse_unreachable, write_value

MAX_TERMS = 500
MAX_LIST = 1_000
MAX_PATTERN = 100
MAX_MATCHING = 2_000_000
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_AS_THEY_ARE = "Use + - * on numbers, and compare columns as they are"
_LIKE_WITH_LIKE = "Compare numbers with numbers, without quotes, and dates with dates"
_NO_NUMBERS: dict[type[Column], str] = {
    Category: "a category",
    Boolean: "true or false",
    Date: "a date",
    Text: "free text",
    Identifier: "an identifier",
}
_SIGNS: dict[type[exp.Expression], AnySign] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


@dataclass(frozen=True, slots=True)
class ChoiceColumn:
    """A column whose values are compared for equality only: a category or a boolean."""

    field: Field
    positions: dict[object, int]


@dataclass(frozen=True, slots=True)
class Day:
    """A date, as days since 1970-01-01."""

    number: Polynomial


Operand = Polynomial | Day | ChoiceColumn | str | bool


def condition(node: exp.Expression, scope: Scope, negated: bool = False) -> Condition:
    """Translate a condition, or its negation."""
    kind = type(node)
    if kind in _SIGNS:
        left, right = take(node, "this", "expression")
        sign = OPPOSITE[_SIGNS[kind]] if negated else _SIGNS[kind]
        return _compare(operand(left, scope), sign, operand(right, scope), scope)
    if kind not in _CONDITIONS:
        raise refuse_unknown(node, "a condition")
    return _CONDITIONS[kind](node, scope, negated)


def understand(node: exp.Expression, scope: Scope) -> None:
    """Translate a value that nothing reads, so that no part of a request passes unread."""
    if type(node) in _SIGNS or (type(node) in _CONDITIONS and not isinstance(node, exp.Paren | exp.Column)):
        condition(node, scope)
    else:
        operand(node, scope)


def _chain(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    """AND and OR: long chains lean to the left, so they are walked, not recursed into."""
    kind, parts, rest = type(node), [], [node]
    while rest:
        part = rest.pop()
        if type(part) is kind:
            rest.extend(take(part, "this", "expression"))
        else:
            parts.append(part)
        if len(parts) + len(rest) > MAX_TERMS:
            raise refuse("WHERE", f"it has more than {MAX_TERMS} terms", "Use IN (...) or ask less at once")
    joined = conjunction if (kind is exp.And) != negated else disjunction
    return joined([condition(part, scope, negated) for part in parts], scope.tables)


def _not(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    (inner,) = take(node, "this")
    return condition(inner, scope, not negated)


def _paren(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    (inner,) = take(node, "this")
    return condition(inner, scope, negated)


def _truth(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    del scope
    (value,) = take(node, "this")
    return TRUE if bool(value) != negated else FALSE


def _flag(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    field = scope.field(node)
    if not isinstance(scope.column(field), Boolean):
        raise refuse(field.name, "it is not true or false", "Compare it with a value")
    return _compare(_choice(field, scope), "=", not negated, scope)


def _is(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    left, right = take(node, "this", "expression")
    field = scope.field(left)
    if isinstance(right, exp.Null):
        take(right)
        _require_declared(field, scope)
        everything = scope.tables.span(field)
        return within(field, [everything] if negated else [], missing=not negated, tables=scope.tables)
    if not isinstance(right, exp.Boolean) or not isinstance(scope.column(field), Boolean):
        raise refuse_unknown(node, "a condition")
    (value,) = take(right, "this")
    spans = [(int(bool(value) != negated),) * 2]
    # `IS TRUE` is never unknown: its negation holds for a missing value.
    return within(field, spans, missing=negated, tables=scope.tables)


def _between(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, low, high = (operand(part, scope) for part in take(node, "this", "low", "high"))
    if negated:
        parts = [_compare(this, "<", low, scope), _compare(this, ">", high, scope)]
        return disjunction(parts, scope.tables)
    parts = [_compare(this, ">=", low, scope), _compare(this, "<=", high, scope)]
    return conjunction(parts, scope.tables)


def _in(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, listed = take(node, "this", "expressions")
    if not listed or len(listed) > MAX_LIST:
        raise refuse("IN", f"it must list 1 to {MAX_LIST} values", "List fewer values, or use a range")
    left = operand(this, scope)
    sign: AnySign = "<>" if negated else "="
    parts = [_compare(left, sign, operand(item, scope), scope) for item in listed]
    return conjunction(parts, scope.tables) if negated else disjunction(parts, scope.tables)


def _like(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, pattern, flipped = take(node, "this", "expression", "negate")
    field = scope.field(this)
    column = scope.column(field)
    text = operand(pattern, scope)
    if not isinstance(column, Category) or not isinstance(text, str) or not isinstance(column.values[0], str):
        raise refuse("LIKE", "it works on categories of text and a pattern in quotes", "Use = or IN")
    if len(text) > MAX_PATTERN or "\\" in text:
        why = f"patterns have at most {MAX_PATTERN} characters and no backslash"
        raise refuse("LIKE", why, "List the values with IN")
    _charge(text, column, scope)
    spans = [(i, i) for i, value in enumerate(column.values) if like(str(value), text)]
    if not spans and negated == bool(flipped):
        raise refuse_undeclared(field.name, text, column, sign="LIKE")
    if negated != bool(flipped):
        return outside(field, spans, tables=scope.tables)
    return within(field, spans, missing=False, tables=scope.tables)


def _charge(pattern: str, column: Category, scope: Scope) -> None:
    """Count the comparisons of a pattern before they are made: all patterns of a question have one limit."""
    characters = sum(len(str(value)) + 1 for value in column.values)
    scope.work.matching += (len(pattern) + 1) * characters
    if scope.work.matching > MAX_MATCHING:
        why = f"patterns and declared values make more than {MAX_MATCHING} comparisons of characters"
        raise refuse("LIKE", why, "List the values with IN, or use fewer patterns at once")


def _match(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    (inner, *_) = take(node, "this", "key", "left")
    tests = [] if inner is None else [condition(inner, scope)]
    return translate_match(node, tests, scope, negated)


_CONDITIONS: dict[type[exp.Expression], Callable[[exp.Expression, Scope, bool], Condition]] = {
    exp.And: _chain,
    exp.Or: _chain,
    exp.Not: _not,
    exp.Paren: _paren,
    exp.Boolean: _truth,
    exp.Column: _flag,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    Matched: _match,
}


def like(value: str, pattern: str) -> bool:
    """Match `%` (any text) and `_` (any character), in time len(value) * len(pattern) for every pattern."""
    reachable = {0}
    for wanted in pattern:
        if wanted == "%":
            reachable = set(range(min(reachable), len(value) + 1)) if reachable else set()
        else:
            reachable = {i + 1 for i in reachable if i < len(value) and wanted in ("_", value[i])}
    return len(value) in reachable


def numeric(node: exp.Expression, scope: Scope) -> Polynomial:
    """Translate arithmetic on numbers; refuse anything else."""
    way_out = "Use integer or decimal columns and numbers"
    if isinstance(node, exp.Column):
        field = scope.field(node)
        kind = _NO_NUMBERS.get(type(scope.column(field)))
        if kind is not None:
            units = "; COUNT(DISTINCT ...) counts the units" if kind == "an identifier" else ""
            raise refuse(field.name, f"it is {kind}, not a number", way_out + units)
    found = operand(node, scope)
    if not isinstance(found, Polynomial):
        what = node.name if isinstance(node, exp.Literal) else "a part of the arithmetic"
        raise refuse(what, "it is not a number", way_out)
    return found


def operand(node: exp.Expression, scope: Scope) -> Operand:
    """Translate what may stand beside a comparison sign."""
    if isinstance(node, exp.Literal):
        text, is_string = take(node, "this", "is_string")
        return str(text) if is_string else constant(number(str(text), "number"))
    if isinstance(node, exp.Boolean):
        return bool(take(node, "this")[0])
    if isinstance(node, exp.Paren):
        return operand(take(node, "this")[0], scope)
    if isinstance(node, exp.Cast):
        return _date_literal(node)
    if isinstance(node, exp.Column):
        return _column(node, scope)
    if isinstance(node, exp.Neg):
        return negate(numeric(take(node, "this")[0], scope))
    if type(node) in (exp.Add, exp.Sub, exp.Mul):
        left, right = (numeric(part, scope) for part in take(node, "this", "expression"))
        if isinstance(node, exp.Mul):
            return multiply(left, right)
        return add(left, negate(right) if isinstance(node, exp.Sub) else right)
    if isinstance(node, exp.Div | exp.Mod | exp.IntDiv):
        raise refuse("division", "it fails on some rows, and failing tells about them", "Multiply instead")
    if isinstance(node, exp.Anonymous):
        raise refuse(f"function {node.args.get('this')}", "no function is known here", _AS_THEY_ARE)
    raise refuse_unknown(node, "an expression")


def _column(node: exp.Expression, scope: Scope) -> Operand:
    field = scope.field(node)
    column = scope.column(field)
    if isinstance(column, Integer | Decimal):
        return variable(field)
    if isinstance(column, Date):
        return Day(variable(field))
    if isinstance(column, Category | Boolean):
        return _choice(field, scope)
    _require_declared(field, scope)
    raise refuse_unknown(node, "an expression")


def _require_declared(field: Field, scope: Scope) -> None:
    column = scope.column(field)
    if isinstance(column, Identifier):
        raise refuse(field.name, "an identifier is never compared", "COUNT(DISTINCT ...) counts the units")
    if not column.size:
        way_out = "GROUP BY it, or ask the owner to declare its values"
        raise refuse(field.name, "free text is never compared", way_out)


def _date_literal(node: exp.Expression) -> Day:
    value, to = take(node, "this", "to")
    is_date = isinstance(to, exp.DataType) and take(to, "this")[0] == exp.DataType.Type.DATE
    if not is_date or not isinstance(value, exp.Literal) or not value.is_string:
        why = "it fails on some rows, and failing tells about them"
        raise refuse("cast", why, "Write dates as DATE '2020-12-31'")
    return Day(constant(_days(str(take(value, "this", "is_string")[0]))))


def _days(text: str) -> Fraction:
    try:
        return Fraction(datetime.date.fromisoformat(text).toordinal() - _EPOCH)
    except ValueError:
        raise refuse(f"'{shorten(text)}'", "it is not a date", "Write DATE '2020-12-31'") from None


def _compare(left: Operand, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    """Compare two operands of one type; text beside a date is read as a date."""
    if isinstance(left, str | bool) and not isinstance(right, str | bool):
        return _compare(right, MIRRORED[sign], left, scope)
    if isinstance(right, ChoiceColumn) and not isinstance(left, ChoiceColumn):
        return _compare(right, MIRRORED[sign], left, scope)
    if isinstance(left, ChoiceColumn):
        return _compare_choice(left, sign, right, scope)
    if isinstance(left, Day) and isinstance(right, str):
        right = Day(constant(_days(right)))
    if isinstance(left, Day) and isinstance(right, Day):
        return _numbers(add(left.number, negate(right.number)), sign, scope)
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        return _numbers(add(left, negate(right)), sign, scope)
    sides = (_write_side(left), _write_side(right))
    kinds = " and ".join(f"{side} is {_kind(one)}" for side, one in zip(sides, (left, right), strict=True))
    raise refuse(f"{sides[0]} {sign} {sides[1]}", shorten(kinds, most=100), _LIKE_WITH_LIKE)


def _kind(side: Operand) -> str:
    kinds = {Polynomial: "a number", Day: "a date", str: "text", bool: "a truth value"}
    return kinds.get(type(side), "a category")


def _write_side(side: Operand) -> str:
    """Print one side of a comparison: a column or a value as the request has it, anything longer as dots."""
    if isinstance(side, ChoiceColumn):
        return side.field.name
    if isinstance(side, str | bool):
        return write_value(side)
    number = side.number if isinstance(side, Day) else side
    if not number.fields:
        days = sum((coefficient for _, coefficient in number.terms), Fraction(0))
        is_day = isinstance(side, Day)
        return write_value(datetime.date.fromordinal(int(days) + _EPOCH) if is_day else days)
    return number.fields[0].name if number == variable(number.fields[0]) else "..."


def _numbers(difference: Polynomial, sign: AnySign, scope: Scope) -> Condition:
    """Return the condition `difference sign 0`; refuse an equality that no value of its one column meets."""
    held = {field for names, coefficient in difference.terms for field in names if coefficient}
    if sign in ("=", "<>") and len(held) == 1 and compare(difference, "=", scope.tables) == FALSE:
        (field,) = held
        column, terms = scope.column(field), dict(difference.terms)
        if isinstance(column, Ranged):
            raise refuse_unreachable(field.name, -terms.get((), Fraction(0)) / terms[(field,)], column)
    return compare(difference, sign, scope.tables)


def _choice(field: Field, scope: Scope) -> ChoiceColumn:
    return ChoiceColumn(field, scope.positions(field))


def _compare_choice(left: ChoiceColumn, sign: AnySign, right: Operand, scope: Scope) -> Condition:
    name = left.field.name
    if sign not in ("=", "<>"):
        what = f"{name} {sign} {_write_side(right)}"
        raise refuse(what, f"the values of {name} have no order", "Use =, <>, IN or LIKE")
    value: object = right
    if isinstance(right, Polynomial) and not right.fields:
        value = sum((coefficient for _, coefficient in right.terms), Fraction(0))
    kind = type(next(iter(left.positions)))
    if not isinstance(value, Fraction if kind is int else kind):
        words = {bool: "TRUE or FALSE", str: "text in single quotes"}.get(kind, "a whole number")
        what = f"{name} {sign} {_write_side(right)}"
        raise refuse(what, f"{name} is compared with {words}", "Use one of its declared values")
    if value not in left.positions:
        raise refuse_undeclared(name, value, scope.column(left.field))
    spans: list[Span] = [(left.positions[value],) * 2]
    if sign == "<>":
        return outside(left.field, spans, tables=scope.tables)
    return within(left.field, spans, missing=False, tables=scope.tables)
