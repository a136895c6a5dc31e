"""What all frequency oracles share: encode on the device, estimate at the collector, an error beforehand."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.fixed import fix_array
from discreet.core.parameters import frozen, public
from discreet.core.rounding import above, below
from discreet.local.frequencies.estimates import Floats, FrequencyEstimate
from discreet.local.laws.domains import ValueNames
from discreet.local.steps import Payload
from discreet.local.surveys import LocalSurvey, Sent
from discreet.mechanisms.report_tails import Crowd, ReportCoin, smallest_distance

_LEAST = 1e-280  # a rarer report changes no bound, and has no logarithm


@dataclass(frozen=True, slots=True)
class Scores:
    """What one person adds to the sum that a value's count is estimated from.

    Attributes
    ----------
    holder, other
        The mean for one who holds the value, and for one who holds another, whichever it is.
    holder_variance, other_variance
        The variances; the largest one over all other values.
    mean_other
        The mean of the variance over all other values.
    coin
        Whether the score is 0 or 1, so that mean and law are one.
    """

    holder: Fraction
    other: Fraction
    holder_variance: Fraction
    other_variance: Fraction
    mean_other: Fraction
    coin: bool = True

    @classmethod
    def of_coins(cls, holder: Fraction, other: Fraction) -> Scores:
        """Return the scores that are 1 with these probabilities, else 0."""
        spread = other * (1 - other)
        return cls(holder, other, holder * (1 - holder), spread, spread)

    @property
    def contrast(self) -> Fraction:
        """What one more holder adds."""
        return self.holder - self.other


def _read_domain(**named: object) -> ValueNames:
    (given,) = named.values()
    return ValueNames.of(int(given) if isinstance(given, np.integer) else given)


@frozen
class FrequencyOracle(LocalSurvey):
    """The base of all protocols that estimate how many people hold each value.

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    domain
        What may be reported: a number of values 0 .. domain - 1, or a list of texts or whole numbers.
        Whatever is none of them counts as the first: to refuse it would tell of it.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.
    """

    domain: Any = public(_read_domain)

    @property
    def values(self) -> ValueNames:
        """The domain."""
        names: ValueNames = self.domain
        return names

    def estimate(self, reports: Sent) -> FrequencyEstimate:
        """Estimate how many people hold each value, without bias.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        payload = self.read_reports(reports)
        together = replace(self, people=len(payload))
        scores = together.scores
        sums = self._sum_scores(payload).astype(np.float64)
        counts = (sums - len(payload) * float(scores.other)) / float(scores.contrast)
        return FrequencyEstimate(together, fix_array(counts))

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """What one person adds to a value's sum."""

    @abstractmethod
    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        """Return the sum of all scores, for each value."""

    @property
    def mean_square(self) -> float:
        """The mean over all values of the squared error of the counts: the same whatever the data."""
        scores, size = self.scores, self.values.size
        each = (scores.holder_variance + (size - 1) * scores.mean_other) / size
        return float(self.people * each / scores.contrast**2)

    def deviations(self, counts: Floats) -> Floats:
        """Return the standard deviation of estimates of these counts, or an upper bound on it."""
        scores, held = self.scores, np.clip(counts, 0, self.people)
        spread = held * float(scores.holder_variance) + (self.people - held) * float(scores.other_variance)
        return np.sqrt(spread) / float(scores.contrast)

    def error(self, beta: checks.Number) -> float:
        """Return what no estimated count misses its true value by, all at once, but for a probability beta.

        It holds for all data and rests on the law of the reports: exact tails where a score is 0 or 1, else
        Bernstein's inequality.
        """
        b = below(float(checks.probability(beta=beta)))
        scores, values = self.scores, self.values.size
        events = 1 if self._mirrored else values
        log = math.log(2 * events / b)
        most = float(max(scores.holder_variance, scores.other_variance))
        span, reach = (1, 1) if scores.coin else (2, 1 + abs(float(scores.holder)))
        hoeffding = span * math.sqrt(log * self.people / 2)
        bernstein = reach * log / 3 + math.sqrt((reach * log / 3) ** 2 + 2 * self.people * log * most)
        far = min(hoeffding, bernstein)
        if scores.coin:
            crowd = Crowd(self.people, _coin(scores.holder), _coin(scores.other))
            each = b if self._mirrored or values > 2 else b / 2  # two values stray each for itself
            far = smallest_distance(crowd, each, values, far)
        return above(far / float(scores.contrast), steps=32)

    @property
    def _mirrored(self) -> bool:
        """Whether there are two values whose estimates stray together."""
        return False


def _coin(chance: Fraction) -> ReportCoin:
    return ReportCoin(max(_LEAST, float(chance)), max(_LEAST, float(1 - chance)))
