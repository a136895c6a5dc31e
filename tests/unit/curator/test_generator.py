"""A system whose generator broke: nothing is charged, nothing is measured, and nobody is told why."""

import os

import pandas as pd
import pytest

from discreet import AddRemove, Curator
from discreet.core.errors import InternalError
from discreet.data import Integer, Row, Schema, Table

SCHEMA = Schema("t", columns=(Integer("x", lower=0, upper=9),), unit=Row(), neighbours=AddRemove("row"))
SUM = "SELECT SUM(x) AS n FROM t"


@pytest.fixture
def table():
    with Table(pd.DataFrame({"x": [1, 2, 3] * 100}), schema=SCHEMA) as opened:
        yield opened


@pytest.mark.filterwarnings("ignore:this curator's budget")
def test_nothing_is_charged_for_noise_that_is_none(table, monkeypatch):
    curator = Curator(table, epsilon=1, delta=0, shared=0)
    acme = curator.analyst("acme")
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(InternalError, match="repeats itself"):
        acme.sql(SUM, insist=True)
    assert curator.ledger.spent()["epsilon"] == 0
    monkeypatch.undo()
    assert acme.sql(SUM, insist=True).rows


def test_nothing_is_measured_with_it(table, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(InternalError, match="repeats itself"):
        Curator(table, epsilon=1, delta=0, ledger=tmp_path / "budget.db")
