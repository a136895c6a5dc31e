"""One table and one budget: what is charged, and what is refused before anything is."""

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pytest
from tests.unit.curator.conftest import BY_ROW, BY_USER, people
from tests.unit.curator.sessions.opened import ALL, LINE, REGIONS, ROWS, laplace, line, opened, total

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidParameter,
    NeighboursMismatch,
    Refused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import Edge
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.sessions.session import Session
from discreet.data import Table
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.optimisation.common.graphs import Vertices
from discreet.queries import Histogram, Marginals
from discreet.query_release.linear.independent import Independent
from discreet.query_release.planning.planner import ReleasePlan


def test_every_way_in_spends_from_one_budget():
    with opened(epsilon=2) as one:
        assert one.guarantee.implies(epsilon=2, delta=0)
        assert one.sql(REGIONS, epsilon=0.5).columns == ("region", "n")
        assert one.left == 1.5
        one.run(laplace(0.25), lambda table: int(table.histogram(["smoker"]).counts()[0]))
        assert one.left == 1.25
        workload = Marginals.of_order(one.universe(["region"]), 1)
        mechanism = Independent(workload=workload, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS)
        assert one.run(mechanism).guarantee == mechanism.guarantee
        assert one.left == pytest.approx(1)
        sparse = dp.AboveThreshold(threshold=10, sensitivity=1, epsilon=1, delta=0, neighbours=ROWS)
        with one.open(sparse, lambda table: table.histogram(["region"])) as conversation:
            assert not conversation.closed
        assert one.left == pytest.approx(0, abs=1e-9)
        assert [entry.kind for entry in one.history] == ["sql", "run", "run", "open"]
        assert {entry.state for entry in one.history} == {"finished"}
        with pytest.raises(BudgetExceeded):
            one.sql(ALL, epsilon=0.1)


def test_what_is_asked_of_the_table_is_asked_of_its_session():
    with Table(people(200), schema=BY_ROW) as table, Table(people(100), schema=BY_ROW) as other:
        wanted, elsewhere = (dp.marginals(one, order=1, columns=["region"]) for one in (table, other))
        with Session(table, epsilon=1, delta=0) as session:
            given = {"epsilon": Fraction(1, 2), "delta": 0, "rows": 200}
            assert session.plan(wanted, **given).of("independent").mechanism is not None
            with pytest.raises(InvalidParameter, match="about the data of this session"):
                session.release(elsewhere, **given)
            assert session.left == 1
            assert session.release(wanted, **given).marginal("region").shape == (4,)
            assert session.left == Fraction(1, 2)
            with pytest.raises(InvalidParameter, match="Of a session pass its universe"):
                dp.marginals(session, order=1)


def test_the_same_question_at_the_same_price_costs_nothing_again():
    with opened() as one:
        first = one.sql(ALL, epsilon=0.25)
        assert one.sql("select count(*) as n from people;", epsilon=0.25) is first
        assert one.left == 0.75 and len(one.history) == 1
        assert one.sql(ALL, epsilon=0.25, fresh=True) is not first
        assert one.left == 0.5
        one.sql(ALL, epsilon=0.3)
        assert one.left == 0.2


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_what_is_left_fits_and_more_does_not(delta):
    with opened(delta=delta) as one:
        for place in range(4):
            one.run(laplace(Fraction(1, 20 + place)), lambda table: table.histogram(["region"]).total)
            left = Fraction(str(one.left))
            ledger_ = one._purse.ledger
            assert ledger_.fit("session", Guarantee(PureLoss(left), ROWS))
            assert not ledger_.fit("session", Guarantee(PureLoss(left + Fraction(1, 10**9)), ROWS))


def test_many_small_questions_go_on_by_rho_after_the_epsilons_are_used_up():
    with Session(line(), epsilon=1, delta=1e-6) as one:
        small = laplace(Fraction(1, 50))
        for _ in range(60):
            one.run(small, total)
        assert len(one.history) == 60
        assert 0 < one.left < 0.5


