"""Receipts tell how long the book is: nobody has one where any of its data sets is under a promise."""

import pytest
from tests.unit.server.conftest import SCHEMA, serving, write_home

from discreet.core.errors import LedgerRefused
from discreet.server.registered.registration import read_registration
from discreet.server.registry.checking import check_registry
from discreet.server.registry.sources import read_closed
from discreet.server.registry.view import write_registry

PROMISE = 'promise = "one analyst to many"'


def write_two(folder, promise):
    path = write_home(folder)
    (folder / "claims.toml").write_text(SCHEMA.replace('"visits"', '"claims"'))
    path.write_text(
        path.read_text() + '[datasets.claims]\ndata = "visits.csv"\nschema = "claims.toml"\n'
        f"epsilon = 1\ndelta = 1e-9\n{promise}\n"
    )
    return path


def ask(server):
    key = server.key()
    status, said = server.ask("SELECT AVG(age) AS m FROM visits", key=key, insist=True)
    assert status == 200, said
    return said["receipt"]


def test_receipts_are_given_where_nothing_is_promised(tmp_path):
    with serving(write_two(tmp_path, "")) as server:
        assert ask(server)["ledger"] == "visits"


def test_and_to_nobody_where_something_is(tmp_path):
    with serving(write_two(tmp_path, PROMISE)) as server:
        assert ask(server) is None


def test_nor_later_where_that_is_not_served_any_more(tmp_path):
    path = write_two(tmp_path, PROMISE)
    with serving(path):
        pass
    path.write_text(path.read_text().partition("[datasets.claims]")[0])
    with serving(path) as server:
        assert ask(server) is None
        assert server.send("GET", "/v1/datasets/visits/receipts/0", key=server.key())[0] == 404
        assert b'"digest"' not in server.send("GET", "/v1/registry/visits")[2]
    (visits,) = read_closed(read_registration(path))
    assert [one["receipt"] for one in write_registry(visits, "public")["releases"]] == [None]


def test_the_hypothesis_of_a_later_version_counts_as_spent_where_shares_are_apart(tmp_path):
    path = write_home(tmp_path, options=f"{PROMISE}\nshared = 0.5")
    with serving(path):
        pass
    write_home(tmp_path, options=f'{PROMISE}\nshared = 0.5\nversion = "later"', rows=2500)
    with serving(path):  # a quarter of the half that is for questions is set aside, and used at once
        pass
    (visits,) = read_closed(read_registration(path))
    told = write_registry(visits, "owner")
    assert (told["total"], told["left"]["epsilon"], told["spent"]["part"]) == ("0.625", "0.375", "0.25")
    assert [one["spent"]["epsilon"] for one in told["shares"]] == ["0.125"]
    assert not check_registry(told).wrong
    assert write_registry(visits, "public")["total"] is None


def test_a_registry_is_not_written_as_if_nothing_were_promised(tmp_path):
    path = write_two(tmp_path, PROMISE)
    with serving(path):
        pass
    path.write_text(path.read_text().replace(PROMISE, ""))
    with pytest.raises(LedgerRefused, match="promise"):
        read_closed(read_registration(path))
