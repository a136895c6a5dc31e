"""Sets of sites and the swaps that lead from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core.fixed import Floats, Integers
from discreet.optimisation.k_median.metric import Metric

Chosen = tuple[int, ...]


def spread_out(metric: Metric, k: int) -> Chosen:
    """Return k sites far from each other, by public distances alone: where every search starts.

    The first is the site whose farthest place is nearest; each next one serves the place that is worst off.
    """
    table = metric.distances
    chosen = [int(table.max(axis=0).argmin())]
    while len(chosen) < k:
        worst = int(table[:, chosen].min(axis=1).argmax())
        order = np.argsort(table[worst], kind="stable")
        chosen.append(int(order[~np.isin(order, chosen)][0]))
    return tuple(sorted(chosen))


@dataclass(frozen=True, slots=True)
class Swaps:
    """Every way to close one of the chosen sites and open another one."""

    metric: Metric
    chosen: Chosen

    @property
    def others(self) -> Integers:
        """The sites that are not chosen."""
        return np.setdiff1d(np.arange(self.metric.sites), self.chosen)

    def result(self, place: int) -> Chosen:
        """Return the set that a swap leads to; the one after the last swap is to stay."""
        others = self.others
        if place == len(self.chosen) * others.size:
            return self.chosen
        closed, opened = divmod(place, others.size)
        kept = self.chosen[:closed] + self.chosen[closed + 1 :]
        return tuple(sorted((*kept, int(others[opened]))))

    def spread(self) -> int:
        """Return how far one person can move the difference of the costs of two swaps, in units.

        After any swap a person goes at least to the nearest site of all and at most to what is now the
        second nearest chosen one. Public, and often far below the diameter.
        """
        table = self.metric.distances
        most = table.max(axis=1)
        if len(self.chosen) > 1:
            most = np.minimum(most, self._two_nearest()[2])
        return max(1, int((most - table.min(axis=1)).max()))

    def costs(self, counts: Floats) -> Integers:
        """Return the cost after every swap and, last, of staying, in units.

        A swap that closes a and opens y costs sum w min(d(y), d1), where d1 is the distance to the nearest
        chosen site, and for those nearest to a the rise from min(d(y), d1) to min(d(y), d2).
        """
        near, first, second = self._two_nearest()
        kept = np.zeros(self.metric.sites)
        rise = np.zeros((len(self.chosen), self.metric.sites))
        group = np.zeros((self.metric.places, len(self.chosen)))
        group[np.arange(self.metric.places), near] = counts
        for rows, block in self.metric.blocks():
            low = np.minimum(block, first[rows, None])
            kept += counts[rows] @ low
            rise += group[rows].T @ (np.minimum(block, second[rows, None], out=block) - low)
        swapped = (rise + kept)[:, self.others]
        return np.append(swapped.ravel(), counts @ first).astype(np.int64)

    def _two_nearest(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return which chosen site is nearest to every place, and the two smallest distances."""
        table = self.metric.distances[:, self.chosen].astype(np.float64)
        near = table.argmin(axis=1)
        first = table[np.arange(len(table)), near]
        if table.shape[1] == 1:
            return near, first, np.full(len(table), float(self.metric.diameter))
        return near, first, np.partition(table, 1, axis=1)[:, 1]


def local_optimum(metric: Metric, counts: Floats, chosen: Chosen) -> Chosen:
    """Follow the best swap until none is left that costs less."""
    while True:
        swaps = Swaps(metric, chosen)
        costs = swaps.costs(counts)
        best = int(costs.argmin())
        if costs[best] >= costs[-1]:
            return chosen
        chosen = swaps.result(best)
