"""The tree counter: sums of dyadic blocks, each with noise of its own, added up to every prefix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss
from discreet.core.losses.noise import DiscreteLaplaceLoss
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.laplace import laplace_scale
from discreet.noise import AddNoise, DiscreteGaussian, DiscreteLaplace, Noise
from discreet.streams.conversation import CounterRun, StreamCounter
from discreet.streams.counters.consistent_tree import ConsistentRun, bound_laws, find_law, share_of
from discreet.streams.elements import RealElements, WholeElements
from discreet.streams.noise_sums import ErrorLaw, NoiseSum, noise_variance
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap, Which


@frozen
class TreeCounter(StreamCounter):
    """Publish the number of events so far at every step, from noisy counts of dyadic blocks.

    Privacy: (epsilon, delta) for all answers together. [DR14] Figure 12.1.
    Accuracy: error(beta) over all steps, error(beta, step=t) at one; variance(t) is the number of ones in
    the binary digits of t, times that of one noise; or a little more than half of that.
    Time: O(1) a step, O(log horizon) where it is consistent; O(log horizon) numbers are kept.

    Parameters
    ----------
    consistent
        Whether every block is measured, also those that no answer needs, and a block is estimated from its
        own noisy sum and those of its parts together. It costs the same and errs less.

    The others are those of every `StreamCounter`.

    Examples
    --------
    >>> counter = TreeCounter(horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> counter.levels, counter.error(0.05, step=256)
    (9, 27.0)
    >>> with counter.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(7)]
    """

    consistent: bool = public(checks.instance, bool, default=False)

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one element is in, the largest not being the whole stream."""
        return max(1, (self.horizon - 1).bit_length())

    @property
    def total_shift(self) -> int:
        """The L1 sensitivity of all blocks together, in units."""
        return self.levels * self.events * self.moved

    @property
    def square_shift(self) -> int:
        """The square of their L2 sensitivity: k events put at most min(k, 2^j) into a block of level j."""
        k = self.events
        return self.moved**2 * sum(k * min(k, 1 << level) for level in range(self.levels))

    @property
    def noise(self) -> Noise:
        """The noise of one block, in units."""
        if self.delta == 0:
            return DiscreteLaplace(laplace_scale(self.total_shift, self.epsilon))
        return DiscreteGaussian(analytic_variance(Fraction(self.square_shift), self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """The cost of all answers: of noise on every block that neighbours differ in."""
        noise = self.noise
        if isinstance(noise, DiscreteGaussian):
            return discrete_loss(Fraction(self.square_shift), noise.variance)
        return DiscreteLaplaceLoss(self.total_shift, noise.scale)  # type: ignore[attr-defined]

    def count_blocks(self, step: int) -> int:
        """Return how many blocks the answer of a step adds up."""
        return 2 if step == 1 << self.levels else step.bit_count()

    def list_levels(self, step: int) -> list[int]:
        """Return the levels of the blocks that the answer of a step adds up."""
        top = self.levels - 1
        if step == 2 << top:
            return [top, top]
        return [level for level in range(self.levels) if step >> level & 1]

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        shares = [share_of(level) if self.consistent else Fraction(1) for level in range(self.levels)]
        total = Fraction(0)
        for level, share in enumerate(shares):
            rounds, rest = divmod(self.horizon + 1, 2 << level)  # how many steps have a one there
            total += ((rounds << level) + max(0, rest - (1 << level))) * share
        if self.horizon == 1 << self.levels:  # the last answer adds up two halves
            total += 2 * shares[-1]
        unit = self.elements.bounds.unit
        return up(up(total / self.horizon) * noise_variance(self.noise) * up(unit * unit))

    def _error_law(self, step: int) -> ErrorLaw:
        if self.consistent:
            return find_law(self.noise, self.list_levels(step))
        return NoiseSum(self.noise, self.count_blocks(step))

    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        ones, noise = count_ones(self.horizon), self.noise
        if self.horizon == 1 << self.levels:  # the last answer adds up two halves
            ones.update({2: 1, 1: -1})
        counts = Counter({times: count for times, count in sorted(ones.items()) if count})
        if self.consistent:
            return bound_laws(noise, counts, self.levels)
        return [(count, NoiseSum(noise, times)) for times, count in counts.items()]

    def _start(self) -> CounterRun:
        noise, norm = self.noise, 1 if self.delta == 0 else 2
        many = self.total_shift if norm == 1 else math.isqrt(self.square_shift - 1) + 1
        one, all_ = (AddNoise(noise, Fraction(shift), norm) for shift in (self.moved * self.events, many))
        if self.consistent:
            return ConsistentRun(self.levels, one, all_, self.horizon * self.elements.largest)
        return TreeRun(self.levels, one, all_)


class TreeRun(CounterRun):
    """Sums up to the ends of the blocks that the next answers are made of, one block a level.

    At step t the block ends that counts: as long as the lowest digit of t that is one. Where it began, an
    answer was given; the new one is that answer and the noisy sum of the block.
    """

    def __init__(self, levels: int, one: AddNoise, many: AddNoise) -> None:
        self._one, self._many, self._top = one, many, levels - 1
        self._total = 0
        self._exact = [0] * levels
        self._noisy = [0] * levels

    def step(self, units: int, rng: Rng) -> int:
        """Take one element: one block ends, and one noise is drawn."""
        now = self.taken + 1
        level = min((now & -now).bit_length() - 1, self._top)
        self._total += units
        exact, noisy = self._at(now - (1 << level))
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
        for level, place, stride, _ in ending:
            last = place + (units.size - 1 - place) // stride * stride
            self._exact[level], self._noisy[level] = int(sums[last]), int(answers[last])
        self._total, self.taken = int(sums[-1]), self.taken + units.size
        return answers

    def _list_ending(self, first: int, size: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield for every level, from the top, which of `size` steps end a block that counts.

        That is: the level, the first such step, the distance to the next, and the step after which the first
        block began, all counted from the first of the steps.
        """
        for level in range(self._top, -1, -1):
            length = 1 << level
            stride = length if level == self._top else 2 * length
            place = (length - first) % stride
            if place < size:
                yield level, place, stride, place - length

    def _at(self, step: int) -> tuple[int, int]:
        """Return the exact and the noisy sum at an earlier step where a block ended that still counts."""
        if not step:
            return 0, 0
        level = (step & -step).bit_length() - 1
        return self._exact[level], self._noisy[level]

    def write(self) -> dict[str, Any]:
        """Return the sums."""
        return {"total": self._total, "exact": list(self._exact), "noisy": list(self._noisy)}

    def read(self, written: dict[str, Any]) -> None:
        """Take on sums that were written."""
        self._total = written["total"]
        self._exact, self._noisy = list(written["exact"]), list(written["noisy"])


def count_ones(last: int) -> Counter[int]:
    """Return how many of the numbers from 1 to `last` have how many binary digits that are one."""
    found: Counter[int] = Counter()
    above = 0  # ones of `last` to the left of the digit that is looked at
    for place in range(last.bit_length() - 1, -1, -1):
        if last >> place & 1:  # numbers that agree so far and have a zero here
            found.update({above + ones: math.comb(place, ones) for ones in range(place + 1)})
            above += 1
    found[above] += 1
    found[0] -= 1
    return found


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
    # Consistent answers hold many noises; tests/exact/test_streams.py counts what their blocks move by.


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
