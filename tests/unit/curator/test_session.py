"""One table and one budget: what is charged, what is refused, and what nobody gets back."""

import copy
import os
import threading
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pandas
import pytest
from tests.interrupts import everywhere, interrupted
from tests.unit.curator.conftest import BY_ROW, BY_USER, REPLACED, people

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    ConversationClosed,
    DiscreetError,
    EngineFailed,
    InvalidParameter,
    LedgerRefused,
    NeighboursMismatch,
    ReadFailed,
    Refused,
    TableClosed,
    TableHeld,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Bidder, BidderToOthers, Edge
from discreet.curator import ledger
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.sessions import holding, purchases, session, spending
from discreet.curator.sessions.session import Session
from discreet.data import Table
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.games import PostedPrice
from discreet.optimisation.common.graphs import Vertices
from discreet.queries import Histogram, Marginals, Universe
from discreet.query_release.linear.independent import Independent
from discreet.query_release.planning.planner import ReleasePlan
from discreet.testing import unsafe_seeded

ALL = "SELECT COUNT(*) AS n FROM people"
REGIONS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
ROWS = dp.AddRemove("row")
LINE = Universe([("x", range(4))])


def opened(schema=BY_ROW, epsilon=1, delta=0, rows=200, **given):
    return Session(Table(people(rows), schema=schema), epsilon=epsilon, delta=delta, **given)


def line(counts=(5, 0, 3, 1)):
    return Histogram.dense(LINE, list(counts))


def laplace(epsilon, neighbours=ROWS):
    return dp.Laplace(sensitivity=1, epsilon=epsilon, neighbours=neighbours)


def total(data):
    return data.total


# --- what is charged ---------------------------------------------------------------------------------


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


# --- charge first --------------------------------------------------------------------------------------


def test_data_are_read_after_the_ledger_knows():
    states = []
    with opened() as one:

        def read(table):
            states.append(one.history[0].state)
            assert one.left == 0.5
            return table.histogram(["region"]).total

        one.run(laplace(Fraction(1, 2)), read)
        assert states == ["started"]
        assert one.history[0].state == "finished"


