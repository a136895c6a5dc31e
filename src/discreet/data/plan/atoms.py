"""Numbers that are computed from columns in each row: choices, quotients, and what one column decides.

Each is a whole number with a stated range, or missing; an engine can compute it on every row. What depends on
one declared column alone is computed here for each of its values, so that the same function is one plan
whatever way it was written. None stands for a number that is always missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.core.errors import Refused
from discreet.data.plan.canonical import (
    OPPOSITE,
    compare,
    conjunction,
    disjunction,
    exclude_sets,
    within,
)
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT, ONE, Codes, ratio_of_units
from discreet.data.plan.narrowing import Narrowed, exclude, narrow, range_of
from discreet.data.plan.numbers import (
    MAX_UNITS,
    add,
    common_unit,
    constant,
    multiply,
    primitive,
    scale,
    split_constant,
    value_of,
    variable,
)
from discreet.data.plan.row_nodes import (
    FALSE,
    TRUE,
    And,
    Choice,
    Compare,
    Condition,
    Field,
    Polynomial,
    Quotient,
    Span,
    StepFunction,
    TextLike,
    Within,
    holds_unit,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import OneColumn, tabulate
from discreet.data.schema.columns import Ranged

MAX_PIECES = 1_000
"""Spans of values that a function of one column may have, to be kept as a list of them."""
_PIECE = 40
"""Steps that each of them takes: see `plan.effort`."""
MAX_WEIGHT = 4_000
"""Nodes of one computed number, written out: a nested one repeats what it is made from."""
Case = tuple[Condition, Polynomial | None]


def choose(cases: Sequence[Case], otherwise: Polynomial | None, tables: PlanTables) -> Polynomial | None:
    """Return the first number whose condition holds, else the last one."""
    if any(holds_unit(test) for test, _ in cases):
        raise Refused(
            what="IN (SELECT ...) of a private table",
            why="it stands in a value, and not every engine looks a unit up there",
            way_out="Put it in WHERE, and ask once for each",
        )
    # Each in its own form first: chosen or not, a function of one column is one number.
    cases = [(test, None if number is None else simplify(number, tables)) for test, number in cases]
    otherwise = None if otherwise is None else simplify(otherwise, tables)
    listed, otherwise = _turn(*_fold(cases, otherwise, tables), tables)
    numbers = [number for _, number in listed] + [otherwise]
    there = [number for number in numbers if number is not None]
    if not listed or not there:
        return otherwise
    unit = common_unit(scale(number, tables).unit for number in there if value_of(number) != 0)
    shrink = constant(1 / unit)
    whole = [None if number is None else multiply(shrink, number) for number in numbers]
    conditions = [condition for condition, _ in listed]
    span = _hull(conditions, whole, tables)
    found = Choice(tuple(zip(conditions, whole[:-1], strict=True)), whole[-1], span)
    _check_weight(found)
    return simplify(multiply(constant(unit), variable(found)), tables)


def _fold(
    cases: Sequence[Case], otherwise: Polynomial | None, tables: PlanTables
) -> tuple[list[Case], Polynomial | None]:
    """Leave out what never holds, what holds no more, and what makes no difference."""
    listed: list[Case] = []
    for condition, number in cases:
        if listed and listed[-1][1] == number:
            condition = disjunction([listed.pop()[0], condition], tables)  # noqa: PLW2901
        if condition == TRUE:
            otherwise = number
            break
        if condition != FALSE:
            listed.append((condition, number))
    while listed and listed[-1][1] == otherwise:
        listed.pop()
    return listed, otherwise


def _turn(
    listed: list[Case], otherwise: Polynomial | None, tables: PlanTables
) -> tuple[list[Case], Polynomial | None]:
    """Put the two sides of one set of values in one order, whichever was written first."""
    if len(listed) != 1:
        return listed, otherwise
    ((condition, number),) = listed
    other = exclude_sets(condition, tables)
    if other is None or otherwise is None or (number is not None and repr(condition) <= repr(other)):
        return listed, otherwise
    return [(other, otherwise)], number


def _hull(conditions: Sequence[Condition], numbers: Sequence[Polynomial | None], tables: PlanTables) -> Span:
    """Return between what a choice lies: each number where its condition holds and no earlier one does."""
    known = Narrowed({})
    spans = []
    for condition, number in zip([*conditions, TRUE], numbers, strict=True):
        if number is not None:
            spans.append(range_of(number, narrow(known, condition, tables), tables, unit=ONE))
        known = exclude(known, condition, tables)
    return min(low for low, _ in spans), max(high for _, high in spans)


def floor_quotient(above: Polynomial, below: Polynomial, tables: PlanTables) -> Polynomial | None:
    """Return the whole part of a quotient where the denominator is positive; it is missing elsewhere."""
    divisor = value_of(below)
    if (divisor is not None and divisor <= 0) or not any(coefficient for _, coefficient in below.terms):
        return None
    shrunk = constant(1) if divisor is not None else primitive(below)
    above = multiply(above, constant(1 / divisor if divisor else _times(below, shrunk)))
    whole = Fraction(0)
    if divisor is not None:
        rest, offset = split_constant(above)
        whole = Fraction(math.floor(offset))
        above = add(rest, constant(offset - whole))
        if scale(above, tables).unit.denominator == 1 and offset == whole:
            return add(above, constant(whole))
        if not above.atoms:
            return constant(whole)
    span = _quotient_span(above, shrunk, tables)
    if span is None:
        return None
    found = Quotient(above, shrunk, span)
    _check_weight(found)
    return simplify(add(variable(found), constant(whole)), tables)


def _times(number: Polynomial, multiple: Polynomial) -> Fraction:
    """Return by what a number was multiplied."""
    pairs = zip(multiple.terms, number.terms, strict=True)
    return next(after / before for (_, after), (_, before) in pairs if before)


def _quotient_span(above: Polynomial, below: Polynomial, tables: PlanTables) -> Span | None:
    times, by = ratio_of_units(above, below, tables)
    tops = [end * times for end in scale(above, tables).span]
    low, high = scale(below, tables).span
    bottoms = [max(1, low) * by, high * by]
    if bottoms[1] < bottoms[0]:
        return None
    corners = [top // bottom for top, bottom in itertools.product(tops, bottoms)]
    span = min(corners), max(corners)
    # An engine divides numbers that are not negative: it adds so many denominators first.
    largest = max(map(abs, tops)) + max(0, -span[0]) * max(abs(low), abs(high)) * by
    if largest > MAX_UNITS:
        raise Refused(
            what="division",
            why="the declared bounds allow values beyond 64-bit integers",
            way_out="Round to fewer digits, or ask the owner for narrower bounds or a coarser grid",
        )
    return span


def simplify(number: Polynomial, tables: PlanTables) -> Polynomial | None:
    """Return a number of one column as a list of its values, or as it is where they are too many."""
    if all(isinstance(atom, Field) for atom in number.atoms) or _is_listed(number):
        return number
    known = tabulate(number, tables)
    if known is None:
        rest = _remainder_span(number, tables)
        return number if rest is None else _hold(number, rest, tables)
    unit = scale(number, tables).unit
    there = np.append(known.values, _reached(known, tables))
    there = there[there != ABSENT]
    if not len(there):
        return None
    found = from_values(known, unit, tables)
    if found is not None:
        return found
    # Too many pieces to be listed; but the exact range is known by now, and it is what noise is drawn for.
    span = int(there.min()), int(there.max())
    if len(number.atoms) == 1 and isinstance(number.atoms[0], Choice) and number.terms[0][0] == number.atoms:
        coefficient = number.terms[0][1]
        return multiply(constant(coefficient), variable(replace(number.atoms[0], span=span)))
    return number if span == scale(number, tables).span else _hold(number, span, tables)


def _is_listed(number: Polynomial) -> bool:
    """Say whether a number is a list of values already: it was made by `from_values`."""
    monomials = [monomial for monomial, _ in number.terms]
    return len(monomials) == len(monomials[0]) == 1 and isinstance(monomials[0][0], StepFunction)


def _remainder_span(number: Polynomial, tables: PlanTables) -> Span | None:
    """Return between what a remainder lies, in steps of its unit; None for any other number.

    `k (x - floor(x)) + c` lies between c and k + c, however many values x has.
    """
    for monomial, coefficient in number.terms:
        atom = monomial[0] if len(monomial) == 1 else None
        if not isinstance(atom, Quotient) or value_of(atom.denominator) != 1:
            continue
        rest, offset = split_constant(add(number, multiply(constant(-coefficient), variable(atom))))
        inner, start = split_constant(atom.numerator)
        # The quotient itself cancelled: nothing is left of it but its coefficient of 0.
        rest = Polynomial(tuple(term for term in rest.terms if term[0] != (atom,)))
        if rest != multiply(constant(-coefficient), inner):
            continue
        most = 1 - common_unit([scale(atom.numerator, tables).unit, 1])
        ends = sorted((Fraction(0), -coefficient * most))
        exact = scale(number, tables)
        low, high = ((end + offset + coefficient * start) / exact.unit for end in ends)
        span = max(math.floor(low), exact.span[0]), min(math.ceil(high), exact.span[1])
        return None if span == exact.span else span
    return None


def _hold(number: Polynomial, span: Span, tables: PlanTables) -> Polynomial:
    """Return a number that is known to lie in less than its parts tell: the day of a month, say."""
    unit = scale(number, tables).unit
    whole = multiply(constant(1 / unit), number)
    # It is chosen everywhere, and missing where it is itself.
    held = Choice(((TRUE, whole),), constant(span[0]), span)
    _check_weight(held)
    return multiply(constant(unit), variable(held))


def _reached(known: OneColumn, tables: PlanTables) -> int:
    """Return the value where the column is missing, if it can be."""
    return known.missing if tables.nullable(known.field) else ABSENT


def from_values(known: OneColumn, unit: Fraction, tables: PlanTables) -> Polynomial | None:
    """Return a number from its values, in steps of a unit; None where it has too many pieces."""
    nullable = tables.nullable(known.field)
    missing = _reached(known, tables)
    values = known.values
    spend(len(values))
    if (values == values[0]).all() and (not nullable or missing == values[0]):
        return None if values[0] == ABSENT else constant(int(values[0]) * unit)
    plain = _as_line(known, unit, tables)
    if plain is not None:
        return plain
    ends = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    if len(ends) > MAX_PIECES:
        return None
    spend(_PIECE * len(ends))
    numbers = [None if code == ABSENT else code for code in values[ends].tolist()]
    other = None if missing == ABSENT else missing
    shrink = math.gcd(*(code for code in (*numbers, other) if code)) or 1
    pieces = tuple(
        (last + known.first, None if code is None else code // shrink)
        for last, code in zip(ends.tolist(), numbers, strict=True)
    )
    steps = StepFunction(known.field, pieces, None if other is None else other // shrink)
    return multiply(constant(shrink * unit), variable(steps))


def _as_line(known: OneColumn, unit: Fraction, tables: PlanTables) -> Polynomial | None:
    """Return a multiple of the column plus a constant, where that is what a number is."""
    values, nullable = known.values, tables.nullable(known.field)
    if not isinstance(tables.column(known.field), Ranged) or (nullable and known.missing != ABSENT):
        return None
    if (values == ABSENT).any():
        return None
    slope = int(values[1] - values[0])
    if len(values) > 2 and (np.diff(values) != slope).any():
        return None
    offset = (int(values[0]) - slope * known.first) * unit
    return add(
        multiply(constant(slope * unit / tables.grid(known.field)), variable(known.field)), constant(offset)
    )


def complement(condition: Condition, tables: PlanTables) -> Condition:
    """Return the condition that another one does not hold, be it false or unknown."""
    simple = exclude_sets(condition, tables)
    if simple is not None:
        return simple
    if isinstance(condition, Compare):
        if not tables.nullable(condition.number):
            return compare(condition.number, OPPOSITE[condition.sign], tables)
        told = choose([(condition, constant(1))], constant(0), tables)
        return FALSE if told is None else compare(told, "=", tables)
    if isinstance(condition, TextLike):
        gone = within(condition.field, [], missing=True, tables=tables)
        return disjunction([replace(condition, negated=not condition.negated), gone], tables)
    parts = [complement(part, tables) for part in getattr(condition, "parts", ())]
    return disjunction(parts, tables) if isinstance(condition, And) else conjunction(parts, tables)


def _check_weight(atom: Choice | Quotient) -> None:
    if _weigh(atom) > MAX_WEIGHT:
        raise Refused(
            what="an expression",
            why=f"written out it has more than {MAX_WEIGHT} parts",
            way_out="Nest fewer functions, or ask the owner for a column that holds it",
        )


def _weigh(node: object) -> int:
    """Count the nodes of a number or a condition as an engine is sent them."""
    if isinstance(node, StepFunction):
        return 1 + len(node.pieces)
    if isinstance(node, Within):
        return 1 + len(node.spans)
    if isinstance(node, TextLike):
        return 1 + len(node.patterns)
    if isinstance(node, Quotient):
        return 1 + 3 * _weigh(node.denominator) + _weigh(node.numerator)
    if isinstance(node, Polynomial):
        return 1 + sum(_weigh(atom) for monomial, _ in node.terms for atom in monomial)
    if isinstance(node, Choice):
        return 1 + _weigh(node.otherwise) + sum(_weigh(part) for case in node.cases for part in case)
    if isinstance(node, Compare):
        return 1 + _weigh(node.number)
    return 1 + sum(map(_weigh, getattr(node, "parts", ())))


def table_of(field: Field, values: Codes, missing: int, tables: PlanTables) -> OneColumn:
    """Return a table of whole numbers for each code of a column."""
    return OneColumn(field, tables.span(field)[0], values, missing)
