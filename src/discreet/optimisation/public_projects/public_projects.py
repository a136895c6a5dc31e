"""Combinatorial public projects: choose k items that please many agents, greedily and privately."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Neighbours
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import LongRun
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_down, up
from discreet.mechanisms.exponential import units_behind
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.repeated_choices import (
    Order,
    Perform,
    SequentialLoss,
    choose_each,
    sequential_range,
)
from discreet.optimisation.public_projects.agents import Agents, read_agents

CALIBRATIONS = ("tight", "thesis")
FINEST = 10**9
"""The most units a value may have: what many millions of agents want adds up within 64 bits."""


def require_agents(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must add or remove an agent: for others the loss is not proved."""
    checks.instance(Neighbours, neighbours=neighbours)
    if not isinstance(neighbours, AddRemove):
        raise NeighboursMismatch(f"public projects hide adding or removing one agent, not {neighbours}")
    return neighbours


def read_unit(grid: checks.Number) -> Fraction:
    """Check the unit of values: one over a whole number, so that 1 is on the grid."""
    unit = checks.positive(grid=grid)
    if unit.numerator != 1 or unit.denominator > FINEST:
        rule = f"one over a whole number of at most {FINEST:,}"
        raise InvalidParameter(name="grid", rule=rule, value=grid)
    return unit


