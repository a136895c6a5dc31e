"""Multiplicative weights, plain and capped: players that regret little whatever they meet.

Weights are kept as logarithms, so that none of them can vanish however long a game is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.equilibrium.bregman import cap_project

Floats = NDArray[np.float64]


class WeightsPlayer:
    """Plays each action in proportion to exp(-rate * its losses so far).

    Accuracy: after T rounds with losses in [0, 1], the mean loss of the strategies played exceeds that of any
    fixed one by at most `regret(T)`. [HRU13] Theorem 2.10, with the constants of Hoeffding's lemma.

    Parameters
    ----------
    actions
        How many actions there are.
    rate
        How fast weights follow losses.
    """

    def __init__(self, *, actions: int, rate: checks.Number) -> None:
        self.actions = checks.integer(1, actions=actions)
        self.rate = float(checks.positive(rate=rate))
        self.log_weights: Floats = np.zeros(self.actions)

    @staticmethod
    def best_rate(*, rounds: int, spread: float) -> float:
        """Return the rate with the smallest regret over some rounds: sqrt(8 spread / rounds)."""
        return math.sqrt(8 * max(spread, 1e-9) / checks.integer(1, rounds=rounds))

    @property
    def spread(self) -> float:
        """The divergence of the best fixed strategy from the uniform one."""
        return math.log(self.actions)

    def regret(self, rounds: int) -> float:
        """Return rate / 8 + spread / (rate * rounds)."""
        return self.rate / 8 + self.spread / (self.rate * checks.integer(1, rounds=rounds))

    def strategy(self) -> Floats:
        """Return the distribution over actions that is played now."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def update(self, losses: Floats) -> None:
        """Learn what every action would have lost, in [0, 1]."""
        given = np.asarray(losses, dtype=np.float64)
        if given.shape != (self.actions,) or not bool(((given >= 0) & (given <= 1)).all()):
            rule = f"{self.actions} numbers in [0, 1]"
            raise InvalidParameter(name="losses", rule=rule, got="something else")
        self.log_weights = self.log_weights - self.rate * given


class DenseWeights(WeightsPlayer):
    """Like `WeightsPlayer`, but plays no action with probability above 1 / density.

    The weights are learned without the cap and projected only to be played. The regret is against every
    distribution that keeps to the same cap. [HRU13] Theorem 2.12.
    """

    def __init__(self, *, actions: int, rate: checks.Number, density: checks.Number) -> None:
        super().__init__(actions=actions, rate=rate)
        self.density = float(checks.at_least(1, density=density))
        if not self.density <= actions:
            raise InvalidParameter(name="density", rule=f"at most {actions}, the actions", value=density)

    @property
    def spread(self) -> float:
        """The divergence of the best capped strategy from the uniform one."""
        return math.log(self.actions / self.density)

    def strategy(self) -> Floats:
        """Return the capped distribution that is played now."""
        return cap_project(self.log_weights, self.density)
