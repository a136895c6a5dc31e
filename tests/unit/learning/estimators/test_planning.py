"""Which learner a plan takes, from public numbers."""

import numpy as np
import pandas
import pytest

from discreet import testing
from discreet.core.errors import InvalidParameter
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
    plan,
)
from discreet.learning.estimators.planning import LADDER

COLUMNS = {"age": Range(0, 100), "ward": Choices(("x", "y"))}
BUDGET = {"epsilon": 1, "delta": 1e-9}


def test_many_rows_learn_shapes_and_few_learn_lines():
    many, few = plan(COLUMNS, 50_000, **BUDGET), plan([Range(0, 1)] * 60, 300, **BUDGET)
    assert [each.name for each in many.predictions] == [
        "AdditiveClassifier",
        "GradientClassifier",
        "SparseClassifier",
        "LogisticClassifier",
    ]
    assert [each.name for each in few.predictions] == [
        "SparseClassifier",
        "GradientClassifier",
        "AdditiveClassifier",
        "LogisticClassifier",
    ]
    assert many.predictions[0].noise < few.predictions[0].noise
    assert "LogisticClassifier" in str(few)


def test_a_number_is_foretold_by_what_has_the_least_noise():
    found = plan(COLUMNS, 10_000, target=Range(0, 100), **BUDGET)
    assert [each.name for each in found.predictions] == [
        "GradientRegressor",
        "SparseRegressor",
        "RobustRegressor",
        "RidgeRegressor",
    ]
    assert found.best.get_params()["target"] == Range(0, 100)


def test_predicted_noise_is_that_of_fits():
    generator = np.random.default_rng(0)  # noqa: TID251
    rows = np.column_stack([generator.uniform(0, 100, 20_000), generator.uniform(0, 1, 20_000)])
    outlook = plan([Range(0, 100), Range(0, 1)], 20_000, target=Range(-1, 1), **BUDGET)
    for each in outlook.predictions:
        fits = [
            each.estimator.fit(rows, np.zeros(20_000), rng=testing.unsafe_seeded(seed)).predict(rows[:200])
            for seed in range(20)
        ]
        seen = float(np.sqrt(np.mean(np.square(fits))))
        least = 0.0 if each.name == "SparseRegressor" else 0.5  # whose number is no more than a bound
        assert least <= seen / each.noise < 1.5, each.name


def test_steps_are_as_many_as_noise_leaves_room_for():
    """What the plan takes foretells nearly as much as the best number of steps does."""
    generator = np.random.default_rng(5)  # noqa: TID251
    mixed = generator.normal(size=(4, 20))
    rows = np.clip(generator.normal(size=(9000, 4)) @ mixed / 4, -1, 1)
    labels = (rows @ mixed[0] + generator.logistic(size=len(rows)) / 2 > 0).astype(int)
    planned = plan([Range(-1, 1)] * 20, 5000, epsilon=0.1, delta=1e-9).best
    assert type(planned) is GradientClassifier
    right = {}
    for steps in {planned.steps, *LADDER[::3]}:
        model = GradientClassifier(**{**planned.get_params(), "steps": steps})
        fits = [model.fit(rows[:5000], labels[:5000], rng=testing.unsafe_seeded(seed)) for seed in range(4)]
        right[steps] = np.mean([fit.score(rows[5000:], labels[5000:]) for fit in fits])
    assert right[planned.steps] > max(right.values()) - 0.05, right
    found = [
        each.estimator.steps
        for rows in (500, 5000, 50_000)
        for each in plan([Range(-1, 1)] * 20, rows, epsilon=0.1, delta=1e-9).predictions
        if each.name == "GradientClassifier"
    ]
    assert found == [4, 13, 150]


def test_many_columns_are_chosen_from():
    """Where noise hides nearly all directions of a line, and all shapes."""
    wide = plan([Range(-1, 1)] * 400, 20_000, epsilon=0.3, delta=1e-9)
    assert wide.predictions[0].name == "SparseClassifier"


@pytest.mark.parametrize("columns", [4095, 4096])
def test_more_columns_than_a_line_takes_leave_lines_out(columns):
    """The plan refused to plan for the tables that few columns are chosen from."""
    wide = [Range(0, 1)] * columns
    for target, name in ((None, "SparseClassifier"), (Range(0, 9), "SparseRegressor")):
        found = plan(wide, 2000, target=target, **BUDGET)
        assert found.predictions[0].name == name
        assert (len(found.predictions) == 4) == (columns < 4096)


