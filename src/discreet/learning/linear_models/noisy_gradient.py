"""Linear models with a link, by noisy gradient descent: small steps, and the average of the later ones."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.learning.budgets import (
    Measurement,
    Noisy,
    count_moves,
)
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.linked_learner import JUDGED, MeasuredLearner, list_example, list_pairs
from discreet.learning.linear_models.links import PARTS, Link
from discreet.learning.linear_models.rows import walk

COUNTED = Fraction(1, 25)
"""The part of the budget for how many rows there are, which sets the length of steps."""

STEPS = 30
"""How many steps are taken where nobody says."""

MOMENTUM, STEEP = 0.9, 1.3
"""What a step keeps of the one before; and its length, in parts of one over the largest curvature there can
be: below 1.357, where such steps begin to swing."""

_FARTHEST = 64.0


@frozen
class NoisyGradient(MeasuredLearner):
    """Fit a linear model with a link to bounded rows, for forecasts: gradients alone are measured.

    Privacy: (epsilon, delta). Every step adds Gaussian noise to whole-number sums; what a row adds to a
    gradient has a public largest length. Losses of steps add up as Gaussians do.
    Accuracy: no theorem; the model carries its own estimate. Weights have no standard errors.
    Time: O(steps rows size).

    Parameters
    ----------
    link
        What the linear score foretells. `Link.CUT_LOGISTIC` has half the noise of `Link.LOGISTIC`.
    size
        How many columns there are, with the constant.
    length
        The largest squared length of a row, in squares of one.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    steps
        How many gradients are measured. Few steps are what keeps weights small where noise is large.
    most
        The largest count, for the Poisson link.
    cut
        Where residuals are cut off, in the units of the target, as in `NoisyNewton`.
    resolution
        Rows come in whole numbers of 1 / resolution.
    counted, judged
        Whether rows are counted first, and whether the weights are judged at the end. Only audits want them
        out.

    Notes
    -----
    Data are a pair (rows, targets) of whole-number arrays, as of `NoisyNewton`.

    Examples
    --------
    >>> learner = NoisyGradient(
    ...     link=Link.CUT_LOGISTIC,
    ...     size=3,
    ...     length=3,
    ...     epsilon=1,
    ...     delta=1e-9,
    ...     neighbours=AddRemove("person"),
    ... )
    >>> learner.guarantee.implies(epsilon=1, delta=1e-9)
    True
    """

    steps: int = public(checks.integer, 1, default=STEPS)
    counted: bool = public(checks.exactly, bool, default=True)

    def _measurements(self) -> tuple[Measurement, ...]:
        pull = self.tables.pull
        square = pull**2 * self.length * self.resolution**2
        rest = 1 - self.counted * COUNTED - self.judged * JUDGED
        made = [Measurement(count_moves(self.neighbours, same=square, apart=4 * square), rest, self.steps)]
        if self.counted:
            made.append(Measurement(1, COUNTED))  # a row that is replaced may be by one that counts nowhere
        if self.judged:
            made.append(Measurement(2 * self.tables.worst**2, JUDGED))
        return tuple(made)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each number of a gradient, in the units of the target."""
        return self.noises[0].deviation * self._unit

    @property
    def _unit(self) -> float:
        return float(self.cut / (self.tables.pull * self.resolution))

    def stride(self, rows: float) -> float:
        """Return the length of a step: never longer than curvature or noise allow.

        Parameters
        ----------
        rows
            How many rows there are, about.
        """
        return STEEP / (max(rows, 0.0) * float(self.tables.steepest) * self.length + self.deviation)

    def _draw(self, data: Any, rng: Rng) -> LinearScores:
        rows, targets = self._read(data)
        gradient, *others = self.noises
        spare, count = iter(others), 0.0
        if self.counted:
            noise = next(spare)
            (noisy,) = np.asarray(rng.perform(noise.step, np.array([len(targets)], dtype=np.int64))).tolist()
            count = max(float(noisy), noise.deviation)
        weights = self._descend(rows, targets, gradient, self.stride(count), rng)
        return self._tell(weights, self._judge(rows, targets, weights, spare, rng))

    def _descend(self, rows: Array, targets: Integers, noise: Noisy, stride: float, rng: Rng) -> Floats:
        """Return the average of the weights after the later half of all steps."""
        tables, later = self.tables, self.steps // 2
        weights, speed, total = np.zeros(self.size), np.zeros(self.size), np.zeros(self.size)
        for place in range(self.steps):
            pulls = np.zeros(self.size, dtype=np.int64)
            ahead = _clamp(weights + MOMENTUM * speed)
            for part, wanted, scores in walk(rows, targets, ahead, self.resolution):
                pulls += (tables.pulls(scores, wanted) @ part).astype(np.int64)
            pulled = np.asarray(rng.perform(noise.step, pulls), dtype=np.float64) * self._unit
            speed = MOMENTUM * speed + stride * pulled
            weights = _clamp(weights + speed)
            total += weights * (place >= later)
        return np.asarray(total / (self.steps - later))


def _clamp(weights: Floats) -> Floats:
    return np.clip(weights, -_FARTHEST, _FARTHEST)


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {
        "size": 1,
        "length": 1,
        "delta": Fraction(1, 100),
        "resolution": 1,
        "counted": False,
        "judged": False,
    }
    rows = {
        Link.LINEAR: [(1, PARTS), (1, -PARTS), (-1, PARTS), (5, 0)],
        Link.CUT_LOGISTIC: [(1, PARTS), (1, 0), (-1, 0), (1, 7)],
    }
    for link, listed in rows.items():
        for neighbours in (AddRemove("row"), Replace("row")):
            one = NoisyGradient(link=link, steps=1, epsilon=3, neighbours=neighbours, **plain)
            yield Tiny(one, list_pairs(neighbours, listed, 2))
        # Where the second gradient is taken depends on the noise of the first.
        two = NoisyGradient(link=link, steps=2, epsilon=5, neighbours=AddRemove("row"), **plain)
        yield Tiny(two, list_pairs(AddRemove("row"), listed[:1], 1), tight=False)


def _example() -> tuple[NoisyGradient, Any]:
    mechanism = NoisyGradient(
        link=Link.CUT_LOGISTIC,
        size=2,
        length=2,
        steps=4,
        epsilon=1,
        delta=1e-9,
        neighbours=AddRemove("person"),
    )
    return mechanism, list_example()


CARD = Card(
    title="Linear models with a link by noisy gradient descent",
    theorem="(epsilon, delta)-differential privacy of all steps together, by the sum of Gaussian losses",
    reference="[BST14]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
