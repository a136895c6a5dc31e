"""The Laplace mechanism on a grid."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.parameters import Exact, MaybeExact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_up, up
from discreet.mechanisms.grid import Grid, require_units
from discreet.mechanisms.reading import NUMBERS, Wording
from discreet.noise import AddNoise, DiscreteLaplace


@frozen
class Laplace(Mechanism[Any, Any]):
    """Add Laplace noise to a number, or to `size` numbers with a joint L1 sensitivity.

    Privacy: (epsilon, 0). [DR14] Theorem 3.6, on a grid.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises, plus the grid's rounding.
    Time: O(size).

    Parameters
    ----------
    sensitivity
        The largest L1 distance between the values of neighbours.
    epsilon
        The budget of one release.
    grid
        The unit real numbers are rounded to. Without it only integers are taken.
    size
        How many numbers one release holds. It is public.
    neighbours
        The change the sensitivity was computed for.

    Examples
    --------
    >>> Laplace(sensitivity=1, epsilon=0.5).error(0.05)
    6.0
    """

    sensitivity: Exact = public(checks.positive)
    epsilon: Exact = public(checks.positive)
    grid: MaybeExact = public(checks.positive, default=None)
    size: int = public(checks.integer, 1, default=1)
    neighbours: Neighbours = public(checks.instance, Neighbours, default=ROWS)
    wording: ClassVar[Wording] = NUMBERS

    def _complete(self) -> None:
        require_units(self.shift, sensitivity=self.sensitivity)

    @property
    def shift(self) -> int:
        """The sensitivity in units of the grid."""
        return Grid(self.grid).shift(self.sensitivity, self.size)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of the grid, never below shift / epsilon."""
        return laplace_scale(self.shift, self.epsilon)

    @property
    def loss(self) -> Loss:
        """The exact curve when one number takes the whole shift: sharing it out loses no more."""
        return DiscreteLaplaceLoss(self.shift, self.scale)

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all coordinates."""
        grid = Grid(self.grid)
        reach = DiscreteLaplace(self.scale).reach(each_of(self.size, beta))
        return up(reach * grid.step + grid.rounding)

    def _draw(self, data: Any, rng: Rng) -> Any:
        grid = Grid(self.grid)
        step = laplace_step(self.shift, self.epsilon)
        return grid.from_units(rng.perform(step, grid.to_units(data, self.size, self.wording)))


@lru_cache(maxsize=1024)
def laplace_scale(shift: int, epsilon: Fraction) -> Fraction:
    """Return the scale for a sensitivity in units: 12 digits, never below shift / epsilon."""
    return shorten_up(shift / epsilon, 12)


@lru_cache(maxsize=1024)
def laplace_step(shift: int, epsilon: Fraction) -> AddNoise:
    """Return the step that adds the noise; kept, since one parameter often serves many releases."""
    return AddNoise(DiscreteLaplace(laplace_scale(shift, epsilon)), sensitivity=Fraction(shift))


def _tiny() -> Iterator[Tiny]:
    for epsilon, sensitivity in ((1, 1), (2, 2), (Fraction(5, 2), 1)):
        mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
        pairs = [(a, b) for a in range(4) for b in range(4) if 0 < abs(a - b) <= sensitivity]
        yield Tiny(mechanism, pairs)
    shared = [((0, 0), (1, 1)), ((0, 0), (2, 0)), ((0, 0), (1, -1)), ((0, 0), (0, 1))]
    yield Tiny(Laplace(sensitivity=2, epsilon=6, size=2), shared)
    # Rounding turns a distance of 1, two units, into one of three.
    rounded = [((0.2499, 0.2499), (0.2501, 1.2497)), ((0.0, 0.0), (1.0, 0.0)), ((0.2, 7.3), (-0.3, 6.8))]
    yield Tiny(Laplace(sensitivity=1, epsilon=6, size=2, grid=Fraction(1, 2)), rounded)


CARD = Card(
    title="Laplace mechanism on a grid",
    theorem="(epsilon, 0)-differential privacy; error at most the noise's exact quantile",
    reference="[DR14] Theorems 3.6 and 3.8",
    example=lambda: (Laplace(sensitivity=1, epsilon=0.5), 1234),
    tiny=_tiny,
)
