"""k-median from a noisy histogram of people: noise once, then search as much as one likes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import above, down, up
from discreet.mechanisms.noisy_histogram import NoisyHistogram
from discreet.optimisation.k_median.metric import Medians, OfPeople
from discreet.optimisation.k_median.swaps import local_optimum, spread_out
from discreet.optimisation.k_median.tiny import PEOPLE, line, town


@frozen
class KMedianHistogram(OfPeople):
    """Open k sites near where a noisy count says people are.

    Privacy: (epsilon, 0), that of one histogram; the search sees nothing but the noisy counts.
    Accuracy: cost <= 5 OPT + error(beta) with probability 1 - beta, for distances that are a metric. In
    practice it is the best of the three by far.
    Time: O(places * sites) a swap, about 2 k swaps.

    Parameters
    ----------
    metric, k, epsilon, neighbours
        As in `KMedian`.

    Examples
    --------
    >>> from discreet.optimisation import Metric
    >>> town = Metric.points([[0, 0], [0, 3], [4, 0]], unit=1)
    >>> KMedianHistogram(metric=town, k=1, epsilon=1, neighbours=AddRemove("person")).error(0.05) < 200
    True
    """

    ratio = 5.0

    def _complete(self) -> None:
        OfPeople._complete(self)  # noqa: SLF001 - its own base
        self.histogram  # noqa: B018 - refuses neighbours that a histogram does not know

    @property
    def histogram(self) -> NoisyHistogram:
        """The only step that meets the data."""
        return NoisyHistogram(epsilon=self.epsilon, size=self.metric.places, neighbours=self.neighbours)

    @property
    def loss(self) -> Loss:
        """That of the histogram."""
        return self.histogram.loss

    def error(self, beta: checks.Number) -> float:
        """Return alpha: cost <= 5 OPT + alpha with probability at least 1 - beta.

        A set without a better swap costs at most five times the best one on the noisy counts. With noise z
        at a place, cut off at a count of zero, that place adds at most 5 diameter max(z, 0) to what the
        best set seems to cost and hides at most diameter max(-z, 0) of what ours does. The sum over all
        places is bounded by Chernoff's method, E e^{s (5 z+ + z-)} having a closed form.
        """
        missed = math.log(down(checks.probability(beta=beta)))
        decay = down(1 / self.histogram.scale)
        # The best rate is found by trying; any is sound. It must stay below decay / 5.
        rates = decay / 5 * np.linspace(0.001, 0.999, 999)
        q = math.exp(-decay)
        rising, falling = np.exp(5 * rates - decay), np.exp(rates - decay)
        moment = (1 - q) / (1 + q) * (1 + rising / (1 - rising) + falling / (1 - falling))
        total = float(((self.metric.places * np.log(moment) - missed) / rates).min()) * (1 + 1e-9)
        return above(total * up(self.metric.diameter * self.metric.unit))

    def _draw(self, data: Any, rng: Rng) -> Medians:
        counts = self.metric.counts(data)
        noisy = self.histogram.release(counts.astype(np.int64), rng=rng).value
        most = 2**53 // (self.metric.places * max(1, self.metric.diameter))
        weights = np.clip(noisy, 0, most).astype(np.float64)
        chosen = local_optimum(self.metric, weights, spread_out(self.metric, self.k))
        return Medians.of(chosen, self.metric)


def _tiny() -> Iterator[Tiny]:
    person = AddRemove("person")
    mechanism = KMedianHistogram(metric=line(0, 3), k=1, epsilon=8, neighbours=person)
    yield Tiny(mechanism, list(person.pairs(range(2), 2)))


CARD = Card(
    title="k-median from a noisy histogram",
    theorem="(epsilon, 0)-differential privacy; cost at most 5 OPT + error(beta)",
    reference="[DR14] Theorem 3.8 for the counts, [AGKMMP04] for the search",
    example=lambda: (
        KMedianHistogram(metric=town(6), k=3, epsilon=1, neighbours=AddRemove("person")),
        PEOPLE,
    ),
    tiny=_tiny,
)
