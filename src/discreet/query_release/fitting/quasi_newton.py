"""Minimising smooth functions of many variables: L-BFGS in a few long vector operations a step.

SciPy's routine handles bounds as well, and for tens of thousands of variables it takes several times as long
as the functions minimised here, which have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.fixed import Floats
from discreet.core.progress import track

Objective = Callable[[Floats], tuple[float, Floats]]
"""Returns a value and its gradient."""

MEMORY = 20
_SHRINK, _GROW, _TRIES = 0.3, 2.5, 20
_ENOUGH, _FLAT = 1e-4, 0.9  # Wolfe's conditions: how much a step must gain, and how much slope it may leave


def minimise(
    objective: Objective, start: Floats, *, iterations: int, still: float = 1e-15, level: float = 0.0
) -> Floats:
    """Return where the objective is small, after at most some iterations.

    Parameters
    ----------
    objective
        The function and its gradient.
    start
        Where to begin.
    iterations
        The most steps to take.
    still
        Stop where a step gains less than this part of the value.
    level
        Stop where no entry of the gradient is larger than this.
    """
    place = np.array(start, dtype=np.float64)
    value, slope = objective(place)
    moves, bends = np.zeros((2, MEMORY, len(place)))
    scales: list[tuple[int, float]] = []
    for step in track(range(iterations), total=iterations, label="fitting"):
        if float(np.abs(slope).max(initial=0.0)) <= level:
            break
        direction = -_newton(slope, moves, bends, scales)
        if not float(direction @ slope) < 0:
            direction, scales = -slope, []
        first = 1.0 if scales else 1.0 / float(np.linalg.norm(slope))
        found = _search(objective, (place, value, slope), direction, first=first)
        if found is None:
            break
        after, lower, turned = found
        move, bend = after - place, turned - slope
        product = float(move @ bend)
        if product > 1e-12 * float(bend @ bend):
            slot = step % MEMORY
            moves[slot], bends[slot] = move, bend
            scales = [pair for pair in scales if pair[0] != slot] + [(slot, 1 / product)]
        gained, place, value, slope = value - lower, after, lower, turned
        if gained <= still * max(abs(value), 1.0):
            break
    return place


def _newton(slope: Floats, moves: Floats, bends: Floats, scales: list[tuple[int, float]]) -> Floats:
    """Multiply the gradient by the inverse curvature that the last steps imply."""
    result, kept = slope.copy(), []
    for slot, scale in reversed(scales):
        weight = scale * float(moves[slot] @ result)
        result -= weight * bends[slot]
        kept.append(weight)
    if scales:
        slot, scale = scales[-1]
        result /= scale * float(bends[slot] @ bends[slot])
    for (slot, scale), weight in zip(scales, reversed(kept), strict=True):
        result += (weight - scale * float(bends[slot] @ result)) * moves[slot]
    return result


def _search(
    objective: Objective, at: tuple[Floats, float, Floats], direction: Floats, *, first: float
) -> tuple[Floats, float, Floats] | None:
    """Return a point along a direction that gains enough, its value and gradient; None where none does."""
    place, value, slope = at
    descent, length = float(slope @ direction), first
    low, high = 0.0, np.inf
    best: Any = None
    for _ in range(_TRIES):
        after = place + length * direction
        lower, turned = objective(after)
        if not lower <= value + _ENOUGH * length * descent:
            high = length
        else:
            best = after, lower, turned
            if float(turned @ direction) >= _FLAT * descent:
                return after, lower, turned
            low = length
        length = low + _SHRINK * (high - low) if high < np.inf else length * _GROW
    return best  # type: ignore[no-any-return]
