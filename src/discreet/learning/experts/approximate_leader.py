"""Follow the approximate leader: the expert with the smallest noisy sum of losses, kept by a tree of blocks.

Sums come from a tree counter of vectors, so what is named is computed from what the tree may publish. Every
answer carries as many noises as the tree has levels: where no block is, one that was drawn at the start
stands in. So the noise of all rounds has one law, and follows the leader of perturbed losses; its law, and
the regret, do not depend on the round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import Loss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_up
from discreet.learning.experts.conversation import ExpertsForRounds, Follower
from discreet.learning.experts.losses import Losses
from discreet.learning.experts.tiny import name_all
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.noise import AddNoise, DiscreteGaussian
from discreet.noise.selection import ExponentialChoice


@frozen
class ApproximateLeader(ExpertsForRounds):
    """Name at each round the expert whose noisy sum of losses is the smallest.

    Privacy: (epsilon, delta) for all names together, and for all noisy sums; losses may depend on earlier
    names.
    Accuracy: `regret` in expectation, for losses that do not depend on names.
    Time: O(experts) a round and one noise for each expert.

    Its parameters are those of every `ExpertsForRounds`; delta must be positive.

    Examples
    --------
    >>> leader = ApproximateLeader(experts=10, horizon=10**6, epsilon=1, delta=1e-6, neighbours=Event())
    >>> round(leader.regret, 4)
    0.0037
    """

    variance: Fraction = derived()

    def _complete(self) -> None:
        ExpertsForRounds._complete(self)  # noqa: SLF001 - its own base
        if self.delta == 0:
            raise InvalidParameter(
                name="delta", rule="> 0 for Gaussian noise", value=self.delta, hint="Or take LazyMajority"
            )
        least = analytic_variance(Fraction(self.square_shift), self.epsilon, self.delta)
        self._set(variance=max(least, shorten_up(Fraction(self._balance() ** 2), 12)))

    @property
    def levels(self) -> int:
        """How many blocks of different sizes one round is in."""
        return (self.horizon - 1).bit_length()

    @property
    def square_shift(self) -> int:
        """The squared L2 sensitivity of all blocks: a round moves each expert's sum in each of its blocks."""
        return self.levels * self.experts * self.losses.steps**2

    @property
    def loss(self) -> Loss:
        """The loss of the noisy sums of all blocks."""
        return discrete_loss(Fraction(self.square_shift), self.variance)

    @property
    def regret(self) -> float:
        """What the expected mean loss exceeds the best expert's by at most, for losses fixed beforehand.

        Whoever knew this round's losses too would regret no more than the largest of the noises. Not knowing
        them makes another choice no more often than the noise tells the two sums apart, by Pinsker's
        inequality. At the first round, whose name needs no noise, anything may be lost.
        """
        off, apart = self._split_bound(math.sqrt(self.variance))
        first = float(self.losses.width) / self.horizon
        return self._require_useful(off + apart + first + self.losses.rounding)

    def error(self, beta: checks.Number) -> float:
        """Raise NoBound: the noise of all rounds is one, and nothing is proved beyond the expectation."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the regret",
            why="rounds share their noise, so nothing is proved beyond its expectation",
            way_out="Read .regret, or take WeightedMajority",
        )

    def _split_bound(self, deviation: float) -> tuple[float, float]:
        """Return what noise of a deviation costs, and what not knowing the round's losses does."""
        unit, width = float(self.losses.width / self.losses.steps), float(self.losses.width)
        off = unit * deviation * math.sqrt(2 * self.levels * math.log(self.experts)) / self.horizon
        return off, width * self._telling / deviation

    @property
    def _telling(self) -> float:
        """The root of half the divergence of noise of deviation one from itself moved by a round's losses.

        The move is shared out over the levels, in whole steps.
        """
        whole, rest = divmod(self.losses.steps, self.levels)
        square = (self.levels - rest) * whole**2 + rest * (whole + 1) ** 2
        return math.sqrt(self.experts * square) / 2

    def _balance(self) -> float:
        """Return the deviation with the smallest bound."""
        off, apart = self._split_bound(1.0)
        return math.sqrt(apart / off) if off else 1.0

    def _start(self, rng: Rng) -> Follower:
        del rng
        return LeaderFollower(self)


class LeaderFollower(Follower):
    """Exact sums of open blocks, noisy sums of those that are over, and noise for those missing."""

    def __init__(self, mechanism: ApproximateLeader) -> None:
        noise, experts = DiscreteGaussian(mechanism.variance), mechanism.experts
        square = experts * mechanism.losses.steps**2
        self._measure = AddNoise(noise, Fraction(math.isqrt(square - 1) + 1), norm=2)
        self._blank = AddNoise(noise, Fraction(0), norm=2)
        self._first = ExponentialChoice(Fraction(1), Fraction(0))
        self._exact = np.zeros((mechanism.levels, experts), dtype=np.int64)
        self._noisy = self._exact.copy()
        self._missing: list[Integers | None] = [None] * mechanism.levels
        self._seen = 0

    def choose(self, rng: Rng) -> int:
        """Measure the block that ended, and name the first expert with the smallest noisy sum."""
        if not self._seen:
            return rng.perform(self._first, self._exact[0].copy())
        ended = (self._seen & -self._seen).bit_length() - 1
        self._noisy[ended] = rng.perform(self._measure, self._exact[ended].copy())
        for level in range(len(self._missing)):
            if not self._seen >> level & 1:
                self._noisy[level] = self._stand_in(level, rng)
        return int(self._noisy.sum(axis=0).argmin())

    def _stand_in(self, level: int, rng: Rng) -> Integers:
        """Return the noise of a level without a block: one for all rounds, so that it is drawn once."""
        drawn = self._missing[level]
        if drawn is None:
            drawn = np.asarray(rng.perform(self._blank, np.zeros_like(self._exact[level])))
            self._missing[level] = drawn
        return drawn

    def learn(self, steps: Integers) -> None:
        """Add the losses to the block that ends with this round: its parts are not looked at again."""
        self._seen += 1
        ended = (self._seen & -self._seen).bit_length() - 1
        self._exact[ended] = self._exact[:ended].sum(axis=0) + steps
        self._exact[:ended] = 0


def _tiny() -> Iterator[Tiny]:
    coarse = Losses(Fraction(0), Fraction(1), 1)
    for neighbours, place in ((Event(), 0), (EventPresence(), 6)):
        two: dict[str, Any] = {"experts": 2, "horizon": 2, "delta": Fraction(1, 100), "losses": coarse}
        leader = ApproximateLeader(epsilon=12, neighbours=neighbours, **two)
        pairs = list(neighbours.pairs(((0, 1), (1, 0), (math.nan, 7)), 2))
        yield Tiny(leader, pairs[place : place + 4], script=name_all(2), tight=False)


def _example() -> tuple[ApproximateLeader, Any]:
    mechanism = ApproximateLeader(experts=5, horizon=200, epsilon=1, delta=1e-6, neighbours=Event())
    return mechanism, [[(day * expert) % 7 / 6 for expert in range(1, 6)] for day in range(200)]


CARD = Card(
    title="Follow the approximate leader, by noisy sums of blocks",
    theorem="(epsilon, delta)-differential privacy of all names and sums; noise of one law at all rounds",
    reference="[DNPR10]; [AS17]",
    example=_example,
    tiny=_tiny,
)
