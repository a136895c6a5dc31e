"""The most frequent value of every group by exact choices over the declared values.

The choice in one group has as score of a value how many rows have it. One more row raises one score by 1 and
no other, so it moves the difference of two scores by at most 1. A unit that adds or removes k rows, in
whatever groups, moves the logarithms of the joint probability of all choices by values within a range of
k rate: the rows' moves add up in each group, and independent choices add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.rng import Rng
from discreet.data.pricing.quantiles import GroupChoices, Histogram
from discreet.mechanisms.grid import LIMIT
from discreet.noise.oracle import uniform_below
from discreet.noise.selection import WholeBase, choose_weighted, exponential_weights


@dataclass(frozen=True, slots=True)
class ModeChoices(GroupChoices):
    """Choose one of `values` places a group with probability proportional to exp(rate rows).

    Parameters
    ----------
    values
        How many values are declared.
    rate
        The exponent of one row.
    sensitivity
        How many rows one unit adds or removes, all groups together.
    """

    values: int
    rate: Fraction
    sensitivity: Fraction

    def _one(self, histogram: Histogram, rng: Rng) -> int:
        """Choose among the values that occur and, as one run of equal scores, all that do not."""
        occurring = sorted(v for v, rows in histogram.items() if rows > 0 and 0 <= v < self.values)
        others = self.values - len(occurring)
        scores = [min(histogram[v], LIMIT) for v in occurring] + [0] * (others > 0)
        sizes = [1] * len(occurring) + [others] * (others > 0)
        base = WholeBase.of(np.array(sizes, dtype=np.int64))
        place = int(choose_weighted(np.array(scores, dtype=np.int64), base, self.rate, rng))
        if place < len(occurring):
            return occurring[place]
        # The k-th of those that do not occur: step over the occurring ones below it.
        found = uniform_below(others, rng)
        for v in occurring:
            found += v <= found
        return found

    def _law(self, histogram: Histogram) -> list[tuple[int, Fraction]]:
        listed = [min(max(0, histogram.get(v, 0)), LIMIT) for v in range(self.values)]
        weights = exponential_weights(np.array(listed, dtype=np.int64), self.rate)
        total = sum(weights)
        return [(v, weight / total) for v, weight in enumerate(weights)]
