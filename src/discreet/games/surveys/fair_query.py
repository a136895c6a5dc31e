"""FairQuery: the most accurate survey that a budget buys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rounding import above
from discreet.games.surveys.answers import Answer, OneBit, sort_offers
from discreet.games.surveys.auction import BoughtAnswers, SurveyAuction


@frozen
class FairQuery(SurveyAuction):
    """Buy from as many people as a budget allows, all at one price that none of them can move.

    Privacy: who sells loses 1 / (people who do not sell), epsilon at most; (epsilon, 0) for a bit. **What
    people ask is not protected.** [GR11].
    Truthfulness: exact. The k cheapest sell, k the largest with v_k / (n - k) <= budget / k, and each of them
    is paid min(budget / k, v_(k+1) / (n - k)), which the own price does not enter; nobody sells at a loss.
    Accuracy: for k sellers the estimated number of ones is off by more than (n - k)(1/2 + log(1 / beta))
    with probability beta at most; how many sell depends on what they ask.
    Time: O(n log n).

    Parameters
    ----------
    players
        How many people there are, n.
    budget
        What may be paid in all; it is never exceeded.
    epsilon
        What anybody sells at most. Below 1 / players nobody sells; more than 1 is never sold.
    neighbours
        `OneBit()`.
    """

    budget: Exact = public(checks.positive)

    def purchase(self, answers: Sequence[Answer]) -> BoughtAnswers:
        """Return the largest number of sellers that the budget pays for, and their common price."""
        offers, most = sort_offers(answers), max(0, self.players - math.ceil(1 / self.epsilon))
        count = 0
        for place, (value, _) in enumerate(offers[:most], start=1):
            if value * place <= self.budget * (self.players - place):
                count = place
        epsilon = Fraction(1, self.players - count)
        price = self.budget / max(1, count)
        if count < len(offers):
            price = min(price, offers[count][0] * epsilon)
        return BoughtAnswers(frozenset(place for _, place in offers[:count]), epsilon, price)

    def missed(self, sellers: int, *, beta: checks.Number) -> float:
        """Return by how much the number of ones is off at most, where so many sell."""
        others = self.players - checks.index(self.players, sellers=sellers)
        return above(others * (0.5 - math.log(checks.probability(beta=beta))) + 1, 4)

    def error(self, beta: checks.Number) -> float:
        """Refuse: how many sell depends on what they ask.

        Raises
        ------
        NoBound
            Always.
        """
        checks.probability(beta=beta)
        raise NoBound(
            what="the error of a survey on a budget",
            why="it depends on how many people sell, and that on what they ask",
            way_out="Ask missed(sellers, beta=), or use MinCost, whose error is known and whose cost is not",
        )


def _tiny() -> Iterator[Tiny]:
    asks = [(bit, value) for bit in (0, 1) for value in (0, 1, 5)]
    game = FairQuery(players=2, budget=2, epsilon=1, neighbours=OneBit())
    yield Tiny(game, list(OneBit().pairs(asks, 2)))


CARD = Card(
    title="FairQuery: a survey on a budget",
    theorem="(epsilon, 0)-differential privacy of answers, not of prices; truth exactly best; in budget",
    reference="[GR11]; [DR14] Section 10.3.2",
    example=lambda: (
        FairQuery(players=400, budget=20, epsilon=0.05, neighbours=OneBit()),
        [(person % 3 == 0, Fraction(person % 17, 4)) for person in range(400)],
    ),
    tiny=_tiny,
)
