"""What a question means: a small frozen tree that holds no text of the analyst and no data.

A `Plan` is in normal form from the start. Numbers are polynomials with exact coefficients. Conditions hold
no NOT: it has been pushed down to sets of codes and to signs. A comparison with a missing value is not true
(SQL's three-valued logic says the same of a WHERE clause), so two truth values are enough.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
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
    "count_distinct",
    "minimum",
    "maximum",
    "mode",
    "covariance_pop",
    "covariance_samp",
    "correlation",
    "slope",
    "intercept",
    "determination",
]
Sign = Literal["<", "<=", "=", "<>"]
Function = Literal[
    "+",
    "-",
    "*",
    "/",
    "%",
    "power",
    "abs",
    "sign",
    "sqrt",
    "floor",
    "ceil",
    "round",
    "trunc",
    "least",
    "greatest",
    "coalesce",
    "nullif",
    "case",
    "=",
    "<>",
    "<",
    "<=",
    "is null",
    "and",
    "or",
    "not",
]
"""What is computed from released values. All of it is total: what has no value is missing."""
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
    """An inner join: with a public table on its unique key, or with a private one on the privacy unit."""

    table: str
    left: Field
    right: Field


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
    column
        For counts of present or different values and for the most frequent one: of which column.
    other
        For what is said of pairs of numbers: the second one (of a regression: what explains the first).
    """

    kind: Kind
    number: Polynomial | None = None
    row_bounds: tuple[Fraction, Fraction] | None = None
    group_bounds: tuple[Fraction, Fraction] | None = None
    points: tuple[Fraction, ...] = ()
    column: Field | None = None
    other: Polynomial | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the request wrote; None is the missing one."""

    value: Fraction | str | bool | datetime.date | None


@dataclass(frozen=True, slots=True)
class Computed:
    """What is computed from released values, for nothing: numbers, texts, dates and truth values.

    Parameters
    ----------
    function
        What is computed. `case` has conditions and values in turn, then the value of all other rows.
    parts
        What it is computed from. Made by the functions of `plan.after`.
    """

    function: Function
    parts: tuple[Field | Aggregate | Constant | Computed, ...]


Shown = Field | Aggregate | Constant | Computed
"""What a column of an answer may be, and what HAVING and ORDER BY look at."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer, under a name: a group key, an aggregate, or what is computed from these."""

    name: str
    what: Field | Aggregate | Constant | Computed


@dataclass(frozen=True, slots=True)
class Ordering:
    """One thing that rows are sorted by."""

    what: Field | Aggregate | Computed
    descending: bool
    missing_first: bool


@dataclass(frozen=True, slots=True)
class After:
    """Which rows of an answer are shown, and in which order: decided by released values alone.

    Parameters
    ----------
    having
        Rows are shown where it is true; None shows all.
    order
        What rows are sorted by, the first one first; ties stay in the order of the keys.
    offset, limit
        How many rows are left out first, and how many are shown at most.
    """

    having: Computed | None = None
    order: tuple[Ordering, ...] = ()
    offset: int = 0
    limit: int | None = None


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
    after
        Which rows of the answer are shown, in which order.
    """

    table: str
    joins: tuple[Join, ...]
    where: Condition
    sets: tuple[tuple[Field, ...], ...]
    outputs: tuple[Output, ...]
    options: Options
    after: After = After()

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
        """Everything that is asked of the data, each once: what is shown, computed with or looked at."""
        looked_at: list[Shown] = [
            *(one.what for one in self.outputs),
            *(one.what for one in self.after.order),
        ]
        if self.after.having is not None:
            looked_at.append(self.after.having)
        return tuple(
            dict.fromkeys(leaf for one in looked_at for leaf in leaves(one) if isinstance(leaf, Aggregate))
        )


def leaves(what: Shown) -> Iterator[Field | Aggregate]:
    """Yield the keys and aggregates that something is computed from, as they are written."""
    rest = [what]
    while rest:
        one = rest.pop()
        if isinstance(one, Computed):
            rest.extend(reversed(one.parts))
        elif not isinstance(one, Constant):
            yield one
