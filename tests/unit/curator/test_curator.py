"""The curator in process: shared answers, priced answers, one budget, and things that go wrong."""

import copy
import itertools
import pickle  # noqa: TID251 - to see that it is refused
import threading
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import BY_ROW, BY_USER, REPLACED, curator, people

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineFailed,
    InvalidParameter,
    Refused,
    TableClosed,
    TableHeld,
)
from discreet.curator.amounts import Amounts
from discreet.curator.curator import Curator
from discreet.curator.history import AskedQuestion, AskedQuestions
from discreet.curator.kept.written_reply import read_reply, write_reply
from discreet.data import Table
from discreet.queries.kinds.marginals import Marginals

BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


MEAN = "SELECT AVG(income) AS mean FROM people"


@pytest.fixture(scope="module")
def shared():
    with curator() as one:
        yield one


def test_counts_come_from_the_shared_hypothesis(shared, frame):
    acme = shared.analyst("counts")
    plan = acme.plan(BY_REGION)
    assert (plan.kind, plan.cost) == ("shared", {})
    reply = acme.sql(BY_REGION)
    assert (reply.kind, reply.cost, reply.columns) == ("free", {}, ("region", "n"))
    truth = frame.region.value_counts()
    for (region, _), (low, high) in zip(reply.rows, reply.interval("n", 0.95, together=True), strict=True):
        assert low <= truth[region] <= high
    assert [row[0] for row in reply.rows] == ["east", "north", "west"]


def test_everything_else_is_priced(shared, frame):
    acme = shared.analyst("prices")
    quote, before = acme.plan(MEAN), acme.left
    assert quote.kind == "priced"
    assert acme.left == before
    reply = acme.sql(MEAN)
    assert (reply.kind, reply.cost) == ("priced", quote.cost)
    assert acme.left == {name: before[name] - reply.cost[name] for name in before}
    ((low, high),) = reply.interval("mean", 1 - 1e-9)  # one of 20 runs would miss the usual interval
    assert low <= frame.income.mean() <= high
    entry = shared.ledger.entries("prices")[-1]
    assert (entry.state, dict(entry.charge)) == ("finished", dict(reply.cost))


def test_a_repeated_question_has_the_same_numbers_at_no_cost(shared):
    acme, blue = shared.analyst("first"), shared.analyst("second")
    first = acme.sql(MEAN + " WHERE age < 25")
    before = shared.ledger.spent()
    again = blue.sql("select avg(income) as mean from people where not age >= 25")
    assert again.rows == first.rows
    assert again.repeated
    assert again.cost == {}
    assert blue.plan(MEAN + " WHERE age < 25").kind == "repeated"
    assert shared.ledger.spent() == before


def test_names_of_columns_are_kept_for_who_asked(shared):
    acme = shared.analyst("names")
    assert acme.sql("SELECT COUNT(*) AS one FROM people").columns == ("one",)
    assert acme.sql("SELECT COUNT(*) AS other FROM people").columns == ("other",)
    first = acme.sql("SELECT smoker, AVG(age) AS mean FROM people GROUP BY smoker")
    again = acme.sql("SELECT smoker AS s, AVG(age) AS years FROM people GROUP BY smoker")
    assert again.repeated and again.cost == {}
    assert (again.columns, again.rows) == (("s", "years"), first.rows)
    assert dict(again.intervals) == {"years": first.intervals["mean"]}
    turned = acme.sql("SELECT AVG(age) AS mean, smoker FROM people GROUP BY smoker")
    assert turned.repeated and turned.cost == {}
    assert turned.rows == tuple(row[::-1] for row in first.rows)


def test_fresh_answers_are_bought(shared):
    acme = shared.analyst("fresh")
    assert acme.plan(BY_REGION, fresh=True).kind == "priced"
    reply = acme.sql(BY_REGION, fresh=True)
    assert reply.kind == "priced"
    assert reply.cost["rho"] > 0


def test_python_questions_go_to_the_same_hypothesis(shared, frame):
    acme = shared.analyst("python")
    table = acme.ask(Marginals(shared.universe, [["smoker"]]))
    assert {answer.kind for answer in table} == {"free"}
    assert shared.universe.attribute("smoker").values == ("no", "yes", None)
    for answer, value in zip(table, ("no", "yes", None), strict=True):
        assert abs(answer.value - (frame.smoker == value).sum()) <= answer.error
    single = acme.ask(Marginals(shared.universe, [["smoker"]]).query(1))
    assert single.value == table[1].value
    assert [asked.kind for asked in acme.history] == ["free", "free"]


def test_a_long_question_is_one_short_line_of_the_history():
    asked = AskedQuestion(3, "SELECT " + "1, " * 900, "priced", False, Amounts(epsilon=Fraction(1, 4)))
    assert repr(asked).endswith("…', kind='priced', repeated=False, cost={epsilon: 0.25})")
    assert len(repr(asked)) < 200 and len(asked.what) == 2707


