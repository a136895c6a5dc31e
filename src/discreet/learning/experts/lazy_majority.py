"""Lazy weighted majority, the shrinking dartboard: whoever is named stays as long as a coin says so.

At each round the expert named last stays with probability keep * exp(-rate * its last loss); else another is
drawn in proportion to the weights. Whatever the losses, that leaves the probability of each expert at each
round as it is without laziness. But draws are rare, and only draws look at the sums: a round can move one
coin, and the few draws that come later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import binom

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InternalError, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss, PureLoss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import down, exp_fraction, shorten_down, shorten_up, up
from discreet.core.search import narrow
from discreet.learning.experts.conversation import ExpertsForRounds, Follower, bound_hedge, cap_rate
from discreet.learning.experts.losses import Losses
from discreet.learning.experts.tiny import name_all, one_against_all, small_rounds
from discreet.noise import oracle
from discreet.noise.selection import ExponentialChoice

_SELDOM = 1e-9  # a coin that leaves less often would need longer numbers
_SHARES = tuple(place / 20 for place in range(1, 20))


@dataclass(frozen=True, slots=True)
class KeepCoin(Primitive[int, bool]):
    """Say yes with probability keep * exp(-rate * value)."""

    keep: Fraction
    rate: Fraction
    sensitivity: Fraction

    def sample(self, value: int, rng: Rng) -> bool:
        """Toss both coins, whatever the first one shows."""
        first, second = oracle.bernoulli(self.keep, rng), oracle.bernoulli_exp(self.rate * value, rng)
        return first and second

    def law(self, value: int) -> Iterator[tuple[bool, Fraction]]:
        """Yield both answers."""
        kept = self.keep * exp_fraction(self.rate * value)
        yield from ((True, kept), (False, 1 - kept))

    def distance(self, value: int, other: int) -> Fraction:
        """Return how far the losses are apart."""
        return Fraction(abs(value - other))


@dataclass(frozen=True, slots=True)
class Laziness:
    """What a lazy follower is made of.

    Attributes
    ----------
    rate
        The exponent of one step of loss.
    keep
        The probability of staying with an expert that lost nothing.
    draws
        How many draws there are after the first, at most: later coins are not tossed.
    """

    rate: Fraction
    keep: Fraction
    draws: int

    def coin_loss(self, steps: int) -> Fraction:
        """Return the loss of the one coin that a round's losses decide, rounded up."""
        kept = exp_fraction(self.rate * steps) - Fraction(1, 1 << 120)
        # By how much leaving is likelier: a small number, which adding one to would round away.
        likelier = self.keep * (1 - kept) / (1 - self.keep)
        lost = up(Fraction(math.log1p(likelier)) * (1 + _TINY))
        return shorten_up(max(self.rate * steps, Fraction(lost)), 12)


_TINY = Fraction(1, 10**12)


