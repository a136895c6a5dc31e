"""The client against a real server, and its face against that of a door in one's own process."""

import copy
import inspect
import json
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from tests.discreet_server import BY_WARD, MEAN, Served, add_analyst, make_folder

from discreet.client import RemoteAnalyst, connect
from discreet.core.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidParameter,
    KeyReused,
    NotFree,
    Refused,
    ServerRefused,
    StrangeReply,
)
from discreet.curator import Analyst
from discreet.data.schema.toml_file import read_schema
from discreet.server.access import Access

REPLY = {
    "columns": ["n"],
    "keys": [],
    "rows": [[1]],
    "intervals": {"n": [[0, {"float": "inf"}]]},
    "together": None,
    "confidence": "19/20",
    "holds": "all of a column at once, proved",
    "groups": 1,
    "kind": "free",
    "cost": {},
    "repeated": False,
    "receipt": None,
}


@pytest.fixture
def door(real):
    with connect(real.url, real.keys["acme"]) as made:
        yield made


def test_the_face_is_that_of_a_door_in_ones_own_process():
    ours = {name for name in vars(Analyst) if not name.startswith("_")} - {"name", "universe", "universe_of"}
    assert ours <= set(vars(RemoteAnalyst))
    asked = "plan", "sql", "synthetic", "open_conversation", "plan_conversation", "close_conversation"
    for name in (*asked, "plan_standing", "open_standing", "read_standing"):
        here, there = (inspect.signature(getattr(kind, name)).parameters for kind in (Analyst, RemoteAnalyst))
        assert list(here) == list(there)[: len(here)] or set(here) == set(there)


def test_questions_are_priced_answered_and_remembered(door):
    before = door.left
    assert door.share == 1
    quote = door.plan(MEAN)
    assert quote.kind == "priced" and quote.cost["epsilon"] > 0
    assert "epsilon" in repr(quote)
    reply = door.sql(MEAN)
    assert not reply.repeated and reply.cost == quote.cost
    assert reply.receipt is not None and door.receipt(reply.receipt.number) == reply.receipt
    with pytest.raises(ServerRefused):
        door.receipt(10_000)
    ((low, high),) = reply.intervals["m"]
    assert low <= reply.rows[0][0] <= high
    assert door.left["epsilon"] == before["epsilon"] - quote.cost["epsilon"]
    free = door.sql(BY_WARD)
    assert (
        free.kind in ("free", "measured")
        and not free.cost
        and [ward for ward, _ in free.rows] == ["north", "south", "west"]
    )
    frame = free.to_pandas()
    assert list(frame) == ["ward", "n", "n_low", "n_high"]
    assert "north" in repr(free) and "<table>" in free._repr_html_()
    assert [one.kind for one in door.history][-2:] == ["priced", free.kind]
    assert sum(one.cost.get("epsilon", 0) for one in door.history) == quote.cost["epsilon"]
    assert isinstance(door.left["epsilon"], Fraction)


def test_the_schema_is_the_owners(door, real):
    assert door.schema == read_schema(real.folder / "visits.toml")
    assert door.datasets == ("visits",)
    assert door.facts["shared_columns"] == ["ward", "age"]


def test_many_counts_come_as_arrays(door):
    clauses = [{"ward": ["north"]}, {"ward": ["south", "west"], "age": np.arange(4)}, {}]
    counts = door.ask(clauses)
    assert counts.values.shape == counts.owns.shape == counts.errors.shape == (3,)
    assert abs(counts.values[2] - 2000) < 200
    assert np.all(counts.owns <= counts.errors)
    assert set(counts.kinds) <= {"free", "measured"}
    with pytest.raises(InvalidParameter, match="attribute"):
        door.ask([{"nothing": ["north"]}])


@pytest.mark.parametrize(
    "asked",
    [[], "ward", [7], [{"ward": "north"}], [{"ward": [1.5]}], [{"ward": [b"x"]}], [{7: ["north"]}], None],
)
def test_what_is_no_list_of_counts_is_refused_before_it_is_sent(door, asked):
    with pytest.raises(InvalidParameter):
        door.ask(asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"ward": ["north"]},
            r"conjunctions must be a list of counts.*got a str among them. For one count pass",
        ),
        ([{"ward": "north"}], r"ward must be a list of values, got a str. For one count pass"),
        ([{"ward": []}], r"ward must be a list of values, got none. For one count pass"),
    ],
)
def test_one_count_that_is_written_otherwise_is_told_how(door, asked, words):
    with pytest.raises(InvalidParameter, match=words):
        door.ask(asked)


