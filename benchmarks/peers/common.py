"""Timing and printing, shared by the peers' scripts. Needs the standard library only."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

LOWER, UPPER = 0, 1000
"""The bounds of what is spent in one row."""
LARGE = 500
"""What is spent counts in the sum with CASE where it is more than this."""
ROWS_COUNTED = 4
"""How many of a user's rows count, in all groups together."""
DELTA = 1e-6
"""For those whose noise is Gaussian. The others are given none, or have no use for it."""
Rows = TypeVar("Rows")
Made = TypeVar("Made")
Answer = float | dict[str, float]


class Asked(NamedTuple):
    """What the command line says."""

    path: str
    epsilon: float
    repeats: int
    question: str
    regions: tuple[str, ...]


def regions(count: int) -> tuple[str, ...]:
    """Return the public names of the groups."""
    return tuple(f"r{place:03}" for place in range(count))


def arguments() -> Asked:
    """Read the command line."""
    path, epsilon, repeats, question, groups = sys.argv[1:]
    return Asked(path, float(epsilon), int(repeats), question, regions(int(groups)))


def cpu() -> float:
    """Return the CPU seconds of this process and of every process below it that still runs or has ended."""
    return cpu_below(os.getpid())


def cpu_below(process: int) -> float:
    """Return the CPU seconds of a process and of every process below it that still runs or has ended."""
    return _of(process) + sum(map(_of, _below(process)))


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
    # In user and system mode: its own, then that of its children that have ended.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Made]) -> tuple[Made, list[float]]:
    """Return what work makes, and its seconds of CPU and of wall time."""
    start, clock = cpu(), time.perf_counter()
    made = work()
    return made, [cpu() - start, time.perf_counter() - clock]


def report(asked: Asked, opening: Callable[[], Rows], **questions: Callable[[Rows], Answer]) -> None:
    """Open the rows, ask the question of the command line as often as it says, print times and answers.

    An answer is one number, or a number for every region, which are put in order.
    """
    rows, opened = timed(opening)
    times, answers = [], []
    for _ in range(asked.repeats):
        answer, seconds = timed(lambda: questions[asked.question](rows))
        times.append(seconds)
        if isinstance(answer, dict):
            answers.append([float(answer.get(region, 0.0)) for region in asked.regions])
        else:
            answers.append([float(answer)])
    print("RESULT " + json.dumps({"opened": opened, "times": times, "answers": answers}))
