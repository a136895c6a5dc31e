"""The tree counter: sums of blocks, each with noise of its own, added up to every prefix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.noise import AddNoise
from discreet.streams.blocks import (
    MOST_BRANCHING,
    BlockCounter,
    count_levels,
    sum_quotients,
    tally,
)
from discreet.streams.conversation import CounterRun
from discreet.streams.counters.consistent_tree import ConsistentRun, bound_laws, find_law, share_of
from discreet.streams.elements import RealElements, WholeElements
from discreet.streams.noise_sums import ErrorLaw, NoiseSum, noise_variance
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap, Which


@frozen
class TreeCounter(BlockCounter):
    """Publish the number of events so far at every step, from noisy counts of blocks.

    Privacy: (epsilon, delta) for all answers together. [DR14] Figure 12.1.
    Accuracy: error(beta) over all steps, error(beta, step=t) at one; variance(t) is the sum of the digits of
    t, to the base of `branching`, times that of one noise; or a little more than half of that.
    Time: O(1) a step, O(log horizon) where it is consistent; O(log horizon) numbers are kept.

    Parameters
    ----------
    branching
        How many blocks make one of the next size: 2 as in the figure; `choose_branching` knows the best.
    consistent
        Whether every block is measured, also those that no answer needs, and a block is estimated from its
        own noisy sum and those of its parts together. It costs the same and errs less; `branching` is 2.

    The others are those of every `StreamCounter`.

    Examples
    --------
    >>> counter = TreeCounter(horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> counter.levels, counter.error(0.05, step=256)
    (9, 27.0)
    >>> with counter.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(7)]
    """

    branching: int = public(checks.integer, 2, MOST_BRANCHING, default=2)
    consistent: bool = public(checks.instance, bool, default=False)

    def _complete(self) -> None:
        BlockCounter._complete(self)  # noqa: SLF001 - its base
        if self.consistent and self.branching != 2:
            raise InvalidParameter(
                name="branching", rule="2 for consistent estimates", value=self.branching, hint="Leave it out"
            )

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one element is in, the largest not being the whole stream."""
        return count_levels(self.horizon, self.branching)

    @property
    def total_shift(self) -> int:
        """The L1 sensitivity of all blocks together, in units."""
        return self.levels * self.events * self.moved

    @property
    def square_shift(self) -> int:
        """The square of their L2 sensitivity: of k events at most min(k, b^j) are in a block of b^j steps."""
        k, levels = self.events, range(self.levels)
        shared: int = sum(k * min(k, self.branching**level) for level in levels)
        return self.moved**2 * shared

    def list_levels(self, step: int) -> list[int]:
        """Return the levels of the blocks that the answer of a step adds up."""
        found = []
        for level in range(self.levels - 1, -1, -1):
            blocks, step = divmod(step, self.branching**level)
            found += [level] * blocks
        return found

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        shares = [share_of(level) if self.consistent else Fraction(1) for level in range(self.levels)]
        blocks = [count_blocks(self.horizon, self.branching, level) for level in range(self.levels)]
        total = sum(map(mul, shares, blocks), start=Fraction(0))
        unit = self.elements.bounds.unit
        return up(up(Fraction(total, self.horizon)) * noise_variance(self.noise) * up(unit * unit))

    def _error_law(self, step: int) -> ErrorLaw:
        levels = self.list_levels(step)
        return find_law(self.noise, levels) if self.consistent else NoiseSum(self.noise, len(levels))

    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        counts, noise = tally(self.horizon, self.branching, self.levels, lambda _: 1), self.noise
        if self.consistent:
            return bound_laws(noise, counts, self.levels)
        return [(count, NoiseSum(noise, times)) for times, count in sorted(counts.items())]

    def _start(self) -> CounterRun:
        noise, norm = self.noise, 1 if self.delta == 0 else 2
        many = self.total_shift if norm == 1 else math.isqrt(self.square_shift - 1) + 1
        one, all_ = (AddNoise(noise, Fraction(shift), norm) for shift in (self.moved * self.events, many))
        if self.consistent:
            return ConsistentRun(self.levels, one, all_, self.horizon * self.elements.largest)
        return TreeRun(self.levels, self.branching, one, all_)


