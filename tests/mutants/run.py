"""Break the shipped source on purpose, one small edit at a time, and see which test notices.

Run by `make mutants`. Every entry of the lists here, one a package, is an edit that would harm people: a
clamp dropped, a scale halved, a caller believed. The source is copied, the edit made in the copy, and the
entry's tests are run against it in the order given, the cheapest first, until one fails. A mutant that
survives all of them is a hole in the suite, and so is one whose tests fail without any edit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent
SECONDS = 900
FAILED, PASSED = 1, 0


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit: `old` stands exactly once in `file` and is replaced by `new`; `tests` should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    soak: bool = False

    @property
    def family(self) -> str:
        """The package whose source is edited."""
        return Path(self.file).parts[0]


def read_mutants(folder: Path = LISTS) -> tuple[Mutant, ...]:
    """Return all lists, package by package, each in the order it is written."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.toml")))
    entries = (entry for text in texts for entry in tomllib.loads(text)["mutant"])
    return tuple(Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries)


def apply(mutant: Mutant, source: Path) -> None:
    """Make the edit in a copy of the package."""
    file = source / "discreet" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: its text stands {text.count(mutant.old)} times in {mutant.file}")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def run_tests(tests: str, source: Path, *, soak: bool) -> int:
    """Run one selection of tests against a copy of the source and return pytest's exit code."""
    marks = [] if soak else ["-m", "not soak"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *marks, *tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    return found.returncode


def judge(mutant: Mutant) -> tuple[Mutant, str | None, float]:
    """Return the tests that noticed a mutant, or None, and the seconds that took."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        apply(mutant, source)
        for tests in mutant.tests:
            try:
                code = run_tests(tests, source, soak=mutant.soak)
            except subprocess.TimeoutExpired:
                return mutant, f"{tests} (it never ends)", time.monotonic() - started
            if code == FAILED:
                return mutant, tests, time.monotonic() - started
            if code != PASSED:
                raise SystemExit(
                    f"{mutant.name}: pytest {tests} ended with code {code}, so nothing was tried"
                )
    return mutant, None, time.monotonic() - started


def require_green(mutants: tuple[Mutant, ...], workers: int) -> None:
    """Stop unless every test that is meant to notice something passes on the source as it is."""
    wanted = sorted({(tests, mutant.soak) for mutant in mutants for tests in mutant.tests})
    print(f"{len(wanted)} selections of tests on the source as it is")
    with ThreadPoolExecutor(workers) as pool:
        codes = pool.map(lambda one: run_tests(one[0], ROOT / "src", soak=one[1]), wanted)
        red = [tests for (tests, _), code in zip(wanted, codes, strict=True) if code != PASSED]
    if red:
        raise SystemExit(f"these fail without any edit: {', '.join(red)}")


def main() -> int:
    """Try every mutant, or those named, and print which tests noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants or packages to try; all by default")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    mutants = tuple(m for m in read_mutants() if not options.names or {m.name, m.family} & set(options.names))
    require_green(mutants, options.workers)
    survivors = []
    with ThreadPoolExecutor(options.workers) as pool:
        for place, (mutant, tests, seconds) in enumerate(pool.map(judge, mutants), start=1):
            verdict = f"killed by {tests}{' (soak)' if mutant.soak else ''}" if tests else "SURVIVED"
            print(
                f"[{place}/{len(mutants)}] {mutant.family}: {mutant.name}: {verdict} ({seconds:.0f} s)",
                flush=True,
            )
            survivors += [] if tests else [mutant.name]
    left = ", ".join(survivors) or "none"
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} killed; survivors: {left}")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
