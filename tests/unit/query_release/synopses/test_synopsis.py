"""Synopses of explicit weights and the synthetic tables made from them."""

import csv
import sys

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, MissingExtra, Refused
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.synopses.synopsis import Weights
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("sex", ("f", "m")), ("age", (20, 30, 40))])
WEIGHTS = np.array([[1.5, 2.25, 0.0], [3.0, 0.25, 3.0]])


def test_weights_answer_any_workload():
    synopsis = Weights(UNIVERSE, WEIGHTS, transcript=(1,))
    workload = Marginals.of_order(UNIVERSE, 1)
    assert synopsis.answers(workload).tolist() == [3.75, 6.25, 4.5, 2.5, 3.0]
    assert synopsis.marginal(["age"]).tolist() == [4.5, 2.5, 3.0]
    assert synopsis.answer(workload.query(1)) == 6.25
    assert synopsis.total == 10


def test_synopses_are_equal_by_what_was_released():
    one, other = (Weights(UNIVERSE, WEIGHTS, transcript=(t,)) for t in (1, 2))
    assert one == Weights(UNIVERSE, WEIGHTS * 2, transcript=(1,))
    assert hash(one) == hash(Weights(UNIVERSE, WEIGHTS * 2, transcript=(1,)))
    assert one != other
    assert one != "another thing"


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_are_finite_and_not_negative(bad):
    with pytest.raises(InvalidParameter):
        Weights(UNIVERSE, np.array([[bad, 1, 1], [1, 1, 1]]), transcript=())


@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_every_cell_gets_its_share_up_to_one_row(rows):
    table = Weights(UNIVERSE, WEIGHTS, transcript=()).synthetic(rows, rng=unsafe_seeded(1))
    assert len(table) == rows
    share = WEIGHTS * rows / WEIGHTS.sum()
    assert (np.abs(table.histogram().counts() - share) < 1).all()


def test_shares_are_kept_on_average():
    rng = unsafe_seeded(2)
    counts = sum(
        SyntheticTable.in_proportion(UNIVERSE, WEIGHTS, 3, rng=rng).histogram().counts() for _ in range(4000)
    )
    assert np.abs(counts / 4000 - WEIGHTS * 0.3).max() < 0.04  # five standard deviations of a 0/1 share


def test_rows_are_written_in_the_declared_values(tmp_path):
    table = Weights(UNIVERSE, WEIGHTS, transcript=()).synthetic(rng=unsafe_seeded(3))
    assert len(table) == 10
    assert set(table) <= set(UNIVERSE.records())
    table.write_csv(tmp_path / "made-up.csv")
    with (tmp_path / "made-up.csv").open() as file:
        header, *lines = csv.reader(file)
    assert header == ["sex", "age"]
    assert [tuple(map(str, row)) for row in table] == [tuple(line) for line in lines]
    assert table.to_pandas()["age"].tolist() == table.columns()["age"]


def test_nothing_cannot_be_sampled():
    empty = Weights(UNIVERSE, WEIGHTS * 0, transcript=())
    assert len(empty.synthetic()) == 0
    with pytest.raises(Refused, match="zero"):
        empty.synthetic(5)


def test_a_synthetic_table_shows_its_first_rows():
    table = SyntheticTable(UNIVERSE, np.array([[0, 1], [1, 2]]))
    assert repr(table) == "sex  age\nf    30\nm    40\n2 synthetic rows of 2 columns"
    assert "<td>30</td>" in table._repr_html_()
    long = SyntheticTable(UNIVERSE, np.zeros((1000, 2), dtype=np.int64))
    assert "... and 980 more rows" in repr(long)
    assert len(repr(long).splitlines()) < 30
    empty = SyntheticTable(UNIVERSE, np.zeros((0, 2), dtype=np.int64))
    assert repr(empty) == "sex  age\n0 synthetic rows of 2 columns"


def test_a_synthetic_table_says_what_pandas_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        SyntheticTable(UNIVERSE, np.array([[0, 1]])).to_pandas()
