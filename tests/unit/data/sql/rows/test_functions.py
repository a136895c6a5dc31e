"""Functions of numbers: missing in the rows where SQL says so."""

from __future__ import annotations

import pandas as pd
import pytest

import discreet as dp
from discreet.data import Integer, Row, Schema, Table

SCHEMA = Schema(
    "t",
    columns=tuple(Integer(name, lower=-3, upper=3) for name in "abc"),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
ROWS = [(2, 1, 0), (2, 1, 1), (3, 2, None), (None, 1, 2), (1, None, 1), (-3, 2, -1)]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("a / (b / NULLIF(c, 0))", [2, 1.5]),  # the first row's divisor is missing, not 0
        ("SAFE_DIVIDE(a, SAFE_DIVIDE(b, c))", [2, 1.5]),
        ("a / NULLIF(2 / NULLIF(c, 0), 0)", [1, 0.5, 1.5]),
        ("(a / NULLIF(c, 0)) / b", [2, 1.5]),
        # The same division stands twice, and only in one place its divisor is never missing.
        (
            "CASE WHEN c > 0 THEN SAFE_DIVIDE(a, SAFE_DIVIDE(2, c))"
            " ELSE SAFE_DIVIDE(a, SAFE_DIVIDE(2, c)) END",
            [1, 0.5, 1.5],
        ),
        ("b * POWER(a, 0)", [1, 1, 2, 2]),
        ("POWER(SAFE_DIVIDE(a, c), 0)", [1, 1, 1]),
    ],
)
def test_what_is_missing_stays_missing(number: str, expected: list[float]) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abc"), dtype="Int64")
    with Table(frame, schema=SCHEMA) as table:
        query = f"SELECT COUNT({number}) AS n, SUM({number}) AS s FROM t WHERE b > 0 OR b IS NULL"
        answer = table.sql(query, epsilon=10**8, delta=0)
    assert answer.column("n") == (len(expected),)
    assert answer.column("s")[0] == pytest.approx(sum(expected), abs=1e-4)
