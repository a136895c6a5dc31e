"""The Gaussian mechanism: analytic calibration, discrete noise on a grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from discreet.accounting.calibrate import smallest
from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import GaussianLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.parameters import Exact, MaybeExact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_up, up
from discreet.mechanisms.grid import Grid, require_units
from discreet.noise import AddNoise, DiscreteGaussian

NARROWEST = Fraction(26, 100)
"""The smallest variance in grid units. From a quarter down nothing is known about the discrete noise."""

_DIGITS = 12
_SMALLEST_SQUARE = Fraction(1, 10**20)  # far above what a `GaussianLoss` raises to its smallest mu


@frozen
class GaussianNoise(Mechanism[Any, Any]):
    """What the three ways to choose the variance share: the noise, its loss and its error."""

    l2_sensitivity: Exact = public(checks.positive)
    grid: MaybeExact = public(checks.positive, default=None)
    size: int = public(checks.integer, 1, default=1)
    neighbours: Neighbours = public(checks.instance, Neighbours, default=ROWS)

    def _complete(self) -> None:
        require_units(self.square_shift, l2_sensitivity=self.l2_sensitivity)

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """The variance of the noise in units of the grid."""

    @property
    def square_shift(self) -> Fraction:
        """The square of the L2 sensitivity in units of the grid."""
        return Grid(self.grid).square_shift(self.l2_sensitivity, self.size)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise in the units of the data, rounded up."""
        return above(math.sqrt(up(self.variance)) * up(Grid(self.grid).step), steps=4)

    @property
    def loss(self) -> Loss:
        """The Gaussian curve, widened by what is proved to cover the discrete noise in every dimension."""
        return discrete_loss(self.square_shift, self.variance)

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all coordinates."""
        grid = Grid(self.grid)
        reach = DiscreteGaussian(self.variance).reach(each_of(self.size, beta))
        return up(reach * grid.step + grid.rounding)

    def _draw(self, data: Any, rng: Rng) -> Any:
        grid = Grid(self.grid)
        step = _step(self.square_shift, self.variance)
        return grid.from_units(rng.perform(step, grid.to_units(data, self.size)))


@frozen
class PairNoise(GaussianNoise):
    """Gaussian noise that was bought as one pair (epsilon, delta)."""

    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)


@frozen
class Gaussian(PairNoise):
    """Add Gaussian noise to a number, or to `size` numbers with a joint L2 sensitivity.

    Privacy: (epsilon, delta) for every epsilon > 0 and every delta in (0, 1). [BW18] Theorem 8, with
    discrete noise [CKS20]; k releases compose like Gaussians.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises, plus the grid's rounding.
    Time: O(size).

    Parameters
    ----------
    l2_sensitivity
        The largest L2 distance between the values of neighbours: sqrt(k) for k counts that each move by one.
    epsilon, delta
        The budget of one release.
    grid
        The unit real numbers are rounded to. Without it only integers are taken.
    size
        How many numbers one release holds. It is public.
    neighbours
        The change the sensitivity was computed for.

    Examples
    --------
    >>> round(Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=0.001).sigma, 3)
    4.225
    """

    @staticmethod
    def for_rho(rho: checks.Number, **public: Any) -> ConcentratedGaussian:
        """Return the mechanism that is rho-zCDP: the variance is sensitivity^2 / (2 rho)."""
        return ConcentratedGaussian(rho=rho, **public)

    @staticmethod
    def classical(
        *, l2_sensitivity: checks.Number, epsilon: checks.Number, delta: checks.Number, **public: Any
    ) -> ClassicalGaussian:
        """Return the textbook calibration, for comparison: more noise, and only below epsilon 1."""
        return ClassicalGaussian(l2_sensitivity=l2_sensitivity, epsilon=epsilon, delta=delta, **public)

    @property
    def variance(self) -> Fraction:
        """The smallest variance, in units of the grid, at which the loss keeps (epsilon, delta)."""
        return analytic_variance(self.square_shift, self.epsilon, self.delta)


@frozen
class ConcentratedGaussian(GaussianNoise):
    """Gaussian noise for a zCDP budget; see `Gaussian.for_rho`.

    Privacy: rho-zCDP [CKS20], and the Gaussian curve besides.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises, plus the grid's rounding.
    Time: O(size).
    """

    rho: Exact = public(checks.positive)
    _budget: ClassVar[str] = "rho"

    @property
    def variance(self) -> Fraction:
        """The variance in units of the grid, never below the squared sensitivity over 2 rho."""
        return max(NARROWEST, shorten_up(self.square_shift / (2 * self.rho), _DIGITS))


@frozen
class ClassicalGaussian(PairNoise):
    """The textbook's calibration sqrt(2 ln(1.25 / delta)) / epsilon, kept for comparison.

    Privacy: (epsilon, delta) for epsilon < 1 only. [DR14] Theorem 3.22.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises, plus the grid's rounding.
    Time: O(size).
    """

    def _complete(self) -> None:
        PairNoise._complete(self)  # noqa: SLF001 - its own base
        if self.epsilon >= 1:
            raise InvalidParameter(
                name="epsilon",
                rule="below 1 for the classical calibration",
                value=self.epsilon,
                hint="Its theorem stops there and the formula is false further on (from 8.42 at delta 1e-5). "
                "Use Gaussian(...), which holds for every epsilon and adds less noise",
            )
        if not self.guarantee.implies(epsilon=self.epsilon, delta=self.delta):
            raise InternalError(f"{self!r} does not keep its promise on this grid")

    @property
    def variance(self) -> Fraction:
        """The variance in units of the grid: 2 ln(1.25 / delta) (sensitivity / epsilon)^2, rounded up."""
        factor = above(2 * math.log(1.25 / float(self.delta)), steps=8)
        return max(NARROWEST, shorten_up(Fraction(factor) * self.square_shift / self.epsilon**2, _DIGITS))


@lru_cache(maxsize=1024)
def discrete_loss(square_shift: Fraction, variance: Fraction) -> GaussianLoss:
    """Return the loss of discrete Gaussian noise on integers with this squared L2 sensitivity."""
    square = square_shift / variance
    return GaussianLoss(_root_up(square), _slack(variance), square)


def discrete_view(square_shift: Fraction, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Return what `discrete_loss` says of mu^2 and slack mu^2, without the root that nothing adds up."""
    square = square_shift / variance
    if square <= _SMALLEST_SQUARE:
        return discrete_loss(square_shift, variance).gaussian()
    return square, _slack(variance) * square


