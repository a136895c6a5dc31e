"""How far off one answer probably is: an interval of its own, learnt on made-up tables like the data.

Post-processing: the fitted hypothesis is public, so rows may be drawn from it, measured again with noise of
the same law and fitted again, as often as one likes. The errors that show up there have two parts. One is the
known noise of the measured tables, as much of it as the fit leaves; the other is what the fit smooths away.
Both are smooth functions of public features of a question: the deviation of its unbiased estimate, and the
count that was answered. For counts that no measured table tells about there is a third part, what tables of
few attributes do not say of more.

Calibrated and not proved: 95 of 100 answers lie in such intervals, on tables that look like many others. What
is proved is the bound for all answers at once, and no interval here is wider than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy

from discreet.core.fixed import Floats, Integers
from discreet.noise.trial_noise import TrialNoise
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.universe import Universe
from discreet.query_release.fitting.mean_squares import Linear, fit_mean_squares, fit_slope
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.boxes import Boxes, read_workload
from discreet.query_release.online.table_weights import CLOSE, FLAT, fit_weights
from discreet.query_release.synopses.marginal_tables import MarginalTables

Axes = tuple[int, ...]
Sums = Callable[[Any], Floats]
"""Returns the sums of an array over some questions."""
Box = dict[str, tuple[Any, Any]]

VERSION = 1
"""Another one whenever something else is learnt from the same tables: older notes are not read then."""
SURE = NormalDist().inv_cdf(0.975)
"""How many standard deviations hold 95 of 100 errors that are normal."""
WIDER = 1.05
"""How much wider than simulated intervals of measured boxes are: data have more in them than trials; tuned.

