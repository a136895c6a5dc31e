import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameter
from discreet.server.strict_json import read_json, write_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_written_reads_back(said):
    assert read_json(write_json(said)) == said


def test_numbers_are_as_they_were_written():
    assert read_json(b"[0.1, 1e-9, 3]") == [Decimal("0.1"), Decimal("1e-9"), 3]


@pytest.mark.parametrize(
    "body",
    [
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b"1e-999",
        b"1e99999999999999999999",
        b"[-1.5E-99999999999999999999]",
        b'{"a": 1, "a": 1}',
        b'[{"a": {"b": 1, "b": 2}}]',
        b"9" * 5000,
        b"0." + b"1" * 5000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\\ud800"',
        b'{"\\udfff": 1}',
        b"",
        b"{",
        b"{} {}",
        b"'a'",
        b'"a\x00b"',
    ],
)
def test_what_is_not_one_plain_meaning_is_refused(body):
    with pytest.raises(InvalidParameter, match="body must be") as refused:
        read_json(body)
    assert refused.value.__cause__ is None
    assert len(str(refused.value)) < 200  # what was sent is not repeated


def test_whole_letters_beyond_the_basic_plane_are_taken():
    assert read_json(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_nothing_is_written_that_is_no_number():
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(float("nan"))
    assert json.loads(write_json({"a": [1, None, "é"]})) == {"a": [1, None, "é"]}
