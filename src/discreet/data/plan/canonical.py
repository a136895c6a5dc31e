"""Normal forms: whatever way a condition is written, the plan holds it once.

Comparisons of one column become sets of codes, sets of one column under one AND or OR are merged, parts are
sorted, and what is always true or always false is folded away. So `1 = 1 AND age > 17`, `NOT age < 18` and
`18 <= age` are one condition, and a repeated question can be recognised without looking at data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.nodes import After, Branch, Output, Plan
from discreet.data.plan.numbers import negate, primitive, scale, split_constant, value_of, variable
from discreet.data.plan.row_nodes import (
    FALSE,
    TRUE,
    And,
    Atom,
    Choice,
    Compare,
    Condition,
    Field,
    Or,
    Polynomial,
    Quotient,
    Sign,
    Span,
    TextLike,
    UnitIn,
    Within,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import OneColumn, tabulate

_MADE, _SPAN = 200, 60
"""Steps that a set of values takes, and each of its spans: see `plan.effort`."""
AnySign = Literal["<", "<=", "=", "<>", ">", ">="]
OPPOSITE: dict[AnySign, AnySign] = {"<": ">=", "<=": ">", "=": "<>", "<>": "=", ">": "<=", ">=": "<"}
MIRRORED: dict[AnySign, AnySign] = {"<": ">", "<=": ">=", "=": "=", "<>": "<>", ">": "<", ">=": "<="}


def canonicalise(plan: Plan) -> Plan:
    """Return the plan as a cache sees it: what is measured, and nothing of how it is shown.

    Names of outputs, what is computed from them and which rows are shown are forgotten, aggregates sorted,
    keys all shown.
    """
    # Most questions have one: the text that it is sorted by is then not written.
    aggregates = sorted(set(plan.aggregates), key=repr) if len(plan.aggregates) > 1 else plan.aggregates
    keys = tuple(Output(f"k{i}", field) for i, field in enumerate(plan.keys))
    outputs = tuple(Output(f"a{i}", aggregate) for i, aggregate in enumerate(aggregates))
    joins = tuple(sorted(plan.joins, key=repr))
    units = plan.units
    if units is not None:
        units = replace(units, joins=tuple(sorted(units.joins, key=repr)))
    plain = replace(plan, outputs=keys + outputs, joins=joins, after=After(), units=units, branches=())
    branches = _list_partly_measured(plan, plain)
    return replace(plain, branches=branches) if branches else plain


def _list_partly_measured(plan: Plan, plain: Plan) -> tuple[Branch, ...]:
    """Return the grouping sets with what is measured in each; nothing where that is all in all of them."""
    if len(plan.sets) == 1 and not plan.branches:
        return ()
    measured = {keys: sorted(plan.list_measured(keys), key=repr) for keys in plan.sets}
    if all(len(listed) == len(plan.aggregates) for listed in measured.values()):
        return ()
    return tuple(
        Branch(replace(plain, sets=(keys,), outputs=()), (keys,), tuple(listed), None, ())
        for keys, listed in measured.items()
    )


def within(field: Field, spans: Iterable[Span], *, missing: bool, tables: PlanTables) -> Condition:
    """Return the condition that a column's code lies in some spans, folded where it is constant."""
    lower, upper = tables.span(field)
    spans = tuple(spans)
    spend(_MADE + _SPAN * len(spans))
    clipped = _merge((max(a, lower), min(b, upper)) for a, b in spans)
    nullable = tables.column(field).nullable
    missing = missing and nullable
    if not clipped and not missing:
        return FALSE
    if clipped == ((lower, upper),) and missing == nullable:
        return TRUE
    return Within(field, clipped, missing)


def outside(field: Field, spans: Iterable[Span], *, tables: PlanTables) -> Condition:
    """Return the condition that a column is present and its code lies in none of some spans."""
    return within(field, gaps(spans, tables.span(field)), missing=False, tables=tables)


def gaps(spans: Iterable[Span], everything: Span) -> tuple[Span, ...]:
    """Return what some spans leave of everything."""
    found, start = [], everything[0]
    for a, b in _merge(spans):
        found.append((start, a - 1))
        start = max(start, b + 1)
    return _merge([*found, (start, everything[1])])


