"""What a plan says beforehand, and what replies and refusals tell."""

import sys
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import COLUMNS, curator

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    InvalidParameter,
    MissingExtra,
    NoBound,
    Refused,
)
from discreet.curator import limits, offers
from discreet.curator.amounts import Amounts
from discreet.curator.reply import Reply
from discreet.data import Integer, Row, Table
from discreet.queries.kinds.marginals import Marginals

BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


MEAN = "SELECT AVG(income) AS mean FROM people"


@pytest.fixture(scope="module")
def shared():
    with curator() as one:
        yield one


ANY = "SELECT COUNT(*) AS n FROM people WHERE age < 25 OR smoker = 'yes'"  # no box: it needs the gate


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, COUNT(*) AS n FROM people GROUP BY age",
        "SELECT region, age, smoker, COUNT(*) AS n FROM people GROUP BY region, age, smoker",
        "SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 22 AND 25 AND smoker = 'no'",
        ANY,
    ],
)
def test_a_plan_quotes_the_interval_that_will_be_printed(shared, text):
    """What is told beforehand is about the question that is asked: the half width of its widest interval."""
    acme = shared.analyst("quotes")
    quote = acme.plan(text)
    reply = acme.sql(text)
    widest = max((high - low) / 2 for low, high in reply.intervals["n"])
    assert widest <= quote.error("n") + 1
    if text is not ANY:  # there an end below 0 is cut off, or it depends on the gate
        assert quote.error("n") <= 2 * widest + 1
    assert f"n: at most {quote.error('n'):.6g} at 95 %" in repr(quote)
    assert "usually" not in repr(quote)
    assert "[ ] holds 95 of 100 true values, each by itself (calibrated; together=True" in repr(reply)
    again = acme.plan(text)
    assert again.kind == "repeated" and again.error("n") == widest and "same numbers" in repr(again)
    together = reply.interval("n", 0.95, together=True)
    assert max((high - low) / 2 for low, high in together) <= quote.error("n", together=True) + 1
    assert all(a <= c and d <= b for (c, d), (a, b) in zip(reply.interval("n", 0.95), together, strict=True))
    assert again.error("n", together=True) >= again.error("n")
    with pytest.raises(InvalidParameter, match="name"):
        quote.error("missing")


def test_a_plan_looks_at_no_row(shared, monkeypatch):
    acme, before = shared.analyst("foretold"), shared._shared._conversation.tested

    def fail(*given, **named):
        raise AssertionError("private data were read")

    monkeypatch.setattr(Marginals, "answers", fail)
    monkeypatch.setattr(shared._shared._conversation, "_counts", None)
    assert acme.plan(f"{ANY} AND region = 'east'").error("n") > 0
    assert shared._shared._conversation.tested == before


def test_free_answers_are_not_priced(shared, monkeypatch):
    def fail(*given, **named):
        raise AssertionError("a question at no cost was priced")

    monkeypatch.setattr(offers, "price_plan", fail)
    acme = shared.analyst("unpriced")
    assert acme.plan("SELECT COUNT(*) AS n FROM people WHERE age = 23").kind == "shared"
    assert acme.sql("SELECT COUNT(*) AS n FROM people WHERE age = 23").kind == "free"
    with pytest.raises(AssertionError, match="was priced"):
        acme.plan(MEAN + " WHERE age = 23")


def test_an_analyst_without_budget_is_told_what_she_can_do():
    with curator(shared=0) as one:
        acme = one.analyst("poor", share=Fraction(1, 1000))
        with pytest.raises(BudgetExceeded, match=r"share of poor.*cheaper questions.*larger share"):
            acme.sql(MEAN)


@pytest.mark.parametrize("share", [None, Fraction(9, 10)])
def test_what_a_larger_share_would_not_help_is_not_blamed_on_the_share(share):
    with curator(shared=0, delta=0, epsilon=1, question=(Fraction(1, 2), 0)) as one:
        one.analyst("other").sql(MEAN)
        acme = one.analyst("acme", share=share)
        with pytest.raises(BudgetExceeded, match=r"the data set's budget.*another budget") as caught:
            for place in range(2):
                acme.sql(f"{MEAN} WHERE income > {place}")
        assert "share of" not in str(caught.value) and "larger share" not in str(caught.value)


