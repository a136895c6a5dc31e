"""One price for goods that cost nothing to make: the pumpkins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.games.common.game import Money, Outcome
from discreet.games.common.joint import Billboard
from discreet.games.pricing.prices import Prices, add_revenues, count_reached, find_unit, read_prices
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import ExponentialChoice


@frozen
class Pricing(Billboard):
    """What all ways to post prices share: bids in; who bids at least the price gets the good and pays it."""

    prices: Prices = public(read_prices)
    epsilon: Exact = public(checks.positive)

    @property
    def unit(self) -> Fraction:
        """What all prices are multiples of."""
        return find_unit(self.prices)

    @property
    def loss(self) -> Loss:
        """Another bid moves all revenues the same way, each by one price at most: bounded range."""
        return BoundedRangeLoss(self.choice.rate * self.choice.sensitivity)

    @property
    def choice(self) -> ExponentialChoice:
        """The random step: a price with probability proportional to exp(rate * revenue)."""
        spread = int(self.prices[-1] / self.unit)
        return ExponentialChoice(rate_within(self.epsilon, spread), Fraction(spread))

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what the good is worth for who values it at `kind`, less the price; 0 without it."""
        return checks.exact(kind=kind) - outcome.payments[player] if outcome.signals[player] else Fraction(0)

    def _read(self, data: Any) -> Integers:
        return count_reached(data, self.prices)

    def _choose(self, reached: Integers, rng: Rng) -> int:
        units = np.array([int(price / self.unit) for price in self.prices], dtype=np.int64)
        return rng.perform(self.choice, add_revenues(reached, units))

    def _behind(self, beta: checks.Number) -> Fraction:
        """Return how far a price's revenue is behind the best one, exceeded with probability beta at most."""
        odds = (len(self.prices) - 1) * (1 - Fraction(beta)) / Fraction(beta)
        return units_behind(odds, self.choice.rate) * self.unit

    def _sell(self, reached: Integers, rungs: Integers) -> tuple[list[Money], list[bool]]:
        """Return what each bidder pays and whether the good is his, each at a price of his own."""
        sold, nothing = (reached > rungs).tolist(), Fraction(0)
        offers = zip(rungs.tolist(), sold, strict=True)
        return [self.prices[rung] if buys else nothing for rung, buys in offers], sold


@frozen
class PostedPrice(Pricing):
    """Choose one price for all, with probability proportional to exp(epsilon * revenue / largest price).

    Privacy: (epsilon, 0) with bounded range. A higher bid adds to the revenue of some prices and takes from
    none, so there is no factor of 2 in the exponent. [DR14] Example 3.5 and Theorem 3.10.
    Accuracy: the revenue is more than error(beta) below the best of the prices with probability beta at most.
    Truthfulness: no lie gains more than (largest - smallest price) tanh(epsilon / 4) in expectation.
    Time: O(bidders log prices).

    Parameters
    ----------
    prices
        The public prices, increasing; see `price_ladder`.
    epsilon
        The budget of one price.
    neighbours
        `Bidder()`.

    Examples
    --------
    >>> pumpkins = PostedPrice(prices=[1, 3, 3.01, 3.02], epsilon=1, neighbours=Bidder())
    >>> pumpkins.error(0.05)
    12.21
    """

    @property
    def truthfulness(self) -> float:
        """How much money a bidder can gain, at most, in expectation, by another bid than the good's worth."""
        return above(up(self.prices[-1] - self.prices[0]) * self.guarantee.truthfulness)

    def error(self, beta: checks.Number) -> float:
        """Return the revenue that is missed at most, against the best of the prices."""
        return up(self._behind(checks.probability(beta=beta)))

    def _decide(self, read: Integers, rng: Rng) -> int:
        return self._choose(read, rng)

    def _publish(self, decision: int) -> float:
        return float(self.prices[decision])

    def _settle(self, read: Integers, decision: int, rng: Rng) -> tuple[Sequence[Money], Sequence[bool]]:
        del rng
        return self._sell(read, np.full(read.size, decision))


def _tiny() -> Iterator[Tiny]:
    quarters = (0, 0.25, 0.5, 0.75, 1)
    for epsilon, players in ((1, 2), (3, 3)):
        game = PostedPrice(prices=quarters[1:], epsilon=epsilon, neighbours=Bidder())
        yield Tiny(game, list(Bidder().pairs(quarters, players)))


CARD = Card(
    title="One posted price: the pumpkins",
    theorem="(epsilon, 0)-differential privacy; revenue OPT - O(log(prices) / epsilon); lies gain O(epsilon)",
    reference="[DR14] Example 3.5 and Theorem 3.11; [MT07] Section 4",
    example=lambda: (
        PostedPrice(prices=[0.5, 1, 2, 3, 3.01], epsilon=0.5, neighbours=Bidder()),
        [*itertools.islice(itertools.cycle((1.0, 1.0, 1.0, 3.01)), 200)],
    ),
    tiny=_tiny,
)
