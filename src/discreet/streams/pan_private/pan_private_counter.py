"""The pan-private counter: a noisy total, and noises of blocks of time that are forgotten when they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.card import Card, Tiny
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.noise import AddNoise
from discreet.streams.blocks import count_levels
from discreet.streams.conversation import CounterRun
from discreet.streams.elements import RealElements
from discreet.streams.noise_sums import NoiseSum
from discreet.streams.pan_private.looks import look_once
from discreet.streams.pan_private.pan_private_conversation import SeizableCounter, SeizableRun


@frozen
class PanPrivateCounter(SeizableCounter):
    """Publish the number of events so far at every step, and keep nothing that gives an event away.

    Privacy: (epsilon, delta) for all answers and everything kept in memory at one moment between two steps,
    or at several with a refresh between them, together. [DR14] Theorem 12.5.
    Accuracy: error(beta) over all steps, error(beta, step=t) at one; variance is the same at every step.
    Time: O(1) a step on average; 1 + log2 horizon numbers are kept.

    Its parameters are those of every `SeizableCounter`. Users are refused: who was counted how often would
    have to be kept, and an intruder reads it.

    Examples
    --------
    >>> counter = PanPrivateCounter(horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> counter.levels, counter.error(0.05, step=256)
    (9, 80.0)
    >>> with counter.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(7)]
    """

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one step is in, the largest not being the whole stream."""
        return count_levels(self.horizon)

    @property
    def noises_moved(self) -> int:
        """How many noises have to be others for a neighbour to look the same, at most.

        The first one, and those of the blocks that make up the steps before the event; or, where the look
        inside came before the event, those of the blocks that make up the rest. Of numbers below the horizon
        none has more binary digits that are one than log2 horizon, rounded down. A refresh cuts one of these
        blocks in two.
        """
        return self.horizon.bit_length() if self.looks == 1 else self.levels + 1

    @property
    def total_shift(self) -> int:
        """The L1 sensitivity of all answers and the state together, in units."""
        return self.noises_moved * self.moved

    @property
    def square_shift(self) -> int:
        """The square of their L2 sensitivity."""
        return self.noises_moved * self.moved**2

    def _error_law(self, step: int) -> NoiseSum:
        del step  # every answer holds the noise of the total, that of each refresh, and one of every level
        return NoiseSum(self.noise, self.levels + self.looks)

    def _error_laws(self) -> Iterable[tuple[int, NoiseSum]]:
        return [(self.horizon, self._error_law(1))]

    def _start(self) -> CounterRun:
        return PanPrivateRun(self)


class PanPrivateRun(SeizableRun):
    """The noisy total, and one noise a level: that of the block which is open.

    Noise is drawn when its block begins and overwritten when it ends, so that no noise to come and none that
    is gone is ever here. The place where it stood is overwritten; what a step held in passing is the
    interpreter's.
    """

    def __init__(self, counter: PanPrivateCounter) -> None:
        self._levels, self._horizon = counter.levels, counter.horizon
        self._draw = AddNoise(counter.noise, Fraction(counter.moved), 1 if counter.delta == 0 else 2)
        self._kept = np.zeros(1 + self._levels, dtype=np.int64)

    def step(self, units: int, rng: Rng) -> int:
        """Take one element: blocks begin, an answer is given, blocks end."""
        now, kept = self.taken, self._kept
        if not now:
            kept[0] = rng.perform(self._draw, 0)
        kept[0] += units
        for level in range(self._count_edges(now)):
            kept[1 + level] = rng.perform(self._draw, 0)
        answer = int(kept.sum())
        self._end(now + 1)
        return answer

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many: all noises of a level are drawn together."""
        if not units.size:
            return units
        now, kept = self.taken, self._kept
        if not now:
            kept[0] = rng.perform(self._draw, 0)
        answers: NDArray[np.int64] = np.cumsum(units) + kept[0]
        kept[0] = answers[-1]
        places = np.arange(now, now + units.size)
        for level in range(self._levels):
            blocks = (places >> level) - (now >> level)
            begun = now & ((1 << level) - 1) != 0
            noises = np.empty(int(blocks[-1]) + 1, dtype=np.int64)
            noises[0] = kept[1 + level]
            if noises.size > begun:
                noises[begun:] = rng.perform(self._draw, np.zeros(noises.size - begun, dtype=np.int64))
            answers += noises[blocks]
            kept[1 + level] = noises[-1]
            noises[:] = 0
        self._end(now + units.size)
        return answers

    def refresh(self, rng: Rng) -> None:
        """Begin again from the noisy total: it gets noise once more, and open blocks get other noises.

        What comes is then as it was at the first step: of blocks that are open, the rest.
        """
        now, kept = self.taken, self._kept
        if not now or now >= self._horizon:
            return  # nothing is here yet, or nothing changes any more
        kept[0] += int(rng.perform(self._draw, 0))
        for level in range(self._levels):
            if now & ((1 << level) - 1):
                kept[1 + level] = rng.perform(self._draw, 0)

    def _count_edges(self, place: int) -> int:
        """Return how many levels have a block that begins at a step, and one that ends before it."""
        return min(self._levels, (place & -place).bit_length()) if place else self._levels

    def _end(self, taken: int) -> None:
        """Forget the noises of blocks that have ended; at the horizon, all of them."""
        ended = self._levels if taken >= self._horizon else self._count_edges(taken)
        self._kept[1 : 1 + ended] = 0
        self.taken = taken

    def erase(self) -> None:
        """Overwrite the total and the noises."""
        self._kept[:] = 0

    def write(self) -> dict[str, Any]:
        """Return what is kept: the noisy total, and the noises of the blocks that are open."""
        return {"kept": self._kept.tolist()}

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was kept."""
        self._kept[:] = written["kept"]


def _tiny() -> Iterator[Tiny]:
    one = PanPrivateCounter(horizon=1, epsilon=6, delta=0, neighbours=Event())
    for at in range(2):
        yield Tiny(one, [((0,), (1,))], look_once(1, at), stepwise=False)
    two = PanPrivateCounter(horizon=2, epsilon=20, delta=0, neighbours=Event())
    # Longer streams have too many paths; tests/exact/streams/test_pan_private.py has all up to eight steps.
    yield Tiny(two, [((0, 0), (0, 1))], look_once(2, 1), tight=False, stepwise=False)
    real = RealElements(lower=Fraction(-1, 2), upper=Fraction(1), grid=Fraction(1, 2))
    present = PanPrivateCounter(horizon=1, epsilon=6, delta=0, neighbours=EventPresence(), elements=real)
    yield Tiny(present, [((None,), (7,)), ((-0.6,), (None,))], look_once(1, 1), stepwise=False)
    gaussian = PanPrivateCounter(horizon=1, epsilon=6, delta=Fraction(1, 100), neighbours=Event())
    yield Tiny(gaussian, [((0,), (1,))], look_once(1, 1, at_once=True), stepwise=False)


CARD = Card(
    title="Pan-private counter: a count at every step, and a memory that may be seized",
    theorem="(epsilon, delta)-differential privacy of all answers and the state at one moment, together",
    reference="[DR14] Theorem 12.5, Figure 12.2",
    example=lambda: (
        PanPrivateCounter(horizon=1000, epsilon=1, delta=0, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