def test_a_plan_is_free_and_is_what_is_charged():
    with opened() as one:
        planned = one.plan(REGIONS, epsilon=0.5)
        assert one.left == 1 and not one.history
        answer = one.sql(planned)
        assert answer.plan is planned and one.left == 0.5
        with pytest.raises(InvalidParameter, match="epsilon must be left out"):
            one.sql(planned, epsilon=1)


def test_a_question_may_have_a_delta_of_its_own():
    with opened(delta=1e-6, epsilon=4) as one:
        wide = "SELECT region, smoker, age, COUNT(*) AS n FROM people GROUP BY region, smoker, age"
        assert one.plan(wide, epsilon=1).delta <= Fraction(1, 10**6)
        one.sql("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon=1, delta=0)
        assert one.left == 3


def test_a_release_is_planned_and_charged_for_the_unit():
    with opened(BY_USER, epsilon=1, delta=1e-6) as one:
        workload = Marginals.of_order(one.universe(["smoker"]), 1)
        planned = one.plan(workload, epsilon=0.5, delta=1e-7, rows=200)
        assert type(planned) is ReleasePlan and one.left == 1
        made = one.release(planned)
        assert made.plan is planned and made.guarantee.neighbours == dp.AddRemove("who")
        (entry,) = one.history
        assert entry.kind == "release" and entry.price == (Fraction(1, 2), Fraction(1, 10**7))
        assert one.left == pytest.approx(0.5)
        with pytest.raises(InvalidParameter, match="epsilon must be left out"):
            one.release(planned, epsilon=1)
        with pytest.raises(InvalidParameter, match="delta must be given"):
            one.release(workload, epsilon=0.1)


def test_a_plan_for_rows_is_not_taken_for_one_for_persons():
    with opened(BY_USER, epsilon=1) as one:
        workload = Marginals.of_order(one.universe(["smoker"]), 1)
        planned = dp.plan(workload, epsilon=1, delta=0, rows=100)  # of one row; a unit has two
        with pytest.raises(InvalidParameter, match="planned for"):
            one.release(planned)
        assert one.left == 1


def test_a_graph_is_held_with_the_change_that_is_hidden():
    graph = nx.path_graph(6)
    with Session(graph, epsilon=1, delta=0, neighbours=Edge()) as one:
        cover = dp.optimisation.VertexCover(vertices=Vertices.of_graph(graph), epsilon=1)
        assert one.run(cover).guarantee.neighbours == Edge()
        assert one.left == pytest.approx(0, abs=1e-9)
        for refused in (
            lambda: one.sql(ALL, epsilon=1),
            one.universe,
            lambda: one.plan(ALL, epsilon=1),
        ):
            with pytest.raises(Refused):
                refused()
        with pytest.raises(NeighboursMismatch):
            one.run(laplace(1), len)


def test_a_frame_is_opened_with_its_schema():
    with Session(people(50), schema=BY_ROW, epsilon=1, delta=0) as one:
        assert one.sql(ALL, epsilon=1).columns == ("n",)


def test_a_histogram_of_persons_with_several_rows_is_charged_for_all_of_them():
    data = Histogram(LINE, [5, 0, 3, 1], rows_per_unit=3)
    with Session(data, epsilon=1, delta=0, neighbours=dp.AddRemove("person")) as one:
        one.run(laplace(Fraction(1, 4)), total)
        assert one.left == 0.25
    with Session(data, epsilon=1, delta=0) as one:  # of rows
        one.run(laplace(Fraction(1, 4)), total)
        assert one.left == 0.75


# --- what is refused, before anything is charged -------------------------------------------------------
@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one.sql("SELECT name FROM people", epsilon=1),
        lambda one: one.sql("SELECT COUNT(*) FROM elsewhere", epsilon=1),
        lambda one: one.sql(ALL),
        lambda one: one.sql(ALL, epsilon=0),
        lambda one: one.sql(ALL, epsilon=float("nan")),
        lambda one: one.sql(ALL, epsilon=1, delta=-1),
        lambda one: one.sql(ALL, epsilon=1, rng=None),
        lambda one: one.sql(ALL, epsilon=1, fresh="no"),
        lambda one: one.sql(ALL, epsilon=1, insist="yes"),
        lambda one: one.sql(7, epsilon=1),
        lambda one: one.plan(ALL, epsilon=1, rows=3),
        lambda one: one.run(laplace(Fraction(1, 2))),
        lambda one: one.run(laplace(Fraction(1, 2)), "histogram"),
        lambda one: one.run(laplace(Fraction(1, 2), dp.Replace("row")), total),
        lambda one: one.run(laplace(Fraction(1, 2), dp.AddRemove("person")), total),
        lambda one: one.run(laplace(Fraction(1, 2)), total, rng=7),
        lambda one: one.run(laplace(Fraction(1, 2)), total, progress=3),
        lambda one: one.run(
            dp.AboveThreshold(threshold=1, sensitivity=1, epsilon=1, neighbours=ROWS, delta=0), total
        ),
        lambda one: one.open(laplace(Fraction(1, 2)), total),
        lambda one: one.run(
            Independent(workload=Marginals.of_order(LINE, 1), epsilon=1, delta=0, neighbours=ROWS)
        ),
        lambda one: one.release("everything", epsilon=1, delta=0),
    ],
)
def test_what_cannot_be_right_is_refused_and_nothing_is_read_or_charged(ask, monkeypatch):
    reads = []
    monkeypatch.setattr(Table, "answer", lambda *given, **named: reads.append(given))
    monkeypatch.setattr(Table, "histogram", lambda *given, **named: reads.append(given))
    with opened() as one:
        with pytest.raises(DiscreetError):
            ask(one)
        assert one.left == 1 and not one.history and not reads


