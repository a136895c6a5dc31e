"""Books in SQLite files: who has one open keeps everybody else from it."""

import sqlite3
import subprocess
import sys
import threading

import pytest

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.sqlite import SQLiteStore

_PROBE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
"""


def test_opening_a_book_twice_in_one_process_drops_no_lock(tmp_path):
    """Locks of a process on a file go when the process closes any descriptor of it."""
    path = tmp_path / "budget.db"
    one = SQLiteStore(path, together=True)
    other = threading.Thread(target=lambda: SQLiteStore(path, together=True).close())
    with one.change():
        other.start()
        other.join(0.5)  # it waits for the change to end
        command = [sys.executable, "-c", _PROBE, str(path)]
        probe = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "database is locked" in probe.stderr
    other.join()
    one.close()


def test_a_file_that_is_no_book_is_left_as_it_is(tmp_path):
    path = tmp_path / "budget.db"
    path.write_bytes(b"something else" * 100)
    with pytest.raises(LedgerRefused, match="cannot be read"):
        SQLiteStore(path)
    assert path.read_bytes() == b"something else" * 100
    assert sqlite3.sqlite_version_info >= (3, 37)  # STRICT tables
