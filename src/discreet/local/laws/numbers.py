"""Reports about a number: its sign with a lean, a place near it, or one of the two.

The number is a place 0 .. inputs - 1 of a grid, which stands for x = 2 place / (inputs - 1) - 1 between -1
and 1. Every report stands for a number too, its `estimate`, whose mean is x exactly.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds

_FLAT = Fraction(1, 1 << 20)  # budgets whose square is smaller have windows of the whole range
_ALPHA = 1 << 16  # shares of a mixture are multiples of 1 / _ALPHA


class NumberKernel(Kernel):
    """A table about the places of a grid."""

    __slots__ = ()

    @abstractmethod
    def estimate(self, report: int) -> Fraction:
        """Return the number that a report stands for."""

    @abstractmethod
    def variance(self, place: int) -> Fraction:
        """Return the variance of the estimate, from a place of the grid."""

    def number(self, place: int) -> Fraction:
        """Return the number that a place stands for."""
        return Fraction(2 * place, self.inputs - 1) - 1

    @property
    def worst_variance(self) -> Fraction:
        """The largest variance over all places: it is a parabola in x, even around 0."""
        return max(self.variance(0), self.variance((self.inputs - 1) // 2))


@dataclass(frozen=True, slots=True)
class SignKernel(NumberKernel):
    """Report 1 or 0, the more likely the further the number lies on that side [DJW18]."""

    inputs: int
    odds: Fraction

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> SignKernel:
        """Return the table for a grid and a budget."""
        return cls(inputs, bound_odds(epsilon))

    @property
    def size(self) -> int:
        """Two."""
        return 2

    @property
    def ratio(self) -> Fraction:
        """The odds, between the two ends of the range."""
        return self.odds

    @property
    def reach(self) -> Fraction:
        """What a report stands for, on either side."""
        return (self.odds + 1) / (self.odds - 1)

    def chance(self, place: int) -> Fraction:
        """Return the probability of a 1."""
        return (1 + self.number(place) / self.reach) / 2

    def estimate(self, report: int) -> Fraction:
        """Return plus or minus the reach."""
        return self.reach if report else -self.reach

    def variance(self, place: int) -> Fraction:
        """Return the square of the reach less that of the number."""
        return self.reach**2 - self.number(place) ** 2

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield both reports."""
        yield from ((0, 1 - self.chance(value)), (1, self.chance(value)))

    def draw(self, value: int, below: Below) -> int:
        """Draw a bit."""
        return int(toss(self.chance(value), below))


@dataclass(frozen=True, slots=True)
class WindowKernel(NumberKernel):
    """Report a place of a longer grid, those in a window around the number `odds` times as likely [WXYZ19].

    From place v the window is v .. v + window - 1.
    """

    inputs: int
    odds: Fraction
    window: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> WindowKernel:
        """Return the table with the window that makes the largest variance least."""
        odds = bound_odds(epsilon)
        likely = max(1, math.isqrt((inputs - 1) ** 2 * odds.denominator // odds.numerator))
        tried = [cls(inputs, odds, max(1, likely + off)) for off in range(-2, 4)]
        return min(tried, key=lambda kernel: kernel.worst_variance)

    @classmethod
    def wave(cls, inputs: int, epsilon: Fraction) -> WindowKernel:
        """Return the table whose window tells most of a number [LWLLS20], in steps of the grid.

        Of the range, the window takes (e r - r + 1) / (r (r - 1 - e)) for a budget e with odds r: exactly
        computed, so that devices and collectors never differ. For small budgets that is 1.
        """
        odds = bound_odds(epsilon)
        share = Fraction(1)
        if odds - 1 - epsilon > _FLAT:
            share = min(share, (epsilon * odds - odds + 1) / (odds * (odds - 1 - epsilon)))
        return cls(inputs, odds, max(1, round(share * (inputs - 1))))

    @property
    def size(self) -> int:
        """The grid, and the window past its end."""
        return self.inputs + self.window - 1

    @property
    def weight(self) -> Fraction:
        """The sum of the odds of all reports."""
        return self.size + (self.odds - 1) * self.window

    @property
    def ratio(self) -> Fraction:
        """The odds."""
        return self.odds

    @property
    def inside(self) -> Fraction:
        """The probability of a report in the window."""
        return self.odds * self.window / self.weight

    @property
    def slope(self) -> Fraction:
        """What one place of the report is worth, in numbers."""
        return 2 * self.weight / ((self.odds - 1) * self.window * (self.inputs - 1))

    def estimate(self, report: int) -> Fraction:
        """Return the report's distance from the middle of all reports, times the slope."""
        return (report - Fraction(self.size - 1, 2)) * self.slope

    def variance(self, place: int) -> Fraction:
        """Return the variance, from the second moments of all reports and of those in the window."""
        middle = Fraction(self.size - 1, 2)
        around = Fraction(self.size * (self.size**2 - 1), 12)
        centre = place + Fraction(self.window - 1, 2) - middle
        inside = self.window * centre**2 + Fraction(self.window * (self.window**2 - 1), 12)
        second = (around + (self.odds - 1) * inside) / self.weight
        return second * self.slope**2 - self.number(place) ** 2

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report."""
        for report in range(self.size):
            likely = value <= report < value + self.window
            yield report, (self.odds if likely else 1) / self.weight

    def draw(self, value: int, below: Below) -> int:
        """Draw one report."""
        if toss(self.inside, below):
            return value + below(self.window)
        outside = below(self.size - self.window)
        return outside + self.window * (outside >= value)


@dataclass(frozen=True, slots=True)
class MixedKernel(NumberKernel):
    """Report a place with probability `share`, else a sign: 0 or 1, and places from 2 on [WXYZ19]."""

    inputs: int
    share: Fraction
    sign: SignKernel
    place: WindowKernel

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> MixedKernel:
        """Return the mixture that makes the largest variance least.

        At either end of the range, and in its middle, the variance is linear in the share: it is least where
        these two are equal, or where one of the parts stands alone.
        """
        sign, place = SignKernel.make(inputs, epsilon), WindowKernel.make(inputs, epsilon)
        middle = (inputs - 1) // 2
        fall = sign.variance(middle) - sign.variance(0)  # signs vary less at the ends
        rise = place.variance(0) - place.variance(middle)
        equal = Fraction(fall / (fall + rise)) if rise > 0 else Fraction(0)
        shares = (Fraction(0), Fraction(int(equal * _ALPHA), _ALPHA), Fraction(1))
        return min((cls(inputs, share, sign, place) for share in shares), key=lambda k: k.worst_variance)

    @property
    def size(self) -> int:
        """Signs and places."""
        return 2 + self.place.size

    @property
    def ratio(self) -> Fraction:
        """The odds: which of the two is reported is drawn without a look at the number."""
        return self.sign.odds

    def estimate(self, report: int) -> Fraction:
        """Return what the sign or the place stands for."""
        return self.sign.estimate(report) if report < 2 else self.place.estimate(report - 2)

    def variance(self, place: int) -> Fraction:
        """Return the mean of the two variances."""
        return self.share * self.place.variance(place) + (1 - self.share) * self.sign.variance(place)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield the reports that can be."""
        if self.share < 1:
            yield from ((report, (1 - self.share) * p) for report, p in self.sign.law(value))
        if self.share > 0:
            yield from ((report + 2, self.share * p) for report, p in self.place.law(value))

    def draw(self, value: int, below: Below) -> int:
        """Draw which, then what."""
        if toss(self.share, below):
            return 2 + self.place.draw(value, below)
        return self.sign.draw(value, below)