class TreeRun(CounterRun):
    """Sums up to the ends of the blocks that the next answers are made of, one block a level.

    At step t the block ends that counts: as long as the highest power of `branching` that divides t. Where it
    began, an answer was given; the new one is that answer and the noisy sum of the block.
    """

    def __init__(self, levels: int, branching: int, one: AddNoise, many: AddNoise) -> None:
        self._one, self._many = one, many
        self._sizes = [branching**level for level in range(levels)]
        self._branching = branching
        self._total = 0
        self._exact = [0] * levels
        self._noisy = [0] * levels

    def step(self, units: int, rng: Rng) -> int:
        """Take one element: one block ends, and one noise is drawn."""
        now = self.taken + 1
        level = self._find_level(now)
        self._total += units
        exact, noisy = self._at(now - self._sizes[level])
        answer = noisy + int(rng.perform(self._one, self._total - exact))
        self._exact[level], self._noisy[level] = self._total, answer
        self.taken = now
        return answer

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many: one noise for each, drawn together; then answers level by level, from the top."""
        if not units.size:
            return units
        first = self.taken + 1
        sums = np.cumsum(units) + self._total
        blocks, ending = sums.copy(), list(self._list_ending(first, units.size))
        for _, place, stride, start in ending:
            if start < 0:  # it began before these elements came
                blocks[place] -= self._at(first + start)[0]
            later = blocks[place + stride if start < 0 else place :: stride]
            later -= sums[start + stride if start < 0 else start :: stride][: later.size]
        answers = np.asarray(rng.perform(self._many, blocks), dtype=np.int64)
        for _, place, stride, start in ending:
            if start < 0:
                answers[place] += self._at(first + start)[1]
            later = answers[place + stride if start < 0 else place :: stride]
            later += answers[start + stride if start < 0 else start :: stride][: later.size]
        latest: dict[int, int] = {}
        for level, place, stride, _ in ending:
            last = place + (units.size - 1 - place) // stride * stride
            latest[level] = max(last, latest.get(level, 0))
        for level, last in latest.items():
            self._exact[level], self._noisy[level] = int(sums[last]), int(answers[last])
        self._total, self.taken = int(sums[-1]), self.taken + units.size
        return answers

    def _list_ending(self, first: int, size: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield which of `size` steps end a block that counts: from the top, by the order of their digits.

        That is: the level, the first such step, the distance to the next, and the step after which the first
        block began, all counted from the first of the steps. Of the largest blocks one ends the whole stream.
        """
        top = len(self._sizes) - 1
        for level in range(top, -1, -1):
            length = self._sizes[level]
            stride = length * self._branching
            for digit in range(1, self._branching + (level == top)):
                place = (digit * length - first) % stride
                if place < size:
                    yield level, place, stride, place - length

    def _find_level(self, step: int) -> int:
        level, top = 0, len(self._sizes) - 1
        while level < top and step % self._sizes[level + 1] == 0:
            level += 1
        return level

    def _at(self, step: int) -> tuple[int, int]:
        """Return the exact and the noisy sum at an earlier step where a block ended that still counts."""
        if not step:
            return 0, 0
        level = self._find_level(step)
        return self._exact[level], self._noisy[level]

    def write(self) -> dict[str, Any]:
        """Return the sums."""
        return {"total": self._total, "exact": list(self._exact), "noisy": list(self._noisy)}

    def read(self, written: dict[str, Any]) -> None:
        """Take on sums that were written."""
        self._total = written["total"]
        self._exact, self._noisy = list(written["exact"]), list(written["noisy"])


def count_blocks(horizon: int, branching: int, level: int) -> int:
    """Return how many blocks of a level the answers of all steps add up."""
    length: int = branching**level
    around: int = length * branching
    if level == count_levels(horizon, branching) - 1:  # as many as there are
        around = horizon + 1
    rounds, rest = divmod(horizon + 1, around)
    return rounds * sum_quotients(around, length) + sum_quotients(rest, length)


@lru_cache(maxsize=256)
def choose_branching(horizon: int, *, pure: bool) -> int:
    """Return the branching with the smallest mean variance of all answers where one event is hidden.

    With h levels the variance of a noise is in proportion to h squared, or h where it is Gaussian.
    """

    def cost(branching: int) -> int:
        levels = count_levels(horizon, branching)
        blocks = sum(count_blocks(horizon, branching, level) for level in range(levels))
        return blocks * (levels * levels if pure else levels)

    return min(range(2, MOST_BRANCHING + 1), key=cost)


def _tiny() -> Iterator[Tiny]:
    bits = (0, 1)
    two = TreeCounter(horizon=2, epsilon=4, delta=0, neighbours=Event())
    yield Tiny(two, list(Event().pairs(bits, 2)), script=push_all(2))
    three = TreeCounter(horizon=3, epsilon=16, delta=0, neighbours=Event())
    yield Tiny(three, list(Event().pairs(bits, 3))[::9], script=push_all(3))
    yield Tiny(three, list(Event().pairs(bits, 3))[:1], script=push_all(3, at_once=True))
    real = RealElements(lower=Fraction(-1, 2), upper=Fraction(1), grid=Fraction(1, 2))
    present = TreeCounter(horizon=2, epsilon=16, delta=0, neighbours=EventPresence(), elements=real)
    yield Tiny(present, list(EventPresence().pairs((-0.6, 0.3, 7), 2)), script=push_all(2))
    users = TreeCounter(
        horizon=2,
        epsilon=16,
        delta=0,
        neighbours=UserEvents(),
        elements=WholeElements(1),
        cap=UserCap(2, Which.FIRST),
    )
    loud = [("a", 1), ("a", 1)], [None] * 2
    mixed = [("b", 1), ("a", 1)], [("b", 1), None]
    yield Tiny(users, [loud, loud[::-1], mixed, mixed[::-1]], script=push_all(2))
    gaussian = TreeCounter(horizon=2, epsilon=4, delta=Fraction(1, 100), neighbours=Event())
    yield Tiny(gaussian, list(Event().pairs(bits, 2)), script=push_all(2))
    wide = TreeCounter(horizon=3, epsilon=8, delta=0, neighbours=Event(), branching=3)
    yield Tiny(wide, list(Event().pairs(bits, 3))[::9], script=push_all(3))
    # Consistent answers hold many noises; tests/exact/streams/test_counters.py counts what blocks move by.


CARD = Card(
    title="Tree counter: a count that is published at every step",
    theorem="(epsilon, delta)-differential privacy of all answers; noise of at most log2 T blocks in each",
    reference="[DR14] Figure 12.1 and section 12.3",
    example=lambda: (
        TreeCounter(horizon=1000, epsilon=1, delta=0, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
