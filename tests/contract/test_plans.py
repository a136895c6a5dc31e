"""Whatever is called `plan` returns a value of one family: price, guarantee and error."""

from typing import Any, Protocol, runtime_checkable

import pytest
from tests.unit.curator.conftest import BY_ROW, curator, people

import discreet as dp
from discreet.core.guarantee import Guarantee
from discreet.queries import Prefixes

MEAN = "SELECT AVG(income) AS x FROM people"
COUNT = "SELECT COUNT(*) AS x FROM people"


@runtime_checkable
class Planned(Protocol):
    """What something would cost and how well it would be answered, from public facts alone.

    Whatever is called `plan` returns one: of a release, of a question to a table, of a question to a curator.
    """

    @property
    def price(self) -> str:
        """What it would cost, in one line."""

    @property
    def guarantee(self) -> Guarantee | None:
        """The same for accountants; None where nothing more is charged."""

    def error(self, of: Any, /) -> float | None:
        """Return a bound on the error; None where it is not known beforehand.

        Of a question, `of` is the name of a column, and the bound is at 95 %. Of a release, all answers at
        once are meant, and `of` is the probability that the bound may fail with; where nothing is proved it
        raises NoBound, as mechanisms do.
        """


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
