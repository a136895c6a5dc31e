"""Composition against dp_accounting's numerical accountant: epsilon at delta 1e-6 and CPU time."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.accounting import numeric, optimal
from discreet.accounting.composition import compose
from discreet.core.loss import GaussianLoss, LaplaceLoss

DELTA = 1e-6
COUNTS = (10, 1000, 100_000)
ABOVE_BAR = 1.01
"""How far above the peer's pessimistic estimate ours may lie."""
TIME_BAR = 1.0
"""CPU seconds for 100,000 Laplace mechanisms."""
IMPORT_BAR = 0.3
"""Seconds the import may take beyond NumPy's."""
INTERVAL = 1e-4
COARSE = 1e-3
"""The peer's grid for long optimistic estimates and the long mixture, which take it minutes otherwise."""


def cases() -> list[tuple[str, int, int]]:
    """Return (name, Laplace count, Gaussian count)."""
    rows = []
    for k in COUNTS:
        rows += [(f"Laplace 0.1 x {k}", k, 0), (f"Gaussian sigma 10 x {k}", 0, k), (f"both x {k}", k, k)]
    return rows


def timed(work: Callable[[], float]) -> tuple[float, float]:
    start = time.process_time()
    value = work()
    return value, time.process_time() - start


def ours(laplace: int, gaussian: int) -> float:
    numeric.distributions.cache_clear()
    optimal.compose_equal.cache_clear()
    tenth = Fraction(1, 10)
    composition = compose(LaplaceLoss(tenth), GaussianLoss(tenth), counts=[laplace, gaussian])
    return composition.epsilon(DELTA)


def peer(laplace: int, gaussian: int, *, pessimistic: bool) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    coarse = laplace + gaussian > 10_000 and (not pessimistic or min(laplace, gaussian) > 0)
    interval = COARSE if coarse else INTERVAL
    options: dict[str, Any] = {
        "value_discretization_interval": interval,
        "pessimistic_estimate": pessimistic,
        "use_connect_dots": pessimistic,
    }
    parts = []
    if laplace:
        parts.append(pld.from_laplace_mechanism(10, **options).self_compose(laplace))
    if gaussian:
        parts.append(pld.from_gaussian_mechanism(10, **options).self_compose(gaussian))
    whole = parts[0] if len(parts) == 1 else parts[0].compose(parts[1])
    return float(whole.get_epsilon_for_delta(DELTA))


def import_seconds() -> float:
    """Return the median CPU time of `import discreet` beyond `import numpy`, in fresh processes."""

    def once(line: str) -> float:
        script = f"import time; t = time.process_time(); {line}; print(time.process_time() - t)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return float(done.stdout.split()[-1])

    once("import discreet")
    everything = "import numpy; t = time.process_time(); import discreet, discreet.accounting.composition"
    return statistics.median(once(everything) for _ in range(5))


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def main() -> None:
    """Print the table and the bars."""
    has_peer = importlib.util.find_spec("dp_accounting") is not None
    if not has_peer:
        print("dp-accounting is not installed: our figures only")
    head = f"{'ours':>11} {'s':>7} {'peer low':>11} {'peer high':>11} {'s':>7} {'ratio':>8}  bar"
    print(f"{'delta 1e-6':26} {head}")
    for name, laplace, gaussian in cases():
        value, seconds = timed(lambda a=laplace, b=gaussian: ours(a, b))  # type: ignore[misc]
        line = f"{name:26} {value:11.5f} {seconds:7.3f}"
        if has_peer:
            low = peer(laplace, gaussian, pessimistic=False)
            high, cost = timed(lambda a=laplace, b=gaussian: peer(a, b, pessimistic=True))  # type: ignore[misc]
            close = low * (1 - 1e-9) <= value <= high * ABOVE_BAR
            line += f" {low:11.5f} {high:11.5f} {cost:7.3f} {value / high:8.5f}  {verdict(close)}"
        print(line, flush=True)
        if (laplace, gaussian) == (COUNTS[-1], 0):
            print(f"{'':26} CPU time at most {TIME_BAR} s: {verdict(seconds <= TIME_BAR)}")
    extra = import_seconds()
    met = extra <= IMPORT_BAR
    print(f"import of discreet beyond NumPy's: {extra:.3f} s (at most {IMPORT_BAR}): {verdict(met)}")


if __name__ == "__main__":
    main()
