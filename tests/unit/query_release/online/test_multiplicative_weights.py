"""Private multiplicative weights: parameters, promises, plans."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.empirical import proportion_bounds
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import AddRemove, Edge, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(4)), ("b", range(4)), ("c", (0, 1))])
PAIRS = Marginals.of_order(UNIVERSE, 2)
PEOPLE = AddRemove("person")


def made(**changed):
    public = {"universe": UNIVERSE, "epsilon": 1, "delta": 1e-9, "updates": 10, "neighbours": PEOPLE}
    return MultiplicativeWeights(**{**public, **changed})


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("changed", [{}, {"neighbours": Replace("person"), "rows": 1000}, {"grid": 0.1}])
def test_the_loss_is_the_budget(delta, changed):
    mechanism = made(delta=delta, **changed)
    assert 0.99 < mechanism.loss.epsilon(delta) <= 1 + 1e-9
    assert mechanism.guarantee.implies(epsilon=1, delta=delta)
    assert mechanism.bought.epsilon(delta) == 1


def test_a_warm_start_is_part_of_the_budget():
    start = ResidualMarginals(workload=PAIRS, epsilon=Fraction(6, 10), delta=1e-9, neighbours=PEOPLE)
    mechanism = made(start=start)
    assert 0.99 < mechanism.loss.epsilon(1e-9) <= 1 + 1e-9
    assert mechanism.loss.mu**2 > start.loss.mu**2
    assert mechanism.error(0.05) > made().error(0.05)
    with pytest.raises(InvalidParameter, match="start"):
        made(epsilon=Fraction(1, 2), start=start)


def test_a_pure_start_is_paid_by_its_epsilon():
    start = Independent(workload=PAIRS, epsilon=Fraction(1, 2), delta=0, neighbours=PEOPLE)
    mechanism = made(delta=0, start=start)
    assert mechanism.loss.epsilon(0) == 1
    assert mechanism.plan.loss.epsilon(0) <= 0.5 + 1e-9


def test_the_planned_share_leaves_the_wanted_error():
    mechanism = MultiplicativeWeights.warm(
        universe=UNIVERSE, order=2, alpha=500, epsilon=1, delta=1e-9, updates=10, neighbours=PEOPLE
    )
    assert 450 < mechanism.error(0.05) <= 500
    assert mechanism.loss.epsilon(1e-9) <= 1 + 1e-9
    tighter = MultiplicativeWeights.warm(
        universe=UNIVERSE, order=2, alpha=300, epsilon=1, delta=1e-9, updates=10, neighbours=PEOPLE
    )
    assert tighter.start.epsilon < mechanism.start.epsilon
    with pytest.raises(InvalidParameter, match="alpha"):
        MultiplicativeWeights.warm(
            universe=UNIVERSE, order=2, alpha=20, epsilon=1, delta=1e-9, updates=10, neighbours=PEOPLE
        )


def test_for_error_finds_the_cheapest_budget():
    public = {"universe": UNIVERSE, "delta": 0, "updates": 2, "neighbours": PEOPLE}
    mechanism = MultiplicativeWeights.for_error(alpha=200, beta=0.05, **public)
    assert mechanism.error(0.05) <= 200
    assert MultiplicativeWeights(epsilon=mechanism.epsilon * Fraction(19, 20), **public).error(0.05) > 200


def test_more_questions_cost_logarithmically_more_error():
    mechanism = made(queries=1000)
    known = [mechanism.error(0.05, queries=k) for k in (1, 1000, 10**6, 10**9)]
    assert known[0] == known[1] == mechanism.error(0.05)
    step = 2 * float(mechanism.plan.tests.scale) * math.log(1000)
    assert known[2] - known[1] == pytest.approx(step, abs=2)
    assert known[3] - known[2] == pytest.approx(step, abs=2)


def test_parameters_are_checked():
    with pytest.raises(InvalidParameter, match="rows"):
        made(neighbours=Replace("person"))
    with pytest.raises(NeighboursMismatch):
        made(neighbours=Edge())
    with pytest.raises(InvalidParameter, match="updates"):
        made(updates=0)
    with pytest.raises(InvalidParameter, match="start"):
        made(
            start=ResidualMarginals(
                workload=PAIRS, epsilon=Fraction(1, 2), delta=1e-9, neighbours=Replace("row")
            )
        )
    data = Histogram.dense(UNIVERSE, np.ones(UNIVERSE.shape, dtype=np.int64))
    with pytest.raises(InvalidParameter, match="rows"):
        made(neighbours=Replace("person"), rows=31).open(data)
    with pytest.raises(InvalidParameter, match="Histogram"):
        made().open([1, 2, 3])


def test_no_more_updates_are_needed_than_the_theorem_says():
    """An all-knowing attacker asks for what is missed most; measured answers teach until little is."""
    universe = Universe([("a", range(8))])
    counts = np.array([20_000, 5000, 2000, 2000, 500, 300, 150, 50])
    rows = int(counts.sum())
    mechanism = MultiplicativeWeights(
        universe=universe,
        epsilon=50,
        delta=0,
        updates=60,
        neighbours=Replace("row"),
        rows=rows,
        threshold=900,
    )
    gap = 900
    conversation = mechanism.open(Histogram.dense(universe, counts), rng=unsafe_seeded(1))
    for _ in range(60):
        off = counts - conversation.synopsis.weights
        if conversation.closed or np.abs(off).sum() / 2 < gap + 50:
            break
        conversation.ask(TableQuery(universe, (0,), "worst", table=off > 0))
    most = mechanism.most_updates(gap=gap, rows=rows)
    assert np.abs(counts - conversation.synopsis.weights).sum() / 2 < gap + 50
    assert 1 <= conversation.measured <= most < math.inf
    with pytest.raises(InvalidParameter, match="gap"):
        mechanism.most_updates(gap=1, rows=rows)


def test_errors_stay_within_the_stated_one():
    """All answers of a conversation at once; a bound that fails 30 % of the time is found (power > 0.99).

    False-alarm rate 1e-9. Half the bound must fail the same check.
    """
    counts = np.arange(32).reshape(UNIVERSE.shape) ** 2 * 10
    data = Histogram.dense(UNIVERSE, counts)
    mechanism = made(delta=0, updates=6, queries=50, neighbours=Replace("row"), rows=int(counts.sum()))
    bound, beta, missed, halved = mechanism.error(0.1), 0.1, 0, 0
    generator = np.random.default_rng(9)  # noqa: TID251
    for seed in range(100):
        conversation = mechanism.open(data, rng=unsafe_seeded(seed))
        worst = 0.0
        for _ in range(50):
            mask = generator.random(UNIVERSE.shape) < generator.random()
            if conversation.closed:
                break
            query = TableQuery(UNIVERSE, (0, 1, 2), "random", table=mask)
            worst = max(worst, abs(conversation.ask(query).value - counts[mask].sum()))
        missed += worst > bound
        halved += worst > bound / 2
    assert proportion_bounds(missed, 100, alpha=1e-9)[0] <= beta
    assert proportion_bounds(halved, 100, alpha=1e-9)[0] > beta


def test_a_warm_start_that_has_spent_nearly_everything_is_refused_by_name():
    """Just above what the start costs there is a budget, but no gate: nothing may overflow on the way."""
    start = ResidualMarginals(
        workload=Marginals.of_order(UNIVERSE, 1), epsilon=1, delta=1e-6, neighbours=AddRemove("row")
    )
    spent = Fraction(start.loss.epsilon(1e-6))
    public = {
        "universe": UNIVERSE,
        "delta": 1e-6,
        "updates": 5,
        "neighbours": AddRemove("row"),
        "start": start,
    }
    with pytest.raises(InvalidParameter, match="cheaper than the whole budget"):
        MultiplicativeWeights(epsilon=spent + Fraction(1, 10**14), **public).error(0.05)
    bought = MultiplicativeWeights.for_error(alpha=400, beta=0.05, **public)
    assert bought.epsilon > spent and bought.error(0.05) <= 400
