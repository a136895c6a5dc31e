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
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.noise import AddNoise
from discreet.streams.blocks import MOST_BRANCHING, count_levels, tally
from discreet.streams.conversation import CounterRun
from discreet.streams.noise_sums import NoiseSum
from discreet.streams.pan_private.looks import look_once
from discreet.streams.pan_private.pan_private_conversation import SeizableCounter, SeizableRun

Whole = NDArray[np.int64]


@frozen
class PanPrivateTree(SeizableCounter):
    """Publish the number of events so far at every step, from blocks that are noisy from their first moment.

    Privacy: (epsilon, delta) for all answers and everything kept in memory at one moment between two steps,
    or at several with a refresh between them, together. [DR14] Section 12.3.1 says that Figure 12.1 is
    easily modified to be so.
    Accuracy: error(beta) over all steps, error(beta, step=t) at one; variance(t) is that of one noise times
    the digits of t, added up, those above the last one twice.
    Time: O(1) a step on average, vectorised in `push_many`; two numbers a level are kept.

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

    branching: int = public(checks.integer, 2, MOST_BRANCHING, default=2)

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one step is in, the largest not being the whole stream."""
        return count_levels(self.horizon, self.branching)

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
        """Return how many steps add up how many noises: a block has two, but for those of one step."""
        seen = (self.looks - 1) * (self.levels - 1)
        found = tally(self.horizon, self.branching, self.levels, lambda level: 2 if level else 1)
        return Counter({noises + seen: count for noises, count in found.items()})

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
        """Take many, level by level: all noises of a level are drawn together."""
        if not units.size:
            return units
        now, end = self.taken, self.taken + units.size
        sums = np.concatenate([[0], np.cumsum(units)])
        times = np.arange(now + 1, end + 1)
        ended = sum((times % size == 0).astype(np.int64) for size in self._sizes) - 1  # the largest that ends
        answers = np.zeros(units.size, dtype=np.int64)
        for level in range(len(self._sizes)):
            added = self._take_blocks(level, now, sums, ended, rng)
            running = self._published[level] + np.cumsum(added)
            reset = np.maximum.accumulate(np.where(ended > level, np.arange(units.size), -1))
            running -= np.where(reset >= 0, running[reset], 0)  # a larger block has taken their place
            answers += running
            self._published[level] = running[-1]
        sums[:] = 0
        if end >= self._horizon:
            self._open[:] = 0
        self.taken = end
        return answers

    def _take_blocks(self, level: int, now: int, sums: Whole, ended: Whole, rng: Rng) -> Whole:
        """Begin and fill the blocks of a level; return what each step adds to those that are published."""
        size, end = self._sizes[level], now + ended.size
        blocks = np.arange(now // size, (end - 1) // size + 1)
        held = np.zeros(blocks.size, dtype=np.int64)
        begun = int(now % size != 0)
        held[:begun] = self._open[level]
        if level and blocks.size > begun:  # a block of one step is never open between two steps
            held[begun:] = rng.perform(self._draw, held[begun:])
        ends = np.minimum((blocks + 1) * size, end) - now
        held += sums[ends] - sums[np.maximum(blocks * size, now) - now]
        self._open[level] = held[-1] if end % size else 0
        last = ends[ended[ends - 1] == level] - 1
        added = np.zeros(ended.size, dtype=np.int64)
        if last.size:
            added[last] = rng.perform(self._draw, held[ended[ends - 1] == level])
        held[:] = 0
        return added

    def refresh(self, rng: Rng) -> None:
        """Add noise to every block that is open."""
        for level, size in enumerate(self._sizes):
            if self.taken % size and self.taken < self._horizon:
                self._open[level] = rng.perform(self._draw, int(self._open[level]))

    def erase(self) -> None:
        """Overwrite the sums."""
        self._open[:] = self._published[:] = 0

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
    # Longer streams have too many paths; tests/exact/streams/test_pan_private.py has all up to eight steps.
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
