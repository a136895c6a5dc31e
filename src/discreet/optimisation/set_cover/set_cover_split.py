"""Weighted set cover with costs that lie arbitrarily far apart: many small instances side by side."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.greedy import Halving
from discreet.optimisation.set_cover.set_cover_weighted import (
    PlannedCover,
    halving_plan,
    halving_ratio,
    halvings,
)
from discreet.optimisation.set_cover.systems import Assignment, Part, SetSystem

Instance = tuple[SetSystem, tuple[Fraction, ...]]


@frozen
class SetCoverSplit(PlannedCover):
    """Cover elements whose cheapest sets cost about the same together, and others apart.

    Privacy: (epsilon, delta) for one element, which is in one instance only: parallel composition.
    Accuracy: with probability 1 - beta the cost is at most error(beta) times the least, whatever the costs.
    Time: that of the instances together.

    With n elements, costs are split into classes (n^j, n^(j+1)]. Elements whose cheapest set is of class j
    may use sets of the classes j and j + 1; dearer ones are never worth it. Splitting costs a factor of 4.

    Parameters
    ----------
    family, costs, epsilon, delta, beta
        As in `SetCoverWeighted`.
    """

    @property
    def _rounds(self) -> int:
        instances = split(self.family, self.costs)
        return max(len(prices) + halvings(part, prices) for part, prices in instances)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cover costs more than alpha times the least with probability <= beta."""
        parts = zip(self._plans(), split(self.family, self.costs), strict=True)
        ratios = (min(up(sum(costs) / min(costs)), halving_ratio(plan)) for plan, (_, costs) in parts)
        return self._useful(4 * max(ratios), beta)

    def _plans(self) -> list[Halving]:
        instances = split(self.family, self.costs)
        share = self.beta / len(instances)
        return [halving_plan(system, costs, self.rate, share) for system, costs in instances]

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        present, parts = self.family.read(data), []
        for plan in self._plans():
            here = present[[self.family.place(element) for element in plan.system.elements]]
            order = plan.run(here, rng.perform)
            parts.append(Part(tuple(plan.system.names[place] for place in order), plan.system))
        return Assignment(tuple(parts))


@lru_cache(maxsize=16)
def split(system: SetSystem, costs: tuple[Fraction, ...]) -> tuple[Instance, ...]:
    """Return the instances: for every class, the elements whose cheapest set is in it, and its sets."""
    classes = np.array(_classes(costs, len(system.elements)))
    cheapest = np.full(len(system.elements), classes.max() + 1)
    for place in range(len(costs)):
        members = system.members(place)
        cheapest[members] = np.minimum(cheapest[members], classes[place])
    instances = []
    for level in sorted(set(cheapest.tolist()) - {int(classes.max()) + 1}):
        elements = np.flatnonzero(cheapest == level)
        holders = np.unique(system.holders(elements))
        sets = holders[(classes[holders] == level) | (classes[holders] == level + 1)]
        instances.append((system.part(sets, elements), tuple(costs[place] for place in sets.tolist())))
    return tuple(instances)


def _classes(costs: tuple[Fraction, ...], count: int) -> list[int]:
    """Return j for every cost, which lies in (base^j, base^(j+1)] times the smallest; -1 for the smallest."""
    base, least = max(2, count), min(costs)
    classes = []
    for cost in costs:
        j, power = -1, Fraction(1)
        while cost / least > power:
            j, power = j + 1, power * base
        classes.append(j)
    return classes


def _tiny() -> Iterator[Tiny]:
    family = ([0], [0, 1], [1])
    cover = SetCoverSplit(family=family, costs=(1, 2, 2), epsilon=2, delta=0.05, beta=0.5)
    yield try_elements(cover, 2, tight=False)


CARD = Card(
    title="Weighted set cover for costs far apart",
    theorem="(epsilon, delta)-differential privacy for an element; a bound free of the spread of costs",
    reference="[Roth10] Section 7.7.3 and Theorem 59",
    example=lambda: (
        SetCoverSplit(
            family={"a": (1, 2), "b": (2, 3), "c": (3,)}, costs=(1, 90, 1000), epsilon=1, delta=1e-6
        ),
        (1, 3),
    ),
    tiny=_tiny,
)
