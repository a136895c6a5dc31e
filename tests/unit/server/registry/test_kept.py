"""Registries that are kept: told again quickly, and never older than they may be."""

import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.unit.server.conftest import SCHEMA, write_home

from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.curator.ledger.events import encode
from discreet.curator.ledger.state import EntryRecord
from discreet.server.open_datasets import OpenDatasets
from discreet.server.registered.registration import read_registration
from discreet.server.registry import kept
from discreet.server.registry.kept import Registries


@pytest.fixture
def opened(tmp_path):
    datasets = OpenDatasets(read_registration(write_home(tmp_path, rows=50)))
    yield datasets
    datasets.close()


def charge(dataset, times=1):
    ledger = dataset.curator.ledger
    cost = Guarantee(PureLoss(Fraction(1, 10**6)), ledger.guarantee.neighbours)
    for _ in range(times):
        ledger.reserve("acme", "q", cost)


def test_it_is_told_again_until_something_happens(opened, monkeypatch):
    made = []
    monkeypatch.setattr(kept, "write_registry", lambda *args: made.append(1) or {"releases_total": len(made)})
    registries, visits = Registries(opened, patience=0.5), opened.get("visits")
    assert registries.tell(visits, "public") == registries.tell(visits, "public") == {"releases_total": 1}
    time.sleep(0.55)
    registries.tell(visits, "public")
    assert len(made) == 1  # nothing happened
    charge(visits)
    registries.tell(visits, "public")
    assert len(made) == 2
    charge(visits)
    registries.tell(visits, "public")
    assert len(made) == 2  # it is fresh
    time.sleep(0.55)
    registries.tell(visits, "public")
    registries.tell(visits, "owner")
    assert len(made) == 4


def test_when_it_is_made_anew_tells_nothing_of_a_promised_data_set(tmp_path, monkeypatch):
    path = write_home(tmp_path, rows=50)
    both = path.read_text() + '[datasets.hidden]\ndata = "visits.csv"\nschema = "hidden.toml"\n'
    path.write_text(both + 'epsilon = 1\ndelta = 1e-9\nshared = 0\npromise = "one analyst to many"\n')
    (tmp_path / "hidden.toml").write_text(SCHEMA.replace('"visits"', '"hidden"'))
    made = []
    monkeypatch.setattr(kept, "write_registry", lambda *args: made.append(1) or {"releases_total": 0})
    with closing(OpenDatasets(read_registration(path))) as datasets:
        registries, hidden = Registries(datasets, patience=0.2), datasets.get("hidden").curator
        counts = []
        for asks in (False, True):
            registries.tell(datasets.get("visits"), "public")
            time.sleep(0.25)
            if asks:
                hidden.analyst("union", share=1)
            before = len(made)
            registries.tell(datasets.get("visits"), "public")
            counts.append(len(made) - before)
    assert counts[0] == counts[1]


def test_many_entries_are_told_quickly(opened):
    visits = opened.get("visits")
    charge(visits)
    account = opened.book.state.data("visits")
    record = account.records[0]
    for number in range(1, 100_000):  # as if they had been written
        _, body = encode(replace(record.reserved, number=number))
        account.records[number] = EntryRecord(body, analyst=record.analyst, question=None, state="finished")
        account.records[number].note_row(*record.row)
    registries = Registries(opened)
    begun = time.perf_counter()
    told = registries.tell(visits, "public")
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    registries.tell(visits, "public")
    again = time.perf_counter() - begun
    assert told["releases_total"] == 100_000
    assert len(told["releases"]) == 1000
    print(f"{first:.2f} s, then {again:.4f} s")
    assert first < 20  # all entries are read once
    assert again < 0.1


def test_what_takes_long_is_told_for_longer(opened, monkeypatch):
    """Anybody may ask for a registry, and whoever asks again and again must not keep the server busy."""
    visits, made = opened.get("visits"), []

    def write(*args):
        made.append(1)
        time.sleep(0.02)
        return {"releases_total": 0}

    monkeypatch.setattr(kept, "write_registry", write)
    registries = Registries(opened, patience=0.0)
    for _ in range(3):
        charge(visits)
        registries.tell(visits, "owner")
    assert len(made) == 1
    time.sleep(20 * 0.06)
    registries.tell(visits, "owner")
    assert len(made) == 2
