"""A classifier for scikit-learn: private additive logistic regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.fixed import Array, Floats
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.learning.additive_logistic import AdditiveLogistic
from discreet.learning.declared import encode
from discreet.learning.estimators.base import DeclaredEstimator, as_labels, read_labels

FEW, MANY = 10, 16
MOST_LABELS = 1000


class AdditiveClassifier(ClassifierMixin, DeclaredEstimator):
    """Foretell a label by a private additive model; see `AdditiveLogistic`.

    Privacy: (epsilon, delta) for every fit, of one row with its label.
    Accuracy: `error_` estimates the part of rows it gets wrong, from the same budget.
    Time: O(steps rows columns) a fit.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    columns
        A `Range` or `Choices` for each column, in order or by name, or a schema; one alone holds for all
        columns of an array or a frame.
        Numbers outside their range count as the nearest end; missing and undeclared values have a code of
        their own.
    classes
        The labels, two or more. A row with another one, or none, counts nowhere.
    neighbours
        The change that is hidden.
    steps
        How many noisy gradients are taken: 10 below epsilon 0.5, else 16 where left out.
    budget
        A filter that every fit of this estimator and its clones is charged to, before anything is released.

    Attributes
    ----------
    guarantee_
        What the fit cost.
    error_, error_deviation_
        The estimated part of training rows it gets wrong, and the standard deviation its noise gives it.
    model_
        The released `AdditiveModel`, or `AdditiveModels` of more than two labels.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from discreet.learning import Range
    >>> people = np.array([[age, age % 7] for age in range(20, 70)] * 40)
    >>> model = AdditiveClassifier(epsilon=1, delta=1e-9, columns=[Range(18, 90), Range(0, 7)])
    >>> bool(model.fit(people, people[:, 0] > 45).score(people, people[:, 0] > 45) > 0.8)
    True
    """

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        columns: Any,
        classes: tuple[Any, ...] = (0, 1),
        neighbours: Neighbours = ROWS,
        steps: int | None = None,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.neighbours = neighbours
        self.steps = steps
        self.budget = budget

    def fit(self, X: Any, y: Any, *, rng: Rng = SYSTEM) -> Self:  # noqa: N803
        """Fit the model. It costs (epsilon, delta), whatever comes out."""
        rows, target = self._read_data(X, y)
        declared = self._declare()
        labels = read_labels(self.classes, most=MOST_LABELS)
        learner = AdditiveLogistic(
            shape=[column.size for column in declared],
            steps=self._count_steps(),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            labels=len(labels.values),
        )
        self.declared_ = declared
        made = self._release(learner, (encode(declared, rows), labels.encode(target)), rng)
        self.model_ = made.value
        self.classes_ = as_labels(labels.values)
        self.error_, self.error_deviation_ = self.model_.error_rate, self.model_.error_rate_deviation
        return self

    def _count_steps(self) -> int:
        if self.steps is not None:
            return self.steps
        return FEW if checks.positive(epsilon=self.epsilon) < 0.5 else MANY

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the log odds of the second label; of more than two, those of each against all others."""
        self._require_fit()
        odds: Floats = self.model_.log_odds(encode(self.declared_, self._read_rows(X, fitting=False)))
        return odds

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities of all labels."""
        odds = self.decision_function(X)
        if odds.ndim == 2:
            alone = 1 / (1 + np.exp(-odds))
            return np.asarray(alone / alone.sum(axis=1, keepdims=True))
        return np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the likeliest label of each row."""
        odds = self.decision_function(X)
        likeliest = odds.argmax(axis=1) if odds.ndim == 2 else (odds > 0).astype(np.int64)
        return np.asarray(self.classes_[likeliest])

    def __sklearn_tags__(self) -> Any:
        """Say whether more than two labels were declared."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = len(self.classes) > 2
        return tags
