import numpy as np
from tests.unit.curator.conftest import BY_ROW, people

from discreet.curator.curator import Curator
from discreet.data import Table
from discreet.query_release.online import warm_start
from discreet.query_release.online.written_errors import read_own_errors, write_own_errors

COLUMNS = ("region", "age", "smoker")


def open_curator(path, **more):
    return Curator(
        Table(people(600), schema=BY_ROW), epsilon=2, delta=1e-6, columns=COLUMNS, ledger=path, **more
    )


def test_a_later_life_reads_what_was_learnt(tmp_path, monkeypatch):
    path, question = tmp_path / "budget.db", "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
    with open_curator(path) as first:
        said = first.analyst("acme").sql(question)
        own = first._shared._conversation._known.own
    read = read_own_errors(write_own_errors(own, "x"), "x")
    counts, spreads = np.array([0.0, 5.0, 400.0]), np.array([1.0, np.inf, 30.0])
    assert np.array_equal(read.half_widths(counts, spreads), own.half_widths(counts, spreads))
    assert read_own_errors(write_own_errors(own, "x"), "y") is None
    with monkeypatch.context() as patch:
        patch.setattr(warm_start, "learn_own_errors", lambda *_, **__: 1 / 0)
        with open_curator(path) as second:
            assert second.analyst("acme").sql(question).intervals == said.intervals


def test_notes_of_another_version_are_not_read(tmp_path, monkeypatch):
    path, learnt = tmp_path / "budget.db", []
    open_curator(path).close()
    monkeypatch.setattr(warm_start, "VERSION", "another")
    real = warm_start.learn_own_errors
    monkeypatch.setattr(warm_start, "learn_own_errors", lambda *a, **k: learnt.append(1) or real(*a, **k))
    open_curator(path).close()
    assert learnt
