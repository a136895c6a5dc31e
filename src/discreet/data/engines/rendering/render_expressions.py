"""Conditions and numbers of a plan over codes: only names of the schema, only typed literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.cells import spell
from discreet.data.engines.rendering.render_ranges import clamp
from discreet.data.plan.canonical import gaps
from discreet.data.plan.evaluate import ratio_of_units
from discreet.data.plan.numbers import MAX_UNITS, scale
from discreet.data.plan.row_nodes import (
    And,
    Atom,
    Compare,
    Condition,
    Field,
    Polynomial,
    Quotient,
    Sign,
    Span,
    StepFunction,
    TextLike,
    UnitIn,
    Within,
    unescape,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Code, Column, Identifier, Text

_TYPES = {
    "bigint": exp.DataType(this=exp.DataType.Type.BIGINT),
    "int": exp.DataType(this=exp.DataType.Type.INT),
    "text": exp.DataType(this=exp.DataType.Type.TEXT),
    "wide": exp.DataType.build("decimal(38, 0)"),
}
_LINE = 4
"""Pieces of one code each that are written as a line, if they are one: with fewer, nothing is gained."""
_MANY = 64
"""Pieces of a function from which on its lines are held to their ends one by one."""
_BRANCHES = 8
"""Parts that a tree of pieces has at each level: engines go through a row of tests sooner than into depth."""
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
    if isinstance(condition, TextLike):
        return _like(condition)
    if isinstance(condition, UnitIn):
        raise InternalError("units are looked up for rows, and not for what is computed of them")
    if not condition.parts:
        truth = isinstance(condition, And)
        return exp.EQ(this=whole(1), expression=whole(1 if truth else 0))
    joined = exp.and_ if isinstance(condition, And) else exp.or_
    parts = [where(part, tables) for part in condition.parts]
    return exp.Paren(this=joined(*parts, copy=False))


def number(polynomial: Polynomial, tables: PlanTables, unit: Fraction | None = None) -> exp.Expr:
    """Return a polynomial in steps of its unit, in 64-bit integers that cannot overflow."""
    terms = []
    for names, coefficient in scale(polynomial, tables, unit=unit).terms:
        factors: list[exp.Expr] = [cast(_atom(atom, tables), "bigint") for atom in names]
        if coefficient != 1 or not factors:
            factors.insert(0, whole(coefficient))
        terms.append(reduce(lambda left, right: exp.Mul(this=left, expression=right), factors))
    return reduce(lambda left, right: exp.Add(this=left, expression=right), terms or [whole(0)])


def _atom(atom: Atom, tables: PlanTables) -> exp.Expr:
    """Return a whole number that is computed in each row, or NULL; nothing in it can fail."""
    if isinstance(atom, Field):
        return column(atom)
    if isinstance(atom, StepFunction):
        return _steps(atom, tables)
    if isinstance(atom, Quotient):
        return _quotient(atom, tables)
    ifs = [
        exp.If(this=where(condition, tables), true=_whole_number(value, tables))
        for condition, value in atom.cases
    ]
    return exp.Case(ifs=ifs, default=_whole_number(atom.otherwise, tables))


def _whole_number(value: Polynomial | None, tables: PlanTables) -> exp.Expr:
    return exp.null() if value is None else number(value, tables, unit=Fraction(1))


def _steps(atom: StepFunction, tables: PlanTables) -> exp.Expr:
    declared = tables.column(atom.field)
    if isinstance(declared, Category):
        return _listed_steps(atom, declared)
    found = _tree(atom.field, _draw_lines(atom, tables))
    if not declared.nullable:
        return found
    # A missing value is not at most anything, so it would go to the last piece.
    absent = exp.Is(this=column(atom.field), expression=exp.null())
    return exp.Case(ifs=[exp.If(this=absent, true=_whole_or_null(atom.missing))], default=found)


def _draw_lines(atom: StepFunction, tables: PlanTables) -> list[tuple[int, exp.Expr]]:
    """Return the last code of each piece and its number; a line, where pieces of one code each are one.

    `CASE WHEN x > 500 THEN x END` has a piece for every x: an engine would compare with many in every row.
    """
    span = tables.span(atom.field)
    starts = [span[0], *(last + 1 for last, _ in atom.pieces)]
    found: list[tuple[int, exp.Expr]] = []
    first = 0
    while first < len(atom.pieces):
        after = first + 1
        last, code = atom.pieces[first]
        slope = 0
        while after < len(atom.pieces) and starts[after - 1] == last:
            end, other = atom.pieces[after]
            if code is None or other is None or starts[after] != end:
                break
            if after > first + 1 and other - code != slope:
                break
            slope, last, code, after = other - code, end, other, after + 1
        offset = 0 if code is None else code - slope * last
        # Some engine may compute it in rows that lie elsewhere.
        large = abs(slope) * max(map(abs, span)) + abs(offset) > MAX_UNITS
        if after - first < _LINE or large:
            found += [(end, _whole_or_null(one)) for end, one in atom.pieces[first:after]]
        else:
            value = exp.Mul(this=whole(slope), expression=cast(column(atom.field), "bigint"))
            line = exp.Add(this=value, expression=whole(offset))
            ends = sorted(slope * one + offset for one in (starts[first], last))
            # Each held to its own, so that the whole is read to be bounded and need not be said three times.
            found.append((last, line if len(atom.pieces) < _MANY else clamp(line, (ends[0], ends[1]))))
        first = after
    return found


def _tree(field: Field, pieces: Sequence[tuple[int, exp.Expr]]) -> exp.Expr:
    """Return the number of a piece, found in a tree: in three or four looks among a thousand."""
    if len(pieces) == 1:
        return pieces[0][1]
    each = -(-len(pieces) // _BRANCHES)
    *first, last = (pieces[start : start + each] for start in range(0, len(pieces), each))
    ifs = [
        exp.If(this=exp.LTE(this=column(field), expression=whole(part[-1][0])), true=_tree(field, part))
        for part in first
    ]
    return exp.Case(ifs=ifs, default=_tree(field, last))


def _listed_steps(atom: StepFunction, declared: Category) -> exp.Expr:
    """Return the number of a category's value: text is compared for equality only."""
    values: dict[int, list[exp.Expr]] = {}
    start = 0
    for last, code in atom.pieces:
        if code is not None:
            values.setdefault(code, []).extend(map(literal, declared.values[start : last + 1]))
        start = last + 1
    ifs = [
        exp.If(this=exp.In(this=column(atom.field), expressions=listed), true=whole(code))
        for code, listed in values.items()
    ]
    if declared.nullable and atom.missing is not None:
        absent = exp.Is(this=column(atom.field), expression=exp.null())
        ifs.append(exp.If(this=absent, true=whole(atom.missing)))
    return exp.Case(ifs=ifs)


