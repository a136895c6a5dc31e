"""Random sets, one of which is to be covered: Theorem 60 of [Roth10], at sizes that can be run.

The source asks for k^10 elements, so that no two sets share many; here what they share is counted. An
assignment that serves a set S by j sets, S among them or not, gives at least k - (j - 1) t of the elements
of S to S itself, if no two sets share more than t elements and j t < k. Each element is given to one set
only, so at most n / (k - (j - 1) t) of the m sets are served so well by one assignment. Privacy compares
with the assignment for nobody: a hidden set of k elements is served by at most j sets with probability
e^(epsilon k) n / (m (k - (j - 1) t)) at most, on average over the hidden set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import below
from discreet.optimisation.common.orders import shuffle

Sets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class HardSets:
    """A set cover instance.

    Attributes
    ----------
    family
        The public sets.
    elements
        Those to be covered: one set of each copy, or all of it.
    optimum
        How many sets would do: one a copy.
    bound
        Every (epsilon, 0)-private algorithm that maps elements to sets uses at least this many sets, on
        average over the hidden sets.
    """

    family: Sets
    elements: tuple[int, ...]
    optimum: float
    bound: float


def theorem_60(
    *, sets: int, universe: int, epsilon: checks.Number, copies: int = 1, rng: Rng = SYSTEM
) -> HardSets:
    """Return `copies` families of random sets on universes of their own, with a hidden set of each.

    A set has k = ln(sets / universe) / epsilon elements, so that e^(epsilon k) n / m is at most one.
    """
    m, n, count = (
        checks.integer(2, sets=sets),
        checks.integer(2, universe=universe),
        checks.integer(1, copies=copies),
    )
    e = float(checks.positive(epsilon=epsilon))
    size = math.floor(math.log(m / n) / e)
    if not 1 <= size < n:
        rule = f"so that ln(sets / universe) / epsilon is between 1 and {n}"
        raise InvalidParameter(name="sets", rule=rule, value=sets, hint="Draw more sets, or fewer elements")
    family: list[tuple[int, ...]] = []
    hidden: list[int] = []
    bound = 0.0
    for copy in range(count):
        drawn = np.stack([np.sort(shuffle(n, rng)[:size]) for _ in range(m)])
        bound += _most_used(drawn, n, e)
        family += [tuple(row) for row in (drawn + copy * n).tolist()]
        hidden += family[copy * m + int(shuffle(m, rng)[0])]
    return HardSets(tuple(family), tuple(hidden), float(count), below(bound, 4 * count))


def _most_used(
    drawn: np.ndarray[tuple[int, int], np.dtype[np.int64]], universe: int, epsilon: float
) -> float:
    """Return how many sets serve the hidden one, at least: the sum over j of P[more than j do]."""
    count, size = drawn.shape
    table = np.zeros((count, universe), dtype=np.float32)
    table[np.arange(count)[:, None], drawn] = 1
    shared = table @ table.T
    np.fill_diagonal(shared, 0)
    most = max(1, int(shared.max()))
    crowd = math.exp(epsilon * size) * universe / count
    return 1 + sum(max(0.0, 1 - crowd / (size - (j - 1) * most)) for j in range(1, math.ceil(size / most)))
