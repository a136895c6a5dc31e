"""Which learner a table and a budget call for, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting.deltas import read_delta
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import ROWS, Neighbours
from discreet.learning.additive_logistic import AdditiveLogistic
from discreet.learning.declared import Declared, Range, is_schema, read_columns
from discreet.learning.estimators.additive_classifier import MOST_LABELS, AdditiveClassifier
from discreet.learning.estimators.base import BY_HAND, DeclaredEstimator, read_labels
from discreet.learning.estimators.gradient_models import GradientClassifier, GradientRegressor
from discreet.learning.estimators.linear_models import LogisticClassifier, RobustRegressor
from discreet.learning.estimators.linear_terms import list_terms
from discreet.learning.estimators.ridge_regressor import RidgeRegressor
from discreet.learning.estimators.sparse_models import REACH, SparseClassifier, SparseRegressor
from discreet.learning.linear_models.frank_wolfe import FrankWolfe
from discreet.learning.linear_models.linked_learner import WIDEST
from discreet.learning.linear_models.links import Link
from discreet.learning.linear_models.noisy_gradient import MOMENTUM, NoisyGradient
from discreet.learning.linear_models.noisy_newton import NoisyNewton
from discreet.learning.second_moments import SecondMoments

QUIET = 0.5
"""Log odds. Where noise moves forecasts by less, the model that can learn more shapes is taken. Chosen by
made-up tables, and by rows of the census that are in no test part of the benchmark, as is what follows."""

CALM, ROWS_A_SCORE = 0.5, 6
"""The log odds by which noise may move the shapes of all ranges together, and how many rows there should be
for each of their scores: ranges are cut into as many parts as keep both."""

SWAYED, SWAYED_NUMBER = 0.8, 0.1
"""How far noise may move a score, in log odds, and in halves of the range of a number, for one more step of
the ladder to be taken by gradients."""

LADDER = 4, 6, 9, 13, 19, 28, 42, 64, 100, 150
"""How many gradients may be measured."""

_UNIFORM = 1 / 3  # the mean square of a number that is uniform from -1 to 1
_FLAT = 1 / 4  # the curvature of log odds near even ones


@dataclass(frozen=True, slots=True)
class LearnerOutlook:
    """What one learner would do.

    Attributes
    ----------
    estimator
        The learner, ready to be fitted.
    noise
        How far noise alone would move a forecast, one standard deviation: in log odds, or in the units of the
        target. It supposes columns that are uniform and independent; what rows do not say is not in it. Of a
        sparse line, how far forecasts are off that lose as much as choosing columns in noise may. Of
        gradients, how far it would be if forecasts were drawn out to what endless steps would make of them.
    """

    estimator: DeclaredEstimator
    noise: float

    @property
    def name(self) -> str:
        """The learner's class."""
        return type(self.estimator).__name__


@dataclass(frozen=True, slots=True)
class LearningPlan:
    """The learners that keep a budget, the one to take first."""

    predictions: tuple[LearnerOutlook, ...]

    @property
    def best(self) -> DeclaredEstimator:
        """The learner to take."""
        return self.predictions[0].estimator

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.predictions)
        lines = [f"{'learner':{width}}   noise of a forecast"]
        lines += [f"{each.name:{width}}   {each.noise:.4g}" for each in self.predictions]
        lines[1] = f"{lines[1]:{len(lines[0])}}  <- recommended"
        return "\n".join(lines)

    __repr__ = __str__


