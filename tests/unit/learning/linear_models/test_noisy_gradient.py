"""Noisy gradient descent: what a row can move, few rows, probabilities of cut residuals, and the faces."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator
from tests.unit.learning.estimators.test_linear_models import LEFT_OUT, LEFT_OUT_OF_LABELS, SKIPPED
from tests.unit.learning.linear_models.test_noisy_newton import LONGEST, people

import discreet as dp
from discreet import audit
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound
from discreet.core.rng import Rng
from discreet.learning import (
    Choices,
    GradientClassifier,
    GradientRegressor,
    Link,
    LogisticClassifier,
    NoisyGradient,
    Range,
)
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.links import PARTS
from discreet.learning.linear_models.noisy_gradient import MOMENTUM, STEEP
from discreet.testing import unsafe_seeded


def descent(link=Link.CUT_LOGISTIC, **changed):
    given = {"link": link, "size": 3, "length": 3, "steps": 3, "epsilon": 1, "delta": 1e-9}
    given |= {"most": 7 if link is Link.POISSON else 1, "neighbours": dp.AddRemove("row")}
    return NoisyGradient(**{**given, **changed})


@pytest.mark.parametrize("link", Link)
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
def test_no_row_moves_a_gradient_further_than_it_allows_for(link, neighbours):
    rows, targets = people(link)
    mechanism = descent(link, neighbours=neighbours)
    fewer = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    for odd in LONGEST:
        for target in (0, PARTS, -PARTS, 7 * PARTS, 2**62, 3):
            other = np.vstack([rows[fewer], odd]), np.append(targets[fewer], target)
            report = audit.replay(mechanism, ((rows, targets), other), rng=unsafe_seeded(1))
            assert report.holds, (odd, target, report)
            assert len(report.distances) == 5  # how many, three gradients, and how badly


@pytest.mark.parametrize("link", [Link.CUT_LOGISTIC, Link.LINEAR])
def test_the_longest_row_reaches_the_bound(link):
    row, none = np.full((1, 3), 1024), np.zeros(0, dtype=int)
    bare = {"steps": 1, "counted": False, "judged": False}
    one = descent(link, **bare)
    (moved,) = audit.replay(one, ((row, np.array([PARTS])), (row[:0], none)), rng=unsafe_seeded(1)).distances
    assert float(moved) == pytest.approx(512 * 1024 * math.sqrt(3), rel=1e-9)
    turned = (row, np.array([PARTS])), (row, np.array([0 if link.labels else -PARTS]))
    two = descent(link, neighbours=dp.Replace("row"), **bare)
    (moved,) = audit.replay(two, turned, rng=unsafe_seeded(1)).distances
    assert float(moved) == pytest.approx(2 * 512 * 1024 * math.sqrt(3), rel=1e-9)
    assert two.deviation == pytest.approx(2 * one.deviation, rel=1e-6)


def test_cutting_residuals_halves_the_noise():
    assert descent().deviation == pytest.approx(descent(Link.LOGISTIC).deviation / 2, rel=1e-9)


def test_the_whole_budget_is_kept_however_many_steps():
    for steps in (1, 40):
        mechanism = descent(steps=steps)
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-9)
        assert not mechanism.guarantee.implies(epsilon=0.98, delta=1e-9)


def test_rows_that_do_not_count_and_their_order_change_nothing():
    rows, targets = people(Link.CUT_LOGISTIC, 20_000)
    mechanism = descent()
    plain = mechanism.release((rows, targets), rng=unsafe_seeded(1)).value
    odd = np.array([[1024, 5000, 0], [1024, 0, 0], [1024, 0, 0]]), np.array([0, 1, -PARTS])
    both = np.vstack([rows, odd[0]])[::-1].copy(), np.append(targets, odd[1])[::-1].copy()
    assert mechanism.release(both, rng=unsafe_seeded(1)).value == plain
    assert np.isnan(plain.standard_errors()).all()


def test_many_steps_with_next_to_no_noise_come_to_least_squares():
    rows, _ = people(Link.LINEAR, 4000)
    wanted = np.array([0.1, 0.3, -0.2])
    targets = np.rint(rows @ wanted).astype(int)
    public = {"epsilon": 10**6, "delta": 1e-3, "steps": 200}
    found = descent(Link.LINEAR, **public).release((rows, targets), rng=unsafe_seeded(1)).value
    assert np.array(found.weights) == pytest.approx(wanted, abs=0.01)
    assert found.judged < 1e-3


def test_later_steps_are_averaged():
    """Of noise alone, whose way through six steps is known: the last weights are a quarter further off."""
    rows, targets = np.zeros((0, 3), dtype=int), np.zeros(0, dtype=int)
    mechanism = descent(Link.LINEAR, steps=6, counted=False, judged=False)
    drawn = [mechanism.release((rows, targets), rng=unsafe_seeded(seed)).value.weights for seed in range(400)]
    answers = [STEEP * (1 - MOMENTUM ** (place + 1)) / (1 - MOMENTUM) for place in range(6)]
    brought = [sum(answers[later - place] for later in range(max(3, place), 6)) / 3 for place in range(6)]
    assert np.std(drawn) == pytest.approx(math.hypot(*brought), rel=0.08)  # 1200 numbers: four deviations


def test_every_step_is_paid_for():
    for steps in (1, 4, 16):
        mechanism = descent(steps=steps)
        assert mechanism.noises[0].count == steps
        assert mechanism.deviation == pytest.approx(descent(steps=1).deviation * math.sqrt(steps), rel=1e-6)
        rng = Listening()
        mechanism.release(people(mechanism.link), rng=rng)
        assert rng.met.count(mechanism.noises[0].step) == steps


class Listening(Rng):
    """Keeps which primitives met data."""

    unsafe = True

    def __init__(self):
        self.met, self._own = [], unsafe_seeded(1)

    def random_bytes(self, count):
        return self._own.random_bytes(count)

    def perform(self, primitive, value):
        self.met.append(primitive)
        return super().perform(primitive, value)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.6, 0.95])
def test_probabilities_are_those_at_which_cut_residuals_cancel(p):
    tables = descent().tables
    scores = np.arange(-8 * PARTS, 8 * PARTS + 1)
    ones, others = (tables.pulls(scores, np.full(len(scores), label)) for label in (PARTS, 0))
    even = scores[np.abs(p * ones + (1 - p) * others).argmin()]
    model = LinearScores(
        link=Link.CUT_LOGISTIC,
        weights=(even / PARTS,),
        covariance=(),
        leaks=(),
        settled=False,
        judged=0,
        judged_deviation=0,
        most=1,
    )
    assert model.mean(np.ones((1, 1)))[0] == pytest.approx(p, abs=0.01)


class SeededGradient(GradientClassifier):
    """The same noise at every fit: some checks compare two fits."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


