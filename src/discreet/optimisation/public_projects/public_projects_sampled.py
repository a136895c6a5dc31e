"""Public projects on a secret sample of the agents: pure privacy, and usually the best value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import frozen
from discreet.core.progress import track
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import above, below, exp_bounds, shorten_down, up
from discreet.noise.selection import ExponentialChoice, exponential_weights
from discreet.optimisation.common.repeated_choices import SequentialLoss
from discreet.optimisation.public_projects.agents import Agents, read_agents
from discreet.optimisation.public_projects.public_projects import (
    OfAgents,
    about_whole_values,
    greedy_shortfall,
)

Order = tuple[int, ...]
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
        rounds = value.keep(rng.words(value.count) < np.uint64(self.kept)).begin()
        step = ExponentialChoice(self.range_ * self.unit, 1 / self.unit)
        chosen: list[int] = []
        left = np.arange(value.resources)
        for _ in track(range(self.k), total=self.k, label="public projects"):
            place = step.sample(rounds.gains()[left], rng)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
            rounds.take(chosen[-1])
        return tuple(chosen)

    def law(self, value: Agents) -> Iterator[tuple[Order, Fraction]]:
        """Yield every ordered choice with its probability, added up over all samples."""
        found: dict[Order, Fraction] = {}
        share = Fraction(self.kept, _WORD)
        for kept in itertools.product((False, True), repeat=value.count):
            chance = share ** sum(kept) * (1 - share) ** (value.count - sum(kept))
            agents = value.keep(np.array(kept, dtype=bool))
            for order, p in self._extend(agents, (), chance):
                found[order] = found.get(order, Fraction(0)) + p
        yield from found.items()

    def _extend(self, agents: Agents, order: Order, chance: Fraction) -> Iterator[tuple[Order, Fraction]]:
        if len(order) == self.k:
            yield order, chance
            return
        rounds = agents.begin()
        for item in order:
            rounds.take(item)
        left = [item for item in range(agents.resources) if item not in order]
        weights = exponential_weights(rounds.gains()[left], self.range_ * self.unit)
        for item, weight in zip(left, weights, strict=True):
            yield from self._extend(agents, (*order, item), chance * weight / sum(weights))

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
    resources
        How many items there are. They are public.
    k
        How many to choose. For one item `PublicProjects` with delta 0 is better.
    epsilon
        The budget of one release.
    neighbours
        `AddRemove` of an agent.
    grid
        The unit that values are rounded to; needed where agents are functions. One over a whole number.

    Examples
    --------
    >>> mechanism = PublicProjectsSampled(resources=100, k=10, epsilon=1, neighbours=AddRemove("agent"))
    >>> round(mechanism.share, 4), round(float(mechanism.range_), 4)
    (0.6321, 1.3133)
    """

    @property
    def range_(self) -> Fraction:
        """The exponent of one whole unit of value in the sample: log(1 + e^epsilon), rounded down."""
        return _find_range(self.epsilon)

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

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the value is at least ratio OPT - alpha with probability at least 1 - beta.

        For agents who want items, and others of decreasing marginal values.
        """
        return about_whole_values(self.grid, self.rounded_error(beta))

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
def _find_range(epsilon: Fraction) -> Fraction:
    e = float(epsilon)
    return shorten_down(Fraction(below(e + math.log1p(math.exp(-e)), steps=8)), 12)


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
