"""Columns are found by their names: exactly, and once."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from discreet import AddRemove
from discreet.core.errors import InvalidParameter
from discreet.data import Integer, Row, Schema, Table

SCHEMA = Schema("t", columns=(Integer("x", lower=0, upper=9),), unit=Row(), neighbours=AddRemove("row"))


def why(data: object) -> str:
    with pytest.raises(InvalidParameter) as caught:
        Table(data, schema=SCHEMA)
    return str(caught.value)


def test_a_name_in_another_case_is_told() -> None:
    told = (
        "t must be data with a column x, got 2 of other names. Did you mean X (upper and lower case count)?"
    )
    assert told in why(pd.DataFrame({"X": [1], "y": [2]}))
    assert told in why(pa.table({"X": [1], "y": [2]}))


def test_a_name_that_two_columns_have_is_refused() -> None:
    told = "t must be data with one column x, got 2 of this name"
    assert told in why(pd.DataFrame([[1, 2]], columns=["x", "x"]))
    assert told in why(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]))


def test_two_columns_of_one_name_that_nobody_declares_do_not_matter() -> None:
    frame = pd.DataFrame([[1, 5, 6]] * 3, columns=["x", "y", "y"])
    with Table(frame, schema=SCHEMA) as table:
        assert table.sql("SELECT SUM(x) AS s FROM t", epsilon=1000, delta=0).rows == ((3,),)


def test_the_column_that_is_declared_is_read_beside_one_of_another_case() -> None:
    frame = pd.DataFrame([[1, 5]] * 3, columns=["X", "x"])
    for data in (frame, pa.table(frame)):
        with Table(data, schema=SCHEMA) as table:
            assert table.sql("SELECT SUM(x) AS s FROM t", epsilon=1000, delta=0).rows == ((15,),)
