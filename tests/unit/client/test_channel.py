"""How requests are sent, and sent again: against a server that breaks in every way."""

import copy
import os
import socket
import threading
import traceback

import pytest

from discreet.client import channel as module
from discreet.client import connect
from discreet.client.address import ServerAddress
from discreet.client.channel import Channel
from discreet.core.errors import (
    BudgetExceeded,
    ConversationClosed,
    DiscreetError,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    LedgerStopped,
    NotFree,
    Refused,
    ServerRefused,
    ServerUnreachable,
    StrangeReply,
)

KEY = "dk_0123456789abcdef_" + "s" * 43


@pytest.fixture
def channel(scripted):
    made = Channel(ServerAddress(*scripted.server_address[:2], False), KEY, timeout=2, patience=5)
    yield made
    made.close()


def test_one_connection_is_used_again_and_nothing_is_sent_twice(scripted, channel):
    scripted.script = [(200, {"a": 1})]
    for _ in range(3):
        assert channel.get("/x") == {"a": 1}
    assert [path for _, path, *_ in scripted.seen] == ["/x"] * 3
    assert len(channel._open) == 1


@pytest.mark.parametrize(
    "broken",
    [
        "cut",
        (503, {"error": "stopped", "message": "wait"}),
        (503, b"Service Unavailable"),
        (429, {"error": "too_often", "message": "wait"}),
        (408, {"error": "too_slow", "message": "wait"}),
        (200, b'{"a"', {"Content-Length": 50}),
    ],
    ids=str,
)
def test_what_may_do_later_is_sent_again_as_it_was(scripted, channel, broken):
    scripted.script = [broken, broken, (200, {"a": 1})]
    assert channel.post("/x", {"q": 1}, once="mine") == {"a": 1}
    assert len(scripted.seen) == 3
    assert len({(command, path, body) for command, path, _, body, _ in scripted.seen}) == 1
    assert {headers["Idempotency-Key"] for _, _, headers, *_ in scripted.seen} == {"mine"}


def test_a_server_that_asks_to_wait_is_given_the_time(scripted, channel, monkeypatch):
    waits = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
    scripted.script = [(429, {"error": "too_often", "message": "m"}, {"Retry-After": 3}), (200, {})]
    channel.get("/x")
    assert waits == [3.0]


def test_who_waits_for_a_server_is_told_once_why(scripted, monkeypatch, caplog):
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    address = ServerAddress(*scripted.server_address[:2], False)
    scripted.script = ["cut", "cut", (200, {})]
    Channel(address, KEY, timeout=2, patience=1000).get("/x")
    (line,) = caplog.messages
    assert line == f"no reply from {address}: the connection broke; asking again for 1000 s"
    caplog.clear()
    scripted.script = ["cut"]
    with pytest.raises(ServerUnreachable):
        Channel(address, KEY, timeout=2, patience=0).get("/x")
    assert not caplog.messages, "nobody waits"


def test_tries_are_bounded_in_number_and_time(scripted, monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    address = ServerAddress(*scripted.server_address[:2], False)
    scripted.script = ["cut"]
    with pytest.raises(ServerUnreachable) as caught:
        Channel(address, KEY, timeout=2, patience=1000).post("/x", {}, once="mine")
    assert len(scripted.seen) == module.TRIES
    assert caught.value.key == "mine" and "key='mine'" in str(caught.value)
    scripted.seen.clear()
    with pytest.raises(ServerUnreachable) as caught:
        Channel(address, KEY, timeout=2, patience=0).get("/x")
    assert len(scripted.seen) == 1 and caught.value.key is None
    scripted.script = [(429, {"error": "too_often", "message": "too often"})]
    with pytest.raises(ServerRefused, match="too often") as refused:
        Channel(address, KEY, timeout=2, patience=0).get("/x")
    assert (refused.value.status, refused.value.kind) == (429, "too_often")


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (402, "budget", BudgetExceeded),
        (410, "closed", ConversationClosed),
        (422, "refused", Refused),
        (402, "priced", NotFree),
        (422, "invalid", InvalidParameter),
        (422, "key_reused", KeyReused),
        (500, "internal", EngineFailed),
        (401, "unauthorised", ServerRefused),
        (404, "not_found", ServerRefused),
        (413, "too_large", ServerRefused),
    ],
)
def test_refusals_are_the_curators_own_errors_in_the_servers_words(scripted, channel, status, kind, error):
    scripted.script = [(status, {"error": kind, "message": "these \x1b[31mwords"})]
    with pytest.raises(error, match=r"these  \[31mwords") as caught:
        channel.post("/x", {}, once="k")
    assert len(scripted.seen) == 1, "nothing of this is sent again"
    assert type(caught.value) is error
    assert repr(caught.value)


