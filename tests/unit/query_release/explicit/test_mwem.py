"""Multiplicative weights with the exponential mechanism."""

from itertools import pairwise

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.union import Union
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.explicit.mwem import MWEM, Round, learn
from discreet.query_release.explicit.mwem_plan import SURE
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.front_door import release
from discreet.testing import unsafe_seeded

ROWS = AddRemove("row")
UNIVERSE = Universe([("a", range(4)), ("b", range(3)), ("c", range(2))])
PAIRS = Marginals.of_order(UNIVERSE, 2)
SINGLE = Conjunctions.of_width(UNIVERSE, 2)
COUNTS = (np.arange(24).reshape(4, 3, 2) % 7) ** 3 * 10
DATA = Histogram.dense(UNIVERSE, COUNTS)


def make(**changed):
    given = {"workload": PAIRS, "epsilon": 5, "delta": 1e-6, "neighbours": ROWS, "rounds": 6} | changed
    return MWEM(**given)


@pytest.mark.parametrize("workload", [PAIRS, SINGLE], ids=["tables", "queries"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbours", [ROWS, Replace("row")], ids=["add-remove", "replace"])
def test_the_rounds_cost_what_was_bought(workload, delta, neighbours):
    mechanism = make(workload=workload, delta=delta, neighbours=neighbours)
    assert 0.9 * 5 < mechanism.loss.epsilon(delta) <= 5
    assert (mechanism.plan.counting is None) == isinstance(neighbours, Replace)


def test_without_a_choice_nothing_is_paid_for_choosing():
    one = make(workload=Marginals(UNIVERSE, [["a", "b"]]))
    assert one.plan.choosing is None
    assert one.release(DATA, rng=unsafe_seeded(1)).value.rounds[0].choice == 0


def test_it_learns_the_tables():
    truth = PAIRS.answers(DATA)
    synopsis = make(epsilon=50).release(DATA, rng=unsafe_seeded(1)).value
    uniform = Hypothesis(UNIVERSE, DATA.total)
    before = np.abs(PAIRS.answers(uniform.array) - truth).max()
    assert np.abs(synopsis.answers(PAIRS) - truth).max() < before / 4
    assert synopsis.total == pytest.approx(DATA.total, rel=0.01)
    assert len(synopsis.rounds) == 6


def test_every_step_lowers_the_divergence_where_noise_is_within_its_bound():
    mechanism = make(workload=SINGLE, neighbours=Replace("row"), epsilon=20)
    truth, generator = SINGLE.answers(DATA), np.random.default_rng(0)  # noqa: TID251
    share = COUNTS / DATA.total
    hypothesis = Hypothesis(UNIVERSE, DATA.total)
    slack = mechanism.plan.slack(mechanism.asked)
    divergences = [_divergence(share, hypothesis)]
    for choice in generator.integers(0, len(SINGLE), 30):
        value = int(truth[choice] + generator.uniform(-slack, slack))
        learn(hypothesis, mechanism, (Round(int(choice), (value,)),))
        divergences.append(_divergence(share, hypothesis))
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(divergences))
    assert divergences[-1] < divergences[0] / 2


def _divergence(share, hypothesis):
    here = share > 0
    return float((share[here] * np.log(share[here] / (hypothesis.array[here] / hypothesis.total))).sum())


def test_the_drop_of_the_first_step_is_the_theorems():
    mechanism = make(workload=SINGLE, neighbours=Replace("row"), epsilon=50)
    share, truth = COUNTS / DATA.total, SINGLE.answers(DATA)
    slack = mechanism.plan.slack(mechanism.asked)
    for choice in range(len(SINGLE)):
        hypothesis = Hypothesis(UNIVERSE, DATA.total)
        before = _divergence(share, hypothesis)
        missed = mechanism.asked.residual(hypothesis, choice, np.array([truth[choice]]), slack)
        if missed.width > 0:
            hypothesis.update(
                missed.axes, missed.direction * (4 * missed.square / missed.width**2 / DATA.total)
            )
            assert before - _divergence(share, hypothesis) >= 2 * missed.square / DATA.total**2 - 1e-12


@pytest.mark.parametrize("neighbours", [ROWS, Replace("row")], ids=["add-remove", "replace"])
def test_the_error_bound_holds_for_the_averaged_hypothesis(neighbours):
    """The bound is loose, so three runs must all hold; a tenth of it must not."""
    mechanism = make(
        workload=SINGLE, neighbours=neighbours, epsilon=8, rounds=12, rows=DATA.total, delta=1e-6
    )
    bound, truth = mechanism.averaged_error(0.05), SINGLE.answers(DATA)
    assert bound < DATA.total
    worst = []
    for seed in range(3):
        averaged = mechanism.release(DATA, rng=unsafe_seeded(seed)).value.average()
        worst.append(np.abs(averaged.answers(SINGLE) - truth).max())
    assert max(worst) <= bound
    assert min(worst) > bound / 10


def test_the_last_hypothesis_has_no_bound():
    with pytest.raises(NoBound, match="averaged_error"):
        make(workload=SINGLE, rows=10**6, rounds=50).error(0.05)
    with pytest.raises(NoBound, match="standard_errors"):
        MWEM.for_error(alpha=3e5, beta=0.05, delta=1e-6, neighbours=ROWS, workload=SINGLE, rounds=1)


def test_the_bound_of_the_mean_needs_rows_and_single_queries_and_is_below_all_rows():
    for mechanism in (make(), make(rows=100), make(workload=SINGLE, rows=100, rounds=50)):
        with pytest.raises(NoBound):
            mechanism.averaged_error(0.05)
    single = make(workload=SINGLE, rows=10**6, rounds=50)
    assert single.averaged_error(0.05) < single.averaged_error(0.01) < 10**6
    with pytest.raises(NoBound):
        single.averaged_error(SURE)


def test_more_budget_and_more_rounds_help_the_bound():
    known = {"workload": SINGLE, "rows": 10**6, "rounds": 50}
    assert make(epsilon=10, **known).averaged_error(0.05) < make(epsilon=1, **known).averaged_error(0.05)
    longer = known | {"rounds": 100}
    assert make(epsilon=10, **longer).averaged_error(0.05) < make(epsilon=10, **known).averaged_error(0.05)


def test_weighted_queries_move_scores_by_their_weights():
    wide = Queries(UNIVERSE, [TableQuery(UNIVERSE, (2,), "w", table=[-1, 3])] * 2)
    assert make(workload=wide).asked.shift == 3
    assert make(workload=wide, neighbours=Replace("row")).asked.shift == 4
    assert (make(workload=wide).asked.reach, make(workload=wide).asked.width) == (3, 4)
    assert make(workload=wide).release(DATA, rng=unsafe_seeded(1)).value.total > 0


def test_predicates_and_other_whole_weights_go_together():
    counts = TableQuery(UNIVERSE, (2,), "count", table=[0, 1])
    others = [TableQuery(UNIVERSE, (2,), "sum", table=[-1, 3]), TableQuery(UNIVERSE, (), "all", table=1)]
    mixed = Queries(UNIVERSE, [counts, *others])
    whole = Union([mixed, Marginals(UNIVERSE, [["a"]])])
    for workload in (mixed, whole):
        mechanism = make(workload=workload, rounds=2)
        assert mechanism.asked.shift == 3 and mechanism.asked.width == 4
        assert mechanism.release(DATA).value.answers(workload).shape == (len(workload),)
        assert len(release((DATA, workload), epsilon=1, delta=1e-6).answers()) == len(workload)


def test_tables_move_by_one_row_or_two():
    assert make().asked.shift == 1 and make(neighbours=Replace("row")).asked.shift == 2


def test_real_weights_are_refused():
    real = Queries(UNIVERSE, [TableQuery(UNIVERSE, (2,), "w", table=[0.5, 1.0])])
    with pytest.raises(Refused, match="whole numbers"):
        make(workload=real)


@pytest.mark.parametrize("changed", [{"rounds": 0}, {"rounds": 1.5}, {"rows": 0}, {"epsilon": 0}])
def test_bad_parameters_are_refused(changed):
    with pytest.raises(InvalidParameter):
        make(**changed)


def test_equal_transcripts_are_equal():
    one, two, other = (make().release(DATA, rng=unsafe_seeded(s)).value for s in (1, 1, 2))
    assert one == two and one != other
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.weights, one.weights)


def test_an_empty_table_is_learned_too():
    nobody = Histogram.dense(UNIVERSE, np.zeros(UNIVERSE.shape, dtype=int))
    assert make().release(nobody, rng=unsafe_seeded(3)).value.total >= 1
