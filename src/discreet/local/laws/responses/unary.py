"""One bit a value, each reported by a coin of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import LONGEST_REPORT, Below, Kernel, require_small, toss
from discreet.local.laws.odds import bound_odds


@dataclass(frozen=True, slots=True)
class UnaryKernel(Kernel):
    """Bit v of the report is 1 with probability `yes` where v is the value, and `no` where it is not."""

    inputs: int
    yes: Fraction
    no: Fraction

    @classmethod
    def symmetric(cls, inputs: int, epsilon: Fraction) -> UnaryKernel:
        """Return the table whose bits all lie as often: two bits differ, each at half of the budget."""
        require_small(inputs, LONGEST_REPORT, "a report")
        odds = bound_odds(epsilon / 2)
        return cls(inputs, odds / (odds + 1), 1 / (odds + 1))

    @classmethod
    def optimised(cls, inputs: int, epsilon: Fraction) -> UnaryKernel:
        """Return the table with the least variance: a one is told by a fair coin, all budget is for zeros."""
        require_small(inputs, LONGEST_REPORT, "a report")
        return cls(inputs, Fraction(1, 2), 1 / (bound_odds(epsilon) + 1))

    @property
    def size(self) -> int:
        """All strings of bits."""
        return 1 << self.inputs

    @property
    def ratio(self) -> Fraction:
        """Two values differ in two bits: one that is told and one that is not, at worst."""
        return self.yes * (1 - self.no) / (self.no * (1 - self.yes))

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every string of bits."""
        for report in range(self.size):
            odds = ((self.yes if place == value else self.no) for place in range(self.inputs))
            bits = (report >> place & 1 for place in range(self.inputs))
            chances = (p if bit else 1 - p for p, bit in zip(odds, bits, strict=True))
            yield report, math.prod(chances, start=Fraction(1))

    def draw(self, value: int, below: Below) -> int:
        """Draw one report, bit by bit."""
        return sum(
            toss(self.yes if place == value else self.no, below) << place for place in range(self.inputs)
        )
