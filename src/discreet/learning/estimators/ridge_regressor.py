"""A linear model for scikit-learn: private ridge regression with standard errors that include the noise."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.fixed import Floats
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.learning.declared import Range
from discreet.learning.estimators.base import DeclaredEstimator
from discreet.learning.estimators.linear_terms import (
    UNITS,
    centre,
    differ,
    list_terms,
    name_terms,
    spread,
    to_units,
)
from discreet.learning.moments import HIDDEN
from discreet.learning.second_moments import SecondMoments


class RidgeRegressor(RegressorMixin, DeclaredEstimator):
    """Foretell a number by a private linear model; see `SecondMoments`.

    Privacy: (epsilon, delta) for every fit, of one row with its target.
    Accuracy: `standard_errors_` of the weights include the noise; what a ridge takes away is not in them.
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
    target
        The `Range` of the target. A row whose target is missing counts nowhere.
    neighbours
        The change that is hidden.
    ridge
        A ridge, in rows, on all weights but the intercept. Directions that noise hides have one of their own.
    budget
        A filter that every fit of this estimator and its clones is charged to, before anything is released.

    Attributes
    ----------
    guarantee_
        What the fit cost.
    coef_, standard_errors_, intercept_
        The weights, in the order of `terms_`, and their standard errors, in the units of the target; a range
        goes from -1 to 1. Standard errors are infinite where noise hides a weight.
    terms_, term_names_
        The place of the column of each weight, and its choice, None for a range; and both in words.
    error_
        The estimated standard deviation of what the columns leave open, in the units of the target.
    moments_
        The released `Moments`.

    Examples
    --------
    >>> from discreet.learning import Range
    >>> people = np.array([[age % 50, age % 7] for age in range(4000)])
    >>> model = RidgeRegressor(
    ...     epsilon=1, delta=1e-9, columns=[Range(0, 50), Range(0, 7)], target=Range(0, 100)
    ... )
    >>> bool(model.fit(people, 2 * people[:, 0]).score(people, 2 * people[:, 0]) > 0.8)
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
        ridge: checks.Number = 0,
        budget: Filter | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target = target
        self.neighbours = neighbours
        self.ridge = ridge
        self.budget = budget

    def fit(self, X: Any, y: Any, *, rng: Rng = SYSTEM) -> Self:  # noqa: N803
        """Fit the model. It costs (epsilon, delta), whatever comes out."""
        rows, given = self._read_data(X, y)
        declared = self._declare()
        target: Range = checks.exactly(Range, target=self.target)
        ridge = float(checks.non_negative(ridge=self.ridge))
        self.declared_ = declared
        self.terms_ = list_terms(declared)
        self.term_names_ = name_terms(self._list_names(), declared, self.terms_)
        learner = SecondMoments(
            size=len(self.terms_) + 2,
            length=len(declared) + 2,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            resolution=UNITS,
        )
        wanted = centre(target, given)
        known = ~np.isnan(wanted)
        whole = np.column_stack([spread(declared, rows)[known], to_units(wanted[known])])
        made = self._release(learner, whole, rng)
        self.moments_ = made.value
        line = self.moments_.fit(ridge=ridge)
        scale = float(target.upper - target.lower) / 2
        self.intercept_ = float(line.weights[0] * scale + float(target.lower + target.upper) / 2)
        hidden = np.abs(differ(self.terms_) @ line.leaks).max(axis=1) > HIDDEN
        self.coef_ = line.weights[1:] * scale
        self.standard_errors_ = np.where(hidden, np.inf, line.standard_errors[1:] * scale)
        self.error_ = line.residual * scale
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the expected target of each row, inside its declared range."""
        self._require_fit()
        terms = spread(self.declared_, self._read_rows(X, fitting=False))[:, 1:] / UNITS
        found: Floats = terms @ self.coef_ + self.intercept_
        return np.asarray(np.clip(found, float(self.target.lower), float(self.target.upper)))
