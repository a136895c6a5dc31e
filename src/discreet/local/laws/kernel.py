"""What a local randomizer is: a table of probabilities, and a way to draw one report from it exactly.

Private values are the whole numbers 0 .. inputs - 1, reports are whole numbers too. Whoever draws needs
uniform whole numbers below a bound and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction

from discreet.core.errors import InvalidParameter

Below = Callable[[int], int]
"""Draws a uniform whole number from 0 to one less than the bound it is given."""
LONGEST_REPORT = 1 << 20
"""Bits of a report with one for each value: a survey by others must not keep a device busy for ever."""


class Kernel(ABC):
    """A finite table: the probability of every report, for every private value."""

    __slots__ = ()
    inputs: int

    @property
    @abstractmethod
    def size(self) -> int:
        """How many reports there are: they are 0 .. size - 1."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest quotient of the probabilities of one report under two values."""

    @abstractmethod
    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report with its exact probability."""

    @abstractmethod
    def draw(self, value: int, below: Below) -> int:
        """Draw one report."""

    @property
    def bits(self) -> int:
        """How long a report is."""
        return (self.size - 1).bit_length()

    @property
    def width(self) -> int:
        """How many bytes a report takes on the wire."""
        return (self.bits + 7) // 8


def toss(chance: Fraction, below: Below) -> bool:
    """Return True with a rational probability."""
    return below(chance.denominator) < chance.numerator


def choose_subset(count: int, among: int, below: Below) -> list[int]:
    """Return a uniform subset of 0 .. among - 1 with `count` members [BF87]."""
    chosen: set[int] = set()
    for last in range(among - count, among):
        member = below(last + 1)
        chosen.add(last if member in chosen else member)
    return sorted(chosen)


def require_small(size: int, most: int, what: str) -> None:
    """Refuse a domain for which a collector, or a device, would need too much memory."""
    if size > most:
        raise InvalidParameter(
            name="domain",
            rule=f"small enough for {what} of {most} numbers",
            value=size,
            hint="DirectResponse and the others take fewer; search huge domains by their prefixes",
        )
