"""Learners that see means alone: on exact answers, on others within their tolerance, on private ones."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.learning import (
    SharedStatistics,
    count_people,
    find_centres,
    find_components,
    learn_conjunction,
    learn_decision_list,
    learn_halfspace,
    learn_naive_bayes,
)
from discreet.learning.statistical_query.means import Means
from discreet.local import CentralStatistics, LocalStatistics
from discreet.queries import Histogram, Universe
from discreet.query_release import MultiplicativeWeights
from discreet.testing import unsafe_seeded

PEOPLE = Universe([("age", range(5)), ("ill", (0, 1)), ("weight", range(4))])


class Exact:
    """Answers exactly, or as wrongly as the tolerance allows, and keeps what it was asked."""

    def __init__(self, codes, universe=PEOPLE, lean=0.0):
        self.universe, self._codes, self._lean, self.asked = universe, codes, lean, []

    def answer(self, query, tolerance):
        self.asked.append(query)
        sign = -1 if len(self.asked) % 2 else 1
        return float(query.at(self._codes).mean()) + sign * self._lean * float(tolerance)


def draw(label, count=20_000, seed=1):
    generator = np.random.default_rng(seed)  # noqa: TID251
    age, weight = generator.integers(0, 5, count), generator.integers(0, 4, count)
    return np.column_stack([age, label(age, weight), weight])


def wrong(model, codes):
    return float((model.predict(codes) != codes[:, 1]).mean())


BOTH = draw(lambda age, weight: ((age >= 2) & (weight >= 1)).astype(int))
SUM = draw(lambda age, weight: (age + weight >= 4).astype(int))
LIST = draw(lambda age, weight: np.where(weight == 3, 1, np.where(age == 0, 1, np.where(weight == 2, 0, 0))))


@pytest.mark.parametrize("lean", [0, 0.9, -0.9])
def test_each_learner_learns_within_its_tolerance(lean):
    bayes = learn_naive_bayes(Exact(SUM, lean=lean), "ill", tolerance=0.005)
    both = learn_conjunction(Exact(BOTH, lean=lean), "ill", tolerance=0.01)
    listed = learn_decision_list(Exact(LIST, lean=lean), "ill", length=7, tolerance=0.005)
    half = learn_halfspace(Exact(SUM, lean=lean), "ill", steps=30, tolerance=0.01)
    assert wrong(both, BOTH) == 0 and both.allowed == ((0, (2, 3, 4)), (2, (1, 2, 3)))
    assert wrong(bayes, SUM) < 0.08
    assert wrong(listed, LIST) == 0
    assert wrong(half, SUM) < 0.08


def test_they_count_what_they_ask():
    oracle = Exact(SUM)
    assert learn_naive_bayes(oracle, "ill", tolerance=0.01).asked == len(oracle.asked) == 1 + 2 * (5 + 4)
    assert learn_conjunction(Exact(SUM), "ill", tolerance=0.01).asked == 9
    assert learn_halfspace(Exact(SUM), "ill", steps=7, tolerance=0.01).asked == 7 * 3


def test_centres_and_components():
    universe = Universe([("x", range(21)), ("y", range(21))])
    generator = np.random.default_rng(2)  # noqa: TID251
    middles = np.array([[4, 4], [16, 12]])[generator.integers(0, 2, 20_000)]
    codes = np.clip(middles + generator.integers(-2, 3, (20_000, 2)), 0, 20)
    found = find_centres(Exact(codes, universe), start=[[-1, -1], [1, 1]], steps=4, tolerance=0.01)
    assert found.points * 10 + 10 == pytest.approx(np.array([[4, 4], [16, 12]]), abs=0.2)
    assert found.shares == pytest.approx([0.5, 0.5], abs=0.02)
    assert set(found.assign([[3, 5], [17, 11]])) == {0, 1}
    parts = find_components(Exact(codes, universe), tolerance=0.01)
    scaled = codes / 10 - 1
    assert parts.centre == pytest.approx(scaled.mean(axis=0), abs=1e-3)
    assert parts.variances == pytest.approx(np.linalg.eigvalsh(np.cov(scaled.T))[::-1], abs=1e-3)
    assert abs(parts.directions[0] @ np.array([12, 8]) / np.hypot(12, 8)) > 0.99
    with pytest.raises(InvalidParameter, match="start"):
        find_centres(Exact(codes, universe), start=[[0, 2]], steps=1, tolerance=0.01)


def test_one_learner_runs_on_a_curator_on_local_reports_and_on_a_hypothesis():
    records = [(int(age), int(ill), int(weight)) for age, ill, weight in BOTH]
    central = CentralStatistics(epsilon=2, universe=PEOPLE, people=20_000, queries=9, risk=0.05)
    local = LocalStatistics(epsilon=2, universe=PEOPLE, people=20_000, queries=9, risk=0.05)
    shared = MultiplicativeWeights(
        universe=PEOPLE, epsilon=1, delta=1e-6, updates=30, neighbours=Replace("person"), rows=20_000
    )
    counted = Histogram.from_records(PEOPLE, records)
    oracles = [
        (central.open(records, rng=unsafe_seeded(1)), 0.01),
        (local.open(records, rng=unsafe_seeded(1)), 0.09),
        (
            SharedStatistics(
                shared, Histogram.from_records(PEOPLE, records), risk=0.05, rng=unsafe_seeded(1)
            ),
            0.04,
        ),
    ]
    for oracle, tolerance in oracles:
        assert wrong(learn_conjunction(oracle, "ill", tolerance=tolerance), BOTH) < 0.25
    with pytest.raises(InvalidParameter, match="answers may be off by"):
        oracles[2][0].answer(None, 1e-4)
    grown = MultiplicativeWeights(
        universe=PEOPLE, epsilon=1, delta=1e-6, updates=6, neighbours=AddRemove("person")
    )
    with pytest.raises(InvalidParameter, match="Replace"):
        SharedStatistics(grown, counted, risk=0.05)


def test_the_sample_size_has_both_terms():
    """m log m / (epsilon alpha) where the noise counts, log m / alpha^2 where the sample does."""
    noisy = count_people(10_000, 0.1, epsilon=0.1, risk=0.05)
    assert 1 < noisy / (10_000 * np.log(10_000) / (0.1 * 0.1)) < 3
    assert noisy / count_people(10_000, 0.1, epsilon=0.2, risk=0.05) == pytest.approx(2, rel=0.01)
    sampled = count_people(100, 0.001, epsilon=100, risk=0.05)
    assert sampled / count_people(100, 0.002, epsilon=100, risk=0.05) == pytest.approx(4, rel=0.05)
    assert sampled == pytest.approx(count_people(100, 0.001, epsilon=1000, risk=0.05), rel=0.05)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(InvalidParameter, match="two values"):
        Means(Exact(SUM), 0.1).find_label("age")
    with pytest.raises(InvalidParameter, match="tolerance"):
        learn_naive_bayes(Exact(SUM), "ill", tolerance=0)
    with pytest.raises(InvalidParameter, match="length"):
        learn_decision_list(Exact(SUM), "ill", length=0, tolerance=0.1)
