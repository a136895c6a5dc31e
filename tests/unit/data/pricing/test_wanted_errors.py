"""Several questions for wanted errors: what is promised holds, hardly costs more than needed, and fits."""

from fractions import Fraction

import pytest
from scipy import stats
from tests.unit.curator.conftest import BY_ROW, BY_USER, people

import discreet as dp
from discreet.core.errors import BudgetExceeded, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.curator.ledger.ledger import Ledger
from discreet.data import Table
from discreet.testing import unsafe_seeded

ALL = "SELECT COUNT(*) AS n FROM people"
REGIONS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
TWO = "SELECT smoker, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY smoker"
MEDIAN = "SELECT MEDIAN(age) AS m FROM people"
THREE = [ALL, REGIONS, "SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY region, smoker"]
CHEAP = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1, delta=0) COUNT(*) AS n FROM people"
ROWS = 600


@pytest.fixture(scope="module")
def table():
    with Table(people(ROWS), schema=BY_ROW) as one:
        yield one


def test_all_three_within_two_per_cent(table):
    plan = dp.plan(THREE, table, within=0.02, of=ROWS, epsilon=10, delta=1e-6)
    assert isinstance(plan.guarantee, Guarantee)
    assert plan.fits and plan.needed <= 10
    assert plan.within == (12, 12, 12) and all(0 < error <= 12 for error in plan.errors)
    assert len(plan) == 3 and [one.epsilon for one in plan] == [one.epsilon for one in plan.plans]
    assert plan.price in repr(plan) and "95" in repr(plan) and "<table>" in plan._repr_html_()
    assert plan.error(0) == plan.errors[0]
    assert plan.guarantee.implies(epsilon=plan.epsilon, delta=plan.delta)


@pytest.mark.parametrize(
    ("questions", "within", "beta"),
    [(THREE, 12, Fraction(1, 5)), ([TWO, ALL], [300, 15], Fraction(1, 5)), ([ALL], 7, Fraction(1, 2))],
)
@pytest.mark.parametrize("delta", [0, 1e-3])
def test_the_promise_holds_and_is_no_idle_one(table, questions, within, beta, delta):
    """Runs in which any number was too far off are at most beta of all, beyond chance; some there are."""
    plan = table.plan_within(questions, within=within, beta=beta, epsilon=100, delta=delta)
    truth = [_truth(table, question) for question in questions]
    runs, missed = 400, 0
    for seed in range(runs):
        far = False
        for one, wanted, true in zip(plan, plan.within, truth, strict=True):
            answer = table.answer(one, rng=unsafe_seeded(seed))
            for name, values in true.items():
                far |= any(abs(a - b) > wanted for a, b in zip(answer.column(name), values, strict=True))
        missed += far
    assert stats.binomtest(missed, runs, float(beta), alternative="greater").pvalue > 1e-6
    assert missed > 0, "the errors are wider than they need to be"


def _truth(table, question):
    sure = table.sql(question, epsilon=10**6, delta=0)
    return {name: sure.column(name) for name in sure.columns if name in ("n", "s")}


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_each_question_is_about_as_cheap_as_its_error_allows(table, delta):
    plan = table.plan_within(THREE, within=20, epsilon=10, delta=delta)
    for place, one in enumerate(plan):
        cheaper = table.plan_within(
            THREE, within=[20 + (22 * 0.03 if place == k else 0) for k in range(3)], epsilon=10, delta=delta
        )
        assert cheaper[place].epsilon <= one.epsilon
    looser = table.plan_within(THREE, within=40, epsilon=10, delta=delta)
    assert looser.needed < plan.needed
    assert float(plan.epsilon / looser.epsilon) == pytest.approx(2, rel=0.12)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_budget_that_is_named_is_enough_and_hardly_more_than_enough(table, count, delta):
    questions = [f"{ALL} WHERE age >= {20 + place % 9} AND income >= {place}" for place in range(count)]
    plan = table.plan_within(questions, within=30, epsilon=Fraction(1, 1000), delta=delta)
    assert not plan.fits and "do not fit" in repr(plan)

    def takes_all(epsilon):
        ledger = Ledger(epsilon=epsilon, delta=delta, neighbours=BY_ROW.neighbours)
        try:
            for one in plan:
                ledger.reserve("x", "q", one.guarantee, bought=ApproxLoss(one.epsilon, one.delta))
        except BudgetExceeded:
            return False
        return True

    assert takes_all(plan.needed)
    assert not takes_all(plan.needed * Fraction(98, 100))
    assert table.plan_within(questions, within=30, epsilon=plan.needed, delta=delta).fits
    if count == 40 and delta:
        assert plan.needed < plan.epsilon, "rhos add up to less"


