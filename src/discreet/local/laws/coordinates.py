"""Report a few coordinates of a vector of numbers: which ones is drawn without a look at them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.local.laws.domains import Domain, Span, list_entries, make_scalar
from discreet.local.laws.fields import from_digits, to_digits
from discreet.local.laws.kernel import Below, Kernel, choose_subset
from discreet.local.laws.numbers import MixedKernel

MOST_COORDINATES = 1 << 16
_MOST_SAMPLED = 32


@dataclass(frozen=True, slots=True)
class Vectors(Domain):
    """Lists of numbers, each on the same grid between two bounds."""

    span: Span
    dimensions: int

    def __post_init__(self) -> None:
        if type(self.dimensions) is not int or not 1 <= self.dimensions <= MOST_COORDINATES:
            raise InvalidParameter(
                name="dimensions", rule=f"a whole number from 1 to {MOST_COORDINATES}", value=self.dimensions
            )

    @property
    def size(self) -> int:
        """All vectors."""
        return int(self.span.size**self.dimensions)

    @property
    def more(self) -> tuple[Any, ...]:
        """The number of coordinates decides the table, and the size of the grid of each."""
        return self.span.size, self.dimensions

    def read_each(self, value: object) -> list[int]:
        """Return the place of each coordinate; what is missing counts as the middle, as no number does."""
        given = list_entries(value)[: self.dimensions]
        given += [None] * (self.dimensions - len(given))
        return [self.span.read(make_scalar(each)) for each in given]

    def read(self, value: object) -> int:
        """Return the places of all coordinates as the digits of a number, the first one lowest."""
        return from_digits(self.read_each(value), self.span.size)

    def describe(self) -> Any:
        """Return bounds, steps and the number of coordinates."""
        return {**self.span.describe(), "dimensions": self.dimensions}


@dataclass(frozen=True, slots=True)
class CoordinatesKernel(Kernel):
    """Report `sampled` coordinates, a uniform set of them, each with its part of the budget [WXYZ19].

    A report has an entry for each, in the order of the coordinates: the coordinate times the number of
    reports about one number, plus such a report.
    """

    dimensions: int
    sampled: int
    part: MixedKernel

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction, grid: int, dimensions: int) -> CoordinatesKernel:
        """Return the table with as many coordinates as make the largest variance least."""
        del inputs
        most = min(dimensions, _MOST_SAMPLED, 1 + int(epsilon))
        tried = (cls(dimensions, k, MixedKernel.make(grid, epsilon / k)) for k in range(1, most + 1))
        return min(tried, key=lambda kernel: kernel.worst_variance)

    @property
    def worst_variance(self) -> Fraction:
        """The largest variance of a coordinate's mean, times people.

        Besides that of the reports, numbers of those who report about it differ from those of all people.
        """
        others = 1 - Fraction(self.sampled, self.dimensions)
        return Fraction(self.dimensions, self.sampled) * self.spread(others)

    def spread(self, others: Fraction) -> Fraction:
        """Return the largest variance of a report and of a share of the square of its number."""
        ends = (0, (self.part.inputs - 1) // 2)  # both are parabolas, even around the middle
        return max(self.part.variance(place) + others * self.part.number(place) ** 2 for place in ends)

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """All vectors."""
        return int(self.part.inputs**self.dimensions)

    @property
    def entries(self) -> int:
        """How many entries there may be about all coordinates."""
        return self.dimensions * self.part.size

    @property
    def stride(self) -> int:
        """How many bytes an entry takes."""
        return ((self.entries - 1).bit_length() + 7) // 8

    @property
    def size(self) -> int:
        """All strings of so many bytes, of which few are reports."""
        return 1 << (8 * self.stride * self.sampled)

    @property
    def ratio(self) -> Fraction:
        """That of one entry, to the power of their number."""
        return self.part.ratio**self.sampled

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report."""
        places = to_digits(value, self.part.inputs, self.dimensions)
        each = Fraction(1, math.comb(self.dimensions, self.sampled))
        for chosen in itertools.combinations(range(self.dimensions), self.sampled):
            laws = [list(self.part.law(places[coordinate])) for coordinate in chosen]
            for drawn in itertools.product(*laws):
                codes = [code for code, _ in drawn]
                yield (
                    self._join(list(chosen), codes),
                    each * math.prod((p for _, p in drawn), start=Fraction(1)),
                )

    def draw(self, value: int, below: Below) -> int:
        """Draw which, then a report about each."""
        chosen = choose_subset(self.sampled, self.dimensions, below)
        places = to_digits(value, self.part.inputs, self.dimensions)
        return self._join(chosen, [self.part.draw(places[coordinate], below) for coordinate in chosen])

    def join(self, places: list[int]) -> int:
        """Return the number of a vector."""
        return from_digits(places, self.part.inputs)

    def _join(self, chosen: list[int], codes: list[int]) -> int:
        entries = [c * self.part.size + code for c, code in zip(chosen, codes, strict=True)]
        return from_digits(entries, 1 << 8 * self.stride)
