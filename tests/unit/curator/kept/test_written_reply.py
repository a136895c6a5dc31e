"""Replies, quotes and history over a wire: what is read is what was shown."""

import datetime
import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.curator.conftest import curator

from discreet.core.errors import InternalError, InvalidParameter, NoBound
from discreet.curator.amounts import Amounts
from discreet.curator.history import AskedQuestion, Quote
from discreet.curator.kept.written_reply import (
    read_asked,
    read_quote,
    read_receipt,
    read_reply,
    write_asked,
    write_quote,
    write_receipt,
    write_reply,
)
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.reply import Reply, SentReply
from discreet.data.pricing.question_plan import ColumnError

INCOME = "SELECT region, AVG(income) AS mean, COUNT(*) AS n FROM people GROUP BY ROLLUP (region)"
COUNTS = "SELECT region, COUNT(*) AS n, COUNT(*) / 7 AS weeks FROM people GROUP BY ROLLUP (region)"

numbers = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False),
)
moments = st.datetimes().map(lambda one: one.replace(fold=0))
values = st.one_of(
    st.none(), st.booleans(), numbers, st.text(), st.dates(), moments, st.tuples(numbers, numbers)
)
amounts = st.dictionaries(st.sampled_from(("epsilon", "delta", "rho")), st.fractions(0), max_size=3)
receipts = st.builds(Receipt, st.text(), st.text(), st.integers(0, 2**62), st.integers(0, 2**62), st.text())


@st.composite
def replies(draw):
    names = draw(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
    count = draw(st.integers(0, 4))
    rows = tuple(tuple(draw(values) for _ in names) for _ in range(count))
    with_ends = draw(st.lists(st.sampled_from(names), unique=True))
    ends = {name: tuple((draw(values), draw(values)) for _ in range(count)) for name in with_ends}
    proved = draw(st.none() | st.just(ends))
    return Reply(
        columns=tuple(names),
        rows=rows,
        intervals=ends,
        kind=draw(st.sampled_from(("free", "measured", "stale", "priced"))),
        cost=Amounts(draw(amounts)),
        repeated=draw(st.booleans()),
        receipt=draw(st.none() | receipts),
        sent=SentReply(
            tuple(draw(st.lists(st.sampled_from(names), unique=True))), draw(st.integers(0)), proved
        ),
    )


def send(written):
    """Through the JSON of a wire, which knows no tuples."""
    return json.loads(json.dumps(written, allow_nan=False))


def same(one, other):
    """Equal, and of the same kinds: 1 is neither 1.0 nor True."""
    return one == other and repr(one) == repr(other)


@given(replies())
def test_what_is_read_is_what_was_written(reply):
    read = read_reply(send(write_reply(reply)))
    assert same(read, reply)
    assert same(read.rows, reply.rows) and same(dict(read.intervals), dict(reply.intervals))
    assert same(read.together, reply.together) and same(read.sent, reply.sent)
    assert same(read.cost, reply.cost) and read.receipt == reply.receipt
    assert read._repr_html_() == reply._repr_html_()


@pytest.mark.parametrize(
    ("given_", "text"),
    [({"shared": 0, "delta": 0}, INCOME), ({}, COUNTS)],
    ids=["priced", "free"],
)
def test_a_reply_says_the_same_on_the_other_side(given_, text):
    with curator(**given_) as one:
        reply = one.analyst("acme").sql(text, insist=True)
        quote = one.analyst("acme").plan(text)
        (asked,) = one.analyst("acme").history
    read = read_reply(send(write_reply(reply)))
    assert repr(read) == repr(reply) and read._repr_html_() == reply._repr_html_()
    assert "(all)" in repr(read)
    assert same(read.rows, reply.rows) and read.groups == reply.groups and read.keys == ("region",)
    assert read.together == reply.together
    assert read.to_pandas().equals(reply.to_pandas())
    for name in reply.intervals:
        assert read.interval(name, 0.95) == reply.interval(name, 0.95)
        assert read.interval(name, 0.95, together=True) == reply.interval(name, 0.95, together=True)
        with pytest.raises(NoBound):
            read.interval(name, 0.99)
    assert read.quote().columns == reply.quote().columns
    with pytest.raises(InternalError):
        read.repeat(None)
    assert read.copy().repeated
    told = read_quote(send(write_quote(quote)))
    assert repr(told) == repr(quote) and told.price == quote.price
    assert told.columns == quote.columns and told.together == quote.together
    assert read_asked(send(write_asked(asked))) == asked


def test_a_sent_answer_names_what_it_knows():
    with curator(shared=0, delta=0) as one:
        reply = one.analyst("acme").sql(INCOME, insist=True)
    with pytest.raises(NoBound, match=r"what was sent has its intervals at 0\.95"):
        read_reply(send(write_reply(reply))).interval("mean", 0.999)


@pytest.mark.parametrize(
    "name", ["columns", "rows", "intervals", "together", "kind", "cost", "receipt", "keys"]
)
def test_what_is_no_reply_is_refused(name):
    written = send(write_reply(Reply(("n",), ((1,),), {"n": ((0, 2),)}, "priced", Amounts())))
    assert read_reply(written).rows == ((1,),)
    with pytest.raises(InvalidParameter, match="as this version writes it"):
        read_reply({key: value for key, value in written.items() if key != name})
    with pytest.raises(InvalidParameter):
        read_reply(written | {name: 7})


@pytest.mark.parametrize("change", [{"kind": "gift"}, {"confidence": "99/100"}, {"rows": [[{"eval": "1"}]]}])
def test_what_another_version_wrote_is_not_guessed_at(change):
    written = send(write_reply(Reply(("n",), ((1,),), {}, "priced", Amounts())))
    with pytest.raises(InvalidParameter):
        read_reply(written | change)


def test_quotes_history_and_receipts_are_refused_in_parts():
    quote = Quote("priced", (ColumnError("n", 1.5, "at most 1.5"),), Amounts(epsilon=Fraction(1, 3)))
    asked = AskedQuestion(3, "SELECT 1", "priced", False, Amounts(epsilon=Fraction(1, 3)))
    receipt = Receipt("b", "l", 1, 2, "d")
    for value, write, read in (
        (quote, write_quote, read_quote),
        (asked, write_asked, read_asked),
        (receipt, write_receipt, read_receipt),
    ):
        written = send(write(value))
        assert read(written) == value
        for name in written:
            if name == "guarantee":
                continue
            with pytest.raises(InvalidParameter):
                read({key: one for key, one in written.items() if key != name})
    assert replace(asked, cost=Amounts()) != asked


@pytest.mark.parametrize(
    "value", [1 << 53, -(1 << 60), math.inf, -math.inf, Decimal("0.10"), datetime.datetime(2026, 1, 2, 3)]
)
def test_exact_values_are_text_where_json_would_round_them(value):
    written = write_reply(Reply(("n",), ((value,),), {}, "priced", Amounts()))
    ((cell,),) = written["rows"]
    assert isinstance(cell, dict) and all(isinstance(one, str) for one in cell.values())
    assert same(read_reply(send(written)).rows, ((value,),))
