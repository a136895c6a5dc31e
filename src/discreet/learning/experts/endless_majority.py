"""Weighted majority without a horizon: falling rates whose losses add up to no more than a budget.

Privacy is not automatic here: at one rate for ever, or at rates that fall like 1 / sqrt(t), the losses of all
rounds grow without bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.calibrate import largest, zcdp_rho
from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss, PureLoss, ZCDPLoss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down, shorten_down, up
from discreet.learning.experts.conversation import Experts, Follower, cap_rate
from discreet.learning.experts.tiny import name_all, small_rounds
from discreet.learning.experts.weighted_majority import Majority
from discreet.noise.selection import ExponentialChoice

_FARTHEST = 1 << 60
"""Sums of steps stay below, in 64 bits: at the finest division a thousand years of two rounds a second."""


@frozen
class EndlessMajority(Experts):
    """Weighted majority for as long as one likes: rounds come in stretches, each with a rate of its own.

    Privacy: (epsilon, delta) for all names that are ever said; losses may depend on earlier names.
    Accuracy: error(beta, rounds=n) but for a probability beta, `regret(n)` in expectation.
    Time: O(experts) a round.

    Parameters
    ----------
    first
        How many rounds the first stretch has, which spends half of the budget; a guess. Every other stretch
        is as long as all before it together; the one with number m spends 1 / ((m + 1) (m + 2)) of the
        budget.

    The others are those of every `Experts`.

    Examples
    --------
    >>> endless = EndlessMajority(experts=10, first=10_000, epsilon=1, delta=1e-6, neighbours=Event())
    >>> round(endless.regret(10_000), 3), round(endless.regret(1_000_000), 3)
    (0.148, 0.071)
    """

    first: int = public(checks.integer, 1)

    @property
    def last(self) -> int:
        """The number of rounds after which sums would no longer be exact."""
        return _FARTHEST // self.losses.steps

    @property
    def loss(self) -> Loss:
        """The whole budget: no number of rounds spends all of it."""
        if self.delta == 0:
            return PureLoss(self.epsilon)
        return ZCDPLoss(zcdp_rho(epsilon=self.epsilon, delta=self.delta))

    def stretch(self, looked: int) -> int:
        """Return the number of the stretch in which a choice lies that sees so many rounds."""
        return 0 if looked <= self.first else ((looked - 1) // self.first).bit_length()

    def rate(self, stretch: int) -> Fraction:
        """Return the exponent of one step of loss in a stretch. It never rises from one to the next."""
        choices = self.first << max(0, stretch - 1)
        share = Fraction(1, (stretch + 1) * (stretch + 2) * choices)
        if self.delta == 0:
            range_ = self.epsilon * share
        else:
            range_ = _find_range(zcdp_rho(epsilon=self.epsilon, delta=self.delta) * share)
        best = cap_rate(self.losses, self.experts, self.first << stretch)
        return shorten_down(min(range_ / self.spread, best), 12)

    def regret(self, rounds: int) -> float:
        """Return what the expected mean loss of so many rounds exceeds the best expert's by at most."""
        return self._require_useful(self._bound(checks.integer(1, rounds=rounds)))

    def error(self, beta: checks.Number, *, rounds: int | None = None) -> float:
        """Return what the mean loss exceeds that of the best expert by, but for a probability beta.

        Parameters
        ----------
        beta
            The probability of missing it.
        rounds
            How many rounds it is about; by default those of the first stretch.
        """
        missed = down(checks.probability(beta=beta))
        count = self.first if rounds is None else checks.integer(1, rounds=rounds)
        lucky = float(self.losses.width) * math.sqrt(-math.log(missed) / (2 * count))
        return self._require_useful(self._bound(count) + lucky)

    def _bound(self, rounds: int) -> float:
        """Return ln k / (eta_T T) and the mean of eta_t / 8: the bound for rates that never rise."""
        width, steps, total = float(self.losses.width), self.losses.steps, 0.0
        for stretch in range(self.stretch(rounds - 1) + 1):
            before = 0 if stretch == 0 else 1 + (self.first << stretch - 1)
            count = min(rounds, 1 + (self.first << stretch)) - before
            one = float(self.rate(stretch) * steps)
            total += count * one / 8
        return width * (total + math.log(self.experts) / one) / rounds + self.losses.rounding

    def _require_useful(self, bound: float) -> float:
        trivial = up(self.losses.width)
        return require_useful(above(bound, 16), trivial=trivial, what="the regret", way_out=MORE)

    def _start(self, rng: Rng) -> Follower:
        del rng
        return EndlessFollower(self)


class EndlessFollower(Majority):
    """A majority whose rate falls from stretch to stretch."""

    def __init__(self, mechanism: EndlessMajority) -> None:
        self._mechanism, self._looked, self._stretch = mechanism, 0, 0
        super().__init__(self._make_choice(), mechanism.experts)

    def _make_choice(self) -> ExponentialChoice:
        return ExponentialChoice(self._mechanism.rate(self._stretch), Fraction(self._mechanism.spread))

    def learn(self, steps: Integers) -> None:
        """Add the losses; the next choice may lie in another stretch."""
        super().learn(steps)
        self._looked += 1
        if self._mechanism.stretch(self._looked) != self._stretch:
            self._stretch += 1
            self.choice = self._make_choice()


@lru_cache(maxsize=256)
def _find_range(rho: Fraction) -> Fraction:
    return largest(lambda range_: Fraction(BoundedRangeLoss(range_).zcdp()) <= rho, digits=12)


def _tiny() -> Iterator[Tiny]:
    for neighbours, delta in ((Event(), 0), (Event(), 0.01), (EventPresence(), 0)):
        mechanism = EndlessMajority(experts=2, first=1, epsilon=4, delta=delta, neighbours=neighbours)
        yield Tiny(mechanism, small_rounds(neighbours, 4), script=name_all(4), tight=False)


def _example() -> tuple[EndlessMajority, Any]:
    mechanism = EndlessMajority(experts=5, first=2000, epsilon=1, delta=1e-6, neighbours=Event())
    return mechanism, [[(day * expert) % 7 / 6 for expert in range(1, 6)] for day in range(300)]


CARD = Card(
    title="Weighted majority without a horizon",
    theorem="(epsilon, delta)-differential privacy of all names ever said; regret for every number of rounds",
    reference="[DR14] section 11.2, footnote 3",
    example=_example,
    tiny=_tiny,
)
