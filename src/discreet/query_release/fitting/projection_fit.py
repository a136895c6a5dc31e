"""The nearest answers that some weights give: a first-order method that knows how far it is from the end.

Only `workload.answers` and `workload.adjoint` are used, so no matrix is ever made. Everything here is
post-processing of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Array
from discreet.queries.workload import Workload
from discreet.query_release.fitting.consistency import onto_simplex

ROUNDS = 20_000
"""The most rounds of the method."""

_CHECKED = 5  # rounds between two looks at the gap
_EASE = 0.95  # a step may grow by this factor again


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Weights, and their duality gap: half the squared distance is within `gap` of the smallest."""

    weights: Array
    gap: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Body:
    """Weights that are allowed: their nearest point to any others, and the least they can make of a cost."""

    nearest: Callable[[Array, float], Array]
    least: Callable[[Array, float], float]


def onto_ball(point: Array, total: float) -> Array:
    """Return the nearest weights of any sign whose sizes add up to at most a given number."""
    sizes = np.abs(point)
    if sizes.sum() <= total:
        return point
    return np.copysign(onto_simplex(sizes, total), point)


BODIES = {
    "simplex": Body(onto_simplex, lambda cost, total: total * float(cost.min())),
    "ball": Body(onto_ball, lambda cost, total: -total * float(np.abs(cost).max())),
}


def nearest(workload: Workload, target: Array, *, total: float, body: str, tolerance: float) -> Fit:
    """Minimise half the squared distance between the answers and a target, until the gap is small enough.

    Accelerated projected gradient steps, as long as they are known to descend, with a fresh start whenever
    the momentum points the wrong way. The weights of the smallest gap that was seen are returned.

    Parameters
    ----------
    total
        The sum of the weights, or of their sizes at most for the ball.
    tolerance
        The gap at which to stop.
    """
    size = workload.universe.size
    if total <= 0:
        return Fit(np.zeros(size), 0.0, 0)
    walk = _Walk(workload, target, total, BODIES[body])
    best = walk.look()
    for rounds in range(1, ROUNDS + 1):
        if best.gap <= tolerance:
            break
        walk.step()
        if rounds % _CHECKED == 0:
            seen = walk.look()
            best = Fit(seen.weights, seen.gap, rounds) if seen.gap < best.gap else best
    return best


class _Walk:
    """Where the method is: weights, their answers, and the point it looks ahead to."""

    def __init__(self, workload: Workload, target: Array, total: float, body: Body) -> None:
        self._workload, self._target, self._total, self._body = workload, target, total, body
        self._at = np.full(workload.universe.size, total / workload.universe.size)
        self._answers = self._answer(self._at)
        self._ahead, self._ahead_answers, self._momentum = self._at, self._answers, 1.0
        self._steepness = 1.0

    def look(self) -> Fit:
        """Return the weights and their gap: what a step to the best corner would gain to first order."""
        cost = self._cost(self._answers)
        gap = float(np.vdot(cost, self._at)) - self._body.least(cost, self._total)
        return Fit(self._at, max(0.0, gap), 0)

    def step(self) -> None:
        """Take one step from the point ahead."""
        cost = self._cost(self._ahead_answers)
        self._steepness *= _EASE
        while True:
            moved = self._body.nearest(self._ahead - cost / self._steepness, self._total)
            answers = self._answer(moved)
            change, seen = moved - self._ahead, answers - self._ahead_answers
            # The distance is quadratic, so this is exactly when the step does not overshoot.
            if float(np.vdot(seen, seen)) <= self._steepness * float(np.vdot(change, change)) * (1 + 1e-12):
                break
            self._steepness *= 2
        uphill = float(np.vdot(self._ahead - moved, moved - self._at)) > 0
        following = 1.0 if uphill else (1 + math.sqrt(1 + 4 * self._momentum**2)) / 2
        pull = 0.0 if uphill else (self._momentum - 1) / following
        self._ahead = moved + pull * (moved - self._at)
        self._ahead_answers = answers + pull * (answers - self._answers)
        self._at, self._answers, self._momentum = moved, answers, following

    def _answer(self, weights: Array) -> Array:
        return self._workload.answers(weights).astype(np.float64, copy=False)

    def _cost(self, answers: Array) -> Array:
        return self._workload.adjoint(answers - self._target).reshape(-1)
