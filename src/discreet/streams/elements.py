"""What a stream is made of, declared before the first element comes.

An element is private, and nothing about it may decide an exception. So every element has a meaning: numbers
are rounded to the declared grid and moved to the nearest end of the declared range, and what is missing, NaN
or no number counts as nothing, which is 0. Where the length is public and the hidden change is another
element in the place of one, nothing counts as the number of the range that is nearest to 0: an element that
could leave the range would move sums further than the range is wide.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Contribution, Event, Neighbours
from discreet.core.parameters import checked, public
from discreet.mechanisms.grid import LIMIT, Bounds, Grid
from discreet.mechanisms.reading import make_plain, read_entry

_HINT = "Pass a list, a tuple, or an array or column of numbers"


class Elements(ABC):
    """A declared range of elements on a grid. Frozen, free of data."""

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """The range and its grid."""

    def reader(self, neighbours: Neighbours) -> ElementReader:
        """Return what turns elements into whole units, under a relation."""
        low, high = self.bounds.ends
        if not isinstance(neighbours, Event | Contribution):
            low, high = min(low, 0), max(high, 0)
        return ElementReader(self.bounds.unit, low, high)

    def moved(self, neighbours: Neighbours) -> int:
        """Return by how many units one event can move a sum, under a relation."""
        low, high = self.bounds.ends
        if isinstance(neighbours, Contribution):  # numbers that far apart are rounded no further apart
            return min(high - low, math.ceil(neighbours.most / self.bounds.unit))
        return high - low if isinstance(neighbours, Event) else max(abs(low), abs(high))

    @property
    def largest(self) -> int:
        """The largest size of an element, in units."""
        return max(map(abs, self.bounds.ends))


@checked
class WholeElements(Elements):
    """Whole numbers from 0 to `most`: events that happened or not, or several at one step.

    Numbers that are not whole are rounded to the nearest.
    """

    most: int = public(checks.integer, 1, default=1)

    @property
    def bounds(self) -> Bounds:
        """The range and its grid."""
        return Bounds(Fraction(1), Fraction(0), Fraction(self.most))


@checked
class RealElements(Elements):
    """Real numbers between two declared ends, rounded to multiples of `grid`, each by itself.

    A sum of t elements is therefore off by up to t halves of the grid: take a fine one. Noise is as large as
    on any other.
    """

    lower: Fraction = public(checks.exact)
    upper: Fraction = public(checks.exact)
    grid: Fraction = public(checks.positive)

    def _complete(self) -> None:
        _ = self.bounds, Grid(self.grid)  # both refuse what cannot be

    @property
    def bounds(self) -> Bounds:
        """The range and its grid."""
        return Bounds(self.grid, self.lower, self.upper)


def read_elements(**named: object) -> Elements:
    """Return declared elements of one of the classes here: a stranger's could read elements otherwise."""
    ((name, value),) = named.items()
    if type(value) in (WholeElements, RealElements):
        return value  # type: ignore[return-value]
    rule = "WholeElements(most) or RealElements(lower, upper, grid)"
    raise InvalidParameter(name=name, rule=rule, got=f"a {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class ElementReader:
    """Turns elements into whole units between two ends. Total: no element raises."""

    unit: Fraction
    low: int
    high: int

    def read(self, value: Any) -> int:
        """Read one element."""
        if type(value) is int and self.unit == 1:
            units = value
        else:
            number = read_entry(value)
            if isinstance(number, float):  # an infinity
                return self.high if number > 0 else self.low
            units = (2 * number / self.unit + 1).__floor__() // 2
        return self.low if units < self.low else self.high if units > self.high else units

    def read_many(self, values: Any) -> NDArray[np.int64]:
        """Read the elements of a list, an array or a column.

        Raises
        ------
        InvalidParameter
            For what is no container of numbers by its type.
        """
        plain = make_plain(values)
        if isinstance(plain, list | tuple):
            return np.fromiter(map(self.read, plain), dtype=np.int64, count=len(plain))
        if type(plain) is np.ndarray and plain.ndim == 1:
            if plain.dtype.kind == "b":
                plain = plain.astype(np.int8)
            if plain.dtype.kind in "iu" and self.unit == 1:
                whole = np.minimum(plain, LIMIT) if plain.dtype.str[1:] == "u8" else plain
                return np.asarray(np.clip(whole.astype(np.int64), self.low, self.high))
            if plain.dtype.kind in "iuf":
                units = Grid(self.unit).to_units(plain, plain.size)
                return np.clip(units, self.low, self.high)
        raise InvalidParameter(
            name="elements",
            rule="a sequence of numbers",
            got=f"a {type(values).__name__}",
            hint=_HINT,
        )
