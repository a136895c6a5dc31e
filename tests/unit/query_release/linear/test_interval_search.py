"""The capped interval search: its cuts, its cap, its error bound."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.linear.interval_search import IntervalSearch
from discreet.testing import unsafe_seeded

LINE = Universe([("x", range(32))])
WORKLOAD = Prefixes(LINE, ["x"])
SWAP = Replace("row")


def make(epsilon=50, rows=3200, accuracy=0.5, neighbours=SWAP, **more):
    public = {"workload": WORKLOAD, "neighbours": neighbours, **more}
    return IntervalSearch(epsilon=epsilon, rows=rows, accuracy=accuracy, **public)


def largest_error(mechanism, counts, rng):
    weights = mechanism.release(Histogram.dense(LINE, counts), rng=rng).value
    off = np.concatenate([[0.0], weights.answers(WORKLOAD) - np.cumsum(counts)])
    return off.max() - off.min(), weights


def test_the_budget_is_shared_by_all_questions_and_the_counts():
    mechanism = make(epsilon=1)
    assert mechanism.bits == 5
    assert mechanism.cap == 5 * 11  # 1 / (1/8 - 1/32) = 10.7
    assert mechanism.scale == 57
    assert mechanism.loss.epsilon(0) == 1


@pytest.mark.parametrize(
    "counts", [np.full(32, 100), np.eye(32, dtype=np.int64)[9] * 3200], ids=["flat", "atom"]
)
def test_errors_stay_within_the_bound(counts):
    mechanism, rng = make(), unsafe_seeded(1)
    bound = mechanism.error(0.1)
    assert bound < 3200
    errors = [largest_error(mechanism, counts, rng)[0] for _ in range(100)]
    assert np.mean(np.array(errors) > bound) <= 0.1


def test_an_atom_gets_an_interval_of_its_own():
    counts = np.eye(32, dtype=np.int64)[9] * 3200
    error, weights = largest_error(make(), counts, unsafe_seeded(2))
    assert error < 200
    assert weights.weights[9] > 3000


def test_when_the_cap_is_reached_the_rest_is_one_interval():
    mechanism = make(cap=6)
    weights = mechanism.release(Histogram.dense(LINE, np.full(32, 100)), rng=unsafe_seeded(3)).value
    said, masses = weights.transcript
    assert len(said) == 6
    assert len(masses) == 3  # up to the first cut, the cut itself, the rest
    assert np.ptp(weights.weights[-20:]) == 0
    with pytest.raises(NoBound, match="no error is above 3200"):
        mechanism.error(0.05)  # nothing is promised about the inside of the rest


def test_the_bound_is_about_ranges_of_any_weight_and_nothing_else():
    weighed = Weighted(LINE, [(["x"], np.where(np.arange(32) < 9, 3, 0))])
    sure = {"epsilon": 400}
    assert make(workload=weighed, **sure).error(0.05) == pytest.approx(3 * make(**sure).error(0.05))
    even = Weighted(LINE, [(["x"], np.arange(32) % 2)])
    with pytest.raises(NoBound, match="RangeTree"):
        make(workload=even, **sure).error(0.05)


def test_data_must_have_the_public_number_of_rows():
    with pytest.raises(InvalidParameter, match="rows"):
        make().release(Histogram.dense(LINE, np.ones(32, dtype=np.int64)))


def test_odd_parameters_are_refused():
    with pytest.raises(NeighboursMismatch):
        make(neighbours=AddRemove("row"))
    plane = Prefixes(Universe([("x", range(4)), ("y", range(4))]), ["x"])
    with pytest.raises(InvalidParameter, match="one ordered attribute"):
        IntervalSearch(workload=plane, epsilon=1, rows=1, accuracy=0.1, neighbours=SWAP)


def test_the_budget_for_a_wanted_error():
    planned = IntervalSearch.for_error(
        alpha=1500, beta=0.05, workload=WORKLOAD, rows=3200, accuracy=0.5, neighbours=SWAP
    )
    assert planned.error(0.05) <= 1500
