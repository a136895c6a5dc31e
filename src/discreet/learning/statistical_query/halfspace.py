"""Halfspaces from means: logistic gradients, each a mean over records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Floats, Integers
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle

_SPEED = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Halfspace:
    """The second label where a weighted sum of attributes, scaled to [-1, 1], is above a threshold.

    Attributes
    ----------
    weights
        Pairs of an attribute's place and what each of its codes adds.
    threshold
        What the sum must be above.
    asked
        How many queries it took.
    """

    weights: tuple[tuple[int, Floats], ...]
    threshold: float
    asked: int

    def predict(self, codes: Any) -> Integers:
        """Foretell the label of records given as rows of codes: 0 for its first value, else 1."""
        rows = np.asarray(codes)
        total = sum((table[rows[:, axis]] for axis, table in self.weights), np.zeros(len(rows)))
        return (total > self.threshold).astype(np.int64)


def learn_halfspace(
    oracle: StatisticalOracle, label: str, *, steps: int, tolerance: checks.Number
) -> Halfspace:
    """Learn a halfspace in gradient steps: at each, one query for each attribute and one for the threshold.

    A query's weights are listed for every combination of values, so universes are small.
    """
    means = Means(oracle, tolerance)
    place, axes = means.find_label(label), tuple(range(len(means.universe.shape)))
    features = means.list_features(place)
    grids = np.meshgrid(*(means.scale(axis) for axis in axes), indexing="ij")
    columns = np.stack([grids[axis] for axis in features] + [np.ones(means.universe.shape)])
    labels = np.indices(means.universe.shape)[place]
    weights = np.zeros(len(columns))
    for step in range(checks.integer(1, steps=steps)):
        foretold = 1 / (1 + np.exp(-np.tensordot(weights, columns, axes=1)))
        pull = (labels - foretold) * columns
        gradient = np.array([means.signed_mean(axes, each) for each in pull])
        weights += _SPEED / math.sqrt(1 + step / 10) * gradient
    tables = tuple((axis, weights[place] * means.scale(axis)) for place, axis in enumerate(features))
    return Halfspace(tables, -float(weights[-1]), means.asked)
