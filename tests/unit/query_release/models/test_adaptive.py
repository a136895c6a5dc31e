"""Adaptive release: what it costs, what it measures, and that it learns dependences."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.fitting.junction import closure
from discreet.query_release.models.adaptive import Adaptive
from discreet.query_release.models.adaptive_plan import candidates, penalty, share_of, shares, weights
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(6)), ("b", range(4)), ("c", range(5)), ("d", range(30)), ("e", range(3))])
TRIPLES = Marginals.of_order(UNIVERSE, 3)
ROWS = AddRemove("row")


def chain(rows=20_000, seed=0):
    """Make rows in which every attribute leans on the one before."""
    rng = np.random.default_rng(seed)  # noqa: TID251
    codes = np.zeros((rows, 5), dtype=np.int64)
    for axis, size in enumerate(UNIVERSE.shape):
        fresh = rng.integers(size, size=rows)
        leaning = codes[:, axis - 1] * size // UNIVERSE.shape[axis - 1] if axis else fresh
        codes[:, axis] = np.where(rng.random(rows) < 0.7, leaning, fresh)
    return Histogram.from_records(UNIVERSE, codes)


DATA = chain()


def make(**changed):
    given = {"workload": TRIPLES, "epsilon": 2, "delta": 1e-6, "neighbours": ROWS, "rounds": 4}
    given |= {"choices": 3, "cells": 5000}
    return Adaptive(**(given | changed))


@pytest.mark.parametrize("epsilon", [0.1, 2, 20])
@pytest.mark.parametrize("neighbours", [AddRemove("row"), Replace("row")], ids=["add-remove", "replace"])
def test_the_steps_cost_what_was_bought(epsilon, neighbours):
    mechanism = make(epsilon=epsilon, neighbours=neighbours)
    assert mechanism.guarantee.implies(epsilon=epsilon, delta=1e-6)
    assert not mechanism.guarantee.implies(epsilon=0.97 * epsilon, delta=1e-6)


def test_every_round_spends_its_precision_and_no_more():
    for epsilon in (0.1, 2, 50):
        mechanism = make(epsilon=epsilon)
        done = mechanism.release(DATA, rng=unsafe_seeded(1)).value.measurements
        singles, rest = done[:5], done[5:]
        spent = sum(1 / one.variance for one in singles) * float(mechanism.plan.singles)
        assert 1 - 1e-6 < spent <= 1 + 1e-9
        spent = sum(1 / one.variance for one in rest) * float(mechanism.plan.rounds)
        assert 4 * (1 - 1e-6) < spent <= 4 * (1 + 1e-9)


def test_shares_never_add_up_to_more_than_all():
    for sizes in ([1], [3, 7, 11], [9600] * 64, list(range(1, 200))):
        split = shares(sizes, 2 / 3)
        assert 1 - Fraction(1, 10**9) < sum(split) <= 1
        assert sum(1 / share_of(Fraction(7), share) for share in split) <= Fraction(1, 7)


def off(synopsis):
    found = np.abs(synopsis.answers(TRIPLES) - TRIPLES.answers(DATA))
    return found.sum() / len(TRIPLES.sets) / DATA.total


def test_it_learns_dependences_and_more_budget_learns_more():
    errors = [off(make(epsilon=e).release(DATA, rng=unsafe_seeded(2)).value) for e in (0.05, 0.5, 10)]
    assert errors[0] > errors[1] > errors[2]
    # A model of independent attributes misses more than half of all rows.
    assert errors[1] < 0.3
    assert errors[2] < 0.06


def test_with_a_large_budget_every_wanted_table_is_measured_in_the_end():
    done = make(epsilon=50).release(DATA, rng=unsafe_seeded(3)).value.measurements
    assert len(done) == 5 + 2 * 3 + 2 * 10
    assert {len(one.axes) for one in done[-20:]} == {3}
    few = make(epsilon=0.05).release(DATA, rng=unsafe_seeded(3)).value.measurements
    assert len(few) == 5 + 4 * 3


def test_where_there_is_nothing_to_choose_nothing_is_spent_on_choices():
    workload = Marginals(UNIVERSE, [["a", "b"]])
    mechanism = make(workload=workload, choices=3)
    assert mechanism.plan.range_ is None
    synopsis = mechanism.release(DATA, rng=unsafe_seeded(4)).value
    assert [one.axes for one in synopsis.measurements] == [(0,), (1,), *[(0,), (1,), (1, 0)] * 4]
    assert np.abs(synopsis.answers(workload) - workload.answers(DATA)).max() < 200


def test_a_workload_of_the_total_alone():
    workload = Marginals(UNIVERSE, [[]])
    synopsis = make(workload=workload).release(DATA, rng=unsafe_seeded(5)).value
    assert synopsis.answers(workload)[0] == pytest.approx(20_000, abs=200)


def test_single_queries_are_a_workload_too():
    workload = Queries(UNIVERSE, [TRIPLES.query(0), TRIPLES.query(900)])
    synopsis = make(workload=workload, choices=2).release(DATA, rng=unsafe_seeded(6)).value
    assert np.abs(synopsis.answers(workload) - workload.answers(DATA)).max() < 500


def test_sparse_histograms_over_huge_universes():
    universe = Universe([(f"x{k}", range(50)) for k in range(12)])
    codes = np.random.default_rng(8).integers(50, size=(2000, 12))  # noqa: TID251
    codes[:, 1] = codes[:, 0]
    workload = Marginals(universe, [["x0", "x1"], ["x2", "x3"], ["x4", "x5", "x6"]])
    mechanism = make(workload=workload, epsilon=20, rounds=2, choices=2, cells=20_000)
    synopsis = mechanism.release(Histogram.from_records(universe, codes), rng=unsafe_seeded(7)).value
    table = synopsis.marginal(["x0", "x1"])
    assert np.trace(table) > 0.8 * table.sum()


def test_the_first_tables_are_within_the_stated_error():
    # With nothing to choose no model is fitted on the way.
    mechanism = make(epsilon=1, workload=Marginals.of_order(UNIVERSE, 1), choices=5)
    alpha = mechanism.measured_error(0.1)
    missed = 0
    for seed in range(60):
        done = mechanism.release(DATA, rng=unsafe_seeded(seed)).value.measurements[:5]
        worst = max(
            np.abs(one.counts - DATA.marginal([UNIVERSE.names[one.axes[0]]]).counts()).max() for one in done
        )
        missed += worst > alpha
    # At most 0.1 of 60 on average; 18 or more have probability below 1e-4, and the seeds are fixed.
    assert missed < 18


def test_a_model_has_no_bound_and_its_measurements_have():
    assert make(epsilon=1).measured_error(0.05) > make(epsilon=4).measured_error(0.05)
    public = {"workload": TRIPLES, "delta": 1e-6, "neighbours": ROWS}
    with pytest.raises(NoBound, match="standard_errors"):
        make().error(0.05)
    with pytest.raises(NoBound, match="measured_error"):
        Adaptive.for_error(alpha=40, beta=0.05, **public)
    assert Adaptive(epsilon=2, **public) == Adaptive(epsilon=2, **public)


def test_the_same_transcript_is_the_same_synopsis():
    one, other = (make().release(DATA, rng=unsafe_seeded(9)).value for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != make().release(DATA, rng=unsafe_seeded(10)).value
    assert (one.answers(TRIPLES) == other.answers(TRIPLES)).all()


@pytest.mark.parametrize("bad", [{"delta": 0}, {"rounds": 0}, {"choices": 0}, {"cells": 0}, {"workload": 1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(InvalidParameter):
        make(**bad)


def test_candidates_are_the_parts_of_the_wanted_sets_and_coarser_ones():
    sets = ((0, 1, 2), (2, 3))
    parts = closure(sets)
    assert parts == ((0,), (1,), (2,), (3,), (0, 1), (0, 2), (1, 2), (2, 3), (0, 1, 2))
    assert weights(parts, sets)[2, 3] == 1 + 2
    sizes = (3, 4, 5, 100)
    tables = {part: np.ones([sizes[axis] for axis in part]) for part in parts}
    offered = candidates(parts, tables)
    grains = {axes: grain for axes, grain in offered if grain}
    assert set(grains) == {(3,), (2, 3)}
    assert grains[2, 3][0] is None
    assert len(grains[2, 3][1]) == 13


def test_the_penalty_is_at_most_the_noise_and_small_where_little_is_expected():
    guess = np.array([0.0, 1.0, 1e9])
    for variance in (1.0, 1e4):
        noise = np.sqrt(2 / np.pi * variance)
        assert penalty(guess, variance) <= 3 * noise + 1
        assert penalty(guess[:1], variance) == 0
        assert penalty(guess[2:], variance) == pytest.approx(noise, abs=1)
    assert all(penalty(guess, a) <= penalty(guess, b) for a, b in itertools.pairwise((1.0, 9.0, 100.0)))
