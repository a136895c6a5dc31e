"""Public projects over all sets of k items: the best private answer where there are few enough of them."""

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
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.repeated_choices import Order
from discreet.optimisation.public_projects.agents import read_agents
from discreet.optimisation.public_projects.public_projects import OfAgents

MOST = 500_000
"""The largest number of sets."""


@frozen
class PublicProjectsExhaustive(OfAgents):
    """Choose the best k items by one exponential mechanism over all sets of k.

    Privacy: (epsilon, 0), of bounded range epsilon: an agent adds between nothing and one unit to every
    set, so the scores are monotone.
    Accuracy: value >= OPT - error(beta) with probability 1 - beta, whatever the valuations are: the factor
    before OPT is one.
    Time: O(agents * binomial(resources, k)), at most half a million sets.

    Parameters
    ----------
    resources, k, epsilon, neighbours, grid
        As in `PublicProjects`.

    Examples
    --------
    >>> mechanism = PublicProjectsExhaustive(resources=20, k=3, epsilon=1, neighbours=AddRemove("agent"))
    >>> mechanism.error(0.05), round(mechanism.truthfulness, 3)
    (9.0, 0.462)
    """

    ratio = 1.0

    def _complete(self) -> None:
        OfAgents._complete(self)  # noqa: SLF001 - its own base
        if self.size > MOST:
            rule = f"so small that there are <= {MOST:,} sets"
            raise InvalidParameter(name="k", rule=rule, value=self.k, hint="Use PublicProjects")

    @property
    def size(self) -> int:
        """How many sets of k items there are."""
        return math.comb(self.resources, self.k)

    @property
    def _choice(self) -> ExponentialChoice:
        whole = int(1 / self.grid)
        return ExponentialChoice(rate_within(self.epsilon, whole), Fraction(whole))

    @property
    def loss(self) -> Loss:
        """One choice of bounded range."""
        return BoundedRangeLoss(self._choice.rate * self._choice.sensitivity)

    @property
    def truthfulness(self) -> float:
        """How much an agent can gain, at most, in expectation, by reporting another valuation.

        Values lie in [0, 1], so it is the distance of the two outcomes' distributions. A report can be
        exchanged for another at the price of twice the range at most, and laws within a range r of each
        other are within tanh(r / 4).
        """
        return min(1.0, above(math.tanh(up(2 * self.epsilon) / 4), steps=4))

    def rounded_error(self, beta: checks.Number) -> float:
        """Return the same for values as they are on the grid."""
        b = checks.probability(beta=beta)
        return up(units_behind((self.size - 1) * (1 - b) / b, self._choice.rate) * self.grid)

    def _draw(self, data: Any, rng: Rng) -> Order:
        sets = self._sets()
        place = rng.perform(self._choice, read_agents(data, self.resources, self.grid).values(sets))
        return tuple(sets[place].tolist())

    def _sets(self) -> Integers:
        flat = itertools.chain.from_iterable(itertools.combinations(range(self.resources), self.k))
        return np.fromiter(flat, dtype=np.int64, count=self.size * self.k).reshape(self.size, self.k)


def _tiny() -> Iterator[Tiny]:
    agent = AddRemove("agent")
    wishes = [(0,), (1,), (0, 1), (2,), (0, 1, 2)]
    yield Tiny(
        PublicProjectsExhaustive(resources=3, k=1, epsilon=2, neighbours=agent),
        [(((0,),) * 6, ((0,),) * 5), *agent.pairs(wishes, 2)],
    )


CARD = Card(
    title="Public projects over all sets of items",
    theorem="(epsilon, 0)-differential privacy; value at least OPT - error(beta), with no factor before OPT",
    reference="[Roth10] Theorem 62; [DR14] Theorem 3.10",
    example=lambda: (
        PublicProjectsExhaustive(resources=8, k=2, epsilon=1, neighbours=AddRemove("agent")),
        [{person % 8, (3 * person) % 8} for person in range(200)],
    ),
    tiny=_tiny,
)
