"""A decision among several outcomes, with payments, for people who mind what their report may betray."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import down, up
from discreet.games.common.game import Money
from discreet.games.social_choice.valued import Valued
from discreet.noise.laws import DiscreteLaplace
from discreet.noise.primitives import AddNoise

Decision = tuple[int, tuple[int, ...]]
"""The outcome, and what each outcome counts with all reports, noise and tie-breaks, in fine units."""


@frozen
class PricedVote(Valued):
    """Add noise to what each outcome is worth to all, take the best, and charge what it costs the others.

    Privacy: (epsilon, 0), for the outcome: the noise hides one report among all; only the best is published.
    Payments depend on all reports and on the noise: they are for the payers alone.
    Truthfulness: exact whatever the noise turns out to be, which plays as one more player. Also for those
    who mind up to `largest_fear` times log(ratio) at the outcome: no two outcomes ever tie, so a lie that
    changes the outcome costs 1 / outcomes of a unit at least. [CCKMV13], [DR14] Section 10.3.3.
    Accuracy: the welfare is more than error(beta) below the best with probability beta at most.
    Time: O(players * outcomes).

    Parameters
    ----------
    outcomes
        The names of what can be decided.
    epsilon
        The budget of one decision.
    grid
        The unit of utilities between 0 and 1: one over a whole number.
    neighbours
        `Bidder()`.
    """

    @property
    def noise(self) -> DiscreteLaplace:
        """Two-sided geometric noise, of scale 2 / epsilon in whole utilities."""
        return DiscreteLaplace(2 / (self.grid * self.epsilon))

    @property
    def loss(self) -> Loss:
        """Pure: given all other noise, an outcome wins from some noise of its own on, which moves by 2."""
        return PureLoss(self.epsilon)

    @property
    def truthfulness(self) -> float:
        """Nothing is gained, for utilities on the grid."""
        return 0.0

    @property
    def largest_fear(self) -> float:
        """How much a player may value one unit of log(ratio) and still do best by the truth."""
        return down(self.grid / len(self.outcomes) / (2 * self.epsilon))

    def error(self, beta: checks.Number) -> float:
        """Return twice the noise that some outcome exceeds with probability beta at most."""
        b = checks.probability(beta=beta)
        if len(self.outcomes) == 1:
            return 0.0
        return up(2 * self.noise.reach(2 * b / len(self.outcomes)) * self.grid)

    def _decide(self, read: Integers, rng: Rng) -> Decision:
        size = len(self.outcomes)
        step = AddNoise(self.noise, Fraction(size) / self.grid)
        noisy = np.asarray(rng.perform(step, read.sum(axis=0)))
        # Fractions of a unit that differ: no two outcomes tie, whatever anybody reports.
        fine = [int(units) * size + place for place, units in enumerate(noisy)]
        return int(np.argmax(np.array(fine, dtype=object))), tuple(fine)

    def _publish(self, decision: Decision) -> Hashable:
        return self.outcomes[decision[0]]

    def _settle(self, read: Integers, decision: Decision, rng: Rng) -> tuple[Sequence[Money], Sequence[None]]:
        del rng
        winner, fine = decision
        # Beyond 64 bits numpy would take some of these for floats, and payments would be off.
        kind = np.int64 if max(map(abs, fine)) < 1 << 62 else object
        without = np.array(fine, dtype=kind) - read * len(fine)
        missed = without.max(axis=1) - without[:, winner]
        unit = self.grid / len(fine)
        return [units * unit for units in missed.tolist()], (None,) * len(read)


def _tiny() -> Iterator[Tiny]:
    game = PricedVote(outcomes="ab", epsilon=6, grid=1, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs(((0, 1), (1, 0)), 2)), tight=False)
    crowd = ((0, 1), (0, 1))
    yield Tiny(game, [((*crowd, (1, 0)), (*crowd, (0, 1))), ((*crowd, (0, 1)), (*crowd, (1, 0)))])


CARD = Card(
    title="Vote among several outcomes, with payments",
    theorem="(epsilon, 0)-differential privacy; truth best whatever the noise, also for who values privacy",
    reference="[CCKMV13]; [DR14] Section 10.3.3",
    example=lambda: (
        PricedVote(outcomes=("mill", "market", "station"), epsilon=0.5, grid=0.1, neighbours=Bidder()),
        [[(7 * player + 3 * place) % 11 / 10 for place in range(3)] for player in range(80)],
    ),
    tiny=_tiny,
)