def test_what_is_neither_a_question_nor_a_workload_is_named():
    with opened() as one:
        for ask in (one.plan, one.release):
            with pytest.raises(InvalidParameter, match="wanted must be one SELECT, or a workload"):
                ask(iter([LINE]), epsilon=1, delta=0)


def test_what_would_say_nothing_is_refused_and_nothing_is_charged_unless_she_insists(monkeypatch):
    mean = "SELECT AVG(income) AS mean FROM people"
    with opened(replace(BY_ROW, rows=200)) as one:
        for asked in (mean, one.plan(mean, epsilon=0.02)):
            given = {} if isinstance(asked, QuestionPlan) else {"epsilon": 0.02}
            with monkeypatch.context() as patch:
                patch.setattr(Table, "answer", lambda *given, **named: pytest.fail("data were read"))
                with pytest.raises(Refused, match=r"An epsilon of .* would make it useful.*insist=True"):
                    one.sql(asked, **given)
        assert one.left == 1 and not one.history
        first = one.sql(mean, epsilon=0.02, insist=True)
        assert one.sql(mean, epsilon=0.02).rows == first.rows, "what was paid for is given again"
        assert len(one.history) == 1


def test_a_count_that_was_answered_says_what_would_say_nothing():
    """Without `rows` in the schema an average was sold that spans its whole range."""
    mean = "SELECT AVG(income) AS mean FROM people"
    with opened(BY_ROW) as one:
        one.sql(mean, epsilon=0.02, fresh=True)  # nobody knows: nothing is refused
        one.sql("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon=0.1)
        one.sql("SELECT COUNT(*) AS n FROM people WHERE region = 'north'", epsilon=0.1)
        one.sql(mean, epsilon=0.021)  # of a part only
        one.sql("SELECT COUNT(*) AS people FROM people", epsilon=0.1)
        spent = one.left
        with pytest.raises(Refused, match=r"what is possible for about .* rows; nothing was charged"):
            one.sql(mean, epsilon=0.02, fresh=True)
        with pytest.raises(Refused, match="in a group of"):
            one.sql("SELECT region, AVG(income) AS mean FROM people GROUP BY region", epsilon=0.02)
        assert one.left == spent
        one.sql(mean, epsilon=0.02, fresh=True, insist=True)


def test_what_does_not_fit_is_refused_and_nothing_is_read(monkeypatch):
    reads = []
    with opened() as one:
        one.sql(ALL, epsilon=0.75)
        monkeypatch.setattr(Table, "answer", lambda *given, **named: reads.append(given))
        with pytest.raises(BudgetExceeded):
            one.sql(ALL, epsilon=0.5)
        with pytest.raises(BudgetExceeded):
            one.run(laplace(Fraction(1, 2)), reads.append)
        assert not reads and one.left == 0.25 and len(one.history) == 1


def test_gaussian_noise_has_no_price_in_a_budget_without_delta():
    noisy = dp.Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, neighbours=ROWS)
    with Session(line(), epsilon=1, delta=0) as one, pytest.raises(InvalidParameter, match="finite charge"):
        one.run(noisy, total)
    with Session(line(), epsilon=4, delta=1e-4) as one:
        one.run(noisy, total)
        assert one.history[0].price == (1, Fraction(1, 10**6))
        assert one.left == 3