@frozen
class LazyMajority(ExpertsForRounds):
    """Follow an expert as long as a coin says so, then draw another in proportion to exp(-rate * losses).

    Privacy: (epsilon, delta) for all names together; losses may depend on earlier names. [GVW10], [AFKT23].
    Accuracy: `regret` in expectation and error(beta) but for a probability beta, for losses that do not
    depend on names.
    Time: O(experts) a round.

    Its parameters are those of every `ExpertsForRounds`.

    Examples
    --------
    >>> lazy = LazyMajority(experts=10, horizon=10_000, epsilon=1, delta=1e-6, neighbours=Event())
    >>> round(lazy.regret, 3)
    0.034
    """

    laziness: Laziness = derived()

    def _complete(self) -> None:
        ExpertsForRounds._complete(self)  # noqa: SLF001 - its own base
        setting = LazySetting(self.losses, self.spread, self.experts, self.horizon, self.epsilon, self.delta)
        self._set(laziness=choose_laziness(setting))

    @property
    def loss(self) -> Loss:
        """One coin, and all draws but the first, which sees no data."""
        return add_up_lazy(self.laziness, self.losses.steps, self.spread)

    @property
    def regret(self) -> float:
        """What the expected mean loss exceeds the best expert's by at most, for losses fixed beforehand."""
        return self._require_useful(self._bound)

    def error(self, beta: checks.Number) -> float:
        """Return what the mean loss exceeds that of the best expert by, but for a probability beta.

        Coins that say no whatever the losses cut the rounds into parts that are independent: between rounds s
        and t there is none with probability keep^(t - s), so losses are correlated no more than that.
        """
        spare = down(checks.probability(beta=beta) - Fraction(1, self.horizon))
        if spare <= 0:
            raise NoBound(
                what="the regret",
                why="draws run out with a probability of up to 1 / horizon",
                way_out="Ask for a beta above 1 / horizon",
            )
        variance = (1 + float(self.laziness.keep)) / (4 * float(1 - self.laziness.keep) * self.horizon)
        lucky = min(math.sqrt(variance * (1 / spare - 1)), self._bound_parts(spare))  # Cantelli's inequality
        return self._require_useful(self._bound + float(self.losses.width) * lucky)

    def _bound_parts(self, missed: float) -> float:
        """Return Hoeffding's bound over the independent parts, none of which is long."""
        fresh, half = float(1 - self.laziness.keep), missed / 2
        longest = min(self.horizon, math.ceil(math.log(self.horizon / half) / fresh))
        return math.sqrt(longest * -math.log(half) / (2 * self.horizon))

    @property
    def _bound(self) -> float:
        width = float(self.losses.width)
        whole = bound_hedge(self.laziness.rate, self.losses, self.experts, self.horizon)
        return whole + width / self.horizon  # draws run out with a probability below 1 / horizon

    def _start(self, rng: Rng) -> Follower:
        del rng
        return LazyFollower(self.laziness, self.losses.steps, self.spread, self.experts)


class LazyFollower(Follower):
    """The sums of all losses so far, whom it follows, and what that one lost last."""

    def __init__(self, laziness: Laziness, steps: int, spread: int, experts: int) -> None:
        self._coin = KeepCoin(laziness.keep, laziness.rate, Fraction(steps))
        self._choice = ExponentialChoice(laziness.rate, Fraction(spread))
        self._left = laziness.draws
        self._scores = np.zeros(experts, dtype=np.int64)
        self._followed, self._lost = -1, 0
        self._leaves = True  # nobody, at first

    def choose(self, rng: Rng) -> int:
        """Toss the coin, and draw where it says no.

        A coin is tossed once. Where drawing fails, for want of randomness, what it said is known, and another
        toss would cost once more.
        """
        if not self._leaves and self._left and not rng.perform(self._coin, self._lost):
            self._leaves = True
            self._left -= 1
        if self._leaves:
            self._followed = rng.perform(self._choice, self._scores.copy())
            self._leaves = False
        return self._followed

    def learn(self, steps: Integers) -> None:
        """Add the losses."""
        self._scores -= steps
        self._lost = int(steps[self._followed])


def add_up_lazy(laziness: Laziness, steps: int, spread: int) -> Loss:
    """Return the loss of one coin and of all draws."""
    draws = BoundedRangeLoss(laziness.rate * spread)
    return Composed(((PureLoss(laziness.coin_loss(steps)), 1), (draws, laziness.draws)))


@dataclass(frozen=True, slots=True)
class LazySetting:
    """What a lazy follower is asked to do, in public numbers."""

    losses: Losses
    spread: int
    experts: int
    horizon: int
    epsilon: Fraction
    delta: Fraction

    @property
    def budget(self) -> Fraction:
        """What may be spent: rho where delta is positive, else epsilon."""
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.delta else self.epsilon

    def spend(self, loss: Loss) -> Fraction:
        """Return what a loss takes of the budget."""
        spent = loss.exact_rho() if self.delta else loss.exact_epsilon()
        if spent is None:
            raise InternalError("the loss of a lazy follower has no price")
        return spent


