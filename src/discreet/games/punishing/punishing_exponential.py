"""Truth that is exactly best, without payments: the exponential mechanism, and now and then a commitment."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_down, shorten_up, up
from discreet.games.common.game import Money, Outcome
from discreet.games.common.joint import Billboard
from discreet.games.common.reports import find_kind, find_reports
from discreet.games.punishing.environment import Environment, find_commitment
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import ExponentialChoice


@dataclass(frozen=True, slots=True)
class Committed:
    """What was decided, and whether everybody is held to the own report.

    Attributes
    ----------
    outcome
        The name of the outcome.
    held
        Whether players must react as is best for what they reported. Else they react as they like.
    """

    outcome: Hashable
    held: bool


@frozen
class Punishing(Billboard):
    """What all punishing mechanisms share: an environment, and how often reports are held."""

    epsilon: Exact = public(checks.positive)
    privacy_value: Exact = public(checks.non_negative, default=Fraction(0))
    held: Fraction = derived()

    if TYPE_CHECKING:

        @property
        def environment(self) -> Environment:
            """Types, outcomes, reactions and utilities."""

    def _complete(self) -> None:
        alike = self.environment.find_alike()
        if alike is not None:
            raise InvalidParameter(
                name="environment",
                rule="one in which every lie costs something at some outcome",
                got=f"one in which {alike[0]!r} reacts to everything as well as {alike[1]!r}",
                hint="No commitment punishes that lie: allow more reactions, or call these one type",
            )
        move, least = Fraction(above(self.guarantee.truthfulness)), self.increase
        feared = self.epsilon * self.privacy_value
        if feared >= least:
            raise InvalidParameter(
                name="privacy_value",
                rule="below what a lie costs where reports are held, over epsilon",
                value=self.privacy_value,
                hint="Take a smaller epsilon",
            )
        self._set(held=shorten_up((move + feared) / (move + least), 12))

    @classmethod
    def for_players(cls, players: int, **public: Any) -> Self:
        """Return the mechanism whose expected welfare is best for so many players, nearly.

        Parameters
        ----------
        players
            How many there are.
        public
            All parameters but epsilon.
        """
        count = checks.integer(1, players=players)
        one = cls(epsilon=Fraction(1, 10**6), **public)
        logarithm = math.log(max(2, len(one.environment.outcomes)))
        wanted = math.sqrt(8 * float(one.increase) * logarithm / count)
        return cls(epsilon=shorten_down(Fraction(wanted), 6), **public)

    @classmethod
    def for_error(cls, *, alpha: checks.Number, beta: checks.Number, **public: Any) -> Self:
        """Refuse: a larger epsilon brings the choice nearer to the best and holds reports more often.

        Raises
        ------
        NoBound
            Always.
        """
        raise NoBound(
            what=f"an epsilon for error({float(beta):g}) <= {float(alpha):g}",
            why="a larger one is not always better, because reports are held more often",
            way_out="Use for_players, which takes the epsilon that is best for so many",
        )

    @property
    def commitment(self) -> tuple[int, ...]:
        """How often each outcome is drawn where reports are held, relative to the others."""
        return find_commitment(self.environment)

    @property
    def increase(self) -> Fraction:
        """What any lie costs its teller at least, in expectation, where reports are held."""
        return self.environment.increase(self.commitment)

    @property
    def choice(self) -> ExponentialChoice:
        """The random step where reports are not held."""
        spread = 2 * int(1 / self.environment.unit)
        return ExponentialChoice(rate_within(self.epsilon, spread), Fraction(spread))

    @property
    def loss(self) -> Loss:
        """That of the exponential mechanism: whether and at what reports are held is drawn without them."""
        return BoundedRangeLoss(self.choice.rate * self.choice.sensitivity)

    @property
    def truthfulness(self) -> float:
        """Nothing is gained: (1 - held) tanh(epsilon / 4) is less than what a lie costs with `held`."""
        return 0.0

    def welfare_loss(self, players: int) -> float:
        """Return by how much the mean utility is below the best at most, in expectation.

        The exponential mechanism loses 2 log(outcomes) / epsilon in all; held to reports, all may be lost.
        """
        count = checks.integer(1, players=players)
        chosen = (
            2 * math.log(len(self.environment.outcomes)) / float(self.choice.rate * self.choice.sensitivity)
        )
        return min(1.0, above(up(self.held) + up(1 - self.held) * chosen / count, 4))

    def error(self, beta: checks.Number) -> float:
        """Return the welfare, of all players together, that is missed at most with probability 1 - beta.

        Raises
        ------
        NoBound
            Where reports are held more often than that.
        """
        b = checks.probability(beta=beta)
        if b <= self.held:
            raise NoBound(
                what="the welfare at so small a beta",
                why=f"the outcome is drawn by lot with probability {float(self.held):.4g}",
                way_out="Take a smaller epsilon, or ask welfare_loss for the expectation",
            )
        rest = (b - self.held) / (1 - self.held)
        odds = (len(self.environment.outcomes) - 1) * (1 - rest) / rest
        return up(units_behind(odds, self.choice.rate) * self.environment.unit)

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what the outcome is worth for a type that reacts as it likes, or as it must."""
        types, decided = self.environment.types, outcome.decision
        true, place = find_kind(types, kind), self.environment.outcomes.index(decided.outcome)
        units = int(self.environment.best[true, place])
        if decided.held:
            units -= int(self.environment.gaps[true, types.index(outcome.signals[player]), place])
        return units * self.environment.unit

    def _read(self, data: Any) -> Integers:
        return find_reports(data, self.environment.types, "types, one a player")

    def _decide(self, read: Integers, rng: Rng) -> tuple[int, bool]:
        none = np.zeros(2, dtype=np.int64)
        if rng.perform(ExponentialChoice(Fraction(1), Fraction(1), (1 - self.held, self.held)), none):
            drawn = [place for place, often in enumerate(self.commitment) if often]
            often = tuple(Fraction(self.commitment[place]) for place in drawn)
            one = rng.perform(
                ExponentialChoice(Fraction(1), Fraction(1), often), np.zeros(len(drawn), dtype=int)
            )
            return drawn[one], True
        # Whoever reports no type adds to no outcome.
        counts = np.bincount(read[read >= 0], minlength=len(self.environment.types))
        return rng.perform(self.choice, counts @ self.environment.best), False

    def _publish(self, decision: tuple[int, bool]) -> Committed:
        return Committed(self.environment.outcomes[decision[0]], decision[1])

    def _settle(
        self, read: Integers, decision: tuple[int, bool], rng: Rng
    ) -> tuple[Sequence[Money], Sequence[Hashable]]:
        """Nobody pays. Where reports are held each is told the type to react as; no type is the first."""
        del rng
        types, held = self.environment.types, decision[1]
        return (Fraction(0),) * len(read), [types[max(0, place)] if held else None for place in read.tolist()]

    def reaction(self, decided: Committed, kind: Hashable) -> Hashable:
        """Return the reaction that is best for a type; for who is held, the one that is imposed."""
        place = self.environment.outcomes.index(decided.outcome)
        one = int(self.environment.reacts[find_kind(self.environment.types, kind), place])
        return self.environment.reactions[one]