def _slack(variance: Fraction) -> Fraction:
    """Return (1 - 1 / (4 variance))^-2, rounded up."""
    times = 4 * variance.numerator
    return shorten_up(Fraction(times**2, (times - variance.denominator) ** 2), 15)


@lru_cache(maxsize=1024)
def _step(square_shift: Fraction, variance: Fraction) -> AddNoise:
    return AddNoise(DiscreteGaussian(variance), sensitivity=shorten_up(_root_up(square_shift), 10), norm=2)


@lru_cache(maxsize=1024)
def analytic_variance(square_shift: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest variance, in units, at which discrete noise keeps (epsilon, delta)."""

    def keeps(variance: Fraction) -> bool:
        return variance >= NARROWEST and discrete_loss(square_shift, variance).delta(epsilon) <= delta

    return smallest(keeps, digits=_DIGITS)


def _root_up(x: Fraction) -> Fraction:
    """Return the root of x, or a short rational above it."""
    square = x.numerator * x.denominator
    root = math.isqrt(square)
    if root * root == square:
        return Fraction(root, x.denominator)
    return shorten_up(Fraction(math.isqrt(square << 160) + 1, x.denominator << 80), 15)


def _tiny() -> Iterator[Tiny]:
    one = Gaussian(l2_sensitivity=1, epsilon=2, delta=1e-3)
    yield Tiny(one, [(0, 1), (1, 0)])
    far = Gaussian(l2_sensitivity=3, epsilon=4, delta=1e-2)
    yield Tiny(far, [(0, b) for b in range(-3, 4) if b])
    yield Tiny(Gaussian.for_rho(rho=Fraction(1, 2), l2_sensitivity=1), [(0, 1), (1, 0)])
    # Rounding turns a distance of half a unit, or of one, into the diagonal of a square.
    grid = Gaussian(l2_sensitivity=0.5, epsilon=3, delta=1e-2, size=2, grid=Fraction(1, 2))
    yield Tiny(grid, [((0.2499, 0.2499), (0.6034, 0.6034)), ((0.0, 0.0), (0.5, 0.0))])


CARD = Card(
    title="Gaussian mechanism, analytic calibration and discrete noise",
    theorem="(epsilon, delta)-differential privacy for every epsilon; error the exact quantile of the noise",
    reference="[BW18] Theorem 8; [DR14] Theorem 3.22",
    example=lambda: (Gaussian(l2_sensitivity=1, epsilon=0.5, delta=1e-6), 1234),
    tiny=_tiny,
)
