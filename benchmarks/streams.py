"""Counters of a stream: errors beside plain trees, the exact square root and JAX-Privacy, and speed.

At epsilon 1, delta 1e-9 and one event. `largest` is the largest standard deviation of an answer, `typical`
the root of the mean variance, `seen` the same from answers to streams of nothing. JAX-Privacy searches for
matrices and has no counter: its noise is scaled as ours. `make peers` installs it.
"""

from __future__ import annotations

import json
import math
import subprocess
import time
from typing import Any

import numpy as np

from benchmarks.sql_peers import HERE, PLACE
from discreet import streams
from discreet.core.mechanism import Interactive
from discreet.mechanisms import Gaussian

EPSILON, DELTA = 1, 1e-9
STEPS = (1 << 14, 1 << 20)
RUNS = {1 << 14: 60, 1 << 20: 6}
SINGLE = 1 << 14


def main() -> None:
    for steps in STEPS:
        print(f"\n{steps} steps")
        plan = streams.plan(steps, EPSILON, DELTA, streams.Event())
        found = {each.name: each for each in plan.predictions}
        trees = found["TreeCounter, pure"], found["TreeCounter, Gaussian"]
        root = _square_root(steps)
        for each in plan.predictions:
            counter = each.counter
            largest = _largest(counter)
            seen = math.sqrt(np.mean([np.mean(_run(counter) ** 2) for _ in range(RUNS[steps])]))
            plain = trees[counter.delta > 0]
            print(
                f"  {each.name:34} typical {each.typical:7.2f} (seen {seen:7.2f}) = "
                f"{each.typical / plain.typical:.3f} of its tree's, largest {largest:7.2f} = "
                f"{largest / _largest(plain.counter):.3f} of it, {largest / root:.4f} of the exact root's"
            )
        _compare_with_jax(steps, found["BufferedCounter, Gaussian"].counter)
        for each in plan.predictions:
            _time(each.name, each.counter)
    print("\nothers")
    _time_others()
    _time_keys()


def _largest(counter: Any) -> float:
    if isinstance(counter, streams.WideTreeCounter):
        noises = counter.count_noises(np.arange(1, counter.horizon + 1))
        return math.sqrt(float(noises.max()) * counter.variance(1) / float(counter.count_noises(1)))
    return math.sqrt(max(law.variance for _, law in counter._error_laws()))  # noqa: SLF001


def _square_root(steps: int) -> float:
    """Return the largest deviation behind the exact square root: the noise times the sum of squares."""
    k = np.arange(1, steps)
    squares = float((np.cumprod([1.0, *((2 * k - 1) / (2 * k))]) ** 2).sum())
    return _deviation() * squares


def _deviation() -> float:
    return Gaussian(l2_sensitivity=1, epsilon=EPSILON, delta=DELTA, grid=1e-6).sigma


def _run(counter: Any) -> Any:
    return np.asarray(counter.open().push_many(np.zeros(counter.horizon, dtype=np.int64)), dtype=np.float64)


def _compare_with_jax(steps: int, ours: Any) -> None:
    python = PLACE / "jax" / "bin" / "python"
    if not python.exists():
        print("  JAX-Privacy: not installed; `make peers` does it")
        return
    done = subprocess.run(
        [str(python), str(HERE / "jax_matrices.py"), str(steps)], capture_output=True, check=True, text=True
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    largest, typical = theirs["factor"] * _deviation(), theirs["typical"] * _deviation()
    beside = math.sqrt(ours.mean_variance) / typical, _largest(ours) / largest
    print(
        f"  {'JAX-Privacy':34} typical {typical:7.2f}, largest {largest:7.2f} with {theirs['buffers']} "
        f"buffers after {theirs['seconds']:.0f} s of search; ours are {beside[0]:.4f} and "
        f"{beside[1]:.4f} of them with {len(ours.encoder.rates)} buffers and no search"
    )


def _time_others() -> None:
    public: dict[str, Any] = {"horizon": 1 << 17, "epsilon": EPSILON, "neighbours": streams.Event()}
    for delta in (0, DELTA):
        for width in (7, 1000):
            _time(
                f"windows of {width}, delta {delta}",
                streams.WindowCounter(width=width, delta=delta, **public),
            )
        _time(f"PanPrivateCounter, delta {delta}", streams.PanPrivateCounter(delta=delta, **public))
        _time(f"PanPrivateTree, delta {delta}", streams.PanPrivateTree(delta=delta, branching=16, **public))
    _time("StreamAlarm", streams.StreamAlarm(delta=0, threshold=1000, **public))


def _time_keys() -> None:
    """Count a thousand keys over ten thousand steps, in one process."""
    for delta in (0, DELTA):
        keyed = streams.KeyedCounter(
            keys=tuple(range(1000)), horizon=10_000, epsilon=EPSILON, delta=delta, neighbours=streams.Event()
        )
        began = time.process_time()
        conversation: Any = keyed.open()
        for first in range(0, 10_000, 1000):
            conversation.push_many([step % 1000 for step in range(first, first + 1000)])
        print(f"  1,000 keys x 10,000 steps, delta {delta}: {time.process_time() - began:.1f} s")


def _time(name: str, counter: Interactive[Any, Any]) -> None:
    """Events a second of CPU, many at once and one by one."""
    began = time.process_time()
    _run(counter)
    many = counter.horizon / (time.process_time() - began)  # type: ignore[attr-defined]
    conversation: Any = counter.open(())
    began = time.process_time()
    for _ in range(SINGLE):
        conversation.push(1)
    single = SINGLE / (time.process_time() - began)
    print(f"  {name:34} {many / 1e6:6.1f} M events/s at once, {single:8,.0f}/s one by one")
