"""Independent noise: joint calibration, the choice between two noises, and what its answers know."""

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound, Refused
from discreet.core.neighbours import AddRemove, Edge, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.linear.independent import Independent
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", (0, 1)), ("b", range(5)), ("c", range(3))])
PAIRS = Marginals.of_order(UNIVERSE, 2)
DATA = Histogram.dense(UNIVERSE, np.arange(30))
ROWS = AddRemove("row")


def make(workload=PAIRS, epsilon=1, delta=0, neighbours=ROWS, **more):
    return Independent(workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, **more)


def test_the_noise_is_calibrated_to_the_joint_sensitivity():
    assert make().noise.scale == 3
    assert make(neighbours=Replace("row")).noise.scale == 6
    assert make(workload=Prefixes(UNIVERSE, ["b"])).noise.scale == 5
    gaussian = make(delta=1e-3, epsilon=1, workload=Marginals(UNIVERSE, [["a"]]))
    assert isinstance(gaussian.noise, Laplace)  # one table: Laplace noise is the smaller


def test_gaussian_noise_is_chosen_where_it_is_smaller():
    many = Marginals(Universe([(str(i), (0, 1)) for i in range(12)]), [[str(i)] for i in range(12)])
    chosen = make(workload=many, delta=1e-6)
    assert isinstance(chosen.noise, Gaussian)
    assert chosen.error(0.05) < make(workload=many).error(0.05)
    assert chosen.noise.square_shift == 12
    assert chosen.guarantee.implies(epsilon=1, delta=1e-6)
    assert not chosen.guarantee.implies(epsilon=0.98, delta=1e-6)


def test_counts_that_each_move_by_one_compose():
    assert make().loss.epsilon(0) == 1
    assert make().loss.zcdp() < 1 / 6 + 1e-9  # three times (1/3)^2 / 2
    assert make(workload=Weighted(UNIVERSE, [(["b"], [0, 1, 2, 3, 4])])).loss.zcdp() > 0.4


def test_the_answers_are_off_by_the_noise_alone():
    mechanism = make(epsilon=2)
    rng, truth = unsafe_seeded(1), PAIRS.answers(DATA)
    errors = np.array([mechanism.release(DATA, rng=rng).value.answers(PAIRS) - truth for _ in range(400)])
    deviation = mechanism.release(DATA, rng=rng).value.standard_errors()
    assert deviation.shape == truth.shape
    # 12,400 draws: the mean square of Laplace noise has a relative deviation of 2 %.
    ratio = (errors**2).mean() / deviation[0] ** 2
    assert 0.9 < ratio < 1.1
    assert abs(errors.mean()) < 5 * deviation[0] / math.sqrt(errors.size)
    exceeded = (np.abs(errors).max(axis=1) > mechanism.error(0.1)).mean()
    assert exceeded < 0.17  # 0.1 at most; 4.5 standard deviations above it


def test_whole_counts_stay_whole():
    values = make().release(DATA).value.answers(PAIRS)
    assert values.dtype == np.int64


def test_subsets_of_the_queries_are_answered():
    synopsis = make().release(DATA).value
    some = PAIRS.subset([3, 0, 20])
    assert synopsis.answers(some).tolist() == synopsis.values[[3, 0, 20]].tolist()
    assert synopsis.marginal(["a", "c"]).shape == (2, 3)
    assert synopsis.total == synopsis.marginal(["a", "c"]).sum()
    with pytest.raises(Refused, match="not one of those"):
        synopsis.marginal(["b"])


def test_tables_become_rows_and_single_numbers_do_not():
    # Cells of hundreds to thousands of rows, noise below one row: what is off comes from drawing rows.
    data = Histogram.dense(UNIVERSE, np.arange(30) * 100)
    rows = make(epsilon=8).release(data, rng=unsafe_seeded(3)).value.synthetic(rng=unsafe_seeded(4))
    found = PAIRS.answers(Histogram.from_records(UNIVERSE, rows.codes))
    assert np.abs(found - PAIRS.answers(data)).max() < 5
    part = Predicates(UNIVERSE, [(["a"], lambda a: a == 0)])
    with pytest.raises(Refused, match="synthetic"):
        make(workload=part).release(DATA).value.synthetic()


def test_the_number_of_rows_is_known_only_where_it_was_asked_for():
    counted = make(workload=Prefixes(UNIVERSE, ["b"])).release(DATA).value
    assert counted.total == counted.values[-1]
    part = Predicates(UNIVERSE, [(["a"], lambda a: a == 0)])
    with pytest.raises(Refused, match="number of rows"):
        make(workload=part).release(DATA).value.total  # noqa: B018


def test_real_weights_need_a_grid_and_are_rounded_to_it():
    real = Weighted(UNIVERSE, [(["b"], [0.1, 0.26, 0.5, 0.75, 1.0])])
    with pytest.raises(InvalidParameter, match="grid"):
        make(workload=real)
    mechanism = make(workload=real, grid=0.25)
    assert mechanism.noise.shift == 4
    rounded = np.array([0, 1, 2, 3, 4]) * 0.25 @ DATA.marginal(["b"]).counts()
    value = mechanism.release(DATA, rng=unsafe_seeded(2)).value.values[0]
    assert (value - rounded) % 0.25 == 0
    assert abs(value - rounded) <= 20
    assert mechanism.measured_error(0.05) == 0.25 * mechanism.noise.error(0.05)
    with pytest.raises(NoBound, match="measured_error"):
        mechanism.error(0.05)
    meant = Weighted(UNIVERSE, [(["b"], [0.1, 0.2, 0.3, 0.7, 1.0])])
    tenths = make(workload=meant, grid=0.1)
    assert tenths.error(0.05) == tenths.measured_error(0.05)
    with pytest.raises(InvalidParameter, match="coarse"):
        make(workload=real, grid=1e-18)


def test_the_budget_for_a_wanted_error():
    planned = Independent.for_error(alpha=20, beta=0.05, workload=PAIRS, delta=0, neighbours=ROWS)
    assert planned.error(0.05) <= 20
    assert make(epsilon=planned.epsilon * 99 / 100).error(0.05) >= 20


def test_odd_parameters_are_refused():
    with pytest.raises(NeighboursMismatch):
        make(neighbours=Edge())
    with pytest.raises(InvalidParameter, match="universe"):
        make().release(Histogram.dense(Universe([("z", (0, 1))]), [1, 2]))
    with pytest.raises(InvalidParameter, match="Histogram"):
        make().release([1, 2, 3])