Where no measured table tells, `misfit` stands for that."""
TRIALS = 4
"""How many made-up tables there are; half as many where the universe is large."""
_LARGE = 1 << 16  # cells
_ASKED = 800  # questions of each kind that the errors are learnt on
_BINS = 8  # sizes of counts that the law of errors is looked at for apart
_FEW = 0.3  # rows: below it counts are all alike
_NEAR_ALL = 0.02  # of the rows; as near to all of them counts are alike
_LEAST = 1e-3  # rows: a deviation below it is none
_MOST_LOST = 3.0  # deviations of the estimate: no fit smooths away more than shows in it
_WHOLE = 1e6  # rows: counts above it are drawn from the normal law


@dataclass(frozen=True, slots=True, eq=False)
class OwnErrors:
    """What an answer's own error depends on.

    Attributes
    ----------
    rows
        How many there are, about.
    kept, lost
        Of counts that a measured table tells: the part of its noise that is left in the answer, and the
        logarithm of the mean square of everything else.
    beyond, sizes, reaches
        Of other counts: the logarithm of the mean square, and how many roots of it hold 95 of 100 errors, by
        the logarithm of the count.
    misfit
        The variance that attributes add which depend on each other four at a time, for every row.
    more
        How many times more of the data was smoothed away than of the made-up tables.
    """

    rows: float
    kept: Linear
    lost: Linear
    beyond: Linear
    sizes: Floats
    reaches: Floats
    misfit: float
    more: float

    def half_widths(self, said: Floats, deviations: Floats) -> Floats:
        """Return how far answers may be off, each by itself at 95 %.

        Parameters
        ----------
        said
            What was answered, in rows.
        deviations
            The standard deviations of the unbiased estimates; infinite where there are none.
        """
        known = np.isfinite(deviations)
        spread = np.where(known, deviations, 1.0)
        features = known_features(said, spread, self.rows)
        part = np.clip(self.kept(features), 0.0, 1.0)
        lost = self.more * np.minimum(np.exp(self.lost(features)), np.square(_MOST_LOST * spread))
        inner = WIDER * SURE * np.sqrt(np.square(part * spread) + lost)
        if known.all():
            return np.asarray(inner)
        others = other_features(said, self.rows)
        square = self.more * np.exp(self.beyond(others)) + self.misfit * np.maximum(said, 0.0)
        outer = np.interp(others[:, 1], self.sizes, self.reaches) * np.sqrt(square)
        return np.asarray(np.where(known, inner, outer))


def known_features(said: Floats, deviations: Floats, rows: float) -> Floats:
    """Return the features of counts with an unbiased estimate, a row each."""
    size, left = _logarithms(said, rows)
    spread = np.log(np.maximum(deviations, _LEAST))
    return np.stack([np.ones_like(size), spread, size, spread * size, spread**2, size**2, left], axis=1)


def other_features(said: Floats, rows: float) -> Floats:
    """Return the features of other counts."""
    size, left = _logarithms(said, rows)
    return np.stack([np.ones_like(size), size, size**2, left], axis=1)


def _logarithms(said: Floats, rows: float) -> tuple[Floats, Floats]:
    left = np.maximum(rows - said, 0.0) / rows
    return np.log(np.maximum(said, 0.0) + _FEW), np.log(left + _NEAR_ALL)


def learn_own_errors(
    mechanism: ResidualMarginals,
    weights: Floats,
    estimates: Floats,
    *,
    estimate: Callable[[MarginalTables], Floats],
    deviate: Callable[[Boxes], Floats],
    misfit: float,
) -> OwnErrors:
    """Measure and fit made-up tables, and learn how far their answers are off. The same every time.

    Time: that of a few fits.

    Parameters
    ----------
    mechanism, weights, estimates
        What measured, the hypothesis that came out, which rows are drawn from, and what was estimated.
    estimate, deviate
        Return numbers over the universe whose sums over boxes are unbiased, and their deviations.
    misfit
        As in `OwnErrors`.
    """
    universe, rows = mechanism.workload.universe, max(float(weights.sum()), 1.0)
    stream = TrialNoise("questions")
    sets = mechanism.workload.sets
    most = max(len(axes) for axes in sets)
    boxes = Rectangles(universe, draw_boxes(universe, _ASKED, sets=sets, orders=(1, most), stream=stream))
    deviations = deviate(read_workload(boxes).boxes)
    others = _ask_others(universe, most, stream)
    inner: list[tuple[Floats, Floats, Floats]] = []
    outer: list[tuple[Floats, Floats]] = []
    for trial in range(TRIALS if universe.size <= _LARGE else max(1, TRIALS // 2)):
        stream = TrialNoise(f"rows {trial}")
        counts = draw_counts(weights, stream)
        tables: Any = mechanism.release(Histogram.dense(universe, counts), rng=stream).value
        fitted = fit_weights(tables, flatness=CLOSE).reshape(universe.shape)
        true, said = boxes.answers(counts), boxes.answers(fitted)
        noise = boxes.answers(estimate(tables)) - true
        inner.append((known_features(said, deviations, rows), said - true, noise))
        # Such questions are answered by a flatter hypothesis than boxes are.
        said = others(fit_weights(tables, flatness=FLAT).reshape(universe.shape))
        outer.append((other_features(said, rows), said - others(counts)))
    features, off, noise = (np.concatenate(each) for each in zip(*inner, strict=True))
    spread = np.maximum(np.tile(deviations, len(inner)), _LEAST)
    kept = fit_slope(features, off / spread, noise / spread)
    lost = fit_mean_squares(features, np.square(off - np.clip(kept(features), 0.0, 1.0) * noise))
    said = boxes.answers(weights)
    real = known_features(said, deviations, rows), said - boxes.answers(estimates)
    trials = [(each, errors - noises) for each, errors, noises in inner]
    more = _find_more(kept, lost, spread[: len(said)], real, trials)
    features, off = (np.concatenate(each) for each in zip(*outer, strict=True))
    beyond = fit_mean_squares(features, np.square(off))
    sizes, reaches = _find_reaches(features[:, 1], np.abs(off) / np.exp(beyond(features) / 2))
    return OwnErrors(rows, kept, lost, beyond, sizes, reaches, misfit, more)


def _find_more(
    kept: Linear,
    lost: Linear,
    spread: Floats,
    real: tuple[Floats, Floats],
    trials: list[tuple[Floats, Floats]],
) -> float:
    """Return how many times more the fit smoothed away of the data than of tables that look like the fit.

    What was said is off the unbiased estimate by the noise that was smoothed away and by what else was, and
    the first of the two is known. Trials say how sure the ratio is.
    """

    def more(features: Floats, off: Floats) -> float:
        noise = np.square(1 - np.clip(kept(features), 0.0, 1.0))
        usual = np.exp(lost(features)) / np.square(spread)
        return float((np.square(off / spread) - noise).sum() / usual.sum())

    found = np.array([more(*trial) for trial in trials])
    luck = float(np.sqrt(np.square(found - found.mean()).sum() / max(len(found) - 1, 1)))
    return max(1.0, more(*real) - float(found.mean()) + 1 - luck)


def draw_boxes(
    universe: Universe, count: int, *, sets: Sequence[Axes], orders: tuple[int, int], stream: TrialNoise
) -> list[Box]:
    """Return made-up questions: some attributes of one of some sets, and of each one value or several."""
    boxes = []
    for _ in range(count):
        chosen = sets[int(stream.uniform(1)[0] * len(sets))]
        fewest, most = (min(order, len(chosen)) for order in orders)
        order = fewest + int(stream.uniform(1)[0] * (most - fewest + 1))
        box: Box = {}
        for place in np.argsort(stream.uniform(len(chosen)))[:order].tolist():
            values, chances = universe.attributes[chosen[place]].values, stream.uniform(3)
            first, last = sorted((chances[:2] * len(values)).astype(int).tolist())
            box[universe.names[chosen[place]]] = values[first], values[first if chances[2] < 1 / 2 else last]
        boxes.append(box)
    return boxes


def _ask_others(universe: Universe, most: int, stream: TrialNoise) -> Sums:
    """Return made-up questions that no measured table tells about: boxes over more attributes, and unions."""
    axes = [tuple(range(len(universe.shape)))]
    many = draw_boxes(universe, _ASKED, sets=axes, orders=(most + 1, most + 3), stream=stream)
    both = draw_boxes(universe, _ASKED // 2, sets=axes, orders=(2, 2), stream=stream)
    one = [dict(list(box.items())[:1]) for box in both]
    other = [dict(list(box.items())[1:]) for box in both]
    asked = [Rectangles(universe, boxes) for boxes in (many, one, other, both)]

    def add_up(array: Any) -> Floats:
        large, first, second, common = (np.asarray(each.answers(array), np.float64) for each in asked)
        return np.concatenate([large, first + second - common])

    return add_up


def draw_counts(weights: Floats, stream: TrialNoise) -> Integers:
    """Return made-up rows of a population: how many there are in each cell."""
    chances = (stream.uniform(weights.size).reshape(weights.shape) + 2.0**-33).clip(0.0, 1 - 2.0**-33)
    many = weights > _WHOLE
    drawn = np.ceil(scipy.special.pdtrik(chances, np.where(many, 1.0, weights)))
    # Where no count is so unlikely, it is none.
    drawn = np.where(many, np.rint(weights + np.sqrt(weights) * scipy.special.ndtri(chances)), drawn)
    return np.asarray(np.maximum(np.nan_to_num(drawn), 0), dtype=np.int64)


def _find_reaches(sizes: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Return for some sizes of counts which multiple of their deviation 95 of 100 errors stay below."""
    parts = np.array_split(np.argsort(sizes, kind="stable"), _BINS)
    centres = np.array([np.median(sizes[part]) for part in parts])
    return centres, np.array([np.quantile(off[part], 0.95) for part in parts])
