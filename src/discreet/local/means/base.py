"""What all protocols for means share: numbers on a grid between public bounds, and their unbiased mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Tiny
from discreet.core.fixed import fix_array
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, up
from discreet.local.laws.domains import Span
from discreet.local.laws.numbers import MixedKernel, NumberKernel, SignKernel, WindowKernel
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.surveys import LocalSurvey, Sent
from discreet.noise import coins

STEPS = 256
"""Steps of the grid where nothing else is said: rounding is off by at most a 512th of the range."""


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An estimated mean, and how far it may be off.

    Attributes
    ----------
    survey
        The protocol, with the number of people who reported.
    value
        The mean, without bias; it may lie outside the bounds.
    standard_error
        The standard deviation of the mean, as if those who report were drawn at random: what their numbers
        differ by is a part of it. For the mean of these very people it is too much rather than too little.
    """

    survey: LocalSurvey
    value: float
    standard_error: float

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.survey.people

    def error(self, beta: checks.Number) -> float:
        """Return what the mean is off by, but for a probability beta."""
        return self.survey.error(beta)

    def interval(self, confidence: checks.Number) -> tuple[float, float]:
        """Return (low, high): the true mean lies there with that probability."""
        off = self.error(1 - checks.probability(confidence=confidence))
        return self.value - off, self.value + off

    def __repr__(self) -> str:
        people = f"{self.people} reports, each {self.survey.words}"
        return f"{self.value:.6g} ± {self.error(0.05):.4g} (95 %), {people}"


@frozen
class LocalMean(LocalSurvey):
    """The base of all protocols that estimate a mean.

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    lower, upper
        Public bounds. A number outside counts as the bound, what is no number as the middle.
    steps
        How many steps the range has; numbers are rounded to the nearest. An even number.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.
    """

    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    steps: int = public(checks.integer, 2, default=STEPS)

    @property
    def values(self) -> Span:
        """The grid."""
        return Span(self.lower, self.upper, self.steps)

    @property
    def numbers(self) -> NumberKernel:
        """The exact table of probabilities."""
        return cast("NumberKernel", self.kernel)

    @property
    def variance(self) -> float:
        """The largest variance of one report, over all numbers, in squares of the range's own unit."""
        return up(self.numbers.worst_variance * self.values.half**2)

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of the mean that `people` reports give."""
        return above(math.sqrt(self.variance / self.people))

    def error(self, beta: checks.Number) -> float:
        """Return what the estimated mean misses the true one by, but for a probability beta.

        It holds for all data: Hoeffding's or Bernstein's inequality, and the rounding to the grid.
        """
        risk = below(float(checks.probability(beta=beta)))
        half = self.values.half
        reach = up(find_farthest(self.numbers) * half)
        return above(bound_mean(reach, self.variance, self.people, risk) + up(half / self.steps), steps=8)

    def estimate(self, reports: Sent) -> MeanEstimate:
        """Estimate the mean of all numbers, without bias but for the rounding to the grid.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        payload = self.read_reports(reports)
        scores = list_estimates(self.numbers)[from_payload(payload)] * float(self.values.half)
        count = len(payload)
        together = type(self)(
            epsilon=self.epsilon, lower=self.lower, upper=self.upper, steps=self.steps, people=count
        )
        spread = float(scores.std(ddof=1)) / math.sqrt(count) if count > 1 else together.standard_error
        return MeanEstimate(together, float(scores.mean()) + float(self.values.middle), spread)


def bound_mean(reach: float, variance: float, people: int, risk: float) -> float:
    """Return what the mean of reports strays by, by Hoeffding's inequality or Bernstein's.

    No report is further than `reach` from the middle of the range, nor than twice that from its mean.
    """
    log = math.log(2 / risk)
    hoeffding = reach * math.sqrt(2 * log / people)
    least = 2 * reach * log / (3 * people)
    return min(hoeffding, least + math.sqrt(least**2 + 2 * variance * log / people))


@lru_cache(maxsize=256)
def find_farthest(kernel: NumberKernel) -> Fraction:
    """Return the largest number that a report stands for, on either side."""
    return max(abs(kernel.estimate(report)) for report, _ in kernel.law(0))


@lru_cache(maxsize=32)
def list_estimates(kernel: NumberKernel) -> NDArray[np.float64]:
    """Return the number that each report stands for."""
    return fix_array(np.array([float(kernel.estimate(report)) for report in range(kernel.size)]))


@draw_many.register
def _draw_signs(kernel: SignKernel, values: Places, rng: Rng) -> Payload:
    return to_payload(_toss_each(kernel, values, rng), kernel.width)


def _toss_each(kernel: SignKernel, values: Places, rng: Rng) -> NDArray[np.int64]:
    """Toss a coin for each number: a place that is drawn uniformly below the number's, or a lean of the odds.

    The probability of a 1 is 1 / (r + 1) plus place / steps times (r - 1) / (r + 1): with the first
    probability it is 1, with as much again 0, and else it is 1 where a uniform step lies below the place.
    """
    fair = 2 / (kernel.odds + 1)
    blind = coins.bernoulli(fair, values.size, rng)
    tossed = coins.uniform_below(2, values.size, rng)
    below_place = coins.uniform_below(kernel.inputs - 1, values.size, rng) < values
    return np.where(blind, tossed, below_place).astype(np.int64)


@draw_many.register
def _draw_places(kernel: WindowKernel, values: Places, rng: Rng) -> Payload:
    return to_payload(_pick_places(kernel, values, rng), kernel.width)


def _pick_places(kernel: WindowKernel, values: Places, rng: Rng) -> NDArray[np.int64]:
    near = coins.bernoulli(kernel.inside, values.size, rng)
    inside = values + coins.uniform_below(kernel.window, values.size, rng)
    outside = coins.uniform_below(kernel.size - kernel.window, values.size, rng)
    reports: NDArray[np.int64] = np.where(near, inside, outside + kernel.window * (outside >= values))
    return reports


@draw_many.register
def _draw_mixed(kernel: MixedKernel, values: Places, rng: Rng) -> Payload:
    which = np.full(values.size, kernel.share == 1)
    if 0 < kernel.share < 1:
        which = coins.bernoulli(kernel.share, values.size, rng)
    reports = _toss_each(kernel.sign, values, rng)
    reports[which] = 2 + _pick_places(kernel.place, values[which], rng)
    return to_payload(reports, kernel.width)


def ask_numbers(kind: Any) -> Iterator[Tiny]:
    """Yield a protocol on short grids, with all pairs of numbers."""
    for steps, epsilon in ((2, Fraction(1)), (4, Fraction(1, 2)), (4, Fraction(3))):
        survey = kind(epsilon=epsilon, lower=0, upper=steps, steps=steps)
        yield Tiny(survey, [(a, b) for a in range(steps + 1) for b in range(steps + 1) if a != b])
