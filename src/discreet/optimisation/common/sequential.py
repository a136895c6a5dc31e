"""Choices one after the other, under which a record that is served counts no more: loop, law and rates."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.progress import track
from discreet.core.rng import Primitive
from discreet.core.rounding import above, below, down, shorten_down
from discreet.noise.selection import ExponentialChoice

Order = tuple[int, ...]
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Law = Iterable[tuple[Outcome, Fraction]]
Perform = Callable[[Primitive[Any, Any], Any], Any]
"""How a random step is made: by the generator, or along a path of an enumeration."""


class ChoiceRounds(ABC):
    """The state between two choices."""

    @abstractmethod
    def gains(self) -> NDArray[np.int64]:
        """Return what every item would add, over all records, in units."""

    @abstractmethod
    def take(self, item: int) -> None:
        """Choose an item."""


def choose_each(
    step: ExponentialChoice, rounds: ChoiceRounds, *, items: int, picks: int, perform: Perform, label: str
) -> Order:
    """Choose some of the items one after the other, each among those that are left by what it would add."""
    left, chosen = np.arange(items), []
    for _ in track(range(picks), total=picks, label=label):
        place = perform(step, rounds.gains()[left])
        chosen.append(int(left[place]))
        left = np.delete(left, place)
        rounds.take(chosen[-1])
    return tuple(chosen)


def enumerate_runs(run: Callable[[Perform], Outcome]) -> Iterator[tuple[Outcome, Fraction]]:
    """Yield the outcome of every path of a run with its probability, for tiny instances."""
    path: list[tuple[list[tuple[Any, Fraction]], int]] = []
    while True:
        depth, chance = 0, Fraction(1)

        def perform(step: Primitive[Any, Any], given: Any) -> Any:
            nonlocal depth, chance
            if depth == len(path):
                path.append((list(step.law(given)), 0))
            law, chosen = path[depth]
            depth += 1
            outcome, probability = law[chosen]
            chance *= probability
            return outcome

        yield run(perform), chance
        while path and path[-1][1] + 1 == len(path[-1][0]):
            path.pop()
        if not path:
            return
        law, chosen = path.pop()
        path.append((law, chosen + 1))


def mix_samples(
    items: Iterable[Item], forgotten: Fraction, law: Callable[[tuple[Item, ...]], Law[Outcome]]
) -> Iterator[tuple[Outcome, Fraction]]:
    """Mix the laws on all samples of some items, each of which is forgotten with one probability."""
    listed = tuple(items)
    mixed: dict[Outcome, Fraction] = {}
    for count in range(len(listed) + 1):
        share = (1 - forgotten) ** count * forgotten ** (len(listed) - count)
        for sample in itertools.combinations(listed, count):
            for outcome, chance in law(sample):
                mixed[outcome] = mixed.get(outcome, Fraction(0)) + share * chance
    yield from mixed.items()


def thesis_rate(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return epsilon / (2 ln(e / delta)), rounded down: two to four times smaller than it need be."""
    log = above(math.log(delta.denominator) - math.log(delta.numerator), steps=8) + 1
    return shorten_down(epsilon / (2 * Fraction(log)), 9)


def sampled_rate(epsilon: Fraction) -> Fraction:
    """Return ln(1 + e^epsilon), rounded down: with it records that are kept with 1 - e^-epsilon cost epsilon.

    Adding a record makes an outcome at most e^-epsilon + (1 - e^-epsilon) e^rate = e^epsilon times as likely,
    and removing it at most e^epsilon times, for with probability e^-epsilon it was not looked at.
    """
    e = down(epsilon)
    return shorten_down(Fraction(below(e + below(math.log1p(below(math.exp(-e)))))), 12)
