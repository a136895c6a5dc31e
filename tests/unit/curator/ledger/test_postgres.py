"""Books on a PostgreSQL server: one process alone, or several that know of each other."""

import psycopg
import pytest

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.files import open_book


def test_a_second_process_that_wants_it_alone_is_refused(ledger_server, tmp_path):
    """Each would write an anchor anew and the other go on with one that nobody reads."""
    with psycopg.connect(ledger_server, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
    anchor = tmp_path / "anchor"
    alone = open_book(ledger_server, anchor=anchor)
    for together in (False, True):
        with pytest.raises(LedgerRefused, match="open in another process"):
            open_book(ledger_server, anchor=anchor, together=together)
    alone.close()
    books = [open_book(ledger_server, anchor=anchor, together=True) for _ in range(2)]
    with pytest.raises(LedgerRefused, match="open in another process"):
        open_book(ledger_server, anchor=anchor)
    for book in books:
        book.close()
    open_book(ledger_server, anchor=anchor).close()