def test_what_the_owners_function_says_is_withheld_and_the_charge_stays():
    def read(table):
        raise ValueError("row 4711 of Ann")

    with opened() as one:
        with pytest.raises(ReadFailed) as caught:
            one.run(laplace(Fraction(1, 2)), read)
        assert isinstance(caught.value, EngineFailed) and "4711" not in str(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
        assert one.left == 0.5 and one.history[0].state == "started"


def test_an_engine_that_fails_is_paid_all_the_same(monkeypatch):
    def fail(self, prepared, **given):
        raise RuntimeError("row 4711 of Ann")

    with opened() as one:
        monkeypatch.setattr(Table, "answer", fail)
        with pytest.raises(EngineFailed) as caught:
            one.sql(ALL, epsilon=0.5)
        assert "4711" not in str(caught.value) and caught.value.__context__ is None
        assert one.left == 0.5
        monkeypatch.undo()
        one.sql(ALL, epsilon=0.5)
        assert one.left == 0


def test_our_own_errors_are_told_without_what_they_came_from():
    def read(table):
        try:
            raise KeyError("Ann")
        except KeyError:
            return "no number"

    with opened() as one:
        with pytest.raises(InvalidParameter) as caught:
            one.run(laplace(Fraction(1, 2)), read)
        assert caught.value.__context__ is None
        assert one.left == 0.5


def test_ctrl_c_while_data_are_read_gives_nothing_back():
    def read(table):
        table.histogram(["region"])
        raise KeyboardInterrupt

    with opened() as one:
        with pytest.raises(KeyboardInterrupt):
            one.run(laplace(Fraction(1, 2)), read)
        assert one.left == 0.5 and one.history[0].state == "started"


def test_an_interrupt_at_any_line_never_refunds_what_was_seen():
    data = line()

    def attempt(at):
        one, seen = Session(data, epsilon=1, delta=0), []

        def read(histogram):
            seen.append(True)
            return histogram.total

        def work():
            one.run(laplace(Fraction(1, 4)), read)

        came = interrupted(work, at, spending, ledger, session, purchases, holding)
        assert one.left in (0.75, 1.0)
        if seen:
            assert one.left == 0.75, "data were touched and the charge is gone"
            assert len(one.history) == 1
        if one.left == 1:
            assert all(entry.state == "voided" for entry in one.history)
        one.run(laplace(Fraction(1, 4)), read)  # no lock is left behind
        return came

    everywhere(attempt, least=30)


# --- closed, copied, forked, twice ----------------------------------------------------------------------


def test_a_closed_session_answers_nothing_and_reads_nothing():
    one = opened()
    one.sql(ALL, epsilon=0.25)
    conversation = one.open(
        dp.AboveThreshold(threshold=10, sensitivity=1, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS),
        lambda table: table.histogram(["region"]),
    )
    one.close()
    one.close()
    for ask in (
        lambda: one.sql(ALL, epsilon=0.25),
        lambda: one.plan(ALL, epsilon=0.25),
        lambda: one.run(laplace(Fraction(1, 4)), total),
        lambda: one.release(Marginals.of_order(one.universe(["region"]), 1), epsilon=0.1, delta=0),
    ):
        with pytest.raises(Refused, match="closed"):
            ask()
    with pytest.raises(ConversationClosed, match="session"):
        conversation.ask(lambda data: 0)
    assert one.left == 0.5 and len(one.history) == 2, "what was paid for can still be read"
    assert "closed" in repr(one)


def test_a_conversation_that_is_opened_while_the_session_closes_is_closed_too():
    one = opened()

    class Closing(dp.AboveThreshold):
        def open(self, data, *, rng):
            threading.Thread(target=one.close).start()
            while not one._purse.closed:
                pass
            return dp.AboveThreshold.open(self, data, rng=rng)

    mechanism = Closing(threshold=10, sensitivity=1, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS)
    assert one.open(mechanism, lambda table: table.histogram(["region"])).closed


def test_a_second_session_on_the_same_table_is_refused():
    table = Table(people(50), schema=BY_ROW)
    with pytest.raises(InvalidParameter):
        Session(table, epsilon=-1, delta=0)  # which takes nothing away
    with pytest.raises(NeighboursMismatch):
        Session(table, ledger=Ledger(epsilon=1, delta=0, neighbours=dp.Replace("row")))
    with Session(table, epsilon=1, delta=0) as one:
        for again in (
            lambda: Session(table, epsilon=1, delta=0),
            lambda: table.sql(ALL, epsilon=1, delta=0),
            lambda: table.histogram(["region"]),
            lambda: list(table.marginals([["region"]])),
            table.hand_over,
        ):
            with pytest.raises(TableHeld):
                again()
        assert table.universe(["region"]) == one.universe(["region"]), "public facts stay"
        assert table.plan(ALL, epsilon=1, delta=0).epsilon == 1
        assert one.sql(table.plan(ALL, epsilon=1, delta=0)).columns == ("n",)
    assert "people" in repr(table)
    with pytest.raises(TableHeld):
        Session(table, epsilon=1, delta=0)


def test_two_threads_cannot_both_have_a_table():
    for _ in range(20):
        table, made, refused = Table(people(5), schema=BY_ROW), [], []
        gate = threading.Barrier(4)

        def take(table=table, made=made, refused=refused, gate=gate):
            gate.wait()
            try:
                made.append(Session(table, epsilon=1, delta=0))
            except TableHeld as problem:
                refused.append(problem)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1 and len(refused) == 3
        made[0].close()


def test_closing_the_owners_table_closes_the_sessions():
    table = Table(people(20), schema=BY_ROW)
    one = Session(table, epsilon=1, delta=0)
    table.close()
    with pytest.raises(DiscreetError):
        one.sql(ALL, epsilon=0.5)


def test_a_table_that_its_owner_closed_is_refused_before_anything_is_charged():
    with Table(people(50), schema=BY_ROW) as table:
        one = Session(table, epsilon=1, delta=0)
    workload = Marginals.of_order(one.universe(["region"]), 1)
    for ask in (
        lambda: one.sql(ALL, epsilon=0.5),
        lambda: one.release(workload, epsilon=0.5, delta=0),
        lambda: one.run(laplace(0.5), lambda table: table.histogram(["region"]).total),
    ):
        with pytest.raises(TableClosed):
            ask()
    assert one.left == 1 and not one.history


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


def test_a_loan_is_over_when_the_function_returns():
    kept = []
    with opened() as one:
        one.run(laplace(Fraction(1, 4)), lambda table: kept.append(table) or 3)
        lent = kept[0]
        for reading in (lent.histogram, lent.universe, lambda: lent.marginals([["region"]])):
            with pytest.raises(Refused, match="lent"):
                reading()
        assert repr(lent) == "TableLoan(...)"
        assert not hasattr(lent, "__dict__")


def test_a_session_cannot_be_copied_pickled_or_forked(monkeypatch):
    one = Session(line(), epsilon=1, delta=0)
    for double in (copy.copy, copy.deepcopy, lambda each: each.__reduce_ex__(4)):
        with pytest.raises(DiscreetError, match="double"):
            double(one)
    there = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: there)
    with pytest.raises(DiscreetError, match="another process"):
        one.run(laplace(Fraction(1, 4)), total)


