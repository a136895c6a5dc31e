"""Try everything that concerns one card: `make quick CARD=laplace`. Meant to take less than a minute.

The unit test of its module, the contract suite and the names for that card alone, its page, the examples of
its docstrings, what a new file is often red for elsewhere (its citation, a room that is full, the index), and
its audit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from discreet.catalogue import find

ROOT = Path(__file__).resolve().parents[1]

SHARED = ("test_every_citation", "test_a_room_holds", "test_the_map_and_the_index")
"""Tests of all files together that a new card is likely to turn red."""


def find_module(name: str) -> str:
    """Return the module of a card's class."""
    return type(find(name).example()[0]).__module__


def find_tests(name: str) -> list[str]:
    """Return the test files that concern a card: that of its module, else those of the nearest room."""
    _, *rooms, file = find_module(name).split(".")
    own = ROOT / "tests" / "unit" / Path(*rooms) / f"test_{file}.py"
    if own.exists():
        return [str(own.relative_to(ROOT))]
    beside = next(found for room in own.parents if (found := sorted(room.glob("test_*.py"))))
    return [str(path.relative_to(ROOT)) for path in beside]


def main(name: str) -> int:
    """Run the tests, then the audit; stop where one fails."""
    python = [sys.executable, "-m"]
    everywhere = " or ".join((f"[{name}]", f"[{name}.md]", f"[{find_module(name)}]", *SHARED))
    steps = [
        [*python, "pytest", "-q", "-m", "not soak", *find_tests(name)],
        [*python, "pytest", "-q", "-m", "not soak", "tests/contract", "tests/docs", "-k", everywhere],
        [*python, "discreet", "audit", name],
    ]
    for step in steps:
        print("$", " ".join(["python", *step[1:]]), flush=True)
        code = subprocess.run(step, cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("name a card: make quick CARD=laplace (`discreet catalogue` lists them)")
    sys.exit(main(sys.argv[1]))