class SeededGradientNumber(GradientRegressor):
    """As above."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


@pytest.mark.parametrize(
    ("face", "more"), [(SeededGradient, {}), (SeededGradientNumber, {"target": Range(-4, 4)})]
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


def test_few_rows_are_foretold_better_than_by_newton_steps():
    generator = np.random.default_rng(3)  # noqa: TID251
    mixed = generator.normal(size=(4, 25))
    rows = np.clip(generator.normal(size=(4000, 4)) @ mixed / 4, -1, 1)
    labels = (rows @ mixed[0] + generator.logistic(size=4000) / 2 > 0).astype(int)
    public, right = {"epsilon": 1, "delta": 1e-6, "columns": Range(-1, 1)}, {}
    for model in (GradientClassifier(steps=9, **public), LogisticClassifier(**public)):
        fits = [model.fit(rows[:500], labels[:500], rng=unsafe_seeded(seed)) for seed in range(4)]
        right[type(model).__name__] = np.mean([fit.score(rows[500:], labels[500:]) for fit in fits])
    assert right["GradientClassifier"] > right["LogisticClassifier"] + 0.05
    assert right["GradientClassifier"] > 0.8


def test_faces_take_frames_and_numbers_and_share_a_budget():
    generator = np.random.default_rng(4)  # noqa: TID251
    age, ward = generator.uniform(0, 100, 5000), generator.choice(["x", "y"], 5000)
    frame = pd.DataFrame({"age": age, "ward": ward})
    target = 20 + age / 5 + 4 * (ward == "y") + generator.normal(0, 1, 5000)
    columns = {"age": Range(0, 100), "ward": Choices(("x", "y"))}
    budget = dp.ApproxFilter(epsilon=2, delta=1e-6)
    model = GradientRegressor(
        epsilon=2, delta=1e-9, columns=columns, target=Range(0, 60), steps=150, budget=budget
    ).fit(frame, target, rng=unsafe_seeded(1))
    assert model.term_names_ == ["age", "ward: y", "ward: missing or undeclared"]
    assert model.coef_[:2] == pytest.approx([10, 4], abs=1)
    assert model.score(frame, target) > 0.9
    assert model.guarantee_.implies(epsilon=2, delta=1e-9)
    with pytest.raises(BudgetExceeded):
        model.fit(frame, target)


@pytest.mark.parametrize(
    "changed",
    [
        {"delta": 0},
        {"size": 0},
        {"size": 1 << 13},
        {"length": 4},
        {"steps": 0},
        {"most": 2},
        {"cut": 1},
        {"resolution": 1 << 13},
        {"counted": 1},
        {"link": "logistic"},
        {"most": 1e-6, "link": Link.POISSON},
        {"cut": 1e-6, "link": Link.LINEAR},
    ],
)
def test_bad_parameters_are_refused(changed):
    with pytest.raises(InvalidParameter):
        descent(**changed)
    with pytest.raises(NoBound):
        descent().error(0.05)