def _quotient(atom: Quotient, tables: PlanTables) -> exp.Expr:
    """Return a quotient of numbers that are not negative, so that every engine rounds it the same way."""
    times, by = ratio_of_units(atom.numerator, atom.denominator, tables)
    # Engines multiply short literals as 32-bit integers; a 64-bit one makes all of the product 64-bit.
    above = cast(exp.Paren(this=number(atom.numerator, tables)), "bigint")
    below = exp.Paren(this=number(atom.denominator, tables))
    positive = exp.GT(this=below, expression=whole(0))
    guarded = scale(atom.denominator, tables).span[0] <= 0
    # Whatever an engine evaluates first, it never divides by 0.
    divisor = exp.Case(ifs=[exp.If(this=positive, true=below.copy())], default=whole(1)) if guarded else below
    bottom = exp.Mul(this=cast(divisor, "bigint"), expression=whole(by))
    shift = max(0, -atom.span[0])
    moved = exp.Mul(this=bottom.copy(), expression=whole(shift))
    top = exp.Add(this=exp.Mul(this=above, expression=whole(times)), expression=moved)
    parted = exp.IntDiv(
        this=cast(exp.Paren(this=top), "bigint"), expression=cast(exp.Paren(this=bottom), "bigint")
    )
    found = exp.Sub(this=cast(parted, "bigint"), expression=whole(shift))
    return exp.Case(ifs=[exp.If(this=positive.copy(), true=found)]) if guarded else found


def _whole_or_null(value: int | None) -> exp.Expr:
    return exp.null() if value is None else whole(value)


