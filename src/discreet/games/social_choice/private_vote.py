"""A vote between two outcomes, for people who mind what their vote may betray."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.games.common.game import Money, Outcome
from discreet.games.common.joint import Billboard
from discreet.games.common.reports import find_reports
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import FlippedChoice
from discreet.optimisation.common.labels import read_labels


def _read_two(**named: Iterable[Hashable]) -> tuple[Hashable, ...]:
    ((name, given),) = named.items()
    names = read_labels(checks.several(**{name: given}) if not isinstance(given, str) else given, name)
    if len(set(names)) != 2 or len(names) != 2:
        raise InvalidParameter(
            name=name, rule="two different names", value=names, hint="Use PricedVote for more outcomes"
        )
    return names


@frozen
class PrivateVote(Billboard):
    """Decide between two outcomes by votes; the fewer win with probability exp(-epsilon gap / 2) / 2.

    Privacy: (epsilon, 0): one changed vote moves the gap by 2. [DR14] Section 10.3.3, where the printed noise
    is half of what its claim needs.
    Truthfulness: exact, also for players who mind how far their own report can move the probability of what
    came out, its logarithm, if the outcomes are worth more than `required_gap` apart to them.
    Accuracy: the winner is more than error(beta) votes behind with probability beta at most; exact.
    Time: O(votes).

    Parameters
    ----------
    outcomes
        Two names.
    epsilon
        The budget of one decision.
    neighbours
        `Bidder()`.

    Examples
    --------
    >>> PrivateVote(outcomes=("bridge", "ferry"), epsilon=0.1, neighbours=Bidder()).error(0.05)
    46.0
    """

    outcomes: Public[Iterable[Hashable], tuple[Hashable, ...]] = public(_read_two)
    epsilon: Exact = public(checks.positive)

    @property
    def choice(self) -> FlippedChoice:
        """The random step: permute and flip with two candidates, which is Laplace noise on the gap."""
        return FlippedChoice(rate_within(self.epsilon, 2), Fraction(2))

    @property
    def loss(self) -> Loss:
        """Pure: a changed vote moves the gap by 2."""
        return PureLoss(2 * self.choice.rate)

    @property
    def truthfulness(self) -> float:
        """Nothing is gained: a vote for an outcome makes it more probable and nothing else."""
        return 0.0

    @property
    def required_gap(self) -> float:
        """How far apart the outcomes must be worth for a player who minds those logarithms one for one.

        Against any others' votes a lie moves probability from the outcome that is liked to the other. That
        loses the gap, and saves what is minded of the one less what is of the other: 2 epsilon at most.
        """
        return up(2 * self.loss.value)  # type: ignore[attr-defined]

    def error(self, beta: checks.Number) -> float:
        """Return by how many votes the winner may be behind: exp(-rate (votes + 1)) / 2 <= beta."""
        return float(units_behind(1 / (2 * checks.probability(beta=beta)), self.choice.rate))

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return 1 for the outcome that is liked."""
        del player
        return Fraction(int(outcome.decision == kind))

    def _read(self, data: Any) -> Integers:
        return find_reports(data, self.outcomes, "names of outcomes, one a player")

    def _decide(self, read: Integers, rng: Rng) -> int:
        """Whoever names no outcome has no vote."""
        return rng.perform(self.choice, np.bincount(read[read >= 0], minlength=2))

    def _publish(self, decision: int) -> Hashable:
        return self.outcomes[decision]

    def _settle(self, read: Integers, decision: int, rng: Rng) -> tuple[Sequence[Money], Sequence[None]]:
        """Nobody pays, and nobody is told more than all."""
        del decision, rng
        return (Fraction(0),) * read.size, (None,) * read.size


def _tiny() -> Iterator[Tiny]:
    game = PrivateVote(outcomes="ab", epsilon=1, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs(("a", "b", None), 4)))


CARD = Card(
    title="Private vote between two outcomes",
    theorem="(epsilon, 0)-differential privacy; truth exactly best, for players who value privacy too",
    reference="[CCKMV13]; [DR14] Section 10.3.3, with its noise doubled",
    example=lambda: (
        PrivateVote(outcomes=("bridge", "ferry"), epsilon=0.1, neighbours=Bidder()),
        [*itertools.islice(itertools.cycle(("bridge", "ferry", "bridge")), 500)],
    ),
    tiny=_tiny,
)