def compare(number: Polynomial, sign: AnySign, tables: PlanTables) -> Condition:
    """Return the condition `number sign 0`."""
    cancelled = [atom for names, coefficient in number.terms for atom in names if coefficient == 0]
    if cancelled:
        rest = Polynomial(tuple(term for term in number.terms if term[1] != 0))
        there = [is_there(atom, tables) for atom in cancelled]
        return conjunction([compare(rest, sign, tables), *there], tables)
    value = value_of(number)
    if value is not None:
        return TRUE if _holds(value, sign) else FALSE
    columns = [atom for atom in number.atoms if isinstance(atom, Field)]
    if number.atoms == tuple(columns[:1]) and all(len(monomial) <= 1 for monomial, _ in number.terms):
        return _solve(number, sign, tables)
    exact = scale(number, tables)  # refuses what an engine could not evaluate on every row
    if len(number.fields) == 1:
        # Without its constant, so that a list of values is compared with one table.
        rest, offset = split_constant(number)
        known = tabulate(rest, tables)
        if known is not None:
            return _choose_codes(known, sign, -offset / scale(rest, tables).unit, tables)
    if all(_holds(Fraction(end), sign) for end in exact.span) and sign not in ("=", "<>"):
        return conjunction([is_there(atom, tables) for atom in number.atoms], tables)
    if not any(_holds(Fraction(end), sign) for end in exact.span) and sign not in ("=", "<>"):
        return FALSE
    if sign in (">", ">="):
        number, sign = negate(number), MIRRORED[sign]
    number = primitive(number)
    if sign in ("=", "<>") and number.terms[-1][1] < 0:
        number = negate(number)
    scale(number, tables)
    return Compare(number, _plain(sign))


