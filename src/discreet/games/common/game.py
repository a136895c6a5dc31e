"""One face for everything that people report to: a decision for all, and a payment and a signal for each.

The decision is what the guarantee is about. What a player pays and is told goes to that player alone: it may
depend on the own report as it likes, and on the others' through the decision, unless a mechanism says more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.mechanism import Mechanism, Release
from discreet.core.neighbours import Bidder, Neighbours
from discreet.core.parameters import frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.games.common.misreports import MisreportGain, find_misreport, list_profiles

Money = Fraction | float


def require_published(kind: type, **named: Any) -> None:
    """Refuse what is not the value that a game published: a release or an outcome holds it, and is not it."""
    ((name, given),) = named.items()
    if type(given) is not kind:
        hint = "Pass outcome.decision, or the value of a release"
        got = f"a {type(given).__name__}"
        raise InvalidParameter(name=name, rule=f"the {kind.__name__} that was published", got=got, hint=hint)


def require_bidders(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must differ in one player's report: who takes part is public."""
    checks.instance(Neighbours, neighbours=neighbours)
    if not isinstance(neighbours, Bidder):
        raise NeighboursMismatch(f"games hide one player's report, not {neighbours}: pass Bidder()")
    return neighbours


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the reports.

    Attributes
    ----------
    public
        The decision, as everybody may see it, with its guarantee.
    payments
        What each player pays, for that player alone; below 0 is what the player is paid.
    signals
        What each player is told besides, for that player alone.
    """

    public: Release[Any]
    payments: tuple[Money, ...]
    signals: tuple[Any, ...]

    @property
    def decision(self) -> Any:
        """The value of the public release."""
        return self.public.value

    def __repr__(self) -> str:
        return f"Outcome({self.public!r}, with payments and signals for the players alone)"


@frozen
class Game(Mechanism[Any, Any]):
    """What all games share. `release` publishes the decision; `run` also settles with every player.

    Parameters
    ----------
    neighbours
        `Bidder()`: one player's report is hidden, and who takes part is public.
    """

    neighbours: Neighbours = public(require_bidders)
    measures: ClassVar[bool] = False

    def run(self, reports: Any, *, rng: Rng = SYSTEM) -> Outcome:
        """Decide, and say what each player pays and is told. Only the decision is for everybody."""
        checks.instance(Rng, rng=rng)
        read = self._read(Sensitive.wrap(reports).reveal())
        decision = self._decide(read, rng)
        payments, signals = self._settle(read, decision, rng)
        return Outcome(Release(self._publish(decision), self, rng.unsafe), tuple(payments), tuple(signals))

    def _draw(self, data: Any, rng: Rng) -> Any:
        return self._publish(self._decide(self._read(data), rng))

    @property
    def truthfulness(self) -> float:
        """How much a player can gain, at most, in expectation, by reporting something else."""
        return self.guarantee.truthfulness

    def misreport_gain(self, *, types: Sequence[Any], players: int) -> MisreportGain:
        """Return the most any player gains by any lie, in all profiles of these types: for tiny games.

        Parameters
        ----------
        types
            What a player may truly want, and may report.
        players
            How many players there are; all profiles of so many are tried.
        """
        kinds = checks.several(types=types)
        return find_misreport(self, profiles=list_profiles(kinds, players), lies=kinds, worth=self.utility)

    @abstractmethod
    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what an outcome is worth for a player who is truly of a kind, less what is paid."""

    @abstractmethod
    def _read(self, data: Any) -> Any:
        """Read the reports. One odd report counts as a declared one, and decides nothing else."""

    @abstractmethod
    def _decide(self, read: Any, rng: Rng) -> Any:
        """Decide for all; all randomness goes through `rng.perform`."""

    def _publish(self, decision: Any) -> Any:
        """Return what is published of the decision: all of it, unless a game says otherwise."""
        return decision

    @abstractmethod
    def _settle(self, read: Any, decision: Any, rng: Rng) -> tuple[Sequence[Money], Sequence[Any]]:
        """Return what each player pays, and what each is told."""