def test_a_session_splits_what_is_left(table):
    with dp.Session(people(ROWS), schema=BY_USER, epsilon=4, delta=0) as one:
        plan = dp.plan(THREE, one, within=60)
        assert plan.fits and one.left == 4, "nothing is spent by planning"
        answers = [one.sql(each) for each in plan]
        assert [answer.plan for answer in answers] == list(plan)
        assert one.left == pytest.approx(float(4 - plan.epsilon), abs=1e-8)
        again = one.plan_within(THREE, within=60)
        assert again.needed == plan.needed
        assert again.fits is (plan.needed <= Fraction(str(one.left)))
        assert not one.plan_within(THREE, within=Fraction(60, 100)).fits


def test_what_has_no_error_beforehand_is_refused_by_name(table):
    for question, words in (
        ("SELECT AVG(income) AS mean FROM people", "error of mean"),
        ("SELECT region, AVG(income) AS mean FROM people GROUP BY region", "SUM and the COUNT"),
    ):
        with pytest.raises(Refused, match=words):
            table.plan_within([ALL, question], within=10, epsilon=1, delta=1e-6)
    with pytest.raises(Refused, match="no epsilon"):
        table.plan_within([CHEAP], within=3, epsilon=1, delta=0)


def test_ranks_of_quantiles_are_planned_for():
    with Table(people(ROWS), schema=BY_ROW) as table:
        plan = table.plan_within([MEDIAN], within=60, epsilon=10, delta=0)
        assert plan.errors[0] <= 60


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"within": 0}, "within"),
        ({"within": [1, 2]}, "within"),
        ({"within": 1, "of": [1, 2]}, "of"),
        ({"within": 1, "of": -3}, "of"),
        ({"within": 1, "beta": 0}, "beta"),
        ({"within": 1, "epsilon": 0}, "epsilon"),
        ({"within": 1, "delta": 1}, "delta"),
        ({"within": float("nan")}, "within"),
    ],
)
def test_what_is_no_wish_is_refused(table, given, name):
    with pytest.raises(InvalidParameter, match=name):
        table.plan_within(THREE, **({"epsilon": 1, "delta": 0} | given))


def test_the_front_door_tells_questions_from_workloads(table):
    with pytest.raises(InvalidParameter, match="data must be the table or session"):
        dp.plan(THREE, within=1)
    with pytest.raises(InvalidParameter, match="rows must be left out"):
        dp.plan(THREE, table, within=1, epsilon=1, delta=0, rows=3)
    with pytest.raises(InvalidParameter, match="within must be given"):
        dp.plan(THREE, table, epsilon=1, delta=0)
    workload = dp.marginals(table.universe(["region"]), order=1)
    with pytest.raises(InvalidParameter, match="within must be left out"):
        dp.plan(workload, epsilon=1, delta=0, within=2)
    with pytest.raises(InvalidParameter, match="data must be left out"):
        dp.plan(workload, table, epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="delta must be given"):
        dp.plan(workload, epsilon=1)
    with pytest.raises(InvalidParameter, match="questions must be 1 to"):
        table.plan_within([], within=1, epsilon=1, delta=0)
