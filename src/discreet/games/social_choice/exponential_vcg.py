"""Any finite social choice, privately, with payments that make the truth exactly best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Floats, Integers
from discreet.core.guarantee import Guarantee
from discreet.core.loss import BoundedRangeLoss, Loss, PureLoss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.games.common.game import Money
from discreet.games.social_choice.valued import Valued
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.grid import LIMIT
from discreet.mechanisms.scores import rate_within
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.selection import ExponentialChoice

PAYMENTS = ("expected", "drawn")

_ROWS = 1 << 20  # utilities that are worked on at a time
_FASTEST = Fraction(1 << 60)  # beyond, nothing but the best is ever drawn
_SKEWNESS = 0.0963  # above 1 / (6 sqrt 3), the largest third central moment of a number in [0, 1]


@frozen
class ExponentialVCG(Valued):
    """Choose an outcome with probability ~ exp(epsilon / 2 * welfare), and charge what that costs the others.

    Privacy: (epsilon, 0) with bounded range, for the outcome. [HK12], [DR14] Section 10.3.1 with its exponent
    corrected. Expected payments depend on all reports and are no part of it; drawn ones are 2 epsilon,
    together with the outcome, towards the player who pays.
    Truthfulness: exact in expectation, for utilities on the grid: the mechanism maximises welfare plus
    (2 / epsilon) entropy, and the payment is what the others and the entropy lose by the player.
    Accuracy: the welfare is more than error(beta) below the best with probability beta at most.
    Time: O(players * outcomes).

    Parameters
    ----------
    outcomes
        The names of what can be decided.
    epsilon
        The budget of one decision.
    payments
        "expected": each pays (2 / epsilon) KL(law with the player || law without), at most epsilon / 16.
        "drawn": each pays what the own utility is at the outcome less what it is at another one, drawn for
        this player alone with a random share of the own report; it has that mean, and may be below 0.
    grid
        The unit that utilities are rounded to: one over a whole number.
    neighbours
        `Bidder()`.
    steps
        How many shares a drawn payment may take; the mean is off by a part of 1 / steps^2.
    """

    payments: str = public(checks.one_of, PAYMENTS)
    steps: int = public(checks.integer, 1, default=1 << 20)

    def _complete(self) -> None:
        if self.steps > 1 << 24:
            raise InvalidParameter(name="steps", rule="at most 2**24", value=self.steps)

    @property
    def choice(self) -> ExponentialChoice:
        """The random step: an outcome with probability proportional to exp(rate * welfare)."""
        spread = 2 * int(1 / self.grid)
        return ExponentialChoice(rate_within(self.epsilon, spread), Fraction(spread))

    @property
    def loss(self) -> Loss:
        """Another report moves the difference of two outcomes' welfare by 2 at most: bounded range."""
        return BoundedRangeLoss(self.choice.rate * self.choice.sensitivity)

    @property
    def towards_the_payer(self) -> Guarantee:
        """What a player's own view, outcome and payment together, tells of anybody else's report.

        Raises
        ------
        NoBound
            For expected payments, which are functions of everybody's reports.
        """
        if self.payments == "drawn":
            return Guarantee(PureLoss(2 * self.choice.rate * self.choice.sensitivity), self.neighbours)
        raise NoBound(
            what="what expected payments tell",
            why="they are functions of everybody's reports",
            way_out='Pass payments="drawn"',
        )

    @property
    def truthfulness(self) -> float:
        """How much a lie gains at most: nothing, or twice what the mean of a drawn payment may be off.

        For utilities on the grid. The truth rounded to it is within one unit of best for all others.
        """
        if self.payments == "expected":
            return 0.0
        # The midpoint rule is off by max |f''| / (24 steps^2), and f'' is rate^2 times a third moment.
        whole = up(self.choice.rate / self.grid)
        off = above(2 * _SKEWNESS * whole * whole / (24 * self.steps**2), 4)
        return min(2.0, off)  # who lies has at most 1 and pays at least -1; the truth nets 0 at least

    @property
    def largest_payment(self) -> float:
        """What anybody is expected to pay at most: epsilon / 16, and never more than 1."""
        return min(1.0, up(self.epsilon / 16))

    def error(self, beta: checks.Number) -> float:
        """Return the welfare that is missed at most, for utilities on the grid."""
        b = checks.probability(beta=beta)
        return up(units_behind((len(self.outcomes) - 1) * (1 - b) / b, self.choice.rate) * self.grid)

    def _decide(self, read: Integers, rng: Rng) -> int:
        return rng.perform(self.choice, read.sum(axis=0))

    def _publish(self, decision: int) -> Hashable:
        return self.outcomes[decision]

    def _settle(self, read: Integers, decision: int, rng: Rng) -> tuple[Sequence[Money], Sequence[None]]:
        welfare, nothing = read.sum(axis=0), (None,) * len(read)
        if self.payments == "drawn":
            if 2 * self.steps * len(read) / self.grid > LIMIT:
                rule = "so small that shares of all reports can be added up"
                raise InvalidParameter(name="steps", rule=rule, value=self.steps)
            return [self._draw_payment(welfare, own, decision, rng) for own in read], nothing
        rows = max(1, _ROWS // len(self.outcomes))
        blocks = (read[start : start + rows] for start in range(0, len(read), rows))
        return [paid for block in blocks for paid in self._expect(welfare, block).tolist()], nothing

    def _expect(self, welfare: Integers, utilities: Integers) -> Floats:
        """Return E[u] + log E[exp(-rate u)] / rate for every player, which is the divergence of the page."""
        rate, unit = float(min(self.choice.rate, _FASTEST)), float(self.grid)
        weights = np.exp(rate * (welfare - welfare.max()))
        law = weights / weights.sum()
        if rate <= unit:
            paid = utilities @ law + np.log1p(np.expm1(-rate * utilities) @ law) / rate
        else:
            # Where hardly anything but the best is drawn, floats forget what else there is: from its own top.
            without = welfare - utilities
            tops = without.max(axis=1)
            whole = np.exp(rate * (without - tops[:, None])).sum(axis=1)
            paid = utilities @ law + (tops - welfare.max()) + np.log(whole / weights.sum()) / rate
        return np.asarray(np.clip(paid * unit, 0.0, self.largest_payment))

    def _draw_payment(self, welfare: Integers, own: Integers, decision: int, rng: Rng) -> Fraction:
        (share,) = rng.perform(Partition(self.steps), 1)
        fine = 2 * self.steps
        choice = ExponentialChoice(self.choice.rate / fine, self.choice.sensitivity * fine)
        other = rng.perform(choice, (welfare - own) * fine + own * (2 * share + 1))
        return int(own[decision] - own[other]) * self.grid


def _tiny() -> Iterator[Tiny]:
    kinds = list(itertools.product((0, 0.5, 1), repeat=2))
    game = ExponentialVCG(outcomes="ab", epsilon=4, payments="expected", grid=0.5, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs(kinds, 2)))


def _example() -> tuple[ExponentialVCG, Any]:
    places = ("mill", "market", "station", "school")
    game = ExponentialVCG(outcomes=places, epsilon=0.5, payments="expected", grid=0.01, neighbours=Bidder())
    return game, [[math.fmod(0.37 * player + 0.21 * place, 1) for place in range(4)] for player in range(60)]


CARD = Card(
    title="Exponential mechanism with VCG payments",
    theorem="(epsilon, 0)-differential privacy of the outcome; truth exactly best; pays at most epsilon / 16",
    reference="[HK12]; [DR14] Section 10.3.1, with its exponent corrected",
    example=_example,
    tiny=_tiny,
)
