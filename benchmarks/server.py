"""How fast is a curator behind HTTP? One million rows, 64 clients, two cores that server and clients share.

Free answers come from the shared hypothesis; new ones are read, planned and worked out, repeated ones are
found. Charged answers are counted once their charge is on the disk, the engine has counted a million rows,
and the answer is on the disk. A restart ends with SIGKILL and is over with the first answer.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.load.clients import ask_together
from discreet.server.access import Access

ROWS, CLIENTS, SECONDS = 1_000_000, 64, 8.0
PATH = "/v1/datasets/visits/"
SCHEMA = """
name = "visits"
neighbours = "add-remove"
[columns.ward]
kind = "category"
values = ["north", "south", "west", "east"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
[columns.cost]
kind = "integer"
lower = 0
upper = 5000
"""
REGISTRATION = """
tick = 0
[datasets.visits]
data = "visits.parquet"
schema = "visits.toml"
epsilon = 20
delta = 1e-9
columns = ["ward", "age"]
question = [0.0001, 0]
"""


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        home = Path(folder).absolute()
        _write(home)
        access = Access(home / "access.db")
        keys = [f"Authorization: Bearer {access.make_key(f'a{k}')}" for k in range(CLIENTS)]
        for k in range(CLIENTS):
            access.grant(f"a{k}", "visits", 1)
        opening = time.monotonic()
        server, port = _start(home)
        print(f"opened {ROWS:,} rows and measured the hypothesis in {time.monotonic() - opening:.1f} s")
        _load("free, new questions", server, _new(), port=port, keys=keys)
        _load("free, repeated", server, _same(), port=port, keys=keys)
        _load("charged counts", server, _charged(), port=port, keys=keys)
        _load("charged sums, means, groups", server, _mixed(), port=port, keys=keys)
        batches = "batches of 2,000 free counts"
        _load(batches, server, _batches(), port=port, keys=keys[:4], path="counts", times=2000)
        server.send_signal(signal.SIGKILL)
        server.wait()
        began = time.monotonic()
        server, port = _start(home)
        first = ask_together(port, PATH + "queries", keys[:1], _same(), seconds=0.001)
        waited, used = time.monotonic() - began, _find_cpu(server.pid)
        print(
            f"killed and started again: first answer after {waited:.2f} s, {used:.2f} of CPU {first.statuses}"
        )
        server.terminate()
        server.wait()


def _load(
    what: str,
    server: subprocess.Popen[str],
    bodies: Iterator[dict[str, object]],
    *,
    port: int,
    keys: list[str],
    path: str = "queries",
    times: int = 1,
) -> None:
    """Ask for some seconds, and print what came of it; CPU time hangs less on who else has the cores."""
    used, own = _find_cpu(server.pid), time.process_time()
    load = ask_together(port, PATH + path, keys, bodies, seconds=SECONDS)
    each = 1000 / len(load.seconds)
    used, own = each * (_find_cpu(server.pid) - used), each * (time.process_time() - own)
    p50, p99 = 1000 * load.quantile(0.5), 1000 * load.quantile(0.99)
    rate = f"{times * load.rate:10,.0f} a second"
    cpu = f"CPU {used:6.2f} + {own:.2f} ms a request"
    print(f"{what:32} {rate}   p50 {p50:6.0f} ms  p99 {p99:6.0f} ms  {cpu}  {load.statuses}")


def _find_cpu(process: int) -> float:
    """Return the seconds of CPU time that a process has used, its own and the system's for it."""
    told = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _write(home: Path) -> None:
    wards = "CASE range % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'south' WHEN 2 THEN 'west' ELSE 'east' END"
    rows = f"SELECT {wards} AS ward, (hash(range) % 100)::INT AS age, (hash(range + 7) % 5001)::INT AS cost"
    duckdb.execute(f"COPY ({rows} FROM range({ROWS})) TO '{home / 'visits.parquet'}'")
    (home / "visits.toml").write_text(SCHEMA)
    (home / "discreet.toml").write_text(REGISTRATION)


def _start(home: Path) -> tuple[subprocess.Popen[str], int]:
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load.serve", str(home / "discreet.toml")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if server.stdout is None:
        raise RuntimeError("no output of the server")
    return server, int(server.stdout.readline())


def _new() -> Iterator[dict[str, object]]:
    for low, high, ward in itertools.cycle(
        (a, b, w) for a in range(100) for b in range(a, 100) for w in ("north", "south", "west", "east")
    ):
        yield {
            "sql": f"SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN {low} AND {high} AND ward = '{ward}'"
        }


def _same() -> Iterator[dict[str, object]]:
    asked = list(itertools.islice(_new(), 50))
    return itertools.cycle(asked)


def _charged() -> Iterator[dict[str, object]]:
    for k in itertools.count():
        sql = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {k % 5000} AND age <> {k // 5000 % 100}"
        yield {"sql": sql, "insist": True}


def _mixed() -> Iterator[dict[str, object]]:
    kinds = (
        "SELECT SUM(cost) AS n FROM visits WHERE cost < {0} AND age <> {1}",
        "SELECT AVG(cost) AS n FROM visits WHERE cost > {0} AND age <> {1}",
        "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > {0} AND age <> {1} GROUP BY ward",
    )
    for k in itertools.count():
        yield {"sql": kinds[k % 3].format(k // 3 % 5000, k // 15000 % 100), "insist": True}


def _batches() -> Iterator[dict[str, object]]:
    clauses = [
        {"ward": ["north", "south"][: 1 + k % 2], "age": list(range(k % 90, k % 90 + 1 + k % 10))}
        for k in range(2000)
    ]
    return itertools.repeat({"conjunctions": clauses})


if __name__ == "__main__":
    main()
