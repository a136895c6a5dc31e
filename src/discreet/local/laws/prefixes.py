"""Report a hash of a prefix of a long value, of a length that a fair die chooses, kept or changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.direct import DirectKernel
from discreet.local.laws.fields import is_prime, to_digits
from discreet.local.laws.kernel import Below, Kernel
from discreet.local.laws.odds import bound_odds

MOST_LEVELS = 16
MOST_CELLS = 257
LARGEST_TABLE = 1 << 22
"""Cells times vectors of one block: what a collector works on for each prefix that it follows."""
_HEAD = 16  # bits of a report that hold its level and its cell


@dataclass(frozen=True, slots=True)
class PrefixKernel(Kernel):
    """Values are strings of bits in blocks of `step` bits, the first one the highest; levels count from 0.

    A level is drawn, the last one half as likely again as each other: it alone tells values apart whose other
    blocks are alike. Then a vector is drawn for each block up to it; the hash is the sum of the products of
    the vectors with the digits of the blocks, modulo a prime number of cells, and it is reported by a direct
    response. A report is level * cells + cell in its lowest 16 bits, then the vectors, in whole bytes each.
    """

    inputs: int
    odds: Fraction
    cells: int
    step: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> PrefixKernel:
        """Return the table whose levels and cells make the variance of a rare value's count least."""
        odds, bits = bound_odds(epsilon), (inputs - 1).bit_length()
        primes = [cells for cells in range(2, MOST_CELLS + 1) if is_prime(cells)]
        steps = sorted({-(-bits // levels) for levels in range(1, min(bits, MOST_LEVELS) + 1)})
        tried = (cls(inputs, odds, cells, step) for step in steps for cells in primes)
        return min((each for each in tried if each.table <= LARGEST_TABLE), key=cls.variance)

    @property
    def length(self) -> int:
        """How many bits a value has."""
        return (self.inputs - 1).bit_length()

    @property
    def levels(self) -> int:
        """How many lengths of prefixes there are."""
        return -(-self.length // self.step)

    @property
    def digits(self) -> int:
        """How many digits a block has, to the base of the cells."""
        count = 1
        while self.cells**count < 1 << self.step:
            count += 1
        return count

    @property
    def vectors(self) -> int:
        """How many vectors a block has."""
        return int(self.cells**self.digits)

    @property
    def table(self) -> int:
        """All cells of all vectors of one block."""
        return self.vectors * self.cells

    @property
    def stride(self) -> int:
        """How many bits of a report hold a vector: whole bytes."""
        return ((self.vectors - 1).bit_length() + 7) // 8 * 8

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
        each = Fraction(1, 2 * self.levels + 1)
        return (2 * each,) * (self.levels - 1) + (3 * each,)

    def variance(self) -> Fraction:
        """Return the variance of one other person's part in a count that one level alone estimates."""
        yes, no = self.response.keep, Fraction(1, self.cells)
        return no * (1 - no) / ((yes - no) ** 2 * self.shares[0])

    def width_of(self, level: int) -> int:
        """Return how many bits the block of a level has: all of them `step`, but for the last."""
        return min(self.step, self.length - self.step * level)

    def block(self, value: int, level: int) -> int:
        """Return the bits of a value that a level adds."""
        width = self.width_of(level)
        return (value >> (self.length - self.step * level - width)) & ((1 << width) - 1)

    def cell(self, vectors: tuple[int, ...], value: int) -> int:
        """Return the cell of a value, by vectors for the first blocks."""
        total = 0
        for level, vector in enumerate(vectors):
            left = to_digits(vector, self.cells, self.digits)
            right = to_digits(self.block(value, level), self.cells, self.digits)
            total += sum(a * b for a, b in zip(left, right, strict=True))
        return total % self.cells

    def join(self, vectors: tuple[int, ...], cell: int) -> int:
        """Return the number of a report."""
        head = (len(vectors) - 1) * self.cells + cell
        return head + sum(each << (_HEAD + self.stride * level) for level, each in enumerate(vectors))

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every cell of all vectors of every level."""
        for level, likely in enumerate(self.shares):
            every = itertools.product(range(self.vectors), repeat=level + 1)
            share = likely / self.vectors ** (level + 1)
            for vectors in every:
                for cell, chance in self.response.law(self.cell(vectors, value)):
                    yield self.join(vectors, cell), share * chance

    def draw(self, value: int, below: Below) -> int:
        """Draw a level and its vectors without a look at the value, then a cell."""
        level = min(below(2 * self.levels + 1) // 2, self.levels - 1)
        vectors = tuple(below(self.vectors) for _ in range(level + 1))
        return self.join(vectors, self.response.draw(self.cell(vectors, value), below))
