"""Output perturbation: how far minima of neighbours are apart, however they are found; errors of weights."""

import itertools
import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator
from tests.unit.learning.estimators.test_linear_models import LEFT_OUT, LEFT_OUT_OF_LABELS, SKIPPED
from tests.unit.learning.linear_models.test_noisy_newton import LONGEST, people

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter
from discreet.learning import Link, MinimumClassifier, NoisyMinimum, Range
from discreet.learning.linear_models import noisy_minimum
from discreet.learning.linear_models.links import PARTS, REACH
from discreet.learning.linear_models.noisy_minimum import _UNIT, _Objective
from discreet.testing import unsafe_seeded

LINKS = [link for link in Link if link is not Link.POISSON]
NEIGHBOURS = [dp.AddRemove("row"), dp.Replace("row")]


def minimum(link=Link.CUT_LOGISTIC, **changed):
    given = {"link": link, "size": 3, "length": 3, "ridge": 10, "epsilon": 1, "delta": 1e-9}
    return NoisyMinimum(**{**given, "neighbours": dp.AddRemove("row"), **changed})


def find(mechanism, rows, targets):
    return _Objective(mechanism, rows, targets).minimise() / mechanism.fine


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_no_row_moves_the_weights_further_than_it_allows_for(link, neighbours):
    rows, targets = people(link)
    mechanism = minimum(link, neighbours=neighbours, ridge=1)
    fewer = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    for odd in LONGEST:
        for target in (0, PARTS, -PARTS, 7 * PARTS, 2**62, 3):
            other = np.vstack([rows[fewer], odd]), np.append(targets[fewer], target)
            report = audit.replay(mechanism, ((rows, targets), other), rng=unsafe_seeded(1))
            assert report.holds, (odd, target, report)
            assert len(report.distances) == 2  # the weights, and how badly they do


@pytest.mark.parametrize("link", [Link.CUT_LOGISTIC, Link.LINEAR])
def test_the_longest_row_reaches_the_bound(link):
    row, no = np.full((1, 3), 1024), 0 if link.labels else -PARTS
    bare = {"ridge": 1000, "judged": False}
    cases = ((row, [PARTS]), (row[:0], [])), ((row, [PARTS]), (row, [no]))
    for neighbours, (here, there) in zip(NEIGHBOURS, cases, strict=True):
        mechanism = minimum(link, neighbours=neighbours, **bare)
        pair = [(rows, np.array(targets, dtype=int)) for rows, targets in (here, there)]
        report = audit.replay(mechanism, pair, rng=unsafe_seeded(1))
        assert report.holds
        assert float(report.distances[0]) > 0.95 * math.sqrt(mechanism.noises[0].square)


