"""Numerical privacy-loss distributions that are never below the truth.

The privacy loss of a pair (P, Q) is log(P/Q) under P. A `LossDistribution` lists masses on the grid
points i * step, and a mass at infinity. Its one invariant:

    the hockey-stick curve it describes is an upper bound on the curve of the pair it stands for,
    for every e^epsilon > 0, and stays one under composition.

The curve, ``infinity + sum of mass * (1 - e^(epsilon - loss))+``, grows with every mass and with every
loss, and composing (a convolution) keeps that order. So every approximation below may be made, as
long as it raises a mass or a loss, or dominates the curve outright:

* **discretisation** moves mass at a loss l between two grid points to these two so that both its P mass
  and its Q mass stay what they were. In the variable e^epsilon that replaces the curve by its chords,
  and a convex curve lies below its chords ("connect the dots"). The bias is of second order in the step;
* **truncation** sends the upper tail to infinity and lifts the lower tail to the lowest point kept;
* **extreme losses**: a loss that lies too many points below the largest is lifted, one of too many steps
  counts as infinite, and masses too large for floats become the statement that nothing is promised;
* **floating point**: every vector is multiplied by a factor above one plus its rounding error;
* **FFT**: the error bound of `_fourier` is added to every point.

Total masses may therefore exceed one. Curves may also come from pairs whose first measure has mass above
one (noise on the integers covered by wider noise); nothing here needs a probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.core.rounding import above, down, up
from discreet.core.search import first_integer

Vector = NDArray[np.float64]

_UNIT = 2.0**-53
_DIRECT = 1 << 22  # products up to this many multiplications are summed directly: no absolute error
_UNDERFLOW = 1e-290  # far above all that products below the smallest float can have lost
_LOW_TAIL = 1e-10  # mass lifted to the lowest point kept: it moves epsilon by a like fraction
_LARGEST_TILT = 600.0
_WIDEST = 1 << 23  # points of one mechanism's grid: twice what is ever planned
_FARTHEST = 1 << 1000  # steps up to the largest loss that floats can place
_HEAVIEST = 1e100  # total mass; squares and products of two such still are floats


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Masses at the losses (low + i) * step, and a mass at infinity."""

    step: Fraction
    low: int
    masses: Vector
    infinity: float

    def __post_init__(self) -> None:
        self.masses.setflags(write=False)

    def losses(self) -> Vector:
        """Return the grid points, rounded up."""
        # Four roundings at most: of the lowest index, the sum, the step and the product.
        points: Vector = (np.arange(len(self.masses), dtype=np.float64) + float(self.low)) * float(self.step)
        return points + np.abs(points) * (6 * _UNIT)

    def delta(self, epsilon: Fraction | float) -> float:
        """Return an upper bound on the smallest delta at an epsilon (which may be negative)."""
        e = down(epsilon)
        first = max(0, math.floor(Fraction(e) / self.step) - self.low)
        gaps = e - self.losses()[first:]
        if not (self.infinity or np.any(self.masses[first:][gaps < 0])):
            return 0.0
        finite = float(np.sum(self.masses[first:] * -np.expm1(np.minimum(gaps, 0.0))))
        return min(1.0, above(finite * (1 + 1e-13) + self.infinity))

    def epsilon(self, delta: Fraction | float) -> float:
        """Return an upper bound on the smallest epsilon >= 0 at a delta."""
        d = down(delta)
        if self.infinity > d:
            return math.inf
        if self.delta(0.0) <= d:
            return 0.0
        most = first_integer(  # the first grid point at which delta is met
            lambda place: self.delta((self.low + place) * self.step) <= d,
            low=max(0, -self.low) - 1,
            high=len(self.masses) - 1,
        )
        ceiling = up((self.low + most) * self.step)
        # Between two grid points the curve is a straight line in e^epsilon.
        points, weights = self.losses()[most:], self.masses[most:]
        excess = float(np.sum(weights)) + self.infinity - d
        q = float(np.sum(weights * np.exp(ceiling - points)))
        guess = ceiling + math.log(excess / q) if excess > 0 and q > 0 else ceiling
        for widening in (4e-16, 1e-14, 1e-12, 1e-10, 1e-8):
            candidate = max(0.0, guess + widening * (1 + abs(guess)))
            if candidate < ceiling and self.delta(candidate) <= d:
                return above(candidate)
        return above(ceiling)

    def cumulant(self, tilt: float) -> float:
        """Return log E[e^(tilt * loss)] over the finite part."""
        exponents = tilt * self.losses()
        top = float(np.max(exponents, initial=-math.inf, where=self.masses > 0))
        return top + math.log(float(np.sum(self.masses * np.exp(np.minimum(exponents - top, 0.0)))))

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the finite part, to plan a grid with."""
        points, total = self.losses(), float(np.sum(self.masses))
        mean = float(np.sum(points * self.masses)) / total
        return mean, float(np.sum((points - mean) ** 2 * self.masses)) / total

    def compose(
        self, other: LossDistribution, *, tilt: float = 0.0, spare: float = 1e-30, share: float = 1.0
    ) -> LossDistribution:
        """Return the distribution of running both.

        Parameters
        ----------
        tilt
            Any number >= 0. The convolution is also done on masses weighted by e^(tilt * loss), and the
            smaller of two upper bounds is kept: a good tilt keeps relative accuracy in the upper tail.
        spare, share
            Mass of the upper tail that may be sent to infinity, and the share of all trimming that
            this step may use.
        """
        if self.step != other.step:
            raise InvalidParameter(name="step", rule="the same for both", value=(self.step, other.step))
        one, two = float(np.sum(self.masses)), float(np.sum(other.masses))
        if one * two > _HEAVIEST:
            return promise_nothing(self.step)
        masses, noise = _convolve(self.masses, other.masses, tilt * float(self.step))
        infinity = self.infinity * (1 + 1e-12) * (two + other.infinity)
        infinity += other.infinity * (1 + 1e-12) * one + _UNDERFLOW
        # A mass of 1 at infinity is above every curve already.
        whole = LossDistribution(self.step, self.low + other.low, masses, min(infinity, 1.0))
        return whole.trim(low=_LOW_TAIL * share + noise, high=spare * share)

    def power(self, count: int, *, tilt: float = 0.0, spare: float = 1e-30) -> LossDistribution:
        """Return the distribution of `count` runs, by repeated squaring."""
        # Rare low losses are lifted first, as every step below does: they only make the vectors long.
        block, done = self.trim(low=_LOW_TAIL / max(1, count), high=0.0), 0
        result = LossDistribution(self.step, 0, np.ones(1), 0.0)
        for bit in range(count.bit_length()):
            runs = 1 << bit
            if bit:  # a tail cut off a block is paid once for every block the whole is made of
                block = block.compose(block, tilt=tilt, spare=spare / 64, share=runs / count)
            if count & runs:
                share = (done + runs) / count
                result = result.compose(block, tilt=tilt, spare=spare / 64, share=share) if done else block
                done += runs
        return result

    def trim(self, *, low: float, high: float) -> LossDistribution:
        """Lift the lower tail of mass <= low, send the upper tail of mass <= high to infinity."""
        upper = np.cumsum(self.masses[::-1])
        cut = int(np.searchsorted(upper, high * (1 - 1e-6), side="right"))
        stop = max(1, len(self.masses) - cut)
        lower = np.cumsum(self.masses[:stop])
        start = min(int(np.searchsorted(lower, low, side="right")), stop - 1)
        masses = self.masses[start:stop].copy()
        masses[0] += float(lower[start - 1]) * (1 + 1e-9) if start else 0.0
        lost = float(np.sum(self.masses[stop:])) * (1 + 1e-12) if cut else 0.0
        return LossDistribution(self.step, self.low + start, masses, self.infinity + lost)


def promise_nothing(step: Fraction) -> LossDistribution:
    """Return the distribution whose delta is 1 at every epsilon: its curve is above every other."""
    return LossDistribution(step, 0, np.ones(1), 1.0)


def from_points(
    step: Fraction, points: Iterable[tuple[Fraction, float]], infinity: float = 0.0
) -> LossDistribution:
    """Discretise (loss, mass) pairs with exact losses; masses are already rounded up."""
    listed = list(points)
    near = [(int(loss // step), loss, mass) for loss, mass in listed if loss < _FARTHEST * step]
    infinity += sum(mass for loss, mass in listed if loss >= _FARTHEST * step) * (1 + 1e-12)
    if not near:
        return promise_nothing(step)
    places = [cell for cell, _, _ in near]
    top = max(*places, -_FARTHEST)
    base = min((cell for cell in places if cell > top - _WIDEST), default=top)
    cells = np.array([max(0, cell - base) for cell in places])
    offsets = np.array([float(loss - cell * step) if cell >= base else 0.0 for cell, loss, _ in near])
    masses = np.array([mass for _, _, mass in near])
    return _collect(step, cells, offsets, masses, base=base, infinity=infinity)


def from_floats(step: Fraction, losses: Vector, masses: Vector, infinity: float = 0.0) -> LossDistribution:
    """Discretise many losses that are right to a relative 2e-15; they are moved up by more than that."""
    h = _width(step)
    farthest = h * float(_FARTHEST)
    losses, masses = losses[masses > 0], masses[masses > 0]  # an empty place may lie far away
    raised = np.maximum(losses + 8e-15 * (np.abs(losses) + h), -farthest)
    near = raised < farthest
    infinity += float(np.sum(masses[~near])) * (1 + 1e-12)
    raised, masses = raised[near], masses[near]
    if not len(raised):
        return promise_nothing(step)
    index = np.floor(raised / h)  # whole numbers, whatever their size, so differences are exact
    base = float(index.min(where=index >= index.max() - _WIDEST, initial=np.inf))
    offsets = np.where(index < base, 0.0, np.clip(raised - index * h, 0.0, h))
    cells = np.maximum(index - base, 0.0).astype(np.int64)
    return _collect(step, cells, offsets, masses, base=int(base), infinity=infinity)


def from_density(
    step: Fraction, *, low: int, high: int, density: Callable[[Vector], Vector], infinity: float
) -> LossDistribution:
    """Discretise a loss density over the cells low .. high - 1.

    The density is a function of the distance from the lowest point: the differences of large losses
    would drown it in rounding. The split of every cell is integrated by Gauss's rule with 8 nodes. All
    weights are positive, and for a normal density, a cell of at most a quarter of its standard deviation and
    losses within 14 of them, the remainder term of the rule is below 1e-13 of the cell's mass.
    """
    h = _width(step)
    left = np.arange(high - low, dtype=np.float64) * h
    masses = np.zeros(high - low + 1)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        t = (node + 1) / 2 * h
        there = density(left + t) * (weight / 2 * h * (1 + 1e-12))
        masses[:-1] += there * (math.exp(-t) * math.expm1(t - h) / math.expm1(-h))  # the lower end's share
        masses[1:] += there * (math.expm1(-t) / math.expm1(-h))
    return LossDistribution(step, low, masses, infinity)


def fits(points: int) -> bool:
    """Tell whether a grid of so many points is kept as it is."""
    return points <= _WIDEST


def _width(step: Fraction) -> float:
    """Return the step as a float that quotients and products can be formed with."""
    h = float(step)
    if not 1e-300 <= h <= 1e150:
        raise InvalidParameter(name="step", rule="between 1e-300 and 1e150", value=step)
    return h


def _collect(
    step: Fraction, cells: NDArray[np.int64], offsets: Vector, masses: Vector, *, base: int, infinity: float
) -> LossDistribution:
    """Split every mass between the two ends of its cell; cells count from `base`."""
    h = _width(step)
    high_share = np.expm1(-offsets) / math.expm1(-h)
    low_share = np.exp(-offsets) * (np.expm1(np.minimum(offsets - h, 0.0)) / math.expm1(-h))
    size = int(cells.max()) + 2
    raised = masses * (1 + 1e-13)
    total = np.bincount(cells, weights=raised * low_share, minlength=size)
    total += np.bincount(cells + 1, weights=raised * np.minimum(high_share, 1.0), minlength=size)
    used = size - 1 if total[-1] == 0 else size
    return LossDistribution(step, base, (total[:used] * (1 + 1e-13)).astype(np.float64), infinity)


def _convolve(a: Vector, b: Vector, rate: float) -> tuple[Vector, float]:
    """Return an upper bound on the convolution, and how much mass its error terms add at most."""
    if len(a) * len(b) <= _DIRECT:
        # Sums of non-negative products: the relative error is at most (terms + 1) units.
        return np.convolve(a, b) * (1 + 2.5e-16 * (min(len(a), len(b)) + 2)), 0.0
    result, bound = _fourier(a, b)
    rate = min(rate, _LARGEST_TILT / (len(a) + len(b)))
    if rate > 0:
        (ta, ca), (tb, cb) = _tilt_masses(a, rate), _tilt_masses(b, rate)
        tilted, _ = _fourier(ta, tb if b is not a else ta)
        undo = np.exp(ca + cb - rate * np.arange(len(tilted)))
        result = np.minimum(result, tilted * undo * (1 + 1e-11))
    return result, bound * len(result)


def _tilt_masses(a: Vector, rate: float) -> tuple[Vector, float]:
    """Return a * e^(rate * i - c), about a probability vector, and c."""
    exponents = rate * np.arange(len(a))
    with np.errstate(divide="ignore"):
        logs = exponents + np.log(a)
    top = float(np.max(logs))
    return np.exp(logs - top), top


def _fourier(a: Vector, b: Vector) -> tuple[Vector, float]:
    """Convolve by FFT and add the error bound to every point.

    Passes of radix 4 and 2, unit roundoff u, roots of unity within 3 u: a transform of length 2^n is off by
    less than 12 (n + 1) u times the product of the Euclidean norms in every entry (docs/accounting.md). We
    take 16 (n + 1) u.
    """
    length = len(a) + len(b) - 1
    bits = max(1, (length - 1).bit_length())
    size = 1 << bits
    left = np.fft.rfft(a, size)
    right = left if b is a else np.fft.rfft(b, size)
    product = np.fft.irfft(left * right, size)[:length]
    bound = 16 * (bits + 1) * _UNIT * 1.001 * _norm(a) * _norm(b)
    return np.maximum(product, 0.0) + bound, bound


def _norm(a: Vector) -> float:
    """Return the Euclidean norm; squares of tiny masses would be lost."""
    top = float(np.max(a))
    return top * math.sqrt(float(np.sum((a / top) ** 2))) if top else 0.0


def common_unit(units: Iterable[Fraction]) -> Fraction:
    """Return the largest step of which all the given ones are multiples (zeros are ignored)."""
    found = Fraction(0)
    for unit in units:
        fine = math.lcm(found.denominator, unit.denominator)
        found = Fraction(math.gcd(int(found * fine), int(unit * fine)), fine)
    return found
