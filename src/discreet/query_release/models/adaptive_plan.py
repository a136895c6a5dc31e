"""What the adaptive release decides from public facts: what every step costs, and what may be measured.

Its budget is a fixed list of losses, whatever the data turn out to be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core.fixed import Array
from discreet.core.loss import BoundedRangeLoss
from discreet.core.rounding import shorten_down, shorten_up
from discreet.mechanisms.exponential import range_for_rho
from discreet.mechanisms.gaussian import NARROWEST, discrete_loss
from discreet.query_release.fitting.junction import Axes
from discreet.query_release.models.factored import Grain, groups

Candidate = tuple[Axes, Grain]

SINGLES = Fraction(1, 5)
"""The part of the budget that measures the attributes one by one."""
CHOICES = Fraction(1, 10)
"""The part that chooses what to measure, where there is a choice."""
GROUPS = 12
"""How many groups of values the coarser grain of an attribute has."""
DISPERSION = 400.0
"""How many times more than a sample's the true counts are believed to vary around a model's."""

_DIGITS = 12
_ABSOLUTE = math.sqrt(2 / math.pi)  # the mean absolute value of a standard normal number
_COARSE_UP_TO = 2  # attributes of a table that is also offered at the coarser grain


class AdaptivePlan(NamedTuple):
    """What every step costs.

    Attributes
    ----------
    square
        The squared L2 sensitivity of one table.
    singles, rounds
        The variance that a table would have if it were all that was measured in the first step, or in a
        round. Where several are measured, each has a share of the precision, and so a larger variance.
    range_
        The epsilon of one choice; None where nothing is chosen.
    steps, choices
        How many rounds there are, and choices in each.
    """

    square: int
    singles: Fraction
    rounds: Fraction
    range_: Fraction | None
    steps: int
    choices: int

    @property
    def loss(self) -> Composed:
        """All steps together. They are made adaptively, but what each may cost is fixed."""
        square = Fraction(self.square)
        parts: list[tuple[object, int]] = [
            (discrete_loss(square, self.singles), 1),
            (discrete_loss(square, self.rounds), self.steps),
        ]
        if self.range_ is not None:
            parts.append((BoundedRangeLoss(self.range_), self.steps * self.choices))
        return Composed(tuple(parts))  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def plan(
    *, epsilon: Fraction, delta: Fraction, square: int, steps: int, choices: int, chooses: bool
) -> AdaptivePlan:
    """Split the largest rho that implies (epsilon, delta)."""
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    choosing = rho * CHOICES if chooses else Fraction(0)
    measuring = rho - choosing
    return AdaptivePlan(
        square=square,
        singles=_variance(square, measuring * SINGLES),
        rounds=_variance(square, measuring * (1 - SINGLES) / steps),
        range_=shorten_down(range_for_rho(choosing / (steps * choices)), _DIGITS) if chooses else None,
        steps=steps,
        choices=choices,
    )


def shares(sizes: list[int], power: float) -> list[Fraction]:
    """Split a precision in proportion to a power of the tables' sizes; the shares add up to at most 1."""
    weights = [size**power for size in sizes]
    most = math.fsum(weights)
    return [shorten_down(Fraction(weight / most) * (1 - Fraction(1, 10**12)), _DIGITS) for weight in weights]


def share_of(variance: Fraction, share: Fraction) -> Fraction:
    """Return the variance of a table that is measured with a share of the precision."""
    return shorten_up(variance / share, _DIGITS)


def _variance(square: int, rho: Fraction) -> Fraction:
    return max(NARROWEST, shorten_up(Fraction(square) / (2 * rho), _DIGITS))


def weights(parts: Sequence[Axes], sets: Sequence[Axes]) -> dict[Axes, int]:
    """Return how much each part matters: how many attributes it shares with the wanted sets, all together."""
    return {part: max(1, sum(len(set(part) & set(axes)) for axes in sets)) for part in parts}


def candidates(parts: Sequence[Axes], tables: Mapping[Axes, Array]) -> list[Candidate]:
    """Return the tables on offer: every part as it is, and small parts at a coarser grain besides.

    Groups have about equal weight in the model, so that a table of few cells tells as much as it can.
    """
    edges = {part[0]: groups(tables[part], GROUPS) for part in parts if len(part) == 1}
    offered: list[Candidate] = [(part, ()) for part in parts]
    for part in parts:
        grain = tuple(edges[axis] for axis in part)
        if len(part) <= _COARSE_UP_TO and any(found is not None for found in grain):
            offered.append((part, grain))
    return offered


def penalty(guess: Array, variance: float) -> int:
    """Return the absolute error that is expected to remain in a table once it is measured.

    A cell that the model expects to be small stays small whatever the noise.
    """
    prior = DISPERSION * np.maximum(guess, 0.0)
    return round(_ABSOLUTE * float(np.sqrt(prior * variance / (prior + variance)).sum()))


def sweep_error(tables: Sequence[Array], variances: Sequence[float]) -> float:
    """Return the mean absolute error of tables that are measured outright and made non-negative."""
    left = [
        float(np.minimum(table, math.sqrt(variance)).sum())
        for table, variance in zip(tables, variances, strict=True)
    ]
    return _ABSOLUTE * sum(left) / len(left)