@pytest.mark.parametrize("neighbours", NEIGHBOURS, ids=["add", "replace"])
@pytest.mark.parametrize("link", LINKS)
def test_minima_of_neighbours_are_as_near_as_the_ridge_holds_them(link, neighbours):
    """At random places, or all at one; where residuals are cut off the bound is reached."""
    generator, rows_of_one = np.random.default_rng(2), 2 if neighbours == dp.Replace("row") else 1  # noqa: TID251
    worst, targets_known = 0.0, (0, PARTS) if link.labels else (-PARTS, 0, 500, PARTS)
    for trial in range(150):
        size, ridge = int(generator.integers(1, 4)), Fraction(int(generator.integers(2, 40)), 2)
        count, unit = int(generator.integers(1, 12)), (1, 3, 1024)[trial % 3]
        rows = generator.choice([-unit, 0, unit, unit // 2], (count + 1, size))
        targets = generator.choice(targets_known, count + 1)
        if trial % 4 == 0:
            rows[:], targets[1:] = rows[0], targets[1]
        mechanism = minimum(link, size=size, length=size, ridge=ridge, neighbours=neighbours, resolution=unit)
        first = 1 if rows_of_one == 2 else 0
        here = find(mechanism, rows[:-1], targets[:-1])
        there = find(mechanism, rows[first:], targets[first:])
        far = float(mechanism.cut) * math.sqrt(size) / float(ridge)
        worst = max(worst, float(np.linalg.norm(here - there)) / far)
        assert np.linalg.norm(here - there) <= far * (rows_of_one + 1 / 32)
    assert worst > (0.3 if link is Link.LOGISTIC else 0.9) * rows_of_one


@pytest.mark.parametrize("trust", [0.0, 1e-3, 1e3])
def test_a_solver_that_errs_is_not_believed(trust, monkeypatch):
    """Wrong curvatures, or none, find the same weights, up to the slope that is let pass."""
    rows, targets = people(Link.CUT_LOGISTIC, 400)
    mechanism = minimum()
    known, bend = find(mechanism, rows, targets), _Objective._bend
    monkeypatch.setattr(_Objective, "_bend", lambda self, weights: trust * bend(self, weights))
    apart = np.linalg.norm(find(mechanism, rows, targets) - known)
    assert apart <= 2 * 0.5 * math.sqrt(3) * mechanism.near / 10 <= math.sqrt(3) / 600


@pytest.mark.parametrize("link", LINKS)
def test_residuals_never_rise_with_the_score(link):
    """So they are slopes of a convex function, and the ridge keeps minima of neighbours together."""
    for resolution in (1, 1024):
        objective = _Objective(minimum(link, resolution=resolution), np.ones((1, 3), int), np.array([PARTS]))
        one = resolution * objective._public.fine // PARTS
        places = [place * one + off for place in (-REACH - 9, -REACH, -7, 0, 3, REACH - 1, REACH, 2 * REACH)
                  for off in (0, 1, one // 7, one // 2, one - 1)]  # fmt: skip
        pulls = np.array([objective._pull(np.array([place]), slice(0, 1))[0] for place in sorted(places)])
        assert (np.diff(pulls) <= 0).all()
        assert np.abs(pulls).max() <= float(objective._public.cut) * _UNIT**2
        assert pulls[0] > pulls[-1]


def test_weights_are_those_of_a_ridge_regression_within_the_error():
    rows, _ = people(Link.LINEAR, 4000)
    targets = np.rint(rows @ [0.1, 0.3, -0.2]).astype(int)
    x, y = rows / 1024, targets / PARTS
    wanted = np.linalg.solve(x.T @ x + 50 * np.eye(3), x.T @ y)
    public = {"cut": 2, "ridge": 50, "epsilon": 3, "delta": 1e-6}
    mechanism, off = minimum(Link.LINEAR, **public), []
    for seed in range(60):
        made = mechanism.release((rows, targets), rng=unsafe_seeded(seed)).value
        off.append(np.abs(np.array(made.weights) - wanted).max())
    assert np.mean(np.array(off) > mechanism.error(0.1)) < 0.3  # by chance in one of 20,000 runs
    assert max(off) > mechanism.error(0.1) / 2
    assert np.isnan(made.standard_errors()).all()


def test_the_whole_budget_is_kept():
    for ridge in (1, 1000):
        mechanism = minimum(ridge=ridge)
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-9)
        assert not mechanism.guarantee.implies(epsilon=0.98, delta=1e-9)
    assert minimum(ridge=1).error(0.05) == pytest.approx(1000 * minimum(ridge=1000).error(0.05), rel=0.02)
    twice = minimum(neighbours=dp.Replace("row"))
    assert twice.error(0.05) == pytest.approx(2 * minimum().error(0.05), rel=0.03)


@pytest.mark.parametrize("count", [0, 1, 100_000])
def test_any_number_of_rows_at_one_place_has_a_minimum(count):
    for link in LINKS:
        rows = np.full((count, 3), 1024)
        targets = np.where(np.arange(count) % 3 == 0, PARTS, 0)
        assert np.isfinite(find(minimum(link, ridge=1), rows, targets)).all()


@pytest.mark.parametrize("link", LINKS)
def test_rows_where_a_table_bends_keep_no_solver_busy(link, monkeypatch):
    monkeypatch.setattr(noisy_minimum, "_TURNS", 60)  # whether weights are found is not for rows to decide
    rng, signs = unsafe_seeded(1), np.array(list(itertools.product((-1, 1), repeat=3)))
    for unit, nudge in itertools.product((1, 3, 4096), (0, 2)):
        mechanism = minimum(link, ridge=1, resolution=unit)
        rows = np.clip(signs * unit - signs * np.arange(3) * nudge, -unit, unit)
        for _ in range(10):
            many = 10 ** np.array([rng.bits(2) for _ in rows])
            targets = np.array([[0, PARTS, 1, PARTS // 2][rng.bits(1 if link.labels else 2)] for _ in rows])
            find(mechanism, np.repeat(rows, many, axis=0), np.repeat(targets, many))


@pytest.mark.parametrize("link", LINKS)
def test_a_ridge_is_refused_before_it_hides_the_slope_of_rows(link, monkeypatch):
    """With a larger one an empty table had weights, and one with people in it an error."""
    monkeypatch.setattr(noisy_minimum, "_TURNS", 60)
    with pytest.raises(InvalidParameter, match="at most") as refused:
        minimum(link, ridge=1 << 40)
    most = int(re.search(r"at most (\d+) rows", str(refused.value))[1])
    rows, targets = people(link, 400)
    for ridge in (most, most * 2 // 3, most // 10):
        find(minimum(link, ridge=ridge), rows, targets)


def test_no_score_leaves_64_bits_and_no_minimum_lies_beyond():
    """Wide tables have coarser weights while a minimum is sought, and it is found where weights are large."""
    wide = minimum(size=1024, length=1024, ridge=1)
    assert wide.fine < minimum().fine == 1 << 36
    for mechanism in (wide, minimum(resolution=4096)):
        farthest = 8192 * mechanism.fine * math.sqrt(mechanism.size) * math.sqrt(mechanism.length)
        assert farthest * mechanism.resolution <= 2**62
    for mechanism, count, unit in ((wide, 8000, 4), (minimum(size=1, length=1, ridge=1), 400_000, 1)):
        rows = np.zeros((count, mechanism.size), dtype=int)
        rows[:, 0] = np.where(np.arange(count) % 2, unit, -unit)  # next to nothing tells the labels apart
        found = find(mechanism, rows, (rows[:, 0] > 0) * PARTS)
        assert found[0] == pytest.approx(count * unit / 2 / 1024, rel=0.1)
        assert (found[1:] == 0).all()


def test_what_a_coarse_grid_leaves_of_a_slope_is_paid_for():
    """With a tiny cut, or in wide tables, no weights had so small a slope: rows decided whether it ended."""
    fine, wide = minimum(), minimum(size=1024, length=1024, ridge=1)
    assert fine.near == pytest.approx(1 / 64, rel=0.05) and 0.2 < wide.near < 0.3
    cut = {"cut": 1 / 1024, "size": 64, "length": 64, "ridge": 1}
    tiny = minimum(Link.LINEAR, **cut)
    for one in (wide, tiny):
        least = one.cut * (1 + 2 * one.near) * math.isqrt(one.length) / one.ridge * one.parts
        assert least**2 <= one.noises[0].square <= (2 * least) ** 2
    generator = np.random.default_rng(4)  # noqa: TID251
    rows = generator.choice([-1024, 1024], (1 << 16, 64))
    find(tiny, rows, (generator.random(1 << 16) < 0.3) * PARTS)


class SeededMinimum(MinimumClassifier):
    """The same noise at every fit: some checks compare two fits."""

    def fit(self, X, y):  # noqa: N803
        rows = np.array(X) if isinstance(X, list) else X  # a list needs declarations one by one
        return super().fit(rows, y, rng=unsafe_seeded(1))


def test_every_check_of_scikit_learn_passes_but_those_listed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = SeededMinimum(epsilon=10_000, delta=1e-3, columns=Range(-4, 4), ridge=1)
        found = check_estimator(made, on_fail=None, on_skip=None)
    by_status = {}
    for each in found:
        by_status.setdefault(each["status"], set()).add(each["check_name"])
    assert by_status["failed"] == set(LEFT_OUT | LEFT_OUT_OF_LABELS)
    assert by_status["skipped"] == set(SKIPPED)


def test_labels_are_foretold():
    generator = np.random.default_rng(3)  # noqa: TID251
    rows = generator.uniform(-1, 1, (20_000, 2))
    labels = rows[:, 0] - rows[:, 1] + generator.logistic(size=20_000) / 5 > 0
    model = MinimumClassifier(epsilon=1, delta=1e-9, columns=Range(-1, 1), ridge=200)
    model.fit(rows, labels, rng=unsafe_seeded(1))
    assert model.score(rows, labels) > 0.8
    assert abs(model.error_ - (1 - model.score(rows, labels))) < 4 * model.error_deviation_ + 1e-3
    assert model.guarantee_.implies(epsilon=1, delta=1e-9)


@pytest.mark.parametrize(
    "changed",
    [
        {"delta": 0},
        {"size": 0},
        {"size": (1 << 10) + 1},
        {"ridge": 0},
        {"ridge": Fraction(1, 2)},
        {"ridge": 1 << 41},
        {"parts": 0},
        {"parts": 1 << 31},
        {"link": Link.POISSON, "most": 7},
        {"cut": 1},
    ],
)
def test_bad_parameters_are_refused(changed):
    with pytest.raises(InvalidParameter):
        minimum(**changed)
    assert noisy_minimum.CARD.name == "noisy-minimum"
