"""A classifier of two labels for scikit-learn: private additive logistic regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.learning.additive_logistic import AdditiveLogistic
from discreet.learning.declared import Choices, encode
from discreet.learning.estimators.base import DeclaredEstimator, as_labels

FEW, MANY = 10, 16


class AdditiveClassifier(ClassifierMixin, DeclaredEstimator):
    """Foretell a label of two by a private additive model; see `AdditiveLogistic`.

    Privacy: (epsilon, delta) for every fit, of one row with its label.
    Accuracy: `error_` estimates the part of rows it gets wrong, from the same budget.
    Time: O(steps rows columns) a fit.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    columns
        A `Range` or `Choices` for each column, in order or by name; one alone holds for all; or a schema.
        Numbers outside their range count as the nearest end; missing and undeclared values have a code of
        their own.
    classes
        The two labels. A row with another one, or none, counts nowhere.
    neighbours
        The change that is hidden.
    steps
        How many noisy gradients are taken: 10 below epsilon 0.5, else 16 where left out.
    budget
        A filter that every fit of this estimator and of its clones is charged to, before a row is read.

    Attributes
    ----------
    guarantee_
        What the fit cost.
    error_, error_deviation_
        The estimated part of training rows it gets wrong, and the standard deviation its noise gives it.
    model_
        The released `AdditiveModel`.
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
        rows = self._read_rows(X, fitting=True)
        target = self._read_target(y, rows)
        declared = self._declare()
        labels = Choices(self.classes)
        if len(labels.values) != 2:
            raise InvalidParameter(
                name="classes",
                rule="two labels",
                got=f"{len(labels.values)} of them",
                hint="Fit one model for each label against the others, each with its part of the budget",
            )
        learner = AdditiveLogistic(
            shape=[column.size for column in declared],
            steps=self._count_steps(),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
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
        """Return the log odds of the second label."""
        self._require_fit()
        odds: Floats = self.model_.log_odds(encode(self.declared_, self._read_rows(X, fitting=False)))
        return odds

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities of both labels."""
        odds = self.decision_function(X)
        return np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the likelier label of each row."""
        likelier = self.decision_function(X) > 0
        return np.asarray(self.classes_[likelier.astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        """Say that there are two labels."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