def test_history_is_ones_own(shared):
    acme, blue = shared.analyst("mine"), shared.analyst("theirs")
    acme.sql(BY_REGION)
    acme.sql(MEAN)
    assert [asked.number for asked in acme.history] == [0, 1]
    assert "GROUP BY" in acme.history[0].what
    assert blue.history == ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT income FROM people",
        "DROP TABLE people",
        "SELECT COUNT(*) FROM secrets",
        "",
        "SELECT 1; SELECT 2",
    ],
)
def test_what_is_refused_is_not_charged(shared, text):
    acme = shared.analyst("refused")
    before = shared.ledger.entries()
    with pytest.raises(Refused):
        acme.sql(text)
    assert shared.ledger.entries() == before
    assert acme.history == ()


def test_a_share_stops_one_analyst_only():
    with curator(shared=0) as one:
        poor, rich = one.analyst("poor", share=Fraction(1, 10)), one.analyst("rich")
        for place in itertools.count():
            try:
                poor.sql(f"{MEAN} WHERE income > {place}")
            except BudgetExceeded as error:
                assert "share of poor" in str(error)
                break
        assert 0 < place < 1000
        assert rich.sql(MEAN).kind == "priced"


def test_the_budget_stops_everyone():
    with curator(shared=0) as one:
        names = itertools.cycle(["a", "b", "c"])
        with pytest.raises(BudgetExceeded, match="data set"):
            for place in range(5000):
                one.analyst(next(names)).sql(f"{MEAN} WHERE income > {place}")
        assert all(amount >= 0 for amount in one.ledger.left().values())
        assert one.guarantee.implies(epsilon=2, delta=1e-6)


def test_the_conversation_and_the_ledger_add_up_to_the_promise(shared):
    conversation = shared._shared.guarantee.loss
    assert conversation.delta(Fraction(3, 2)) <= 0.75e-6
    assert shared.ledger.guarantee.implies(epsilon=0.5, delta=0.25e-6)
    assert shared.guarantee.implies(epsilon=2, delta=1e-6)
    assert not shared.guarantee.implies(epsilon=1.99, delta=1e-6)


def test_every_reply_says_how_much_of_one_unit_counts():
    caps = ("at most 2 rows of one who in people count",)
    with curator(BY_USER) as one:
        acme = one.analyst("acme")
        for question in (BY_REGION, MEAN, BY_REGION.replace("AS n", "AS m")):
            for reply in (acme.sql(question, insist=True), acme.sql(question, insist=True)):
                assert reply.caps == caps and read_reply(write_reply(reply)).caps == caps
                assert repr(reply).endswith(f"true values are of what counts: {caps[0]}")
                assert caps[0] in reply._repr_html_()


def test_a_history_is_a_table_and_a_frame():
    with curator() as one:
        acme = one.analyst("acme")
        assert repr(acme.history) == "number  kind  what  charged" and len(acme.history.to_pandas()) == 0
        for question in (BY_REGION, MEAN, MEAN):
            acme.sql(question)
        told = acme.history
        assert told == tuple(told) and [each.kind for each in told] == ["free", "priced", "priced"]
        lines = repr(told).splitlines()
        assert len(lines) == 4 and lines[1].startswith("0") and lines[1].endswith("nothing")
        assert (
            "priced, repeated" in lines[3]
            and "epsilon" in lines[2]
            and "<td>priced</td>" in told._repr_html_()
        )
        frame = told.to_pandas()
        assert list(frame["number"]) == [0, 1, 2] and frame["epsilon"].notna().sum() == 1
        few = repr(AskedQuestions(told * 10)).splitlines()
        assert few[-1] == "10 earlier questions are not printed" and len(few) == 22


def test_where_a_unit_is_a_row_nothing_is_said_of_what_counts(shared):
    reply = shared.analyst("acme").sql(BY_REGION)
    assert reply.caps == () and "what counts" not in repr(reply)


@pytest.mark.parametrize(("schema", "rows"), [(BY_USER, 2), (REPLACED, 1)])
def test_other_units_are_paid_for(schema, rows):
    with curator(schema, epsilon=8) as one:
        assert one._table.rows_per_unit == rows
        assert one._shared.guarantee.neighbours == schema.neighbours
        assert one._shared.guarantee.loss.delta(6) <= 0.75e-6
        reply = one.analyst("acme").sql(BY_REGION)
        assert sum(row[1] for row in reply.rows) == pytest.approx(6000, abs=2000)


def test_pure_privacy_all_the_way():
    with curator(delta=0, epsilon=20) as one:
        assert one.guarantee.epsilon(0) == 20
        acme = one.analyst("acme")
        assert acme.sql(BY_REGION).kind in ("free", "measured")
        assert acme.sql(MEAN).cost == {"epsilon": Fraction(20, 50)}


def test_after_the_last_measurement_answers_are_marked():
    with curator() as one:
        acme = one.analyst("acme")
        assert acme.sql(BY_REGION).kind == "free"
        one._shared._conversation.close("for the test")
        assert acme.sql("SELECT COUNT(*) AS n FROM people WHERE age = 20").kind == "free"  # it was measured
        assert acme.sql("SELECT COUNT(*) AS n FROM people WHERE age = 20 OR smoker = 'yes'").kind == "stale"
        assert acme.plan("SELECT COUNT(*) AS n FROM people WHERE age = 21").error("n") > 0
        unchecked = acme.plan("SELECT COUNT(*) AS n FROM people WHERE age = 21 OR smoker = 'yes'")
        assert unchecked.error("n") > 0 and "without a check" in repr(unchecked)
        assert unchecked.error("n", together=True) is None
        assert acme.sql("SELECT COUNT(*) AS n FROM people WHERE age = 20", fresh=True).kind == "priced"


