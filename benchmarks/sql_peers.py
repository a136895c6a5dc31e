"""Four questions with user-level bounds, here and in the peers, in one run: CPU time and error.

A user has 8 rows, of which 4 count. Everyone gets the same epsilon, the same unit and the same bounds. Times
are of a large table; "first" is opening the rows, bounding and answering, in a process of its own, "later" is
another question of the same process. Errors are those of many releases of a small table with many groups,
around what the same bounding gives without noise; there all rows of a user are alike, so that it does not
matter which of them count.

The peers do not install side by side: `make peers` gives each an environment of its own under `.peers`, and
DISCREET_PEERS names another place. One that is not there is named and left out. A question is
stopped after DISCREET_PEER_SECONDS (400) of CPU, or ten times as many of wall time. DISCREET_PEER_ROWS
(10,000,000) is the size of the large table.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import common

pyarrow: Any = importlib.import_module("pyarrow")
parquet: Any = importlib.import_module("pyarrow.parquet")

ROWS = int(os.environ.get("DISCREET_PEER_ROWS", "10000000"))
LIMIT = int(os.environ.get("DISCREET_PEER_SECONDS", "400"))
STOPPED = f"over {LIMIT} s of CPU"
PER_USER, GROUPS, EPSILON = 8, 4, 1
FEW_USERS, MANY_GROUPS = 5000, 50
HERE = Path(__file__).parent / "peers"
PLACE = Path(os.environ.get("DISCREET_PEERS", Path(__file__).parent.parent / ".peers"))
US, QRLEW = "discreet", "Qrlew"
WHO = {  # name: (environment, script, releases of all groups, releases of one number)
    US: ("", "discreet_table.py", 60, 1000),
    QRLEW: ("qrlew", "qrlew_duckdb.py", 40, 300),
    "OpenDP with polars": ("opendp", "opendp_polars.py", 30, 60),
    "SmartNoise SQL": ("smartnoise", "smartnoise.py", 30, 60),
    "PipelineDP": ("pipelinedp", "pipelinedp.py", 20, 100),
    "Tumult Analytics": ("tmlt", "tumult.py", 4, 6),
}
QUESTIONS = {
    "count": "SELECT region, COUNT(*) FROM visits GROUP BY region",
    "sum": "SELECT region, SUM(spent) FROM visits GROUP BY region",
    "mean": "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)",
    "case": "SELECT region, SUM(CASE WHEN spent > 500 THEN spent ELSE 0 END) FROM visits GROUP BY region",
}
CANNOT = {("SmartNoise SQL", "case"): "refuses aggregates of expressions"}
Report = dict[str, Any]


def visits(rows: int, users: int, groups: int, *, alike: bool) -> Any:
    """Return an Arrow table; where all rows of a user are alike, every user has as many."""
    generator = np.random.default_rng(7)  # noqa: TID251
    each = rows // users if alike else 1
    drawn = users if alike else rows
    who = np.arange(users) if alike else generator.integers(0, users, rows)
    codes = pyarrow.array(np.repeat(generator.integers(0, groups, drawn, dtype=np.int16), each))
    names = pyarrow.array(common.regions(groups))
    return pyarrow.table(
        {
            "who": pyarrow.array(np.repeat(who, each)).cast("string"),
            "region": pyarrow.DictionaryArray.from_arrays(codes, names).cast("string"),
            "spent": np.repeat(generator.integers(common.LOWER, common.UPPER + 1, drawn), each),
        }
    )


def ask(name: str, question: str, path: Path, repeats: int, groups: int) -> Report | str:
    """Run a script; return its report, or why there is none."""
    environment, script, *_ = WHO[name]
    python = PLACE / environment / "bin" / "python" if environment else Path(sys.executable)
    if not python.exists():
        return "not installed"
    if (name, question) in CANNOT:
        return CANNOT[name, question]
    command = [python, HERE / script, path, EPSILON, repeats, question, groups]
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, err, begun = "", "", time.monotonic()
    while process.returncode is None:
        try:
            out, err = process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if common.cpu_below(process.pid) > LIMIT or time.monotonic() - begun > 10 * LIMIT:
                os.killpg(process.pid, signal.SIGKILL)  # Its virtual machines and workers too.
                process.communicate()
                return STOPPED
    found = [line for line in out.splitlines() if line.startswith("RESULT ")]
    if not found:
        return f"failed: {' '.join(err.strip().splitlines()[-1:])[:100]}"
    report: Report = json.loads(found[0].removeprefix("RESULT "))
    return report


def exact(question: str, frame: Any, *, totals: bool) -> Any:
    """Return the answer without noise; `totals` bounds a user's total instead of the number of its rows."""
    counted, most = common.ROWS_COUNTED, common.ROWS_COUNTED * common.UPPER
    users = frame.groupby("who").agg(
        region=("region", "first"), spent=("spent", "first"), n=("spent", "size")
    )
    kept = users["n"].clip(upper=counted)
    if question == "mean":
        return kept.mean()
    value = users["spent"].where((users["spent"] > common.LARGE) | (question == "sum"), 0)
    added = (value * users["n"]).clip(upper=most) if totals else value * kept
    added = kept if question == "count" else added
    names = list(common.regions(MANY_GROUPS))
    return added.groupby(users["region"]).sum().reindex(names, fill_value=0).to_numpy()


