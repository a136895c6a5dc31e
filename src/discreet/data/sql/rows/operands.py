"""What an expression stands for: a number, a date, a text of a known list or a truth value, or nothing.

Whatever its kind, it is one number a row in the end: days, or the place of a text in a list of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.data.plan.atoms import choose, floor_quotient, from_values
from discreet.data.plan.canonical import compare, conjunction, disjunction, is_there, within
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.numbers import add, constant, multiply, negate, scale
from discreet.data.plan.row_nodes import Condition, Field, Polynomial
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import MAX_TABULATED, OneColumn, tabulate
from discreet.data.sql.text import refuse

_LABEL = 60
"""Steps that each label takes that values are told apart by: see `plan.effort`."""
DIGITS = 6
"""Decimals that a quotient of columns is rounded to, where its value is needed."""
Label = str | int
Kind = Literal["number", "date", "truth", "label"]


@dataclass(frozen=True, slots=True)
class ChoiceColumn:
    """A column whose values are compared for equality only: a category or a boolean."""

    field: Field
    positions: dict[object, int]

    @property
    def kind(self) -> type:
        """The type of its values."""
        return type(next(iter(self.positions)))


@dataclass(frozen=True, slots=True)
class Mapped:
    """A function of a category: its value for each declared one, and for a missing one. None is missing."""

    field: Field
    values: tuple[Label | None, ...]
    missing: Label | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """One of some labels: the number is its place among them."""

    number: Polynomial
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Day:
    """A date, as days since 1970-01-01."""

    number: Polynomial


@dataclass(frozen=True, slots=True)
class Ratio:
    """An exact quotient: missing where the denominator is 0."""

    above: Polynomial
    below: Polynomial


@dataclass(frozen=True, slots=True)
class Truth:
    """True where one condition holds, false where another does, missing elsewhere.

    `number` is 1 and 0 in the same rows, where it was made from that.
    """

    holds: Condition
    fails: Condition
    number: Polynomial | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """NULL."""


MISSING = Missing()
Operand = Polynomial | Ratio | Day | ChoiceColumn | Mapped | Labelled | Truth | Missing | str | bool


def describe(side: Operand) -> str:
    """Return what kind of thing an operand is, in words."""
    kinds: dict[type, str] = {
        Polynomial: "a number",
        Ratio: "a number",
        Day: "a date",
        str: "text",
        bool: "a truth value",
        Truth: "a truth value",
        Missing: "NULL",
    }
    return kinds.get(type(side), "a category")


def kind_of(side: Operand) -> Kind | None:
    """Return the kind of an operand; None for NULL, which is of every kind."""
    if isinstance(side, Polynomial | Ratio):
        return "number"
    if isinstance(side, Day):
        return "date"
    if isinstance(side, Truth | bool) or (isinstance(side, ChoiceColumn) and side.kind is bool):
        return "truth"
    return None if isinstance(side, Missing) else "label"


def is_present(side: Operand, tables: PlanTables) -> Condition:
    """Return the condition that an operand is not missing."""
    if isinstance(side, ChoiceColumn):
        return is_there(side.field, tables)
    if isinstance(side, Mapped):
        spans = [(i, i) for i, value in enumerate(side.values) if value is not None]
        return within(side.field, spans, missing=side.missing is not None, tables=tables)
    if isinstance(side, Truth):
        return disjunction([side.holds, side.fails], tables)
    if isinstance(side, Ratio):
        parts = [is_there(side.above, tables), compare(side.below, "<>", tables)]
        return conjunction(parts, tables)
    if isinstance(side, Day | Labelled):
        return is_there(side.number, tables)
    if isinstance(side, Polynomial):
        return is_there(side, tables)
    return conjunction([], tables) if not isinstance(side, Missing) else disjunction([], tables)


def as_truth(side: Operand, tables: PlanTables) -> Truth | None:
    """Return an operand as a truth value; None where it is none."""
    if isinstance(side, bool):
        yes, no = conjunction([], tables), disjunction([], tables)
        return Truth(yes, no) if side else Truth(no, yes)
    if isinstance(side, ChoiceColumn) and side.kind is bool:
        no, yes = (within(side.field, [(i, i)], missing=False, tables=tables) for i in (0, 1))
        return Truth(yes, no)
    if isinstance(side, Missing):
        never = disjunction([], tables)
        return Truth(never, never)
    return side if isinstance(side, Truth) else None


def truth_number(side: Truth, tables: PlanTables) -> Polynomial | None:
    """Return 1 where a truth value is true and 0 where it is false."""
    if side.number is not None:
        return side.number
    return choose([(side.holds, constant(1)), (side.fails, constant(0))], None, tables)


def settle(side: Ratio, tables: PlanTables) -> Polynomial | None:
    """Return a quotient as a number, rounded to `DIGITS` decimals."""
    return by_sign(side, tables, lambda above, below: rounded(above, below, DIGITS, tables))


def by_sign(
    side: Ratio | Polynomial,
    tables: PlanTables,
    make: Callable[[Polynomial, Polynomial], Polynomial | None],
) -> Polynomial | None:
    """Make a number from numerator and denominator, on either side of a denominator of 0."""
    if isinstance(side, Polynomial):
        return make(side, constant(1))
    if scale(side.below, tables).span[0] > 0:
        return make(side.above, side.below)
    sides = [
        (compare(side.below, ">", tables), make(side.above, side.below)),
        (compare(side.below, "<", tables), make(negate(side.above), negate(side.below))),
    ]
    return choose(sides, None, tables)


def rounded(above: Polynomial, below: Polynomial, digits: int, tables: PlanTables) -> Polynomial | None:
    """Return a quotient rounded to some decimals, halves away from 0."""
    power = Fraction(10) ** digits
    twice = multiply(constant(2 * power), above)
    double = multiply(constant(2), below)
    up = times(floor_quotient(add(twice, below), double, tables), 1 / power)
    if scale(above, tables).span[0] >= 0:
        return up
    down = times(floor_quotient(add(negate(twice), below), double, tables), -1 / power)
    return choose([(compare(above, ">=", tables), up)], down, tables)


def times(number: Polynomial | None, factor: Fraction | int) -> Polynomial | None:
    """Return a multiple of a number."""
    return None if number is None else multiply(constant(factor), number)


def unify(
    sides: Sequence[Operand], what: str, tables: PlanTables
) -> tuple[Kind, list[Polynomial | None], tuple[Label, ...]]:
    """Return operands of one kind as numbers, with the labels that they share; refuse different kinds."""
    kinds = {kind for kind in map(kind_of, sides) if kind is not None}
    if len(kinds) > 1:
        named = " and ".join(dict.fromkeys(describe(side) for side in sides if kind_of(side)))
        raise refuse(
            what, f"its values are {named}", "Make all its values numbers, texts, dates or TRUE/FALSE"
        )
    if not kinds:
        raise refuse(what, "it is always missing", "Leave it out")
    (kind,) = kinds
    if kind != "label":
        return kind, [as_number(side, tables) for side in sides], ()
    listed = [label for side in sides for label in _labels(side)]
    spend(_LABEL * len(listed))
    labels = tuple(dict.fromkeys(listed))
    if len({type(label) for label in labels}) > 1:
        raise refuse(what, "its values are text and numbers", "Make all its values of one kind")
    places: dict[Label, int] = {label: i for i, label in enumerate(labels)}
    return kind, [_place(side, places, tables) for side in sides], labels


def as_number(side: Operand, tables: PlanTables) -> Polynomial | None:
    """Return a number, a date in days or a truth value as a number; None where it is always missing."""
    if isinstance(side, Polynomial):
        return side
    if isinstance(side, Ratio):
        return settle(side, tables)
    if isinstance(side, Day):
        return side.number
    truth = as_truth(side, tables)
    return None if truth is None else truth_number(truth, tables)


def wrap(kind: Kind, number: Polynomial | None, labels: tuple[Label, ...], tables: PlanTables) -> Operand:
    """Return a number as an operand of some kind."""
    if number is None:
        return MISSING
    if kind == "number":
        return number
    if kind == "date":
        return Day(number)
    if kind == "truth":
        yes, no = (compare(add(number, constant(-code)), "=", tables) for code in (1, 0))
        return Truth(yes, no, number)
    return order_labels(Labelled(number, labels), tables)


def order_labels(side: Labelled, tables: PlanTables) -> Labelled:
    """List the labels of a function of one column as they occur, and no others: one list for one function."""
    known = tabulate(side.number, tables)
    if known is None:
        return side
    spend(_LABEL // 4 * len(known.values))
    unit = int(scale(side.number, tables).unit)
    reached = [*known.values.tolist(), *([known.missing] if tables.nullable(known.field) else [])]
    codes = [code * unit for code in dict.fromkeys(reached) if code != ABSENT]
    if codes == list(range(len(side.labels))):
        return side
    moved = {code: place for place, code in enumerate(codes)}
    number = renumber(side.number, moved, tables)
    return side if number is None else Labelled(number, tuple(side.labels[code] for code in codes))


def renumber(number: Polynomial, moved: dict[int, int], tables: PlanTables) -> Polynomial | None:
    """Return other whole numbers in place of those of a number."""
    known = tabulate(number, tables)
    if known is not None:
        spend(_LABEL // 4 * len(known.values))
        unit = int(scale(number, tables).unit)
        values = [ABSENT if code == ABSENT else moved[code * unit] for code in known.values.tolist()]
        missing = moved.get(known.missing * unit, ABSENT) if known.missing != ABSENT else ABSENT
        listed = OneColumn(known.field, known.first, np.array(values, dtype=np.int64), missing)
        return _pieces(listed, tables)
    cases = [(compare(add(number, constant(-old)), "=", tables), constant(new)) for old, new in moved.items()]
    return choose(cases, None, tables)


def _labels(side: Operand) -> Iterable[Label]:
    if isinstance(side, str):
        return (side,)
    if isinstance(side, ChoiceColumn):
        return (label for label in side.positions if isinstance(label, str | int))
    if isinstance(side, Mapped):
        return (label for label in (*side.values, side.missing) if label is not None)
    return side.labels if isinstance(side, Labelled) else ()


def _place(side: Operand, places: dict[Label, int], tables: PlanTables) -> Polynomial | None:
    if isinstance(side, str):
        return constant(places[side])
    if isinstance(side, ChoiceColumn):
        return _mapped_number(Mapped(side.field, tuple(_labels(side))), places, tables)
    if isinstance(side, Mapped):
        return _mapped_number(side, places, tables)
    if isinstance(side, Labelled):
        moved = {i: places[label] for i, label in enumerate(side.labels)}
        same = all(old == new for old, new in moved.items())
        return side.number if same else renumber(side.number, moved, tables)
    return None


def _mapped_number(side: Mapped, places: dict[Label, int], tables: PlanTables) -> Polynomial | None:
    if len(side.values) > MAX_TABULATED:
        raise _refuse_long(side.field)
    codes = [ABSENT if value is None else places[value] for value in side.values]
    missing = ABSENT if side.missing is None else places[side.missing]
    return _pieces(OneColumn(side.field, 0, np.array(codes, dtype=np.int64), missing), tables)


def _pieces(known: OneColumn, tables: PlanTables) -> Polynomial | None:
    found = from_values(known, Fraction(1), tables)
    if found is None and ((known.values != ABSENT).any() or known.missing != ABSENT):
        raise _refuse_long(known.field)
    return found


def _refuse_long(field: Field) -> Exception:
    why = "a function of it has too many different values to be listed"
    return refuse(field.name, why, "Use the column itself, or put a condition on it")


def labelled(side: Operand, tables: PlanTables) -> Labelled | None:
    """Return a text of a known list with its labels; None for anything else."""
    if kind_of(side) != "label":
        return None
    _, (number,), labels = unify([side], "text", tables)
    return None if number is None else order_labels(Labelled(number, labels), tables)


def differ(left: Truth, right: Truth, tables: PlanTables) -> tuple[Condition, Condition]:
    """Return where two truth values are there and equal, and where they are there and differ."""
    same = [conjunction(pair, tables) for pair in ((left.holds, right.holds), (left.fails, right.fails))]
    other = [conjunction(pair, tables) for pair in ((left.holds, right.fails), (left.fails, right.holds))]
    return disjunction(same, tables), disjunction(other, tables)


def first_present(sides: Sequence[Operand], what: str, tables: PlanTables) -> Operand:
    """COALESCE."""
    kind, numbers, labels = unify(sides, what, tables)
    cases = [
        (is_present(side, tables), number) for side, number in zip(sides[:-1], numbers[:-1], strict=True)
    ]
    return wrap(kind, choose(cases, numbers[-1], tables), labels, tables)


def unless(side: Operand, condition: Condition, tables: PlanTables) -> Operand:
    """Return an operand, missing where a condition holds."""
    kind, (number,), labels = unify([side], "NULLIF", tables)
    return wrap(kind, choose([(condition, None)], number, tables), labels, tables)
