"""Second moments and ridge regression: what a row can move, standard errors, the scikit-learn face."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter
from discreet.learning import Choices, Moments, Range, RidgeRegressor, SecondMoments
from discreet.testing import unsafe_seeded

LEFT_OUT = {
    "check_supervised_y_no_nan": "what targets the data hold must not decide whether a fit fails",
    "check_estimators_empty_data_messages": "whether there is any row is private: an empty table is a table",
    "check_parameters_default_constructible": "no privacy parameter has a default; neighbours are a value",
}
SKIPPED = {
    "check_pipeline_consistency": "two fits of the same rows draw fresh noise",
    "check_array_api_input": "needs an environment variable of SciPy's",
}


def moments(**changed):
    given = {"size": 3, "length": 3, "epsilon": 1, "delta": 1e-9, "neighbours": dp.AddRemove("row")}
    return SecondMoments(**{**given, **changed})


def rows(count=40, seed=0):
    return np.random.default_rng(seed).integers(-1024, 1025, (count, 3))  # noqa: TID251


@pytest.mark.parametrize("odd", [(1024, 1024, 1024), (1024, -1024, 1024), (5000, 0, 0), (0, 0, 0)])
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
def test_no_row_moves_the_sums_further_than_it_allows_for(odd, neighbours):
    data, mechanism = rows(), moments(neighbours=neighbours)
    kept = data[:-1] if neighbours == dp.Replace("row") else data
    report = audit.replay(mechanism, (data, np.vstack([kept, odd])), rng=unsafe_seeded(1))
    assert report.holds, report


def test_the_longest_row_reaches_the_bound():
    longest = np.full((1, 3), 1024)
    report = audit.replay(moments(), (longest[:0], longest), rng=unsafe_seeded(1))
    assert float(max(report.distances)) == pytest.approx(1024**2 * 6**0.5, rel=1e-12)
    other = np.array([[1024, -1024, 1024]])
    replaced = moments(neighbours=dp.Replace("row"))
    assert audit.replay(replaced, (longest, other), rng=unsafe_seeded(1)).holds


def test_rows_that_are_too_long_count_nowhere():
    data = rows()
    mechanism = moments(length=2)
    short = data[(data**2).sum(axis=1) <= 2 * 1024**2]
    assert len(short) < len(data)
    one, other = (mechanism.release(each, rng=unsafe_seeded(1)).value for each in (data, short))
    assert one == other


def test_sums_are_exact_but_for_the_noise():
    data = rows(100_000)
    made = moments(epsilon=1000, delta=0.5).release(data, rng=unsafe_seeded(1)).value
    assert np.abs(made.matrix - data.T @ data / 1024**2).max() < 1


def test_without_noise_the_fit_is_ridge():
    generator = np.random.default_rng(3)  # noqa: TID251
    table = np.column_stack([np.ones(500), generator.uniform(-1, 1, (500, 2))])
    target = table @ [0.1, 0.5, -0.3]
    whole = np.column_stack([table, target])
    upper = (whole.T @ whole)[np.triu_indices(4)]
    made = Moments(4, tuple(upper), 1, 0.0)
    assert np.allclose(made.fit().weights, [0.1, 0.5, -0.3], atol=1e-6)
    penalty = np.diag([0, 7.0, 7.0])
    wanted = np.linalg.solve(table.T @ table + penalty, table.T @ target)
    assert np.allclose(made.fit(ridge=7).weights, wanted)


def test_standard_errors_cover_sampling_and_noise():
    generator = np.random.default_rng(4)  # noqa: TID251
    shares = {}
    for epsilon, count in ((0.5, 20_000), (50, 500)):
        mechanism = moments(epsilon=epsilon, delta=1e-6)
        scores = []
        for seed in range(200):
            x = generator.uniform(-1, 1, count)
            y = 0.3 * x + generator.uniform(-0.5, 0.5, count)
            data = np.rint(np.column_stack([np.ones(count), x, y]) * 1024).astype(np.int64)
            line = mechanism.release(data, rng=unsafe_seeded(seed)).value.fit()
            scores.append((line.weights[1] - 0.3) / line.standard_errors[1])
        shares[epsilon] = np.mean(np.abs(scores) < 2)
    assert all(0.88 <= share <= 0.99 for share in shares.values()), shares


def test_large_weights_are_not_drawn_towards_nought_where_noise_lets_them_be_seen():
    """A ridge of the noise's size took nearly two standard errors from one: 58 % of intervals held."""
    generator, off, told = np.random.default_rng(6), [], []  # noqa: TID251
    public = {"epsilon": 1, "delta": 1e-6, "columns": Range(-1, 1), "target": Range(-10, 10)}
    for seed in range(80):
        x = generator.uniform(-1, 1, (2000, 10))
        y = 3 * x[:, 0] - x[:, 1] + generator.normal(0, 1, 2000)
        line = RidgeRegressor(**public).fit(x, y, rng=unsafe_seeded(seed))
        off.append((line.coef_[0] - 3) / line.standard_errors_[0])
        told.append(line.error_)
    assert abs(np.mean(off)) < 0.9  # it was 1.8; six deviations
    assert np.mean(np.abs(off) < 2) > 0.8
    assert np.mean(told) == pytest.approx(1, abs=0.5)


