"""Guarantee = Loss + Neighbours: how much is lost, and about whom."""

from __future__ import annotations

from discreet.core import checks
from discreet.core.errors import NeighboursMismatch
from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import checked, public


@checked
class Guarantee:
    """What a mechanism promises, known before it sees a row."""

    loss: Loss = public(checks.instance, Loss)
    neighbours: Neighbours = public(checks.instance, Neighbours)

    def epsilon(self, delta: checks.Number) -> float:
        """Return the epsilon this guarantee gives at a delta, rounded up."""
        return self.loss.epsilon(delta)

    def implies(self, *, epsilon: checks.Number, delta: checks.Number) -> bool:
        """Tell whether this guarantee is at least as strong as (epsilon, delta)."""
        return self.loss.implies(epsilon=epsilon, delta=delta)

    def require_same_neighbours(self, other: Guarantee) -> None:
        """Raise unless both guarantees hide the same change."""
        if self.neighbours != other.neighbours:
            raise NeighboursMismatch(
                f"these guarantees protect different things and do not compose: "
                f"{self.neighbours}; {other.neighbours}. Build both with the same neighbours="
            )

    def __str__(self) -> str:
        return f"{self.loss} for {self.neighbours}"

    def __repr__(self) -> str:
        return f"Guarantee({self})"
