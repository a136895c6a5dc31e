"""Errors estimated by running a mechanism again."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.union import Union
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.linear.independent import Independent
from discreet.query_release.models.max_entropy import MaxEntropy
from discreet.query_release.planning import bootstrap
from discreet.query_release.planning.bootstrap import simulate, standard_errors
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(5)), ("b", range(4))])
TABLES = Marginals.of_order(UNIVERSE, 1)
DATA = Histogram.dense(UNIVERSE, (np.arange(20) + 3) ** 3)


def make(epsilon):
    return MaxEntropy(workload=TABLES, epsilon=epsilon, delta=1e-6, neighbours=AddRemove("row"))


def test_one_row_a_run_and_one_column_a_query():
    synopsis = make(1).release(DATA, rng=unsafe_seeded(1)).value
    errors = simulate(make(1), synopsis, TABLES, runs=3, rng=unsafe_seeded(2))
    assert errors.shape == (3, len(TABLES)) and len(np.unique(errors)) > 3


def test_estimates_follow_the_true_errors():
    """Means over 9 queries of the errors of 6 runs and of 6 guesses: within a factor of two; fixed seeds."""
    mechanism = make(0.5)
    runs = [mechanism.release(DATA, rng=unsafe_seeded(seed)).value for seed in range(6)]
    true = np.sqrt(np.mean([(run.answers(TABLES) - TABLES.answers(DATA)) ** 2 for run in runs], axis=0))
    guessed = standard_errors(mechanism, runs[0], TABLES, runs=6, rng=unsafe_seeded(11))
    assert 0.5 < guessed.mean() / true.mean() < 2
    finer = standard_errors(make(5), runs[0], TABLES, runs=6, rng=unsafe_seeded(11))
    assert finer.mean() < guessed.mean() / 3


def test_noise_alone_is_simulated_on_nobody():
    """Its bars are those of the noise, whatever the synopsis looks like: within a fifth for 30 runs."""
    mechanism = Independent(workload=TABLES, epsilon=1, delta=0, neighbours=AddRemove("row"))
    synopsis = mechanism.release(DATA, rng=unsafe_seeded(1)).value
    bars = standard_errors(mechanism, synopsis, TABLES, runs=2, rng=unsafe_seeded(2))
    assert bars.mean() == pytest.approx(synopsis.standard_errors()[0], rel=0.2)
    rough = Weighted(UNIVERSE, [(["a"], [0.14, 0.2, 0.3, 0.4, 0.5])])
    public = {"workload": rough, "epsilon": 1, "delta": 0, "neighbours": AddRemove("row")}
    assert not Independent(grid=0.1, **public).is_noise_alone
    assert Independent(grid=0.01, **public).is_noise_alone


def test_rows_are_drawn_anew_for_every_run():
    table = SyntheticTable(UNIVERSE, np.repeat(UNIVERSE.unravel(np.arange(20)), 50, axis=0))
    one, other = (bootstrap._drawn(table, unsafe_seeded(seed)).counts() for seed in (1, 2))
    assert one.sum() == other.sum() == 1000
    assert 3 < one.std() < 12 and np.abs(one - other).max() > 3
    assert (
        bootstrap._drawn(SyntheticTable(UNIVERSE, np.zeros((0, 2), dtype=np.int64)), unsafe_seeded(1)).total
        == 0
    )


def test_bars_follow_simulated_answers_of_the_same_size():
    answers = np.concatenate([np.full(100, 1.0), np.full(100, 50.0)])
    errors = np.concatenate([np.full(100, 2.0), np.full(100, -9.0)])
    near = bootstrap._near_by(np.array([0.0, 60.0]), answers, errors)
    assert near.tolist() == [4.0, 81.0]


def test_queries_over_the_same_attributes_are_pooled():
    assert [places.tolist() for places in bootstrap._groups(TABLES)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
    assert len(bootstrap._groups(Union([TABLES, TABLES]))) == 1


@pytest.mark.parametrize("runs", [0, 1.5])
def test_runs_are_counted(runs):
    synopsis = make(1).release(DATA, rng=unsafe_seeded(1)).value
    with pytest.raises(InvalidParameter, match="runs"):
        simulate(make(1), synopsis, TABLES, runs=runs)
