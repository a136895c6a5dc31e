"""Addresses of books: what is wrong with one is said without the password in it."""

import traceback

import pytest

from discreet.core.errors import InvalidParameter, LedgerRefused
from discreet.curator.ledger.books.files import open_book

ADDRESSES = (
    "postgresql://anna:hidden@127.0.0.1:1/x",
    "postgresql://anna:hidden%zz@127.0.0.1/x",
    "postgresql://anna:hidden@[::1/x",
    "postgresql://anna:word@hidden@127.0.0.1:1/x",
    "Postgresql://anna:hidden@127.0.0.1/x",
    " postgresql://anna:hidden@127.0.0.1/x",
    "mysql://anna:hidden@127.0.0.1/x",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_quotes_a_password(tmp_path, address):
    for anchor in (None, tmp_path / "anchor"):
        with pytest.raises((LedgerRefused, InvalidParameter)) as refusal:
            open_book(address, anchor=anchor)
        said = "".join(traceback.format_exception_only(refusal.value)) + repr(refusal.value)
        assert "hidden" not in said
        assert refusal.value.__cause__ is None
        assert refusal.value.__context__ is None
