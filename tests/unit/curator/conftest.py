"""A small table of made-up people, and curators in front of it."""

from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dp
from discreet.curator import ticks
from discreet.curator.curator import Curator
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, User
from discreet.query_release.online import own_errors

REGIONS = ("east", "north", "west")
COLUMNS = (
    Category("region", values=REGIONS),
    Integer("age", lower=Fraction(20), upper=Fraction(29)),
    Category("smoker", values=("no", "yes")),
    Integer("income", lower=Fraction(0), upper=Fraction(1_000_000)),
)
BY_ROW = Schema("people", columns=COLUMNS, unit=Row(), neighbours=dp.AddRemove("row"))
BY_USER = Schema(
    "people",
    columns=(Identifier("who"), *COLUMNS),
    unit=User(column="who", max_rows=2, max_groups=2),
    neighbours=dp.AddRemove("who"),
)
REPLACED = Schema("people", columns=COLUMNS, unit=Row(), neighbours=dp.Replace("row"))


def people(rows=6000):
    generator = np.random.default_rng(11)  # noqa: TID251
    return pandas.DataFrame(
        {
            "who": [f"u{place // 2}" for place in range(rows)],
            "region": generator.choice(REGIONS, rows, p=(0.5, 0.3, 0.2)),
            "age": generator.integers(20, 30, rows),
            "smoker": generator.choice(("no", "yes"), rows),
            "income": generator.integers(0, 100_000, rows),
        }
    )


def curator(schema=BY_ROW, **given):
    public = {"epsilon": 2, "delta": 1e-6, "shared": 0.75, "columns": ("region", "age", "smoker"), "tick": 0}
    public |= given
    return Curator(Table(people(), schema=schema), **public)


@pytest.fixture(autouse=True, scope="module")
def few_trials():
    """Learn answers' own errors from less: how well they are learnt is tried elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_errors, "TRIALS", 1)
        patch.setattr(own_errors, "_ASKED", 200)
        yield


@pytest.fixture
def frame():
    return people()


class FakeClock:
    """Time that passes only when someone waits or works."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(ticks, "time", fake)
    return fake
