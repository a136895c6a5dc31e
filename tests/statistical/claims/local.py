"""Claims of local protocols: the worst of all estimated counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case

from discreet import local
from discreet.core.rng import Rng

DRAWS = 100
ORACLES = (
    local.DirectResponse,
    local.SymmetricUnary,
    local.OptimisedUnary,
    local.LocalHashing,
    local.HadamardResponse,
    local.SubsetSelection,
    local.ProjectiveResponse,
)


def oracle_cases(kind: Any) -> list[Case]:
    """Everybody alike, and all values alike."""
    oracle = kind(epsilon=1, domain=6, people=300)
    pair = kind(epsilon=2, domain=2, people=40)
    return [
        _worst("all alike", oracle, np.zeros(300, dtype=np.int64)),
        _worst("evenly spread", oracle, np.arange(300) % 6),
        _worst("two values", pair, np.arange(40) % 2),
    ]


def _worst(label: str, oracle: Any, values: Any) -> Case:
    truth = np.bincount(values, minlength=oracle.names.size)

    def off(rng: Rng) -> float:
        counts = oracle.estimate(oracle.encode_many(values, rng=rng)).counts
        return float(np.abs(counts - truth).max())

    return Case(f"{oracle.kind}, {label}", oracle.error, off, DRAWS)


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    return {kind.kind: oracle_cases(kind) for kind in ORACLES}
