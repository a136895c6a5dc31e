"""What both survey auctions share: some people's bits are bought, the rest is taken for a half each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.games.common.game import Money
from discreet.games.surveys.answers import Answer, Survey, require_one_bit
from discreet.noise.laws import DiscreteLaplace
from discreet.noise.primitives import AddNoise


@dataclass(frozen=True, slots=True)
class BoughtAnswers:
    """Whose bits are bought, the epsilon that each of them sells, and what each is paid."""

    sellers: frozenset[int]
    epsilon: Fraction
    price: Fraction


@frozen
class SurveyAuction(Survey):
    """Buy from the cheapest; add noise to the sum of their bits; take half of everybody else."""

    neighbours: Neighbours = public(require_one_bit)

    @property
    def loss(self) -> Loss:
        """Pure: nobody sells more than epsilon."""
        return PureLoss(self.epsilon)

    @abstractmethod
    def purchase(self, answers: Sequence[Answer]) -> BoughtAnswers:
        """Return who is bought from at what price: a function of what people ask alone."""

    def _decide(self, read: list[Answer], rng: Rng) -> tuple[BoughtAnswers, float]:
        bought = self.purchase(read)
        ones = sum(read[place][0] for place in bought.sellers)
        noisy = int(rng.perform(AddNoise(DiscreteLaplace(1 / bought.epsilon), Fraction(1)), ones))
        return bought, noisy + (self.players - len(bought.sellers)) / 2

    def _publish(self, decision: tuple[BoughtAnswers, float]) -> float:
        return decision[1]

    def _settle(
        self, read: list[Answer], decision: tuple[BoughtAnswers, float], rng: Rng
    ) -> tuple[Sequence[Money], Sequence[Fraction]]:
        del rng
        bought, nothing = decision[0], Fraction(0)
        sold = [place in bought.sellers for place in range(len(read))]
        paid = [-bought.price if each else nothing for each in sold]
        return paid, [bought.epsilon if each else nothing for each in sold]
