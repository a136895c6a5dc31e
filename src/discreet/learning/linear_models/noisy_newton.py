"""Linear models with a link, by noisy Newton steps: whole-number gradients and curvatures, exact noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.learning.budgets import (
    Measurement,
    Noisy,
    count_moves,
)
from discreet.learning.linear_models.linear_scores import LinearScores, Slope
from discreet.learning.linear_models.linked_learner import JUDGED, MeasuredLearner, list_example, list_pairs
from discreet.learning.linear_models.links import (
    PARTS,
    Link,
    start_from,
)
from discreet.learning.linear_models.rows import CHUNK, walk
from discreet.learning.moments import Moments

STARTED = Fraction(3, 20)
"""The part of the budget for the moments that say where to start."""

PULLED = Fraction(13, 20)
"""The part of a step's budget for its gradient; the rest is for its curvature."""

_FARTHEST = 64.0  # where weights are clamped, so that sums of products stay whole below 2**53


@frozen
class NoisyNewton(MeasuredLearner):
    """Fit a linear model with a link to bounded rows, with standard errors that include the noise.

    Privacy: (epsilon, delta). Every measurement adds Gaussian noise to whole-number sums; what a row adds to
    a gradient has a public largest length, and what it adds to a curvature is at most its second moments.
    Squared moves are known beforehand, so losses add up as Gaussians do.
    Accuracy: no theorem; the weights come with standard errors, and the model with its own estimate.
    Time: O(steps rows size^2).

    Parameters
    ----------
    link
        What the linear score foretells.
    size
        How many columns there are, with the constant.
    length
        The largest squared length of a row, in squares of one.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    most
        The largest count, for the Poisson link.
    cut
        Where residuals are cut off, in the units of the target; left out, at a quarter of the range of a
        linear target, and at half of `most`. A row pulls no harder than that, and noise is in proportion.
    ridge
        The least ridge, in rows.
    steps
        How many Newton steps; each has twice the budget of the one before.
    resolution
        Rows come in whole numbers of 1 / resolution.
    started, judged
        Whether moments say where to start, and whether the weights are judged at the end. Only audits want
        them out.

    Notes
    -----
    Data are a pair (rows, targets) of whole-number arrays. Rows are in units of 1 / resolution, targets of
    1 / 1024: labels are 0 and 1024, linear targets from -1024 to 1024, counts from 0 to 1024 `most`. A row
    with a number above one, one that is longer than was declared, or one with another target counts nowhere.

    Examples
    --------
    >>> learner = NoisyNewton(
    ...     link=Link.LOGISTIC, size=3, length=3, epsilon=1, delta=1e-9, neighbours=AddRemove("person")
    ... )
    >>> learner.guarantee.implies(epsilon=1, delta=1e-9)
    True
    """

    ridge: Exact = public(checks.non_negative, default=0)
    steps: int = public(checks.integer, 1, default=3)
    started: bool = public(checks.exactly, bool, default=True)
    _way_out = "Read standard_errors and judged of the released model"

    def _measurements(self) -> tuple[Measurement, ...]:
        tables, unit = self.tables, self.resolution
        # Of fourth powers at most one a square of length; and two such matrices are never at an obtuse angle.
        products = unit**4 * self.length * (self.length + 1) // 2
        pull = tables.pull**2 * self.length * unit**2
        made = []
        if self.started:
            moments = unit**4 * (self.length + 1) * (self.length + 2) // 2
            made.append(Measurement(count_moves(self.neighbours, same=moments, apart=2 * moments), STARTED))
        rest = 1 - self.started * STARTED - self.judged * JUDGED
        for place in range(self.steps):
            share = rest * Fraction(1 << place, (1 << self.steps) - 1)
            pulls = count_moves(self.neighbours, same=pull, apart=4 * pull)
            bends = tables.bend**2 * count_moves(self.neighbours, same=products, apart=2 * products)
            made += [Measurement(pulls, share * PULLED), Measurement(bends, share * (1 - PULLED))]
        if self.judged:
            # How badly all are foretold, and how many count: a row more moves both, and so does one that is
            # replaced by one that counts nowhere.
            made.append(Measurement(2 * tables.worst**2, JUDGED))
        return tuple(made)

    def _draw(self, data: Any, rng: Rng) -> LinearScores:
        rows, targets = self._read(data)
        spare = iter(self.noises)
        weights = self._start(rows, targets, next(spare), rng) if self.started else np.zeros(self.size)
        ridge = float(self.ridge)
        for _ in range(self.steps):
            before = weights
            slope = self._measure(rows, targets, before, (next(spare), next(spare)), rng)
            weights = _clamp(slope.step(before, ridge=ridge, length=self.length))
        judged = self._judge(rows, targets, weights, spare, rng)
        move = weights - before
        spread: tuple[float, ...] = ()
        leaks: tuple[float, ...] = ()
        if self.link not in (Link.MARGIN, Link.CUT_LOGISTIC):  # their curvature is not how much pulls vary
            bent = max(float(slope.curvature[0, 0]), slope.bend_noise)
            known = self.judged and self.link is not Link.LOGISTIC
            found = slope.covariance(
                move, ridge=ridge, spread=judged.mean * judged.rows / bent if known else 1.0
            )
            spread, leaks = (tuple(matrix.ravel().tolist()) for matrix in found)
        return self._tell(
            weights,
            judged,
            covariance=spread,
            leaks=leaks,
            settled=slope.settles(move, ridge=ridge, length=self.length),
        )

    def _start(self, rows: Array, targets: Integers, noise: Noisy, rng: Rng) -> Floats:
        """Return weights from noisy second moments of rows and targets."""
        scaled = targets * (self.resolution / (PARTS * float(self.most)))  # one product a row
        last = np.rint(2 * scaled - self.resolution if self.link.labels else scaled)
        sums = np.zeros((self.size + 1, self.size + 1), dtype=np.int64)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            whole = np.column_stack([rows[part], last[part]]).astype(np.float64)
            sums += (whole.T @ whole).astype(np.int64)
        noisy = np.asarray(rng.perform(noise.step, sums[np.triu_indices(self.size + 1)]))
        moments = Moments(self.size + 1, tuple(noisy.tolist()), self.resolution, noise.deviation)
        means = moments.matrix[0] / max(1.0, float(moments.matrix[0, 0]))
        line = moments.fit(ridge=float(self.ridge))
        return _clamp(start_from(self.link, line.weights, means, float(self.most)))

    def _measure(
        self, rows: Array, targets: Integers, weights: Floats, noises: tuple[Noisy, Noisy], rng: Rng
    ) -> Slope:
        """Return the noisy gradient and curvature at some weights."""
        tables = self.tables
        pulls = np.zeros(self.size, dtype=np.int64)
        bends = np.zeros((self.size, self.size), dtype=np.int64)
        for part, wanted, scores in walk(rows, targets, weights, self.resolution):
            pulls += (tables.pulls(scores, wanted) @ part).astype(np.int64)
            curved = tables.curves(scores, wanted)[:, None] * part
            bends += (part.T @ curved).astype(np.int64)
        pulled, bent = noises
        upper = np.triu_indices(self.size)
        gradient = np.asarray(rng.perform(pulled.step, pulls), dtype=np.float64)
        curvature = np.zeros((self.size, self.size))
        curvature[upper] = np.asarray(rng.perform(bent.step, bends[upper]), dtype=np.float64)
        curvature += np.triu(curvature, 1).T
        pull = float(tables.cut / (tables.pull * self.resolution))
        bend = float(tables.steepest / (tables.bend * self.resolution**2))
        return Slope(gradient * pull, curvature * bend, pulled.deviation * pull, bent.deviation * bend)


def _clamp(weights: Floats) -> Floats:
    return np.clip(np.nan_to_num(weights), -_FARTHEST, _FARTHEST)


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {"delta": Fraction(1, 100), "resolution": 1, "started": False, "judged": False}
    one = NoisyNewton(
        link=Link.LINEAR, size=1, length=1, steps=1, epsilon=4, neighbours=AddRemove("row"), **plain
    )
    # No row moves both gradient and curvature: a residual that is cut off does not bend.
    yield Tiny(one, list_pairs(AddRemove("row"), [(1, 0), (1, PARTS), (-1, PARTS)], 1), tight=False)


def _example() -> tuple[NoisyNewton, Any]:
    mechanism = NoisyNewton(
        link=Link.LOGISTIC, size=2, length=2, epsilon=1, delta=1e-9, neighbours=AddRemove("person")
    )
    return mechanism, list_example()


CARD = Card(
    title="Linear models with a link by noisy Newton steps",
    theorem="(epsilon, delta)-differential privacy of all steps together, by the sum of Gaussian losses",
    reference="[GHST23]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
