"""A linear model with a link, as it is released: weights, their standard errors, and what rows say of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Floats
from discreet.core.search import narrow
from discreet.learning.linear_models.links import PARTS, REACH, Link
from discreet.learning.moments import HIDDEN

_EDGE = 2.0  # times the deviation and the root of the size: the largest eigenvalue of pure noise
_SETTLED = 0.5  # how far the last step may move the score of the longest row, for errors to be told
_WIDEST = 2.0  # the deviation of residuals, in halves of the range of a number
_LONGEST = 4.0  # how far one step may move the score of the longest row
_WHOLE = 0.999  # the part of that below which no step was shortened, whatever floats make of it


@dataclass(frozen=True, slots=True)
class LinearScores:
    """What a learner of weights releases. It holds noisy numbers only, so using it costs nothing more.

    Attributes
    ----------
    link
        What a score says of the target.
    weights
        One for each column, the constant first.
    covariance
        Of the weights, row by row: what sampling and the noise of the release bring in together, but for what
        a ridge takes away. Empty where the link gives none.
    leaks
        A matrix, row by row: how much of each weight would go over into each other's estimate, because noise
        hides directions of them.
    settled
        Whether the last step was a small one.
    judged
        The noisy mean of the part of labels that are wrong, or of squared residuals as far as they are cut.
    judged_deviation
        The standard deviation that noise gives it.
    most
        The count that no mean is above, with the Poisson link.
    """

    link: Link
    weights: tuple[float, ...]
    covariance: tuple[float, ...]
    leaks: tuple[float, ...]
    settled: bool
    judged: float
    judged_deviation: float
    most: float

    def standard_errors(self, contrasts: Floats | None = None) -> Floats:
        """Return the standard errors of the weights, or of sums of them: a line of factors for each sum.

        Infinity where hidden directions bring more than a twentieth of any weight to the sum, or the last
        step was so long that another one would be needed. NaN where the link gives no standard errors.
        """
        size = len(self.weights)
        lines = np.eye(size) if contrasts is None else contrasts
        if not self.covariance:
            return np.full(len(lines), np.nan)
        spread = np.array(self.covariance).reshape(size, size)
        leaks = np.abs(lines @ np.array(self.leaks).reshape(size, size)).max(axis=1)
        square = np.einsum("ij,jk,ik->i", lines, spread, lines)
        return np.where(self.settled & (leaks <= HIDDEN), np.sqrt(np.maximum(square, 0.0)), np.inf)

    def score(self, rows: Floats) -> Floats:
        """Return the score of each row, of which the first number is the constant."""
        found: Floats = rows @ np.array(self.weights)
        return found

    def mean(self, rows: Floats) -> Floats:
        """Return the foretold mean: of labels the probability of 1, where the link knows of one."""
        scores = np.clip(self.score(rows), -REACH / PARTS, REACH / PARTS)
        if self.link in (Link.LOGISTIC, Link.CUT_LOGISTIC):
            likely = 1 / (1 + np.exp(-scores))
            return np.asarray(likely if self.link is Link.LOGISTIC else _undo_cut(likely))
        return np.minimum(np.exp(scores), self.most) if self.link is Link.POISSON else scores


@dataclass(frozen=True, slots=True)
class Slope:
    """A noisy gradient and a noisy curvature at some weights, both in natural units.

    Attributes
    ----------
    gradient, curvature
        What was measured.
    pull_noise, bend_noise
        The standard deviations of the noise on each number of them.
    """

    gradient: Floats
    curvature: Floats
    pull_noise: float
    bend_noise: float

    def step(self, weights: Floats, *, ridge: float, length: int) -> Floats:
        """Return the weights after one Newton step; the constant has no ridge.

        Directions whose curvature is below what noise alone would show are drawn towards no weight at all,
        just as hard as it takes to be above it; all others are left alone, so their weights are not biased.
        """
        inverse, lifted = self._invert(ridge)
        move = inverse @ (self.gradient - (lifted + self._ridge(ridge)) @ weights)
        far = float(np.linalg.norm(move)) * math.sqrt(length)
        return np.asarray(weights + move * min(1.0, _LONGEST / max(far, 1e-300)))

    def covariance(self, move: Floats, *, ridge: float, spread: float) -> tuple[Floats, Floats]:
        """Return that of the weights after the step `move`, and the leaks.

        Pulls are taken to vary as `spread` times the curvature.
        """
        inverse, lifted = self._invert(ridge)
        noise = self.pull_noise**2 * np.eye(len(move))
        # The same noise stands on both sides of the diagonal of the curvature.
        noise += self.bend_noise**2 * (np.outer(move, move) + np.diag(float(move @ move) - move**2))
        return inverse @ (spread * self.curvature + noise) @ inverse, inverse @ lifted

    def settles(self, move: Floats, *, ridge: float, length: int) -> bool:
        """Tell whether a step was taken whole and moves no score far, but in directions that the noise hides.

        There weights wander as the noise has it, whatever the budget, and no error of theirs is told. So few
        rows lie there that what others measure is moved by no more than the noise of the curvature. But where
        they wander so far that the step is shortened, it is for all others too: these are on their way still.
        """
        values, vectors = np.linalg.eigh(self.curvature + self._ridge(ridge))
        told = vectors[:, values >= (1 - HIDDEN) * self._least]
        whole, far = (float(np.linalg.norm(each)) * math.sqrt(length) for each in (move, told.T @ move))
        return whole < _WHOLE * _LONGEST and far < _SETTLED

    @property
    def _least(self) -> float:
        """The curvature that noise alone would show."""
        return max(_EDGE * self.bend_noise * math.sqrt(len(self.gradient)), 1e-9)

    def _ridge(self, ridge: float) -> Floats:
        return np.diag([0.0, *[ridge] * (len(self.gradient) - 1)])

    def _invert(self, ridge: float) -> tuple[Floats, Floats]:
        """Return the inverse of the curvature, and what was added to it in directions lost in noise."""
        values, vectors = np.linalg.eigh(self.curvature + self._ridge(ridge))
        high = np.maximum(values, self._least)
        return (vectors / high) @ vectors.T, (vectors * (high - values)) @ vectors.T


def _undo_cut(likely: Floats) -> Floats:
    """Return the probability of label 1 at which residuals that are cut off at one half cancel out.

    Where a score says q above one half, rows of label 1 pull by 1 - q and others by one half: they are even
    where label 1 has the part 1 / (3 - 2 q) of them.
    """
    sure = np.maximum(likely, 1 - likely)
    part = 1 / (3 - 2 * sure)
    return np.where(likely >= sure, part, 1 - part)


def undo_clip(square: float, cut: float) -> float:
    """Return the deviation of normal residuals whose squares, none above that of `cut`, have this mean."""

    def reaches(deviation: float) -> bool:
        far = cut / deviation
        inside = math.erf(far / math.sqrt(2))
        below = inside - math.sqrt(2 / math.pi) * far * math.exp(-far * far / 2)
        return deviation**2 * below + cut**2 * (1 - inside) >= square

    return narrow(reaches, 0.0, _WIDEST, steps=50)[1]
