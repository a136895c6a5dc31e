"""Charged counts a second of Lomas, on the rows and the cores of `benchmarks server`.

`make peers` installs it; where it is not, that is said. Lomas keeps its budgets in memory here and writes
nothing down: the two waits for a disk that each of our answers has are not in its figures.
"""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.load.clients import ask_together
from benchmarks.server import CLIENTS, ROWS
from benchmarks.sql_peers import HERE, PLACE

SECONDS = 60.0
PATIENCE = 90.0


def main() -> None:
    python = PLACE / "lomas" / "bin" / "python"
    if not python.exists():
        print("Lomas: not installed; `make peers` does it")
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        home = Path(folder).absolute()
        rows = "SELECT (hash(range) % 100)::INT AS age, (hash(range + 7) % 5001)::INT AS cost"
        duckdb.execute(f"COPY ({rows} FROM range({ROWS})) TO '{home / 'visits.csv'}'")
        facts = {
            "rows": ROWS,
            "users": [f"a{k}" for k in range(CLIENTS)],
            "columns": {"age": [0, 99], "cost": [0, 5000]},
        }
        (home / "facts.json").write_text(json.dumps(facts))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [str(python), str(HERE / "lomas.py"), str(home), str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait(port)
            for clients in (1, CLIENTS):
                callers = [f"user-name: a{k}" for k in range(clients)]
                load = ask_together(port, "/smartnoise_sql_query", callers, _charged(), seconds=SECONDS)
                p50, p99 = load.quantile(0.5), load.quantile(0.99)
                print(
                    f"Lomas, {clients:2} clients: {load.rate:8.2f} charged counts a second   "
                    f"p50 {p50:5.1f} s  p99 {p99:5.1f} s  {load.statuses}"
                )
        finally:
            server.kill()
            server.wait()


def _wait(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        else:
            return


def _charged() -> Iterator[dict[str, object]]:
    for k in itertools.count():
        yield {
            "dataset_name": "visits",
            "query_str": f"SELECT COUNT(*) AS n FROM df WHERE cost < {k % 5000} AND age <> {k // 5000 % 100}",
            "epsilon": 0.0001,
            "delta": 1e-9,
            "mechanisms": {},
            "postprocess": True,
        }


if __name__ == "__main__":
    main()