@lru_cache(maxsize=256)
def choose_laziness(setting: LazySetting) -> Laziness:
    """Return what has the smallest bound among all that keep the budget."""
    losses, horizon = setting.losses, setting.horizon
    found = [_divide(setting, share) for share in _SHARES]
    best = min(found, key=lambda each: each[0] / 8 + math.log(setting.experts) / (each[0] * horizon))
    for place in range(15):  # floats found it: exact numbers decide, and take a little less where they must
        less = 1 - Fraction(4**place - 1, 10**9)
        rate = shorten_down(Fraction(best[0]) * less / losses.steps, 12)
        made = _make_exact(rate, best[1] * float(less), losses.steps, horizon)
        if setting.spend(add_up_lazy(made, losses.steps, setting.spread)) <= setting.budget:
            return made
    raise InternalError("no rate of a lazy follower keeps its budget")


def _divide(setting: LazySetting, share: float) -> tuple[float, float]:
    """Return the largest exponent of a range where the coin has a share of all, and the coin's loss."""
    budget, pure, horizon = float(setting.budget), setting.delta == 0, setting.horizon
    coin = share * budget if pure else _find_pure(share * budget)
    sides = setting.spread // setting.losses.steps

    def fits(one: float) -> bool:
        draws = _count_draws(_find_keep(one, coin), one, horizon)
        each = sides * one if pure else BoundedRangeLoss(Fraction(sides * one)).zcdp()
        return draws * each <= (1 - share) * budget

    top = float(cap_rate(setting.losses, setting.experts, horizon) * setting.losses.steps)
    least = most = min(top, coin)
    while not fits(least):
        least /= 2
    return (most if least == most else narrow(fits, 2 * least, least, steps=40)[1]), coin


def _find_pure(rho: float) -> float:
    """Return nearly the largest pure loss that costs at most rho."""
    return narrow(lambda x: x * math.tanh(x / 2) <= rho, 2 * rho + 4 * math.sqrt(rho) + 1, 0.0, steps=60)[1]


def _find_keep(one: float, coin: float) -> float:
    """Return the probability of staying at which leaving is told apart by no more than the coin's loss."""
    leave = -math.expm1(-one) / (math.exp(min(coin, 700)) - math.exp(-one))
    return 1 - max(leave, _SELDOM)


def _count_draws(keep: float, one: float, horizon: int) -> int:
    """Return what the number of draws exceeds with a probability of at most 1 / horizon, on any losses."""
    return int(binom.isf(1 / (2 * horizon), horizon - 1, 1 - keep * math.exp(-one))) + 1


def _make_exact(rate: Fraction, coin: float, steps: int, horizon: int) -> Laziness:
    one = float(rate * steps)
    keep = shorten_down(Fraction(_find_keep(one, coin)), 15)
    draws = min(horizon - 1, _count_draws(float(keep), one, horizon))
    return Laziness(rate, keep, draws)


def _tiny() -> Iterator[Tiny]:
    for neighbours in (Event(), EventPresence()):
        few: dict[str, Any] = {"experts": 2, "neighbours": neighbours}
        lazy = LazyMajority(horizon=3, epsilon=2, delta=0, **few)
        yield Tiny(lazy, small_rounds(neighbours, 3), script=name_all(3), tight=False)
        loose = LazyMajority(horizon=3, epsilon=2, delta=Fraction(1, 100), **few)
        yield Tiny(loose, small_rounds(neighbours, 3), script=name_all(3), tight=False)
        losses = Losses(Fraction(-1), Fraction(1), 3)
        many = LazyMajority(experts=12, horizon=2, epsilon=1, delta=0, neighbours=neighbours, losses=losses)
        yield Tiny(many, one_against_all(neighbours, losses, 12), script=name_all(2))


def _example() -> tuple[LazyMajority, Any]:
    mechanism = LazyMajority(experts=5, horizon=200, epsilon=1, delta=1e-6, neighbours=Event())
    return mechanism, [[(day * expert) % 7 / 6 for expert in range(1, 6)] for day in range(200)]


CARD = Card(
    title="Lazy weighted majority: experts are followed until a coin says no",
    theorem="(epsilon, delta)-differential privacy of all names; the regret of a larger rate",
    reference="[GVW10]; [AFKT23]",
    example=_example,
    tiny=_tiny,
)
