"""Linear models of few weights for scikit-learn, for tables of more columns than noise leaves to see."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.learning.declared import Range
from discreet.learning.estimators.linear_models import LogisticClassifier, RobustRegressor
from discreet.learning.estimators.linear_terms import list_terms, name_terms
from discreet.learning.linear_models.frank_wolfe import STEPS, FrankWolfe
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.links import Link

REACH = 4
"""What the absolute weights of a classifier add up to at most, in log odds, where nobody says."""


class SparseClassifier(LogisticClassifier):
    """Foretell a label of two by private logistic regression with few weights; see `FrankWolfe`.

    Privacy: (epsilon, delta) for every fit, of one row with its label.
    Accuracy: `error_` estimates the part of rows it gets wrong. Weights have no standard errors.
    Time: O(steps rows size) a fit.

    Parameters
    ----------
    epsilon, delta, columns, classes, neighbours, budget
        As for `LogisticClassifier`.
    reach
        What the absolute weights add up to at most, that of the constant among them, in about log odds.
    steps
        How many times a column is chosen; no more of them have a weight.

    Attributes
    ----------
    guarantee_, error_, error_deviation_, classes_, n_features_in_, feature_names_in_
        As of `LogisticClassifier`.
    coef_, intercept_
        The weights, in the order of `terms_`, nearly all of them 0: of a range, from its middle to an end; of
        a choice, against all others.
    terms_, term_names_
        The place of the column of each weight, and its choice, None for a range; and both in words.

    Examples
    --------
    >>> from discreet.learning import Range
    >>> people = np.array([[age % 50, *[age % 7] * 300] for age in range(4000)])
    >>> model = SparseClassifier(epsilon=1, delta=1e-9, columns=Range(0, 50))
    >>> bool(model.fit(people, people[:, 0] > 25).score(people, people[:, 0] > 25) > 0.7)
    True
    """

    _link = Link.CUT_LOGISTIC

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        columns: Any,
        classes: tuple[Any, ...] = (0, 1),
        neighbours: Neighbours = ROWS,
        reach: checks.Number = REACH,
        steps: int = STEPS,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.neighbours = neighbours
        self.reach = reach
        self.steps = steps
        self.budget = budget

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        return FrankWolfe(reach=self.reach, steps=self.steps, **public)

    def _keep(self, scale: float, middle: float) -> None:
        _keep_all(self, scale, middle)


class SparseRegressor(RobustRegressor):
    """Foretell a number by a private linear model with few weights; see `FrankWolfe`.

    Privacy: (epsilon, delta) for every fit, of one row with its target.
    Accuracy: `error_` estimates the deviation of residuals. Weights have no standard errors.
    Time: O(steps rows size) a fit.

    Parameters
    ----------
    epsilon, delta, columns, target, neighbours, cut, budget
        As for `RobustRegressor`.
    reach
        What the absolute weights add up to at most, in the units of the target; that of the constant, which
        counts from the middle of the target's range, is among them. Left out, half of that range.
    steps
        How many times a column is chosen; no more of them have a weight.

    Attributes
    ----------
    guarantee_, error_, model_
        As of `RobustRegressor`.
    coef_, intercept_, terms_, term_names_
        As of `SparseClassifier`, in the units of the target.

    Examples
    --------
    >>> people = np.array([[age % 50, *[age % 7] * 300] for age in range(4000)])
    >>> model = SparseRegressor(epsilon=5, delta=1e-9, columns=Range(0, 50), target=Range(0, 100))
    >>> bool(model.fit(people, 2 * people[:, 0]).score(people, 2 * people[:, 0]) > 0.5)
    True
    """

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        columns: Any,
        target: Range,
        neighbours: Neighbours = ROWS,
        reach: checks.Number | None = None,
        steps: int = STEPS,
        cut: checks.Number | None = None,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target = target
        self.neighbours = neighbours
        self.reach = reach
        self.steps = steps
        self.cut = cut
        self.budget = budget

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        scale = (self.target.upper - self.target.lower) / 2
        reach = Fraction(1) if self.reach is None else checks.positive(reach=self.reach) / scale
        return FrankWolfe(reach=reach, steps=self.steps, **public)

    def _keep(self, scale: float, middle: float) -> None:
        _keep_all(self, scale, middle)


def _keep_all(model: SparseClassifier | SparseRegressor, scale: float, middle: float) -> None:
    """Keep the weights of all terms: taken against the first choices, they would no longer be few."""
    weights = np.array(model.model_.weights) * scale
    model.terms_ = list_terms(model.declared_)
    model.term_names_ = name_terms(model._list_names(), model.declared_, model.terms_)  # noqa: SLF001
    model.intercept_, model.coef_ = float(weights[0] + middle), weights[1:]
