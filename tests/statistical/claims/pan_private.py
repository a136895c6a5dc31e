"""Claims of algorithms whose state is private: counters as other counters, tables by what they estimate."""

from __future__ import annotations

import numpy as np
from tests.statistical.claims.harness import Case
from tests.statistical.claims.streams import DRAWS

from discreet.core.neighbours import Event
from discreet.core.rng import Rng
from discreet.streams.pan_private.pan_private_counter import PanPrivateCounter


def _counters() -> list[Case]:
    """The worst answer, and that of one step; pure and Gaussian."""
    found = []
    ones = np.ones(100, dtype=np.int64)
    for delta in (0, 1e-6):
        counter = PanPrivateCounter(horizon=100, epsilon=1, delta=delta, neighbours=Event())

        def off(rng: Rng, counter: PanPrivateCounter = counter) -> float:
            return float(np.abs(counter.open(ones, rng=rng).ask(100) - np.cumsum(ones)).max())

        def one(rng: Rng, counter: PanPrivateCounter = counter) -> float:
            return float(abs(counter.open(ones, rng=rng).ask(63)[-1] - 63))

        def bound(beta: object, counter: PanPrivateCounter = counter) -> float:
            return counter.error(beta, step=63)  # type: ignore[arg-type]

        found.append(Case(f"all steps and a state, delta {delta}", counter.error, off, DRAWS))
        found.append(Case(f"step 63 and a state, delta {delta}", bound, one, DRAWS))
    return found


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    return {"pan-private-counter": _counters()}
