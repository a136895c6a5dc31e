"""Set cover by one exponential mechanism over all orders of few sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_down
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.systems import Assignment, OfElements, Present, SetSystem, require_few

MOST = 8
"""The largest number of sets: 8! = 40,320 orders."""


@frozen
class SetCoverExhaustive(OfElements):
    """Choose an order of the sets with probability proportional to exp(-epsilon * sets it uses).

    Privacy: (epsilon, 0) for one element, of bounded range: an element that is added can only make an order
    use one set more, so the scores are monotone.
    Accuracy: with probability 1 - beta at most error(beta) sets more than the fewest are used.
    Time: O(sets! * elements).

    Parameters
    ----------
    family
        The public sets, at most 8: a mapping, a sequence of collections, or a matrix of sets by elements.
    epsilon
        The budget of one release.
    """

    measures = False

    def _complete(self) -> None:
        require_few(self.family, MOST)

    @property
    def rate(self) -> Fraction:
        """The exponent of one set, never above epsilon."""
        return shorten_down(self.epsilon, 12)

    @property
    def loss(self) -> Loss:
        """Bounded range."""
        return BoundedRangeLoss(self.rate)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: more than alpha sets beyond the fewest are used with probability <= beta.

        One order in binom(sets, fewest) puts the best cover first.
        """
        m = len(self.family.names)
        log = math.log(math.comb(m, m // 2)) - math.log(checks.probability(beta=beta))
        bound = float(math.floor(above(log, 8) / float(self.rate) * (1 + 1e-12)))
        return require_useful(bound, trivial=float(m - 1), what="the size of this cover", way_out=MORE)

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        used = sets_used(self.family, self.family.read(data))
        place = rng.perform(ExponentialChoice(self.rate, Fraction(1)), -used)
        return self._assign(orders(len(self.family.names))[place].tolist())


@lru_cache(maxsize=MOST)
def orders(count: int) -> Integers:
    """Return all orders of `count` things, one a row."""
    return np.array(list(itertools.permutations(range(count))), dtype=np.int64)


def sets_used(system: SetSystem, present: Present) -> Integers:
    """Return for every order how many sets the present elements use."""
    ranks = np.argsort(orders(len(system.names)), axis=1)
    used = np.zeros(ranks.shape, dtype=bool)
    rows = np.arange(len(ranks))
    for element in np.flatnonzero(present).tolist():
        holders = np.unique(system.holders(np.array([element])))
        if holders.size:
            used[rows, holders[np.argmin(ranks[:, holders], axis=1)]] = True
    return np.asarray(used.sum(axis=1), dtype=np.int64)


def _tiny() -> Iterator[Tiny]:
    wide = SetCoverExhaustive(family=([0], [1], [2], [0, 1, 2]), epsilon=1)
    yield try_elements(wide, 3, tight=False)
    yield try_elements(SetCoverExhaustive(family=([0, 1], [0], [1]), epsilon=6), 2)


CARD = Card(
    title="Set cover by an exponential mechanism over all orders",
    theorem="(epsilon, 0)-differential privacy for an element; log binom(m, OPT) / epsilon sets too many",
    reference="[Roth10] Theorem 53",
    example=lambda: (SetCoverExhaustive(family={"north": (1, 2, 3), "south": (3, 4)}, epsilon=1), (1, 4)),
    tiny=_tiny,
)
