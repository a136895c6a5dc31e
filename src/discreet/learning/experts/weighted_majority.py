"""Randomized weighted majority: experts are named in proportion to exp(-rate * their losses so far)."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import down, shorten_down
from discreet.learning.budgets import widest_range
from discreet.learning.experts.conversation import ExpertsForRounds, Follower, bound_hedge, cap_rate
from discreet.learning.experts.losses import SIGNED, Losses
from discreet.learning.experts.tiny import name_all, one_against_all, small_rounds
from discreet.noise.selection import ExponentialChoice

_DIGITS = 12


class Speed(enum.Enum):
    """How the rate with which weights follow losses is chosen."""

    TIGHT = "the largest that the budget allows, and none beyond the one with the smallest regret"
    BOOK = "epsilon / sqrt(32 T ln(1 / delta)), as printed"


@frozen
class WeightedMajority(ExpertsForRounds):
    """Name at each round an expert with probability proportional to exp(-rate * its losses so far).

    Privacy: (epsilon, delta) for all names together; losses may depend on earlier names. [DR14] Theorem 11.2.
    Accuracy: `regret` in expectation, error(beta) but for a probability beta. Theorems 11.1, 11.3 and 11.4.
    Time: O(experts) a round.

    Parameters
    ----------
    speed
        How the rate is chosen.

    The others are those of every `ExpertsForRounds`.

    Examples
    --------
    >>> majority = WeightedMajority(experts=10, horizon=10_000, epsilon=1, delta=1e-6, neighbours=Event())
    >>> round(majority.regret, 3)
    0.105
    >>> with majority.open() as conversation:
    ...     named = conversation.act()
    ...     conversation.observe([0.5] * 10)
    """

    speed: Speed = public(checks.instance, Speed, default=Speed.TIGHT)
    rate: Fraction = derived()

    def _complete(self) -> None:
        ExpertsForRounds._complete(self)  # noqa: SLF001 - its own base
        tight = self.speed is Speed.TIGHT
        rate = self._find_rate() if tight else self._print_rate()
        self._set(rate=shorten_down(rate, _DIGITS))
        if not (tight or _keeps(self.loss, self.epsilon, self.delta)):
            raise InvalidParameter(
                name="speed",
                rule="one whose rate keeps the budget",
                value=self.speed,
                hint="Pass Speed.TIGHT: the theorem that the printed rate rests on ends here",
            )

    @classmethod
    def as_printed(cls, *, epsilon: checks.Number, delta: checks.Number, **public: Any) -> Self:
        """Return [DR14] Theorem 11.2: the rate epsilon / sqrt(32 T ln(1 / delta)) for one unit of loss."""
        return cls(epsilon=epsilon, delta=delta, speed=Speed.BOOK, **public)

    @property
    def loss(self) -> Loss:
        """One choice of bounded range a round but the first, which sees no data."""
        return Composed(((BoundedRangeLoss(self.rate * self.spread), self.horizon - 1),))

    @property
    def regret(self) -> float:
        """What the expected mean loss exceeds that of the best expert by at most, whatever the losses."""
        return self._require_useful(self._bound)

    def error(self, beta: checks.Number) -> float:
        """Return what the mean loss exceeds that of the best expert by, but for a probability beta."""
        missed = down(checks.probability(beta=beta))
        # Azuma's inequality: given the past, a loss is anywhere in a range of known width.
        lucky = float(self.losses.width) * math.sqrt(-math.log(missed) / (2 * self.horizon))
        return self._require_useful(self._bound + lucky)

    @property
    def _bound(self) -> float:
        return bound_hedge(self.rate, self.losses, self.experts, self.horizon)

    def _find_rate(self) -> Fraction:
        range_ = widest_range(self.horizon - 1, self.epsilon, self.delta)
        return min(range_ / self.spread, cap_rate(self.losses, self.experts, self.horizon))

    def _print_rate(self) -> Fraction:
        if self.delta == 0:
            raise InvalidParameter(
                name="delta", rule="> 0 as printed", value=self.delta, hint="Pass 1e-9, say"
            )
        root = math.sqrt(32 * self.horizon * -math.log(down(self.delta)))
        return self.epsilon / Fraction(root) * self.losses.width / self.losses.steps

    def _start(self, rng: Rng) -> Follower:
        del rng
        return Majority(ExponentialChoice(self.rate, Fraction(self.spread)), self.experts)


class Majority(Follower):
    """The sums of all losses so far, below zero as scores are."""

    def __init__(self, choice: ExponentialChoice, experts: int) -> None:
        self.choice = choice
        self._scores = np.zeros(experts, dtype=np.int64)

    def choose(self, rng: Rng) -> int:
        """Name an expert in proportion to its weight."""
        return rng.perform(self.choice, self._scores.copy())

    def learn(self, steps: Integers) -> None:
        """Add the losses."""
        self._scores -= steps


def _keeps(loss: Loss, epsilon: Fraction, delta: Fraction) -> bool:
    total, pure = loss.exact_rho(), loss.exact_epsilon()
    within = total is not None and total <= zcdp_rho(epsilon=epsilon, delta=delta)
    return within or (pure is not None and pure <= epsilon)


def _tiny() -> Iterator[Tiny]:
    many: dict[str, Any] = {"experts": 12, "horizon": 2, "epsilon": 1, "delta": 0}
    for neighbours in (Event(), EventPresence()):
        for losses in (Losses(Fraction(0), Fraction(1), 3), SIGNED):
            mechanism = WeightedMajority(neighbours=neighbours, losses=losses, **many)
            yield Tiny(mechanism, one_against_all(neighbours, losses, 12), script=name_all(2))
        few = WeightedMajority(experts=2, horizon=3, epsilon=2, delta=Fraction(1, 100), neighbours=neighbours)
        yield Tiny(few, small_rounds(neighbours, 3), script=name_all(3), tight=False)


def _example() -> tuple[WeightedMajority, Any]:
    mechanism = WeightedMajority(experts=5, horizon=200, epsilon=1, delta=1e-6, neighbours=Event())
    return mechanism, [[(day * expert) % 7 / 6 for expert in range(1, 6)] for day in range(200)]


CARD = Card(
    title="Randomized weighted majority: whose advice to follow, round after round",
    theorem="(epsilon, delta)-differential privacy of all names; regret eta / 8 + ln k / (eta T)",
    reference="[DR14] Algorithms 15 and 16, Theorems 11.1 to 11.4",
    example=_example,
    tiny=_tiny,
)
