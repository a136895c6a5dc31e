"""One request, one reply: four very different tables behind servers answer alike, and show no canary."""

import contextlib
import http.client
import json

import pytest
from tests.property.test_sql_fuzz import CANARY, SCHEMA, Questions, frames
from tests.unit.server.conftest import serving

from discreet.data.schema.schema import Schema
from discreet.data.schema.toml_file import format_schema

ALONE = Schema("t", columns=SCHEMA.columns, unit=SCHEMA.unit, neighbours=SCHEMA.neighbours)


@pytest.fixture
def servers(tmp_path):
    """Serve each table by itself; return how to ask each, and their ledgers."""
    with contextlib.ExitStack() as stack:
        made = {}
        for name, frame in frames().items():
            folder = tmp_path / name
            folder.mkdir()
            kinds = {"who": "string", "g": "string", "note": "string", "flag": "boolean"}
            frame.astype(kinds).to_parquet(folder / "t.parquet")
            (folder / "t.toml").write_text(format_schema(ALONE))
            (folder / "discreet.toml").write_text(
                'tick = 0\n[datasets.t]\ndata = "t.parquet"\nschema = "t.toml"\n'
                "epsilon = 1000\ndelta = 1e-4\nshared = 0\nquestion = [1, 1e-8]\n"
            )
            server = stack.enter_context(serving(folder / "discreet.toml"))
            key = server.datasets.access.make_key("acme")
            server.datasets.access.grant("acme", "t", 1)
            made[name] = (server, key)
        yield made, tmp_path


def ask(server, key, body):
    """Return everything that is seen but the noisy numbers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/datasets/t/queries", json.dumps(body), headers)
    reply = connection.getresponse()
    said = reply.read()
    connection.close()
    heads = sorted(name.lower() for name, _ in reply.getheaders())
    assert CANARY.encode() not in said or CANARY in body["sql"]
    assert CANARY not in str(reply.getheaders())
    if reply.status != 200:
        return reply.status, heads, said
    found = json.loads(said)
    shown = {name: found[name] for name in ("columns", "kind", "cost", "repeated", "keys", "holds")}
    return reply.status, heads, json.dumps(shown)


def ask_all(servers, count, seed):
    questions, statuses = Questions(seed), {}
    for _ in range(count):
        body = {"sql": questions.one(), "insist": True}
        replies = {repr(ask(server, key, body)) for server, key in servers.values()}
        assert len(replies) == 1, (body, replies)
        status = int(replies.pop()[1:4])
        statuses[status] = statuses.get(status, 0) + 1
    return statuses


def check(made, folder, count, seed):
    statuses = ask_all(made, count, seed)
    assert statuses[200] >= count / 5 and statuses[422] >= count / 5, statuses
    assert set(statuses) <= {200, 422}, statuses
    # What was charged, and for what, depends on the questions alone.
    ledgers = [server.datasets.get("t").curator.ledger.entries() for server, _ in made.values()]
    charged = [[(one.what, one.charge, one.state) for one in entries] for entries in ledgers]
    assert all(one == charged[0] for one in charged)
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            shown = path.read_bytes()
            assert CANARY.encode() not in shown or path.name.startswith("budget.db"), path


def test_the_reply_depends_on_the_request_alone(servers):
    made, folder = servers
    check(made, folder, 40, seed=11)


@pytest.mark.soak
def test_ten_thousand_requests(servers):
    made, folder = servers
    check(made, folder, 10_000, seed=12)
