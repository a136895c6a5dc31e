"""Zero-sum games, solved by letting two players learn against each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.progress import track
from discreet.equilibrium.players import DenseWeights, WeightsPlayer

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Equilibrium:
    """A pair of strategies that are nearly best against each other.

    Attributes
    ----------
    row, column
        The strategies: distributions over rows and columns.
    lower, upper
        What the column player gets at least with `column`, and at most against `row` while they keep to the
        cap. The constrained value of the game lies between them.
    regret
        The bound on upper - lower that the learning rates promise.
    """

    row: Floats
    column: Floats
    lower: float
    upper: float
    regret: float

    @property
    def value(self) -> float:
        """The middle of what is known of the value."""
        return (self.lower + self.upper) / 2


def solve(payoff: Floats, *, rounds: int, density: checks.Number = 1) -> Equilibrium:
    """Return an approximate equilibrium of a game that the row player pays and the column player receives.

    Accuracy: upper - lower <= regret = O(sqrt(log(rows) / rounds) + sqrt(log(columns / density) / rounds)).
    Time: O(rounds * rows * columns).

    Parameters
    ----------
    payoff
        A matrix of numbers in [0, 1].
    rounds
        How long the players learn.
    density
        The column player may play nothing with probability above 1 / density. 1 is no restriction.

    References
    ----------
    [HRU13] Theorem 2.13 and Corollary 2.14.
    """
    matrix = np.asarray(payoff, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not bool(((matrix >= 0) & (matrix <= 1)).all()):
        raise InvalidParameter(name="payoff", rule="a matrix of numbers in [0, 1]", got="something else")
    count = checks.integer(1, rounds=rounds)
    rows, columns = matrix.shape
    one = WeightsPlayer(actions=rows, rate=1)
    other = DenseWeights(actions=columns, rate=1, density=density)
    for player in (one, other):
        player.rate = player.best_rate(rounds=count, spread=player.spread)
    row_mean, column_mean = np.zeros(rows), np.zeros(columns)
    for _ in track(range(count), total=count, label="learning"):
        row, column = one.strategy(), other.strategy()
        row_mean += row
        column_mean += column
        one.update(np.clip(matrix @ column, 0, 1))
        other.update(np.clip(1 - row @ matrix, 0, 1))
    row_mean /= count
    column_mean /= count
    return Equilibrium(
        row=row_mean,
        column=column_mean,
        lower=float((matrix @ column_mean).min()),
        upper=find_best_capped(row_mean @ matrix, other.density),
        regret=one.regret(count) + other.regret(count),
    )


def find_best_capped(gains: Floats, density: float) -> float:
    """Return the largest mean gain of a distribution that puts at most 1 / density on anything."""
    ordered = np.sort(gains)[::-1]
    shares = np.clip(density - np.arange(ordered.size), 0.0, 1.0) / density
    return float(ordered @ shares)
