"""Any model of scikit-learn on made-up rows: what was released once teaches as many models as one likes."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats
from discreet.core.guarantee import Guarantee
from discreet.core.mechanism import Release
from discreet.core.rng import SYSTEM, Rng
from discreet.learning.declared import Choices, Declared, Range
from discreet.learning.estimators.base import DeclaredEstimator, read_frame
from discreet.learning.estimators.linear_terms import UNITS, spread
from discreet.query_release.synopses.synthetic import SyntheticTable


@runtime_checkable
class MakesRows(Protocol):
    """A synopsis, or what `discreet.release` returns."""

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return made-up rows."""


class SyntheticModel(DeclaredEstimator):
    """A model of scikit-learn, fitted to synthetic rows at no further cost.

    Privacy: nothing is added to what the release of the synopsis cost, however many models are fitted.
    Accuracy: that of the synopsis: what it was not asked for, a model cannot learn from it.
    Time: that of the model.

    Parameters
    ----------
    model
        Any classifier or regressor of scikit-learn. It is cloned, and sees numbers only: columns of numbers
        from -1 to 1, and a column of zeros and ones for each other value.
    target
        The name of the column to foretell.

    Attributes
    ----------
    model_
        The fitted clone.
    guarantee_
        What the release that it was fitted to cost; None of a synopsis or of rows, which do not say.
    columns_
        The names of the columns that it foretells from; of a frame these are taken, in whatever order.
    classes_
        The labels, where it is a classifier.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from discreet.queries import Universe
    >>> universe = Universe([("age", range(10)), ("old", (0, 1))])
    >>> rows = SyntheticTable(universe, np.array([[age, age > 4] for age in range(10)]))
    >>> tree = SyntheticModel(DecisionTreeClassifier(), target="old").fit(rows)
    >>> tree.predict([[2], [7]]).tolist()
    [0, 1]
    """

    def __init__(self, model: Any, *, target: str) -> None:
        self.model = model
        self.target = target

    def fit(
        self,
        synopsis: MakesRows | SyntheticTable | Release[Any],
        *,
        rows: int | None = None,
        rng: Rng = SYSTEM,
    ) -> Self:
        """Fit the model to a synthetic table, or to `rows` that are made of a release or a synopsis."""
        source: Any = synopsis
        paid: Guarantee | None = None
        if isinstance(synopsis, Release):
            paid, source = synopsis.guarantee, synopsis if isinstance(synopsis, MakesRows) else synopsis.value
        made = source.synthetic(rows, rng=rng) if isinstance(source, MakesRows) else source
        table: SyntheticTable = checks.instance(SyntheticTable, synopsis=made)
        columns = table.columns()
        if self.target not in columns or len(columns) == 1:
            raise InvalidParameter(
                name="target", rule=f"one of several columns, {', '.join(columns)}", value=self.target
            )
        wanted = columns.pop(self.target)
        self.columns_ = list(columns)
        self.n_features_in_ = len(columns)
        self.declared_ = tuple(
            _declare(attribute.values)
            for attribute in table.universe.attributes
            if attribute.name != self.target
        )
        entries = np.empty((len(table), len(columns)), dtype=object)
        for place, values in enumerate(columns.values()):
            entries[:, place] = values
        self.guarantee_ = paid
        self.model_ = clone(self.model).fit(self._spread(entries), np.array(wanted))
        return self

    @property
    def classes_(self) -> Array:
        """The labels of a classifier."""
        return np.asarray(self.model_.classes_)

    def predict(self, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
        """Return what the model foretells of real rows, or of any."""
        return np.asarray(self.model_.predict(self._take(X)))

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities of the labels, where the model has them."""
        return np.asarray(self.model_.predict_proba(self._take(X)))

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """Return the model's own score on rows and their targets."""
        return float(self.model_.score(self._take(X), y))

    def _take(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self, "model_")
        if hasattr(X, "columns"):
            missing = [name for name in self.columns_ if name not in X.columns]
            if missing:
                raise InvalidParameter(name="X", rule=f"a frame with a column {missing[0]!r}", got="none")
            X = read_frame("X", X[self.columns_])  # noqa: N806
        return self._spread(self._read_rows(X, fitting=False))

    def _spread(self, rows: Array) -> Floats:
        return np.asarray(spread(self.declared_, rows)[:, 1:] / UNITS)


def _declare(values: Any) -> Declared:
    """Return declared numbers as a range, and anything else as choices."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values) and min(numbers) < max(numbers):
        return Range(min(numbers), max(numbers))
    return Choices(values)