# --- hostile and clumsy callers ---------------------------------------------------------------------------


class Screaming:
    """Says that it is whatever is wanted, and keeps what it is called with."""

    def __init__(self):
        object.__setattr__(self, "called", [])

    def __getattr__(self, name):
        if name == "__class__":
            return Mechanism
        object.__getattribute__(self, "called").append(name)
        return lambda *given, **named: self

    @property
    def __class__(self):
        return dp.Laplace


def test_an_object_that_says_it_is_a_mechanism_is_refused_before_it_is_asked():
    with Session(line(), epsilon=1, delta=0) as one:
        for ask in (one.run, one.open):
            liar = Screaming()
            with pytest.raises(InvalidParameter, match="mechanism must be"):
                ask(liar, total)
            assert "release" not in liar.called and "_draw" not in liar.called
        assert one.left == 1


def test_a_guarantee_that_is_none_is_refused():
    class Vague(Mechanism):
        neighbours = ROWS
        loss = PureLoss(Fraction(1))

        @property
        def guarantee(self):
            return type("Guarantee", (), {"loss": PureLoss(Fraction(0)), "neighbours": ROWS})()

        def error(self, beta):
            return 0

        def _draw(self, data, rng):
            raise AssertionError("data were read")

        def __repr__(self):
            return "Vague()"

    with Session(line(), epsilon=1, delta=0) as one, pytest.raises(InvalidParameter, match="Guarantee"):
        one.run(Vague(), total)


def test_a_plan_that_was_changed_is_refused():
    with opened() as one:
        planned = one.plan(ALL, epsilon=0.5)
        forged = object.__new__(type(planned))
        for name in ("budget", "columns", "bounds"):
            object.__setattr__(forged, name, getattr(planned, name))
        with pytest.raises(InvalidParameter, match="plan"):
            one.sql(forged)
        with opened(REPLACED) as other, pytest.raises(InvalidParameter, match="schemas"):
            other.sql(planned)
        assert one.left == 1


def test_a_release_plan_with_another_mechanism_is_charged_for_that():
    """Plans can be written into: what is charged is what is run, and not what the plan says."""
    with Session(line(), epsilon=1, delta=0) as one:
        workload = Marginals.of_order(LINE, 1)
        cheap, dear = (one.plan(workload, epsilon=each, delta=0, rows=20) for each in (0.25, 4))
        cheap.best = dear.best
        with pytest.raises(DiscreetError):
            one.release(cheap)
        assert one.left == 1


def test_threads_together_never_spend_more_than_there_is():
    with Session(line(), epsilon=1, delta=0) as one:
        gate, done, refused = threading.Barrier(16), [], []

        def ask():
            gate.wait()
            for _ in range(3):
                try:
                    done.append(one.run(laplace(Fraction(1, 10)), total))
                except BudgetExceeded as problem:
                    refused.append(problem)

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 10 and len(refused) == 38
        assert one.left == 0 and len(one.history) == 10


def test_threads_that_ask_the_same_at_once_pay_once():
    with opened() as one:
        gate, found = threading.Barrier(8), []

        def ask():
            gate.wait()
            found.append(one.sql(REGIONS, epsilon=0.1))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8 and all(answer is found[0] for answer in found)
        assert one.left == 0.9 and len(one.history) == 1


