"""Try everything that concerns one card: `make quick CARD=laplace`. Meant to take less than a minute.

The unit test of its module, the contract suite and the names for that card alone, its page, and its audit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from discreet.catalogue import find

ROOT = Path(__file__).resolve().parents[1]


def find_tests(name: str) -> list[str]:
    """Return the test files that concern a card, those of its own module first."""
    module = type(find(name).example()[0]).__module__.removeprefix("discreet.")
    *rooms, file = module.split(".")
    own = ROOT / "tests" / "unit" / Path(*rooms) / f"test_{file}.py"
    room = own.parent if own.parent.exists() else None
    beside = [own] if own.exists() else sorted(room.glob("test_*.py")) if room else []
    return [str(path.relative_to(ROOT)) for path in beside]


def main(name: str) -> int:
    """Run the tests, then the audit; stop where one fails."""
    python = [sys.executable, "-m"]
    everywhere = ["tests/contract", "tests/docs/test_code_blocks.py"]
    steps = [
        [*python, "pytest", "-q", "-m", "not soak", *find_tests(name)],
        [*python, "pytest", "-q", "-m", "not soak", *everywhere, "-k", f"[{name}] or [{name}.md]"],
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