@frozen
class OfAgents(LongRun[Any, Order]):
    """What both ways to choose items share."""

    resources: int = public(checks.integer, 1)
    k: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(require_agents)
    grid: Exact = public(read_unit, default=Fraction(1))

    def _complete(self) -> None:
        if self.k > self.resources:
            raise InvalidParameter(name="k", rule=f"at most the {self.resources} items", value=self.k)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the value is at least ratio OPT - alpha with probability at least 1 - beta.

        For agents who want items, and others of decreasing marginal values. The ratio is 1 - 1/e where the
        mechanism has none of its own.

        Raises
        ------
        NoBound
            Where there is a grid: every agent adds what the own value is rounded by.
        """
        bound = self.rounded_error(beta)
        if self.grid == 1:
            return bound
        raise NoBound(
            what="values that are rounded to a grid",
            why="an agent may lose half a unit, and the number of agents is not known",
            way_out="rounded_error is about the values on the grid",
        )

    @abstractmethod
    def rounded_error(self, beta: checks.Number) -> float:
        """Return the same for values as they are on the grid."""


@frozen
class PublicProjects(OfAgents):
    """Choose k of the public items one after the other, each by an exponential mechanism over what it adds.

    Privacy: (epsilon, delta), pure where delta is 0; exact for the worst agent, see `SequentialLoss`. The
    order of the choices may be published.
    Accuracy: with probability 1 - beta the agents together get at least (1 - 1/e) OPT - error(beta), for
    submodular valuations.
    Time: O(all wishes + k items) for items that agents want; a call an agent, item and round for functions.

    Parameters
    ----------
    resources
        How many items there are. They are public.
    k
        How many to choose.
    epsilon, delta
        The budget of one release.
    neighbours
        `AddRemove` of an agent.
    grid
        The unit that values are rounded to; needed where agents are functions. One over a whole number
        of up to 10^9.
    calibration
        "tight", or "thesis" for the printed exponent, which is 29 times smaller at (1, 1e-6).

    Examples
    --------
    >>> agents = AddRemove("agent")
    >>> mechanism = PublicProjects(resources=100, k=10, epsilon=1, delta=1e-6, neighbours=agents)
    >>> round(float(mechanism.range_), 4)
    0.155
    """

    delta: Exact = public(checks.delta)
    calibration: str = public(checks.one_of, CALIBRATIONS, default="tight")

    def _complete(self) -> None:
        OfAgents._complete(self)  # noqa: SLF001 - its own base
        if self.calibration == "thesis" and not 0 < self.delta <= Fraction(1, 2):
            raise InvalidParameter(
                name="delta", rule="above 0 and at most 1/2 for the printed exponent", value=self.delta
            )

    @classmethod
    def as_printed(cls, **given: Any) -> Self:
        """Return the algorithm with the exponent of Theorem 63."""
        return cls(calibration="thesis", **given)

    @property
    def range_(self) -> Fraction:
        """The exponent of one whole unit of value."""
        if self.calibration == "thesis":
            printed = self.epsilon / Fraction(above(8 * math.e * math.log(up(2 / self.delta)), steps=4))
            return shorten_down(printed, 12)
        return sequential_range(self.epsilon, self.delta, self.k)

    @property
    def loss(self) -> Loss:
        """The exact worst case of k choices in which nobody counts twice."""
        return SequentialLoss(self.range_, self.k)

    @property
    def truthfulness(self) -> float:
        """How much an agent can gain, at most, in expectation, by reporting another valuation in [0, 1]."""
        return self.guarantee.truthfulness

    def rounded_error(self, beta: checks.Number) -> float:
        """Return the same for values as they are on the grid."""
        return up(greedy_shortfall(self.resources, self.k, self.range_ * self.grid, beta) * self.grid)

    def _draw(self, data: Any, rng: Rng) -> Order:
        agents = read_agents(data, self.resources, self.grid)
        return choose_greedily(agents, self.k, self.range_, self.grid, rng.perform)


def choose_greedily(agents: Agents, k: int, range_: Fraction, grid: Fraction, perform: Perform) -> Order:
    """Choose k of the items, where one whole unit of value has the exponent `range_`."""
    step, items = ExponentialChoice(range_ * grid, 1 / grid), agents.resources
    return choose_each(step, agents.begin(), items=items, picks=k, perform=perform, label="public projects")


def greedy_shortfall(resources: int, k: int, rate: Fraction, beta: checks.Number) -> Fraction:
    """Return the units by which k greedy choices miss (1 - 1/e) OPT, exceeded with probability beta at most.

    Some item always adds a k-th of what is missing to OPT. If every choice is within g of the best, what is
    missing shrinks by 1 - 1/k and grows by g, k times: g k (1 - (1 - 1/k)^k) in the end.
    """
    each = Fraction(each_of(k, beta))
    worst = units_behind((resources - 1) * (1 - each) / each, rate)
    return worst * k * (1 - (1 - Fraction(1, k)) ** k)


def _tiny() -> Iterator[Tiny]:
    agent = AddRemove("agent")
    crowd = ((0,),) * 6
    wishes = [(0,), (1,), (0, 1), (2,), (0, 1, 2)]
    crowded = [((*crowd, wish), crowd) for wish in wishes]
    pure = PublicProjects(resources=3, k=2, epsilon=4, delta=0, neighbours=agent)
    yield Tiny(pure, [*agent.pairs(wishes, 2), *crowded])
    approximate = PublicProjects(resources=4, k=3, epsilon=1, delta=0.01, neighbours=agent)
    yield Tiny(approximate, list(agent.pairs(wishes, 2)), tight=False)
    printed = PublicProjects(resources=3, k=2, epsilon=4, delta=0.1, neighbours=agent, calibration="thesis")
    yield Tiny(printed, list(agent.pairs(wishes, 2)), tight=False)


def _example() -> tuple[PublicProjects, Any]:
    wishes = np.array([[(7 * agent + 3 * item) % 11 < 2 for item in range(12)] for agent in range(300)])
    return PublicProjects(resources=12, k=3, epsilon=1, delta=1e-6, neighbours=AddRemove("agent")), wishes


CARD = Card(
    title="Public projects: k items for many agents",
    theorem="(epsilon, delta)-differential privacy, exact; value at least (1 - 1/e) OPT - error(beta)",
    reference="[Roth10] Theorems 63 and 64, with our own loss",
    example=_example,
    tiny=_tiny,
)
