"""Frequency oracles beside pure-LDP and multi-freq-ldpy: squared error and speed, 1024 values.

`square` is the number of people times the mean squared error of a frequency, which hangs on neither the data
nor the number of people, so that slower libraries run with fewer. `of the optimum` divides by the exact value
of subset selection, the least that is known. multi-freq-ldpy clips and normalises its estimates: it stands
beside ours made consistent, from as many people. CPU microseconds a person are for encoding, adding up and
estimating. `make peers` installs both.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import numpy as np

from benchmarks.sql_peers import HERE, PLACE
from discreet import local
from discreet.local.planning import ORACLES

PEOPLE, VALUES, RUNS = 1_000_000, 1024, 2
FEW, FEW_RUNS = 10_000, 3
EPSILONS = (0.5, 1.0, 2.0, 4.0)


def main() -> None:
    found = {name: _ask(name) for name in ("pure-ldp", "multi-freq-ldpy")}
    for epsilon in EPSILONS:
        least = local.SubsetSelection(epsilon=epsilon, domain=VALUES, people=PEOPLE).mean_square / PEOPLE
        print(f"\nepsilon {epsilon:g}, {PEOPLE:,} people, {VALUES} values; the least square is {least:.4g}")
        print(
            "  oracle               bits   predicted   seen, of the optimum   us   pure-LDP: of it, us, ratio"
        )
        for kind in ORACLES:
            oracle = kind(epsilon=epsilon, domain=VALUES, people=PEOPLE)
            seen, each = _measure(oracle)
            line = f"  {kind.kind:20}  {oracle.bits:4}  {oracle.mean_square / PEOPLE:10.4g}"
            line += f"  {seen:10.4g}  {seen / least:7.3f}  {each:6.3f}"
            theirs = found["pure-ldp"].get((kind.kind, epsilon))
            if theirs:
                line += f"     {theirs['square'] / least:7.3f}  {theirs['microseconds']:7.2f}"
                line += f"  {theirs['microseconds'] / each:6.1f}"
            print(line, flush=True)
        _compare_tidy(epsilon, found["multi-freq-ldpy"])


def _draw_values(people: int, seed: int) -> Any:
    weights = 1 / np.arange(1, VALUES + 1) ** 1.2
    return np.random.default_rng(seed).choice(VALUES, people, p=weights / weights.sum())  # noqa: TID251


def _measure(oracle: Any) -> tuple[float, float]:
    oracle.estimate(oracle.encode_many(np.arange(64)))  # tables are made once
    errors, seconds = [], 0.0
    for seed in range(RUNS):
        values = _draw_values(PEOPLE, seed)
        began = time.process_time()
        counts = oracle.estimate(oracle.encode_many(values)).counts
        seconds += time.process_time() - began
        errors.append(((counts - np.bincount(values, minlength=VALUES)) ** 2).mean())
    return float(np.mean(errors)) / PEOPLE, seconds / (RUNS * PEOPLE) * 1e6


def _compare_tidy(epsilon: float, theirs: dict[tuple[str, float], Any]) -> None:
    if not theirs:
        return
    best = local.plan(VALUES, FEW, epsilon).best
    errors = []
    for seed in range(FEW_RUNS):
        values = _draw_values(FEW, seed)
        counts = best.estimate(best.encode_many(values)).consistent()
        errors.append(((counts - np.bincount(values, minlength=VALUES)) ** 2).mean())
    ours = float(np.mean(errors)) / FEW
    said = ", ".join(
        f"{name} {each['square']:.4g} ({each['microseconds']:.1f} us)"
        for (name, at), each in theirs.items()
        if at == epsilon
    )
    print(f"  consistent, {FEW:,} people: {type(best).__name__} {ours:.4g}; multi-freq-ldpy: {said}")


def _ask(library: str) -> dict[tuple[str, float], Any]:
    python = PLACE / library / "bin" / "python"
    if not python.exists():
        print(f"  {library}: not installed; `make peers` does it")
        return {}
    script = [str(python), str(HERE / "local_oracles.py"), library, str(FEW), str(VALUES), str(FEW_RUNS)]
    done = subprocess.run(script, capture_output=True, check=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(each["oracle"], each["epsilon"]): each for each in lines}
