"""The noise of a standing question: one vector, a number a period, drawn when its period is over.

The counts of periods are of different rows, so noise for each period costs what noise for one does. Counts of
all periods so far are not: a counter of streams answers these. Either way what is kept is public, and exact
counts are read again whenever a period is over.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.bounds import each_of
from discreet.core.loss import ApproxLoss, Loss
from discreet.core.losses.noise import DiscreteLaplaceLoss
from discreet.core.neighbours import Contribution
from discreet.core.rng import Rng
from discreet.curator.standing.standing_question import StandingQuestion
from discreet.mechanisms.laplace import laplace_step
from discreet.noise import AddNoise
from discreet.streams.conversation import StreamCounter
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.tree_counter import TreeCounter, choose_branching
from discreet.streams.elements import WholeElements
from discreet.streams.going_on import decode, fingerprint, go_on

MOST = 1 << 20
"""The most rows of one period that count in sums over periods: more are taken for so many."""

MOST_ROWS = 1 << 62
"""The most rows of one period that are counted at all: what noise is added to has 64 bits."""

_FINE = 128  # coarser than a counter's own, so that MOST rows a period fit in floats: 1 % more noise


class StandingNoise(ABC):
    """What a standing question is answered with. Public, and the same in every life."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What all answers cost together."""

    @abstractmethod
    def error(self, beta: float, *, step: int | None = None) -> float:
        """Return how far off an answer may be, but for probability beta: that of a period, or any of all."""

    @abstractmethod
    def measure(self, counts: NDArray[np.int64], numbers: Sequence[int], rng: Rng) -> list[int]:
        """Return the noisy numbers of all periods so far, of which the first are known."""

    @abstractmethod
    def decode(self, numbers: Sequence[int]) -> list[float]:
        """Return the answers, which follow from the noisy numbers alone."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """All that decides what noisy numbers mean."""


@dataclass(frozen=True, slots=True)
class PeriodNoise(StandingNoise):
    """Pure noise for the count of every period: a row is in one of them, so no other is as small.

    Attributes
    ----------
    periods
        How many there are.
    step
        The noise of one, and how it is added.
    """

    periods: int
    step: AddNoise

    @classmethod
    def of(cls, question: StandingQuestion, pair: ApproxLoss) -> PeriodNoise:
        """Choose the noise that keeps a budget; delta is left unused."""
        return cls(len(question.periods), laplace_step(question.sensitivity.l1, pair.value))

    @property
    def loss(self) -> Loss:
        """What all answers cost together."""
        scale: Fraction = self.step.noise.scale  # type: ignore[attr-defined]
        return DiscreteLaplaceLoss(int(self.step.sensitivity), scale)

    def error(self, beta: float, *, step: int | None = None) -> float:
        """Return how far off a count may be."""
        return float(
            self.step.noise.reach(beta if step is not None else each_of(self.periods, Fraction(beta)))
        )

    def measure(self, counts: NDArray[np.int64], numbers: Sequence[int], rng: Rng) -> list[int]:
        """Draw noise for the periods that have none."""
        fresh = counts[len(numbers) :]
        drawn = np.ravel(np.asarray(rng.perform(self.step, fresh))).tolist() if fresh.size else []
        return [*numbers, *map(int, drawn)]

    def decode(self, numbers: Sequence[int]) -> list[float]:
        """Return the noisy counts."""
        return list(map(float, numbers))

    @property
    def digest(self) -> str:
        """The noise."""
        return _digest(repr((self.periods, self.step)))


@dataclass(frozen=True, slots=True)
class RunningNoise(StandingNoise):
    """A counter for the counts of all periods so far."""

    counter: StreamCounter

    @classmethod
    def of(cls, question: StandingQuestion, pair: ApproxLoss) -> RunningNoise:
        """Choose the counter that keeps a budget with the least typical error."""
        periods, moved = len(question.periods), question.sensitivity.l1
        public: dict[str, Any] = {
            "horizon": periods,
            "epsilon": pair.value,
            "neighbours": Contribution(moved),  # whatever periods it is spread over, it moves no sum further
            "elements": WholeElements(MOST),
        }
        # Counters whose every number is of elements that came: going on needs no noise that was drawn ahead.
        branchings = {2, choose_branching(periods, pure=True), choose_branching(periods, pure=False)}
        found: list[StreamCounter] = [
            TreeCounter(delta=mass, branching=branching, **public)
            for branching in branchings
            for mass in {Fraction(0), pair.mass}
        ]
        if pair.mass:
            fineness = math.ceil(_FINE * math.sqrt(periods) / moved)
            found.append(BufferedCounter(delta=pair.mass, fineness=fineness, **public))
        return cls(min(found, key=lambda each: each.mean_variance))

    @property
    def loss(self) -> Loss:
        """What all answers cost together."""
        return self.counter.loss

    def error(self, beta: float, *, step: int | None = None) -> float:
        """Return how far off a sum may be."""
        return self.counter.error(beta, step=step)

    def measure(self, counts: NDArray[np.int64], numbers: Sequence[int], rng: Rng) -> list[int]:
        """Let the counter take the periods that it has not taken."""
        return go_on(self.counter, counts, numbers, rng=rng)

    def decode(self, numbers: Sequence[int]) -> list[float]:
        """Return the counter's answers."""
        return decode(self.counter, numbers)

    @property
    def digest(self) -> str:
        """The counter, its noise and its coefficients."""
        return _digest(fingerprint(self.counter))


@dataclass(frozen=True, slots=True)
class PricedStanding:
    """A standing question with what it is answered with, and the pair that was offered for it."""

    question: StandingQuestion
    noise: StandingNoise
    pair: ApproxLoss

    @property
    def digest(self) -> str:
        """All that decides what its noisy numbers mean: under other dates a row would be in two of them."""
        asked = self.question
        return _digest(repr((self.noise.digest, asked.periods, asked.ends, asked.clock)))


def choose_noise(question: StandingQuestion, pair: ApproxLoss) -> StandingNoise:
    """Choose what a question is answered with, from public facts alone."""
    return RunningNoise.of(question, pair) if question.is_running else PeriodNoise.of(question, pair)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
