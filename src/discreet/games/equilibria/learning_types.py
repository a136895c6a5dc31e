"""How types learn what to do against a crowd that is published round by round.

All that is learned follows from what was published, so whoever knows it and the own type knows what to do.
Chances are whole numbers of units, so that what they add up to is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.fixed import Floats, Integers
from discreet.games.equilibria.anonymous import AnonymousGame

_SQUARES = 60
_ALIKE = 1e-14


class LearningTypes:
    """Multiplicative weights for every type: against fixed actions, or against any rule that changes them.

    Where there are several crowds, there is one learner for each crowd and type.

    For rules, each action has weights of its own, which learn in the proportion in which it is played, and
    what is played is the distribution that all of them together leave as it is. [BM07].

    Parameters
    ----------
    game
        The types, and what actions are worth for them.
    rate
        How fast weights follow payoffs.
    rules
        Whether rules are learned against, or fixed actions only.
    units
        What chances are multiples of: one over it.
    """

    def __init__(self, game: AnonymousGame, *, rate: float, rules: bool, units: int) -> None:
        self.game, self.rate, self.rules, self.units = game, rate, rules, units
        size = len(game.actions)
        # As if an even crowd had been seen once: or nobody's type would show in the first round.
        even = game.worth(np.full(game.crowds * size, 1 / size))
        self.scores: Floats = np.repeat(even[:, None], size if rules else 1, axis=1)
        self.chances = self._find_chances()

    def learn(self, shares: Floats) -> None:
        """Learn what every action would have been worth against what crowds do."""
        worth = self.game.worth(shares)[:, None]
        self.scores = self.scores + (worth * self.chances[:, :, None] if self.rules else worth)
        self.chances = self._find_chances()

    def weights(self) -> Integers:
        """Return the chances of all types' actions in whole units, which add up for every type."""
        found = np.floor(self.chances * self.units).astype(np.int64)
        found[np.arange(len(found)), self.chances.argmax(axis=1)] += self.units - found.sum(axis=1)
        return found

    def _find_chances(self) -> Floats:
        logs = self.rate * self.scores
        rows = np.exp(logs - logs.max(axis=2, keepdims=True))
        rows /= rows.sum(axis=2, keepdims=True)
        if not self.rules:
            return np.asarray(rows[:, 0])
        return _find_stationary(rows)


def _find_stationary(rows: Floats) -> Floats:
    """Return for each matrix, of rows that add up to 1, a distribution that it leaves as it is.

    By repeated squares of the lazy walk, which converge whatever the matrix is.
    """
    mixed = 0.5 * (rows + np.eye(rows.shape[1]))
    for _ in range(_SQUARES):
        mixed = mixed @ mixed
        mixed /= mixed.sum(axis=2, keepdims=True)
        if float(np.ptp(mixed, axis=1).max()) < _ALIKE:  # wherever the walk starts, this is where it ends
            break
    return np.asarray(mixed.mean(axis=1))


def replay(learning: LearningTypes, shares: Sequence[Floats]) -> list[Integers]:
    """Return the chances of every round, and of the one after the last, in units."""
    found = [learning.weights()]
    for crowd in shares:
        learning.learn(crowd)
        found.append(learning.weights())
    return found
