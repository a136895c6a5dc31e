"""Report a column of a Hadamard matrix whose entry in the value's row is positive rather than not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds


@dataclass(frozen=True, slots=True)
class HadamardKernel(Kernel):
    """Blocks of columns, each a Hadamard matrix of its own; a value has a row (not the first) in one block.

    The columns of that block where the row is positive are `odds` times as likely as all others. One block is
    best for small budgets; the more odds, the more blocks.
    """

    inputs: int
    odds: Fraction
    blocks: int
    length: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> HadamardKernel:
        """Return the table with the number of blocks that makes the variance least."""
        odds = bound_odds(epsilon)
        most = (inputs - 1).bit_length()
        sized = (cls.with_blocks(inputs, odds, 1 << k) for k in range(most + 1))
        return min(sized, key=lambda kernel: kernel.variance())

    @classmethod
    def with_blocks(cls, inputs: int, odds: Fraction, blocks: int) -> HadamardKernel:
        """Return the table with so many blocks, as short as they can be."""
        rows = -(-inputs // blocks) + 1  # the first row is positive everywhere, and nobody's
        return cls(inputs, odds, blocks, 1 << (rows - 1).bit_length())

    @property
    def size(self) -> int:
        """All columns."""
        return self.blocks * self.length

    @property
    def half(self) -> int:
        """How many columns are likely for a value."""
        return self.length // 2

    @property
    def weight(self) -> Fraction:
        """The sum of the odds of all columns."""
        return self.half * self.odds + self.size - self.half

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def inside(self) -> Fraction:
        """The probability of a likely column."""
        return self.half * self.odds / self.weight

    def variance(self) -> Fraction:
        """Return the variance of one other person's part in an estimated count: its mean over the values.

        Others in the same block show up in it more often than others elsewhere.
        """
        same = min(Fraction(1), Fraction(-(-self.inputs // self.blocks) - 1, max(1, self.inputs - 1)))
        seen = 2 * self.half + same * self.half * (self.odds - 1)
        return seen * self.weight / ((self.odds - 1) * self.half) ** 2

    def place(self, value: int) -> tuple[int, int]:
        """Return the block and the row of a value."""
        row, block = divmod(value, self.blocks)
        return block, row + 1

    def score(self, report: int, value: int) -> int:
        """Return 1 for a likely column of the value, -1 for another one of its block, else 0."""
        block, row = self.place(value)
        its, column = divmod(report, self.length)
        return (1 - 2 * ((row & column).bit_count() & 1)) if its == block else 0

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every column."""
        for report in range(self.size):
            likely = self.score(report, value) == 1
            yield report, (self.odds if likely else 1) / self.weight

    def draw(self, value: int, below: Below) -> int:
        """Draw one column."""
        block, row = self.place(value)
        likely = toss(self.inside, below)
        if not likely:
            elsewhere = below(self.size - self.half) - self.half
            if elsewhere >= 0:
                other, column = divmod(elsewhere, self.length)
                return (other + (other >= block)) * self.length + column
        column = below(self.length)
        if bool((row & column).bit_count() & 1) is likely:  # turn it by one digit that the row looks at
            column ^= row & -row
        return block * self.length + column