def test_what_no_server_takes_is_refused_in_our_own_words(door):
    with pytest.raises(InvalidParameter, match=r"delta must be at most 0.001.*No server takes a larger one"):
        door.open_conversation(["age"], epsilon=0.1, delta=0.5)
    with pytest.raises(InvalidParameter, match="insist"):
        door.sql(MEAN, insist="no")


def test_refusals_are_those_of_the_curator(door):
    with pytest.raises(Refused, match="single rows are never shown"):
        door.sql("SELECT * FROM visits")
    with pytest.raises(InvalidParameter):
        door.sql("")
    with pytest.raises(InvalidParameter, match="decimal"):
        door.sql(MEAN, epsilon=Fraction(1, 3))
    with pytest.raises(InvalidParameter, match="key"):
        door.sql(MEAN, key="ключ")
    for bad in (float("nan"), -1, 0, True):
        with pytest.raises(InvalidParameter, match="epsilon"):
            door.plan(MEAN, epsilon=bad)


def test_a_share_that_is_used_up_is_told_as_that(real):
    key = add_analyst(real.folder, "poor", Fraction(1, 1000))
    with connect(real.url, key) as door, pytest.raises(BudgetExceeded):
        door.sql("SELECT SUM(cents) AS s FROM visits")


def test_keys_that_open_nothing(real):
    with pytest.raises(ServerRefused, match="Send a key") as caught:
        connect(real.url, "dk_0000000000000000_" + "x" * 43)
    assert caught.value.status == 401
    nobody = add_analyst(real.folder, "nobody", None)
    with pytest.raises(InvalidParameter, match="it opens none"):
        connect(real.url, nobody)
    with pytest.raises(InvalidParameter, match="one that your key opens: visits"):
        connect(real.url, real.keys["acme"], dataset="taxes")


def test_a_key_that_is_revoked_opens_nothing_from_then_on(real):
    key = add_analyst(real.folder, "brief")
    with connect(real.url, key) as door:
        access = Access(real.folder / "access.db")
        access.revoke("brief")
        access.close()
        with pytest.raises(ServerRefused) as caught:
            door.plan(BY_WARD)
        assert caught.value.status == 401


def test_a_door_shows_no_key_and_is_not_copied(door, real):
    key = real.keys["acme"]
    assert key not in repr(door) and repr(door) == f"<RemoteAnalyst of visits at {real.url}>"
    with pytest.raises(DiscreetError, match="cannot be copied"):
        copy.copy(door)


def test_every_question_that_pays_has_a_key_of_its_own_and_the_callers_where_given(scripted):
    priced = (402, {"error": "priced", "message": "it has a price"})
    steps = [priced, (200, REPLY), priced, "cut", (200, REPLY), (200, REPLY)]
    scripted.script = [(200, {"datasets": ["visits"]}), *steps, (200, REPLY)]
    with connect(scripted.url, "dk_0") as door:
        for options in ({}, {}, {"key": "mine"}, {"fresh": True}, {"pay": False}):
            door.sql("a", **options)
    sent = [
        (headers.get("Idempotency-Key"), json.loads(body)["pay"])
        for *_, headers, body, _ in scripted.seen[1:]
    ]
    (free, first), (_, second), (_, again) = sent[:2], sent[2:4], sent[3:5]
    assert free == (None, False) and sent[2] == (None, False) and sent[7] == (None, False)
    assert second == again and first[1] and second[1], "what is sent again has the key of the first time"
    assert sent[5] == ("mine", True)
    own = {first[0], second[0], sent[6][0]}
    assert len(own) == 3 and all(len(one) >= 32 for one in own)


def test_what_is_to_cost_nothing_is_never_sent_to_be_charged(scripted):
    scripted.script = [(200, {"datasets": ["visits"]}), (402, {"error": "priced", "message": "a price"})]
    with connect(scripted.url, "dk_0") as door, pytest.raises(NotFree, match="a price"):
        door.sql("a", pay=False)
    assert len(scripted.seen) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"rows": [[1, 2]]},
        {"intervals": {"n": []}},
        {"intervals": {"m": [[0, 1]]}},
        {"rows": [[{"code": "x"}]]},
        {"cost": {"epsilon": "1/0"}},
        {"cost": {"epsilon": 0.5}},
        {"columns": "n"},
        {"rows": None},
        {"repeated": 1},
        {"together": {"n": []}},
        {"rows": [[{"fraction": "1e999999999"}]]},
        {"cost": {"epsilon": "1e999999999"}},
        {"confidence": "1/2"},
    ],
    ids=str,
)
def test_a_reply_of_another_shape_is_not_read(scripted, change):
    scripted.script = [(200, {"datasets": ["visits"]}), (200, REPLY | change)]
    with connect(scripted.url, "dk_0") as door, pytest.raises(StrangeReply):
        door.sql("a")


