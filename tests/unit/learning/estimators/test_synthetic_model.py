"""Models fitted to synthetic rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dp
from discreet.core.errors import InvalidParameter
from discreet.learning import SyntheticModel
from discreet.queries import Histogram, Universe
from discreet.query_release import ResidualMarginals
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("age", range(20, 60, 5)), ("ward", ("x", "y")), ("ill", (0, 1))])


def people(count=8000, seed=0):
    generator = np.random.default_rng(seed)  # noqa: TID251
    age, ward = generator.integers(0, 8, count), generator.integers(0, 2, count)
    ill = (age + 2 * ward + generator.logistic(size=count) > 5).astype(int)
    codes = np.stack([age, ward, ill], axis=1)
    return codes, pd.DataFrame({"age": 20 + 5 * age, "ward": np.array(["x", "y"])[ward]}), ill


def test_models_of_a_release_foretell_real_rows():
    codes, table, ill = people()
    mechanism = ResidualMarginals(
        workload=dp.marginals(UNIVERSE, order=2), epsilon=1, delta=1e-9, neighbours=dp.AddRemove("row")
    )
    released = mechanism.release(Histogram.from_records(UNIVERSE, codes), rng=unsafe_seeded(1))
    model = SyntheticModel(LogisticRegression(), target="ill").fit(
        released.value, rows=8000, rng=unsafe_seeded(1)
    )
    assert model.score(table, ill) > 0.8
    assert model.predict_proba(table.head(3)).shape == (3, 2)
    assert model.classes_.tolist() == [0, 1]
    assert model.guarantee_ is None
    assert clone(model).fit(released, rows=800).guarantee_ == released.guarantee
    assert model.predict([[37.5, "y"], [None, "nowhere"]]).shape == (2,)
    line = SyntheticModel(LinearRegression(), target="age").fit(released.value, rows=800)
    assert line.predict(pd.DataFrame({"ward": ["x"], "ill": [1]}))[0] > 20


def test_it_is_a_value_of_scikit_learn():
    model = clone(SyntheticModel(LogisticRegression(C=3), target="ill"))
    assert model.get_params()["model__C"] == 3
    rows = SyntheticTable(UNIVERSE, people(100)[0])
    assert model.fit(rows).model_ is not model.model
    with pytest.raises(InvalidParameter):
        SyntheticModel(LogisticRegression(), target="nobody").fit(rows)
    with pytest.raises(InvalidParameter):
        model.fit([[1, 2, 3]])
