"""Questions that stand over time: one charge, each day measured once, whatever restarts and grows."""

import datetime
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest
from tests.quick_disk import tmp_path

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    ConversationClosed,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    Refused,
)
from discreet.curator.curator import Curator
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.data import Category, Date, Identifier, Integer, Row, Schema, Table, User

__all__ = ["tmp_path"]
FIRST, LAST = datetime.date(2024, 1, 1), datetime.date(2024, 2, 29)
COLUMNS = (Date("day", lower=FIRST, upper=LAST), Category("ward", values=("north", "south")))
SCHEMA = Schema("visits", columns=COLUMNS, unit=Row(), neighbours=dp.AddRemove("row"), time="day")
DAILY = "SELECT day, COUNT(*) AS n FROM visits WHERE ward = 'north' GROUP BY day"
RUNNING = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS n FROM visits GROUP BY day"
OFFER = {"epsilon": 20, "delta": 0}


def visits(days=60, a_day=50):
    """Half of a day's visits are in the north."""
    places = range(days * a_day)
    days_of = [FIRST + datetime.timedelta(place // a_day) for place in places]
    return pandas.DataFrame({"day": days_of, "ward": [("north", "south")[place % 2] for place in places]})


def curator(ledger=None, *, schema=SCHEMA, rows=None, **given):
    table = Table(visits() if rows is None else rows, schema=schema)
    public = {"epsilon": 100, "delta": 1e-6, "shared": 0, "tick": 0, "question": (30, 1e-7)} | given
    return Curator(table, ledger=ledger, **public)


def through(days):
    return FIRST + datetime.timedelta(days - 1)


@pytest.mark.parametrize("delta", [0, 1e-7])
@pytest.mark.parametrize("query", [DAILY, RUNNING])
def test_numbers_are_as_near_as_the_price_said(query, delta):
    with curator() as one:
        acme = one.analyst("acme")
        quote = acme.plan_standing(query, epsilon=5, delta=delta)
        assert acme.left == one.analyst("blue").left and not one.ledger.entries()
        name = acme.open_standing(query, epsilon=5, delta=delta)
        answer = acme.read_standing(name)
        truth = np.cumsum([50] * 60) if query == RUNNING else np.full(60, 25)
        off = np.abs(np.array(answer.values) - truth)
        assert len(answer) == 60 and answer.left == 0 and answer.is_running == (query == RUNNING)
        assert quote.error("n") == answer.together and max(answer.errors) <= answer.together
        # 95 of 100 each; of 60 fewer than 45 are seen with a probability of about 1e-8 where they are apart
        assert np.sum(off <= answer.errors) >= 45 or query == RUNNING
        assert off.max() <= 3 * answer.together
        assert dict(quote.cost) == dict(one.ledger.entries()[0].charge)
        assert answer.interval(3)[0] == answer.values[3] - answer.errors[3]
        assert "60" not in repr(answer).splitlines()[0] and "still to come" in repr(answer)
        assert list(answer.to_pandas().columns) == ["period", "value", "low", "high"]
        assert "<table>" in answer._repr_html_()


def test_what_is_printed_says_what_is_not_and_that_no_count_is_negative():
    days = tuple(FIRST + datetime.timedelta(one) for one in range(25))
    shown = {"name": "n", "question": DAILY, "is_running": False, "periods": days, "left": 3}
    answer = StandingAnswer(**shown, values=(4.0, -30.0) * 12 + (4.0,), errors=(10.0,) * 25, together=50.0)
    assert answer.interval(0) == (0, 14) and answer.interval(1) == (0, 0)
    assert answer.interval(1, together=True) == (0, 20)
    assert "5 earlier periods are not printed" in repr(answer) and "more rows" not in repr(answer)
    assert str(days[4]) not in repr(answer) and f"{days[5]}  -30 [0, 0]" in repr(answer)


def test_one_charge_for_all_days(tmp_path):
    told = []
    for days in (1, 2, 31, 31, 60):
        with curator(tmp_path / "budget.db") as one:
            acme = one.analyst("acme")
            name = acme.open_standing(RUNNING, key="my dashboard".replace(" ", "-"), **OFFER)
            answer = acme.read_standing(name, through=through(days))
            assert [entry.state for entry in one.ledger.entries()] == ["finished"]
            assert acme.standing == {name: answer.question}
            assert len(answer) == days and answer.periods[-1] == through(days)
            told.append(answer)
    for earlier in told:  # what was told stays what was told, to the last bit
        assert told[-1].values[: len(earlier)] == earlier.values
        assert told[-1].errors[: len(earlier)] == earlier.errors


def test_a_day_is_measured_once(tmp_path):
    """Asked again after rows were added to it, a day still says what it said."""
    with curator(tmp_path / "budget.db") as one:
        acme = one.analyst("acme")
        names = [acme.open_standing(query, **OFFER) for query in (DAILY, RUNNING)]
        before = [acme.read_standing(name, through=through(10)) for name in names]
    more = pandas.concat([visits(), visits(days=1, a_day=40_000)])
    with curator(tmp_path / "budget.db", rows=more, version="late") as one:
        acme = one.analyst("acme")
        daily, running = (acme.read_standing(name, through=through(12)) for name in names)
        assert daily.values[:10] == before[0].values and running.values[:10] == before[1].values
        assert max(daily.values) < 100  # late visits of a day that was told count nowhere
        assert abs(running.values[-1] - 600) < 100  # nor in sums of blocks that do not reach back to it


def test_a_table_that_grows_is_counted_as_it_grows(tmp_path):
    totals = []
    for days in (10, 20, 40):
        with curator(tmp_path / "budget.db", rows=visits(days), version=f"v{days}") as one:
            acme = one.analyst("acme")
            name = acme.open_standing(RUNNING, key="k", **OFFER)
            totals.append(acme.read_standing(name, through=through(days)))
            assert len(one.ledger.entries()) == 1
    assert [round(answer.values[-1], -2) for answer in totals] == [500, 1000, 2000]


def test_weeks_and_conditions_of_days():
    weekly = (
        "SELECT DATE_TRUNC('week', day) AS w, COUNT(*) AS n FROM visits WHERE day >= '2024-02-01' GROUP BY w"
    )
    with curator() as one:
        acme = one.analyst("acme")
        answer = acme.read_standing(acme.open_standing(weekly, **OFFER))
        assert answer.periods[0] == datetime.date(2024, 1, 29) and len(answer) == 5
        assert [round(value, -1) for value in answer.values] == [200, 350, 350, 350, 200]
        days = acme.open_standing(DAILY.replace("WHERE", "WHERE day < DATE '2024-01-11' AND"), **OFFER)
        assert len(acme.read_standing(days)) == 10


def test_days_that_are_not_over_are_not_counted(monkeypatch):
    today = datetime.datetime.now(tz=datetime.UTC).date()
    columns = (
        Date("day", lower=today - datetime.timedelta(9), upper=today + datetime.timedelta(9)),
        COLUMNS[1],
    )
    schema = replace(SCHEMA, columns=columns)
    with curator(schema=schema) as one:
        acme = one.analyst("acme")
        daily = acme.open_standing(DAILY, **OFFER)
        assert len(acme.read_standing(daily)) == 9
        with pytest.raises(Refused, match="is not over"):
            acme.read_standing(daily, through=today)
        weekly = acme.open_standing(
            "SELECT DATE_TRUNC('week', day) AS w, COUNT(*) AS n FROM visits GROUP BY w", **OFFER
        )
        ended = acme.open_standing(DAILY.replace("WHERE", f"WHERE day < '{today}' AND"), **OFFER)
        assert len(acme.read_standing(ended)) == 9
        weeks = acme.read_standing(weekly).periods
        assert all(week + datetime.timedelta(7) <= today for week in weeks) and len(weeks) in (1, 2)


@pytest.mark.parametrize(
    "query, words",
    [
        ("SELECT COUNT(*) FROM visits", "a period and one number"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", "grouped by day"),
        ("SELECT day, ward, COUNT(*) FROM visits GROUP BY day, ward", "a period and one number"),
        ("SELECT day, COUNT(*), COUNT(*) + 1 AS m FROM visits GROUP BY day", "a period and one number"),
        ("SELECT day, COUNT(DISTINCT ward) AS n FROM visits GROUP BY day", "a count of rows"),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day HAVING n > 3", "look at one answer"),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day LIMIT 3", "look at one answer"),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day ORDER BY n", "look at one answer"),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY day ORDER BY day DESC", "order of time"),
        ("SELECT EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY m", "not by numbers"),
        (
            "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC) AS n FROM visits GROUP BY day",
            "sum of these so far",
        ),
        (
            "SELECT day, AVG(COUNT(*)) OVER (ORDER BY day) AS n FROM visits GROUP BY day",
            "sum of these so far",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) day, COUNT(*) FROM visits GROUP BY day",
            "no options",
        ),
        ("SELECT day, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((day), ())", "one GROUP BY"),
        ("SELECT day - 1000000 AS k, COUNT(*) AS n FROM visits GROUP BY k", "beyond the calendar"),
        (
            "SELECT COALESCE(day, DATE '2024-01-03') AS k, COUNT(*) AS n FROM visits GROUP BY k",
            "without a date",
        ),
        (
            "SELECT CASE WHEN day > '2024-02-01' THEN DATE '2024-01-01' ELSE day END AS k, COUNT(*) AS n "
            "FROM visits GROUP BY k",
            "order of time",
        ),
        (
            "SELECT CASE WHEN ward = 'north' THEN day ELSE DATE '2024-01-01' END AS k, COUNT(*) AS n "
            "FROM visits GROUP BY k",
            "grouped by day",
        ),
    ],
)
def test_what_cannot_stand_is_refused_by_name_and_costs_nothing(query, words):
    with curator() as one:
        acme = one.analyst("acme")
        for call in (acme.plan_standing, acme.open_standing):
            with pytest.raises(Refused, match=words):
                call(query, **OFFER)
        assert not one.ledger.entries()


