"""Every fit of every estimator, from frames to released numbers, with neighbours that are hostile."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.audit.replay_report import replay_run
from discreet.learning import (
    AdditiveClassifier,
    Choices,
    GradientClassifier,
    GradientRegressor,
    LogisticClassifier,
    MinimumClassifier,
    PoissonRegressor,
    Range,
    RidgeRegressor,
    RobustRegressor,
    SparseClassifier,
    SparseRegressor,
    SupportVectorClassifier,
)
from discreet.testing import unsafe_seeded


class SeveralLabels(AdditiveClassifier):
    """A model of each label against all others."""


COLUMNS = {"age": Range(0, 100, bins=4), "ward": Choices(("x", "y"))}
FACES = {
    AdditiveClassifier: {"steps": 2},
    SeveralLabels: {"steps": 2, "classes": (0, 1, "maybe")},
    LogisticClassifier: {},
    SupportVectorClassifier: {},
    RidgeRegressor: {"target": Range(0, 5)},
    RobustRegressor: {"target": Range(0, 5), "cut": 0.5},
    PoissonRegressor: {"target": Range(0, 5)},
    GradientClassifier: {"steps": 3},
    MinimumClassifier: {"ridge": 2},
    GradientRegressor: {"target": Range(0, 5), "steps": 3, "cut": 0.5},
    SparseClassifier: {"steps": 3},
    SparseRegressor: {"target": Range(0, 5), "steps": 3},
}
ODD = {
    "beyond the bounds": (1e300, "x", 1e300),
    "below the bounds": (-np.inf, "y", -np.inf),
    "missing": (np.nan, None, np.nan),
    "undeclared": ("text", 7, "maybe"),
    "objects": ([1], {}, object()),
    "a repeated row": (50.0, "x", 1),
    "huge": (2**70, "z", -(2**70)),
}


def people(count=60):
    generator = np.random.default_rng(1)  # noqa: TID251
    rows = [
        (float(age), ward) for age, ward in zip(generator.uniform(0, 100, count), "xy" * count, strict=False)
    ]
    return rows, generator.integers(0, 2, count).tolist()


def make_frame(rows, targets):
    frame = pd.DataFrame({"age": [row[0] for row in rows], "ward": [row[1] for row in rows]}, dtype=object)
    wanted = np.empty(len(targets), dtype=object)
    wanted[:] = targets
    return frame, wanted


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")], ids=["add", "replace"])
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_no_row_moves_a_fit_further_than_it_paid_for(face, neighbours, odd):
    rows, targets = people()
    kept = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    there = make_frame(rows, targets)
    here = make_frame([*rows[kept], odd[:2]], [*targets[kept], odd[2]])

    def fit(data, rng):
        made = face(epsilon=1, delta=1e-6, columns=COLUMNS, neighbours=neighbours, **FACES[face])
        made.fit(*data, rng=rng)
        model = made.model_ if hasattr(made, "model_") else made.moments_
        return model, repr(made.guarantee_)

    report = replay_run(fit, (there, here), rng=unsafe_seeded(1))
    assert report.holds, report