def test_a_failing_engine_keeps_the_charge(monkeypatch):
    with curator(shared=0) as one:

        def fail(self, prepared, **given):
            raise EngineFailed

        acme = one.analyst("acme")
        monkeypatch.setattr(Table, "answer", fail)
        with pytest.raises(EngineFailed):
            acme.sql(MEAN)
        (entry,) = one.ledger.entries()
        assert entry.state == "started"
        assert one.ledger.spent()["rho"] > 0
        monkeypatch.undo()
        assert not acme.sql(MEAN).repeated  # nothing was recorded, so it is charged again
        assert len(one.ledger.entries()) == 2


def test_threads_share_one_record_and_one_budget():
    with curator() as one:
        replies, texts = [], [f"{MEAN} WHERE age < {age}" for age in (22, 24, 26)] + [BY_REGION]

        def ask(name):
            for text in texts:
                replies.append((text, one.analyst(name).sql(text).rows))

        threads = [threading.Thread(target=ask, args=(f"a{place}",)) for place in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(replies) == 24
        assert len(set(replies)) == 4  # everyone was told the same
        assert len(one.ledger.entries()) == 3


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"delta": 1},
        {"shared": 1},
        {"shared": -1},
        {"question": (0, 0)},
        {"question": 0.1},
        {"question": ()},
        {"columns": ["who"]},
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(DiscreetError):
        curator(**bad)


def test_a_name_is_needed(shared):
    with pytest.raises(InvalidParameter, match="name"):
        shared.analyst("")


def test_without_a_shared_hypothesis_python_questions_are_refused():
    with curator(shared=0) as one:
        with pytest.raises(Refused, match="without one"):
            _ = one.universe
        assert one.analyst("acme").sql(BY_REGION).kind == "priced"


def test_copies_are_refused(shared):
    for act in (copy.deepcopy, pickle.dumps):
        with pytest.raises(DiscreetError):
            act(shared)


def test_nothing_private_is_printed(shared, frame):
    text = repr(shared) + repr(shared.analyst("printed")) + repr(shared.ledger)
    assert not any(str(value) in text for value in (len(frame), int(frame.income.sum())))


def test_replies_print_as_tables(shared):
    reply = shared.analyst("printing").sql(
        "SELECT region, COUNT(*) AS n FROM people WHERE age < 29 GROUP BY region"
    )
    assert "charged nothing" in repr(reply)
    assert repr(reply).splitlines()[0].split() == ["region", "n"]
    assert "<td>north</td>" in reply._repr_html_()
    frame = reply.to_pandas()
    assert list(frame.columns) == ["region", "n", "n_low", "n_high"]
    assert (frame.n_low <= frame.n).all()
    with pytest.raises(InvalidParameter, match="one of region, n"):
        reply.column("missing")


def test_sql_that_is_handed_to_ask_is_sent_to_the_right_door(shared):
    with pytest.raises(InvalidParameter, match=r"SQL goes to \.sql"):
        shared.analyst("wrong door").ask("SELECT 1")


# --- whose table it is -------------------------------------------------------------------------------


def test_a_curator_takes_its_table():
    table = Table(people(100), schema=BY_ROW)
    with pytest.raises(InvalidParameter):
        Curator(table, epsilon=-1, delta=0)  # which takes nothing away
    with Curator(table, epsilon=2, delta=0, shared=0, tick=0) as one:
        for around in (
            lambda: table.sql(MEAN, epsilon=1, delta=0),
            lambda: table.histogram(["region"]),
            lambda: dp.Session(table, epsilon=1, delta=0),
            lambda: Curator(table, epsilon=1, delta=0, shared=0),
        ):
            with pytest.raises(TableHeld):
                around()
        assert one.analyst("a").sql(MEAN, insist=True).columns == ("mean",)


def test_what_cannot_be_read_is_refused_before_a_book_is_charged(tmp_path):
    held, book = Table(people(100), schema=BY_ROW), tmp_path / "budget.db"
    with Curator(held, epsilon=1, delta=0, shared=0), pytest.raises(TableHeld):
        Curator(held, epsilon=1, delta=0, ledger=book)
    assert not book.exists()


def test_a_table_that_its_owner_closed_costs_nobody_anything():
    with Table(people(100), schema=BY_ROW) as table:
        one = Curator(table, epsilon=2, delta=0, shared=0, tick=0)
    with one:
        acme = one.analyst("acme")
        left = acme.left
        for _ in range(4):  # more often than an engine may fail for one analyst
            with pytest.raises(TableClosed):
                acme.sql(MEAN, insist=True)
            with pytest.raises(TableClosed):
                acme.open_conversation(["region"], epsilon=0.01, delta=0)
        assert acme.left == left and not acme.history
