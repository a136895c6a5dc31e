"""Noisy Newton steps: what a row can move, exact scores, standard errors, rows that count nowhere."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.learning import Choices, Link, LogisticClassifier, NoisyNewton, Range
from discreet.learning.linear_models.linear_scores import Slope
from discreet.learning.linear_models.links import PARTS, REACH, make_tables
from discreet.testing import unsafe_seeded

HIGHEST = {link: 7 if link is Link.POISSON else 1 for link in Link}


def newton(link=Link.LOGISTIC, **changed):
    given = {
        "link": link,
        "size": 3,
        "length": 3,
        "epsilon": 1,
        "delta": 1e-9,
        "most": 1 if link is not Link.POISSON else 7,
    }
    return NoisyNewton(**{**given, "neighbours": dp.AddRemove("row"), **changed})


def people(link, count=60, seed=0):
    generator = np.random.default_rng(seed)  # noqa: TID251
    rows = generator.integers(-1024, 1025, (count, 3))
    rows[:, 0] = 1024
    if link.labels:
        return rows, generator.integers(0, 2, count) * PARTS
    low = -PARTS if link is Link.LINEAR else 0
    return rows, generator.integers(low, HIGHEST[link] * PARTS + 1, count)


LONGEST = [(1024, 1024, 1024), (1024, -1024, 1024), (-1024, -1024, -1024), (5000, 0, 0), (-(2**62), 2**62, 1)]


@pytest.mark.parametrize("link", Link)
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
def test_no_row_moves_a_measurement_further_than_it_allows_for(link, neighbours):
    rows, targets = people(link)
    mechanism = newton(link, neighbours=neighbours, steps=2)
    fewer = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    for odd in LONGEST:
        for target in (0, PARTS, -PARTS, 7 * PARTS, 2**62, 3):
            other = np.vstack([rows[fewer], odd]), np.append(targets[fewer], target)
            report = audit.replay(mechanism, ((rows, targets), other), rng=unsafe_seeded(1))
            assert report.holds, (odd, target, report)


def test_the_longest_row_reaches_the_bounds():
    mechanism = newton(Link.LINEAR, steps=1, started=False, judged=False)
    longest = np.full((1, 3), 1024), np.array([PARTS])
    nobody = longest[0][:0], longest[1][:0]
    pulled, bent = audit.replay(mechanism, (nobody, longest), rng=unsafe_seeded(1)).distances
    assert float(pulled) == pytest.approx(512 * 1024 * 3**0.5, rel=1e-9)
    assert bent == 0  # a residual that is cut off does not bend
    still = np.full((1, 3), 1024), np.array([0])
    _, bent = audit.replay(mechanism, (nobody, still), rng=unsafe_seeded(1)).distances
    assert float(bent) == pytest.approx(256 * 1024**2 * 6**0.5, rel=1e-9)


def test_two_products_are_never_at_an_obtuse_angle():
    generator = np.random.default_rng(2)  # noqa: TID251
    upper = np.triu_indices(4)
    for _ in range(200):
        one, other = generator.normal(size=(2, 4))
        assert np.outer(one, one)[upper] @ np.outer(other, other)[upper] >= 0


@pytest.mark.parametrize("link", Link)
def test_tables_stay_inside_what_is_paid_for(link):
    most = Fraction(HIGHEST[link])
    tables = make_tables(link, Fraction(1, 3) if not link.labels else Fraction(1), most, 1024)
    scores = np.arange(-REACH, REACH + 1)
    for target in (0, PARTS) if link.labels else (-PARTS, 0, PARTS, int(most) * PARTS):
        targets = np.full(len(scores), target)
        pulls, bends = tables.pulls(scores, targets), tables.curves(scores, targets)
        assert np.abs(pulls).max() <= tables.pull
        assert (bends >= 0).all()
        assert (bends <= tables.bend).all()
        assert (np.diff(pulls) <= 0).all()  # the loss is convex
        judged = tables.judge(scores, targets)
        assert (judged >= 0).all()
        assert (judged <= tables.worst).all()


@pytest.mark.parametrize("link", Link)
def test_nobody_writes_into_tables(link):
    """All learners of a kind share them, and what a row adds is looked up there."""
    tables = newton(link).tables
    for table in (tables.means, tables.bends):
        with pytest.raises(ValueError, match="read-only"):
            table[:] = 10**9
        with pytest.raises(ValueError, match="WRITEABLE"):
            table.flags.writeable = True


def test_scores_do_not_depend_on_the_order_of_rows():
    rows, targets = people(Link.LOGISTIC, 40_000)
    mechanism = newton()
    there = mechanism.release((rows, targets), rng=unsafe_seeded(1)).value
    back = mechanism.release((rows[::-1].copy(), targets[::-1].copy()), rng=unsafe_seeded(1)).value
    assert there == back


def test_rows_that_do_not_count_change_nothing():
    rows, targets = people(Link.LOGISTIC)
    odd = (
        np.array([[1024, 5000, 0], [1024, 0, 0], [1024, 0, 0], [1024, 0, 0]]),
        np.array([0, 1, -PARTS, 2 * PARTS]),
    )
    both = np.vstack([rows, odd[0]]), np.append(targets, odd[1])
    one, other = (newton().release(each, rng=unsafe_seeded(1)).value for each in ((rows, targets), both))
    assert one == other
    short = newton(length=1, size=3)
    assert (
        short.release((rows, targets), rng=unsafe_seeded(1)).value
        == short.release((rows[:0], targets[:0]), rng=unsafe_seeded(1)).value
    )


def test_standard_errors_cover_sampling_and_noise():
    generator = np.random.default_rng(4)  # noqa: TID251
    truth = np.array([0.5, 1.0, -1.5])
    shares = {}
    for epsilon, count in ((0.5, 20_000), (50, 4000)):
        mechanism, scores = newton(epsilon=epsilon, delta=1e-6), []
        for seed in range(60):
            rows = generator.integers(-1024, 1025, (count, 3))
            rows[:, 0] = 1024
            likely = 1 / (1 + np.exp(-(rows / 1024 @ truth)))
            targets = (generator.random(count) < likely) * PARTS
            model = mechanism.release((rows, targets), rng=unsafe_seeded(seed)).value
            scores.append((np.array(model.weights) - truth) / model.standard_errors())
        shares[epsilon] = np.mean(np.abs(scores) < 2)
    assert all(0.9 <= share <= 0.99 for share in shares.values()), shares


def test_the_covariance_adds_noise_to_sampling():
    gradient, curvature = np.zeros(2), np.diag([100.0, 400.0])
    slope = Slope(gradient, curvature, pull_noise=10.0, bend_noise=1e-3)
    made, leaks = slope.covariance(np.zeros(2), ridge=0.0, spread=1.0)
    assert np.allclose(np.diag(made), [(100 + 10**2) / 100**2, (400 + 10**2) / 400**2])
    assert np.allclose(leaks, 0)
    moved, _ = Slope(gradient, curvature, 0.0, 2.0).covariance(np.array([0.5, 0.0]), ridge=0.0, spread=0.0)
    assert np.allclose(np.diag(moved), [(2 * 0.5) ** 2 / 100**2, (2 * 0.5) ** 2 / 400**2])


def test_weights_that_noise_hides_may_wander():
    """Nobody is in the third column: however far its weight moves, the errors of the others are told."""
    curvature = np.diag([1000.0, 400.0, 3.0])
    slope = Slope(np.zeros(3), curvature, pull_noise=1.0, bend_noise=5.0)  # 17 would show by noise alone
    hidden, told = np.array([0.01, 0.01, 2.0]), np.array([0.01, 0.5, 0.0])
    assert slope.settles(hidden, ridge=0.0, length=3)
    assert not slope.settles(told, ridge=0.0, length=3)
    _, leaks = slope.covariance(hidden, ridge=0.0, spread=1.0)
    assert leaks[2, 2] > 0.05 > np.abs(leaks[:2]).max()


def test_no_errors_are_told_of_a_step_that_was_shortened():
    """A hidden weight that wanders far shortens the step for all: the others are not where it leads."""
    for pull, is_told in ((17.0, True), (600.0, False)):
        slope = Slope(np.array([0.0, 50.0, pull]), np.diag([1000.0, 400.0, 3.0]), 1.0, 5.0)
        move = slope.step(np.zeros(3), ridge=0.0, length=3)
        assert bool(np.isclose(move[1], 50 / 400)) is is_told
        assert slope.settles(move, ridge=0.0, length=3) is is_told


@pytest.mark.parametrize("epsilon", [1, 10])
def test_the_plainest_regression_has_standard_errors(epsilon):
    """Ages and sexes of 20,000 people, none of them missing: both weights have errors at such budgets."""
    generator = np.random.default_rng(2)  # noqa: TID251
    finite = []
    for seed in range(8):
        age, sex = generator.integers(18, 90, 20_000), generator.choice(["f", "m"], 20_000)
        ill = (age - 54) / 36 + (sex == "m") + generator.logistic(size=20_000) > 0
        columns = [Range(18, 90), Choices(("f", "m"))]
        model = LogisticClassifier(epsilon=epsilon, delta=1e-9, columns=columns, classes=(False, True))
        model.fit(np.array([age, sex], dtype=object).T, ill, rng=unsafe_seeded(seed))
        finite.append(np.isfinite(model.standard_errors_[:2]).all())
        assert np.isinf(model.standard_errors_[2])  # of those whose sex is missing
    assert all(finite)


def test_what_noise_hides_has_no_standard_error():
    rows, targets = people(Link.LOGISTIC, 50)
    model = newton(epsilon=0.1).release((rows, targets), rng=unsafe_seeded(1)).value
    assert np.isinf(model.standard_errors()).all()
    margin = newton(Link.MARGIN).release(people(Link.MARGIN), rng=unsafe_seeded(1)).value
    assert np.isnan(margin.standard_errors()).all()


def test_without_noise_it_is_the_fit_that_is_not_private():
    generator = np.random.default_rng(5)  # noqa: TID251
    rows = generator.integers(-1024, 1025, (3000, 3))
    rows[:, 0] = 1024
    means = np.exp(rows / 1024 @ [0.5, 0.4, -0.3])
    targets = np.minimum(generator.poisson(means), 12) * PARTS
    loud = newton(Link.POISSON, epsilon=10_000, delta=0.1, most=12, cut=12, steps=5)
    model = loud.release((rows, targets), rng=unsafe_seeded(1)).value
    table, weights = rows / 1024, np.zeros(3)
    for _ in range(30):
        mean = np.exp(table @ weights)
        weights += np.linalg.solve((table.T * mean) @ table, table.T @ (targets / PARTS - mean))
    assert np.allclose(model.weights, weights, atol=2e-3)


def test_it_charges_what_it_was_told_and_refuses_the_rest():
    assert newton().guarantee.implies(epsilon=1, delta=1e-9)
    assert not newton().guarantee.implies(epsilon=0.99, delta=1e-9)
    with pytest.raises(NoBound):
        newton().error(0.05)
    for changed in (
        {"size": 0},
        {"length": 4},
        {"delta": 0},
        {"cut": 1},
        {"most": 3},
        {"steps": 0},
        {"ridge": -1},
    ):
        with pytest.raises(InvalidParameter):
            newton(**changed)
    for most in (1 << 30, Fraction(1, 1 << 11), Fraction(1, 10**310)):  # floats take the last one for 0
        with pytest.raises(InvalidParameter):
            newton(Link.POISSON, most=most, cut=1)
    with pytest.raises(InvalidParameter):
        newton().release((np.zeros((3, 3)), np.zeros(3)))