def error(answers: list[list[float]], truth: Any) -> tuple[float, float]:
    """Return the root mean squared error and its standard error."""
    squares = (np.array(answers) - truth) ** 2
    rmse = math.sqrt(float(squares.mean()))
    return rmse, float(squares.std()) / math.sqrt(squares.size) / (2 * rmse)


def measure(small: Path, large: Path) -> dict[tuple[str, str, Path], Report | str]:
    """Ask everyone everything, one after the other, and say what came of it as it comes."""
    found = {}
    for name, (_, _, repeats, repeats_of_one) in WHO.items():
        for question in QUESTIONS:
            times = repeats_of_one if question == "mean" else repeats
            found[name, question, small] = ask(name, question, small, times, MANY_GROUPS)
            found[name, question, large] = got = ask(name, question, large, 4 if name == US else 1, GROUPS)
            said = got if isinstance(got, str) else f"{got['opened'][0]:.1f} + {got['times'][0][0]:.2f} CPU s"
            print(f"  {name}, {question}: {said}", file=sys.stderr, flush=True)
    return found


def show_times(found: dict[str, Report | str]) -> None:
    """Print the times of one question."""
    print(
        "\n| who | first: CPU s (wall s) | x ours | later: CPU s (wall s) | x ours |\n|---|---|---|---|---|"
    )
    first, later = np.zeros(2), np.zeros(2)
    for name, got in found.items():
        if isinstance(got, str):
            print(f"| {name} | - ({got}) | | | |")
            continue
        times = np.array(got["times"])
        theirs = np.array(got["opened"]) + times[0]
        # Nobody else keeps anything from one question to the next.
        again = np.median(times[1:], axis=0) if len(times) > 1 else times[0]
        if name == US:
            first, later = theirs, again
        print(
            f"| {name} | {theirs[0]:.1f} ({theirs[1]:.1f}) | {theirs[0] / first[0]:.1f} "
            f"| {again[0]:.2f} ({again[1]:.2f}) | {again[0] / later[0]:.0f} |"
        )


def show_session(found: dict[str, list[Report | str]]) -> None:
    """Print what all questions take together when the rows are opened once."""
    print("\nall of them, one after the other\n\n| who | CPU s | x ours | |\n|---|---|---|---|")
    ours = 0.0
    for name, reports in found.items():
        asked = [one for one in reports if not isinstance(one, str)]
        stopped = [one for one in reports if one == STOPPED]
        if not asked and not stopped:
            print(f"| {name} | - ({reports[0]}) | | |")
            continue
        opened = np.median([one["opened"][0] for one in asked]) if asked else 0.0
        spent = float(opened) + sum(one["times"][0][0] for one in asked) + LIMIT * len(stopped)
        ours = ours or spent
        few = f"{len(asked) + len(stopped)} of {len(reports)} questions" if len(reports) > len(asked) else ""
        least = "more than " if stopped else ""
        print(f"| {name} | {least}{spent:.1f} | {spent / ours:.1f} | {few} |")


def show_errors(question: str, found: dict[str, Report | str], frame: Any) -> None:
    """Print the errors of one question."""
    print("\n| who | RMSE ± standard error | x ours | |\n|---|---|---|---|")
    ours, draws = (0.0, 0.0), 0
    for name, got in found.items():
        if isinstance(got, str):
            print(f"| {name} | - ({got}) | | |")
            continue
        rmse, spread = error(got["answers"], exact(question, frame, totals=name == QRLEW))
        if name == US:
            ours, draws = (rmse, spread), np.size(got["answers"])
        # A few releases without a large error understate their spread: it is at least what ours would have.
        likely = ours[1] * math.sqrt(draws / np.size(got["answers"]))
        chance = 3 * math.hypot(max(spread, likely), ours[1])
        verdict = "larger" if rmse > ours[0] + chance else "MISSED" if rmse < ours[0] - chance else "equal"
        numbers = f"{rmse:.4g} ± {spread:.2g} | {rmse / ours[0]:.2f}"
        print(f"| {name} | {numbers} | {'' if name == US else verdict} |")


def main() -> None:
    """Print two tables for every question: times, then errors."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        parquet.write_table(visits(ROWS, ROWS // PER_USER, GROUPS, alike=False), large)
        parquet.write_table(visits(PER_USER * FEW_USERS, FEW_USERS, MANY_GROUPS, alike=True), small)
        found = measure(small, large)
        frame = parquet.read_table(small).to_pandas()
    print(
        f"epsilon {EPSILON}, {common.ROWS_COUNTED} of {PER_USER} rows a user count; times: {ROWS:,} rows in "
        f"{GROUPS} groups; errors: {FEW_USERS:,} users in {MANY_GROUPS} groups"
    )
    for question, text in QUESTIONS.items():
        print(f"\n{question}: {text}")
        show_times({name: found[name, question, large] for name in WHO})
        show_errors(question, {name: found[name, question, small] for name in WHO}, frame)
    show_session({name: [found[name, question, large] for question in QUESTIONS] for name in WHO})


if __name__ == "__main__":
    main()
