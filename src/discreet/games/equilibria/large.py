"""What is public of a large game in which it counts who does what: who weighs how much for whom."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers, fix_array
from discreet.core.rounding import above
from discreet.games.equilibria.anonymous import AnonymousGame

_LARGEST = 1 << 24
_HEAVIEST = 1 << 32  # times the units of a chance it is exact in a float


class LargeGame(AnonymousGame):
    """A game in which everybody watches a crowd, and some weigh more in it than others: neighbours, say.

    The payoff is linear in what the crowd does, each by their weight over the weight of the heaviest crowd.

    Parameters
    ----------
    types, actions, payoffs
        As in `AnonymousGame`, where a row of payoffs is for a crowd that all does the same.
    weights
        For each crowd how much each player weighs in it: whole numbers, public as all of this is.
    watches
        For each player the number of the crowd that matters to this player.
    """

    __slots__ = ("_square", "_whole", "watches", "weights")

    def __init__(
        self,
        *,
        types: Iterable[Hashable],
        actions: Iterable[Hashable],
        payoffs: ArrayLike,
        weights: ArrayLike,
        watches: Iterable[int],
    ) -> None:
        AnonymousGame.__init__(self, types=types, actions=actions, payoffs=payoffs)
        self.weights: Integers = fix_array(_read_weights(weights))
        crowds, players = self.weights.shape
        watched = [checks.index(crowds, watches=one) for one in checks.several(watches=watches)]
        if len(watched) != players or crowds * crowds * len(self.types) > _LARGEST:
            rule = f"{players} of them, and so few that all crowds can be added up"
            raise InvalidParameter(name="watches", rule=rule, value=len(watched))
        self.watches: Integers = fix_array(np.array(watched, dtype=np.int64))
        self._whole: int = max(1, int(self.weights.sum(axis=1).max()))
        self._square: int = _find_square(self.weights)
        shape = repr(self.weights.shape).encode()
        parts = self._digest + shape + self.weights.tobytes() + self.watches.tobytes()
        object.__setattr__(self, "_digest", hashlib.blake2b(parts, digest_size=16).digest())

    @property
    def crowds(self) -> int:
        """How many crowds are watched."""
        return len(self.weights)

    @property
    def square_weight(self) -> int:
        """The square of what one player weighs in all crowds together, in L2, at most."""
        return self._square

    def whole(self, players: int) -> int:
        """Return what the heaviest crowd weighs."""
        if players != self.watches.size:
            rule = f"{self.watches.size}, as many as watch a crowd of the game"
            raise InvalidParameter(name="players", rule=rule, value=players)
        return self._whole

    def own_weight(self, players: int) -> float:
        """Return the largest share that a player has in the crowd that the same player watches."""
        own = self.weights[self.watches, np.arange(players)]
        return above(int(own.max()) / self._whole)

    def largeness(self, players: int) -> float:
        """Return how much what one player does changes what an action is worth for another at most."""
        others = self.weights[np.unique(self.watches)]
        return above(self.spread * int(others.max()) / self.whole(players), 2)

    def find_rows(self, kinds: Integers) -> Integers:
        """Return the learner of each player: one a crowd and type. No type stands as the first."""
        return self.watches * len(self.types) + np.maximum(kinds, 0)

    def count(self, kinds: Integers) -> Floats:
        """Return what the players of each learner weigh together, in each crowd; of no type, nothing."""
        found = np.zeros((self.crowds, self.crowds * len(self.types)))
        known = kinds >= 0
        np.add.at(found.T, self.find_rows(kinds)[known], self.weights.T[known].astype(np.float64))
        return found

    def collect(self, people: Floats | Integers, chances: Integers) -> Integers:
        """Return what each crowd does of each action in expectation: sums of whole numbers, exactly."""
        return np.rint(people @ chances.astype(np.float64)).astype(np.int64).ravel()

    def gather(self, done: Integers) -> Integers:
        """Return what each crowd does of each action, where each player does one of them, or none: -1."""
        table = np.zeros((done.size, len(self.actions)), dtype=np.int64)
        table[np.flatnonzero(done >= 0), done[done >= 0]] = 1
        return np.asarray(self.weights @ table).ravel()

    def worth(self, shares: Floats) -> Floats:
        """Return what each action is worth for each type that watches each crowd, as [learner, action]."""
        table = shares.reshape(self.crowds, len(self.actions))
        found = np.einsum("kab,cb->cka", self.payoffs, table)
        return np.asarray(found.reshape(-1, len(self.actions)))

    def __repr__(self) -> str:
        sizes = f"{len(self.types)} types, {len(self.actions)} actions, {self.crowds} crowds"
        return f"<large game: {sizes}, {self.watches.size} players>"


def _read_weights(given: ArrayLike) -> Integers:
    try:
        table = np.array(given)
    except (TypeError, ValueError, OverflowError):
        table = np.array("")
    if table.ndim != 2 or table.dtype.kind not in "iub" or not 0 < table.size <= _LARGEST:
        rule = f"rows of whole numbers, one a player; at most {_LARGEST} of them"
        raise InvalidParameter(name="weights", rule=rule, got="something else")
    if table.min() < 0 or table.max() > _HEAVIEST or table.astype(np.int64).sum(axis=1).max() > _HEAVIEST:
        rule = f"at least 0, and together at most {_HEAVIEST} in a crowd"
        raise InvalidParameter(name="weights", rule=rule, got="others")
    return table.astype(np.int64)


def _find_square(weights: Integers) -> int:
    """Return the largest sum of squares of a column, at least 1, also where 64 bits do not hold it."""
    small = int(weights.max()) ** 2 * len(weights) < 1 << 62
    return max(1, int(((weights if small else weights.astype(object)) ** 2).sum(axis=0).max()))
