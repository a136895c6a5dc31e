"""What a question means: a small frozen tree that holds no text of the analyst and no data.

A `Plan` is in normal form from the start. Numbers are polynomials with exact coefficients. Conditions hold
no NOT: it has been pushed down to sets of codes and to signs. A comparison with a missing value is not true
(SQL's three-valued logic says the same of a WHERE clause), so two truth values are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.core import checks

Kind = Literal[
    "count",
    "count_units",
    "sum",
    "average",
    "variance_pop",
    "variance_samp",
    "deviation_pop",
    "deviation_samp",
    "quantile",
]
UnitKind = Literal["count", "sum", "min", "max", "average"]
Sign = Literal["<", "<=", "=", "<>"]
MIN_EPSILON = Fraction(1, 10**6)
"""The least a question may cost: below it an answer is nothing but noise."""
Span = tuple[int, int]
"""Codes from the first to the second, both included."""


@dataclass(frozen=True, slots=True, order=True)
class Field:
    """A column of a table of the plan."""

    table: str
    name: str


Monomial = tuple[Field, ...]


@dataclass(frozen=True, slots=True, order=True)
class Polynomial:
    """A sum of coefficients times products of columns, in the columns' own values.

    Terms are sorted by their columns. A coefficient is 0 only for a column that cancels: its value does not
    matter, but that it is there does. Made by the functions of `plan_numbers`.
    """

    terms: tuple[tuple[Monomial, Fraction], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that occur, sorted."""
        return tuple(sorted({field for monomial, _ in self.terms for field in monomial}))


@dataclass(frozen=True, slots=True)
class Within:
    """The column's code lies in one of the spans; or it is missing, where `missing` is set.

    Spans ascend and do not touch. For a category the codes are positions among the declared values.
    """

    field: Field
    spans: tuple[Span, ...]
    missing: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """A polynomial of more than one column (or of higher degree) compared with 0."""

    number: Polynomial
    sign: Sign


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds. Without parts it is true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some part holds. Without parts it is false."""

    parts: tuple[Condition, ...]


Condition = Within | Compare | And | Or

TRUE = And(())
FALSE = Or(())


@dataclass(frozen=True, slots=True)
class Join:
    """A join: with a public table on its unique key, or with a private one on the privacy unit.

    Where `outer` is set, rows without a partner in a public table stay, and its columns are missing there.
    """

    table: str
    left: Field
    right: Field
    outer: bool = False


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One value for each unit, of all its rows that count.

    Parameters
    ----------
    kind
        What is computed. An average is rounded to a grid: see `plan.derived`.
    number
        What it is computed of; None counts rows whatever they hold. Missing numbers are left out; where a
        unit has no other, its value is missing too (its count is 0).
    """

    kind: UnitKind
    number: Polynomial | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """A relation with exactly one row for each unit that has a row that counts.

    Parameters
    ----------
    table, joins, where
        The rows, as in a `Plan`.
    values
        The columns, beside the unit itself: sorted, each once.
    """

    table: str
    joins: tuple[Join, ...]
    where: Condition
    values: tuple[UnitValue, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number (or, for several quantiles, a few) a group.

    Parameters
    ----------
    kind
        What is computed.
    number
        What it is computed of; None for counts of rows and units.
    row_bounds
        Each row's value is clamped to these before anything else.
    group_bounds
        Each unit's total in a group is clamped to these (sums and counts).
    points
        For quantiles: which ones, between 0 and 1.
    """

    kind: Kind
    number: Polynomial | None = None
    row_bounds: tuple[Fraction, Fraction] | None = None
    group_bounds: tuple[Fraction, Fraction] | None = None
    points: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: a group key or an aggregate, under a name."""

    name: str
    what: Field | Aggregate


@dataclass(frozen=True, slots=True)
class Options:
    """What the request asks to be tightened; None leaves the owner's policy as it is."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_rows: int | None = None
    max_groups: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The most one query may be charged. The owner sets it; a request can only ask for less."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.at_least(MIN_EPSILON, epsilon=self.epsilon))
        object.__setattr__(self, "delta", checks.delta(delta=self.delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked question.

    Parameters
    ----------
    table
        The private table.
    joins
        Tables joined to it, in order.
    where
        Which rows count.
    sets
        The grouping sets: one group-by each, sorted; `((),)` for a single number.
    outputs
        The columns of the answer, in the order asked.
    options
        What the request tightened.
    units
        Where the question is about one row for each unit: that relation, which then is the table.
    """

    table: str
    joins: tuple[Join, ...]
    where: Condition
    sets: tuple[tuple[Field, ...], ...]
    outputs: tuple[Output, ...]
    options: Options
    units: Units | None = None

    @property
    def keys(self) -> tuple[Field, ...]:
        """Every column that some grouping set groups by, sorted."""
        return tuple(sorted({field for keys in self.sets for field in keys}))

    @property
    def shown_sets(self) -> tuple[tuple[Field, ...], ...]:
        """The grouping sets in the order of the answer's rows: keys as they were selected, then others."""
        selected = [output.what for output in self.outputs if isinstance(output.what, Field)]
        order = {field: place for place, field in enumerate(dict.fromkeys([*selected, *self.keys]))}
        turned = [tuple(sorted(keys, key=order.__getitem__)) for keys in self.sets]
        return tuple(sorted(turned, key=lambda keys: [order[field] for field in keys]))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates, in the order asked."""
        return tuple(output.what for output in self.outputs if isinstance(output.what, Aggregate))
