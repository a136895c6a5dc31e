"""Additive logistic regression: exact noisy gradients of one score for each code of each column."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.learning.additive_model import REACH, UNIT, AdditiveModel, AdditiveModels, cell_of
from discreet.learning.budgets import (
    FINEST,
    Measurement,
    Noisy,
    add_up,
    count_moves,
    spread_budget,
)
from discreet.query_release.base import require_rows

COUNTED, JUDGED = Fraction(3, 20), Fraction(1, 20)
"""The parts of the budget for how many rows have each code, and for how well the scores do."""

MISTAKEN = Fraction(1, 100)
"""Of the latter, the part for how many rows are foretold wrong, where there are several labels."""

CELLS = 16
_MOMENTUM = 0.5
_STEEP = 2.5  # times one over the number of columns: below 3, where momentum one half begins to swing


@frozen
class AdditiveLogistic(Mechanism[Any, AdditiveModel | AdditiveModels]):
    """Learn to foretell a label from coded columns, by an additive model of its log odds.

    Privacy: (epsilon, delta). Every step adds Gaussian noise to whole numbers; a row adds one number of at
    most `resolution` to one cell of each column, so squared moves are at most the number of columns times its
    square (four times that where a row is replaced), for each of several labels. Losses of steps add up as
    Gaussians do.
    Accuracy: no theorem; the model carries a private estimate of its own error rate.
    Time: O(steps rows columns), times the labels where there are more than two.

    Parameters
    ----------
    shape
        How many codes each column has. Public.
    steps
        How many noisy gradients are taken.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    resolution
        Into how many whole numbers a residual of one half is cut; only audits want it coarse.
    counted, judged
        Whether codes are counted first, which sets the length of steps, and whether rows are counted by label
        and score at the end, which calibrates. Only audits want them out.
    labels
        How many labels there are. Of more than two, each has a model of its own against all others, and all
        are measured at once.

    Notes
    -----
    Data are a pair (codes, labels): a whole-number array with a row of codes for each row of the table, and
    an array of labels from 0. A row with another label or with a code outside the shape counts nowhere.

    The residual label - probability is cut off at one half. Rows on the wrong side then pull no harder the
    further off they are: the loss is still convex, outliers lose their pull, and the noise is halved.

    Examples
    --------
    >>> learner = AdditiveLogistic(
    ...     shape=(3, 2), steps=10, epsilon=1, delta=1e-9, neighbours=AddRemove("person")
    ... )
    >>> learner.guarantee.implies(epsilon=1, delta=1e-9)
    True
    """

    shape: Public[Iterable[int], tuple[int, ...]] = public(checks.each, checks.integer, 1)
    steps: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(require_rows)
    resolution: int = public(checks.integer, 1, FINEST, default=512)
    counted: bool = public(checks.exactly, bool, default=True)
    judged: bool = public(checks.exactly, bool, default=True)
    labels: int = public(checks.integer, 2, default=2)
    noises: tuple[Noisy, ...] = derived()

    def _complete(self) -> None:
        if not self.shape:
            raise InvalidParameter(name="shape", rule="a number of codes for each column", value=self.shape)
        self._set(noises=spread_budget(self._measurements(), self.epsilon, self.delta))

    def _measurements(self) -> tuple[Measurement, ...]:
        columns, pull, models = len(self.shape), self.resolution, len(self.sides)
        rest = 1 - self.counted * COUNTED - self.judged * JUDGED
        gradient = count_moves(
            self.neighbours,
            same=models * columns * pull**2,
            apart=_square_apart(models) * columns * pull**2,
        )
        made = [Measurement(gradient, rest, self.steps)]
        if self.counted:
            made.append(Measurement(count_moves(self.neighbours, same=columns, apart=2 * columns), COUNTED))
        if self.judged:
            share = JUDGED if models == 1 else JUDGED - MISTAKEN
            made.append(Measurement(count_moves(self.neighbours, same=models, apart=2 * models), share))
            if models > 1:
                made.append(Measurement(1, MISTAKEN))
        return tuple(made)

    @property
    def sides(self) -> tuple[int, ...]:
        """The labels that have a model of their own, against all others."""
        return (1,) if self.labels == 2 else tuple(range(self.labels))

    @property
    def loss(self) -> Loss:
        """All steps together."""
        return add_up(self.noises)

    def error(self, beta: checks.Number) -> float:
        """Refuse: nothing is proved about the rows to come.

        Raises
        ------
        NoBound
            Always.
        """
        checks.probability(beta=beta)
        raise NoBound(
            what="the error of a fitted model",
            why="it depends on what the columns say of the label",
            way_out="Read error_rate of the released model: a private estimate from its own budget",
        )

    def _draw(self, data: Any, rng: Rng) -> AdditiveModel | AdditiveModels:
        cells, labels = self._read(data)
        size, columns = sum(self.shape), len(self.shape)
        gradient, *others = self.noises
        spare = iter(others)
        counts = np.zeros(size)
        if self.counted:
            noise = next(spare)
            noisy = rng.perform(noise.step, _add_up(cells, np.ones(len(labels), dtype=np.int64), size))
            counts = np.maximum(np.asarray(noisy, dtype=np.float64), noise.deviation)
        pulls = _list_pulls(self.resolution)
        unit = 0.5 / self.resolution
        # A Newton step a column at most, and never longer than the noise deserves.
        length = min(1.0, _STEEP / columns) * unit / (counts / 4 + gradient.deviation * unit)
        sides = [(labels == label).astype(np.int64) for label in self.sides]
        weights, speed = np.zeros((len(sides), size)), np.zeros((len(sides), size))
        scores = np.zeros((len(sides), size), dtype=np.int64)
        for _ in range(self.steps):
            moved = []
            for side, each in zip(sides, scores, strict=True):
                sums = np.clip(_sum_scores(each, cells), -REACH, REACH) + REACH
                moved.append(_add_up(cells, pulls[side, sums], size))
            noisy = np.asarray(rng.perform(gradient.step, np.concatenate(moved)))
            speed = _MOMENTUM * speed + length * noisy.reshape(speed.shape)
            weights = np.clip(weights + speed, -REACH / UNIT, REACH / UNIT)
            scores = np.rint(weights * UNIT).astype(np.int64)
        learnt = [tuple(each.tolist()) for each in scores]
        if not self.judged:
            return _join([AdditiveModel(self.shape, each) for each in learnt])
        noise, counted = next(spare), []
        for side, each in zip(sides, scores, strict=True):
            places = side * CELLS + cell_of(_sum_scores(each, cells), CELLS)
            counted.append(np.bincount(places, minlength=2 * CELLS).astype(np.int64))
        found = np.asarray(rng.perform(noise.step, np.concatenate(counted))).reshape(len(sides), -1)
        models = [
            AdditiveModel(self.shape, each, tuple(line.tolist()), noise.deviation)
            for each, line in zip(learnt, found, strict=True)
        ]
        if len(models) == 1:
            return models[0]
        noise = next(spare)
        odds = [model.calibrate(_sum_scores(each, cells)) for model, each in zip(models, scores, strict=True)]
        mistaken = np.array([(np.argmax(odds, axis=0) != labels).sum()], dtype=np.int64)
        (wrong,) = np.asarray(rng.perform(noise.step, mistaken)).tolist()
        return AdditiveModels(tuple(models), int(wrong), noise.deviation)

    def _read(self, data: Any) -> tuple[Integers, Integers]:
        """Return the cell of each row in each column, a line a column, and the labels, of rows that count."""
        codes, labels = read_pair(data, len(self.shape))
        sizes = np.array(self.shape)
        inside = ((codes >= 0) & (codes < sizes)).all(axis=1) & (labels >= 0) & (labels < self.labels)
        starts = np.array([0, *itertools.accumulate(self.shape)][:-1])
        return np.ascontiguousarray((codes[inside] + starts).T), labels[inside]


def read_pair(data: Any, columns: int) -> tuple[Integers, Integers]:
    """Return codes and labels, which must be whole-number arrays of as many rows."""
    if isinstance(data, tuple | list) and len(data) == 2 and all(type(part) is np.ndarray for part in data):
        codes, labels = data
        whole = codes.dtype.kind in "iu" and labels.dtype.kind in "iu"
        if whole and codes.ndim == 2 and labels.ndim == 1 and codes.shape == (len(labels), columns):
            return _narrow(codes), _narrow(labels)
    raise InvalidParameter(
        name="data",
        rule=f"a pair of whole-number arrays: rows of {columns} codes, and as many labels",
        got="something else",
        hint="discreet.learning.AdditiveClassifier codes frames and arrays by declared columns",
    )


def _square_apart(models: int) -> int:
    """Return the squared distance between what two rows add to one column, in squares of a residual.

    With the same codes and another label, the residual of one model turns around, and with several labels
    those of two: each moves by twice itself, and the others, of one sign, by themselves. With other codes the
    residuals of both rows stand beside each other.
    """
    return 4 if models == 1 else max(models + 6, 2 * models)


def _join(models: list[AdditiveModel]) -> AdditiveModel | AdditiveModels:
    return models[0] if len(models) == 1 else AdditiveModels(tuple(models))


def _narrow(whole: Array) -> Integers:
    """Return whole numbers as 64 bits; what does not fit becomes negative, and is outside of every shape."""
    return whole.astype(np.int64)


def _list_pulls(resolution: int) -> Integers:
    """Return the residual of each label at each sum of scores: public whole numbers, computed once."""
    p = 1 / (1 + np.exp(-np.arange(-REACH, REACH + 1) / UNIT))
    residuals = np.stack([-p, 1 - p])
    return np.rint(np.clip(residuals, -0.5, 0.5) * 2 * resolution).astype(np.int64)


def _add_up(cells: Integers, numbers: Integers, size: int) -> Integers:
    """Return the sums of whole numbers over the rows of each cell; exact up to 2**41 rows."""
    made = np.zeros(size, dtype=np.float64)
    weights: Floats = numbers.astype(np.float64)
    for line in cells:
        made += np.bincount(line, weights=weights, minlength=size)
    return made.astype(np.int64)


def _sum_scores(scores: Integers, cells: Integers) -> Integers:
    """Return the exact sum of the scores of each row, a column at a time."""
    made = np.zeros(cells.shape[1], dtype=np.int64)
    for line in cells:
        made += scores[line]
    return made


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {"delta": Fraction(1, 100), "resolution": 1, "counted": False, "judged": False}
    rows = [((code,), label) for code in (0, 1) for label in (0, 1)]
    for neighbours in (AddRemove("row"), Replace("row")):
        one = AdditiveLogistic(shape=(1,), steps=1, epsilon=3, neighbours=neighbours, **plain)
        yield Tiny(one, _list_pairs(neighbours, [((0,), 0), ((0,), 1), ((1,), 1)], 2))
    # Where the second gradient is taken depends on the noise of the first.
    two = AdditiveLogistic(shape=(1,), steps=2, epsilon=5, neighbours=AddRemove("row"), **plain)
    yield Tiny(two, _list_pairs(AddRemove("row"), [((0,), 0)], 1), tight=False)
    wide = AdditiveLogistic(shape=(2,), steps=1, epsilon=3, neighbours=AddRemove("row"), **plain)
    yield Tiny(wide, _list_pairs(AddRemove("row"), rows, 1))


def _list_pairs(neighbours: Neighbours, rows: list[Any], size: int) -> list[tuple[Any, Any]]:
    return [(_stack(left), _stack(right)) for left, right in neighbours.pairs(rows, size)]


def _stack(rows: Any) -> tuple[Integers, Integers]:
    codes = np.array([codes for codes, _ in rows], dtype=np.int64).reshape(len(rows), -1 if rows else 1)
    return codes, np.array([label for _, label in rows], dtype=np.int64)


def _example() -> tuple[AdditiveLogistic, Any]:
    mechanism = AdditiveLogistic(shape=(4, 3), steps=5, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    place = np.arange(200)
    return mechanism, (np.stack([place % 4, place % 3], axis=1), (place % 4 > 1).astype(np.int64))


CARD = Card(
    title="Additive logistic regression by exact noisy gradients",
    theorem="(epsilon, delta)-differential privacy of all steps together, by the sum of Gaussian losses",
    reference="[NCBSK21]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
