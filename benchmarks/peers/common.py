"""Timing and printing, shared by the peers' scripts. Needs the standard library only."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

REGIONS = ("north", "south", "east", "west")
LOWER, UPPER = 0, 1000


def cpu() -> float:
    """Return the CPU seconds of this process and of every process below it that still runs or has ended."""
    times = os.times()
    return (
        times.user
        + times.system
        + times.children_user
        + times.children_system
        + sum(map(_of, _below(os.getpid())))
    )


def cpu_below(process: int) -> float:
    """Return the CPU seconds of a process and of every process below it that still runs or has ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return _of(process) + ended + sum(map(_of, _below(process)))


def _below(process: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, queue = [], [process]
    while queue:
        one = queue.pop()
        below = [child for child, parent in parents.items() if parent == one]
        found += below
        queue += below
    return found


def _of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(**questions: Callable[[], dict[str, float]]) -> None:
    """Ask every question as often as the command line says; print times and answers, keys in fixed order."""
    repeats = int(sys.argv[3])
    result = {}
    for name, ask in questions.items():
        answers, spent, passed = [], [], []
        for _ in range(repeats):
            start, clock = cpu(), time.perf_counter()
            answer = ask()
            spent.append(cpu() - start)
            passed.append(time.perf_counter() - clock)
            answers.append([float(answer.get(region, 0.0)) for region in REGIONS])
        result[name] = {
            "cpu": sorted(spent)[repeats // 2],
            "wall": sorted(passed)[repeats // 2],
            "answers": answers,
        }
    print("RESULT " + json.dumps(result))


def arguments() -> tuple[str, float, int]:
    """Return the path of the rows, epsilon, and the number of releases."""
    return sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
