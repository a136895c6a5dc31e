"""The capped (Bregman) projection: the closest distribution in which nothing has more than 1 / density.

A measure w over actions becomes P(a) = min(1, c w(a)) / density, with the one c that makes the sum 1. It
keeps everything that privacy needs: where two measures differ by a factor of at most e^kappa everywhere, the
log-ratio of their projections has range at most 2 kappa; and r actions more or fewer move it by at most
r / density in statistical distance. [HRU13] Definition 2.11 and Lemmas 3.4 and 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.equilibrium.arrays import NUMPY, Array, Arrays

Floats = NDArray[np.float64]

DOUBT = 2.0**-30
"""What a logarithm computed in floats may be off by: far above the errors of its few operations."""

Logs = Callable[[], Iterable[Array]]
"""Logarithms of weights, in as many arrays as it pleases whoever keeps them; called for each pass."""

_TINY = 1e-200  # a sum of weights that may have lost some to underflow
_FAR = math.log(1e-150)  # between what is in such a sum and what is not


def cap_project(log_weights: Floats, density: checks.Number) -> Floats:
    """Return the capped projection of a measure, given as logarithms.

    Parameters
    ----------
    log_weights
        One finite number an action.
    density
        At least 1 and at most the number of actions. No action gets more than 1 / density.
    """
    logs = np.asarray(log_weights, dtype=np.float64)
    if logs.ndim != 1 or not np.isfinite(logs).all():
        raise InvalidParameter(name="log_weights", rule="a list of finite numbers", got="something else")
    wanted = float(checks.at_least(1, density=density))
    if not wanted <= logs.size:
        raise InvalidParameter(name="density", rule=f"at most {logs.size}, the actions", value=density)
    level, _ = log_level(lambda: [logs], wanted)
    return np.exp(np.minimum(0.0, logs + level)) / wanted


def log_level(
    logs: Logs,
    density: float,
    *,
    start: float | None = None,
    reach: float = math.inf,
    arrays: Arrays = NUMPY,
) -> tuple[float, float]:
    """Return log c, and a bound on how far it is off.

    Capping more and more actions lets c grow up to its value and never beyond, so any `start` below it
    will do. Actions that are light even at `reach` above the start are passed over once. The only doubt left
    is about actions right at the cap.
    """
    base = _floor(logs, density, math.inf, arrays) if start is None else start
    # A little wider, so that whatever comes near the cap is among the open ones.
    base, reach = base - 4 * DOUBT, reach + 8 * DOUBT
    size, capped, light, open_ = _sort_out(logs, base, math.exp(-reach), arrays)
    count, rest = capped, light + float(open_.sum())
    while True:
        if count == size:  # density = number of actions: all are at the cap
            return -min(float(block.min()) for block in logs()), DOUBT
        if rest < _TINY:  # some may be too light to be seen beside those at the cap
            start = _floor(logs, density, _FAR - base, arrays)
            return log_level(logs, density, start=start, arrays=arrays)
        cap = rest / (density - count)
        under = open_ < cap
        found = capped + len(open_) - int(arrays.module.count_nonzero(under))
        if found <= count or found >= density:
            break
        count, rest = found, light + float((open_ * under).sum())
    near = int(arrays.module.count_nonzero(abs(open_ - cap) < 2 * DOUBT * cap))
    return base - math.log(cap), DOUBT * (1 + near)


def _floor(logs: Logs, density: float, below: float, arrays: Arrays) -> float:
    """Return a bound below log c: actions from `below` on are all capped, the others as heavy as any."""
    top, capped, others = -math.inf, 0, 0
    for block in logs():
        under = block < below
        others += int(arrays.module.count_nonzero(under))
        capped += len(block) - int(arrays.module.count_nonzero(under))
        top = max(top, float(arrays.module.where(under, block, -math.inf).max()))
    return math.log((density - capped) / others) - top - DOUBT


def _sort_out(logs: Logs, base: float, low: float, arrays: Arrays) -> tuple[int, int, float, Array]:
    """Return how many actions there are, how many are capped, the sum of weights below `low`, and the others.

    Weights are in the unit in which those from one on are capped at the level `base`.
    """
    size, capped, light, others = 0, 0, 0.0, []
    for block in logs():
        weights = arrays.module.exp(arrays.module.clip(block + base, None, 0.0))
        under, uncapped = weights < low, weights < 1.0
        size += len(block)
        capped += len(block) - int(arrays.module.count_nonzero(uncapped))
        light += float((weights * under).sum())
        others.append(weights[uncapped & ~under])
    return size, capped, light, arrays.module.concatenate(others)


def exact_level(masses: Sequence[int], counts: Sequence[int], density: int) -> Fraction:
    """Return c for masses that are positive whole numbers, each of several actions."""
    ordered = sorted(zip(masses, counts, strict=True), reverse=True)
    rest, capped = sum(mass * count for mass, count in ordered), 0
    for mass, count in ordered:
        if (density - capped) * mass < rest:
            return Fraction(density - capped, rest)
        rest -= mass * count
        capped += count
    return Fraction(1, ordered[-1][0])
