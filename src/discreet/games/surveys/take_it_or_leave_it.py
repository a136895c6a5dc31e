"""Take it or leave it: a survey that hides what people ask, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.rng import Rng
from discreet.games.common.game import Money
from discreet.games.common.joint import Billboard
from discreet.games.surveys.answers import Answer, Survey
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.laws import DiscreteLaplace
from discreet.noise.primitives import AddNoise


def _read_offers(**named: Iterable[checks.Number]) -> tuple[Fraction, ...]:
    ((name, _),) = named.items()
    offers = checks.each(checks.positive, **named)
    if not offers or any(a >= b for a, b in pairwise(offers)):
        raise InvalidParameter(
            name=name, rule="increasing prices, at least one", got=f"{len(offers)} of them"
        )
    return offers


@dataclass(frozen=True, slots=True)
class Offered:
    """What came of the offers.

    Attributes
    ----------
    offer
        The price at which enough people took it; None where even the last was left by too many.
    estimate
        The estimated number of ones among all, in [0, players]; None likewise.
    """

    offer: Fraction | None
    estimate: float | None


@frozen
class TakeItOrLeaveIt(Survey, Billboard):
    """Offer one group after the other a rising price, until enough take it, and count there.

    Privacy: (epsilon, 0) **for the bit and for what is asked**, `Bidder()`: everybody is in one group, whose
    two noisy counts are all that anybody learns; jointly so for all that the others are told and paid. After
    [LR12].
    Truthfulness: exact, for whom epsilon costs something only if it is sold: the own offer does not depend on
    the own reply, so it is taken if it is worth that. Who leaves it is not paid and is counted as leaving, at
    the same epsilon. Whoever minds that as much gains by taking every offer: that nobody can be spared this
    is what the impossibility for sensitive prices says.
    Accuracy: no bound: those who leave the offer are taken for half ones, and they may all be alike.
    Time: O(players).

    Parameters
    ----------
    players
        How many people there are.
    offers
        The prices, increasing: what is paid for taking part, not for a unit.
    share
        The noisy share of a group that must take its offer.
    epsilon
        The budget of each person, whatever the reply.
    neighbours
        `Bidder()`.
    """

    offers: Public[Iterable[checks.Number], tuple[Fraction, ...]] = public(_read_offers)
    share: Exact = public(checks.probability)

    @property
    def loss(self) -> Loss:
        """Pure: one person is in one group and moves its two counts by 2 together at most."""
        return PureLoss(self.epsilon)

    def error(self, beta: checks.Number) -> float:
        """Refuse: those who leave the offer may be anybody.

        Raises
        ------
        NoBound
            Always.
        """
        checks.probability(beta=beta)
        raise NoBound(
            what="the error of a survey of those who like the price",
            why="nobody knows what the others would have answered",
            way_out="Raise share: at most half of those who leave the offer are missed",
        )

    def _decide(self, read: list[Answer], rng: Rng) -> tuple[tuple[int, ...], int, Offered]:
        groups = rng.perform(Partition(len(self.offers)), len(read))
        step = AddNoise(DiscreteLaplace(2 / self.epsilon), Fraction(2))
        for place, offer in enumerate(self.offers):
            group = [answer for answer, own in zip(read, groups, strict=True) if own == place]
            taken = [bit for bit, value in group if self._takes(value, offer)]
            took, ones = (int(n) for n in np.asarray(rng.perform(step, np.array([len(taken), sum(taken)]))))
            if took >= self.share * len(group) and group:
                likely = (ones + (len(group) - took) / 2) / len(group)
                return groups, place, Offered(offer, min(1.0, max(0.0, likely)) * self.players)
        return groups, len(self.offers) - 1, Offered(None, None)

    def _takes(self, value: Fraction | None, offer: Fraction) -> bool:
        return value is not None and value * self.epsilon <= offer

    def _publish(self, decision: tuple[tuple[int, ...], int, Offered]) -> Offered:
        return decision[2]

    def _settle(
        self, read: list[Answer], decision: tuple[tuple[int, ...], int, Offered], rng: Rng
    ) -> tuple[Sequence[Money], Sequence[Fraction]]:
        """Pay who took an offer that was made. Who left it sold nothing, and was counted all the same."""
        del rng
        groups, last, _ = decision
        paid, sold = [], []
        for (_, value), group in zip(read, groups, strict=True):
            takes = group <= last and self._takes(value, self.offers[group])
            paid.append(-self.offers[group] if takes else Fraction(0))
            sold.append(self.epsilon if takes else Fraction(0))
        return paid, sold


def _tiny() -> Iterator[Tiny]:
    kinds = ((0, 1), (1, 1), (0, 9), (1, 9))
    once = TakeItOrLeaveIt(players=2, offers=[12], share=0.5, epsilon=6, neighbours=Bidder())
    yield Tiny(once, list(Bidder().pairs(kinds, 2)))


CARD = Card(
    title="Take-it-or-leave-it survey",
    theorem="(epsilon, 0)-differential privacy of answers and of prices; truth exactly best",
    reference="[LR12]; [DR14] Section 10.3.2",
    example=lambda: (
        TakeItOrLeaveIt(players=600, offers=[0.1, 0.5, 2], share=0.7, epsilon=0.5, neighbours=Bidder()),
        [(person % 3 == 0, Fraction(person % 17, 4)) for person in range(600)],
    ),
    tiny=_tiny,
)
