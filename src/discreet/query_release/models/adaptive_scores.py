"""What the adaptive release may measure, and how much each table promises. Public facts only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.query_release.fitting.junction import Axes
from discreet.query_release.models.factored_grain import Grain, groups

Array = NDArray[Any]
Candidate = tuple[Axes, Grain]

GROUPS = 12
"""How many groups of values the coarser grain of an attribute has."""
DISPERSION = 400.0
"""How many times more than a sample's the true counts are believed to vary around a model's."""

_ABSOLUTE = math.sqrt(2 / math.pi)  # the mean absolute value of a standard normal number
_COARSE_UP_TO = 2  # attributes of a table that is also offered at the coarser grain


@lru_cache(maxsize=64)
def closure(sets: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """Return every non-empty part of every set, each once, the smallest first."""
    parts = {
        part for axes in sets for k in range(1, len(axes) + 1) for part in itertools.combinations(axes, k)
    }
    return tuple(sorted(parts, key=lambda part: (len(part), part)))


def weights(parts: Sequence[Axes], sets: Sequence[Axes]) -> dict[Axes, int]:
    """Return how much each part matters: how many attributes it shares with the wanted sets, all together."""
    return {part: max(1, sum(len(set(part) & set(axes)) for axes in sets)) for part in parts}


def candidates(parts: Sequence[Axes], tables: Mapping[Axes, Array]) -> list[Candidate]:
    """Return the tables on offer: every part as it is, and small parts at a coarser grain besides.

    Groups have about equal weight in the model, so that a table of few cells tells as much as it can.
    """
    edges = {part[0]: groups(tables[part], GROUPS) for part in parts if len(part) == 1}
    offered: list[Candidate] = [(part, ()) for part in parts]
    for part in parts:
        grain = tuple(edges[axis] for axis in part)
        if len(part) <= _COARSE_UP_TO and any(found is not None for found in grain):
            offered.append((part, grain))
    return offered


def penalty(guess: Array, variance: float) -> int:
    """Return the absolute error that is expected to remain in a table once it is measured.

    A cell that the model expects to be small stays small whatever the noise.
    """
    prior = DISPERSION * np.maximum(guess, 0.0)
    return round(_ABSOLUTE * float(np.sqrt(prior * variance / (prior + variance)).sum()))


def sweep_error(tables: Sequence[Array], variances: Sequence[float]) -> float:
    """Return the mean absolute error of tables that are measured outright and made non-negative."""
    left = [
        float(np.minimum(table, math.sqrt(variance)).sum())
        for table, variance in zip(tables, variances, strict=True)
    ]
    return _ABSOLUTE * sum(left) / len(left)
