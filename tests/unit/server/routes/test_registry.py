"""The registry over HTTP: for anybody, for the owner, and nothing of what analysts were promised."""

import json
import time

import pytest
from tests.unit.server.conftest import serving, write_home

from discreet.server.rates import RequestRates
from discreet.server.registry.bodies import RegistryBody, RegistryListBody

SECRET = "SELECT SUM(age) AS n FROM visits WHERE ward = 'north'"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with serving(write_home(tmp_path_factory.mktemp("registry"))) as server:
        server.analyst, server.other = server.key("acme", share=0.5), server.key("blue", share=0.25)
        server.owner = server.key("olga", role="owner", share=0)
        server.auditor = server.key("audrey", role="auditor", share=0)
        for _ in range(2):  # charged once
            assert server.ask(SECRET, key=server.analyst, insist=True)[0] == 200
        assert server.ask("SELECT AVG(age) AS n FROM visits", key=server.other, insist=True)[0] == 200
        yield server


def get(server, path, key=None):
    status, headers, body = server.send("GET", path, key=key)
    return status, json.loads(body), headers


def test_anybody_reads_the_list_and_the_registry(home):
    status, listed, _ = get(home, "/v1/registry")
    assert status == 200
    RegistryListBody.model_validate(listed)
    status, told, headers = get(home, "/v1/registry/visits")
    assert status == 200
    assert headers["content-type"] == "application/json"
    RegistryBody.model_validate(told)
    assert told["releases_total"] == 2
    assert all("rho" not in one["cost"] for one in told["releases"])
    _, with_rho, _ = get(home, "/v1/registry/visits?rho=true")
    assert all("rho" in one["cost"] for one in with_rho["releases"])
    _, page, _ = get(home, "/v1/registry/visits?before=1")
    assert [one["number"] for one in page["releases"]] == [0]


def test_a_key_opens_no_more_of_it_and_a_wrong_one_no_less(home):
    shown = [get(home, "/v1/registry/visits", key)[1] for key in (None, home.analyst, "dk_wrong", home.owner)]
    assert all(one | {"time": None} == shown[0] | {"time": None} for one in shown)
    said = json.dumps(shown[0])
    assert "SUM" not in said
    assert "acme" not in said


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/registry/none", 404),
        ("/v1/registry/..%2f..", 404),
        ("/v1/registry/" + "x" * 99, 422),
        ("/v1/registry/visits?before=-1", 422),
        ("/v1/registry/visits?before=x", 422),
        ("/v1/registry/visits?rho=maybe", 422),
        ("/registry/none", 404),
        ("/web/none.css", 404),
        ("/web/..%2f..%2faccess.py", 404),
    ],
)
def test_what_is_not_there_is_said_in_our_form(home, path, status):
    got, said, _ = get(home, path)
    assert got == status
    assert set(said) == {"error", "message"}


def test_the_ledger_is_for_owner_and_auditor(home):
    for key in (home.owner, home.auditor):
        status, told, _ = get(home, "/v1/datasets/visits/ledger?rho=true", key)
        assert status == 200
        RegistryBody.model_validate(told)
        assert told["audience"] == "owner"
        assert {one["analyst"] for one in told["releases"]} == {"acme", "blue"}
        assert "SUM" in told["releases"][1]["question"]
    assert get(home, "/v1/datasets/visits/ledger", home.analyst)[0] == 404
    assert get(home, "/v1/datasets/visits/ledger")[0] == 401


def test_a_receipt_is_for_whoever_asked(home):
    status, receipt, _ = get(home, "/v1/datasets/visits/receipts/0", home.analyst)
    assert status == 200
    listed = get(home, "/v1/registry/visits")[1]["releases"]
    assert receipt == listed[-1]["receipt"]
    assert get(home, "/v1/datasets/visits/receipts/1", home.other)[1]["number"] == 1
    assert get(home, "/v1/datasets/visits/receipts/1", home.auditor)[0] == 200
    refused = [
        get(home, f"/v1/datasets/visits/receipts/{number}", home.analyst) for number in ("1", "2", "99999")
    ]
    assert [(status, said) for status, said, _ in refused] == [(404, refused[0][1])] * 3
    assert get(home, "/v1/datasets/visits/receipts/-1", home.analyst)[0] == 422


