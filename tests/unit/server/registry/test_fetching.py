"""Reading registries from elsewhere: strictly, and nothing that only looks like one."""

import json
from dataclasses import asdict

import pytest
from tests.unit.server.conftest import serving, write_home

from discreet.core.errors import InvalidParameter
from discreet.curator.ledger.books.verification import read_book
from discreet.server.registry import kept as kept_registries
from discreet.server.registry.export import write_site
from discreet.server.registry.fetching import fetch_registries, read_receipts, read_registries, read_registry
from discreet.server.registry.sources import list_receipts
from discreet.server.registry.view import write_registry


@pytest.fixture
def told(source):
    return write_registry(source, "public", newest=None)


def test_a_folder_or_a_file_is_read(told, tmp_path):
    write_site([told], tmp_path)
    assert read_registries(str(tmp_path)) == (told,)
    assert read_registries(str(tmp_path / "datasets/visits/registry.json")) == (told,)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"more": 1},
        {"total": "nan"},
        {"total": 0.5},
        {"budget": {"epsilon": "1/0x", "delta": "0"}},
        {"releases": [{"number": 1}]},
    ],
)
def test_another_shape_is_refused(told, change):
    with pytest.raises(InvalidParameter, match="documented shape"):
        read_registry(json.dumps(told | change).encode())


def test_what_is_not_there_is_refused(tmp_path):
    for where in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(InvalidParameter):
            read_registries(str(where))
    with pytest.raises(InvalidParameter, match="no reply"):
        fetch_registries("http://127.0.0.1:9")


def test_receipts_are_read_as_they_were_kept(filled, tmp_path):
    book = read_book(filled.parent / "budget.db")
    receipts = [asdict(one) for one in list_receipts(book, "visits").values()]
    path = tmp_path / "kept.json"
    path.write_text(json.dumps([receipts[0], {"columns": [], "receipt": receipts[1]}, {"receipt": None}]))
    assert read_receipts(path) == tuple(receipts[:2])
    path.write_text(json.dumps(receipts[0]))
    assert read_receipts(path) == (receipts[0],)
    path.write_text(json.dumps([1]))
    with pytest.raises(InvalidParameter, match="receipts"):
        read_receipts(path)


def test_a_running_server_is_read_page_by_page(tmp_path, monkeypatch):
    from discreet.server.registry import view

    monkeypatch.setattr(kept_registries, "write_registry", lambda *args: view.write_registry(*args, newest=3))
    with serving(write_home(tmp_path, rows=200)) as served:
        key = served.key()
        for age in range(8):
            assert (
                served.ask(f"SELECT SUM(age) AS n FROM visits WHERE age > {age}", key=key, insist=True)[0]
                == 200
            )
        (told,) = fetch_registries(f"http://127.0.0.1:{served.port}/")
        assert [one["number"] for one in told["releases"]] == [7, 6, 5, 4, 3, 2, 1, 0]
        assert all("rho" in one["cost"] for one in told["releases"])
        with pytest.raises(InvalidParameter, match="status 404"):
            fetch_registries(f"http://127.0.0.1:{served.port}/nowhere")
