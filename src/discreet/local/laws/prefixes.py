"""Report a hash of a prefix of a long value, of a length that a fair die chooses, kept or changed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.fields import is_prime, to_digits
from discreet.local.laws.kernel import Below, Kernel
from discreet.local.laws.odds import bound_odds
from discreet.local.laws.responses.direct import DirectKernel

MOST_LEVELS = 16
MOST_CELLS = 257
LARGEST_FIRST = 1 << 26
"""Cells times vectors of the first block: what a collector works on once."""
LARGEST_TABLE = 1 << 18
"""Cells times vectors of any other block: what a collector works on for each prefix that it follows."""
_HEAD = 16  # bits of a report that hold its level and its cell


@dataclass(frozen=True, slots=True)
class PrefixKernel(Kernel):
    """Values are strings of bits in blocks, the highest one of `first` bits, the others of `step`.

    Levels count from 0. One is drawn, the last one more often, by 5 to 3, than each other: it alone tells
    values apart whose other blocks are alike. Then a vector is drawn for each block up to it; the hash is the
    sum of the products of the vectors with the digits of the blocks, modulo a prime number of cells, and it
    is reported by a direct response. A report is level * cells + cell in its lowest 16 bits, then the
    vectors, in whole bytes each.
    """

    inputs: int
    odds: Fraction
    cells: int
    first: int
    step: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> PrefixKernel:
        """Return the table whose levels and cells make the variance of a rare value's count least.

        The first block is the longest, since it is worked on once; the others are as long as can be.
        """
        odds, bits = bound_odds(epsilon), (inputs - 1).bit_length()
        primes = [cells for cells in range(2, MOST_CELLS + 1) if is_prime(cells)]
        tried = []
        for levels, cells in itertools.product(range(1, min(bits, MOST_LEVELS) + 1), primes):
            step = min(bits // levels, _find_longest(cells))
            tried.append(cls(inputs, odds, cells, bits - step * (levels - 1), step))
        fitting = (each for each in tried if each.cells * each.vectors(0) <= LARGEST_FIRST)
        return min(fitting, key=cls.variance)

    @property
    def length(self) -> int:
        """How many bits a value has."""
        return (self.inputs - 1).bit_length()

    @property
    def levels(self) -> int:
        """How many lengths of prefixes there are."""
        return 1 + -(-(self.length - self.first) // self.step)

    def digits(self, level: int) -> int:
        """Return how many digits the block of a level has, to the base of the cells."""
        count = 1
        while self.cells**count < 1 << (self.step if level else self.first):
            count += 1
        return count

    def vectors(self, level: int) -> int:
        """Return how many vectors the block of a level has."""
        return int(self.cells ** self.digits(level))

    @property
    def stride(self) -> int:
        """How many bits of a report hold a vector: whole bytes."""
        most = max(self.vectors(level) for level in range(self.levels))
        return ((most - 1).bit_length() + 7) // 8 * 8

    @property
    def size(self) -> int:
        """All strings of bits, though only those with digits that exist are ever sent."""
        return 1 << (_HEAD + self.levels * self.stride)

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def response(self) -> DirectKernel:
        """What is done to the cell."""
        return DirectKernel(self.cells, self.odds)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The probability of each level."""
        if self.levels == 1:
            return (Fraction(1),)
        each = Fraction(1, 3 * self.levels + 2)
        return (3 * each,) * (self.levels - 1) + (5 * each,)

    def variance(self) -> Fraction:
        """Return the variance of one other person's part in a count that one level alone estimates."""
        yes, no = self.response.keep, Fraction(1, self.cells)
        return no * (1 - no) / ((yes - no) ** 2 * self.shares[0])

    def begin(self, level: int) -> int:
        """Return how many bits stand before the block of a level."""
        return self.first + self.step * (level - 1) if level else 0

    def width_of(self, level: int) -> int:
        """Return how many bits the block of a level has; the last one may be shorter than others."""
        return min(self.step, self.length - self.begin(level)) if level else self.first

    def block(self, value: int, level: int) -> int:
        """Return the bits of a value that a level adds."""
        width = self.width_of(level)
        return (value >> (self.length - self.begin(level) - width)) & ((1 << width) - 1)

    def cell(self, vectors: tuple[int, ...], value: int) -> int:
        """Return the cell of a value, by vectors for the first blocks."""
        total = 0
        for level, vector in enumerate(vectors):
            digits = self.digits(level)
            left = to_digits(vector, self.cells, digits)
            right = to_digits(self.block(value, level), self.cells, digits)
            total += sum(a * b for a, b in zip(left, right, strict=True))
        return total % self.cells

    def join(self, vectors: tuple[int, ...], cell: int) -> int:
        """Return the number of a report."""
        head = (len(vectors) - 1) * self.cells + cell
        return head + sum(each << (_HEAD + self.stride * level) for level, each in enumerate(vectors))

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every cell of all vectors of every level."""
        for level, likely in enumerate(self.shares):
            sizes = [self.vectors(each) for each in range(level + 1)]
            every = itertools.product(*map(range, sizes))
            share = likely / math.prod(sizes)
            for vectors in every:
                for cell, chance in self.response.law(self.cell(vectors, value)):
                    yield self.join(vectors, cell), share * chance

    def draw(self, value: int, below: Below) -> int:
        """Draw a level and its vectors without a look at the value, then a cell."""
        level = min(below(3 * self.levels + 2) // 3, self.levels - 1)
        vectors = tuple(below(self.vectors(each)) for each in range(level + 1))
        return self.join(vectors, self.response.draw(self.cell(vectors, value), below))


def _find_longest(cells: int) -> int:
    """Return how many bits a block may have whose table is not too large."""
    vectors = cells
    while vectors * cells**2 <= LARGEST_TABLE:
        vectors *= cells
    return vectors.bit_length() - 1
