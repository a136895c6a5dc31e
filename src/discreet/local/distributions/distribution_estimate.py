"""What a collector learns of a distribution: the likeliest smooth one, and all that the reports allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from discreet.core import checks
from discreet.core.fixed import Bools, Floats, Integers, fix_array
from discreet.core.rounding import above, below
from discreet.local.laws.numbers import WindowKernel

if TYPE_CHECKING:
    from discreet.local.distributions.square_wave import SquareWave

_LEAST = 1e-300  # chances of huge budgets are no floats
_ROUNDS = 2000
_STILL = 1e-9  # a round that moves all shares together by less is the last
_PAD = 1e-6  # above the tolerance of the solver
_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DistributionEstimate:
    """An estimated distribution over the places of a grid.

    Attributes
    ----------
    survey
        The protocol, with the number of people who reported.
    seen
        How often each report came.
    shares
        The estimated share of people at each place: maximum likelihood with smoothing, as [LWLLS20] does it.
        It is not unbiased: what is sharp is blurred.
    """

    survey: SquareWave
    seen: Integers
    shares: Floats

    @classmethod
    def of(cls, survey: SquareWave, seen: Integers) -> DistributionEstimate:
        """Fit a distribution to reports."""
        return cls(survey, seen, fix_array(_fit(list_chances(survey.waves), seen / seen.sum())))

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.survey.people

    @property
    def numbers(self) -> Floats:
        """The numbers that the places stand for."""
        survey = self.survey
        return np.linspace(float(survey.lower), float(survey.upper), survey.steps + 1)

    @property
    def mean(self) -> float:
        """The mean of the estimated distribution. Where nothing else is asked, `HybridMean` errs less."""
        return float(self.shares @ self.numbers)

    def quantile(self, level: checks.Number) -> float:
        """Return the number that this share of people is at or below."""
        wanted = float(checks.probability(level=level))
        place = int(np.searchsorted(np.cumsum(self.shares), wanted * (1 - 1e-12)))
        return float(self.numbers[min(place, self.survey.steps)])

    def share(self, low: checks.Number, high: checks.Number) -> float:
        """Return the share of people whose number, rounded to the grid, is from `low` to `high`."""
        return float(self.shares[self._mark(low, high)].sum())

    def share_interval(
        self, low: checks.Number, high: checks.Number, confidence: checks.Number
    ) -> tuple[float, float]:
        """Return (least, most): the true share lies there, at once with all that `quantile_interval` says.

        How many of n reports are at or below each place is off its mean by at most
        sqrt(ln(2 places / beta) / (2 n)) of them, for all places at once but for a probability beta:
        Hoeffding's inequality, whatever the numbers are. Of all distributions that would make such means, the
        least and the largest share are found by linear programs.
        """
        marked = self._mark(low, high).astype(np.float64)
        return self._bounds(confidence)(marked)

    def quantile_interval(self, level: checks.Number, confidence: checks.Number) -> tuple[float, float]:
        """Return (low, high): the true quantile, rounded to the grid, lies there; for all levels at once."""
        wanted = float(checks.probability(level=level))
        bounds = self._bounds(confidence)
        places = np.arange(self.survey.steps + 1)

        def find(side: int) -> float:
            first = _find_first(
                self.survey.steps, lambda t: bounds((places <= t).astype(np.float64))[side] >= wanted
            )
            return float(self.numbers[first])

        return find(1), find(0)

    def stray(self, confidence: checks.Number) -> float:
        """Return what no share of reports at or below a place is off its mean by, with this probability."""
        beta = below(float(1 - checks.probability(confidence=confidence)))
        return above(math.sqrt(math.log(2 * (self.seen.size - 1) / beta) / (2 * self.people)), steps=8)

    def _mark(self, low: checks.Number, high: checks.Number) -> Bools:
        first, last = checks.exact(low=low), checks.exact(high=high)
        places = np.arange(self.survey.steps + 1)
        span = self.survey.values
        step = (span.upper - span.lower) / span.steps
        begin, end = math.ceil((first - span.lower) / step), math.floor((last - span.lower) / step)
        marked: Bools = (places >= begin) & (places <= end)
        return marked

    def _bounds(self, confidence: checks.Number) -> Callable[[Floats], tuple[float, float]]:
        """Return what bounds a sum of shares: its least and its largest value over all that is possible."""
        chances = np.cumsum(list_chances(self.survey.waves), axis=0)[:-1]
        told = np.cumsum(self.seen)[:-1] / self.people
        off = self.stray(confidence) + _PAD
        inside = np.concatenate([chances, -chances])
        limits = np.concatenate([told + off, off - told])

        def bound(marked: Floats) -> tuple[float, float]:
            ends = []
            for sign in (1, -1):
                done = optimize.linprog(
                    sign * marked, A_ub=inside, b_ub=limits, A_eq=np.ones((1, marked.size)), b_eq=[1.0]
                )
                ends.append(sign * float(done.fun or 0) if done.success else (1 - sign) / 2)
            return max(ends[0] - _PAD, 0.0), min(ends[1] + _PAD, 1.0)

        return bound

    def __repr__(self) -> str:
        levels = [Fraction(k, _SHOWN + 1) for k in range(1, _SHOWN + 1)]
        shown = ", ".join(f"{self.quantile(level):.4g}" for level in levels)
        return f"<a distribution, sixths at {shown}; {self.people} reports, each {self.survey.words}>"


def list_chances(kernel: WindowKernel) -> Floats:
    """Return the probability of each report, a row, from each place, a column."""
    reports, places = np.arange(kernel.size)[:, None], np.arange(kernel.inputs)
    near = (places <= reports) & (reports < places + kernel.window)
    chances: Floats = np.where(near, float(kernel.odds / kernel.weight), float(1 / kernel.weight))
    return chances


def _fit(chances: Floats, told: Floats) -> Floats:
    """Return the shares that make the reports likeliest, each round smoothed with its neighbours."""
    shares = np.full(chances.shape[1], 1 / chances.shape[1])
    for _ in range(_ROUNDS):
        likelier = shares * (chances.T @ (told / np.maximum(chances @ shares, _LEAST)))
        ends = np.concatenate([likelier[:1], likelier, likelier[-1:]])
        smooth = (ends[:-2] + 2 * ends[1:-1] + ends[2:]) / 4
        smooth /= smooth.sum()
        moved = float(np.abs(smooth - shares).sum())
        shares = smooth
        if moved < _STILL:
            break
    return shares


def _find_first(most: int, holds: Callable[[int], bool]) -> int:
    """Return the first place from which on something holds; the last one where it never does."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
