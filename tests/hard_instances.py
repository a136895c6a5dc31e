"""Instances on which every private algorithm does badly.

Each is drawn at random, with the cost of the best solution and what any (epsilon, 0)-private algorithm must
pay on average over the draw. None of them holds data. Those of k-median and of minimum cut are with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import below
from discreet.optimisation.common.graphs import Edges
from discreet.optimisation.common.orders import shuffle
from discreet.optimisation.k_median.lower_bound import Planted


@dataclass(frozen=True, slots=True)
class HardInstance:
    """What every private algorithm is up against.

    Attributes
    ----------
    optimum
        The cost of the best solution.
    bound
        The expected cost of every (epsilon, 0)-private algorithm is at least this.
    """

    optimum: float
    bound: float


@dataclass(frozen=True, slots=True)
class HardGraph(HardInstance):
    """A graph for vertex cover: its number of vertices, and its edges."""

    vertices: int
    edges: Edges


@dataclass(frozen=True, slots=True)
class HardSystem(HardInstance):
    """Sets of element numbers for set cover, and the elements to be covered."""

    family: tuple[tuple[int, ...], ...]
    elements: tuple[int, ...]


def stars(*, groups: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> HardGraph:
    """Return disjoint stars with about 1 / epsilon leaves each, around random centres.

    Without edges, a random pair of a group is covered by its second vertex half of the time; s edges later
    still with probability e^(-epsilon s) / 2. So every star costs s e^(-epsilon s) / 2 on average,
    and its centre alone would do. [Roth10] Theorem 51.
    """
    count, e = checks.integer(1, groups=groups), checks.positive(epsilon=epsilon)
    leaves = max(1, math.floor(1 / e))
    edges = []
    for group in range(count):
        first = group * (leaves + 1)
        centre, *others = (first + shuffle(leaves + 1, rng)).tolist()
        edges += [(min(centre, leaf), max(centre, leaf)) for leaf in others]
    bound = count * below(leaves / 2 * math.exp(-float(e) * leaves), 4)
    pairs = np.array(sorted(edges), dtype=np.int64)
    return HardGraph(float(count), max(bound, float(count)), count * (leaves + 1), pairs)


def random_subsets(*, sets: int, universe: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> HardSystem:
    """Return random sets of k = log2(sets) / (2 epsilon) elements, one of which is to be covered.

    One set covers all; but no assignment is good for many of the sets, and k elements cannot tell a private
    algorithm which of them it is. With a universe of at least k^10 elements the expected number of sets
    in use is at least k / 4. [Roth10] Theorem 60; smaller universes show the same without a proof.
    """
    m, n = checks.integer(2, sets=sets), checks.integer(2, universe=universe)
    size = max(1, math.ceil(math.log2(m) / (2 * float(checks.positive(epsilon=epsilon)))))
    if size > n:
        raise InvalidParameter(name="universe", rule=f"at least {size} elements", value=universe)
    family = tuple(tuple(sorted(shuffle(n, rng)[:size].tolist())) for _ in range(m))
    hidden = family[int(shuffle(m, rng)[0])]
    return HardSystem(1.0, max(1.0, size / 4) if n >= size**10 else 1.0, family, hidden)


def facility_cost(instance: Planted, opened: Iterable[int]) -> float:
    """Return what a set of open facilities costs in an instance of Corollary 48: the true cost."""
    there = set(opened)
    missed = sum(place not in there for place in instance.people.tolist())
    return len(there) / math.sqrt(instance.size) + missed
