"""Every route of the server, knocked at with every kind of key that does not open it."""

import itertools
import json
import time

import pytest

WANTED = {
    "plans": {"sql": "SELECT AVG(age) AS n FROM visits"},
    "queries": {"sql": "SELECT AVG(age) AS n FROM visits", "insist": True},
    "counts": {"conjunctions": [{"ward": ["north"]}]},
    "conversations": {"columns": ["ward"], "epsilon": 0.1, "delta": 0},
    "conversations/plans": {"columns": ["ward"], "epsilon": 0.1, "delta": 0},
    "standing": {"sql": "SELECT age, COUNT(*) AS n FROM visits GROUP BY age", "epsilon": 0.1, "delta": 0},
    "standing/plans": {"sql": "SELECT age, COUNT(*) AS n FROM visits GROUP BY age", "epsilon": 1, "delta": 0},
}
FOR_ALL = {("GET", "/v1/datasets")}
"""What any key opens: the list of what it opens."""
NOT_FOR_AUDITORS = {
    *(("POST", name) for name in WANTED),
    *(("GET", name) for name in ("synthetic", "budget", "history", "standing", "standing/{standing}")),
    *(("GET", "conversations/{conversation}/synthetic"), ("DELETE", "conversations/{conversation}")),
    ("POST", "conversations/{conversation}/counts"),
}
"""What nobody may who only looks: questions, and what an analyst has of her own."""
BEFORE, NONE = "/v1/datasets/{name}", "0" * 16


@pytest.fixture(scope="module")
def routes(served):
    """List method and address of every route that needs a key, as the server's own description has them."""
    said = json.loads(served.send("GET", "/v1/openapi.json")[2])
    found = [
        (method.upper(), path)
        for path, methods in said["paths"].items()
        for method in methods
        if path.startswith("/v1/datasets")
    ]
    assert len(found) >= 18 and FOR_ALL <= set(found)
    return found


def knock(served, method, path, key, *, name="visits"):
    """Send what a route wants; return the status and what is said, whatever the data set is called."""
    wanted = path.removeprefix(BEFORE).strip("/").removeprefix("conversations/{conversation}/")
    body = WANTED[wanted] if method == "POST" else None
    for part, value in (("name", name), ("conversation", NONE), ("standing", NONE), ("number", "0")):
        path = path.replace("{" + part + "}", value)
    status, headers, said = served.send(method, path, body, key=key)
    return status, tuple(sorted(name.lower() for name in headers)), said


def test_what_is_no_key_opens_no_route_and_all_look_alike(served, routes, monkeypatch):
    revoked = served.key("gone")
    served.datasets.access.revoke("gone")
    expired = served.key("late", days=1)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    other = served.key("somebody", share=None)
    wrong = other[:-3] + "aaa" if not other.endswith("aaa") else other[:-3] + "bbb"
    keys = (None, "", "dk_", wrong, revoked, expired, other[:20])
    replies = {
        knock(served, method, path, key, name=name)[::2]
        for (method, path), key, name in itertools.product(routes, keys, ("visits", "none"))
    }
    ((status, said),) = replies
    assert status == 401 and json.loads(said)["error"] == "unauthorised"


def test_what_was_not_granted_is_not_there(served, routes):
    stranger = served.key("stranger", share=None)
    replies = {
        knock(served, method, path, stranger, name=name)
        for method, path in routes
        if (method, path) not in FOR_ALL
        for name in ("visits", "none")
    }
    ((status, _, said),) = replies
    assert status == 404 and json.loads(said)["error"] == "not_found"


def test_whoever_may_only_look_asks_nothing(served, routes):
    ledger = served.datasets.get("visits").curator.ledger
    auditor, before = served.key("looker", role="auditor"), ledger.spent()
    for method, path in routes:
        status, _, _ = knock(served, method, path, auditor)
        is_asking = (method, path.removeprefix(BEFORE).strip("/")) in NOT_FOR_AUDITORS
        assert (status == 404) == is_asking or path.endswith("{number}"), (method, path, status)
    assert ledger.spent() == before
    assert "looker" not in {entry.analyst for entry in ledger.entries()}


def test_nobody_sees_what_an_analyst_has_of_her_own(served):
    """The same names are given to everybody, and lead each to her own."""
    one, other = served.key("hers"), served.key("his")
    sql = "SELECT AVG(age) AS n FROM visits WHERE age > 9"
    status, _ = served.ask(sql, key=one, headers={"Idempotency-Key": "k"}, insist=True)
    assert status == 200
    found = json.loads(served.send("GET", "/v1/datasets/visits/history", key=other)[2])
    assert found == {"questions": []}
    (number,) = [entry.number for entry in served.datasets.get("visits").curator.ledger.entries("hers")]
    assert served.send("GET", f"/v1/datasets/visits/receipts/{number}", key=other)[0] == 404
    assert served.send("GET", f"/v1/datasets/visits/receipts/{number}", key=one)[0] == 200
    status, _, said = served.send(
        "POST",
        "/v1/datasets/visits/conversations",
        {"columns": ["ward"], "epsilon": 0.1, "delta": 0, "insist": True},
        key=one,
    )
    assert status == 200, said
    name = json.loads(said)["conversation"]
    clause = {"conjunctions": [{"ward": ["north"]}]}
    path = f"/v1/datasets/visits/conversations/{name}"
    assert served.send("POST", f"{path}/counts", clause, key=one)[0] == 200
    none = f"/v1/datasets/visits/conversations/{NONE}"
    for where in ("/counts", ""):
        method, sent = ("POST", clause) if where else ("DELETE", None)
        theirs, nobodys = (served.send(method, one + where, sent, key=other) for one in (path, none))
        assert theirs == nobodys and theirs[0] == 410  # hers is as one that never was
    assert served.send("POST", f"{path}/counts", clause, key=one)[0] == 200


def test_what_releases_nothing_reads_no_row(served, routes, monkeypatch):
    """Prices, budgets, histories and descriptions are the same where there are no data any more."""
    key = served.key("planner")
    asked = [(*route, key) for route in routes if is_without_release(*route)]
    asked += [
        ("GET", path, None) for path in ("/", "/registry/{name}", "/v1/registry", "/v1/registry/{name}")
    ]
    assert len(asked) >= 14
    with monkeypatch.context() as patch:  # neither engine nor counts: a question with a price shows it
        take_data_away(served, patch)
        sql = "SELECT AVG(age) AS n FROM visits WHERE age > 3"
        assert served.ask(sql, key=key, insist=True)[0] == 500
    before = [knock(served, *one) for one in asked]
    assert sum(status == 200 for status, _, _ in before) >= 11, before
    counted = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    foretold = served.ask(counted, key=key, to="plans")
    assert (foretold[0], foretold[1]["kind"]) == (200, "shared")
    take_data_away(served, monkeypatch)
    assert [knock(served, *one) for one in asked] == before
    assert served.ask(counted, key=key, to="plans") == foretold


def take_data_away(served, patch):
    """Let nobody read a row any more, nor a count of rows."""
    dataset = served.datasets.get("visits")
    for reads in ("execute", "arrays"):
        patch.setattr(type(dataset.curator._table._source), reads, None)
    patch.setattr(dataset.curator._shared._conversation, "_counts", None)


def is_without_release(method, path):
    """Tell whether a route tells only what was declared, charged or told before."""
    last = path.rsplit("/", 1)[-1]
    return (method == "GET" and last != "synthetic") or last == "plans"
