"""What learners ask: how often something holds, and means of numbers between -1 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats
from discreet.local.statistics.oracle import StatisticalOracle
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe


class Means:
    """Asks an oracle, always with one tolerance, and counts what was asked."""

    def __init__(self, oracle: StatisticalOracle, tolerance: checks.Number) -> None:
        self.oracle, self.tolerance = oracle, checks.probability(tolerance=tolerance)
        self.universe: Universe = checks.exactly(Universe, universe=oracle.universe)
        self.asked = 0

    def share(self, held: Mapping[int, Any]) -> float:
        """Return how often each of some attributes has one of the given codes."""
        axes = sorted(held)
        table = np.ones((), dtype=np.bool_)
        for axis in axes:
            table = np.multiply.outer(table, np.isin(np.arange(self.universe.shape[axis]), held[axis]))
        return self.mean(tuple(axes), table)

    def mean(self, axes: tuple[int, ...], table: Any) -> float:
        """Return the mean of weights between 0 and 1, listed over ascending attributes."""
        self.asked += 1
        return self.oracle.answer(TableQuery(self.universe, axes, "a mean", table=table), self.tolerance)

    def signed_mean(self, axes: tuple[int, ...], table: Floats) -> float:
        """Return the mean of weights between -1 and 1, off by up to twice the tolerance."""
        return 2 * self.mean(axes, np.clip((1 + table) / 2, 0, 1)) - 1

    def find_label(self, label: str) -> int:
        """Return the place of a label of two values."""
        names = self.universe.names
        if label not in names or self.universe.shape[names.index(label)] != 2:
            raise InvalidParameter(name="label", rule="an attribute of two values", value=label)
        return names.index(label)

    def list_features(self, label: int | None = None) -> tuple[int, ...]:
        """Return the places of all attributes but the label."""
        return tuple(axis for axis in range(len(self.universe.shape)) if axis != label)

    def scale(self, axis: int) -> Floats:
        """Return an attribute's codes as numbers from -1 to 1."""
        size = self.universe.shape[axis]
        return np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
