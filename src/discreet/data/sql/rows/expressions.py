"""Expressions, one function per kind of node. What functions do with arguments is in files of their own."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.data.plan.atoms import simplify
from discreet.data.plan.narrowing import exclude, narrow
from discreet.data.plan.numbers import add, constant, negate, variable
from discreet.data.plan.row_nodes import Condition, Field, Polynomial
from discreet.data.schema.columns import Boolean, Category, Column, Date, Decimal, Identifier, Integer, Text
from discreet.data.sql.nodes import Scope, refuse_unknown, take
from discreet.data.sql.rows.casts import cast_operand, is_whole
from discreet.data.sql.rows.comparing import compare_sides
from discreet.data.sql.rows.dates import add_interval, extract, read_interval, today
from discreet.data.sql.rows.function_calls import arguments_of, compute_once, decide, is_now, read_call
from discreet.data.sql.rows.functions import (
    divide,
    int_div,
    minus,
    modulo,
    number_of,
    plus,
    product,
)
from discreet.data.sql.rows.operands import (
    MISSING,
    ChoiceColumn,
    Day,
    Missing,
    Operand,
    as_number,
    as_truth,
    is_present,
    kind_of,
    truth_number,
)
from discreet.data.sql.rows.texts import TEXT_FUNCTIONS, concatenate
from discreet.data.sql.rows.translate import ConditionReader, ExpressionReader, condition, operand
from discreet.data.sql.text import number, refuse, shorten

_NO_NUMBERS: dict[type[Column], str] = {
    Category: "a category",
    Boolean: "true or false",
    Date: "a date",
    Text: "free text",
    Identifier: "an identifier",
}
_UNITS = "; COUNT(DISTINCT ...) counts the units"


def numeric(node: exp.Expression, scope: Scope) -> Polynomial:
    """Translate arithmetic on numbers; refuse anything else."""
    _refuse_no_number(node, scope)
    return _settle(node, operand(node, scope), scope)


def _settle(node: exp.Expression, side: Operand, scope: Scope) -> Polynomial:
    found = number_of(side, _what(node))
    value = None if isinstance(found, Missing) else as_number(found, scope.tables)
    settled = None if value is None else simplify(value, scope.tables)
    if settled is None:
        raise refuse(_what(node), "it is always missing", "Use a column that has values")
    return settled


def summand(node: exp.Expression, scope: Scope) -> Polynomial:
    """Translate what may be summed: a number, or a truth value as 0 and 1."""
    if isinstance(node, exp.Column):
        if isinstance(scope.column(scope.field(node)), Boolean):
            return variable(scope.field(node))
        return numeric(node, scope)
    return _sum(node, operand(node, scope), scope)


def counted(node: exp.Expression, scope: Scope) -> Polynomial | Condition:
    """Translate what may be counted: what may be summed, or the condition that a text or a date is there."""
    if isinstance(node, exp.Column):
        return summand(node, scope)
    side = operand(node, scope)
    return is_present(side, scope.tables) if kind_of(side) in ("label", "date") else _sum(node, side, scope)


def _sum(node: exp.Expression, side: Operand, scope: Scope) -> Polynomial:
    truth = None if isinstance(side, Missing) else as_truth(side, scope.tables)
    told = None if truth is None else truth_number(truth, scope.tables)
    return _settle(node, side, scope) if truth is None or told is None else told


def _refuse_no_number(node: exp.Expression, scope: Scope) -> None:
    if not isinstance(node, exp.Column) or is_now(node, scope):
        return
    field = scope.field(node)
    column = scope.column(field)
    kind = _NO_NUMBERS.get(type(column))
    if kind is not None:
        way_out = "Use integer or decimal columns and numbers"
        if isinstance(column, Boolean) or (
            isinstance(column, Category) and isinstance(column.values[0], int)
        ):
            way_out = f"Write CAST({field.name} AS INT)"
        units = _UNITS if kind == "an identifier" else ""
        raise refuse(field.name, f"it is {kind}, not a number", way_out + units)


def _what(node: exp.Expression) -> str:
    return node.name if isinstance(node, exp.Literal) else "a part of the arithmetic"


def _literal(node: exp.Expression, scope: Scope) -> Operand:
    del scope
    text, is_string = take(node, "this", "is_string")
    return str(text) if is_string else constant(number(str(text), "number"))


def _raw(node: exp.Expression, scope: Scope) -> Operand:
    del scope
    return str(take(node, "this")[0])


def _boolean(node: exp.Expression, scope: Scope) -> Operand:
    del scope
    return bool(take(node, "this")[0])


def _null(node: exp.Expression, scope: Scope) -> Operand:
    del scope
    take(node)
    return MISSING


def _paren(node: exp.Expression, scope: Scope) -> Operand:
    return operand(take(node, "this")[0], scope)


def _cast(node: exp.Expression, scope: Scope) -> Operand:
    value, to, _ = take(node, "this", "to", "safe")
    if isinstance(value.unnest(), exp.Div) and is_whole(to):
        why = "of a quotient, some dialects cut the rest off by it and others round"
        raise refuse("CAST(x / y AS INT)", why, "Write FLOOR(x / 10), x // 10 or ROUND(x / 10)")
    return cast_operand(operand(value, scope), to, scope, safe=isinstance(node, exp.TryCast))


def _column(node: exp.Expression, scope: Scope) -> Operand:
    if is_now(node, scope):
        return today(scope)
    field = scope.field(node)
    column = scope.column(field)
    if isinstance(column, Integer | Decimal):
        return variable(field)
    if isinstance(column, Date):
        return Day(variable(field))
    if isinstance(column, Category | Boolean):
        return ChoiceColumn(field, scope.positions(field))
    require_declared(field, scope)
    raise refuse_unknown(node, "an expression")


def require_declared(field: Field, scope: Scope) -> None:
    """Refuse a column of which nothing public is known."""
    column = scope.column(field)
    if isinstance(column, Identifier):
        raise refuse(field.name, "an identifier is never compared", "COUNT(DISTINCT ...) counts the units")
    if not column.size:
        why = "free text is compared with text in quotes, by =, <>, IN and LIKE; nothing is computed of it"
        raise refuse(
            field.name, why, "Write x LIKE '%text%', GROUP BY it, or ask the owner to declare its values"
        )


def _negative(node: exp.Expression, scope: Scope) -> Operand:
    (inner,) = take(node, "this")
    _refuse_no_number(inner, scope)
    found = number_of(operand(inner, scope), _what(inner))
    return found if isinstance(found, Missing) else minus(found)


def _arithmetic(node: exp.Expression, scope: Scope) -> Operand:
    left, right = take(node, "this", "expression")
    sign = -1 if isinstance(node, exp.Sub) else 1
    if not isinstance(node, exp.Mul):
        if isinstance(right, exp.Interval):
            return add_interval(operand(left, scope), read_interval(right), sign, scope)
        if isinstance(left, exp.Interval) and sign == 1:
            return add_interval(operand(right, scope), read_interval(left), sign, scope)
    sides = operand(left, scope), operand(right, scope)
    if any(isinstance(side, Day) for side in sides) and not isinstance(node, exp.Mul):
        return _with_days(*sides, sign)
    for part in (left, right):
        _refuse_no_number(part, scope)
    one, other = (number_of(side, _what(part)) for side, part in zip(sides, (left, right), strict=True))
    if isinstance(one, Missing) or isinstance(other, Missing):
        return MISSING
    if isinstance(node, exp.Mul):
        return product(one, other)
    return plus(one, minus(other) if sign < 0 else other)


def _with_days(left: Operand, right: Operand, sign: int) -> Operand:
    """Add days to a date, or count the days between two dates."""
    if isinstance(left, Day) and isinstance(right, Day) and sign < 0:
        return add(left.number, negate(right.number))
    if isinstance(right, Day) and sign > 0:
        left, right = right, left
    if isinstance(left, Day) and isinstance(right, Polynomial):
        return Day(add(left.number, right if sign > 0 else negate(right)))
    raise refuse("arithmetic with dates", "a date takes days or an INTERVAL", "Write day + 7, or day1 - day2")


def _division(node: exp.Expression, scope: Scope) -> Operand:
    left, right, _, safe = take(node, "this", "expression", "typed", "safe")
    bare = right.this if isinstance(right, exp.Paren) else right
    if isinstance(bare, exp.Anonymous) and str(bare.this).upper() == "NULLIF":
        first, second = arguments_of(bare, "NULLIF", 2, 2)
        if isinstance(second, exp.Literal) and operand(second, scope) == constant(0):
            right, safe = first, True
    for part in (left, right):
        _refuse_no_number(part, scope)
    one, other = (number_of(operand(part, scope), _what(part)) for part in (left, right))
    if isinstance(one, Missing) or isinstance(other, Missing):
        return MISSING
    return divide(one, other, scope, safe=bool(safe))


def _whole_division(node: exp.Expression, scope: Scope) -> Operand:
    parts = take(node, "this", "expression")
    for part in parts:
        _refuse_no_number(part, scope)
    sides = [operand(part, scope) for part in parts]
    return (modulo if isinstance(node, exp.Mod) else int_div)("division", sides, scope)


def _case(node: exp.Expression, scope: Scope) -> Operand:
    this, ifs, default = take(node, "this", "ifs", "default")
    subject = None if this is None else operand(this, scope)
    tests: list[Condition] = []
    values: list[Operand] = []
    known = scope.known
    for one in ifs:
        when, then = take(one, "this", "true")
        where = replace(scope, known=known)
        if subject is None:
            tests.append(condition(when, where))
        else:
            tests.append(compare_sides(subject, "=", operand(when, where), where))
        values.append(operand(then, replace(scope, known=narrow(known, tests[-1], scope.tables))))
        known = exclude(known, tests[-1], scope.tables)
    values.append(MISSING if default is None else operand(default, replace(scope, known=known)))
    return decide(tests, values, "CASE", scope)


def _flag(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    """Read a column that stands for a condition."""
    truth = as_truth(_column(node, scope), scope.tables)
    if truth is None:
        raise refuse(node.name, "it is not true or false", "Compare it with a value")
    return truth.fails if negated else truth.holds


def _pipe(node: exp.Expression, scope: Scope) -> Operand:
    left, right, _ = take(node, "this", "expression", "safe")
    return concatenate("||", [operand(left, scope), operand(right, scope)], scope)


def _extract(node: exp.Expression, scope: Scope) -> Operand:
    part, value = take(node, "this", "expression")
    if not isinstance(part, exp.Var | exp.Literal):
        # WEEK(TUESDAY): weeks that begin on another day have other numbers.
        way_out = "Write EXTRACT(WEEK FROM day), the week of ISO, or DATE_TRUNC(day, WEEK(MONDAY))"
        raise refuse(f"EXTRACT({shorten(part.name)}(...) ...)", "a part of a date is one word", way_out)
    name, side = str(part.name), operand(value, scope)
    if not isinstance(side, Day):
        return extract(name, side, scope)
    return compute_once(("EXTRACT", name, side), lambda: extract(name, side, scope), scope)


def _substring(node: exp.Expression, scope: Scope) -> Operand:
    this, start, length = take(node, "this", "start", "length")
    parts = [this, constant_node(1) if start is None else start, *([] if length is None else [length])]
    return TEXT_FUNCTIONS["SUBSTR"][2]("SUBSTRING", [operand(part, scope) for part in parts], scope)


def constant_node(value: int) -> exp.Expression:
    """Return a number as the request would have written it."""
    return exp.Literal.number(value)


def _trim(node: exp.Expression, scope: Scope) -> Operand:
    this, characters, side = take(node, "this", "expression", "position")
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(str(side).upper(), "TRIM")
    parts = [this] if characters is None else [this, characters]
    return TEXT_FUNCTIONS[name][2](name, [operand(part, scope) for part in parts], scope)


def _position(node: exp.Expression, scope: Scope) -> Operand:
    this, wanted = take(node, "this", "substr")
    return TEXT_FUNCTIONS["STRPOS"][2]("POSITION", [operand(this, scope), operand(wanted, scope)], scope)


EXPRESSION_READERS: dict[type[exp.Expression], ExpressionReader] = {
    exp.Literal: _literal,
    exp.RawString: _raw,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Column: _column,
    exp.Neg: _negative,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _division,
    exp.IntDiv: _whole_division,
    exp.Mod: _whole_division,
    exp.Case: _case,
    exp.Anonymous: read_call,
    exp.DPipe: _pipe,
    exp.Extract: _extract,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
}
FLAG_READERS: dict[type[exp.Expression], ConditionReader] = {exp.Column: _flag}
