"""Whatever is called `plan` returns a value of one family: price, guarantee and error."""

import pytest
from tests.unit.curator.conftest import BY_ROW, curator, people

import discreet as dp
from discreet.core.guarantee import Guarantee, Planned
from discreet.queries import Prefixes

MEAN = "SELECT AVG(income) AS x FROM people"
COUNT = "SELECT COUNT(*) AS x FROM people"


@pytest.fixture(scope="module")
def plans():
    with dp.Table(people(), schema=BY_ROW) as table:
        wanted = table, Prefixes(table.universe(["age"]), ["age"])
        of_table = table.plan(COUNT, epsilon=1, delta=0)
        of_release = dp.plan(wanted, epsilon=1, delta=0, rows=6000)
    with dp.Session(people(), schema=BY_ROW, epsilon=1, delta=0) as session:
        of_session, of_several = session.plan(COUNT, epsilon=1), dp.plan([COUNT, COUNT], session, within=50)
    with curator() as one:
        acme = one.analyst("acme")
        shared, priced = acme.plan(COUNT), acme.plan(MEAN)
        acme.sql(COUNT)
        return {
            "release": (of_release, 0.05),
            "table": (of_table, "x"),
            "session": (of_session, "x"),
            "several": (of_several, 1),
            "shared": (shared, "x"),
            "priced": (priced, "x"),
            "repeated": (acme.plan(COUNT), "x"),
        }


@pytest.mark.parametrize("kind", ["release", "table", "session", "several", "shared", "priced", "repeated"])
def test_plans_are_one_family(plans, kind):
    plan, of = plans[kind]
    assert isinstance(plan, Planned)
    free = kind in ("shared", "repeated")
    assert plan.guarantee is None if free else isinstance(plan.guarantee, Guarantee)
    assert plan.price == "nothing" if free else "epsilon" in plan.price
    error = plan.error(of)
    assert error is None if kind == "priced" else error > 0  # a mean's depends on the noisy count
    assert plan.price in repr(plan)
