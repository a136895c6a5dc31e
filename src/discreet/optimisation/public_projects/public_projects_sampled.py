"""Public projects on a secret sample of the agents: pure privacy, and usually the best value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import frozen
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import above, below, exp_bounds, up
from discreet.optimisation.common.repeated_choices import (
    Order,
    Perform,
    SequentialLoss,
    enumerate_runs,
    mix_samples,
    sampled_rate,
)
from discreet.optimisation.public_projects.agents import Agents, read_agents
from discreet.optimisation.public_projects.public_projects import (
    OfAgents,
    choose_greedily,
    greedy_shortfall,
)

_WORD = 1 << 64
SHARE = Fraction(1, 10)
"""How much of OPT the sampling may cost, relatively, in the accuracy theorem."""


@dataclass(frozen=True, slots=True)
class SampledGreedy(Primitive[Agents, Order]):
    """Keep each agent with probability `kept` / 2**64; choose k items among those who stay, greedily.

    It is one random step: who was sampled is never seen outside.
    """

    k: int
    range_: Fraction
    unit: Fraction
    kept: int
    sensitivity: Fraction = Fraction(1)

    def sample(self, value: Agents, rng: Rng) -> Order:
        """Sample the agents, then choose."""
        kept = value.keep(rng.words(value.count) < np.uint64(self.kept))
        return self._choose(kept, lambda step, given: step.sample(given, rng))

    def _choose(self, agents: Agents, perform: Perform) -> Order:
        return choose_greedily(agents, self.k, self.range_, self.unit, perform)

    def law(self, value: Agents) -> Iterator[tuple[Order, Fraction]]:
        """Yield every ordered choice with its probability, added up over all samples."""

        def law(sample: tuple[int, ...]) -> Iterator[tuple[Order, Fraction]]:
            kept = value.keep(np.isin(np.arange(value.count), sample))
            return enumerate_runs(partial(self._choose, kept))

        yield from mix_samples(range(value.count), 1 - Fraction(self.kept, _WORD), law)

    def distance(self, value: Agents, other: Agents) -> Fraction:
        """Count the agents that are in one instance only."""
        return Fraction(value.distance(other))


@frozen
class PublicProjectsSampled(OfAgents):
    """Choose k items by greedy choices on a secret Poisson sample of the agents.

    Privacy: (epsilon, 0), exact. Adding an agent multiplies the probability of an outcome by at most e^range;
    removing one could divide it by much more, but each agent is left out of the sample with probability
    e^-epsilon anyway. [GKKMS24].
    Accuracy: with probability 1 - beta the agents get at least `ratio` OPT - error(beta), for submodular
    valuations.
    Time: as `PublicProjects`.

    Parameters
    ----------
    resources, k
        As in `PublicProjects`, which with delta 0 is better for one item.
    epsilon, neighbours, grid
        As in `PublicProjects`.

    Examples
    --------
    >>> mechanism = PublicProjectsSampled(resources=100, k=10, epsilon=1, neighbours=AddRemove("agent"))
    >>> round(mechanism.share, 4), round(float(mechanism.range_), 4)
    (0.6321, 1.3133)
    """

    @property
    def range_(self) -> Fraction:
        """The exponent of one whole unit of value in the sample: log(1 + e^epsilon), rounded down."""
        return sampled_rate(self.epsilon)

    @property
    def share(self) -> float:
        """The probability that an agent is in the sample: 1 - e^-epsilon."""
        return _count_kept(self.epsilon) / _WORD

    @property
    def ratio(self) -> float:
        """The factor before OPT in the accuracy theorem."""
        return below((1 - 1 / math.e) * float((1 - SHARE) / (1 + SHARE)), steps=8)

    @property
    def loss(self) -> Loss:
        """Pure: with p = 1 - e^-epsilon both 1 / (1 - p) and 1 - p + p e^range are e^epsilon."""
        return PureLoss(self.epsilon)

    @property
    def truthfulness(self) -> float:
        """How much an agent can gain, at most, in expectation, by reporting another valuation.

        A report counts only in the sample, and there it moves the outcome as in `PublicProjects`.
        """
        moved = min(1.0, 2 * SequentialLoss(self.range_, self.k).delta(0))
        return min(1.0, above(self.share * moved))

    def rounded_error(self, beta: checks.Number) -> float:
        """Return the same for values as they are on the grid.

        A third of beta each for three things. The sampled value of the best set is at least (1 - s) p OPT -
        log(1/b) / (2 s); that of every set S at most (1 + s) p F(S) + log(sets/b) / s; and the greedy choices
        fall short in the sample as they would without it.
        """
        third = checks.probability(beta=beta) / 3
        sets = math.lgamma(self.resources + 1) - math.lgamma(self.k + 1)
        sets -= math.lgamma(self.resources - self.k + 1)
        rare, s = -math.log(float(third)), float(SHARE)
        greedy = greedy_shortfall(self.resources, self.k, self.range_ * self.grid, third) * self.grid
        lost = (sets + rare) / s + rare / (2 * s) + up(greedy)
        return above(lost / (self.share * (1 + s)) * (1 + 1e-9))

    def _draw(self, data: Any, rng: Rng) -> Order:
        agents = read_agents(data, self.resources, self.grid)
        return rng.perform(SampledGreedy(self.k, self.range_, self.grid, _count_kept(self.epsilon)), agents)


@lru_cache(maxsize=256)
def _count_kept(epsilon: Fraction) -> int:
    return _WORD - exp_bounds(epsilon, 64)[1]


def _tiny() -> Iterator[Tiny]:
    agent = AddRemove("agent")
    wishes = [(0,), (1,), (0, 1), (2,), (0, 1, 2)]
    for epsilon, k in ((1, 2), (4, 2), (2, 1)):
        mechanism = PublicProjectsSampled(resources=3, k=k, epsilon=epsilon, neighbours=agent)
        crowd = ((0,),) * 5
        yield Tiny(
            mechanism, [*agent.pairs(wishes, 2), *((((*crowd, w), crowd)) for w in wishes)], tight=k == 2
        )


CARD = Card(
    title="Public projects on a secret sample",
    theorem="(epsilon, 0)-differential privacy; value at least 0.51 OPT - error(beta)",
    reference="[GKKMS24], with [Roth10] Algorithm 7",
    example=lambda: (
        PublicProjectsSampled(resources=12, k=3, epsilon=1, neighbours=AddRemove("agent")),
        np.array([[(7 * agent + 3 * item) % 11 < 2 for item in range(12)] for agent in range(300)]),
    ),
    tiny=_tiny,
)
