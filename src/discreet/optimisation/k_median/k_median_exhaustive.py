"""k-median over all sets of k sites: the best private answer where there are few enough of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.exponential import units_behind
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.k_median.metric import Medians, OfPeople
from discreet.optimisation.k_median.tiny import line, town

MOST = 2_000_000
"""The largest number of sets."""


@frozen
class KMedianExhaustive(OfPeople):
    """Open the best k sites by one exponential mechanism over all sets of k.

    Privacy: (epsilon, 0), of bounded range epsilon.
    Accuracy: cost <= OPT + error(beta) with probability 1 - beta; the factor before OPT is one.
    Time: O(places * k * binomial(sites, k)), at most two million sets.

    Parameters
    ----------
    metric, k, epsilon, neighbours
        As in `KMedian`.

    Examples
    --------
    >>> from discreet.optimisation import Metric
    >>> town = Metric.points([[0, 0], [0, 3], [4, 0]], unit=1)
    >>> KMedianExhaustive(metric=town, k=2, epsilon=1, neighbours=AddRemove("person")).error(0.05)
    14.0
    """

    ratio = 1.0

    def _complete(self) -> None:
        OfPeople._complete(self)  # noqa: SLF001 - its own base
        if self.size > MOST:
            rule = f"so small that there are <= {MOST:,} sets"
            raise InvalidParameter(name="k", rule=rule, value=self.k, hint="Use KMedian")

    @property
    def size(self) -> int:
        """How many sets of k sites there are."""
        return math.comb(self.metric.sites, self.k)

    @property
    def spread(self) -> int:
        """How far one person can move the difference of two costs, in units.

        The farthest a person can be from k sites is the distance to the nearest of the k farthest ones.
        """
        table = np.sort(self.metric.distances, axis=1)
        return max(1, int((table[:, -self.k] - table[:, 0]).max()))

    @property
    def rate(self) -> Fraction:
        """The exponent of one unit of cost."""
        return self._choice.rate

    @property
    def _choice(self) -> ExponentialChoice:
        return self._choice_within(self.epsilon, self.spread)

    @property
    def loss(self) -> Loss:
        """One choice of bounded range."""
        return BoundedRangeLoss(self.rate * self._choice.sensitivity)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cost exceeds OPT by more than alpha with probability at most beta."""
        b = checks.probability(beta=beta)
        return up(units_behind((self.size - 1) * (1 - b) / b, self.rate) * self.metric.unit)

    def _draw(self, data: Any, rng: Rng) -> Medians:
        counts = self.metric.counts(data)
        sets = self._sets()
        place = rng.perform(self._choice, -self.metric.costs(counts, sets))
        return Medians.of(sets[place].tolist(), self.metric)

    def _sets(self) -> Integers:
        flat = itertools.chain.from_iterable(itertools.combinations(range(self.metric.sites), self.k))
        return np.fromiter(flat, dtype=np.int64, count=self.size * self.k).reshape(self.size, self.k)


def _tiny() -> Iterator[Tiny]:
    person = AddRemove("person")
    for metric, k in ((line(0, 8, 9), 1), (line(0, 1, 8, 9), 2)):
        mechanism = KMedianExhaustive(metric=metric, k=k, epsilon=2, neighbours=person)
        yield Tiny(mechanism, list(person.pairs(range(metric.places), 4)))
    replace = Replace("person")
    moved = KMedianExhaustive(metric=line(0, 5, 10), k=1, epsilon=4, neighbours=replace)
    yield Tiny(moved, list(replace.pairs(range(3), 3)))


CARD = Card(
    title="k-median over all sets of sites",
    theorem="(epsilon, 0)-differential privacy; cost at most OPT + O(k diameter ln(sites) / epsilon)",
    reference="[Roth10] Theorem 43",
    example=lambda: (
        KMedianExhaustive(metric=town(4), k=2, epsilon=1, neighbours=AddRemove("person")),
        tuple(range(16)) * 5 + (3,) * 50,
    ),
    tiny=_tiny,
)
