"""Conditions and numbers of a plan over codes: only names of the schema, only typed literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Literal

from sqlglot import exp

from discreet.data.plan.canonical import gaps
from discreet.data.plan.nodes import And, Compare, Condition, Field, Polynomial, Sign, Span, Within
from discreet.data.plan.numbers import scale
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Code, Column, Identifier, Text

_TYPES = {
    "bigint": exp.DataType(this=exp.DataType.Type.BIGINT),
    "int": exp.DataType(this=exp.DataType.Type.INT),
    "text": exp.DataType(this=exp.DataType.Type.TEXT),
    "wide": exp.DataType.build("decimal(38, 0)"),
}
_SIGNS: dict[Sign, type[exp.Binary]] = {"<": exp.LT, "<=": exp.LTE, "=": exp.EQ, "<>": exp.NEQ}


def column(field: Field) -> exp.Expr:
    """Return a column as the engine knows it."""
    return exp.column(field.name, table=field.table, quoted=True)


def own_column(name: str) -> exp.Expr:
    """Return a column of a query of ours."""
    return exp.column(name, quoted=True)


def whole(value: int) -> exp.Expr:
    """Return a whole number as a literal."""
    return exp.Literal.number(value)


def literal(value: Code) -> exp.Expr:
    """Return a code as a literal."""
    return exp.Literal.string(value) if isinstance(value, str) else whole(value)


def present(field: Field) -> exp.Expr:
    """Return the test that a value is there."""
    return exp.Not(this=exp.Is(this=column(field), expression=exp.null()))


def cast(value: exp.Expr, to: Literal["int", "bigint", "text", "wide"]) -> exp.Expr:
    """Return a value in another type: 32-bit or 64-bit integer, text, or 38 decimal digits."""
    return exp.Cast(this=value, to=_TYPES[to].copy())


def alias(value: exp.Expr, name: str) -> exp.Alias:
    """Return a value under a name of ours."""
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def table(name: str) -> exp.Table:
    """Return a relation by name."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def select(
    listed: Sequence[exp.Expr],
    source: exp.Expr,
    *,
    joins: Sequence[exp.Join] = (),
    tests: Sequence[exp.Expr] = (),
    groups: Sequence[exp.Expr] = (),
    before: Mapping[str, exp.Query] | None = None,
) -> exp.Select:
    """Return a query: what it lists, from where, joined, tested and grouped, after named queries."""
    query = exp.Select(expressions=list(listed), from_=exp.From(this=source))
    if before:
        ctes = [exp.CTE(this=tree, alias=_table_alias(name)) for name, tree in before.items()]
        query.set("with_", exp.With(expressions=ctes))
    if joins:
        query.set("joins", list(joins))
    if tests:
        query.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
    if groups:
        query.set("group", exp.Group(expressions=list(groups)))
    return query


def name_relation(relation: exp.Expr, name: str) -> exp.Expr:
    """Return a relation or a query under a name."""
    if isinstance(relation, exp.Query) and not isinstance(relation, exp.Table):
        return exp.Subquery(this=relation, alias=_table_alias(name))
    relation.set("alias", _table_alias(name))
    return relation


def _table_alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def where(condition: Condition, tables: PlanTables) -> exp.Expr:
    """Return a condition over codes."""
    if isinstance(condition, Within):
        return _within(condition, tables)
    if isinstance(condition, Compare):
        return _SIGNS[condition.sign](this=number(condition.number, tables), expression=whole(0))
    if not condition.parts:
        truth = isinstance(condition, And)
        return exp.EQ(this=whole(1), expression=whole(1 if truth else 0))
    joined = exp.and_ if isinstance(condition, And) else exp.or_
    parts = [where(part, tables) for part in condition.parts]
    return exp.Paren(this=joined(*parts, copy=False))


