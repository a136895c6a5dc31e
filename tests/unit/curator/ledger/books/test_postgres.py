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


def test_a_database_without_a_place_for_it_is_named_with_what_to_do(ledger_server, tmp_path):
    anchor = tmp_path / "anchor"
    with psycopg.connect(ledger_server, autocommit=True) as server:
        server.execute("CREATE DATABASE bare")
        server.execute("CREATE ROLE clerk LOGIN")
    bare = ledger_server.replace("/postgres", "/bare")
    with pytest.raises(LedgerRefused, match="CREATE SCHEMA discreet AUTHORIZATION"):
        open_book(bare, anchor=anchor)
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
        connection.execute("GRANT USAGE ON SCHEMA discreet TO clerk")
    with pytest.raises(LedgerRefused, match="may make tables"):
        open_book(bare.replace("tester@", "clerk@"), anchor=anchor)
    open_book(bare, anchor=anchor).close()
    with psycopg.connect(ledger_server, autocommit=True) as server:
        server.execute("DROP DATABASE bare")
        server.execute("DROP ROLE clerk")
