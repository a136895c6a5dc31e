"""What a report says of a prefix, and how far counts from many of them stray."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.rounding import above, up
from discreet.local.laws.prefixes import PrefixKernel


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a report agrees with a prefix, and what that makes of a count.

    Attributes
    ----------
    yes, no
        The probability for one whose value begins so, and for anybody else.
    shares
        The probability of each level; the first is the least.
    """

    yes: Fraction
    no: Fraction
    shares: tuple[Fraction, ...]

    @classmethod
    def of(cls, kernel: PrefixKernel) -> Agreement:
        """Return what a table makes of it."""
        return cls(kernel.response.keep, Fraction(1, kernel.cells), kernel.shares)

    @property
    def contrast(self) -> Fraction:
        """What one more holder adds."""
        return self.yes - self.no

    @property
    def spread(self) -> Fraction:
        """The variance of a report at the level that is looked at, from one who does not hold the prefix."""
        return self.no * (1 - self.no) / self.contrast**2

    @property
    def more(self) -> Fraction:
        """What a holder's second moment is larger by."""
        return self.yes * (1 - self.yes) / self.contrast**2 + 1 - self.spread

    def stray(self, people: int, held: float, log: float, *levels: int) -> float:
        """Return what an estimate from these levels strays by, but for a probability exp(-log).

        `held` is the mean of the estimate. Bernstein's inequality: a person is at one of these levels with
        the sum of their probabilities, and then counts once divided by it.
        """
        least, flat, slope = self._parts(people, log, levels)
        return above(least + math.sqrt(least**2 + flat + slope * held), steps=8)

    def least_mean(self, people: int, wanted: float, log: float) -> float:
        """Return from which mean on an estimate from any one level is `wanted` or more, but for exp(-log).

        All larger means do it too: the root grows more slowly than they do from there on.
        """
        least, flat, slope = self._parts(people, log, (0,))
        beyond = slope / 2 + math.sqrt(slope**2 / 4 + least**2 + flat + slope * (wanted + least))
        return above(wanted + least + beyond, steps=16)

    def _parts(self, people: int, log: float, levels: tuple[int, ...]) -> tuple[float, float, float]:
        scale = up(1 / sum((self.shares[level] for level in levels), start=Fraction(0)))
        reach = scale * up(max(self.no, 1 - self.no) / self.contrast) + 1
        return (
            reach * log / 3,
            2 * log * scale * people * up(self.spread),
            2 * log * scale * up(self.more),
        )
