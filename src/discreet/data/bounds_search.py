"""Bounds for a column whose values nobody knows: a histogram of round numbers, read where rows stand out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NoBound, plain
from discreet.data.schema.columns import Decimal, Integer
from discreet.data.schema.schema import Schema
from discreet.data.sql.printed_rows import quote

_PART, _ROWS = "part", "rows"
_CONFIDENCE = Fraction(95, 100)


class CountsOfParts(Protocol):
    """What a door answers: an `Answer`, or a `Reply`."""

    def column(self, name: str) -> tuple[Any, ...]:
        """Return one column of values."""

    def interval(
        self, name: str, confidence: checks.Number, *, together: bool = False
    ) -> tuple[tuple[Any, Any], ...]:
        """Return (low, high) for every row; where `together` is set, all of them hold at once."""


@dataclass(frozen=True, slots=True)
class FoundBounds:
    """Round numbers between which the rows of a column lie, but for few.

    Attributes
    ----------
    lower, upper
        The bounds.
    missed
        The most rows that any part of the declared range outside them holds, at 95 %.
    """

    lower: Fraction
    upper: Fraction
    missed: int

    @property
    def clause(self) -> str:
        """What to write into AVG or SUM, after the column."""
        return f"contribution_bounds_per_row => ({plain(self.lower)}, {plain(self.upper)})"

    def __str__(self) -> str:
        outside = f"each part of the declared range outside holds at most {self.missed:,} rows at 95 %"
        return f"{plain(self.lower)} to {plain(self.upper)}; {outside}"


@dataclass(frozen=True, slots=True)
class BoundsSearch:
    """Find between which round numbers the values of a column lie, by one question.

    Declare bounds that hold whatever the data are, however wide; ask `question` at any door for a small part
    of the budget; `read` the answer. It counts the rows between neighbouring ones of 0, 1, 2, 5, 10, 20,
    50, ... and their negatives, so it costs what any histogram costs, and no more is learnt than its noisy
    counts. Parts that hold fewer rows than the noise hides are taken for empty.

    Parameters
    ----------
    schema
        What is declared.
    column
        An `Integer` or a `Decimal` of it.

    Examples
    --------
    >>> from discreet import AddRemove
    >>> from discreet.data import Row
    >>> pay = Decimal("pay", lower=0, upper=10**9, grid=Fraction(1, 100))
    >>> search = BoundsSearch(Schema("staff", columns=(pay,), unit=Row(), neighbours=AddRemove("row")), "pay")
    >>> len(search.edges)
    35
    """

    schema: Schema
    column: str
    edges: tuple[Fraction, ...] = field(init=False)
    """The declared bounds, and all round numbers between them, each put on the grid."""

    def __post_init__(self) -> None:
        declared = checks.instance(Schema, schema=self.schema).column(self.column)
        if not isinstance(declared, Integer | Decimal):
            rule = "a column of numbers (Integer or Decimal)"
            raise InvalidParameter(name="column", rule=rule, got=type(declared).__name__)
        low, high = declared.lower, declared.upper
        inside = {
            signed
            for number in _round_numbers(declared.grid, max(abs(low), abs(high)))
            for signed in (-number, Fraction(0), number)
            if low < signed < high
        }
        if not inside:
            rule = "a column with a round number between its bounds"
            raise InvalidParameter(name="column", rule=rule, value=self.column)
        object.__setattr__(self, "edges", (low, *sorted(inside), high))

    @property
    def question(self) -> str:
        """The question in SQL."""
        name = quote(self.column)
        parts = [f"WHEN {name} < {plain(edge)} THEN {place}" for place, edge in enumerate(self.edges[1:-1])]
        part = f"CASE {' '.join(parts)} ELSE {len(parts)} END AS {_PART}"
        # By its place: where a column has the name of the part, that column would be grouped by.
        source = f"FROM {quote(self.schema.name)} WHERE {name} IS NOT NULL GROUP BY 1"
        return f"SELECT {part}, COUNT(*) AS {_ROWS} {source}"

    def read(self, answer: CountsOfParts) -> FoundBounds:
        """Return the narrowest bounds that hold every part in which rows stand out of the noise.

        With probability 95 % none of these parts is empty.

        Raises
        ------
        NoBound
            When no part stands out.
        """
        if [int(place) for place in answer.column(_PART)] != list(range(len(self.edges) - 1)):
            rule = "what `question` was answered with, in its order and whole"
            raise InvalidParameter(name="answer", rule=rule, got="other parts")
        ends = answer.interval(_ROWS, _CONFIDENCE, together=True)
        found = [place for place, (low, _) in enumerate(ends) if low > 0]
        if not found:
            raise NoBound(
                what=f"a bound of {self.column}",
                why="no part of its declared range holds more rows than the noise hides",
                way_out="Ask the question again with more of the budget",
            )
        first, last = found[0], found[-1]
        outside = (high for _, high in (*ends[:first], *ends[last + 1 :]))
        return FoundBounds(self.edges[first], self.edges[last + 1], max(map(int, outside), default=0))


def _round_numbers(grid: Fraction, most: Fraction) -> list[Fraction]:
    """List 1, 2 and 5 times the powers of ten from the grid up to the largest bound, each put on the grid."""
    power = Fraction(1)
    while power > grid:
        power /= 10
    while power < grid:
        power *= 10
    found = []
    while power <= most:
        found += [math.ceil(power * digit / grid) * grid for digit in (1, 2, 5)]
        power *= 10
    return found
