"""Books of every kind: what holds for a ledger holds in each of them."""

import itertools

import psycopg
import pytest
from tests.quick_disk import tmp_path
from tests.servers import postgres

from discreet.curator.ledger.book import MemoryBook
from discreet.curator.ledger.books.durable import DurableBook
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.postgres import PostgresStore
from discreet.curator.ledger.ledger import Ledger

__all__ = ["tmp_path"]
_SCHEMAS = itertools.count()


@pytest.fixture(scope="session")
def ledger_server():
    with postgres(durable=True) as dsn:
        yield dsn


@pytest.fixture
def address(ledger_server):
    """Return the address of a data base of its own, with an empty schema for a book."""
    name = f"book{next(_SCHEMAS)}"
    with psycopg.connect(ledger_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    found = ledger_server.replace("/postgres", f"/{name}")
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
    return found


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def book(request, tmp_path):
    """Return an empty book of one kind."""
    if request.param == "memory":
        made = MemoryBook()
    elif request.param == "sqlite":
        made = open_book(tmp_path / "budget.db")
    else:
        made = on_server(request.getfixturevalue("ledger_server"), tmp_path)
    yield made
    made.close()


def on_server(dsn, folder):
    """Return a book in a schema of its own."""
    schema = f"ledger{next(_SCHEMAS)}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return DurableBook(PostgresStore(dsn, schema=schema), folder / f"{schema}.anchor")


@pytest.fixture
def make_ledger(book):
    """Return a function that opens a ledger in the book."""
    return lambda **budget: Ledger(book=book, **budget)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"
