"""What a claimed error is tried on: a bound, and releases whose misses are counted."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from discreet.audit.empirical import proportion_bounds
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.testing import unsafe_seeded

BETA = Fraction(1, 10)
ALPHA = 1.5e-7
"""The false-alarm rate of one case at a fresh seed; some 450 cases make 1e-4 at most."""
DRAWS = 64
SOAK = 20
"""How many times more draws the long version makes."""
FOUND = 0.5
"""Misses that are this frequent are found, with power above 0.99."""
ROUNDING = 1e-9  # of floats, on our side of the comparison


@dataclass(frozen=True)
class Case:
    """One mechanism on one table or stream, judged by the measure that its `error` is about.

    Attributes
    ----------
    label
        What is special about the data or the queries.
    bound
        The claim: a method that takes beta.
    off
        Releases once and says how far off it was.
    draws
        How many releases: more where one takes no time, and no fewer than the power needs.
    """

    label: str
    bound: Callable[[Fraction], float]
    off: Callable[[Rng], float]
    draws: int = DRAWS

    def failures(self, *, times: int = 1, scale: float = 1.0) -> int:
        """Count the releases that are further off than the claim times a scale."""
        claimed = scale * self.bound(BETA) * (1 + ROUNDING)
        rng = unsafe_seeded(zlib.crc32(self.label.encode()))
        return sum(self.off(rng) > claimed for _ in range(self.draws * times))

    def is_refuted(self, *, times: int = 1, scale: float = 1.0) -> bool:
        """Tell whether so many misses have a probability below ALPHA where they are as rare as claimed."""
        failed = self.failures(times=times, scale=scale)
        return proportion_bounds(failed, self.draws * times, alpha=ALPHA)[0] > BETA

    @property
    def power(self) -> float:
        """The probability that misses of frequency FOUND refute the claim."""
        accepted = max(
            k
            for k in range(self.draws + 1)
            if proportion_bounds(k, self.draws, alpha=ALPHA)[0] <= float(BETA)
        )
        return float(binom.sf(accepted, self.draws, FOUND))


def generator(seed: int) -> Any:
    """Make the data of a case; the noise comes from elsewhere."""
    return np.random.default_rng(seed)  # noqa: TID251


def tables(universe: Universe, rows: int, seed: int = 1) -> dict[str, Histogram]:
    """Tables that look different: nobody, everybody in one cell, evenly spread, heavy tails."""
    draw = generator(seed)
    heavy = draw.zipf(1.5, universe.size).astype(float)
    return {
        "in one cell": Histogram.dense(universe, np.eye(universe.size, dtype=np.int64)[-1] * rows),
        "even": Histogram.dense(universe, draw.multinomial(rows, np.full(universe.size, 1 / universe.size))),
        "heavy": Histogram.dense(universe, draw.multinomial(rows, heavy / heavy.sum())),
    }


def synopsis_case(label: str, mechanism: Any, workload: Any, data: Histogram, **more: Any) -> Case:
    """The largest error of a workload's answers."""
    truth = workload.answers(data)

    def off(rng: Rng) -> float:
        found = mechanism.release(data, rng=rng).value.answers(workload)
        return float(np.abs(np.asarray(found, dtype=np.float64) - truth).max())

    return Case(label, mechanism.error, off, **more)
