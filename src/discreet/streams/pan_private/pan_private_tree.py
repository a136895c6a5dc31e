"""The pan-private tree: a tree counter whose blocks begin with noise, and get noise again when they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.losses.noise import DiscreteLaplaceLoss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.laplace import laplace_scale
from discreet.noise import AddNoise, DiscreteGaussian, DiscreteLaplace, Noise
from discreet.streams.conversation import CounterRun
from discreet.streams.noise_sums import NoiseSum
from discreet.streams.pan_private.looks import look_once
from discreet.streams.pan_private.pan_private_conversation import SeizableCounter, SeizableRun

MOST_BRANCHING = 64
"""Answers add up one block fewer than this a level, at most: more branches only add noise."""


def _read_branching(**named: object) -> int:
    number = checks.integer(2, **named)
    if number > MOST_BRANCHING:
        raise InvalidParameter(name="branching", rule=f"at most {MOST_BRANCHING}", value=number)
    return number


@frozen
class PanPrivateTree(SeizableCounter):
    """Publish the number of events so far at every step, from blocks that are noisy from their first moment.

    Privacy: (epsilon, delta) for all answers and everything kept in memory at one moment between two steps,
    or at several with a refresh between them, together. [DR14] Section 12.3.1 says that Figure 12.1 is
    easily modified to be so.
    Accuracy: error(beta) over all steps, error(beta, step=t) at one; variance(t) is that of one noise times
    the digits of t, added up, those above the last one twice.
    Time: O(1) a step on average; two numbers a level are kept.

    Its parameters are those of every `SeizableCounter`, and `branching`. Users are refused: who was counted
    how often would have to be kept, and an intruder reads it.

    Parameters
    ----------
    branching
        How many blocks make up one of the next size: the tree that is repaired.

    Examples
    --------
    >>> counter = PanPrivateTree(horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> counter.levels, counter.error(0.05, step=256)
    (9, 37.0)
    """

    branching: int = public(_read_branching, default=2)

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one step is in, the largest not being the whole stream."""
        levels, reach = 1, self.branching
        while reach < self.horizon:
            levels, reach = levels + 1, reach * self.branching
        return levels

    @property
    def total_shift(self) -> int:
        """The L1 sensitivity of all answers and the state together, in units: of each level one noise.

        Where the look came before the event, it saw the first noises of the blocks that were open, and the
        last ones hide the event; else the first ones do.
        """
        return self.levels * self.moved

    @property
    def square_shift(self) -> int:
        """The square of their L2 sensitivity."""
        return self.levels * self.moved**2

    @property
    def noise(self) -> Noise:
        """The noise at the beginning of a block, and that at its end, in units."""
        if self.delta == 0:
            return DiscreteLaplace(laplace_scale(self.total_shift, self.epsilon))
        return DiscreteGaussian(analytic_variance(Fraction(self.square_shift), self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """The cost of all answers and of all covered looks at the state."""
        noise = self.noise
        if isinstance(noise, DiscreteGaussian):
            return discrete_loss(Fraction(self.square_shift), noise.variance)
        return DiscreteLaplaceLoss(self.total_shift, noise.scale)  # type: ignore[attr-defined]

    def count_noises(self, step: int) -> int:
        """Return how many noises the answer of a step adds up, at most: a refresh may add one a level."""
        found = (self.looks - 1) * (self.levels - 1)
        for level in range(self.levels - 1, -1, -1):
            blocks, step = divmod(step, self.branching**level)
            found += blocks * (1 if level == 0 else 2)
        return found

    def _error_law(self, step: int) -> NoiseSum:
        return NoiseSum(self.noise, self.count_noises(step))

    def _error_laws(self) -> Iterable[tuple[int, NoiseSum]]:
        noise = self.noise
        return [(count, NoiseSum(noise, times)) for times, count in sorted(self._tally().items()) if count]

    def _tally(self) -> Counter[int]:
        """Return how many steps add up how many noises: digit by digit, from the top."""
        below: list[Counter[int]] = [Counter({0: 1})]  # of all numbers with so many digits
        for level in range(self.levels - 1):
            each = 1 if level == 0 else 2
            more: Counter[int] = Counter()
            for digit in range(self.branching):
                more.update({noises + digit * each: count for noises, count in below[-1].items()})
            below.append(more)
        found, above, left = Counter({0: -1}), 0, self.horizon  # step 0 is none
        for level in range(self.levels - 1, -1, -1):
            each = 1 if level == 0 else 2
            digits, left = divmod(left, self.branching**level)
            for digit in range(digits):
                found.update({above + digit * each + n: count for n, count in below[level].items()})
            above += digits * each
        found[above] += 1
        seen = (self.looks - 1) * (self.levels - 1)
        return Counter({noises + seen: count for noises, count in found.items() if count})

    def _start(self) -> CounterRun:
        return PanPrivateTreeRun(self)


class PanPrivateTreeRun(SeizableRun):
    """For every level the open block, which began with noise, and the sum of those that were published."""

    def __init__(self, counter: PanPrivateTree) -> None:
        self._sizes = [counter.branching**level for level in range(counter.levels)]
        self._horizon = counter.horizon
        self._draw = AddNoise(counter.noise, Fraction(counter.moved), 1 if counter.delta == 0 else 2)
        self._open = np.zeros(counter.levels, dtype=np.int64)
        self._published = np.zeros(counter.levels, dtype=np.int64)

    def step(self, units: int, rng: Rng) -> int:
        """Take one element: blocks begin, and the largest one that ends is published."""
        now, place = self.taken + 1, self.taken
        for level, size in enumerate(self._sizes):
            if place % size == 0:  # a block of one step is never open between two steps
                self._open[level] = rng.perform(self._draw, 0) if level else 0
            self._open[level] += units
        ended = max(level for level, size in enumerate(self._sizes) if now % size == 0)
        self._published[ended] += rng.perform(self._draw, int(self._open[ended]))
        self._published[:ended] = 0
        self._open[: ended + 1 if now < self._horizon else None] = 0
        self.taken = now
        return int(self._published.sum())

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many, one after the other."""
        return np.array([self.step(int(unit), rng) for unit in units], dtype=np.int64)

    def refresh(self, rng: Rng) -> None:
        """Add noise to every block that is open."""
        for level, size in enumerate(self._sizes):
            if self.taken % size and self.taken < self._horizon:
                self._open[level] = rng.perform(self._draw, int(self._open[level]))

    def write(self) -> dict[str, Any]:
        """Return what is kept: noisy sums of open blocks, and sums of what was published."""
        return {"open": self._open.tolist(), "published": self._published.tolist()}

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was kept."""
        self._open[:], self._published[:] = written["open"], written["published"]


def _tiny() -> Iterator[Tiny]:
    one = PanPrivateTree(horizon=1, epsilon=6, delta=0, neighbours=Event())
    yield Tiny(one, [((0,), (1,))], look_once(1, 1), stepwise=False)
    two = PanPrivateTree(horizon=2, epsilon=6, delta=0, neighbours=EventPresence())
    yield Tiny(two, [((None, 1), (1, 1)), ((1, 1), (1, None))], look_once(2, 1), stepwise=False)
    # Longer streams have too many paths; tests/exact/test_pan_private.py has all of them up to eight steps.
    three = PanPrivateTree(horizon=3, epsilon=60, delta=0, neighbours=Event())
    yield Tiny(three, [((0, 0, 0), (0, 1, 0))], look_once(3, 1), tight=False, stepwise=False)
    gaussian = PanPrivateTree(horizon=2, epsilon=6, delta=Fraction(1, 100), neighbours=Event())
    yield Tiny(gaussian, [((0, 0), (0, 1))], look_once(2, 1, at_once=True), stepwise=False)


CARD = Card(
    title="Pan-private tree: a tree counter of any branching, repaired so that its memory may be seized",
    theorem="(epsilon, delta)-differential privacy of all answers and the state at one moment, together",
    reference="[DR14] section 12.3.1, Figure 12.1 modified",
    example=lambda: (
        PanPrivateTree(horizon=1000, epsilon=1, delta=0, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
