"""The scikit-learn faces of linear models with few weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator
from tests.unit.learning.estimators.test_linear_models import LEFT_OUT, LEFT_OUT_OF_LABELS, SKIPPED

import discreet as dp
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.learning import Choices, LogisticClassifier, Range, SparseClassifier, SparseRegressor
from discreet.testing import unsafe_seeded


class SeededSparse(SparseClassifier):
    """The same choices at every fit: some checks compare two fits."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


class SeededSparseNumber(SparseRegressor):
    """As above."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


@pytest.mark.parametrize(
    ("face", "more"),
    [(SeededSparse, {"reach": 20}), (SeededSparseNumber, {"target": Range(-4, 4), "reach": 12})],
)
def test_every_check_of_scikit_learn_passes_but_those_listed(face, more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = face(epsilon=10_000, delta=1e-3, columns=Range(-4, 4), steps=60, **more)
        found = check_estimator(made, on_fail=None, on_skip=None)
    by_status = {}
    for each in found:
        by_status.setdefault(each["status"], set()).add(each["check_name"])
    listed = LEFT_OUT | (LEFT_OUT_OF_LABELS if hasattr(made, "classes") else {})
    assert by_status["failed"] == set(listed)
    assert by_status["skipped"] == set(SKIPPED)


def wide(count=4000, columns=300):
    generator = np.random.default_rng(1)  # noqa: TID251
    rows = generator.uniform(0, 10, (count, columns))
    return rows, (rows[:, 3] - rows[:, 200]) / 2, generator


def test_columns_are_chosen_where_noise_hides_a_line():
    rows, score, generator = wide()
    labels = score + generator.logistic(size=len(rows)) > 0
    public = {"epsilon": 1, "delta": 1e-6, "columns": Range(0, 10), "classes": (False, True)}
    few, all_ = (
        face(**public).fit(rows, labels, rng=unsafe_seeded(1))
        for face in (SparseClassifier, LogisticClassifier)
    )
    assert few.score(rows, labels) > all_.score(rows, labels) + 0.15
    assert few.guarantee_.implies(epsilon=1, delta=1e-6)
    assert few.coef_.shape == (300,)
    assert few.term_names_[few.coef_.argmax()] == "3"
    assert few.term_names_[few.coef_.argmin()] == "200"
    assert abs(few.error_ - (1 - few.score(rows, labels))) < 4 * few.error_deviation_
    assert np.allclose(few.predict_proba(rows).sum(axis=1), 1)


def test_weights_are_in_the_units_of_the_target():
    rows, score, generator = wide()
    target = 50 + 4 * score + generator.normal(0, 1, len(rows))  # 10 from the middle of a column to its end
    model = SparseRegressor(
        epsilon=2, delta=1e-6, columns=Range(0, 10), target=Range(0, 100), reach=20, cut=20, steps=16
    ).fit(rows, target, rng=unsafe_seeded(1))
    assert abs(model.coef_[3] - 10) < 4
    assert abs(model.coef_[200] + 10) < 4
    assert np.abs(model.coef_).sum() + abs(model.intercept_ - 50) <= 20 + 1e-9
    assert model.score(rows, target) > 0.6
    assert np.allclose(
        model.predict(rows), rows @ model.coef_ / 5 - model.coef_.sum() + model.intercept_, atol=0.05
    )


def test_choices_have_a_weight_each():
    generator = np.random.default_rng(2)  # noqa: TID251
    ward = generator.choice(["x", "y", "z"], 4000)
    frame = pd.DataFrame({"ward": ward})
    model = SparseClassifier(epsilon=5, delta=1e-6, columns=Choices(("x", "y", "z")))
    model.fit(frame, (ward == "y").astype(int), rng=unsafe_seeded(1))
    assert model.term_names_ == ["ward: x", "ward: y", "ward: z", "ward: missing or undeclared"]
    assert model.coef_.argmax() == 1
    assert model.score(frame, ward == "y") == 1


def test_odd_rows_never_raise_and_the_budget_ends():
    odd = np.array([[np.nan, "text"], [None, 2**70], [np.inf, {}]], dtype=object)
    budget = dp.ApproxFilter(epsilon=2, delta=1e-6)
    model = SparseClassifier(epsilon=1, delta=1e-9, columns=Range(0, 1), budget=budget)
    for _ in range(2):
        model.fit(odd, np.array([None, 1, "maybe"], dtype=object))
    with pytest.raises(BudgetExceeded):
        model.fit(odd, [0, 1, 0])
    for wrong in ({"reach": 0}, {"steps": 0}, {"delta": 0}, {"classes": (1, 2, 3)}):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            SparseClassifier(**{"epsilon": 1, "delta": 1e-9, "columns": Range(0, 1), **wrong}).fit(
                odd, [0, 1, 0]
            )
    for wrong in ({"reach": -1}, {"target": (0, 1)}, {"target": None}):
        given = {"epsilon": 1, "delta": 1e-9, "columns": Range(0, 1), "target": Range(0, 1), **wrong}
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            SparseRegressor(**given).fit(odd, [0, 1, 0])
