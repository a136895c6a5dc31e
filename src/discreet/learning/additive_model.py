"""An additive model: one score for each code of each column, and how well their sum foretells a label."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Array, Floats, Integers

UNIT = 1 << 10
"""Scores are whole numbers of this part of one, so that sums of them are exact."""

REACH = 8 * UNIT
"""Sums of scores are clamped to this on either side: the odds there are 3,000 to one."""

WIDEST = 6 * UNIT
"""Where the first and the last cell of a judged histogram end."""


@dataclass(frozen=True, slots=True)
class AdditiveModel:
    """What an additive learner releases. It holds noisy numbers only, so using it costs nothing more.

    Attributes
    ----------
    shape
        How many codes each column has.
    scores
        A score for each code of each column, in parts of 1 / 1024 of log odds, before calibration.
    judged
        Noisy counts of training rows by label and by score, in cells from low to high: the rows with label 0
        first. Empty where nothing was judged.
    deviation
        The standard deviation of the noise on each of those counts.
    """

    shape: tuple[int, ...]
    scores: tuple[int, ...]
    judged: tuple[int, ...] = ()
    deviation: float = 0.0

    @property
    def tables(self) -> tuple[Floats, ...]:
        """The calibrated log odds that each code of each column adds."""
        slope, _ = self.calibration
        ends = list(itertools.accumulate(self.shape))
        scores = np.array(self.scores, dtype=np.float64) * slope / UNIT
        return tuple(np.split(scores, ends[:-1]))

    def log_odds(self, codes: Integers) -> Floats:
        """Return the calibrated log odds of label 1 for rows of codes."""
        return self.calibrate(add_scores(self, codes))

    def calibrate(self, sums: Integers) -> Floats:
        """Return the log odds that exact sums of scores stand for; each depends on its own sum alone."""
        slope, intercept = self.calibration
        return slope * sums / UNIT + intercept

    @property
    def calibration(self) -> tuple[float, float]:
        """A slope and an intercept that turn sums of scores into log odds, from the judged counts alone."""
        if not self.judged:
            return 1.0, 0.0
        counts, middles = self._cells()
        return fit_line(counts, middles, prior=max(1.0, self.deviation))

    @property
    def error_rate(self) -> float:
        """An estimate of the part of training rows that the model gets wrong; NaN where none was judged."""
        wrong, total = self._wrong()
        return min(1.0, max(0.0, float(wrong.sum()) / total)) if total > 0 else math.nan

    @property
    def error_rate_deviation(self) -> float:
        """The standard deviation of that estimate that comes from the noise."""
        wrong, total = self._wrong()
        if total <= 0:
            return math.inf
        rate = self.error_rate
        # Each wrong cell moves the rate by (1 - rate) / total, each right one by rate / total.
        square = len(wrong) * (1 - rate) ** 2 + len(wrong) * rate**2
        return float(self.deviation * math.sqrt(square) / total)

    def _cells(self) -> tuple[Floats, Floats]:
        counts = np.array(self.judged, dtype=np.float64).reshape(2, -1)
        edges = np.linspace(-WIDEST, WIDEST, counts.shape[1] + 1) / UNIT
        return np.maximum(counts, 0.0), (edges[1:] + edges[:-1]) / 2

    def _wrong(self) -> tuple[Floats, float]:
        if not self.judged:
            return np.zeros(0), 0.0
        counts = np.array(self.judged, dtype=np.float64).reshape(2, -1)
        slope, intercept = self.calibration
        high = slope * self._cells()[1] + intercept > 0
        return np.where(high, counts[0], counts[1]), float(counts.sum())


@dataclass(frozen=True, slots=True)
class AdditiveModels:
    """What an additive learner of several labels releases: a model of each label against all others.

    Attributes
    ----------
    models
        In the order of the labels.
    wrong
        A noisy count of the training rows that they get wrong together.
    deviation
        The standard deviation of its noise.
    """

    models: tuple[AdditiveModel, ...]
    wrong: int = 0
    deviation: float = math.inf

    def log_odds(self, codes: Integers) -> Floats:
        """Return the calibrated log odds of each label against all others: a line for each row of codes."""
        return np.stack([model.log_odds(codes) for model in self.models], axis=1)

    @property
    def error_rate(self) -> float:
        """An estimate of the part of training rows that the models get wrong; NaN where none was judged."""
        total = self._count()
        return min(1.0, max(0.0, self.wrong / total)) if total > 0 else math.nan

    @property
    def error_rate_deviation(self) -> float:
        """The standard deviation of that estimate that comes from the noise."""
        total = self._count()
        if total <= 0:
            return math.inf
        cells = sum(len(model.judged) for model in self.models)
        spread = self.models[0].deviation * math.sqrt(cells) / len(self.models)
        return math.hypot(self.deviation, self.error_rate * spread) / total

    def _count(self) -> float:
        """Return how many rows were judged: every model judged all of them."""
        return sum(sum(model.judged) for model in self.models) / len(self.models)


def add_scores(model: AdditiveModel, codes: Integers) -> Integers:
    """Return the exact sum of the scores of each row."""
    starts = np.array([0, *itertools.accumulate(model.shape)][:-1], dtype=np.int64)
    scores = np.array(model.scores, dtype=np.int64)
    return np.asarray(scores[codes + starts].sum(axis=1), dtype=np.int64)


def cell_of(scores: Integers, cells: int) -> Integers:
    """Return which of the judged cells each score is in."""
    return np.clip((scores + WIDEST) * cells // (2 * WIDEST), 0, cells - 1)


def fit_line(counts: Array, middles: Floats, *, prior: float) -> tuple[float, float]:
    """Fit label 1 = logistic(slope middle + intercept) to counts by label, drawn towards slope 1 and 0.

    `prior` is how many rows the wish to stay there weighs. Noise in empty cells would flatten the line, so
    what is not above it is left out.
    """
    kept = np.where(counts > 2 * prior, counts, 0.0)
    total = kept.sum(axis=0)
    slope, intercept = 1.0, 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-(slope * middles + intercept)))
        weight, off = total * p * (1 - p), kept[1] - total * p
        cross = (weight * middles).sum()
        second = np.array(
            [[(weight * middles**2).sum() + prior, cross], [cross, weight.sum() + prior]], dtype=np.float64
        )
        first = np.array([(off * middles).sum() - prior * (slope - 1), off.sum() - prior * intercept])
        move = np.clip(np.linalg.solve(second, first), -0.5, 0.5)
        slope, intercept = max(0.05, slope + float(move[0])), intercept + float(move[1])
        if np.abs(move).max() < 1e-9:
            break
    return slope, intercept
