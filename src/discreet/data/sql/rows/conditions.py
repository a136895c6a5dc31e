"""Conditions, one function per kind of node. NOT is pushed down on the way, so each takes `negated`."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.atoms import complement
from discreet.data.plan.canonical import MIRRORED, OPPOSITE, AnySign, conjunction, disjunction, is_there
from discreet.data.plan.row_nodes import TRUE, Condition, Field
from discreet.data.schema.columns import Identifier
from discreet.data.sql.nodes import Scope, refuse_unknown, take
from discreet.data.sql.rows.comparing import compare_sides
from discreet.data.sql.rows.free_texts import compare_text, like_text, read_free_text, regexp_text
from discreet.data.sql.rows.function_calls import is_now
from discreet.data.sql.rows.operands import MISSING, is_present
from discreet.data.sql.rows.texts import like_condition, read_pattern, regexp_condition
from discreet.data.sql.rows.translate import ConditionReader, condition, operand
from discreet.data.sql.sources.matches import Matched, UnitMatched, translate_match, translate_unit
from discreet.data.sql.text import refuse

MAX_TERMS = 500
MAX_LIST = 1_000
_SIGNS: dict[type[exp.Expression], AnySign] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def _comparison(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    left, right = take(node, "this", "expression")
    sign = OPPOSITE[_SIGNS[type(node)]] if negated else _SIGNS[type(node)]
    for text, other, told in ((left, right, sign), (right, left, MIRRORED[sign])):
        free = read_free_text(text, scope)
        if free is not None:
            return compare_text(free, told, operand(other, scope), scope)
    sides = operand(left, scope), operand(right, scope)
    return compare_sides(sides[0], sign, sides[1], scope)


def understand(node: exp.Expression, scope: Scope) -> None:
    """Translate a value that nothing reads, so that no part of a request passes unread."""
    if type(node) in CONDITION_READERS and not isinstance(node, exp.Paren):
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


def _is(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    left, right = take(node, "this", "expression")
    if isinstance(right, exp.Null):
        take(right)
        field, tables = _find_opaque(left, scope), scope.tables
        if field is not None and _says_whose(field, scope):
            if not negated:
                why = "it says whose row it is, and rows of nobody are left out"
                raise refuse(f"{field.name} IS NULL", why, "Leave it out")
            return TRUE
        there = is_present(operand(left, scope), tables) if field is None else is_there(field, tables)
        return there if negated else complement(there, scope.tables)
    if not isinstance(right, exp.Boolean):
        raise refuse_unknown(node, "a condition")
    (value,) = take(right, "this")
    # `IS TRUE` is never unknown: its negation holds for a missing value.
    held = condition(left, scope, negated=not value)
    return complement(held, scope.tables) if negated else held


def _find_opaque(node: exp.Expression, scope: Scope) -> Field | None:
    """Return the column of free text or of identifiers that a node is: of the latter nothing else is told."""
    text = read_free_text(node, scope)
    if text is not None:
        return text.field
    field = scope.field(node) if isinstance(node, exp.Column) and not is_now(node, scope) else None
    return field if field is not None and isinstance(scope.column(field), Identifier) else None


def _says_whose(field: Field, scope: Scope) -> bool:
    """Say whether a column is the privacy unit; that of a table joined to the left may be missing."""
    return field == Field(scope.main.name, str(scope.main.unit.column))


def _same(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    """IS [NOT] DISTINCT FROM: NULL is like NULL, and like nothing else."""
    sides = [operand(part, scope) for part in take(node, "this", "expression")]
    tables = scope.tables
    gone = [complement(is_present(side, tables), tables) for side in sides]
    same = [] if MISSING in sides else [compare_sides(sides[0], "=", sides[1], scope)]
    equal = disjunction([*same, conjunction(gone, tables)], tables)
    return equal if isinstance(node, exp.NullSafeEQ) != negated else complement(equal, tables)


def _between(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, low, high = (operand(part, scope) for part in take(node, "this", "low", "high"))
    if negated:
        parts = [compare_sides(this, "<", low, scope), compare_sides(this, ">", high, scope)]
        return disjunction(parts, scope.tables)
    parts = [compare_sides(this, ">=", low, scope), compare_sides(this, "<=", high, scope)]
    return conjunction(parts, scope.tables)


def _in(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, listed = take(node, "this", "expressions")
    if not listed or len(listed) > MAX_LIST:
        raise refuse("IN", f"it must list 1 to {MAX_LIST} values", "List fewer values, or use a range")
    if isinstance(this, exp.Tuple):
        return _in_pairs(this, listed, scope, negated)
    sign: AnySign = "<>" if negated else "="
    text = read_free_text(this, scope)
    if text is not None:
        parts = [compare_text(text, sign, operand(item, scope), scope) for item in listed]
    else:
        left = operand(this, scope)
        parts = [compare_sides(left, sign, operand(item, scope), scope) for item in listed]
    return conjunction(parts, scope.tables) if negated else disjunction(parts, scope.tables)


def _in_pairs(this: exp.Expression, listed: list[exp.Expression], scope: Scope, negated: bool) -> Condition:
    """Read (a, b) IN ((1, 2), (3, 4)): each value is like the one in its place, for one of the listed."""
    (parts,) = take(this, "expressions")
    if len(listed) * len(parts) > MAX_LIST:
        raise refuse("IN", f"it lists more than {MAX_LIST} values", "List fewer values, or use a range")
    found = []
    for item in listed:
        values = take(item, "expressions")[0] if isinstance(item, exp.Tuple) else []
        if len(values) != len(parts):
            way_out = "Write (a, b) IN ((1, 2), (3, 4))"
            raise refuse("IN", f"each in the list has {len(parts)} values, as what is looked up", way_out)
        equal = [
            exp.EQ(this=left.copy(), expression=right) for left, right in zip(parts, values, strict=True)
        ]
        tests = [condition(one, scope, negated) for one in equal]
        found.append((disjunction if negated else conjunction)(tests, scope.tables))
    return (conjunction if negated else disjunction)(found, scope.tables)


def _like(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    escape = None
    if isinstance(node, exp.Escape):
        node, mark = take(node, "this", "expression")
        escape = operand(mark, scope)
        if not isinstance(node, exp.Like | exp.ILike):
            raise refuse_unknown(node, "a condition")
    this, pattern, flipped = take(node, "this", "expression", "negate")
    negated = negated != bool(flipped)
    text, right, fold = read_free_text(this, scope), operand(pattern, scope), isinstance(node, exp.ILike)
    if text is not None:
        written, mark = read_pattern(right, escape)
        return like_text(text, written, mark, scope, negated=negated, fold=fold)
    left = operand(this, scope)
    return like_condition(left, right, scope, negated=negated, fold=fold, escape=escape)


def _regexp(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    this, pattern, flipped = take(node, "this", "expression", "negate")
    negated = negated != bool(flipped)
    text, right, fold = (
        read_free_text(this, scope),
        operand(pattern, scope),
        isinstance(node, exp.RegexpILike),
    )
    if text is not None:
        return regexp_text(text, right, scope, negated=negated, fold=fold)
    return regexp_condition(operand(this, scope), right, scope, negated=negated, fold=fold)


def _match(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    (inner, *_) = take(node, "this", "key", "left")
    tests = [] if inner is None else [condition(inner, scope)]
    return translate_match(node, tests, scope, negated)


def _unit_match(node: exp.Expression, scope: Scope, negated: bool) -> Condition:
    return translate_unit(node, scope, condition, understand, negated)


CONDITION_READERS: dict[type[exp.Expression], ConditionReader] = {
    **dict.fromkeys(_SIGNS, _comparison),
    exp.And: _chain,
    exp.Or: _chain,
    exp.Not: _not,
    exp.Paren: _paren,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _like,
    exp.RegexpLike: _regexp,
    exp.RegexpILike: _regexp,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    Matched: _match,
    UnitMatched: _unit_match,
}
