"""Items chosen one after the other, when nobody can be satisfied twice: the loop, its law, and what it costs.

In every round item j is drawn with probability proportional to exp(rate score_j). One record adds to the
scores, and what it can still add, over all rounds to come, is at most one minus what the chosen items have
already given it. So it gets its one unit early and then falls silent, or its items keep not being chosen,
and either way the rounds tell little about it: far less than their number suggests.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from discreet.accounting.calibrate import largest
from discreet.core import checks
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.losses.base import check_order, short
from discreet.core.parameters import Exact, checked, public
from discreet.core.progress import track
from discreet.core.rng import Primitive
from discreet.core.rounding import above, below, down, shorten_down, up
from discreet.noise.selection import ExponentialChoice

_SLACK = 1e-13
_WIDEST = 300  # beyond, floats end before the formulas do

Order = tuple[int, ...]
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Law = Iterable[tuple[Outcome, Fraction]]
Perform = Callable[[Primitive[Any, Any], Any], Any]
"""How a random step is made: by the generator, or along a path of an enumeration."""


@checked
class SequentialLoss(Loss):
    """The exact worst case of `rounds` such choices, for adding or removing a record.

    With c = e^range, P for the data without the record and Q for the data with it, and for every real
    epsilon between -range and rounds * range, the largest divergence is ::

        sup P(E) - e^epsilon Q(E) = (c - M)^(rounds + 1) / (c (c - 1)^rounds),
        M = e^((epsilon + range) / (rounds + 1)).

    *Proof.* Write u = e^(range gain) for what a round gives the record, of mean M_i under P: the round
    multiplies Q / P by u / M_i, and the product of all u is at most c. By induction over the rounds, a
    record does worst when it gets all or nothing: the divergence that is left after a gain u lies below the
    chord between u = 1 and u = c. Then the most telling event is that the record got nothing in j rounds,
    whose value is the product of (1 - p_i) times (1 - e^epsilon / product of M_i), M_i = 1 + (c - 1) p_i.
    Given the product of the M_i, log(1 - p_i) being concave in log M_i, equal ones are worst; and the best
    common M has M^(rounds + 1) = c e^epsilon. One round gives the curve of a bounded range. The page of the
    public projects has the induction in full.

    Attributes
    ----------
    range_
        The exponent of one whole unit of score.
    rounds
        How many items are chosen.
    """

    range_: Exact = public(checks.positive)
    rounds: int = public(checks.integer, 1)

    @property
    def pure(self) -> Fraction:
        """The loss that is never exceeded."""
        return self.range_ * self.rounds

    def delta(self, epsilon: checks.Number) -> float:
        """Return the curve, for the worse of the two orders of the neighbours."""
        e = checks.non_negative(epsilon=epsilon)
        if e >= self.pure:
            return 0.0
        if self.range_ > _WIDEST:
            return 1.0
        with_record = 0.0
        if e < self.range_:
            # Q(E) - e^epsilon P(E) is the other order at the complement of E.
            factor = math.exp(up(e))
            gap = -math.expm1(down(e)) + factor * self._without(-e)
            with_record = max(0.0, gap) * (1 + _SLACK) + 1e-15 * factor
        return min(1.0, max(self._without(e), with_record))

    def _without(self, epsilon: Fraction) -> float:
        step, range_ = (epsilon + self.range_) / (self.rounds + 1), up(self.range_)
        # (c - M) / (c - 1) is one minus this, which is rounded down.
        gone = math.expm1(down(step)) / math.expm1(range_) * (1 - 4e-15)
        logarithm = (self.rounds + 1) * math.log1p(-gone) if gone < 1 else -math.inf
        return math.exp(logarithm) * -math.expm1(-range_) * (1 + _SLACK * (1 - max(logarithm, -800.0)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the pure epsilon at delta 0, else invert the curve."""
        return min(up(self.pure), Loss.epsilon(self, delta))

    def renyi(self, order: checks.Number) -> float:
        """Return the least of the rounds' own bounds and that of endless rounds.

        Endless rounds have the curve of two exponential times, of rates 1 and c, for every epsilon.
        """
        a, r = check_order(order), up(min(self.range_, Fraction(_WIDEST)))
        c = math.exp(r)
        left = 1 - (a - 1) * (c - 1)  # from here on the divergence is infinite
        bounds = [above(a * self.zcdp()), up(self.pure)]
        if left > 1e-6 and self.range_ <= _WIDEST:
            first, second = (1 - a) * r - math.log(left), a * r - math.log(a * c + 1 - a)
            bounds.append((max(first, second) + 1e-15 * (1 + a * c) * (2 + 1 / left)) / (a - 1))
        return max(0.0, min(bounds))

    def zcdp(self) -> float:
        """Return the sum over the rounds, each of bounded range."""
        return above(self.rounds * BoundedRangeLoss(self.range_).zcdp())

    def exact_epsilon(self) -> Fraction:
        """Return the pure loss."""
        return self.pure

    def __str__(self) -> str:
        return (
            f"epsilon {short(self.pure)} ({self.rounds} rounds of {short(self.range_)}, nobody counts twice)"
        )


@lru_cache(maxsize=256)
def sequential_range(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """Return the largest range, a hair less, of `rounds` choices that are (epsilon, delta) together."""
    if delta == 0:
        return epsilon / rounds
    return largest(lambda range_: SequentialLoss(range_, rounds).delta(epsilon) <= delta, digits=12)


class ChoiceRounds(ABC):
    """The state between two choices."""

    @abstractmethod
    def gains(self) -> Integers:
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
