import psycopg
import pytest
from tests.quick_disk import tmp_path
from tests.servers import postgres

__all__ = ["tmp_path"]


@pytest.fixture(scope="session")
def book_server():
    with postgres(durable=True) as dsn:
        yield dsn


@pytest.fixture
def server_book(book_server, tmp_path):
    """Return the address of an empty book on a server, and a place for its anchor."""
    name = f"book{abs(hash(str(tmp_path)))}"
    with psycopg.connect(book_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    found = book_server.replace("/postgres", f"/{name}")
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
    return found, tmp_path / "anchor"