def test_ranges_are_cut_into_as_many_parts_as_can_be_seen():
    ward, found = Choices(("x", "y")), {}
    for rows in (100, 300, 30_000):
        first = plan({"age": Range(0, 90, bins=20), "ward": ward}, rows, **BUDGET).predictions
        (shapes,) = (each.estimator for each in first if each.name == "AdditiveClassifier")
        found[rows] = shapes.columns["age"].bins
        assert shapes.columns["ward"] == ward
        assert (shapes.columns["age"].lower, shapes.columns["age"].upper) == (0, 90)
    assert found[100] == 2
    assert found[100] < found[300] < found[30_000] == 20
    (listed,) = (
        each.estimator for each in plan([Range(0, 1)] * 3, 300, **BUDGET).predictions if "Add" in each.name
    )
    assert listed.columns == [Range(0, 1, bins=2)] * 3


def test_coarse_parts_foretell_more_where_rows_are_few():
    """By what the plan takes, against the finest parts: on rows that nothing was chosen by."""
    generator = np.random.default_rng(3)  # noqa: TID251
    columns, right = [Range(-1, 1)] * 10, {"planned": 0.0, "fine": 0.0}
    planned = plan(columns, 500, epsilon=3, delta=1e-9).best
    for seed in range(4):
        rows = generator.uniform(-1, 1, (1500, 10))
        labels = (rows[:, 0] - rows[:, 1] + rows[:, 2] ** 2 > 0.3).astype(int)
        for name, model in (
            ("planned", planned),
            ("fine", AdditiveClassifier(**{**planned.get_params(), "columns": columns})),
        ):
            fitted = model.fit(rows[:500], labels[:500], rng=testing.unsafe_seeded(seed))
            right[name] += fitted.score(rows[500:], labels[500:]) / 4
    assert right["planned"] > right["fine"] + 0.1


def test_several_labels_are_for_models_of_shapes():
    found = plan(COLUMNS, 50_000, classes=("a", "b", "c"), **BUDGET)
    assert [each.name for each in found.predictions] == ["AdditiveClassifier"]
    two = plan(COLUMNS, 50_000, **BUDGET).predictions[0]
    assert found.predictions[0].noise > two.noise


def test_bad_parameters_are_refused():
    for columns in ([], {}, Range(0, 1)):
        with pytest.raises(InvalidParameter, match="a declaration for each column, or a schema"):
            plan(columns, 1000, epsilon=1, delta=1e-9)
    for changed in ({"rows": 0}, {"columns": None}, {"columns": Range(0, 1)}, {"epsilon": -1}, {"delta": 0}):
        with pytest.raises(InvalidParameter):
            plan(**{"columns": COLUMNS, "rows": 100, **BUDGET, **changed})


def test_the_plan_marks_what_it_takes():
    outlook = plan([Range(0, 1)] * 3, 20_000, epsilon=1, delta=1e-9)
    marked = [line.split()[0] for line in str(outlook).splitlines() if line.endswith("<- recommended")]
    assert marked == [type(outlook.best).__name__]


def test_a_frame_is_no_declaration():
    with pytest.raises(
        InvalidParameter, match="columns must be 1 declarations, one a column, got a DataFrame"
    ):
        plan(pandas.DataFrame({"age": [31]}), 100, epsilon=1, delta=1e-9)


LABELS = (
    AdditiveClassifier,
    GradientClassifier,
    LogisticClassifier,
    MinimumClassifier,
    SparseClassifier,
    SupportVectorClassifier,
)
NUMBERS = (GradientRegressor, PoissonRegressor, RidgeRegressor, RobustRegressor, SparseRegressor)


@pytest.mark.parametrize("face", LABELS + NUMBERS, ids=lambda face: face.__name__)
def test_a_large_delta_is_refused_before_a_row_is_read(face):
    """With that probability a fit may publish anything; the mechanism takes what its theorem takes."""
    rest = {"ridge": 0.1} if face is MinimumClassifier else {}
    rest |= {"target": Range(0, 9)} if face in NUMBERS else {}
    model = face(epsilon=1, delta=0.5, columns=list(COLUMNS.values()), **rest)
    with pytest.raises(InvalidParameter, match=r"delta must be at most 0.001.*mechanism"):
        model.fit(None, None)


def test_no_plan_for_a_large_delta():
    with pytest.raises(InvalidParameter, match=r"delta must be at most 0.001"):
        plan(COLUMNS, 10_000, epsilon=1, delta=0.5)
