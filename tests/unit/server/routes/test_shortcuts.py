"""What is plainly right goes past the framework; whatever else comes takes the long way, untouched."""

import asyncio
import json

import pytest

from discreet.server.fair_queue import FairQueue
from discreet.server.rates import RequestRates
from discreet.server.routes.shortcuts import Shortcuts
from discreet.server.visits import Reception

COUNT = "SELECT COUNT(*) AS n FROM visits"
PATH = "/v1/datasets/visits/queries"
JSON = (b"content-type", b"application/json")


@pytest.fixture(scope="module")
def key(served):
    return served.key("hasty")


@pytest.fixture
def send(served, key):
    """Send a request to shortcuts; return what was sent back, and the body that was handed on."""
    reception = Reception(served.datasets, FairQueue(1), RequestRates(a_second=0, at_once=20))
    handed, sent = [], []

    async def long_way(scope, receive, send):
        handed.append((await receive())["body"])

    async def note(message):
        sent.append(message)

    def ask(body=None, *, path=PATH, method="POST", headers=None, key=key, raw=None):
        content = json.dumps({"sql": COUNT} if body is None else body).encode() if raw is None else raw
        listed = [JSON, (b"authorization", f"Bearer {key}".encode())] if headers is None else headers
        given = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive():
            return given.pop(0)

        handed.clear()
        sent.clear()
        scope = {"type": "http", "method": method, "path": path, "headers": listed}
        asyncio.run(Shortcuts(long_way, reception)(scope, receive, note))
        if not sent:
            return None, handed == [content]
        assert not handed
        return sent[0]["status"], json.loads(sent[1]["body"])

    yield ask
    reception.queue.close()


def test_what_is_plainly_right_is_answered_as_on_the_long_way(served, key, send):
    status, short = send()
    long = served.send("POST", f"{PATH}?long", {"sql": COUNT}, key=key, headers={"X-Twice": "1"})
    assert status == long[0] == 200
    assert short["rows"] == json.loads(long[2])["rows"]
    assert send({"sql": COUNT}, path="/v1/datasets/visits/plans")[1]["kind"] == "repeated"
    assert len(send({"conjunctions": [{"age": [3]}]}, path="/v1/datasets/visits/counts")[1]["values"]) == 1


def test_refusals_are_those_of_the_long_way(served, send):
    assert send(key="dk_nobody")[0] == 401
    assert send(key=served.key("stranger", share=0))[0] == 404
    assert send(key=served.key("watcher", role="auditor", share=0))[0] == 404
    assert send({"sql": "SELECT 1"})[0] == 422
    assert [send()[0] for _ in range(21)][-1] == 429


@pytest.mark.parametrize(
    "request_",
    [
        {"body": {}},
        {"body": {"sql": COUNT, "epsilon": True}},
        {"body": {"sql": COUNT, "other": 1}},
        {"body": []},
        {"raw": b"{"},
        {"raw": b'{"sql": "a", "epsilon": 1e99999999999999999999}'},
        {"raw": b""},
        {"raw": b'{"sql": "a", "sql": "b"}'},
        {"method": "PUT"},
        {"path": "/v1/datasets/elsewhere/queries"},
        {"path": "/v1/datasets/visits/queries/"},
        {"path": "/v1/datasets/visits/history"},
        {"headers": [JSON]},
        {"headers": [JSON, (b"authorization", b"Basic x")]},
        {"headers": [JSON, (b"authorization", b"Bearer  x")]},
        {"headers": [JSON, (b"authorization", b"Bearer x\xa0")]},
        {"headers": [JSON, (b"authorization", b"Bearer x"), (b"authorization", b"Bearer y")]},
        {"headers": [(b"content-type", b"application/json; a=b"), (b"authorization", b"Bearer x")]},
        {"headers": [JSON, (b"authorization", b"Bearer x"), (b"idempotency-key", b"a b")]},
    ],
)
def test_whatever_else_comes_takes_the_long_way_whole(send, request_):
    assert send(**request_) == (None, True)
