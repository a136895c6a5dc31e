"""The losses of additive noise: Laplace, discrete Laplace, Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.losses import normal
from discreet.core.losses.base import SLACK, SMALLEST, Loss, Pair, check_order, short, zcdp_delta
from discreet.core.losses.pld import (
    LossDistribution,
    Vector,
    fits,
    from_density,
    from_floats,
    from_points,
    promise_nothing,
)
from discreet.core.losses.pure import EpsilonLoss, PureLoss, RespondingLoss
from discreet.core.parameters import checked, public
from discreet.core.rounding import above, down, up

_REACH = 13.5  # standard deviations kept of a normal loss: 1e-41 lies outside
_FEW = 4096
_MANY = 1 << 20
_LARGEST_LOG_MASS = 200.0
_DEPTH = 100  # losses of probability below e^-100 are lifted: far apart losses would need endless grids


@dataclass(frozen=True, slots=True)
class LaplaceLoss(EpsilonLoss):
    """Continuous Laplace noise with sensitivity / scale = `value`. Noise on a grid has its own class."""

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve 1 - e^{(epsilon - value) / 2}."""
        gap = self.value - checks.non_negative(epsilon=epsilon)
        return 0.0 if gap <= 0 else min(1.0, above(-math.expm1(-up(gap) / 2) * (1 + SLACK)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return value + 2 log(1 - delta), the inverse of the curve."""
        d = checks.delta(delta=delta)
        value = up(self.value)
        if self.delta(0) <= d:
            return 0.0
        logarithm = 2 * (math.log1p(-down(d)) if d < Fraction(1, 2) else math.log(up(1 - d)))
        return min(value, max(0.0, above(value + logarithm + SLACK * abs(logarithm))))

    def renyi(self, order: checks.Number) -> float:
        """Return the exact Rényi divergence of two Laplace distributions."""
        a, e = check_order(order), up(self.value)
        first = (a - 1) * e + math.log(a / (2 * a - 1))
        second = -a * e + math.log((a - 1) / (2 * a - 1))
        divergence = (first + math.log1p(math.exp(second - first))) / (a - 1)
        rounding = 1e-14 * (1 + a * e) / (a - 1)
        return max(0.0, min(e, above(self.zcdp() * a), divergence * (1 + SLACK) + rounding))

    def zcdp(self) -> float:
        """Return value + e^-value - 1, tight for continuous noise only."""
        e = up(self.value)
        if e < 1e-2:
            return above(e * e / 2, 4)
        return min(above(e * e / 2, 4), e + math.expm1(-e) + 1e-15 * (1 + e))

    def pld(self, step: Fraction) -> Pair:
        """Return atoms at value and -value and the density e^{(l - value) / 2} / 4 between them."""
        bottom = max(-self.value, self.value - 2 * _DEPTH)
        low, high = math.floor(bottom / step), math.ceil(self.value / step)
        if step > _DEPTH or not fits(high - low):
            return PureLoss(self.value).pld(step)  # no shape is seen on such a grid, or it is too long
        depth = float(self.value - bottom) / 2
        ends = from_points(step, [(self.value, 0.5), (bottom, above(math.exp(-depth) / 2 * (1 + SLACK)))])
        # Cells are cut at the two ends, so the first and the last may be shorter than a step.
        h, first = float(step), float((low + 1) * step - bottom)
        last = float(self.value - (high - 1) * step)
        below_top = np.arange(high - low) * h - float(self.value - low * step)
        start, stop = np.zeros(high - low), np.full(high - low, h)
        if high > low:
            start[0], stop[-1] = h - first, last
        share, mass = _exponential_cell(start, stop, h)
        mass = mass * np.exp(np.minimum(below_top / 2, 0.0)) * (1 + SLACK)
        masses = np.zeros(high - low + 1)
        masses[:-1] += mass * (1 - share) * (1 + SLACK)
        masses[1:] += mass * share * (1 + SLACK)
        masses[ends.low - low : ends.low - low + len(ends.masses)] += ends.masses
        one = LossDistribution(step, low, masses, 0.0)
        return one, one


def _exponential_cell(start: Vector, stop: Vector, h: float) -> tuple[Vector, Vector]:
    """Return, for the density e^{t/2} / 4 on [start, stop] of a cell [0, h], the upper share and the mass."""
    mass = np.exp(start / 2) * np.expm1((stop - start) / 2) / 2
    # The upper share of a point is (1 - e^-t) / (1 - e^-h); its mean over the density is exact below:
    # the integral of e^{t/2} (1 - e^-t) / 4 is that of sinh(t/2) / 2, that is cosh(t/2).
    upper = 2 * np.sinh((stop + start) / 4) * np.sinh((stop - start) / 4) / -math.expm1(-h)
    with np.errstate(invalid="ignore"):
        share = np.where(mass > 0, upper / mass, 1.0)
    return np.minimum(share * (1 + SLACK), 1.0), mass


@checked
class DiscreteLaplaceLoss(RespondingLoss):
    """Discrete Laplace noise of a scale on integers that neighbours move by at most `shift` in total.

    With shift 1 it is exactly randomized response, so the continuous curve would be a false promise. The
    Rényi views are those of randomized response: exact for shift 1, sound for every shift.
    """

    shift: int = public(checks.integer, 0)
    scale: Fraction = public(checks.positive)

    @property
    def value(self) -> Fraction:
        """The pure epsilon."""
        return self.shift / self.scale

    def delta(self, epsilon: checks.Number) -> float:
        """Sum the exact curve over the values the loss takes.

        The loss at output x is (|x - shift| - |x|) / scale: `value` up to 0, falling by 2 / scale a step
        until -value. With q = e^{-1/scale}, gap = value - epsilon and m the last x whose loss is above
        epsilon, the sum is ((1 - e^-gap) + q (1 - q^m) - e^-gap (q^-m - 1)) / (1 + q); the last term
        is at most half of the first, so nothing cancels.
        """
        gap = self.value - checks.non_negative(epsilon=epsilon)
        if gap <= 0:
            return 0.0
        m = math.ceil(gap * self.scale / 2) - 1
        g, run, q = up(gap), float(m / self.scale), math.exp(-float(1 / self.scale))
        total = -math.expm1(-g) - q * math.expm1(-run)
        if run:  # e^-g (e^run - 1) without overflow, since run <= g / 2
            total -= math.exp(run - g) * -math.expm1(-run)
        return min(1.0, above(total / (1 + q) * (1 + SLACK) + 4e-16 * min(g, 1.0)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the pure epsilon at delta 0, else invert the curve."""
        d = checks.delta(delta=delta)
        return up(self.value) if d == 0 else min(up(self.value), Loss.epsilon(self, d))

    def pld(self, step: Fraction) -> Pair:
        """Return the exact masses: value below 0, then one loss an integer, then -value.

        Where these are too many, the loss of noise on every g-th integer, which covers this one: a geometric
        variable is g times a geometric one plus an independent remainder, so the noise is g times the
        noise of scale / g plus noise of its own.
        """
        last = min(self.shift, math.ceil(_DEPTH * self.scale) + 1)
        g = -(-last // _MANY)
        if g > 1:
            return DiscreteLaplaceLoss(-(-self.shift // g), self.scale / g).pld(step)
        q = math.exp(-float(1 / self.scale))
        head = above(1 / (1 + q), 6)
        x = np.arange(1, last)
        # P[X = x] = (1 - q) / (1 + q) q^x, and P[X >= last] = q^last / (1 + q).
        weights = (
            -math.expm1(-1 / float(self.scale)) * head * np.exp(-x * float(1 / self.scale)) * (1 + 1e-12)
        )
        tail = above(math.exp(-float(last / self.scale)) * head * (1 + 1e-12))
        bottom = self.value - 2 * last / self.scale
        if not self.shift:
            one = from_points(step, [(Fraction(0), 1.0)])
        elif last <= _FEW:
            inner = [(self.value - 2 * j / self.scale, float(w)) for j, w in enumerate(weights.tolist(), 1)]
            one = from_points(step, [(self.value, head), *inner, (bottom, tail)])
        else:
            losses = np.concatenate([[float(self.value)], (self.shift - 2 * x) / float(self.scale)])
            losses = np.append(losses, float(bottom))
            one = from_floats(step, losses, np.concatenate([[head], weights, [tail]]))
        return one, one

    @property
    def unit(self) -> Fraction:
        """The distance between possible losses, or the only one."""
        return self.value if self.shift <= 1 else 1 / self.scale


_LEAST = Fraction(1, 10**12)
_ROOT_ERROR = Fraction(1, 10**9)  # a root that was rounded up is that close


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """Gaussian noise: mu = L2 sensitivity / standard deviation.

    `slack` is 1 for continuous noise. Noise on the integers of standard deviation s (in grid units) is
    covered in every dimension by slack = (1 - 1 / (4 s^2))^-2: the discrete Gaussian is below the
    rounded one in convex order, the rounded one below a Gaussian widened by that factor, and
    delta(epsilon) is the mean of a convex function of the noise (docs/algorithms/gaussian.md).

    `square` is mu^2 where mu itself is no fraction, and was rounded up: squares are what adds up.
    """

    mu: Fraction
    slack: Fraction = Fraction(1)
    square: Fraction | None = None

    def __post_init__(self) -> None:
        mu = checks.non_negative(mu=self.mu)
        # Floats cannot follow a smaller loss through a composition; a little more is the safe side.
        object.__setattr__(self, "mu", max(mu, _LEAST) if mu else mu)
        object.__setattr__(self, "slack", checks.at_least(1, slack=self.slack))
        if self.square is not None:
            object.__setattr__(self, "square", self._check_square(self.square))

    def _check_square(self, square: Fraction) -> Fraction | None:
        given, most = checks.non_negative(square=square), self.mu * self.mu
        if not (1 - _ROOT_ERROR) * most <= given <= most and self.mu > _LEAST:
            raise InvalidParameter(name="square", rule="mu^2, or a hair below", value=square)
        return given if given < most and self.mu > _LEAST else None

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve for slack 1, an upper bound otherwise, and never above zCDP's."""
        e = checks.non_negative(epsilon=epsilon)
        return gaussian_delta(*self.gaussian(), e)

    def epsilon(self, delta: checks.Number) -> float:
        """Invert the curve; infinity at delta 0."""
        d = checks.delta(delta=delta)
        return math.inf if d == 0 and self.mu else Loss.epsilon(self, d)

    def zcdp(self) -> float:
        """Return mu^2 / 2, for continuous and discrete noise alike."""
        return up(self.exact_rho())

    def exact_rho(self) -> Fraction:
        """Return mu^2 / 2."""
        return self.gaussian()[0] / 2

    def gaussian(self) -> tuple[Fraction, Fraction]:
        """Return mu^2 and slack mu^2."""
        square = self.mu * self.mu if self.square is None else self.square
        return square, self.slack * square

    def pld(self, step: Fraction) -> Pair:
        """Return the normal density of the loss."""
        return gaussian_pld(*self.gaussian(), step)

    def __str__(self) -> str:
        return f"Gaussian loss mu {short(self.mu)}"


def gaussian_delta(square: Fraction, spread: Fraction, epsilon: Fraction) -> float:
    """Return the delta of the loss N(-square / 2, spread) under Q, rounded up.

    It is the mean of (e^L - e^epsilon)+, exact for spread = square; otherwise what zCDP with rho =
    square / 2 gives may be smaller.
    """
    if square == 0:
        return 0.0
    # The numerators are exact, so the arguments of the normal law are right to a few units.
    deviation = math.sqrt(float(spread))
    one = (spread - square / 2 - epsilon, spread / 2 - square / 2)
    first = float(one[1]) + normal.log_cdf(float(one[0]) / deviation)
    tail = normal.log_cdf(float(-square / 2 - epsilon) / deviation)
    second = float(epsilon) + tail
    magnitude = 1 + float(one[1]) + abs(first) + float(epsilon) + abs(tail)
    difference = math.exp(min(first, 700.0)) * (-math.expm1(min(0.0, second - first)) + 4e-15 * magnitude)
    bound = 1.0 if first > 700 else max(SMALLEST, difference * (1 + 4e-15 * magnitude))
    if spread == square:
        return min(1.0, bound)
    return min(1.0, bound, zcdp_delta(up(square / 2), down(epsilon)))


def gaussian_pld(square: Fraction, spread: Fraction, step: Fraction) -> Pair:
    """Return the loss under P: mass e^{(spread - square) / 2} times N(spread - square / 2, spread)."""
    if square == 0:
        one = from_points(step, [(Fraction(0), 1.0)])
        return one, one
    centre, deviation = spread - square / 2, math.sqrt(float(spread))
    log_mass = float(spread - square) / 2
    if log_mass > _LARGEST_LOG_MASS:
        one = promise_nothing(step)
        return one, one
    mass, reach = math.exp(log_mass), Fraction(_REACH * deviation)
    outside = mass * 4 * normal.cdf(-_REACH)
    refinement = max(1, math.ceil(4 * float(step) / deviation))  # Gauss's rule needs narrow cells
    fine = step / refinement
    low, high = math.floor((centre - reach) / fine), math.ceil((centre + reach) / fine)
    if not fits(high - low):
        one = from_points(step, [(centre + reach, mass * (1 + SLACK))], outside)
        return one, one
    factor, start = mass / (deviation * math.sqrt(2 * math.pi)), float(low * fine - centre)

    def density(distances: Vector) -> Vector:
        scaled = (start + distances) / deviation
        values: Vector = factor * np.exp(-0.5 * scaled * scaled)
        return values

    body = from_density(fine, low=low, high=high, density=density, infinity=outside)
    masses = body.masses.copy()
    masses[0] += outside
    one = LossDistribution(fine, low, masses, outside)
    if refinement > 1:  # a few hundred points at most
        one = from_points(step, [((low + i) * fine, m) for i, m in enumerate(masses.tolist())], outside)
    return one, one
