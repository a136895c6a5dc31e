"""Logistic regression by output perturbation for scikit-learn: weights that a ridge holds, and noise."""

from __future__ import annotations

from typing import Any

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours
from discreet.learning.estimators.linear_models import LogisticClassifier
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.links import Link
from discreet.learning.linear_models.noisy_minimum import NoisyMinimum


class MinimumClassifier(LogisticClassifier):
    """Foretell a label of two by logistic regression with a ridge, and noise on its weights: `NoisyMinimum`.

    Privacy: (epsilon, delta) for every fit, of one row with its label.
    Accuracy: `error_` estimates the part of rows it gets wrong. Weights have no standard errors.
    Time: O(rows size^2) a step of a solver.

    Parameters
    ----------
    epsilon, delta, columns, classes, neighbours, budget
        As for `LogisticClassifier`.
    ridge
        The ridge on all weights, in rows: 1 at least, and public. Noise is in proportion to one over it, and
        weights are drawn towards 0 as hard. A hundredth of the rows is a beginning.

    Attributes
    ----------
    guarantee_, error_, error_deviation_, terms_, term_names_, classes_, n_features_in_, feature_names_in_
        As of `LogisticClassifier`.
    coef_, intercept_
        The weights of a score whose sign foretells the label, in the order of `terms_`, drawn towards 0.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.learning import Range
    >>> people = np.array([[age % 50, age % 7] for age in range(4000)])
    >>> columns = [Range(0, 50), Range(0, 7)]
    >>> model = MinimumClassifier(epsilon=1, delta=1e-9, columns=columns, ridge=40)
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
        ridge: checks.Number,
        classes: tuple[Any, ...] = (0, 1),
        neighbours: Neighbours = ROWS,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.ridge = ridge
        self.classes = classes
        self.neighbours = neighbours
        self.budget = budget

    def _make_learner(self, **public: Any) -> Mechanism[Any, LinearScores]:
        return NoisyMinimum(length=len(self.declared_) + 1, ridge=self.ridge, **public)
