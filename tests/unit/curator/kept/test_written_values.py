"""Values as JSON has them: what is not a value of a reply is not written, and not read."""

import math

import pytest

from discreet.core.errors import InternalError, InvalidParameter
from discreet.curator.kept.written_values import read_value, write_value


@pytest.mark.parametrize("value", [math.nan, object(), [1], {"int": "1"}, b"1", 1j])
def test_what_a_reply_never_holds_is_not_written(value):
    with pytest.raises(InternalError):
        write_value(value)


@pytest.mark.parametrize(
    "written",
    [
        [1],
        {},
        {"int": "1", "float": "inf"},
        {"int": "one"},
        {"float": "nan"},
        {"float": 1},
        {"fraction": "1/0"},
        {"date": "yesterday"},
        {"several": 3},
        {"several": [{"int": None}]},
        {"object": "x"},
        math.nan,
        math.inf,
    ],
)
def test_what_was_not_written_here_is_not_read(written):
    with pytest.raises(InvalidParameter, match="one that a reply can hold"):
        read_value(written)
