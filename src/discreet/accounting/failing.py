"""A loss on top of which something may fail altogether."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.core import checks
from discreet.core.loss import Loss
from discreet.core.losses.base import FailingExactly
from discreet.core.rounding import up


@dataclass(frozen=True, slots=True)
class FailingLoss(FailingExactly):
    """A loss on top of which a failure mass comes."""

    loss: Loss
    mass: Fraction

    def __post_init__(self) -> None:
        checks.instance(Loss, loss=self.loss)
        object.__setattr__(self, "mass", checks.delta(failure=self.mass))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the sum of the inner delta and the mass."""
        return min(1.0, up(Fraction(self.loss.delta(epsilon)) + self.mass))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the inner view at what the mass leaves; infinity below the mass."""
        d = checks.delta(delta=delta)
        return self.loss.epsilon(d - self.mass) if d >= self.mass else math.inf

    def renyi(self, order: checks.Number) -> float:
        """Return the inner view."""
        return self.loss.renyi(order)

    def zcdp(self) -> float:
        """Return the inner view."""
        return self.loss.zcdp()

    def exact_epsilon(self) -> Fraction | None:
        """Return the inner view."""
        return self.loss.exact_epsilon()

    def exact_rho(self) -> Fraction | None:
        """Return the inner view."""
        return self.loss.exact_rho()

    def exact_failure(self) -> Fraction:
        """Return the mass and the inner failure together."""
        return min(Fraction(1), self.mass + self.loss.exact_failure())

    def __str__(self) -> str:
        return f"{self.loss}, failing with probability {float(self.mass):.4g}"
