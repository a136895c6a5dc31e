"""MinCost: the cheapest survey of a wanted accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rounding import up
from discreet.games.surveys.answers import Answer, OneBit, sort_offers
from discreet.games.surveys.auction import BoughtAnswers, SurveyAuction
from discreet.noise.laws import DiscreteLaplace


@frozen
class MinCost(SurveyAuction):
    """Buy epsilon from all but 1 / epsilon people, the dearest, and pay each what the next one asks.

    Privacy: (epsilon, 0) for one bit. **What people ask is not protected.** [GR11].
    Truthfulness: exact: the price is that of the cheapest who does not sell, or the largest that is paid.
    Accuracy: the number of ones is off by more than error(beta), about (1/2 + log(1 / beta)) / epsilon,
    with probability beta at most, where enough people ask at most `highest`.
    Time: O(n log n).

    Parameters
    ----------
    players
        How many people there are.
    highest
        The largest price of a unit of epsilon that is paid: who asks more does not sell.
    epsilon
        What each seller sells. Below 1 / players nobody sells; above 1 all do who ask at most `highest`.
        `for_error` finds it.
    neighbours
        `OneBit()`.

    Examples
    --------
    >>> survey = MinCost.for_error(alpha=100, beta=1 / 3, players=1000, highest=10, neighbours=OneBit())
    >>> survey.sellers, survey.error(1 / 3)
    (938, 100.0)
    """

    highest: Exact = public(checks.positive)

    @property
    def sellers(self) -> int:
        """How many people sell, where as many ask at most `highest`."""
        return max(0, self.players - math.floor(1 / self.epsilon))

    def purchase(self, answers: Sequence[Answer]) -> BoughtAnswers:
        """Return the cheapest who ask at most `highest`, and what the next one asks."""
        offers = [(value, place) for value, place in sort_offers(answers) if value <= self.highest]
        ask = offers[self.sellers][0] if len(offers) > self.sellers else self.highest
        chosen = frozenset(place for _, place in offers[: self.sellers])
        return BoughtAnswers(chosen, self.epsilon, self.epsilon * ask)

    def error(self, beta: checks.Number) -> float:
        """Return by how much the number of ones is off at most: half of who does not sell, and the noise."""
        noise = DiscreteLaplace(1 / self.epsilon).reach(checks.probability(beta=beta))
        return up(Fraction(self.players - self.sellers, 2) + noise)


def _tiny() -> Iterator[Tiny]:
    asks = [(bit, value) for bit in (0, 1) for value in (0, 1, 5)]
    game = MinCost(players=2, highest=2, epsilon=1, neighbours=OneBit())
    yield Tiny(game, list(OneBit().pairs(asks, 2)))


CARD = Card(
    title="MinCost: the cheapest survey of a wanted accuracy",
    theorem="(epsilon, 0)-differential privacy of answers, not of prices; truth exactly best; error known",
    reference="[GR11]; [DR14] Section 10.3.2",
    example=lambda: (
        MinCost(players=400, highest=10, epsilon=0.05, neighbours=OneBit()),
        [(person % 3 == 0, Fraction(person % 17, 4)) for person in range(400)],
    ),
    tiny=_tiny,
)
