"""What all faces for scikit-learn share: declared columns, a budget that clones share, and how rows are read.

Nothing that data hold decides whether a fit fails, or with which words: the shape and the declared type of
the whole are looked at, entries are not.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.core.mechanism import Mechanism, Release
from discreet.core.rng import Rng
from discreet.learning.declared import Declared, read_columns


class DeclaredEstimator(BaseEstimator):
    """An estimator of declared columns.

    Clones have the same `budget`, not a copy: cross-validation and searches spend it fit by fit, and stop
    where it is spent.
    """

    columns: Any
    budget: Filter | None

    def __sklearn_clone__(self) -> Self:
        """Return an estimator that is not fitted; the budget is shared."""
        given = self.get_params(deep=False)
        return type(self)(
            **{name: value if name == "budget" else clone(value, safe=False) for name, value in given.items()}
        )

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags

    def _read_rows(self, X: Any, *, fitting: bool) -> Array:  # noqa: N803 - scikit-learn's name
        """Return the rows as an array of numbers, text or objects."""
        rows: Array = validate_data(
            self, X, reset=fitting, dtype=None, ensure_all_finite=False, ensure_min_samples=0
        )
        if rows.dtype.kind not in "iufbOUST":
            raise InvalidParameter(
                name="X", rule="numbers, text or objects", got=f"type {rows.dtype}", hint="Convert it first"
            )
        return rows

    def _read_target(self, y: Any, rows: Array) -> Array:
        if y is None:
            raise InvalidParameter(
                name="y", rule="given: fitting requires y to be passed, but the target y is None", got="None"
            )
        target: Array = column_or_1d(y, warn=True)
        check_consistent_length(rows, target)
        return target

    def _declare(self) -> tuple[Declared, ...]:
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return read_columns(self.columns, list(names))

    def _release(self, mechanism: Mechanism[Any, Any], data: Any, rng: Rng) -> Release[Any]:
        """Charge the budget, then release."""
        checks.instance(Rng, rng=rng)
        if self.budget is not None:
            checks.instance(Filter, budget=self.budget).spend(mechanism)
        made = mechanism.release(data, rng=rng)
        self.guarantee_ = made.guarantee
        self.unsafe_seeded_ = made.unsafe_seeded
        return made

    def _require_fit(self) -> None:
        check_is_fitted(self, "guarantee_")


def as_labels(classes: tuple[Any, ...]) -> Array:
    """Return declared labels as scikit-learn keeps them: an array of their own type."""
    return np.array(classes)
