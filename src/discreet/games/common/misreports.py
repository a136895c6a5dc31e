"""What a lie gains, by trying all of them: for tiny games and for any other mechanism that people report to.

The shipped code runs along every path of its random steps, so what is found is the expectation itself, but
for a part of 2**-60 where a step has no end. For games of any size some lies are tried in a number of runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.mechanism import Mechanism
from discreet.core.rng import SYSTEM, Primitive, Rng
from discreet.optimisation.common.repeated_choices import Perform, enumerate_runs

Profile = tuple[Any, ...]
Worth = Callable[[Any, Any, int], Fraction | float]
"""What an outcome is worth: for the true kind of a player, the outcome, and the player's number."""

MOST_PROFILES = 1_000_000
"""What is tried at most, which takes hours."""


class Played(Protocol):
    """What reports can be played into."""

    def run(self, reports: Any, *, rng: Rng) -> Any:
        """Return the outcome."""


@dataclass(frozen=True, slots=True)
class MisreportGain:
    """The most that a lie gained among all that were tried.

    Attributes
    ----------
    gain
        How much, in expectation. Never below 0: telling the truth was among what was tried.
    player, profile, lie
        Who gains it, where all players are truly of these kinds, by reporting what.
    """

    gain: float
    player: int
    profile: Profile
    lie: Any


class _AlongAPath(Rng):
    """Performs every step as an enumeration says, and has no bits of its own."""

    unsafe = True

    def __init__(self, perform: Perform) -> None:
        self._perform = perform

    def random_bytes(self, count: int) -> bytes:
        raise InternalError(f"{count} bytes were drawn outside of any random step")

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        outcome = self._perform(primitive, value)
        return np.array(outcome) if isinstance(value, np.ndarray) and isinstance(outcome, tuple) else outcome


def enumerate_outcomes(game: Played | Mechanism[Any, Any], reports: Any) -> Iterator[tuple[Any, Fraction]]:
    """Yield what comes of the reports on every path of the random steps, with its probability."""
    if hasattr(game, "run"):
        yield from enumerate_runs(lambda perform: game.run(reports, rng=_AlongAPath(perform)))
        return
    checks.instance(Mechanism, mechanism=game)
    yield from enumerate_runs(lambda perform: game.release(reports, rng=_AlongAPath(perform)).value)


def list_profiles(types: Sequence[Any], players: int) -> Iterator[Profile]:
    """Return everything that so many players may truly be, one after the other."""
    kinds, count = checks.several(types=types), checks.integer(1, players=players)
    if len(kinds) ** min(count, MOST_PROFILES.bit_length()) > MOST_PROFILES:
        rule = f"few enough for {MOST_PROFILES} profiles: {len(kinds)} types ** players"
        hint = "Every lie is tried in every profile: ask about fewer players or fewer types"
        raise InvalidParameter(name="players", rule=rule, value=players, hint=hint)
    return itertools.product(kinds, repeat=count)


def find_misreport(
    game: Played | Mechanism[Any, Any], *, profiles: Iterable[Profile], lies: Iterable[Any], worth: Worth
) -> MisreportGain:
    """Return the lie that gains most, over all players of all profiles; the others tell the truth.

    Since the profiles are all, the others' reports are all there can be: what is found bounds the gain
    whatever the others do.

    Parameters
    ----------
    game
        A game, or any mechanism whose data are one report a player.
    profiles
        What the players truly are.
    lies
        What a player may report.
    worth
        What an outcome is worth for a player.
    """
    # Known by identity: reports may be lists, and 1, 1.0 and True are read differently.
    known: dict[tuple[int, ...], tuple[Profile, list[tuple[Any, Fraction]]]] = {}

    def expect(kind: Any, reports: Profile, player: int) -> Fraction | float:
        same = tuple(map(id, reports))
        if same not in known:
            known[same] = reports, list(enumerate_outcomes(game, reports))
        return sum(chance * worth(kind, outcome, player) for outcome, chance in known[same][1])

    given, told = _read_tried(profiles=profiles), _read_tried(lies=lies)
    best = MisreportGain(0.0, 0, (), None)
    for profile in map(tuple, given):
        for player, kind in enumerate(profile):
            honest = expect(kind, profile, player)
            for lie in told:
                reports = (*profile[:player], lie, *profile[player + 1 :])
                gain = float(expect(kind, reports, player) - honest)
                if gain > best.gain:
                    best = MisreportGain(gain, player, profile, lie)
    return best


def _read_tried(**named: Iterable[Any]) -> tuple[Any, ...]:
    ((name, _),) = named.items()
    tried = checks.several(**named)
    if not tried:
        raise InvalidParameter(name=name, rule="at least one", value=0)
    return tried


@dataclass(frozen=True, slots=True)
class LikelyGain:
    """What a lie gained in a number of runs: the one that looked best in as many runs before.

    Attributes
    ----------
    gain, deviation
        The mean of what it gained, which may be below 0, and the standard error of that.
    player, lie
        Who told it, and what it is.
    """

    gain: float
    deviation: float
    player: int
    lie: Any


def _draw_anew(run: int) -> Rng:
    del run
    return SYSTEM


def search_misreport(
    game: Played,
    *,
    reports: Sequence[Any],
    players: Iterable[int],
    lies: Sequence[Any],
    worth: Worth,
    runs: int,
    randomness: Callable[[int], Rng] = _draw_anew,
) -> LikelyGain:
    """Return what the best of some lies gains in a game of any size: an estimate, and no bound.

    The best lie is picked in some runs and measured in as many others, so that picking it flatters nothing.

    Parameters
    ----------
    game
        A game.
    reports
        What the players truly are, and report but for the liar.
    players
        Who may lie.
    lies
        What a player may report.
    worth
        What an outcome is worth for a player: `game.utility`, mostly.
    runs
        How often the truth and each lie are run, two at least; and again the truth and the best lie.
    randomness
        What the k-th run draws from. Truth and lie draw from the same, which with seeded generators takes
        most of the noise out of the difference.
    """
    many, honest = checks.integer(2, runs=runs), list(checks.several(reports=reports))
    liars, told = checks.several(players=players), checks.several(lies=lies)
    tried = [(checks.index(len(honest), players=player), lie) for player in liars for lie in told]
    if not tried:
        raise InvalidParameter(name="lies", rule="at least one, for at least one player", value=0)
    truths = [game.run(honest, rng=randomness(turn)) for turn in range(2 * many)]

    def differ(pair: tuple[int, Any], turns: range) -> list[float]:
        (player, lie), gains = pair, []
        told, kind = [*honest[:player], lie, *honest[player + 1 :]], honest[player]
        for turn in turns:
            new = worth(kind, game.run(told, rng=randomness(turn)), player)
            gains.append(float(new) - float(worth(kind, truths[turn], player)))
        return gains

    best = max(tried, key=lambda pair: math.fsum(differ(pair, range(many))))
    gains = differ(best, range(many, 2 * many))
    mean = math.fsum(gains) / many
    square = math.fsum((gain - mean) ** 2 for gain in gains) / (many - 1)
    return LikelyGain(mean, math.sqrt(square / many), *best)