def test_a_reader_may_ask_the_session_and_pays_for_both():
    with opened() as one:

        def read(table):
            one.sql(ALL, epsilon=0.25)
            return table.histogram(["region"]).total

        one.run(laplace(Fraction(1, 4)), read)
        assert one.left == 0.5


def test_seeded_noise_is_marked():
    with opened() as one:
        assert one.sql(ALL, epsilon=0.25, rng=unsafe_seeded(1)).unsafe_seeded
        assert not one.sql(ALL, epsilon=0.25, fresh=True).unsafe_seeded


def test_seeded_noise_is_not_charged_to_a_budget_that_is_kept(tmp_path):
    path = tmp_path / "budget.db"
    with opened(ledger=path) as one:
        for ask in (
            lambda rng: one.sql(ALL, epsilon=0.25, rng=rng),
            lambda rng: one.run(laplace(Fraction(1, 4)), lambda table: 1, rng=rng),
        ):
            with pytest.raises(InvalidParameter, match="foretold"):
                ask(unsafe_seeded(1))
        assert one.left == 1
        assert one.sql(ALL, epsilon=0.25).rows


# --- history ------------------------------------------------------------------------------------------


def test_the_history_is_a_frame_of_prices_and_losses():
    with opened(BY_USER, epsilon=2, delta=1e-6) as one:
        one.sql(REGIONS, epsilon=0.5)
        one.run(laplace(Fraction(1, 4)), lambda table: table.histogram(["region"]).total)
        history = one.history
        frame = history.to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == [
            *("number", "kind", "what", "epsilon", "delta", "loss"),
            *("charged_epsilon", "charged_rho", "charged_delta", "state"),
        ]
        assert frame["epsilon"].tolist() == [0.5, 0.5]
        assert frame["charged_epsilon"].sum() == 1
        assert "COUNT(*)" in frame["what"][0] and "Laplace" in frame["what"][1]
        assert "2 at once" in frame["loss"][1]
        assert "sql" in repr(history) and "<table>" in history._repr_html_()
        assert history[0].number == 0 and len(list(history)) == 2
        assert "epsilon 1 left" in repr(one)
    empty = Session(line(), epsilon=1, delta=0).history
    assert len(empty.to_pandas()) == 0 and "kind" in repr(empty)


def test_progress_is_shown_where_it_is_wanted(monkeypatch):
    shown = []
    monkeypatch.setattr("discreet.core.progress.bars", lambda wanted: shown.append(wanted) or nullcontext())
    workload = Marginals.of_order(LINE, 1)
    with Session(line(), epsilon=1, delta=0) as one:
        for wanted in (True, False):
            mechanism = Independent(workload=workload, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS)
            one.run(mechanism, progress=wanted)
    assert shown == [True, False]


def test_a_budget_in_a_file_outlives_the_session(tmp_path):
    path = tmp_path / "budget.db"
    for life in range(4):
        with Session(line(), epsilon=1, delta=0, ledger=path) as session:
            assert session.left == 1 - life * 0.25
            session.release(Marginals.of_order(LINE, 1), epsilon=Fraction(1, 4), delta=0)
    with Session(line(), epsilon=1, delta=0, ledger=path) as session:
        with pytest.raises(BudgetExceeded):
            session.release(Marginals.of_order(LINE, 1), epsilon=Fraction(1, 4), delta=0)
        with pytest.raises(LedgerRefused, match="open in another process"):
            Session(line(), epsilon=1, delta=0, ledger=path)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        Session(line(), epsilon=2, delta=0, ledger=path)
    with pytest.raises(InvalidParameter, match="given: a budget has no default"):
        Session(line(), ledger=path)


def test_what_only_players_may_see_is_nothing_for_a_session():
    price = PostedPrice(prices=[1, 2], epsilon=0.5, neighbours=Bidder())
    with pytest.raises(NeighboursMismatch, match="pass Bidder"):
        Session([1, 2, 2], epsilon=1, delta=0, neighbours=BidderToOthers())
    held = Session([1, 2, 2], epsilon=1, delta=0, neighbours=Bidder())
    with pytest.raises(NeighboursMismatch):
        held.run(price.seen_by_others(0, players=3))
    assert held.left == 1
    assert held.run(price).value in (1, 2)
