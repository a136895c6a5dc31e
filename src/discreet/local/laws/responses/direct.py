"""Report the value itself, or any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds


@dataclass(frozen=True, slots=True)
class DirectKernel(Kernel):
    """The truth is `odds` times as likely as each other report."""

    inputs: int
    odds: Fraction

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> DirectKernel:
        """Return the table for a number of values and a budget."""
        return cls(inputs, bound_odds(epsilon))

    @property
    def size(self) -> int:
        """One report a value."""
        return self.inputs

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def keep(self) -> Fraction:
        """The probability of the truth."""
        return self.odds / (self.odds + self.inputs - 1)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report."""
        other = (1 - self.keep) / (self.inputs - 1)
        yield from ((report, self.keep if report == value else other) for report in range(self.inputs))

    def draw(self, value: int, below: Below) -> int:
        """Draw one report."""
        if toss(self.keep, below):
            return value
        return (value + 1 + below(self.inputs - 1)) % self.inputs
