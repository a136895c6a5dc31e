"""Joint privacy: all the others together learn little of a report; what its owner is told may depend on it.

The billboard lemma is the whole proof: publish something privately, and tell every player only what follows
from that, from the own report and from lots of the own. Then whatever the others are told, put together, is
worked out from what was published without looking at the hidden report again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import BidderToOthers
from discreet.core.parameters import Public, frozen, public
from discreet.core.rng import Rng
from discreet.games.common.game import Game, Outcome


@dataclass(frozen=True, slots=True)
class SharedView:
    """What some players see if they put everything they received together.

    Attributes
    ----------
    decision
        What is for everybody.
    payments, signals
        What is for each of these players, in their order.
    """

    decision: Hashable
    payments: tuple[Any, ...]
    signals: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"SharedView({self.decision!r}, with what {len(self.signals)} players pay and are told)"


@frozen
class Billboard(Game):
    """A game in which a payment and a signal follow from what is published, the own report and own lots.

    Then `run` is private, too, towards everybody but the player whose report changes: `joint_guarantee`.
    """

    @property
    def joint_guarantee(self) -> Guarantee:
        """What all the others together learn of a report from everything they are told."""
        return Guarantee(self.loss, BidderToOthers())

    def seen_by_others(self, player: int, *, players: int) -> OthersView:
        """Return what all but one player see of a run, as a mechanism of its own: for audits.

        Parameters
        ----------
        player
            The one whose report changes between neighbours.
        players
            How many there are.
        """
        hidden = checks.index(players, player=player)
        return OthersView(game=self, observers=[place for place in range(players) if place != hidden])


def read_billboard(**named: Any) -> Billboard:
    """Read a game that promises joint privacy."""
    game: Billboard = checks.instance(Billboard, **named)
    return game


def _read_players(**named: Iterable[int]) -> tuple[int, ...]:
    return checks.each(lambda **one: checks.integer(0, **one), **named)


@frozen
class OthersView(Mechanism[Any, SharedView]):
    """What some players together see of a run, with the joint guarantee as its own.

    What it releases is for these players and nobody else: it is there for audits, and no session takes it.

    An audit of this mechanism, on reports that differ in those of a player who is not among them, checks the
    promise.

    Parameters
    ----------
    game
        What is played.
    observers
        The numbers of the players who put everything together.
    """

    game: Billboard = public(read_billboard)
    observers: Public[Iterable[int], tuple[int, ...]] = public(_read_players)

    @property
    def neighbours(self) -> BidderToOthers:  # type: ignore[override]
        """The promise: one report, towards all the others."""
        return BidderToOthers()

    @property
    def loss(self) -> Loss:
        """What the others learn."""
        return self.game.joint_guarantee.loss

    def error(self, beta: checks.Number) -> float:
        """Return the error of the game."""
        return self.game.error(beta)

    def _draw(self, data: Any, rng: Rng) -> SharedView:
        outcome: Outcome = self.game.run(data, rng=rng)
        kept = [place for place in self.observers if place < len(outcome.signals)]
        return SharedView(
            outcome.decision,
            tuple(outcome.payments[place] for place in kept),
            tuple(outcome.signals[place] for place in kept),
        )
