"""The numerical route: plan a grid, compose loss distributions, keep every error on the safe side.

The plan only decides how tight the result is; whatever it decides, `LossDistribution` keeps it sound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.core.loss import Loss, Pair, gaussian_pld
from discreet.core.losses.pld import LossDistribution, common_unit
from discreet.core.rounding import sum_up
from discreet.core.search import minimise

Parts = tuple[tuple[Loss, int], ...]

_BIAS = 2e-4  # share of the total variance that discretisation may add
_FEWEST, _MOST = 1 << 13, 1 << 19  # grid points aimed at
_SMALLEST_DELTA = 1e-200
_RARE = 1e-11  # losses whose probabilities add up to less do not stretch a plan


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """One mechanism: how to discretise it, how often it runs, and a coarse version to plan with.

    `reach` is how far its losses lie apart, the rarest included, which a plan does not look at.
    """

    discretise: Callable[[Fraction], Pair | None]
    count: int
    unit: Fraction
    trial: Pair
    reach: float

    @classmethod
    def of(
        cls, discretise: Callable[[Fraction], Pair | None], count: int, unit: Fraction, trial: Pair
    ) -> _Source:
        reach = len(trial[0].masses) * float(trial[0].step)
        first, second = (one.trim(low=_RARE, high=0.0) for one in trial)
        return cls(discretise, count, unit, (first, second), reach)


@lru_cache(maxsize=32)
def distributions(parts: Parts, delta: float) -> Pair | None:
    """Return loss distributions of the whole, tight near `delta`; None where a part has none."""
    if not delta >= _SMALLEST_DELTA:
        return None
    sources = _sources(parts)
    if sources is None:
        return None
    if not sources:
        return gaussian_pld(Fraction(0), Fraction(0), Fraction(1))
    step = _plan(sources, delta)
    pairs = [source.discretise(step) for source in sources]
    if any(pair is None for pair in pairs):
        return None
    found = [pair for pair in pairs if pair is not None]
    one = _whole(sources, found, 0, delta)
    if all(pair[0] is pair[1] for pair in found):
        return one, one
    return one, _whole(sources, found, 1, delta)


def _sources(parts: Parts) -> list[_Source] | None:
    """Collect the parts, with all Gaussian ones merged into one: their squares add up exactly."""
    sources: list[_Source] = []
    views = [(loss.gaussian(), count) for loss, count in parts]
    square = sum_up(count * view[0] for view, count in views if view is not None)
    spread = sum_up(count * view[1] for view, count in views if view is not None)
    for loss, count in parts:
        if loss.gaussian() is not None:
            continue
        scale = loss.epsilon(min(0.5, loss.failure + 1e-9))
        trial = None if math.isinf(scale) else _trial(loss.pld, Fraction(max(scale, 1e-9) / 128))
        if trial is None:
            return None
        sources.append(_Source.of(loss.pld, count, loss.unit, trial))
    if square:

        def merge(step: Fraction, a: Fraction = square, b: Fraction = spread) -> Pair:
            return gaussian_pld(a, b, step)

        trial = merge(Fraction(math.sqrt(float(spread)) / 16))
        sources.append(_Source.of(merge, 1, Fraction(0), trial))
    return sources


def _trial(discretise: Callable[[Fraction], Pair | None], step: Fraction) -> Pair | None:
    """Refine until the variance is known to a few per cent: rare large losses hide a small scale."""
    pair = discretise(step)
    while pair is not None:
        step /= 8
        finer = discretise(step)
        if finer is None:
            return None
        settled = pair[0].moments()[1] <= 1.1 * finer[0].moments()[1]
        pair = finer
        if settled or len(finer[0].masses) > _MOST // 8:
            break
    return pair


def _plan(sources: list[_Source], delta: float) -> Fraction:
    variance = width = 0.0
    longest = rawest = 0.0
    total = 0
    for source in sources:
        piece = source.trial[0].trim(low=1e-12 / source.count, high=delta * 1e-4 / source.count)
        span = len(piece.masses) * float(piece.step)
        variance += source.count * max(d.moments()[1] for d in source.trial)
        width += source.count * span
        longest = max(longest, span)
        rawest = max(rawest, source.reach)
        total += source.count
    deviation = math.sqrt(variance)
    reach = 2 * math.sqrt(2 * math.log(1 / delta)) + 14
    width = min(width, reach * deviation + longest)
    wanted = min(math.sqrt(6 * _BIAS * variance / total), width / _FEWEST)
    step = max(wanted, width / _MOST, longest / _MOST, rawest / (8 * _MOST))
    return _align(step, common_unit(source.unit for source in sources))


def _align(step: float, unit: Fraction) -> Fraction:
    """Return a step that divides the unit, where losses with positive probability then need no rounding."""
    if unit and float(unit) >= step / 4:
        return unit / math.ceil(float(unit) / step)
    return Fraction(2) ** math.floor(math.log2(step))


def _whole(sources: list[_Source], pairs: list[Pair], direction: int, delta: float) -> LossDistribution:
    tilt = _tilt([(source.trial[direction], source.count) for source in sources], delta)
    spare = delta * 1e-4 / (2 * len(sources))
    powers = [
        pair[direction]
        .trim(low=0.0, high=spare / 64 / source.count)
        .power(source.count, tilt=tilt, spare=spare)
        for source, pair in zip(sources, pairs, strict=True)
    ]
    whole = powers[0]
    for power in powers[1:]:
        whole = whole.compose(power, tilt=tilt, spare=spare)
    return whole


def _tilt(trials: list[tuple[LossDistribution, int]], delta: float) -> float:
    """Minimise Chernoff's bound on the epsilon at delta: there lies the mass that matters."""

    def bound(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        return (sum(count * d.cumulant(tilt) for d, count in trials) - math.log(delta)) / tilt

    return math.exp(minimise(bound, math.log(1e-5), math.log(1e5), steps=24))
