"""Errors estimated by running a mechanism again."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.release.bootstrap import simulate, standard_errors
from discreet.release.entropy import MaxEntropy
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


@pytest.mark.parametrize("runs", [0, 1.5])
def test_runs_are_counted(runs):
    synopsis = make(1).release(DATA, rng=unsafe_seeded(1)).value
    with pytest.raises(InvalidParameter, match="runs"):
        simulate(make(1), synopsis, TABLES, runs=runs)
