"""Intervals by private binary search, as the source has it, with the cap that its privacy needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_up, up
from discreet.noise import AddNoise, DiscreteLaplace, NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.boxes import box_weight
from discreet.query_release.synopses.synopsis import Weights
from discreet.query_release.tiny import list_pairs

_MASSES = 2  # a changed row moves the counts of two intervals

Interval = tuple[int, int]


@frozen
class IntervalSearch(WorkloadRelease):
    """Cut a line into intervals of few rows each by noisy binary search, and publish a noisy count of each.

    The reader's version of [Roth10] Theorem 6. `RangeTree` answers the same queries far more accurately.

    Privacy: (epsilon, 0) for the change of one row: at most `cap` comparisons, whatever the answers, each
    of a count that moves by at most one, and one histogram of disjoint intervals.
    Accuracy: error(beta) holds for all ranges at once, where cap and rows are large enough. Queries that are
    no ranges are answered too, and have no bound.
    Time: O(values + cap).

    Parameters
    ----------
    workload
        Ranges or prefixes over a universe of one ordered attribute, of any weights.
    epsilon
        The budget. delta must be 0.
    rows
        The public number of rows.
    accuracy
        The share of the rows that ranges may be off by, as the source has it: intervals are cut where the
        noisy count reaches accuracy * rows / 4.
    neighbours
        `Replace`: the source scales by the number of rows, so it has to be public.
    cap
        The most comparisons; where left out, as many as the source's accuracy needs.
    """

    delta: Exact = derived()
    rows: int = public(checks.integer, 1)
    accuracy: Exact = public(checks.probability)
    cap: Public[int | None, int] = public(checks.integer, 1, default=None)

    def _complete(self) -> None:
        if not isinstance(self.neighbours, Replace):
            raise NeighboursMismatch("interval search needs a public number of rows: pass Replace(...)")
        if len(self.workload.universe.shape) != 1:
            raise InvalidParameter(name="workload", rule="over one ordered attribute", value=self.workload)
        # Each found interval has accuracy / 4 - accuracy^2 / 8 of the rows, if no noise is too large.
        enough = self.bits * math.ceil(1 / (self.accuracy / 4 - self.accuracy**2 / 8))
        self._set(delta=Fraction(0), cap=self.cap or enough)

    @property
    def bits(self) -> int:
        """How many comparisons find one interval at most."""
        return max(1, (self.workload.universe.size - 1).bit_length())

    @property
    def threshold(self) -> int:
        """The noisy count at which an interval is cut."""
        return max(1, math.ceil(self.accuracy * self.rows / 4))

    @property
    def scale(self) -> Fraction:
        """The scale of every noise."""
        return shorten_up((self.cap + _MASSES) / self.epsilon, 12)

    @property
    def loss(self) -> Loss:
        """The sum over all comparisons that may be made, and the counts of the intervals."""
        return PureLoss((self.cap + _MASSES) / self.scale)

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of the workload's ranges, but for a probability beta.

        Let no noise exceed t. A range is made of whole intervals, each off by t, and parts of two more. An
        interval of several values has less than threshold + t rows; and every cut used up threshold - t rows,
        so there are few. Where that takes more comparisons than the cap allows, the rest of the line is one
        interval, of any number of rows.
        """
        drawn, missed = self.cap + self._most, checks.probability(beta=beta)
        weight = box_weight(self.workload)
        if weight is None:
            raise NoBound(
                what="the answers to queries that are no ranges",
                why="inside of an interval nothing is known of where its rows are",
                way_out="Use RangeTree, whose bound is computed for any queries",
            )
        t = DiscreteLaplace(self.scale).reach(missed / drawn)
        found = self.rows // (self.threshold - t) + 1 if self.threshold > t else math.inf
        enough = found * self.bits <= self.cap
        whole = min(self._most, 2 * found) if enough else self._most
        parts = 2 * (self.threshold + t) if enough else self.rows
        bound, trivial = up(weight * (whole * t + parts)), up(weight * self.rows)
        return require_useful(bound, trivial=trivial, what="the answers", way_out=MORE)

    @property
    def _most(self) -> int:
        """The most intervals there can be: two a cut, one cut without any question, the rest of the line."""
        return min(self.workload.universe.size, 2 * self.cap + 3)

    def _draw(self, data: Any, rng: Rng) -> Weights:
        histogram = self._histogram(data, rows=self.rows)
        before = np.concatenate([[0], np.cumsum(histogram.counts())])
        intervals, said = self._search(before, rng)
        starts, ends = np.array(intervals).T
        step = AddNoise(DiscreteLaplace(self.scale), sensitivity=Fraction(_MASSES))
        masses = np.asarray(rng.perform(step, before[ends + 1] - before[starts]))
        flat = np.repeat(np.maximum(masses, 0) / (ends - starts + 1), ends - starts + 1)
        transcript = (said, tuple(int(mass) for mass in masses))
        return Weights(self.workload.universe, flat, transcript=transcript)

    def _search(self, before: Integers, rng: Rng) -> tuple[list[Interval], tuple[bool, ...]]:
        """Cut the line, asking at most `cap` times; every answer is part of the transcript."""
        step = NoisyComparison(DiscreteLaplace(self.scale), Fraction(1))
        size, start = len(before) - 1, 0
        said: list[bool] = []
        found: list[Interval] = []
        while start < size:
            low, high = start, size - 1  # the cut is at the first value where the noisy count is large
            while low < high and len(said) < self.cap:
                middle = (low + high) // 2
                count = int(before[middle + 1] - before[start])
                said.append(bool(rng.perform(step, (count, self.threshold))))
                low, high = (low, middle) if said[-1] else (middle + 1, high)
            if low < high:  # the cap is reached: nothing more may be asked
                found.append((start, size - 1))
                break
            # The last value may hold any number of rows, so it is an interval of its own.
            found += [(start, high - 1)] * (high > start) + [(high, high)]
            start = high + 1
        return found, tuple(said)


_HOURS = Universe([("minute", range(256))])
_EXAMPLE = Prefixes(_HOURS, ["minute"])
_TWO = Prefixes(Universe([("a", (0, 1))]), ["a"])


def _example() -> tuple[IntervalSearch, Histogram]:
    counts = np.arange(256) % 9 * 40
    mechanism = IntervalSearch(
        workload=_EXAMPLE, epsilon=1, rows=int(counts.sum()), accuracy=0.5, neighbours=Replace("person")
    )
    return mechanism, Histogram.dense(_HOURS, counts)


def _tiny() -> Iterator[Tiny]:
    for epsilon, rows in ((6, 1), (6, 2)):
        mechanism = IntervalSearch(
            workload=_TWO, epsilon=epsilon, rows=rows, accuracy=0.9, neighbours=Replace("row"), cap=1
        )
        yield Tiny(mechanism, list_pairs(_TWO.universe, Replace("row"), rows))


CARD = Card(
    title="Intervals by capped private binary search",
    theorem="(epsilon, 0)-differential privacy for every transcript, by a cap on the comparisons",
    reference="[Roth10] Theorem 6",
    example=_example,
    tiny=_tiny,
)