def plan(
    columns: Any,
    rows: int,
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    target: Range | None = None,
    classes: tuple[Any, ...] = (0, 1),
    neighbours: Neighbours = ROWS,
) -> LearningPlan:
    """Predict how much noise every learner's forecasts would have, and say which one to take.

    Parameters
    ----------
    columns
        What was declared of each column: a list, a mapping from names, or a schema. For shapes, ranges are
        cut into fewer parts than were declared where rows are few or noise is large.
    rows
        About how many rows there are, from public knowledge.
    epsilon, delta, neighbours
        The budget of one fit, and the change that is hidden.
    target
        The `Range` of a number to foretell; left out, one of two labels is foretold.
    classes
        The labels; of more than two, only models of shapes are taken.

    Examples
    --------
    >>> columns = [Range(0, 100), Range(0, 1)]
    >>> type(plan(columns, 30_000, epsilon=1, delta=1e-9).best).__name__
    'AdditiveClassifier'
    >>> type(plan([Range(0, 1)] * 300, 2000, epsilon=1, delta=1e-9).best).__name__
    'SparseClassifier'
    """
    count = checks.integer(1, rows=rows)
    read_delta(delta, way_out=BY_HAND)
    if is_schema(columns):
        names = [each.name for each in columns.columns if each.size is not None]
    elif isinstance(columns, Iterable):
        names = list(columns)
    else:
        names = []
    if not names:
        raise InvalidParameter(name="columns", rule="a declaration for each column, or a schema", got="none")
    declared = read_columns(columns, names)
    public: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
    narrow = len(list_terms(declared)) + 1 <= WIDEST
    if target is not None:
        faces = {"columns": columns, "target": target, **public}
        return LearningPlan(tuple(_compare_numbers(faces, declared, count, public, narrow=narrow)))
    faces = {"columns": columns, "classes": classes, **public}
    labels = read_labels(classes, most=MOST_LABELS).values
    parted, noise = _choose_parts(declared, len(labels), count, public)
    named = is_schema(columns) or isinstance(columns, Mapping)
    cut = dict(zip(names, parted, strict=True)) if named else list(parted)
    shapes = LearnerOutlook(AdditiveClassifier(**{**faces, "columns": cut}), noise)
    if len(labels) > 2:
        return LearningPlan((shapes,))
    ways = [LearnerOutlook(SparseClassifier(**faces), _sparse(Link.CUT_LOGISTIC, declared, count, public))]
    lines = []
    if narrow:
        steps, noise = _choose_steps(Link.CUT_LOGISTIC, declared, count, public)
        ways.append(LearnerOutlook(GradientClassifier(**faces, steps=steps), noise))
        noise = _newton(Link.LOGISTIC, declared, count, public)
        lines.append(LearnerOutlook(LogisticClassifier(**faces), noise))
    if shapes.noise < QUIET:
        return LearningPlan((shapes, *_sort(ways), *lines))
    return LearningPlan((*_sort(ways), *_sort([shapes, *lines])))


def _compare_numbers(
    faces: dict[str, Any], declared: Sequence[Declared], rows: int, public: dict[str, Any], *, narrow: bool
) -> list[LearnerOutlook]:
    """Return what each learner of a number would do; the last two foretell less, with errors."""
    half = float(faces["target"].upper - faces["target"].lower) / 2
    few = LearnerOutlook(SparseRegressor(**faces), half * _sparse(Link.LINEAR, declared, rows, public))
    if not narrow:
        return [few]
    steps, noise = _choose_steps(Link.LINEAR, declared, rows, public)
    lines = [
        LearnerOutlook(RidgeRegressor(**faces), half * _ridge(declared, rows, public)),
        LearnerOutlook(RobustRegressor(**faces), half * _newton(Link.LINEAR, declared, rows, public)),
    ]
    return [
        *_sort([few, LearnerOutlook(GradientRegressor(**faces, steps=steps), half * noise)]),
        *_sort(lines),
    ]


def _sort(outlooks: list[LearnerOutlook]) -> list[LearnerOutlook]:
    return sorted(outlooks, key=lambda each: each.noise)


def _choose_parts(
    declared: Sequence[Declared], labels: int, rows: int, public: dict[str, Any]
) -> tuple[tuple[Declared, ...], float]:
    """Return ranges cut into as many parts as noise and rows leave to see, two at least, and the noise."""
    parts = max((column.bins for column in declared if isinstance(column, Range)), default=2)
    others = [column for column in declared if not isinstance(column, Range)]
    rest = _additive(declared, labels, rows, public, of=others)
    while True:
        cut = tuple(
            Range(column.lower, column.upper, bins=min(column.bins, parts))
            if isinstance(column, Range)
            else column
            for column in declared
        )
        ranges = [column for column in cut if isinstance(column, Range)]
        noise = _additive(declared, labels, rows, public, of=ranges)
        seen = noise <= CALM and rows >= ROWS_A_SCORE * sum(column.size for column in ranges)
        if seen or parts <= 2:
            return cut, math.hypot(noise, rest)
        parts = 1 << (parts - 1).bit_length() - 1  # the next power of two below


