"""The capped (Bregman) projection: the closest distribution in which nothing has more than 1 / density.

A measure w over actions becomes P(a) = min(1, c w(a)) / density, with the one c that makes the sum 1. It
keeps everything that privacy needs: where two measures differ by a factor of at most e^kappa everywhere, the
log-ratio of their projections has range at most 2 kappa; and r actions more or fewer move it by at most
r / density in statistical distance. [HRU13] Definition 2.11 and Lemmas 3.4 and 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter

Floats = NDArray[np.float64]

DOUBT = 2.0**-30
"""What a logarithm computed in floats may be off by: far above the errors of its few operations."""


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
    level, _ = log_level(logs, wanted)
    return np.exp(np.minimum(0.0, logs + level)) / wanted


def log_level(logs: Floats, density: float, *, start: float = -math.inf) -> tuple[float, float]:
    """Return log c, and a bound on how far it is off.

    Capping more and more actions lets c grow up to its value and never beyond, so any `start` below it
    will do. The only doubt left is about actions right at the cap.
    """
    level = start
    capped = logs >= -level
    count = int(np.count_nonzero(capped))
    while True:
        rest = logs[~capped] if count else logs
        if not rest.size:  # density = number of actions: all are at the cap
            return -float(logs.min()), DOUBT
        top = float(rest.max())
        level = math.log(density - count) - top - math.log(float(np.exp(rest - top).sum()))
        capped = logs >= -level
        found = int(np.count_nonzero(capped))
        if found <= count or found >= density:
            break
        count = found
    near = int(np.count_nonzero(np.abs(logs + level) < DOUBT))
    return level, DOUBT * (1 + near)


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