def test_a_mechanism_for_one_row_is_not_used_for_a_unit_of_several():
    with opened(BY_USER) as one:
        workload = Marginals.of_order(one.universe(["region"]), 1)
        wrong = Independent(workload=workload, epsilon=1, delta=0, neighbours=dp.AddRemove("who"))
        with pytest.raises(NeighboursMismatch, match="up to 2 rows"):
            one.run(wrong)
        assert one.left == 1
        one.run(Independent(workload=workload, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS))
        assert one.left == pytest.approx(0.5)


def test_a_budget_has_no_default():
    for given in ({}, {"epsilon": 1}, {"delta": 0}):
        with pytest.raises(InvalidParameter, match="must be given"):
            Session(line(), **given)
    with pytest.raises(InvalidParameter, match="large_delta"):
        Session(line(), epsilon=1, delta=0.1)
    own = Ledger(epsilon=1, delta=0, neighbours=ROWS)
    with pytest.raises(InvalidParameter, match="left out"):
        Session(line(), ledger=own, epsilon=1)
    with pytest.raises(InvalidParameter, match="ledger"):
        Session(line(), ledger=object())
    with pytest.raises(NeighboursMismatch):
        Session(line(), ledger=own, neighbours=dp.Replace("row"))
    with pytest.raises(InvalidParameter, match="neighbours"):
        Session(Table(people(10), schema=BY_ROW), epsilon=1, delta=0, neighbours=ROWS)
    with pytest.raises(InvalidParameter, match="a list alone"):
        Session([1, 2], epsilon=1, delta=0)
    with pytest.raises(NeighboursMismatch):
        Session(line(), epsilon=1, delta=0, neighbours=Edge())


def test_the_same_numbers_in_another_form_cost_nothing_again():
    sums = "SELECT region, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY region"
    with opened(epsilon=1) as one:
        bought = one.sql(sums, epsilon=0.5)
        shown = one.sql(
            "SELECT region, SUM(age) / COUNT(*) AS mean FROM people GROUP BY 1 ORDER BY mean DESC LIMIT 2",
            epsilon=0.5,
        )
        assert one.left == 0.5 and len(one.history) == 1
        means = {region: years / n for region, n, years in bought.rows}
        assert shown.columns == ("region", "mean") and len(shown) == 2
        assert all(mean == pytest.approx(means[region]) for region, mean in shown.rows)
        assert one.sql(sums.replace("AS n", "AS m"), epsilon=0.5).rows == bought.rows
        one.sql(sums.replace("SUM(age)", "SUM(income)"), epsilon=0.25)
        assert one.left == 0.25, "other numbers are bought"