def test_a_price_that_no_question_could_pay_is_refused_at_opening():
    for given in ({"shared": 0.75, "question": (Fraction(51, 200), 0)}, {"question": (5, 0)}):
        with pytest.raises(InvalidParameter, match=r"question must be of an epsilon of at most 0.25"):
            curator(epsilon=1, delta=0, **given)
    curator(epsilon=1, delta=0, shared=0.75, question=(Fraction(1, 4), 0)).close()


def test_a_large_delta_must_be_meant():
    for delta in (0.5, Fraction(2, 1000)):
        with pytest.raises(InvalidParameter, match=r"delta must be at most 0.001.*large_delta=True"):
            curator(delta=delta)
    curator(delta=0.001).close()
    with curator(delta=0.5, large_delta=True) as one:
        assert one.guarantee.implies(epsilon=2, delta=0.5)


def test_replies_have_intervals_at_any_confidence(shared):
    acme = shared.analyst("sure")
    free, bought = acme.sql(BY_REGION), acme.sql("SELECT AVG(age) AS mean FROM people")
    assert free.interval("n", 0.95) == free.interval("n", 0.5) == free.intervals["n"]
    with pytest.raises(NoBound, match="fresh=True"):
        free.interval("n", 0.99)
    wide, narrow = (bought.interval("mean", level)[0] for level in (0.99, 0.5))
    assert wide[0] <= bought.intervals["mean"][0][0] < narrow[0] <= narrow[1] < wide[1]
    assert bought.interval("mean", 0.95) == bought.intervals["mean"]
    renamed = acme.sql("SELECT AVG(age) AS years FROM people")
    assert renamed.repeated and renamed.interval("years", 0.99) == (wide,)
    for name in ("region", "missing"):
        with pytest.raises(InvalidParameter, match="name"):
            free.interval(name, 0.95)
    with pytest.raises(InvalidParameter, match="confidence"):
        free.interval("n", 1)


def test_what_is_left_is_readable_and_complete():
    with curator(shared=0, epsilon=1, question=(Fraction(1, 5), 1e-8)) as one:
        acme = one.analyst("acme")
        names = set(acme.left)
        assert {"epsilon", "rho", "delta"} == names
        with pytest.raises(BudgetExceeded):
            for place in range(200):
                acme.sql(f"{MEAN} WHERE income > {place}")
        assert set(acme.left) == set(one.ledger.left()) == names, "what is spent is 0, and not gone"
        assert min(acme.left.values()) == 0
        assert len(repr(acme.left)) < 80 and all(isinstance(part, Fraction) for part in acme.left.values())


def test_a_column_of_more_values_than_can_be_listed_does_not_keep_a_curator_from_opening():
    long = dp.Schema(
        "people",
        columns=(*COLUMNS[:3], Integer("income", lower=Fraction(0), upper=Fraction(10**9))),
        unit=Row(),
        neighbours=dp.AddRemove("row"),
    )
    with curator(long, columns=None) as one:
        assert one.universe.names == ("region", "age", "smoker")


def test_pandas_is_named_where_it_is_missing(shared, monkeypatch):
    reply = shared.analyst("frames").sql(BY_REGION)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        reply.to_pandas()


def test_large_numbers_are_printed_without_an_exponent():
    reply = Reply(("x",), ((12_345_678.9,),), {"x": ((1e6, 2.5e7),)}, "priced", Amounts())
    assert "12345679 [1000000, 25000000]" in repr(reply)


def test_shared_and_priced_rows_come_in_one_order(shared):
    acme = shared.analyst("orders")
    text = "SELECT smoker, region, COUNT(*) AS n FROM people GROUP BY region, smoker"
    free, paid = acme.sql(text), acme.sql(text, fresh=True)
    assert free.kind != "priced"
    keys = [row[:2] for row in free.rows]
    assert keys == [(smoker, region) for smoker in ("no", "yes") for region in ("east", "north", "west")]
    assert [row[:2] for row in paid.rows] == keys
    counts = {row[:2]: row[2] for row in free.rows}
    other = acme.sql("SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY region, smoker")
    assert {(row[1], row[0]): row[2] for row in other.rows} == counts


USELESS = "SELECT AVG(income) AS mean FROM people WHERE age = 21 AND region = 'west' AND smoker = 'no'"


