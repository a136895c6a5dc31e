"""Report a set of values of a fixed size that holds the truth rather than not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import LONGEST_REPORT, Below, Kernel, choose_subset, require_small, toss
from discreet.local.laws.odds import bound_odds


@dataclass(frozen=True, slots=True)
class SubsetKernel(Kernel):
    """A set with the value in it is `odds` times as likely as one without; bit v of a report stands for v."""

    inputs: int
    odds: Fraction
    members: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> SubsetKernel:
        """Return the table with the members that make the mean variance least."""
        require_small(inputs, LONGEST_REPORT, "a report")
        odds = bound_odds(epsilon)
        likely = int(inputs / (odds + 1))
        tried = {min(max(1, likely + off), inputs - 1) for off in range(-1, 3)}
        return min((cls(inputs, odds, members) for members in sorted(tried)), key=cls.mean_variance)

    def mean_variance(self) -> Fraction:
        """Return the variance of one person's part in an estimated count, averaged over all values."""
        yes, no = self.inside, self.other
        holder, rest = yes * (1 - yes), no * (1 - no)
        return (holder + (self.inputs - 1) * rest) / (self.inputs * (yes - no) ** 2)

    @property
    def size(self) -> int:
        """All strings of bits, though only those with the right number of ones are ever sent."""
        return 1 << self.inputs

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def inside(self) -> Fraction:
        """The probability that the set holds the value."""
        return self.odds * self.members / (self.odds * self.members + self.inputs - self.members)

    @property
    def other(self) -> Fraction:
        """The probability that the set holds one particular other value."""
        return (self.members - self.inside) / (self.inputs - 1)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every set."""
        held, missed = math.comb(self.inputs - 1, self.members - 1), math.comb(self.inputs - 1, self.members)
        for chosen in itertools.combinations(range(self.inputs), self.members):
            chance = self.inside / held if value in chosen else (1 - self.inside) / missed
            yield sum(1 << place for place in chosen), chance

    def draw(self, value: int, below: Below) -> int:
        """Draw one set."""
        held = toss(self.inside, below)
        others = choose_subset(self.members - held, self.inputs - 1, below)
        report = sum(1 << (place + (place >= value)) for place in others)
        return report | held << value
