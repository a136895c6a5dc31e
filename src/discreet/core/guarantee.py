"""Guarantee = Loss + Neighbours: how much is lost, and about whom."""

from __future__ import annotations

from discreet.core import checks
from discreet.core.errors import NeighboursMismatch, NoBound
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Bidder, Neighbours, Replace
from discreet.core.parameters import checked, public
from discreet.core.rounding import above


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

    @property
    def truthfulness(self) -> float:
        """How much anybody can gain, at most, in expectation, by reporting something else.

        It is for what a release is worth to a person if its best and its worst value are one apart: the
        distance of the two laws, with the report and with the other. Where a person is added or removed, each
        of them is within delta(0) of the law without any.

        Raises
        ------
        NoBound
            Where neighbours do not differ in one person's report.
        """
        if not isinstance(self.neighbours, AddRemove | Bidder | Replace):
            raise NoBound(
                what=f"what a lie gains, for {self.neighbours}",
                why="it is not one person's report that is hidden",
                way_out="Build the mechanism for Bidder(), AddRemove or Replace",
            )
        steps = 2 if isinstance(self.neighbours, AddRemove) else 1
        return min(1.0, above(steps * self.loss.delta(0)))

    def __str__(self) -> str:
        return f"{self.loss} for {self.neighbours}"

    def __repr__(self) -> str:
        return f"Guarantee({self})"
