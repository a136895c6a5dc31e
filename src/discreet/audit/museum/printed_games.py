"""The games as they were printed in [HRU13], kept to be caught. Never use one for a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.bregman_choice import Standing
from discreet.analysts.games.calibration import Rates
from discreet.analysts.games.query_game import QueryGame
from discreet.core.loss import ApproxLoss, Loss
from discreet.core.rng import Rng


@dataclass(frozen=True, slots=True)
class PrintedConstants:
    """What Algorithm 3 computes from the data's size and from how much was asked.

    `actions` counts queries and their complements: it is what analyst privacy should hide.
    """

    rounds: int
    eta: float
    density: int

    @classmethod
    def of(cls, *, rows: int, cells: int, actions: int, epsilon: float, delta: float) -> PrintedConstants:
        """Return T = n max(ln|X|, ln|Q|), eta = epsilon / (2 sqrt(T ln(1 / delta))) and s = 12 T."""
        rounds = math.ceil(rows * max(math.log(cells), math.log(actions)))
        return cls(rounds, epsilon / (2 * math.sqrt(rounds * -math.log(delta))), 12 * rounds)


def inverted_eta(*, rounds: int, epsilon: float, delta: float) -> float:
    """Return the rate of Algorithm 4: sqrt(T ln(1 / delta)) / (2 epsilon), the wrong way up."""
    return math.sqrt(rounds * -math.log(delta)) / (2 * epsilon)


def per_cell_losses(answers: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Algorithm 4's loss of every cell for one analyst: the worst query at that single cell.

    The largest of several linear functions is none: the true data lose more than 1/2 in this game, and
    the data player does better with the most common cell.
    """
    sides = np.concatenate([answers[:, None] - table, table - answers[:, None]])
    return np.asarray((1 + sides.max(axis=0)) / 2)


class WrongSign(QueryGame):
    """Algorithm 3's query player, who prefers the queries that are answered well."""

    __slots__ = ()

    def _pick(self, standing: Standing, rate: Fraction, before: int, rng: Rng) -> int:
        return super()._pick(type(standing)(-standing.scores), rate, before, rng)


class InvertedRate(AnalystGame):
    """The hierarchical game at Algorithm 4's rate, with Algorithm 4's claim."""

    __slots__ = ()

    @property
    def rates(self) -> Rates:
        """Both players learn at the printed rate."""
        eta = inverted_eta(rounds=self.rounds, epsilon=float(self.epsilon), delta=float(self.delta))
        return Rates(action=Fraction(eta) / (2 * self.rows), cell=Fraction(eta) / 2)

    @property
    def loss(self) -> Loss:
        """The claim of Theorem 4.2."""
        return ApproxLoss(self.epsilon, self.delta)
