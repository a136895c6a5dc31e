"""`make bench`: run every question, or the ones named on the command line."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    """Run the benchmarks one after the other."""
    known = sorted(
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name != "__main__" and not m.ispkg
    )
    for name in sys.argv[1:] or known:
        print(f"\n== {name} ".ljust(100, "="), flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