def _additive(
    declared: Sequence[Declared], labels: int, rows: int, public: dict[str, Any], *, of: Sequence[Declared]
) -> float:
    """Return the noise of the sum of one score for some of the columns, each with its share of the rows."""
    learner = AdditiveLogistic(shape=[column.size for column in declared], steps=1, labels=labels, **public)
    each = learner.noises[0].deviation / (2 * learner.resolution)
    return each / (rows * _FLAT) * math.sqrt(sum(column.size**2 for column in of))


def _newton(link: Link, declared: Sequence[Declared], rows: int, public: dict[str, Any]) -> float:
    """Return the noise of a score after the last Newton step."""
    size, length = len(list_terms(declared)) + 1, len(declared) + 1
    learner = NoisyNewton(link=link, size=size, length=length, **public)
    tables, pulled = learner.tables, learner.noises[-3]
    each = pulled.deviation * float(tables.cut) / (tables.pull * learner.resolution)
    return each / (rows * (_FLAT if link.labels else 1.0)) * math.sqrt(_sum_inverse(declared))


def _sparse(link: Link, declared: Sequence[Declared], rows: int, public: dict[str, Any]) -> float:
    """Return how far scores move that lose as much as choosing columns by noisy gradients does."""
    size, reach = len(list_terms(declared)) + 1, REACH if link.labels else 1
    learner = FrankWolfe(link=link, size=size, reach=reach, **public)
    tables, bent = learner.tables, _FLAT if link.labels else 1.0
    missed = math.log(2 * size) / float(learner.choice.rate) / (tables.pull * learner.resolution)
    return math.sqrt(2 * reach * missed * float(tables.cut) / rows / bent)


def _ridge(declared: Sequence[Declared], rows: int, public: dict[str, Any]) -> float:
    """Return the noise of a line from second moments."""
    size, length = len(list_terms(declared)) + 2, len(declared) + 2
    moments = SecondMoments(size=size, length=length, **public)
    each = moments.noise.deviation / moments.resolution**2
    return each / rows * math.sqrt(_sum_inverse(declared))


def _sum_inverse(declared: Sequence[Declared]) -> float:
    """Return the sum of one over the mean squares of all terms, for uniform columns."""
    return 1 + sum(1 / _UNIFORM if isinstance(column, Range) else float(column.size) for column in declared)


def _choose_steps(
    link: Link, declared: Sequence[Declared], rows: int, public: dict[str, Any]
) -> tuple[int, float]:
    """Return how many gradients to measure, and the noise of a score were the weights not drawn towards 0."""
    size, length = len(list_terms(declared)) + 1, len(declared) + 1
    squares = {1.0: 1, _UNIFORM: sum(isinstance(column, Range) for column in declared)}
    for column in declared:
        if not isinstance(column, Range):
            squares[1 / column.size] = squares.get(1 / column.size, 0) + column.size
    best = 0, math.inf
    for steps in LADDER:
        learner = NoisyGradient(link=link, size=size, length=length, steps=steps, **public)
        noise, kept = _foresee(learner, squares, rows)
        if best[0] and noise > (SWAYED if link.labels else SWAYED_NUMBER):
            break
        best = steps, noise / kept
    return best


def _foresee(learner: NoisyGradient, squares: dict[float, int], rows: int) -> tuple[float, float]:
    """Return the noise of a score after all steps, and the part of it that is learned by then.

    Terms are taken for independent: each is a line of its own, whose answer to one push is followed.
    """
    stride, steps = learner.stride(rows), learner.steps
    later, bent = steps // 2, float(learner.tables.steepest)
    square, kept, all_ = 0.0, 0.0, 0.0
    for mean, count in squares.items():
        weight = speed = 0.0
        answers = [0.0]
        for place in range(steps):
            pull = (place == 0) - rows * bent * mean * (weight + MOMENTUM * speed)
            speed = MOMENTUM * speed + stride * pull
            weight += speed
            answers.append(answers[-1] + weight)
        # What a push at each step brings to the average of the later weights.
        brought = [
            (answers[steps - place] - answers[max(later - place, 0)]) / (steps - later)
            for place in range(steps)
        ]
        square += count * mean * sum(each**2 for each in brought)
        kept += count * mean * sum(brought) * rows * bent * mean
        all_ += count * mean
    return learner.deviation * math.sqrt(square), kept / all_
