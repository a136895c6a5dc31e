"""Instances that no private algorithm solves well: k-median, uniform facility location, coverage.

All three plant a random set of k places among n and put a few people on each. An algorithm that finds many
of the places for a planted set must, by privacy, also find them where nothing is planted, and it has only so
many to name. With `copies` people a place, moving one planted place takes 2 * copies changes, so the share
phi of planted places that are found obeys ::

    phi e^(-2 epsilon copies) (n - k) <= (named places that are not planted, on average).

`facility_ratio` turns this into Corollary 48 of [Roth10]: published facilities are far from optimal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import below
from discreet.optimisation.common.orders import shuffle
from discreet.optimisation.k_median.metric import Metric

_CHANGES = 2  # people to add or remove to move one of a place's people to another place


@dataclass(frozen=True, slots=True)
class Planted:
    """A hard instance.

    Attributes
    ----------
    size
        How many places there are.
    planted
        Where the people are.
    copies
        How many people there are on each planted place.
    epsilon
        The epsilon that the bounds are for, when one person is added or removed.
    """

    size: int
    planted: tuple[int, ...]
    copies: int
    epsilon: float

    @property
    def k(self) -> int:
        """How many places are planted."""
        return len(self.planted)

    @property
    def most_found(self) -> float:
        """The largest share of planted places that k private names find, averaged over planted sets.

        k names find phi k planted ones, so (1 - phi) k are others: phi e^-2.. (n - k) <= (1 - phi) k.
        """
        odds = (self.size - self.k) / self.k * math.exp(-_CHANGES * self.epsilon * self.copies)
        return 1 / (1 + odds)

    @property
    def least_loss(self) -> float:
        """What every private algorithm loses against OPT, averaged over planted sets.

        For k-median the cost (OPT is 0) where all sites are 1 apart, for coverage the agents missed.
        """
        return max(0.0, below(self.k * self.copies * (1 - self.most_found), steps=8))

    @property
    def metric(self) -> Metric:
        """The uniform metric on all places."""
        return Metric(1 - np.eye(self.size, dtype=np.int64), unit=1)

    @property
    def people(self) -> Integers:
        """The place of every person."""
        return np.repeat(np.array(self.planted, dtype=np.int64), self.copies)

    @property
    def wishes(self) -> tuple[tuple[int, ...], ...]:
        """The same people as agents who want one item each."""
        return tuple((place,) for place in self.people.tolist())


def theorem_47(*, size: int, k: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> Planted:
    """Return a k-median instance on which every epsilon-private algorithm pays about k ln(n/k) / epsilon.

    The number of people a place is the one with the largest bound; the source's ln(n/k) / (10 epsilon) gives
    less. Theorem 66, for coverage, has the same instances: see `theorem_66`.
    """
    n, count = checks.integer(2, size=size), checks.integer(1, k=k)
    if count >= n:
        raise InvalidParameter(name="k", rule=f"below the size {n}", value=k)
    e = float(checks.positive(epsilon=epsilon))
    planted = tuple(sorted(shuffle(n, rng)[:count].tolist()))
    longest = math.ceil((math.log(n / count) + 1) / (_CHANGES * e)) + 1
    options = (Planted(n, planted, copies, e) for copies in range(1, longest + 1))
    return max(options, key=lambda instance: instance.least_loss)


def theorem_66(*, resources: int, k: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> Planted:
    """Return agents who want one item each, of whom every epsilon-private algorithm misses `least_loss`.

    They are the people of Theorem 47 (`Planted.wishes`): choosing an item is opening a place.
    """
    return theorem_47(size=resources, k=k, epsilon=epsilon, rng=rng)


def corollary_48(*, side: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> Planted:
    """Return an instance of uniform facility location with side^2 places and one person on `side` of them.

    Opening a facility costs 1 / side and not having one costs a person 1, so OPT is 1.
    """
    root = checks.integer(2, side=side)
    e = float(checks.positive(epsilon=epsilon))
    return Planted(root * root, tuple(sorted(shuffle(root * root, rng)[:root].tolist())), 1, e)


def facility_cost(instance: Planted, opened: Iterable[int]) -> float:
    """Return what a set of open facilities costs in an instance of Corollary 48."""
    there = set(opened)
    missed = sum(place not in there for place in instance.people.tolist())
    return len(there) / math.sqrt(instance.size) + missed


def facility_ratio(instance: Planted) -> float:
    """Return the approximation ratio that no private algorithm beats by publishing its facilities.

    Finding a share phi of the people takes phi k + phi e^(-2 epsilon) (n - k) facilities on average. The
    cost is linear in phi, so one of the two ends is the best.
    """
    n, k = instance.size, instance.k
    reached = (k + math.exp(-_CHANGES * instance.epsilon * instance.copies) * (n - k)) / math.sqrt(n)
    return below(min(float(k * instance.copies), reached), steps=8)
