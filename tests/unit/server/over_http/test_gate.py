"""What passes the gate: sizes, times, kinds, headers and ticks; over a real socket."""

import asyncio
import json
import re
import socket
import time

import pytest
from pydantic import ValidationError
from tests.unit.server.conftest import serving as serve_home
from tests.unit.server.conftest import write_home

from discreet.core.errors import InvalidParameter
from discreet.curator.ticks import Ticks
from discreet.server import gate, serving
from discreet.server.gate import BODY, HEADERS
from discreet.server.problems import INTERNAL
from discreet.server.requests import CountsAsked
from discreet.server.strict_json import read_json

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def key(served):
    return served.key("gate")


def test_every_reply_carries_the_headers(served, key):
    for path in ("/v1/datasets", "/nowhere", "/v1/datasets/visits"):
        _, headers, _ = served.send("GET", path, key=key)
        lowered = {name.lower(): value for name, value in headers.items()}
        for name, value in HEADERS:
            assert lowered[name.decode()] == value.decode()
        assert "server" not in lowered
        assert "set-cookie" not in lowered


def test_a_body_that_is_too_large_is_not_read(served, key):
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
        line.sendall(
            b"POST /v1/datasets/visits/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {key}\r\nContent-Length: {10**8}\r\n\r\n".encode()
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_body_in_pieces_ends_where_it_is_too_large(served, key):
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
        line.sendall(
            b"POST /v1/datasets/visits/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        try:
            for _ in range(BODY // 0x1000 + 2):
                line.sendall(piece)
        except OSError:  # closed already
            pass
        assert line.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_body_that_does_not_come_is_not_waited_for(served, key, monkeypatch):
    monkeypatch.setattr(gate, "SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
        line.sendall(
            b"POST /v1/datasets/visits/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 20\r\n\r\n{"
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_request_that_does_not_come_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
        line.sendall(b"GET /v1/datasets HTTP/1.1\r\nHost: x\r\nX-A: ")
        assert line.recv(4096) == b""


def test_an_empty_line_keeps_no_place(served, monkeypatch):
    # It begins no request, so nothing was waited for from then on, and the place was taken for ever.
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
        line.sendall(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
        read_reply(line)
        line.sendall(b"\r\n")
        assert line.recv(4096) == b""


TIMES = 60  # more than the buffers of a connection take


def open_unread(served):
    """Ask for more than the buffers of a connection take, and read none of it."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(10)
    line.connect(("127.0.0.1", served.port))
    line.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * TIMES)
    return line


def read_reply(line):
    """Read a reply to its end; tell whether all of it came."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += line.recv(1)
    length = int(re.search(rb"content-length: (\d+)", said.lower())[1])
    while length > 0 and (piece := line.recv(min(length, 1 << 16))):
        length -= len(piece)
    return not length


def read_all(line, pause=0.0):
    """Read all replies; tell whether all of them came."""
    try:
        for _ in range(TIMES):
            if not read_reply(line):
                return False
            time.sleep(pause)
    except (ConnectionResetError, IndexError):
        return False
    return True


def test_who_reads_nothing_is_cut_off_and_who_reads_slowly_is_not(served, monkeypatch):
    monkeypatch.setattr(serving, "UNREAD_SECONDS", 0.2)
    with open_unread(served) as line:
        assert read_all(line, pause=0.01)
    with open_unread(served) as line:
        time.sleep(1)
        assert not read_all(line)


def test_what_waits_for_those_who_read_it_has_an_end(served, monkeypatch):
    monkeypatch.setattr(serving, "UNREAD", 1 << 18)
    lines = []
    for _ in range(4):
        lines.append(open_unread(served))
        time.sleep(0.5)
    assert [read_all(line) for line in lines][0::3] == [False, True]
    for line in lines:
        line.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/octet-stream"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_only_plain_json_is_taken(served, key, headers):
    body = json.dumps({"sql": COUNT}).encode()
    status, _, said = served.send("POST", "/v1/datasets/visits/queries", key=key, headers=headers, raw=body)
    assert status == 415
    assert json.loads(said)["error"] == "not_json"


@pytest.mark.parametrize(
    "again", ["Authorization: Bearer x", "Idempotency-Key: b", "Content-Type: text/plain"]
)
def test_no_header_is_believed_that_is_there_twice(served, key, again):
    """Whoever stands in front may read the one, and we the other."""
    own = f"Authorization: Bearer {key}\r\nIdempotency-Key: a\r\nContent-Type: application/json"
    body = json.dumps({"sql": COUNT})
    for headers in (f"{own}\r\n{again}", f"{again}\r\n{own}"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as line:
            line.sendall(
                f"POST /v1/datasets/visits/queries HTTP/1.1\r\nHost: x\r\n{headers}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            assert line.recv(4096).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nHost: t\r\nX-Long: "])
def test_headers_have_an_end(served, begin):
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as asker:
        sent = 0
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            asker.sendall(begin)
            while sent < 1000 * serving.HEADER_BYTES:
                sent += asker.send(b"a" * 4096)
    assert sent < 200 * serving.HEADER_BYTES  # what the sockets themselves hold
    assert served.send("GET", "/v1/registry", headers={"X-Short": "a" * 4096})[0] == 200


def test_what_nobody_foresaw_is_one_reply_without_its_words(caplog):
    async def fail(scope, receive, send):
        await receive()
        raise RuntimeError("alice is 64")

    sent, given = [], [{"type": "http.request", "body": b"{}"}]

    async def receive():
        return given.pop(0)

    async def note(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/datasets", "headers": []}
    with caplog.at_level("INFO"):
        asyncio.run(gate.Gate(fail, ticks=Ticks(0))(scope, receive, note))
    assert sent[0]["status"] == 500 and json.loads(sent[1]["body"]) == INTERNAL.body
    assert "RuntimeError" in caplog.text and "alice" not in caplog.text + str(sent)


def test_replies_leave_at_ticks_whatever_they_say(tmp_path):
    every = 0.5
    with serve_home(write_home(tmp_path, rows=50, tick=every)) as server:
        key = server.key()
        opened = time.monotonic()
        server.ask(COUNT, key=key)
        opened = time.monotonic()  # a reply has just left, at a tick
        places = []
        for asked, who in (
            ({"sql": COUNT}, key),
            ({"sql": "SELECT nonsense"}, key),
            ({"sql": COUNT}, "dk_wrong"),
            ({"sql": "SELECT AVG(age) FROM visits", "insist": True}, key),
            ({}, key),
        ):
            server.send("POST", "/v1/datasets/visits/queries", asked, key=who)
            places.append((time.monotonic() - opened) / every)
        off = [abs(place - round(place)) for place in places]
        # A machine under load wakes up late now and then; replies that left when they were ready would be
        # spread over the whole tick.
        assert sum(one < 0.15 for one in off) >= 4, places
        assert round(places[-1]) >= len(places)  # each had to wait for a tick of its own


def test_what_is_about_no_data_waits_too(tmp_path):
    """Otherwise how late it comes would tell how much of others the server has to do."""
    with serve_home(write_home(tmp_path, rows=50, tick=0.5)) as server:
        for path in ("/console", "/web/style.css", "/v1/openapi.json", "/nowhere"):
            server.send("GET", "/nowhere")  # leaves at a tick
            began = time.monotonic()
            server.send("GET", path)
            assert time.monotonic() - began > 0.3, path


def send_counts(server, key, content, **headers):
    sent = {"Content-Type": "application/json", **headers}
    return server.send("POST", "/v1/datasets/visits/counts", key=key, raw=content, headers=sent)


def test_large_bodies_are_read_from_whoever_has_a_key(served, key):
    large = json.dumps({"conjunctions": [{"age": list(range(100))}] * 400}).encode()
    assert len(large) > BODY
    assert send_counts(served, key, large)[0] == 200
    status, headers, _ = send_counts(served, "dk_wrong", large)
    assert (status, headers["www-authenticate"], headers["connection"]) == (401, "Bearer", "close")
    assert send_counts(served, None, large)[0] == 401
    assert send_counts(served, key, b" " * (gate.COUNTS_BODY + 1))[0] == 413


def test_nobody_has_many_large_bodies_read_at_once(served, key):
    lines = []
    head = f"POST /v1/datasets/visits/counts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    for _ in range(gate.LARGE + 1):
        line = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {BODY + 1}\r\n\r\n{{".encode())
        lines.append(line)
    assert lines[-1].recv(4096).startswith(b"HTTP/1.1 429")
    for line in lines:
        line.close()
    large = json.dumps({"conjunctions": [{"age": list(range(100))}] * 400}).encode()
    deadline = time.monotonic() + 10
    while (status := send_counts(served, key, large)[0]) == 429 and time.monotonic() < deadline:
        time.sleep(0.05)  # until it is noticed that the others went away
    assert status == 200


@pytest.mark.parametrize(
    "content",
    [
        b'{"conjunctions":[{"age":[' + b",".join([b"{}"] * 20_000) + b"]}]}",
        b'{"conjunctions":[' + b",".join([b'{"age":[{}]}'] * 5_000) + b"]}",
        b"{" + b",".join(b'"%d":1' % n for n in range(5_000)) + b"}",
    ],
)
def test_a_body_with_a_thousand_faults_is_no_more_work_than_one_with_one(served, key, content):
    with pytest.raises((ValidationError, InvalidParameter)) as refused:
        CountsAsked.model_validate(read_json(content))
    if isinstance(refused.value, ValidationError):
        assert refused.value.error_count() <= 10
    assert send_counts(served, key, content)[0] == 422
