"""Greedy covers by exponential choices: one round after the other, and all of it on a secret sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.fixed import Integers
from discreet.core.progress import track
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import exp_fraction
from discreet.noise import coins
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.orders import UniformOrder
from discreet.optimisation.common.repeated_choices import (
    ChoiceRounds,
    Order,
    Perform,
    choose_each,
    enumerate_runs,
    mix_samples,
)
from discreet.optimisation.set_cover.systems import Present, SetSystem

GRID = 1 << 10
"""A weighted score is kept in units of 1 / GRID."""


class _Residual(ChoiceRounds):
    """How many elements that are present and uncovered every set has."""

    __slots__ = ("_open", "_sizes", "_system")

    def __init__(self, system: SetSystem, present: Present) -> None:
        self._system, self._open = system, present.copy()
        self._sizes = system.sizes(present)

    def gains(self) -> Integers:
        return self._sizes

    def take(self, item: int) -> None:
        """Cover the elements of a set."""
        members = self._system.members(item)
        fresh = members[self._open[members]]
        if fresh.size:
            self._open[fresh] = False
            self._sizes -= np.bincount(self._system.holders(fresh), minlength=self._sizes.size)


@dataclass(frozen=True, slots=True)
class Greedy:
    """Choose among the sets not yet put out, with probability ~ exp(rate * uncovered elements)."""

    system: SetSystem
    rate: Fraction

    def run(self, present: Present, perform: Perform) -> Order:
        """Choose until no set is left."""
        residual, step = _Residual(self.system, present), ExponentialChoice(self.rate, Fraction(1))
        sets = len(self.system.names)
        return choose_each(step, residual, items=sets, picks=sets, perform=perform, label="set cover")


@dataclass(frozen=True, slots=True)
class Halving:
    """Choose with probability ~ exp(rate * (uncovered elements - r cost)), or halve r.

    Halving has weight exp(-rate * patience). r falls from the number of elements to below 1 / (largest cost);
    then the other sets follow in random order.

    Attributes
    ----------
    rate
        The exponent of one unit, 1 / GRID of an element.
    offsets
        For every set, elements * cost in units, rounded down.
    patience
        The handicap of halving, in units.
    halvings
        How often r is halved.
    """

    system: SetSystem
    rate: Fraction
    offsets: tuple[int, ...]
    patience: int
    halvings: int

    def run(self, present: Present, perform: Perform) -> Order:
        """Choose or halve until r is small; halving is the last candidate."""
        residual, step = _Residual(self.system, present), ExponentialChoice(self.rate, Fraction(GRID))
        offsets = np.array(self.offsets, dtype=np.int64)
        left: Integers = np.arange(offsets.size)
        halved, order = 0, []
        going = iter(lambda: halved < self.halvings and left.size > 0, False)
        for _ in track(going, total=offsets.size + self.halvings, label="weighted set cover"):
            scores = residual.gains()[left] * GRID - (offsets[left] >> halved)
            place = perform(step, np.append(scores, -self.patience))
            if place == left.size:
                halved += 1
                continue
            order.append(int(left[place]))
            left = np.delete(left, place)
            residual.take(order[-1])
        tail = perform(UniformOrder(), left.size) if left.size > 1 else range(left.size)
        return (*order, *(int(left[place]) for place in tail))


GreedyPlan = Greedy | Halving
"""A greedy algorithm: public parameters, and a run on the elements that are present."""


@dataclass(frozen=True, slots=True)
class SampledRun(Primitive[Present, Order]):
    """Forget every element with probability exp(-epsilon), independently, and run a plan on the others."""

    plan: GreedyPlan
    epsilon: Fraction

    @property
    def sensitivity(self) -> Fraction:
        """One element."""
        return Fraction(1)

    def sample(self, value: Present, rng: Rng) -> Order:
        """Forget, then run."""
        kept = value.copy()
        here = np.flatnonzero(value)
        kept[here[coins.bernoulli_exp(self.epsilon, here.size, rng)]] = False
        return self.plan.run(kept, lambda step, given: step.sample(given, rng))

    def law(self, value: Present) -> Iterator[tuple[Order, Fraction]]:
        """Mix the laws of the plan over all samples."""

        def law(sample: tuple[int, ...]) -> Iterator[tuple[Order, Fraction]]:
            return run_law(self.plan, np.isin(np.arange(len(value)), sample))

        yield from mix_samples(np.flatnonzero(value).tolist(), exp_fraction(self.epsilon), law)

    def distance(self, value: Present, other: Present) -> Fraction:
        """Count the elements that are present on one side only."""
        return Fraction(int(np.sum(np.asarray(value) != np.asarray(other))))


def run_law(plan: GreedyPlan, present: Present) -> Iterator[tuple[Order, Fraction]]:
    """Yield the outcome of every path of a run with its probability, for tiny instances."""
    return enumerate_runs(partial(plan.run, present))
