"""A count and a bounded sum by group, here and in the peers, in one run: CPU time and error.

The peers do not install side by side: `make peers` gives each an environment of its own under `.peers`, and
DISCREET_PEERS names another place. One that is not there is named and left out.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sql
from benchmarks.peers import common
from discreet.data import Table

parquet: Any = importlib.import_module("pyarrow.parquet")

ROWS = int(os.environ.get("DISCREET_PEER_ROWS", "10000000"))
FEW_ROWS, EPSILON, OURS = 20_000, 0.5, 1500
HERE = Path(__file__).parent / "peers"
PLACE = Path(os.environ.get("DISCREET_PEERS", Path(__file__).parent.parent / ".peers"))
PEERS = {  # name: (environment, script, releases to measure the error with)
    "OpenDP with polars": ("opendp", "opendp_polars.py", 60),
    "SmartNoise SQL": ("smartnoise", "smartnoise.py", 150),
    "PipelineDP": ("pipelinedp", "pipelinedp.py", 150),
    "Tumult Analytics": ("tmlt", "tumult.py", 12),
}
QUESTIONS = {
    "count": "SELECT region, COUNT(*) AS v FROM visits GROUP BY region",
    "sum": (
        "SELECT region, SUM(spent, contribution_bounds_per_row => (0, 1000)) AS v FROM visits GROUP BY region"
    ),
}


def peer(name: str, path: Path, repeats: int) -> dict[str, Any] | None:
    """Run a peer's script and return its report; None where the peer is not there."""
    environment, script, _ = PEERS[name]
    python = PLACE / environment / "bin" / "python"
    if not python.exists():
        return None
    command = [str(python), str(HERE / script), str(path), str(EPSILON), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not found:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    report: dict[str, Any] = json.loads(found[0].removeprefix("RESULT "))
    return report


def ours(path: Path, repeats: int) -> dict[str, Any]:
    """Return the same report of this library; the first question opens the table as well."""
    start = common.cpu()
    with Table(str(path), schema=sql.BY_ROW) as table:
        opened = common.cpu() - start
        report: dict[str, Any] = {"opened": opened}
        for name, text in QUESTIONS.items():
            spent, answers = [], []
            for _ in range(repeats):
                start = common.cpu()
                answer = table.sql(text, epsilon=EPSILON, delta=0)
                spent.append(common.cpu() - start)
                pairs: dict[Any, Any] = dict(zip(answer.column("region"), answer.column("v"), strict=True))
                answers.append([float(pairs[region]) for region in common.REGIONS])
            report[name] = {"cpu": float(np.median(spent)), "answers": answers}
    return report


def speed(path: Path) -> None:
    mine = ours(path, 5)
    print(f"\n{ROWS:,} rows, one row a user, epsilon {EPSILON}: CPU seconds of one release")
    print(f"{'who':28} {'count':>9} {'sum':>9} {'x ours':>16}   opening the table: {mine['opened']:.2f} s")
    print(f"{'discreet':28} {mine['count']['cpu']:9.3f} {mine['sum']['cpu']:9.3f}")
    for name in PEERS:
        theirs = peer(name, path, 1)
        if theirs is None:
            print(f"{name:28} not installed")
            continue
        ratios = [theirs[q]["cpu"] / (mine["opened"] + mine[q]["cpu"]) for q in QUESTIONS]
        later = [theirs[q]["cpu"] / mine[q]["cpu"] for q in QUESTIONS]
        verdict = "faster: met" if min(ratios) > 1 else "MISSED"
        print(
            f"{name:28} {theirs['count']['cpu']:9.3f} {theirs['sum']['cpu']:9.3f} "
            f"{ratios[0]:7.1f} {ratios[1]:7.1f}   once open: {later[0]:.0f} {later[1]:.0f}   {verdict}"
        )


def error(answers: list[list[float]], truth: Any) -> tuple[float, float]:
    """Return the root mean squared error and its standard error."""
    squares = (np.array(answers) - truth) ** 2
    rmse = math.sqrt(float(squares.mean()))
    return rmse, float(squares.std()) / math.sqrt(squares.size) / (2 * rmse)


def accuracy(path: Path) -> None:
    frame = parquet.read_table(path).to_pandas()
    frame["spent"] = frame["spent"].clip(0, 1000)
    by = frame.groupby("region")["spent"]
    truth = {"count": by.count()[list(common.REGIONS)], "sum": by.sum()[list(common.REGIONS)]}
    mine = ours(path, OURS)
    print(f"\nroot mean squared error at epsilon {EPSILON} with the same bounds, and its standard error")
    found = {q: error(mine[q]["answers"], truth[q].to_numpy()) for q in QUESTIONS}
    print(f"{'discreet':28}" + "".join(f"  {q}: {found[q][0]:9.2f} ± {found[q][1]:.2f}" for q in QUESTIONS))
    for name, (_, _, repeats) in PEERS.items():
        theirs = peer(name, path, repeats)
        if theirs is None:
            print(f"{name:28} not installed")
            continue
        line, met = f"{name:28}", True
        for q in QUESTIONS:
            rmse, spread = error(theirs[q]["answers"], truth[q].to_numpy())
            met &= found[q][0] <= rmse + 3 * math.hypot(spread, found[q][1])
            line += f"  {q}: {rmse:9.2f} ± {spread:.2f}"
        print(line + ("   ours <= theirs within three standard errors" if met else "   MISSED"))


def main() -> None:
    """Print times, then errors."""
    if not any((PLACE / environment).exists() for environment, _, _ in PEERS.values()):
        print("no peer is installed: run `make peers` first")
        return
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        parquet.write_table(sql.data(ROWS, None), large)
        parquet.write_table(sql.data(FEW_ROWS, None), small)
        accuracy(small)
        speed(large)


if __name__ == "__main__":
    main()