def test_tables_that_nothing_can_stand_on():
    with curator(schema=replace(SCHEMA, time=None)) as one:
        with pytest.raises(Refused, match="no time column"):
            one.analyst("acme").open_standing(DAILY, **OFFER)
    by_user = replace(
        SCHEMA,
        columns=(Identifier("who"), *COLUMNS),
        unit=User(column="who", max_rows=2, max_groups=2),
        neighbours=dp.AddRemove("who"),
    )
    rows = visits().assign(who=[str(place // 3) for place in range(3000)])
    with curator(schema=by_user, rows=rows) as one:
        with pytest.raises(Refused, match="chosen anew whenever the table is opened"):
            one.analyst("acme").open_standing(DAILY, **OFFER)


@pytest.mark.parametrize("time", ["ward", "night", 3])
def test_a_time_column_is_a_date(time):
    with pytest.raises(InvalidParameter, match="a date column"):
        replace(SCHEMA, time=time)


def test_offers_are_refused_before_anything_is_charged():
    with curator() as one:
        acme = one.analyst("acme")
        with pytest.raises(BudgetExceeded):
            acme.open_standing(DAILY, epsilon=101, delta=0)
        assert "budget" in acme.plan_standing(DAILY, epsilon=101, delta=0).refusal
        for wrong in ({"epsilon": 0}, {"epsilon": float("nan")}, {"delta": 2}, {"key": "a b"}, {"insist": 1}):
            with pytest.raises(InvalidParameter):
                acme.open_standing(DAILY, **OFFER | wrong)
        with pytest.raises(InvalidParameter):
            acme.open_standing(DAILY, study="never registered", **OFFER)
        assert not one.ledger.entries()
    with curator(schema=replace(SCHEMA, rows=100)) as one:
        acme = one.analyst("acme")
        with pytest.raises(Refused, match="insist=True"):
            acme.open_standing(RUNNING, epsilon=0.01, delta=0)
        acme.open_standing(RUNNING, epsilon=0.01, delta=0, insist=True)


def test_a_question_belongs_to_whoever_opened_it():
    with curator() as one:
        acme, blue = one.analyst("acme"), one.analyst("blue")
        name = acme.open_standing(DAILY, key="k", **OFFER)
        assert blue.standing == {} and blue.open_standing(DAILY, key="k", **OFFER) != name
        for door, called in ((blue, name), (acme, "0" * 16), (acme, "")):
            with pytest.raises((ConversationClosed, InvalidParameter)):
                door.read_standing(called)
        with pytest.raises(KeyReused):
            acme.open_standing(RUNNING, key="k", **OFFER)
        with pytest.raises(KeyReused):
            acme.open_standing(DAILY, key="k", epsilon=19, delta=0)
        with pytest.raises(InvalidParameter):
            acme.read_standing(name, through="2024-01-05")
        with pytest.raises(InvalidParameter):
            acme.read_standing(name, through=datetime.datetime(2024, 1, 5))


def test_two_curators_do_not_draw_the_noise_of_one_day_twice(tmp_path):
    with curator(tmp_path / "budget.db") as one:
        name = one.analyst("acme").open_standing(DAILY, **OFFER)
        two = Curator(
            Table(visits(), schema=SCHEMA),
            ledger=one.ledger._book,
            epsilon=100,
            delta=1e-6,
            shared=0,
            tick=0,
            question=(30, 1e-7),
        )
        here, there = one.analyst("acme"), two.analyst("acme")
        assert len(there.read_standing(name, through=through(1))) == 1
        first = here.read_standing(name, through=through(3))
        with pytest.raises(LedgerRefused, match="somebody else goes on"):
            there.read_standing(name, through=through(3))
        assert there.read_standing(name, through=through(3)).values == first.values  # it looked again
        two._table.close()


def test_an_engine_that_fails_is_told_by_a_constant_and_costs_nothing_more(monkeypatch):
    with curator() as one:
        acme = one.analyst("acme")
        name = acme.open_standing(DAILY, **OFFER)
        table = one._service.standing._table

        def fail(plan):
            raise RuntimeError("alice")

        monkeypatch.setattr(type(table), "read_vector", lambda self, plan: fail(plan))
        for _ in range(3):
            with pytest.raises(EngineFailed) as caught:
                acme.read_standing(name)
            assert "alice" not in str(caught.value) and caught.value.__cause__ is None
        with pytest.raises(Refused, match="failed at 3"):
            acme.read_standing(name)
        assert len(one.ledger.entries()) == 1


def test_a_restart_under_other_declarations_ends_it(tmp_path):
    with curator(tmp_path / "budget.db") as one:
        name = one.analyst("acme").open_standing(DAILY, **OFFER)
        one.analyst("acme").read_standing(name, through=through(3))
    for changed in (
        replace(SCHEMA, time=None),
        replace(SCHEMA, columns=(Date("day", lower=FIRST, upper=LAST + datetime.timedelta(1)), COLUMNS[1])),
        replace(SCHEMA, columns=(COLUMNS[0], Integer("ward", lower=0, upper=1))),
        replace(SCHEMA, columns=(Date("day", lower=FIRST, upper=LAST, null=LAST), COLUMNS[1])),
    ):
        with curator(tmp_path / "budget.db", schema=changed) as one:
            with pytest.raises(ConversationClosed, match="other declarations"):
                one.analyst("acme").read_standing(name)
            assert one.analyst("acme").standing.keys() == {name}


@pytest.mark.parametrize("query", [DAILY, RUNNING, RUNNING.replace("day", "DATE_TRUNC('week', day)")])
def test_days_that_are_moved_by_their_declaration_are_not_measured_twice(tmp_path, query):
    """As many periods, called as before, of which the next one to be measured was measured already."""
    with curator(tmp_path / "budget.db") as one:
        acme = one.analyst("acme")
        name = acme.open_standing(query, **OFFER)
        told = acme.read_standing(name, through=through(20))
    for weeks in (-1, 1):
        by = datetime.timedelta(7 * weeks)
        moved = replace(SCHEMA, columns=(Date("day", lower=FIRST + by, upper=LAST + by), COLUMNS[1]))
        with curator(tmp_path / "budget.db", schema=moved) as one:
            with pytest.raises(ConversationClosed, match="other declarations"):
                one.analyst("acme").read_standing(name)
    with curator(tmp_path / "budget.db") as one:
        assert one.analyst("acme").read_standing(name).values[: len(told)] == told.values


def test_nothing_is_measured_once_the_data_are_retired(tmp_path):
    with curator(tmp_path / "budget.db") as one:
        acme = one.analyst("acme")
        name = acme.open_standing(DAILY, **OFFER)
        told = acme.read_standing(name, through=through(3))
        one.ledger.retire("the study is over")
        with pytest.raises(Refused, match="retired"):
            acme.read_standing(name, through=through(4))
        assert acme.read_standing(name, through=through(3)) == told


@pytest.mark.parametrize(
    "key", ["day - 7", "day + 7", "DATE_TRUNC('week', day) - 30", "DATE_TRUNC('week', day)"]
)
def test_periods_are_over_by_their_days_whatever_they_are_called(key):
    today = datetime.datetime.now(tz=datetime.UTC).date()
    first, last = (today + datetime.timedelta(days) for days in (-9, 9))
    schema = replace(SCHEMA, columns=(Date("day", lower=first, upper=last), COLUMNS[1]))
    past = [first + datetime.timedelta(days) for days in range(9)]
    sundays = sum(day.isoweekday() == 7 for day in past)
    with curator(schema=schema) as one:
        acme = one.analyst("acme")
        name = acme.open_standing(f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY k", **OFFER)
        assert len(acme.read_standing(name)) == (sundays if "week" in key else 9)
        with pytest.raises(Refused, match="not over"):
            acme.read_standing(name, through=last + datetime.timedelta(7))


def test_what_is_kept_for_one_analyst_has_an_end(monkeypatch):
    monkeypatch.setattr("discreet.curator.limits.PERIODS", 3 << 10)
    with curator() as one:
        acme = one.analyst("acme")
        names = [acme.open_standing(DAILY, key=f"k{place}", epsilon=1, delta=0) for place in range(3)]
        with pytest.raises(Refused, match="at most 3072 periods"):
            acme.open_standing(RUNNING, epsilon=1, delta=0)
        with pytest.raises(Refused, match="at most 3072 periods"):
            acme.open_standing(RUNNING, key="another", epsilon=1, delta=0)
        assert acme.open_standing(DAILY, key="k1", epsilon=1, delta=0) == names[1]
        assert len(one.ledger.entries()) == 3 and list(acme.standing) == names
        one.analyst("blue").open_standing(DAILY, epsilon=1, delta=0)  # whose are her own


def test_offers_that_no_noise_can_be_had_for_are_refused_by_name():
    with curator() as one:
        acme = one.analyst("acme")
        for query in (DAILY, RUNNING):
            for epsilon in (1e-9, Fraction(1, 10**400)):
                for call in (acme.plan_standing, acme.open_standing):
                    with pytest.raises(InvalidParameter, match="epsilon"):
                        call(query, epsilon=epsilon, delta=0)
        with pytest.raises(ValueError, match="digits"):  # too long to be written down
            acme.open_standing(DAILY, epsilon=Fraction(10**5000 + 1, 10**5000), delta=0)
        assert not one.ledger.entries()


def test_a_ledger_that_lost_rows_ends_all_of_them(tmp_path):
    path = tmp_path / "budget.db"
    with curator(path) as one:
        name = one.analyst("acme").open_standing(DAILY, **OFFER)
    older = path.read_bytes()
    with curator(path) as one:
        one.analyst("acme").read_standing(name)
    path.write_bytes(older)
    recover(path)
    with curator(path) as one:
        with pytest.raises(ConversationClosed, match="rows of the ledger were lost"):
            one.analyst("acme").read_standing(name)
        with pytest.raises(ConversationClosed, match="rows of the ledger were lost"):
            one.analyst("acme").open_standing(DAILY, **OFFER)


def test_what_was_cut_short_behind_its_charge_goes_on_under_its_key(tmp_path, monkeypatch):
    from discreet.curator.standing import standing_questions

    with curator(tmp_path / "budget.db") as one:
        acme = one.analyst("acme")
        with monkeypatch.context() as patch:
            patch.setattr(standing_questions.StandingNotes, "begin", lambda self, facts: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                acme.open_standing(DAILY, key="k", **OFFER)
        spent = one.ledger.spent("acme")
        assert spent and [asked.kind for asked in acme.history] == ["failed"] and acme.standing == {}
    with curator(tmp_path / "budget.db") as one:
        acme = one.analyst("acme")
        name = acme.open_standing(DAILY, key="k", **OFFER)
        assert len(acme.read_standing(name)) == 60 and one.ledger.spent("acme") == spent
