"""A server of ours for tests: a folder with a registered table, and processes that serve it."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from discreet.server.access import Access
from discreet.server.registered.registering import register

WARDS = ("north", "south", "west")
SCHEMA = """\
name = "visits"
neighbours = "add-remove"
rows = 2000
[columns.ward]
kind = "category"
values = ["north", "south", "west"]
[columns.age]
kind = "integer"
lower = 0
upper = 9
[columns.cents]
kind = "integer"
lower = 0
upper = 500
"""
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
MEAN = "SELECT AVG(cents) AS m FROM visits"


def write_table(folder, *, rows=2000):
    """Write a table and its schema."""
    lines = [f"{WARDS[row * 7 % 11 % 3]},{row * 13 % 97 % 10},{row * 37 % 501}" for row in range(rows)]
    (folder / "visits.csv").write_text("ward,age,cents\n" + "\n".join(lines) + "\n")
    (folder / "visits.toml").write_text(SCHEMA)


def make_folder(folder, *, tick=0, **facts):
    """Register a table; return the registration file."""
    write_table(folder)
    path = folder / "discreet.toml"
    path.write_text(f"tick = {tick}\n")
    given = {
        "data": "visits.csv",
        "schema": "visits.toml",
        "epsilon": 4,
        "delta": Fraction(1, 10**6),
        "columns": ["ward", "age"],
    }
    register(path, "visits", given | facts)
    return path


def add_analyst(folder, name, share=1, **options):
    """Let an analyst in; return her key."""
    access = Access(Path(folder) / "access.db")
    try:
        if share is not None:
            access.grant(name, "visits", share)
        return access.make_key(name, **options)
    finally:
        access.close()


class Served:
    """A server process."""

    def __init__(self, folder, *options, **environment):
        command = [sys.executable, "-m", "discreet", "serve", "--json", "--port", "0", *options]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError(self.process.communicate(timeout=30)[1])
        self.url = json.loads(said)["address"]

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def stop(self, how=signal.SIGTERM):
        """Stop it; return its exit status and what it said."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said


@contextmanager
def serving(folder, *options):
    """Serve a folder."""
    served = Served(folder, *options)
    try:
        yield served
    finally:
        served.stop(signal.SIGKILL)
