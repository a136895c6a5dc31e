"""Stars whose centres nobody can find privately: Theorem 51 of [Roth10], for vertex cover."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import below
from discreet.optimisation.common.graphs import Edges
from discreet.optimisation.common.orders import shuffle


@dataclass(frozen=True, slots=True)
class HardStars:
    """A graph for vertex cover.

    Attributes
    ----------
    vertices, edges
        The graph.
    optimum
        The size of the smallest cover: one centre a star.
    bound
        The expected size of the cover of every (epsilon, 0)-private algorithm is at least this.
    """

    vertices: int
    edges: Edges
    optimum: float
    bound: float


def theorem_51(*, groups: int, epsilon: checks.Number, rng: Rng = SYSTEM) -> HardStars:
    """Return disjoint stars with about 1 / epsilon leaves each, around random centres.

    Without edges, a random pair of a group is covered by its second vertex half of the time; s edges later
    still with probability e^(-epsilon s) / 2. So every star costs s e^(-epsilon s) / 2 on average, and its
    centre alone would do.
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
    return HardStars(count * (leaves + 1), pairs, float(count), max(bound, float(count)))
