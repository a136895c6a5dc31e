"""Report the parity of a few of one's own bits: which ones is drawn without a look at them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.local.laws.domains import Domain
from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds
from discreet.local.laws.records import Attributes, is_attribute, read_record, require_plain
from discreet.local.laws.wire import refuse

MOST_BITS = 62
MOST_SETS = 1 << 20
"""A collector estimates a number for each set."""


@dataclass(frozen=True, slots=True)
class BitRecords(Domain):
    """Records of attributes with two values each, of which up to `width` are looked at together."""

    attributes: Attributes
    width: int

    def __post_init__(self) -> None:
        require_plain(self.attributes)
        length = len(self.attributes)
        if not 1 <= length <= MOST_BITS or any(len(values) != 2 for _, values in self.attributes):
            rule = f"from 1 to {MOST_BITS} attributes of two values each"
            raise InvalidParameter(name="universe", rule=rule, got="others")
        if type(self.width) is not int or not 1 <= self.width <= length:
            raise InvalidParameter(name="width", rule=f"from 1 to {length}", value=self.width)
        if count_sets(length, self.width) > MOST_SETS:
            raise InvalidParameter(
                name="width",
                rule=f"small enough for at most {MOST_SETS} sets of attributes",
                value=self.width,
                hint="Look at fewer attributes together",
            )

    @property
    def size(self) -> int:
        """All strings of bits."""
        return 1 << len(self.attributes)

    @property
    def more(self) -> tuple[Any, ...]:
        """The number of bits and the width decide the table."""
        return len(self.attributes), self.width

    def read(self, value: object) -> int:
        """Return a record's bits: that of the first attribute is the lowest."""
        return sum(code << place for place, code in enumerate(read_record(self.attributes, value)))

    def describe(self) -> Any:
        """Return attributes and width."""
        return {"attributes": [[name, list(values)] for name, values in self.attributes], "width": self.width}

    @classmethod
    def restore(cls, described: dict[str, Any]) -> BitRecords:
        """Return what `describe` wrote; what is not quite as it should be is refused."""
        pairs = described["attributes"]
        if not isinstance(pairs, list) or not all(map(is_attribute, pairs)):
            raise refuse("its attributes are no lists of a name and plain values")
        return cls(tuple((name, tuple(values)) for name, values in pairs), described["width"])

    def __repr__(self) -> str:
        return f"{len(self.attributes)} attributes, up to {self.width} together"


@dataclass(frozen=True, slots=True)
class ParityKernel(Kernel):
    """Report a uniform set of 1 to `together` places and its parity, `odds` times as often right as wrong.

    Report 2 k + b is about the k-th set, by growing size, and says that its parity is b.
    """

    length: int
    together: int
    odds: Fraction

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction, length: int, together: int) -> ParityKernel:
        """Return the table for a number of bits, how many are looked at together and a budget."""
        del inputs
        return cls(length, together, bound_odds(epsilon))

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """All strings of bits."""
        return 1 << self.length

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return count_sets(self.length, self.together)

    @property
    def size(self) -> int:
        """Two for each set."""
        return 2 * self.sets

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def keep(self) -> Fraction:
        """The probability of the right parity."""
        return self.odds / (self.odds + 1)

    @property
    def contrast(self) -> Fraction:
        """The mean of a report, written as 1 and -1, is so many times that of the parity."""
        return (self.odds - 1) / (self.odds + 1)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report."""
        for index, mask in enumerate(list_sets(self.length, self.together)):
            odd = (value & mask).bit_count() & 1
            yield 2 * index + odd, self.keep / self.sets
            yield 2 * index + 1 - odd, (1 - self.keep) / self.sets

    def draw(self, value: int, below: Below) -> int:
        """Draw a set, then its parity."""
        index = below(self.sets)
        odd = (value & find_set(self.length, index)).bit_count() & 1
        return 2 * index + (odd if toss(self.keep, below) else 1 - odd)


def count_sets(length: int, width: int) -> int:
    """Return how many sets of 1 to `width` of so many places there are."""
    return sum(math.comb(length, size) for size in range(1, width + 1))


def list_sets(length: int, width: int) -> Iterator[int]:
    """Yield them by growing size, each as the bits of a number."""
    sizes = (combinations(range(length), size) for size in range(1, width + 1))
    return (sum(1 << place for place in places) for places in chain.from_iterable(sizes))


def find_set(length: int, index: int) -> int:
    """Return one of them without a list of the others."""
    size = 1
    while index >= math.comb(length, size):
        index -= math.comb(length, size)
        size += 1
    mask = 0
    for place in range(length):
        first = math.comb(length - place - 1, size - 1) if size else 0  # sets whose next place is this one
        if size and index < first:
            mask, size = mask | 1 << place, size - 1
        else:
            index -= first
    return mask
