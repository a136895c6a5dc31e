"""Losses known through Rényi divergences only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.losses.base import Loss, check_order, renyi_delta, short, zcdp_delta
from discreet.core.parameters import checked, public
from discreet.core.rounding import down, up


@checked
class ZCDPLoss(Loss):
    """rho-zero-concentrated differential privacy and nothing more."""

    rho: Fraction = public(checks.non_negative)

    def delta(self, epsilon: checks.Number) -> float:
        """Convert by the best order [CKS20, Proposition 12]."""
        return zcdp_delta(up(self.rho), down(checks.non_negative(epsilon=epsilon)))

    def zcdp(self) -> float:
        """Return rho."""
        return up(self.rho)

    def exact_rho(self) -> Fraction:
        """Return rho."""
        return self.rho

    def __str__(self) -> str:
        return f"rho {short(self.rho)} (zCDP)"


@dataclass(frozen=True, slots=True)
class RenyiLoss(Loss):
    """Rényi differential privacy known at a few orders only."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for order, value in self.points:
            if not (1 < order < math.inf and value >= 0):
                raise InvalidParameter(name="points", rule="(order > 1, value >= 0)", value=(order, value))
        object.__setattr__(self, "points", tuple(sorted(self.points)))

    def delta(self, epsilon: checks.Number) -> float:
        """Convert by the best of the known orders."""
        e = down(checks.non_negative(epsilon=epsilon))
        return min((renyi_delta(order, value, e) for order, value in self.points), default=1.0)

    def renyi(self, order: checks.Number) -> float:
        """Return the value at the next known order: the divergence grows with the order."""
        a = check_order(order)
        return min((value for known, value in self.points if known >= a), default=math.inf)

    def __str__(self) -> str:
        return f"Rényi loss at {len(self.points)} orders"