def test_too_many_who_have_no_key_wait_and_analysts_do_not(home, monkeypatch):
    monkeypatch.setattr(RequestRates, "take", lambda self, name: name != "")
    assert get(home, "/v1/registry")[0] == 429
    assert home.send("GET", "/")[0] == 429
    assert get(home, "/v1/datasets", home.analyst)[0] == 200


# Under a promise -------------------------------------------------------------------------------------------

PROMISE = 'promise = "one analyst to many"\nexpects = 20\n'
PUBLIC = (
    "/",
    "/registry/visits",
    "/console",
    "/v1/registry",
    "/v1/registry/visits",
    "/v1/registry/visits?rho=true&before=3",
)
OWN = ("", "/budget", "/history", "/receipts/0", "/receipts/1", "/ledger")


def see_all(server, key):
    """Return all that somebody can see without asking anything that is charged."""
    seen = {path: server.send("GET", path) for path in PUBLIC}
    seen |= {path: server.send("GET", f"/v1/datasets/visits{path}", key=key) for path in OWN}
    for sql in ("SELECT COUNT(*) AS n FROM visits WHERE ward = 'west'", SECRET, "SELECT nonsense"):
        seen[sql] = server.ask(sql, key=key, to="plans")
    return seen


def count_wards(server, key):
    return server.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", key=key)[1]["rows"]


def ask_a_lot(server, key):
    statuses = [
        server.ask(f"SELECT SUM(age) AS n FROM visits WHERE age > {age}", key=key, insist=True)[0]
        for age in range(40)
    ]
    assert 200 in statuses
    assert 402 in statuses  # until nothing is left for her


def test_what_others_ask_moves_nothing_that_anybody_sees(tmp_path):
    public = []
    for name in ("quiet", "busy"):
        folder = tmp_path / name
        folder.mkdir()
        with serving(write_home(folder, rows=300, options=PROMISE)) as server:
            alice, bob = server.key("alice", share=0.5), server.key("bob", share=0.25)
            counts, before = count_wards(server, alice), see_all(server, alice)
            if name == "busy":
                ask_a_lot(server, bob)
            assert see_all(server, alice) == before
            assert count_wards(server, alice) == counts
            public.append({path: before[path] for path in PUBLIC})
            owner = server.key("olga", role="owner", share=0)
            ledger = get(server, "/v1/datasets/visits/ledger", owner)[1]
            assert bool(ledger["releases_total"]) == (name == "busy")
    assert public[0] == public[1]
    assert b"spent" in public[0]["/v1/registry/visits"][2]


def test_the_public_registry_leaves_at_ticks(tmp_path):
    """Otherwise how long it takes would tell how busy others keep the server."""
    every = 0.5
    with serving(write_home(tmp_path, rows=50, tick=every)) as server:
        server.send("GET", "/v1/registry")
        opened = time.monotonic()  # a reply has just left, at a tick
        for path in ("/v1/registry", "/v1/registry/visits", "/registry/visits", "/", "/v1/registry/none"):
            server.send("GET", path)
            place = (time.monotonic() - opened) / every
            assert place > 0.7
            assert abs(place - round(place)) < 0.3, (path, place)
            opened += every * round(place)


def test_receipts_are_withheld_where_the_book_holds_a_promise(tmp_path):
    quiet = (
        '[datasets.quiet]\ndata = "visits.csv"\nschema = "quiet.toml"\nepsilon = 1\ndelta = 0\nshared = 0\n'
    )
    path = write_home(tmp_path, rows=100, options="expects = 20\n" + quiet + 'promise = "many to one"\n')
    schema = (tmp_path / "visits.toml").read_text()
    (tmp_path / "quiet.toml").write_text(schema.replace('"visits"', '"quiet"'))
    with serving(path) as server:
        key = server.key()
        assert server.ask(SECRET, key=key, insist=True)[0] == 200
        (release,) = get(server, "/v1/registry/visits")[1]["releases"]
        assert release["receipt"] is None
        assert get(server, "/v1/datasets/visits/receipts/0", key)[0] == 404
        owner = server.key("olga", role="owner", share=0)
        assert get(server, "/v1/datasets/visits/receipts/0", owner)[0] == 200
