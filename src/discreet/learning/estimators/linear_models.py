"""Linear models with a link for scikit-learn: logistic, support vector, robust and Poisson regression."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.learning.declared import Range
from discreet.learning.estimators.base import DeclaredEstimator, as_labels, read_labels
from discreet.learning.estimators.linear_terms import UNITS, centre, contrast, list_terms, name_terms, spread
from discreet.learning.linear_models.linear_scores import LinearScores, undo_clip
from discreet.learning.linear_models.links import PARTS, Link, choose_cut
from discreet.learning.linear_models.noisy_newton import NoisyNewton


class _LinkedEstimator(DeclaredEstimator):
    """What the four models share: declared columns become bounded terms, and `NoisyNewton` fits weights."""

    _link: ClassVar[Link]

    epsilon: checks.Number
    delta: checks.Number
    neighbours: Neighbours
    ridge: checks.Number

    def _fit(self, rows: Array, wanted: Integers, rng: Rng, **public: Any) -> float:
        """Fit weights to rows and to targets in parts of one; return how badly rows are foretold."""
        self.declared_ = self._declare()
        terms = list_terms(self.declared_)
        self.terms_ = [(place, code) for place, code in terms if code != 0]
        self.term_names_ = name_terms(self._list_names(), self.declared_, self.terms_)
        learner = self._make_learner(
            link=self._link,
            size=len(terms) + 1,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            resolution=UNITS,
            **public,
        )
        made = self._release(learner, (spread(self.declared_, rows), wanted), rng)
        model: LinearScores = made.value
        self.model_ = model
        return model.judged

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        return NoisyNewton(length=len(self.declared_) + 1, ridge=self.ridge, **public)

    def _keep(self, scale: float, middle: float) -> None:
        """Keep the weights against the first choices, in the units of the target."""
        lines = contrast(list_terms(self.declared_))
        weights = lines @ np.array(self.model_.weights) * scale
        errors = self.model_.standard_errors(lines) * scale
        self.intercept_, self.coef_ = float(weights[0] + middle), weights[1:]
        self.intercept_error_, self.standard_errors_ = float(errors[0]), errors[1:]

    def _terms(self, X: Any) -> Floats:  # noqa: N803 - scikit-learn's name
        self._require_fit()
        return spread(self.declared_, self._read_rows(X, fitting=False)) / UNITS


class _LinkedClassifier(ClassifierMixin, _LinkedEstimator):
    """Two labels, foretold by the sign of a score."""

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        columns: Any,
        classes: tuple[Any, ...] = (0, 1),
        neighbours: Neighbours = ROWS,
        ridge: checks.Number = 0,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.neighbours = neighbours
        self.ridge = ridge
        self.budget = budget

    def fit(self, X: Any, y: Any, *, rng: Rng = SYSTEM) -> Self:  # noqa: N803
        """Fit the model. It costs (epsilon, delta), whatever comes out."""
        rows, target = self._read_data(X, y)
        labels = read_labels(self.classes)
        self.error_ = self._fit(rows, labels.encode(target) * PARTS, rng)
        self.error_deviation_ = self.model_.judged_deviation
        self.classes_ = as_labels(labels.values)
        self._keep(1.0, 0.0)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the score of the second label."""
        terms = self._terms(X)
        return self.model_.score(terms)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the likelier label of each row."""
        likelier = self.decision_function(X) > 0
        return np.asarray(self.classes_[likelier.astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        """Say that there are two labels."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LogisticClassifier(_LinkedClassifier):
    """Foretell a label of two by private logistic regression, with weights and standard errors.

    Privacy: (epsilon, delta) for every fit, of one row with its label; see `NoisyNewton`.
    Accuracy: `standard_errors_` include the noise; `error_` estimates the part of rows it gets wrong.
    Time: O(rows size^2) a fit.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    columns
        A `Range` or `Choices` for each column, in order or by name, or a schema; one alone holds for all
        columns of an array or a frame.
        Numbers outside their range count as the nearest end, missing ones as its middle; a missing or
        undeclared choice has a weight of its own.
    classes
        The two labels. A row with another one, or none, counts nowhere.
    neighbours
        The change that is hidden.
    ridge
        A ridge on all weights but the intercept, in rows.
    budget
        A filter that every fit of this estimator and its clones is charged to, before anything is released.

    Attributes
    ----------
    guarantee_
        What the fit cost.
    coef_, standard_errors_, intercept_, intercept_error_
        The weights, in the order of `terms_`, in log odds: of a range, from its middle to an end; of a
        choice, against the first of its column. Standard errors are infinite where noise hides a weight.
    terms_, term_names_
        The place of the column of each weight, and its choice, None for a range; and both in words.
    error_, error_deviation_
        The estimated part of training rows it gets wrong, and the standard deviation its noise gives it.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from discreet.learning import Range
    >>> people = np.array([[age % 50, age % 7] for age in range(4000)])
    >>> model = LogisticClassifier(epsilon=1, delta=1e-9, columns=[Range(0, 50), Range(0, 7)])
    >>> bool(model.fit(people, people[:, 0] > 25).score(people, people[:, 0] > 25) > 0.8)
    True
    """

    _link = Link.LOGISTIC

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities of both labels."""
        self._require_fit()
        terms = self._terms(X)
        likely = self.model_.mean(terms)
        return np.stack([1 - likely, likely], axis=1)


class SupportVectorClassifier(_LinkedClassifier):
    """Foretell a label of two by the side of a plane: a private linear support vector machine.

    Privacy: (epsilon, delta) for every fit, of one row with its label; see `NoisyNewton`.
    Accuracy: `error_` estimates the part of rows it gets wrong. Weights have no standard errors.
    Time: O(rows size^2) a fit.

    Parameters and attributes are those of `LogisticClassifier`; there are no probabilities, and standard
    errors are NaN.

    Examples
    --------
    >>> from discreet.learning import Range
    >>> people = np.array([[age % 50, age % 7] for age in range(4000)])
    >>> model = SupportVectorClassifier(epsilon=3, delta=1e-9, columns=[Range(0, 50), Range(0, 7)])
    >>> bool(model.fit(people, people[:, 0] > 25).score(people, people[:, 0] > 25) > 0.8)
    True
    """

    _link = Link.MARGIN


class _LinkedRegressor(RegressorMixin, _LinkedEstimator):
    """A number, foretold by the mean that a score stands for."""

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        columns: Any,
        target: Range,
        neighbours: Neighbours = ROWS,
        cut: checks.Number | None = None,
        ridge: checks.Number = 0,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target = target
        self.neighbours = neighbours
        self.cut = cut
        self.ridge = ridge
        self.budget = budget

    def _cut_at(self, scale: Fraction) -> Fraction | None:
        return None if self.cut is None else checks.positive(cut=self.cut) / scale


class RobustRegressor(_LinkedRegressor):
    """Foretell a number by a private linear model whose residuals are cut off (Huber), with standard errors.

    Privacy: (epsilon, delta) for every fit, of one row with its target; see `NoisyNewton`.
    Accuracy: `standard_errors_` include the noise, which is in proportion to `cut`, whatever the range.
    Time: O(rows size^2) a fit.

    Parameters
    ----------
    epsilon, delta, columns, neighbours, ridge, budget
        As for `LogisticClassifier`.
    target
        The `Range` of the target. A row whose target is missing counts nowhere.
    cut
        Where residuals are cut off, in the units of the target: a public guess at two or three times their
        deviation, at most the target's range. Left out, a quarter of that.

    Attributes
    ----------
    guarantee_
        What the fit cost.
    coef_, standard_errors_, intercept_, intercept_error_
        The weights, in the order of `terms_`, in the units of the target: of a range, from its middle to an
        end; of a choice, against the first of its column. Infinite errors where the noise hides a weight.
    terms_, term_names_
        The place of the column of each weight, and its choice, None for a range; and both in words.
    error_
        The estimated standard deviation of residuals; those that are cut off are taken for a normal law's.
    model_
        The released `LinearScores`.

    Examples
    --------
    >>> people = np.array([[age % 50, age % 7] for age in range(4000)])
    >>> model = RobustRegressor(
    ...     epsilon=1, delta=1e-9, columns=[Range(0, 50), Range(0, 7)], target=Range(0, 100)
    ... )
    >>> bool(model.fit(people, 2 * people[:, 0]).score(people, 2 * people[:, 0]) > 0.8)
    True
    """

    _link = Link.LINEAR

    def fit(self, X: Any, y: Any, *, rng: Rng = SYSTEM) -> Self:  # noqa: N803
        """Fit the model. It costs (epsilon, delta), whatever comes out."""
        rows, given = self._read_data(X, y)
        target: Range = checks.exactly(Range, target=self.target)
        scale = (target.upper - target.lower) / 2
        wanted = _to_parts(centre(target, given), missing=2 * PARTS)
        cut = choose_cut(self._link, self._cut_at(scale), Fraction(1))
        judged = self._fit(rows, wanted, rng, cut=cut)
        self._keep(float(scale), float(target.lower + target.upper) / 2)
        self.error_ = undo_clip(judged, float(cut)) * float(scale)
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the expected target of each row, inside its declared range."""
        low, high = float(self.target.lower), float(self.target.upper)
        terms = self._terms(X)
        return np.asarray(np.clip(low + (self.model_.score(terms) + 1) / 2 * (high - low), low, high))