def _choose_codes(known: OneColumn, sign: AnySign, root: Fraction, tables: PlanTables) -> Condition:
    """Return the condition that a number of one column compares so with a root, in steps of the number."""
    low, high = math.floor(root), math.ceil(root)
    exact = low == high
    spend(len(known.values) // 4)
    signs: dict[AnySign, Callable[[Any], Any]] = {
        "<": lambda values: values < high,
        "<=": lambda values: values <= low,
        "=": lambda values: (values == low) & exact,
        "<>": lambda values: (values != low) | (not exact),
        ">=": lambda values: values >= high,
        ">": lambda values: values > low,
    }

    def holds(values: Any) -> Any:
        return (values != ABSENT) & signs[sign](values)

    missing = bool(holds(np.int64(known.missing)))
    return within(known.field, known.spans(holds(known.values)), missing=missing, tables=tables)


def is_there(number: Atom | Polynomial, tables: PlanTables) -> Condition:
    """Return the condition that a number is not missing."""
    if isinstance(number, Field):
        return within(number, [tables.span(number)], missing=False, tables=tables)
    if isinstance(number, Polynomial):
        return conjunction([is_there(atom, tables) for atom in number.atoms], tables)
    if not tables.nullable(number):
        return TRUE
    known = tabulate(variable(number), tables)
    if known is not None:
        spans = known.spans(known.values != ABSENT)
        return within(known.field, spans, missing=known.missing != ABSENT, tables=tables)
    if isinstance(number, Quotient) and not number.denominator.atoms:
        return is_there(number.numerator, tables)
    found = _is_chosen(number, tables) if isinstance(number, Choice) else None
    return found or Compare(Polynomial((((number,), Fraction(0)),)), "=")


def _is_chosen(number: Choice, tables: PlanTables) -> Condition | None:
    """Return where a choice has a number; None where its conditions are more than sets of values."""
    ways: list[Condition] = []
    so_far: list[Condition] = []
    for test, value in (*number.cases, (TRUE, number.otherwise)):
        if value is not None:
            ways.append(conjunction([*so_far, test, is_there(value, tables)], tables))
        other = exclude_sets(test, tables)
        if other is None:
            return None
        so_far.append(other)
    return disjunction(ways, tables)


def exclude_sets(condition: Condition, tables: PlanTables) -> Condition | None:
    """Return the condition that another one does not hold; None where it is more than sets of values."""
    if isinstance(condition, Within):
        spans = gaps(condition.spans, tables.span(condition.field))
        return within(condition.field, spans, missing=not condition.missing, tables=tables)
    if isinstance(condition, UnitIn):
        return replace(condition, negated=not condition.negated)  # every row has a unit
    if isinstance(condition, Compare | TextLike):
        return None
    others = [exclude_sets(part, tables) for part in condition.parts]
    listed = [other for other in others if other is not None]
    if len(listed) < len(others):
        return None
    return disjunction(listed, tables) if isinstance(condition, And) else conjunction(listed, tables)


def conjunction(parts: Iterable[Condition], tables: PlanTables) -> Condition:
    """Return the condition that all parts hold."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    if FALSE in flat:
        return FALSE
    sets, rest = _by_column(flat)
    found: list[Condition] = []
    for field, listed in sets.items():
        # What lies in all sets is what lies in no gap of any.
        everything = tables.span(field)
        left_out = [gap for one in listed for gap in gaps(one.spans, everything)]
        missing = all(one.missing for one in listed)
        found.append(within(field, gaps(left_out, everything), missing=missing, tables=tables))
    return FALSE if FALSE in found else _assemble(And, _merge_patterns(rest, negated=True) | set(found))


def conjoin_columns(parts: Iterable[Condition]) -> Condition:
    """Return the condition that sets of different columns hold, each as `within` made it."""
    return _assemble(And, set(parts))


def disjunction(parts: Iterable[Condition], tables: PlanTables) -> Condition:
    """Return the condition that some part holds."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    if TRUE in flat:
        return TRUE
    sets, rest = _by_column(flat)
    found: list[Condition] = []
    for field, listed in sets.items():
        spans = [span for one in listed for span in one.spans]
        missing = any(one.missing for one in listed)
        found.append(within(field, spans, missing=missing, tables=tables))
    return TRUE if TRUE in found else _assemble(Or, _merge_patterns(rest, negated=False) | set(found))


def _by_column(parts: Iterable[Condition]) -> tuple[dict[Field, list[Within]], set[Condition]]:
    """Part the sets of values, by their column, from everything else."""
    sets: dict[Field, list[Within]] = {}
    rest: set[Condition] = set()
    for part in parts:
        if isinstance(part, Within):
            sets.setdefault(part.field, []).append(part)
        else:
            rest.add(part)
    return sets, rest


def _merge_patterns(parts: set[Condition], *, negated: bool) -> set[Condition]:
    """Put patterns of one column together: like one of all under OR, like none of all under AND."""
    patterns: dict[tuple[Field, bool], set[str]] = {}
    rest: set[Condition] = set()
    for part in parts:
        if isinstance(part, TextLike) and part.negated == negated:
            patterns.setdefault((part.field, part.folded), set()).update(part.patterns)
        else:
            rest.add(part)
    spend(_SPAN * sum(map(len, patterns.values())))
    merged = {
        TextLike(field, tuple(sorted(listed)), folded, negated)
        for (field, folded), listed in patterns.items()
    }
    return rest | merged


def _assemble(kind: type[And] | type[Or], parts: set[Condition]) -> Condition:
    if len(parts) == 1:
        return next(iter(parts))
    held = [part for part in parts if isinstance(part, Within)]
    spend(_MADE * len(parts) + 2 * _SPAN * sum(len(part.spans) for part in held))
    return kind(tuple(sorted(parts, key=repr)))


def _solve(number: Polynomial, sign: AnySign, tables: PlanTables) -> Condition:
    """Solve `slope * code + offset sign 0` for the code of the one column."""
    (field,) = number.fields
    slope = dict(number.terms)[(field,)] * tables.grid(field)
    root = -dict(number.terms).get((), Fraction(0)) / slope
    sign = sign if slope > 0 else MIRRORED[sign]
    lower, upper = tables.span(field)
    point = [(int(root), int(root))] if root.denominator == 1 else []
    if sign == "<>":
        return outside(field, point, tables=tables)
    spans = {
        "<": [(lower, math.ceil(root) - 1)],
        "<=": [(lower, math.floor(root))],
        "=": point,
        ">=": [(math.ceil(root), upper)],
        ">": [(math.floor(root) + 1, upper)],
    }
    return within(field, spans[sign], missing=False, tables=tables)


def _merge(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort spans, drop empty ones, join those that overlap or touch."""
    merged: list[Span] = []
    for a, b in sorted(span for span in spans if span[0] <= span[1]):
        if merged and a <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return tuple(merged)


def _holds(value: Fraction, sign: AnySign) -> bool:
    return {
        "<": value < 0,
        "<=": value <= 0,
        "=": value == 0,
        "<>": value != 0,
        ">": value > 0,
        ">=": value >= 0,
    }[sign]


def _plain(sign: AnySign) -> Sign:
    plain: dict[AnySign, Sign] = {"<": "<", "<=": "<=", "=": "=", "<>": "<>"}
    return plain[sign]
