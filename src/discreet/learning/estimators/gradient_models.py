"""Linear models by noisy gradients for scikit-learn: forecasts of few rows, without standard errors."""

from __future__ import annotations

from typing import Any

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.learning.declared import Range
from discreet.learning.estimators.linear_models import LogisticClassifier, RobustRegressor
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.links import Link
from discreet.learning.linear_models.noisy_gradient import STEPS, NoisyGradient


class GradientClassifier(LogisticClassifier):
    """Foretell a label of two by private logistic regression, by gradients alone; see `NoisyGradient`.

    Privacy: (epsilon, delta) for every fit, of one row with its label.
    Accuracy: `error_` estimates the part of rows it gets wrong. Weights have no standard errors.
    Time: O(steps rows size) a fit.

    Parameters
    ----------
    epsilon, delta, columns, classes, neighbours, budget
        As for `LogisticClassifier`.
    steps
        How many gradients are measured; the fewer, the smaller are weights. `plan` says how many.

    Attributes
    ----------
    guarantee_, error_, error_deviation_, terms_, term_names_, classes_, n_features_in_, feature_names_in_
        As of `LogisticClassifier`.
    coef_, intercept_
        The weights of a score whose sign foretells the label, in the order of `terms_`; drawn towards 0 by
        few steps, and surer than log odds where steps are many.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.array([[age % 50, age % 7] for age in range(1000)])
    >>> model = GradientClassifier(epsilon=1, delta=1e-9, columns=[Range(0, 50), Range(0, 7)])
    >>> bool(model.fit(people, people[:, 0] > 25).score(people, people[:, 0] > 25) > 0.8)
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
        steps: int = STEPS,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.neighbours = neighbours
        self.steps = steps
        self.budget = budget

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        return NoisyGradient(length=len(self.declared_) + 1, steps=self.steps, **public)


class GradientRegressor(RobustRegressor):
    """Foretell a number by a private linear model, by gradients alone; see `NoisyGradient`.

    Privacy: (epsilon, delta) for every fit, of one row with its target.
    Accuracy: `error_` estimates the deviation of residuals. Weights have no standard errors.
    Time: O(steps rows size) a fit.

    Parameters
    ----------
    epsilon, delta, columns, target, neighbours, cut, budget
        As for `RobustRegressor`.
    steps
        As for `GradientClassifier`.

    Attributes
    ----------
    guarantee_, error_, model_, terms_, term_names_
        As of `RobustRegressor`.
    coef_, intercept_
        The weights, in the order of `terms_`, in the units of the target, drawn towards 0 by few steps.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.array([[age % 50, age % 7] for age in range(1000)])
    >>> model = GradientRegressor(
    ...     epsilon=2, delta=1e-9, columns=[Range(0, 50), Range(0, 7)], target=Range(0, 100)
    ... )
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
        steps: int = STEPS,
        cut: checks.Number | None = None,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target = target
        self.neighbours = neighbours
        self.steps = steps
        self.cut = cut
        self.budget = budget

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        return NoisyGradient(length=len(self.declared_) + 1, steps=self.steps, **public)
