"""How many rows there are, by counts that were answered."""

import pandas as pd

from discreet import AddRemove
from discreet.curator.sessions.released_rows import expect_rows
from discreet.data import Integer, Row, Schema, Table
from discreet.testing import unsafe_seeded

PEOPLE = Schema(
    "people", columns=(Integer("age", lower=0, upper=99),), unit=Row(), neighbours=AddRemove("row")
)


def test_the_noise_of_a_cheap_count_makes_no_table_small():
    """By the middle of its interval one in two tables was taken for smaller than it is, some for one row."""
    with Table(pd.DataFrame({"age": [40] * 300}), schema=PEOPLE) as table:
        asked = "SELECT COUNT(*) AS n FROM people"
        counted = [table.sql(asked, epsilon=0.005, delta=0, rng=unsafe_seeded(seed)) for seed in range(100)]
    known = [expect_rows([one], one.plan.question) for one in counted]
    assert sum(one.asked >= 300 for one in known) >= 95
    assert max(one.asked for one in known) < 6000, "and is not taken for any size"
    cheap, sure = counted[0], known[1]
    assert expect_rows([cheap, counted[1]], cheap.plan.question) == sure, "the latest is believed"
