"""Hash the value to a few cells, by a hash that the report names, and report its cell or any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.fields import primes_around, to_digits
from discreet.local.laws.kernel import Below, Kernel
from discreet.local.laws.odds import bound_odds
from discreet.local.laws.responses.direct import DirectKernel


@dataclass(frozen=True, slots=True)
class HashingKernel(Kernel):
    """The hash is the product of a random vector with the value's digits, modulo a prime number of cells.

    Two different values meet in one cell with probability 1 / cells over the vectors, exactly: nothing is
    assumed of a hash function. A report is vector + cells^digits * cell, with vectors as numbers.
    """

    inputs: int
    odds: Fraction
    cells: int
    digits: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> HashingKernel:
        """Return the table with the number of cells that makes the mean variance least."""
        odds = bound_odds(epsilon)
        tried = [cls.over(inputs, odds, cells) for cells in primes_around(odds, most=inputs)]
        return min(tried, key=cls.mean_variance)

    @classmethod
    def over(cls, inputs: int, odds: Fraction, cells: int) -> HashingKernel:
        """Return the table with so many cells."""
        digits = 1
        while cells**digits < inputs:
            digits += 1
        return cls(inputs, odds, cells, digits)

    @property
    def vectors(self) -> int:
        """How many hashes there are."""
        return int(self.cells**self.digits)

    @property
    def size(self) -> int:
        """Every cell of every hash."""
        return self.vectors * self.cells

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def response(self) -> DirectKernel:
        """What is done to the cell."""
        return DirectKernel(self.cells, self.odds)

    def mean_variance(self) -> Fraction:
        """Return the variance of one person's part in an estimated count, averaged over all values."""
        yes, no = self.response.keep, Fraction(1, self.cells)
        return (yes * (1 - yes) + (self.inputs - 1) * no * (1 - no)) / (self.inputs * (yes - no) ** 2)

    def cell(self, vector: int, value: int) -> int:
        """Return the cell of a value."""
        left = to_digits(vector, self.cells, self.digits)
        right = to_digits(value, self.cells, self.digits)
        return sum(a * b for a, b in zip(left, right, strict=True)) % self.cells

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every cell of every hash."""
        for vector in range(self.vectors):
            for cell, chance in self.response.law(self.cell(vector, value)):
                yield vector + self.vectors * cell, chance / self.vectors

    def draw(self, value: int, below: Below) -> int:
        """Draw a hash, then a cell."""
        vector = below(self.vectors)
        return vector + self.vectors * self.response.draw(self.cell(vector, value), below)