def test_a_ledger_that_stopped_is_told_after_all_tries(scripted):
    scripted.script = [(503, {"error": "stopped", "message": "the ledger has stopped"})]
    with pytest.raises(LedgerStopped, match="the ledger has stopped"):
        Channel(ServerAddress(*scripted.server_address[:2], False), KEY, timeout=2, patience=0).get("/x")


@pytest.mark.parametrize(
    "said", [b"{", b'{"a":NaN}', b'{"a":1e999}', b'{"a":1,"a":2}', b"\xff", b"[" * 100_000, b"1" * 5000]
)
def test_what_is_not_one_json_value_is_not_read(scripted, channel, said):
    scripted.script = [(200, said)]
    with pytest.raises(StrangeReply):
        channel.get("/x")


def test_redirects_are_not_followed(scripted, channel):
    scripted.script = [(302, b"", {"Location": "/elsewhere"}), (200, {})]
    with pytest.raises(ServerRefused, match="not followed"):
        channel.get("/x")
    assert [path for _, path, *_ in scripted.seen] == ["/x"]


def test_a_page_of_something_else_is_not_repeated(scripted, channel):
    scripted.script = [(404, b"<html>secret page</html>")]
    with pytest.raises(ServerRefused) as caught:
        channel.get("/x")
    assert "secret" not in str(caught.value) and "404" in str(caught.value)


def test_a_reply_without_end_is_given_up(scripted, channel, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    scripted.script = [(200, b" " * 1001)]
    with pytest.raises(ServerUnreachable, match="more than 1000 bytes"):
        channel.get("/x")
    assert len(scripted.seen) == 1


def test_a_reply_that_trickles_is_given_up(scripted, monkeypatch):
    clock = iter(range(0, 10_000, 1))
    made = Channel(ServerAddress(*scripted.server_address[:2], False), KEY, timeout=2, patience=0)
    monkeypatch.setattr(module, "_PART", 1)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    scripted.script = [(200, b"[1, 2, 3, 4, 5]")]
    with pytest.raises(ServerUnreachable, match="in time"):
        made.get("/x")


def test_the_key_is_sent_and_never_shown(scripted, channel):
    scripted.script = [(401, {"error": "unauthorised", "message": "no"})]
    with pytest.raises(ServerRefused) as caught:
        channel.get("/x")
    assert scripted.seen[0][2]["Authorization"] == f"Bearer {KEY}"
    shown = [repr(channel), str(channel), repr(vars(channel)), str(caught.value)]
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert KEY not in "".join([*shown, *told.format()])
    for copying in (copy.copy, copy.deepcopy):
        with pytest.raises(DiscreetError, match="it holds a key"):
            copying(channel)


@pytest.mark.parametrize("key", ["", "a b", "a\r\nX: y", "ключ", None, 7, "x" * 300, b"dk"])
def test_what_is_no_key_is_refused_without_repeating_it(key):
    with pytest.raises(InvalidParameter) as caught:
        Channel(ServerAddress("127.0.0.1", 1, False), key, timeout=1, patience=0)
    assert "prints, got something else. Of a file" in str(caught.value)


def test_a_key_may_come_from_a_file_that_was_read_whole(scripted):
    scripted.script = [(200, {})]
    address = ServerAddress(*scripted.server_address[:2], False)
    channel = Channel(address, f"{KEY}\n", timeout=2, patience=0)
    channel.get("/x")
    channel.close()
    assert scripted.seen[0][2]["Authorization"] == f"Bearer {KEY}"


def test_a_server_that_speaks_no_https_is_not_asked_again_and_again(scripted):
    host, port = scripted.server_address[:2]
    with pytest.raises(ServerUnreachable, match="it does not speak https there"):
        connect(f"https://{host}:{port}", KEY, patience=600)


def test_threads_and_children_have_connections_of_their_own(scripted, channel):
    scripted.script = [(200, {"a": 1})]
    threads = [threading.Thread(target=channel.get, args=("/x",)) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({address for *_, address in scripted.seen}) == 3
    assert not channel._open, "a connection is closed with its thread"
    channel.get("/x")
    own = channel._own.line
    own.process = os.getpid() + 1  # as after a fork
    channel.get("/x")
    assert channel._own.line is not own


def test_a_closed_channel_says_so(scripted, channel):
    scripted.script = [(200, {})]
    channel.get("/x")
    channel.close()
    with pytest.raises(DiscreetError, match="closed"):
        channel.get("/x")


def test_nobody_there_is_told_as_that():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ServerUnreachable, match="nothing listens there"):
        connect(f"http://127.0.0.1:{port}", KEY, patience=0)
