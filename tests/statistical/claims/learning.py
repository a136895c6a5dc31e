"""Claims of learners: sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator

from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.learning import SecondMoments


def _off(mechanism: SecondMoments, rows: Any) -> Any:
    truth = (rows.T @ rows) / mechanism.resolution**2

    def off(rng: Rng) -> float:
        return float(np.abs(mechanism.release(rows, rng=rng).value.matrix - truth).max())

    return off


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    found = []
    for neighbours in (AddRemove("row"), Replace("row")):
        for size in (1, 6):
            mechanism = SecondMoments(size=size, length=size, epsilon=1, delta=1e-6, neighbours=neighbours)
            rows = generator(size).integers(-1024, 1025, (50, size))
            label = f"{size} columns, {neighbours}"
            found.append(Case(label, mechanism.error, _off(mechanism, rows), draws=200))
    return {"second-moments": found}