def test_the_client_needs_nothing_but_the_base_install():
    code = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {'duckdb', 'sqlglot', 'fastapi', 'starlette', 'pydantic', 'uvicorn',
                                  'pandas', 'click', 'rich', 'jinja2'}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
import discreet.client
from discreet.core.errors import ServerUnreachable
try:
    discreet.client.connect('http://127.0.0.1:1', 'dk_0', patience=0)
except ServerUnreachable:
    print('asked')
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "asked", ended.stderr


def test_a_server_that_is_killed_and_started_again_is_waited_for_and_paid_once(tmp_path):
    make_folder(tmp_path)
    key = add_analyst(tmp_path, "acme")
    first = Served(tmp_path)
    door = connect(first.url, key)
    paid = door.sql(MEAN, key="mine")
    assert paid.cost["epsilon"] > 0 and paid.receipt is not None
    left = door.left
    first.stop(signal.SIGKILL)
    answers = []
    asker = threading.Thread(target=lambda: answers.append(door.sql(MEAN, key="mine")))
    asker.start()
    time.sleep(0.3)
    assert not answers
    second = Served(tmp_path, "--port", str(first.port))
    try:
        asker.join(timeout=30)
        (again,) = answers
        assert (again.rows, again.receipt) == (paid.rows, paid.receipt)
        assert door.left == left
        with pytest.raises(KeyReused):
            door.sql(BY_WARD, key="mine")
        assert door.left == left
    finally:
        door.close()
        second.stop(signal.SIGKILL)


def test_what_may_cost_nothing_is_refused_where_it_has_a_price(door):
    left = door.left
    with pytest.raises(NotFree):
        door.sql("SELECT SUM(cents) AS s FROM visits", pay=False)
    assert door.left == left
    assert door.sql(BY_WARD, pay=False).columns == ("ward", "n")


def test_made_up_rows_are_a_table_of_declared_values(door):
    made = door.synthetic(300)
    assert len(made.codes) == 300
    columns = made.columns()
    assert set(columns["ward"]) <= {"north", "south", "west", None}
    with pytest.raises(InvalidParameter):
        door.synthetic(0)


def test_a_conversation_of_ones_own_is_opened_asked_and_closed(real):
    with connect(real.url, real.keys["blue"]) as door:
        left = door.left
        price = door.plan_conversation(["ward", "age"], epsilon=0.25, delta=1e-9)
        assert price.cost["epsilon"] == Fraction(1, 4) and price.error("counts") < 2000
        assert price.refusal is None and price.words == ""
        with pytest.raises(Refused, match="would make it useful"):
            door.open_conversation(["ward"], epsilon=0.0001, delta=0)
        called = door.open_conversation(["ward", "age"], epsilon=0.25, delta=1e-9)
        assert door.left["epsilon"] < left["epsilon"]
        counts = door.ask([{"ward": ["north"]}, {"age": [1, 2]}], conversation=called)
        assert len(counts) == 2
        assert len(door.synthetic(10, conversation=called).codes) == 10
        with pytest.raises(InvalidParameter, match="conversation must be what open_conversation returned"):
            door.ask([{"ward": ["north"]}], conversation="mine")
        with pytest.raises(
            InvalidParameter, match="name must be what open_standing returned, got name='mine'"
        ):
            door.read_standing("mine")
        door.close_conversation(called)
        with pytest.raises(DiscreetError):
            door.ask([{"ward": ["north"]}], conversation=called)


def test_a_conversation_that_is_sent_again_has_the_key_of_the_first_time(scripted):
    opened = (200, {"conversation": "0" * 16, "columns": ["ward"]})
    scripted.script = [(200, {"datasets": ["visits"]}), "cut", opened, opened, opened]
    with connect(scripted.url, "dk_0") as door:
        door.open_conversation(["ward"], epsilon=1, delta=0)
        door.open_conversation(["ward"], epsilon=1, delta=0)
        door.open_conversation(["ward"], epsilon=1, delta=0, key="mine")
    sent = [headers.get("Idempotency-Key") for *_, headers, _, _ in scripted.seen[1:]]
    assert sent[0] == sent[1] != sent[2] and sent[3] == "mine" and len(sent[0]) >= 32