def number(polynomial: Polynomial, tables: PlanTables) -> exp.Expr:
    """Return a polynomial in steps of its unit, in 64-bit integers that cannot overflow."""
    terms = []
    for names, coefficient in scale(polynomial, tables).terms:
        factors: list[exp.Expr] = [cast(column(field), "bigint") for field in names]
        if coefficient != 1 or not factors:
            factors.insert(0, whole(coefficient))
        terms.append(reduce(lambda left, right: exp.Mul(this=left, expression=right), factors))
    return reduce(lambda left, right: exp.Add(this=left, expression=right), terms)


def clamp(value: exp.Expr, span: Span) -> exp.Expr:
    """Return a value moved into a span; a missing value stays missing.

    LEAST and GREATEST would turn a missing value into a bound.
    """
    low, high = span
    return exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=value, expression=whole(low)), true=whole(low)),
            exp.If(this=exp.GT(this=value.copy(), expression=whole(high)), true=whole(high)),
        ],
        default=value.copy(),
    )


def keyed_hash(key: str, unit: exp.Expr, columns: Iterable[tuple[exp.Expr, Column]]) -> exp.Expr:
    """Return the MD5 of a secret, a unit and some columns: an order of one unit's own rows or groups.

    Every engine computes the same. For one unit, different rows give different texts: text is preceded by its
    length, and missing is marked. The unit is part of it so that not every unit prefers the same rows.
    """
    parts: list[exp.Expr] = [exp.Literal.string(key), cast(unit, "text")]
    for value, declared in columns:
        shown = [exp.Literal.string("|"), cast(value.copy(), "text")]
        if _is_text(declared):
            length = cast(exp.Length(this=value.copy()), "text")
            shown = [exp.Literal.string("|"), length, exp.Literal.string(":"), value.copy()]
        if declared.nullable:
            shown = [exp.Coalesce(this=_join(shown), expressions=[exp.Literal.string("-")])]
        parts += shown
    return exp.MD5(this=_join(parts))


def _is_text(declared: Column) -> bool:
    if isinstance(declared, Category):
        return isinstance(declared.values[0], str)
    return isinstance(declared, Identifier | Text)


def _join(parts: list[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: exp.DPipe(this=left, expression=right), parts)


def _within(condition: Within, tables: PlanTables) -> exp.Expr:
    field, spans = condition.field, condition.spans
    declared = tables.column(field)
    choices: list[exp.Expr] = []
    if condition.missing:
        choices.append(exp.Is(this=column(field), expression=exp.null()))
    if spans == (tables.span(field),):
        choices.append(present(field))
    elif isinstance(declared, Category):
        choices += [_list_values(field, declared, spans)] if spans else []
    else:
        single = [whole(a) for a, b in spans if a == b]
        choices += [exp.In(this=column(field), expressions=single)] if single else []
        choices += [_range(field, span, tables) for span in spans if span[0] < span[1]]
    return choices[0] if len(choices) == 1 else exp.Paren(this=exp.or_(*choices, copy=False))


def _list_values(field: Field, declared: Category, spans: tuple[Span, ...]) -> exp.Expr:
    """List the values of a category that lie in some spans, or the others where they are fewer."""
    inside = sum(b - a + 1 for a, b in spans)
    listed = spans if 2 * inside <= declared.size else gaps(spans, (0, declared.size - 1))
    values = [literal(declared.values[i]) for a, b in listed for i in range(a, b + 1)]
    found = exp.In(this=column(field), expressions=values)
    # A missing value is neither in a list nor out of it.
    return found if listed is spans else exp.Not(this=found)


def _range(field: Field, span: Span, tables: PlanTables) -> exp.Expr:
    lower, upper = tables.span(field)
    if span[0] == lower:
        return exp.LTE(this=column(field), expression=whole(span[1]))
    if span[1] == upper:
        return exp.GTE(this=column(field), expression=whole(span[0]))
    return exp.Between(this=column(field), low=whole(span[0]), high=whole(span[1]))