@frozen
class PunishingExponential(Punishing):
    """Choose an outcome privately; with a small probability draw one by lot and hold everybody to the report.

    Privacy: (epsilon, 0) with bounded range, **for the outcome alone**. Where reports are held, a player's
    reaction is a function of the own report, and whoever watches it learns about that.
    Truthfulness: exact, without payments. [NST12], [DR14] Definitions 10.4 to 10.6 and Theorem 10.3, where
    reports are held more often than need be.
    Accuracy: welfare_loss(players), in expectation; or error(beta). [DR14] Theorem 10.4.
    Time: O(players + types * outcomes).

    Parameters
    ----------
    environment
        Types, outcomes, reactions and what they are worth.
    epsilon
        The budget of one decision. `for_players` takes the best.
    neighbours
        `Bidder()`.
    privacy_value
        Players whose fear of being found out is worth at most epsilon times this still do best by the truth.
    """

    environment: Environment = public(checks.exactly, Environment)


def _small() -> Environment:
    """Two ways to cross a river, a bridge and a ferry, of which one is built; people may also swim."""
    worth = [[[1, 0, 0.25], [0, 0.5, 0.25]], [[0.5, 0, 0.75], [0, 1, 0.75]]]
    return Environment(
        types=("walker", "rower"),
        outcomes=("bridge", "ferry"),
        reactions=("walk", "row", "swim"),
        utilities=worth,
        grid=0.25,
    )


def _tiny() -> Iterator[Tiny]:
    environment = _small()
    game = PunishingExponential(environment=environment, epsilon=1, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs((*environment.types, None), 3)), tight=False)
    # Types that want opposite outcomes, and take the other's reaction for worthless.
    apart = Environment(
        types="ab", outcomes="xy", reactions="lr", utilities=[[[0, 1], [0, 0]], [[0, 0], [0, 1]]], grid=1
    )
    yield Tiny(
        PunishingExponential(environment=apart, epsilon=2, neighbours=Bidder()), list(Bidder().pairs("ab", 3))
    )


CARD = Card(
    title="Punishing exponential mechanism: truth without payments",
    theorem="(epsilon, 0)-differential privacy of the outcome; truth exactly best; no money changes hands",
    reference="[NST12]; [DR14] Definitions 10.4 to 10.6, Theorems 10.3 and 10.4",
    example=lambda: (
        PunishingExponential(environment=_small(), epsilon=0.05, neighbours=Bidder()),
        [*itertools.islice(itertools.cycle(("walker", "rower", "walker")), 300)],
    ),
    tiny=_tiny,
)