class PoissonRegressor(_LinkedRegressor):
    """Foretell a count by private Poisson regression, with standard errors.

    Privacy: (epsilon, delta) for every fit, of one row with its count; see `NoisyNewton`.
    Accuracy: `standard_errors_` include the noise and what counts vary more than Poisson's law has them.
    Time: O(rows size^2) a fit.

    Parameters and attributes are those of `RobustRegressor`. `target` is the `Range` of the count, from 0;
    `cut` is half of it where left out; weights are logarithms of ratios of means. In `error_` no residual is
    further than `cut`.

    Examples
    --------
    >>> people = np.array([[age % 50, age % 7] for age in range(20000)])
    >>> counts = np.round(np.exp(people[:, 0] / 25))
    >>> model = PoissonRegressor(
    ...     epsilon=1, delta=1e-9, columns=[Range(0, 50), Range(0, 7)], target=Range(0, 10)
    ... )
    >>> bool(model.fit(people, counts).score(people, counts) > 0.8)
    True
    """

    _link = Link.POISSON

    def fit(self, X: Any, y: Any, *, rng: Rng = SYSTEM) -> Self:  # noqa: N803
        """Fit the model. It costs (epsilon, delta), whatever comes out."""
        rows, given = self._read_data(X, y)
        target: Range = checks.exactly(Range, target=self.target)
        if target.lower != 0:
            raise InvalidParameter(name="target", rule="a range from 0 for counts", value=target)
        parts = _to_parts(target.place(given) * float(target.upper), missing=-1)
        wanted = np.minimum(parts, math.floor(target.upper * PARTS))  # the largest count is no other one
        judged = self._fit(rows, wanted, rng, cut=self._cut_at(Fraction(1)), most=target.upper)
        self._keep(1.0, 0.0)
        self.error_ = math.sqrt(judged)
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the expected count of each row, inside the declared range."""
        terms = self._terms(X)
        return self.model_.mean(terms)

    def __sklearn_tags__(self) -> Any:
        """Say that counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _to_parts(numbers: Floats, *, missing: int) -> Integers:
    return np.where(np.isnan(numbers), missing, np.rint(np.nan_to_num(numbers) * PARTS)).astype(np.int64)