def test_what_would_say_nothing_is_refused_before_it_is_charged(frame):
    with curator(question=(0.01, 0)) as one:
        acme = one.analyst("acme")
        before = acme.left
        assert "An epsilon of" in repr(acme.plan(USELESS)) and "would span" in repr(acme.plan(USELESS))
        with pytest.raises(Refused, match=r"mean: its interval .* the owner allows 0\.01 .*insist=True"):
            acme.sql(USELESS)
        assert acme.left == before and not acme.history
        reply = acme.sql(USELESS, insist=True)
        assert reply.cost["epsilon"] == Fraction(1, 100)
        assert acme.sql(USELESS).repeated, "what was paid for is given again"
        assert "would span" not in repr(acme.plan(MEAN.replace("people", "people WHERE age > 20"))), (
            "enough rows"
        )


def test_how_many_rows_a_question_is_about_comes_from_the_hypothesis_alone(shared, frame, monkeypatch):
    def fail(*given, **named):
        raise AssertionError("private data were read")

    monkeypatch.setattr(shared._shared._conversation, "_counts", None)
    monkeypatch.setattr(Table, "answer", fail)
    words = repr(shared.analyst("rows").plan(USELESS))
    assert "would span" in words and "for about" in words
    assert 20 < float(words.split("for about ")[1].split(" rows")[0]) < 300, "60 of 6000"


def test_answers_of_the_hypothesis_are_shown_as_they_are_asked_for(shared):
    acme = shared.analyst("forms")
    plain = acme.sql("SELECT smoker, region, COUNT(*) AS n FROM people GROUP BY smoker, region")
    assert plain.kind == "free"
    form = (
        "SELECT smoker, region, 100.0 * COUNT(*) / 1000 AS share, COUNT(*) > 10 AS many FROM people "
        "GROUP BY smoker, region HAVING COUNT(*) > 1 ORDER BY COUNT(*) DESC, region LIMIT 3"
    )
    assert acme.plan(form).kind == "repeated"
    shown = acme.sql(form)
    assert (shown.kind, shown.repeated, shown.cost) == ("free", True, {})
    counts = sorted((n for *_, n in plain.rows if n > 1), reverse=True)[:3]
    assert list(shown.column("share")) == [n / 10 for n in counts]
    assert list(shown.intervals) == ["share"] and len(shown.interval("share", 0.9)) == len(shown) == 3
    ends = {row[:2]: ends for row, ends in zip(plain.rows, plain.intervals["n"], strict=True)}
    for row, (low, high) in zip(shown.rows, shown.intervals["share"], strict=True):
        assert (low, high) == (pytest.approx(ends[row[:2]][0] / 10), pytest.approx(ends[row[:2]][1] / 10))
    fresh = acme.plan("SELECT COUNT(*) - 5 AS less, SQRT(COUNT(*)) AS root FROM people WHERE smoker = 'yes'")
    assert fresh.kind == "shared" and fresh.error("less") is not None and fresh.error("root") is None


def test_a_priced_question_in_another_form_costs_nothing(shared):
    acme = shared.analyst("priced forms")
    first = acme.sql(
        "SELECT smoker, AVG(age) AS mean, COUNT(age) AS n FROM people GROUP BY smoker", fresh=True
    )
    again = acme.sql(
        "SELECT smoker, AVG(age) * COUNT(age) AS total FROM people GROUP BY smoker ORDER BY 2 LIMIT 1",
        fresh=True,
    )
    assert first.kind == again.kind == "priced"
    assert again.repeated and again.cost == {}
    assert again.column("total")[0] == pytest.approx(min(mean * n for _, mean, n in first.rows))
    assert again.answer.guarantee == first.answer.guarantee
    more = acme.plan("SELECT smoker, AVG(age) FROM people GROUP BY smoker HAVING MEDIAN(age) > 1", fresh=True)
    assert more.kind == "priced"


def test_arithmetic_at_no_cost_is_bounded(shared, monkeypatch):
    monkeypatch.setattr(limits, "COMPUTED", 30)
    acme = shared.analyst("busy")
    text = "SELECT smoker, region, {} AS v FROM people WHERE age < 27 GROUP BY smoker, region"
    assert acme.sql(text.format("COUNT(*) + 1")).kind == "free"
    with pytest.raises(Refused, match="30 is the most"):
        acme.sql(text.format("COUNT(*) + 1 + 2 + 3 + 4 + 5"))