def test_weights_that_noise_hides_have_no_standard_error():
    generator = np.random.default_rng(7)  # noqa: TID251
    x, ward = generator.uniform(-1, 1, (2000, 10)), generator.choice(["x", "y"], 2000)
    y = 3 * x[:, 0] + (ward == "y") + generator.normal(0, 1, 2000)
    frame = pd.DataFrame(x, columns=list("abcdefghij")).assign(ward=ward)
    columns = [*[Range(-1, 1)] * 10, Choices(("x", "y"))]
    public = {"delta": 1e-6, "columns": columns, "target": Range(-10, 10)}
    much, little = (
        RidgeRegressor(epsilon=epsilon, **public).fit(frame, y, rng=unsafe_seeded(1)) for epsilon in (5, 0.1)
    )
    assert much.term_names_[-3:] == ["ward: x", "ward: y", "ward: missing or undeclared"]
    assert np.isfinite(much.standard_errors_[:-1]).all()
    assert np.isinf(much.standard_errors_[-1])  # nobody's ward is missing
    difference = much.coef_[-2] - much.coef_[-3]
    assert difference == pytest.approx(1, abs=0.5)
    assert np.isinf(little.standard_errors_[:10]).all()


@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")], ids=["add", "replace"])
def test_rows_without_a_target_make_nobody_surer(neighbours):
    """With `Replace` they were among those that residuals are shared out over: 0.64 was said of 2."""
    generator = np.random.default_rng(5)  # noqa: TID251
    x = generator.uniform(-1, 1, (20_000, 1))
    y = np.where(generator.random(20_000) < 0.9, np.nan, 3 * x[:, 0] + generator.normal(0, 2, 20_000))
    line = RidgeRegressor(
        epsilon=20, delta=1e-6, columns=[Range(-1, 1)], target=Range(-12, 12), neighbours=neighbours
    ).fit(x, y, rng=unsafe_seeded(1))
    assert line.error_ == pytest.approx(2, rel=0.15)
    assert line.standard_errors_[0] == pytest.approx(2 / np.sqrt(2000 / 3), rel=0.2)


class Seeded(RidgeRegressor):
    """The same noise at every fit: some checks compare two fits."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


def test_every_check_of_scikit_learn_passes_but_those_listed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Seeded(epsilon=100, delta=1e-3, columns=Range(-4, 4), target=Range(-4, 4))
        found = check_estimator(made, on_fail=None, on_skip=None)
    by_status = {}
    for each in found:
        by_status.setdefault(each["status"], set()).add(each["check_name"])
    assert by_status["failed"] == set(LEFT_OUT)
    assert by_status["skipped"] == set(SKIPPED)
    assert len(by_status["passed"]) >= 35


def people(count=20_000, seed=0):
    generator = np.random.default_rng(seed)  # noqa: TID251
    age, ward = generator.uniform(0, 100, count), generator.choice(["x", "y"], count)
    return pd.DataFrame({"age": age, "ward": ward}), age / 2 + 10 * (ward == "x") + generator.normal(
        0, 5, count
    )


def model(**changed):
    columns = {"age": Range(0, 100), "ward": Choices(("x", "y"))}
    given = {"epsilon": 1, "delta": 1e-9, "columns": columns, "target": Range(0, 80)}
    return RidgeRegressor(**{**given, **changed})


def test_it_takes_frames_and_says_what_it_cost():
    table, target = people()
    fitted = model().fit(table, target, rng=unsafe_seeded(1))
    assert fitted.score(*people(seed=1)) > 0.85
    assert fitted.guarantee_.implies(epsilon=1, delta=1e-9)
    assert fitted.coef_[0] == pytest.approx(25, abs=1)
    assert fitted.coef_[1] - fitted.coef_[2] == pytest.approx(10, abs=1)
    assert fitted.error_ == pytest.approx(5, rel=0.2)
    assert clone(fitted).get_params()["target"] == Range(0, 80)


def test_odd_rows_never_raise():
    table, target = people(300)
    odd = pd.DataFrame({"age": [np.nan, np.inf, -1e300], "ward": ["z", None, "x"]})
    both = pd.concat([table, odd])
    fitted = model().fit(both, np.append(target, [np.nan, np.inf, 3]))
    found = fitted.predict(both)
    assert ((found >= 0) & (found <= 80)).all()
    model().fit(table.iloc[:0], target[:0])
    model(neighbours=dp.Replace("row")).fit(table, target)


def test_bad_parameters_are_refused():
    for changed in ({"size": 0}, {"length": 4}, {"delta": 0}, {"epsilon": -1}, {"resolution": 0}):
        with pytest.raises(InvalidParameter):
            moments(**changed)
    table, target = people(20)
    for changed in ({"target": (0, 80)}, {"ridge": -1}, {"columns": None}):
        with pytest.raises(InvalidParameter):
            model(**changed).fit(table, target)
    with pytest.raises(InvalidParameter):
        moments().release(np.zeros((4, 3)))