def keyed_hash(key: str, unit: exp.Expr, columns: Iterable[tuple[exp.Expr, Column | None]]) -> exp.Expr:
    """Return the MD5 of a secret, a unit and some columns: an order of one unit's own rows or groups.

    Every engine computes the same. For one unit, different rows give different texts: text is preceded by its
    length, and missing is marked. The unit is part of it so that not every unit prefers the same rows. What
    is no column is a whole number that is there.
    """
    parts: list[exp.Expr] = [exp.Literal.string(key), cast(unit, "text")]
    for value, declared in columns:
        shown = [exp.Literal.string("|"), cast(value.copy(), "text")]
        if is_text(declared):
            length = cast(exp.Length(this=value.copy()), "text")
            shown = [exp.Literal.string("|"), length, exp.Literal.string(":"), value.copy()]
        if declared is not None and declared.nullable:
            shown = [exp.Coalesce(this=_join(shown), expressions=[exp.Literal.string("-")])]
        parts += shown
    return exp.MD5(this=_join(parts))


def is_text(declared: Column | None) -> bool:
    """Say whether a column's codes are text."""
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
    elif (hole := _find_hole(spans, tables.span(field))) is not None:
        choices.append(exp.NEQ(this=column(field), expression=whole(hole)))
    else:
        single = [whole(a) for a, b in spans if a == b]
        choices += [exp.In(this=column(field), expressions=single)] if single else []
        choices += [_range(field, span, tables) for span in spans if span[0] < span[1]]
    return choices[0] if len(choices) == 1 else exp.Paren(this=exp.or_(*choices, copy=False))


def _find_hole(spans: tuple[Span, ...], everything: Span) -> int | None:
    """Return the one code that two spans leave out; None where it is not one."""
    left = gaps(spans, everything)
    return left[0][0] if len(spans) == 2 and len(left) == 1 and left[0][0] == left[0][1] else None


def _list_values(field: Field, declared: Category, spans: tuple[Span, ...]) -> exp.Expr:
    """List the values of a category that lie in some spans, or the others where they are fewer."""
    inside = sum(b - a + 1 for a, b in spans)
    listed = spans if 2 * inside <= declared.size else gaps(spans, (0, declared.size - 1))
    values = [literal(declared.values[i]) for a, b in listed for i in range(a, b + 1)]
    found = exp.In(this=column(field), expressions=values)
    # A missing value is neither in a list nor out of it.
    return found if listed is spans else exp.Not(this=found)


def _like(condition: TextLike) -> exp.Expr:
    """Compare free text with patterns; where it is missing, that is neither true nor false."""
    text = column(condition.field)
    if condition.folded:
        # Engines fold letters beyond A to Z each in its own way.
        folded = [exp.Literal.string(letters) for letters in (ascii_uppercase, ascii_lowercase)]
        text = exp.Anonymous(this="TRANSLATE", expressions=[text, *folded])
    read = [(pattern, *unescape(pattern)) for pattern in condition.patterns]
    plain = [_spelled(said) for _, said, marks in read if not marks]
    choices: list[exp.Expr] = [exp.In(this=text.copy(), expressions=plain)] if plain else []
    for pattern, _, marks in read:
        if marks:
            found: exp.Expr = exp.Like(this=text.copy(), expression=_spelled(pattern))
            if "!" in pattern or "\\" in pattern:  # some engines escape by a backslash unless told otherwise
                found = exp.Escape(this=found, expression=exp.Literal.string("!"))
            choices.append(found)
    either = choices[0] if len(choices) == 1 else exp.Paren(this=exp.or_(*choices, copy=False))
    return exp.Not(this=exp.Paren(this=either)) if condition.negated else either


def _spelled(text: str) -> exp.Expr:
    """Return a request's own text: by the digits of its bytes, which every engine turns into text itself."""
    return exp.Decode(this=exp.Unhex(this=spell(text)), charset=exp.Literal.string("utf-8"))


def _range(field: Field, span: Span, tables: PlanTables) -> exp.Expr:
    lower, upper = tables.span(field)
    if span[0] == lower:
        return exp.LTE(this=column(field), expression=whole(span[1]))
    if span[1] == upper:
        return exp.GTE(this=column(field), expression=whole(span[0]))
    return exp.Between(this=column(field), low=whole(span[0]), high=whole(span[1]))
