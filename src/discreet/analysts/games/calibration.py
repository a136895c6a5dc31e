"""From two budgets to two learning rates, a number of rounds and a cap, by public quantities only.

Data privacy depends on the query player's rate alone, analyst privacy on the data player's rate alone. The
query player's draw in round t is a choice whose scores have moved t - 1 times by at most one row each way, so
its log-likelihood ratio has range 2 rate (t - 1) and the game costs
rho = draws * sum_t (2 rate (t - 1))^2 / 8 = draws * rate^2 (T - 1) T (2 T - 1) / 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from discreet.analysts.games.loss import GameLoss
from discreet.core.errors import InternalError
from discreet.core.rounding import above, below, down, shorten_down
from discreet.sparse.calibration import find_largest

PLANNED_BETA = Fraction(1, 20)
"""Rounds and cap are balanced for the error that is missed with this probability."""
LEFTOVER_SHARE = Fraction(1, 4)
"""The part of the data budget that private answers to leftover queries get."""

_FEWEST = 24  # the density is this many times the rounds, where there are enough groups
_ROOM = 4  # and at most the groups over this


@dataclass(frozen=True, slots=True)
class GameSizes:
    """The public sizes of a game.

    Attributes
    ----------
    rows, cells
        How many rows the data have, and how many cells the universe.
    groups, members
        How many groups of actions are capped as one, and how many actions each has.
    changed
        How many groups one hidden change touches.
    draws
        How many draws of a round read the data.
    """

    rows: int
    cells: int
    groups: int
    members: int
    changed: int
    draws: int

    def spread(self, density: int) -> float:
        """Return the divergence of the best capped strategy from the uniform one, rounded up."""
        return above(math.log(self.groups / density) + math.log(self.members))

    def sigma(self, density: int) -> Fraction:
        """Return how far one hidden change moves the capped strategy in statistical distance, at most.

        No further than the mass of what was changed: 1 / density a group. But a query and its complement
        weigh w and 1 / w. Below half of the groups the level c is at most density / groups, and both
        together have min(1, c w) + min(1, c / w) <= 1 + c^2 parts.
        """
        if self.changed == 2 and 2 * density < self.groups:
            return (1 + Fraction(density, self.groups) ** 2) / density
        return Fraction(self.changed, density)


@dataclass(frozen=True, slots=True)
class Rates:
    """What one unit of score adds to a log-weight: a row for an action, an action for a cell."""

    action: Fraction
    cell: Fraction


def game_rho(rate: Fraction, *, rounds: int, draws: int) -> Fraction:
    """Return what the query player's draws cost the data in zCDP, exactly."""
    t = rounds
    return draws * rate * rate * (t - 1) * t * (2 * t - 1) / 12


@lru_cache(maxsize=256)
def calibrate(
    field: GameSizes, *, rounds: int, density: int, rho: Fraction, epsilon: Fraction, delta: Fraction
) -> Rates:
    """Return the largest rates within both budgets that are of any use.

    Beyond the caps, which are the rates with the smallest regret, more would only hurt accuracy.
    """
    best_cell = math.sqrt(32 * math.log(max(2, field.cells)) / (3 * rounds)) / 2
    best_action = math.sqrt(8 * max(field.spread(density), 1e-3) / rounds) / (2 * field.rows)
    return Rates(
        action=_action_rate(field, rounds, rho, best_action),
        cell=_cell_rate(GameLoss(rounds, field.sigma(density), Fraction(best_cell)), epsilon, delta),
    )


def _action_rate(field: GameSizes, rounds: int, rho: Fraction, best: float) -> Fraction:
    unit = game_rho(Fraction(1), rounds=rounds, draws=field.draws)
    if unit and (within := below(math.sqrt(down(rho / unit)), 4)) < best:
        best = within
    rate = shorten_down(Fraction(best), 12)
    if game_rho(rate, rounds=rounds, draws=field.draws) > rho:
        raise InternalError("the query player's rate costs more than its budget")
    return rate


def _cell_rate(most: GameLoss, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rate of a loss, or the largest one below it that the budget allows."""

    def fits(rate: Fraction) -> bool:
        return replace(most, rate=rate).delta(epsilon) <= delta

    cap = shorten_down(most.rate, 12)
    if fits(cap):
        return cap
    return find_largest(
        fits, shorten_down(epsilon / (most.rounds * (most.rounds + 1)), 12)
    )  # pure at that rate


@lru_cache(maxsize=256)
def balance(field: GameSizes, *, rho: Fraction, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """Return the number of rounds and the density with the smallest bound on the error.

    With many rounds the query player is slow, with few the data player is: the bound falls and then rises.
    The density follows the rounds where there are enough groups to cap.
    """

    def density(rounds: int) -> int:
        return max(1, min(_FEWEST * rounds, field.groups // _ROOM))

    def off(rounds: int) -> float:
        flat = density(rounds)
        rates = calibrate(field, rounds=rounds, density=flat, rho=rho, epsilon=epsilon, delta=delta)
        return share_off(field, rates, rounds=rounds, density=flat, beta=PLANNED_BETA)

    best = max(2, field.rows)
    for step in (4.0, 2.0, math.sqrt(2)):
        for factor in (step, 1 / step):
            while (other := round(best * factor)) >= 2 and other != best and off(other) < off(best):
                best = other
    return best, density(best)


def share_off(field: GameSizes, rates: Rates, *, rounds: int, density: int, beta: Fraction) -> float:
    """Return alpha1: any `density` groups' worst actions together err by at most alpha1 on average.

    Both players' regrets and two martingales, with probability 1 - beta. The data player's losses lie
    within 1/2, the query player's within 1. A cell is drawn after its round's action has been counted,
    which moves its distribution by at most eta / 8: that is the extra eta / 16 on top of eta / 32.
    """
    eta_cell, eta_action = 2 * float(rates.cell), 2 * field.rows * float(rates.action)
    data = 3 * eta_cell / 32 + math.log(field.cells) / (eta_cell * rounds)
    queries = eta_action / 8 + field.spread(density) / (eta_action * rounds)
    chance = 1.5 * math.sqrt(math.log(2 / down(beta)) / (2 * rounds))
    return above(2 * (data + queries + chance) * (1 + 1e-12))
