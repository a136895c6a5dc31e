"""Principal components from means of products."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Floats
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Directions in which records spread, the widest first.

    Attributes
    ----------
    centre
        The mean of each attribute, scaled to [-1, 1].
    directions
        A row for each direction, of length one.
    variances
        How far records spread in each.
    asked
        How many queries it took.
    """

    centre: Floats
    directions: Floats
    variances: Floats
    asked: int


def find_components(oracle: StatisticalOracle, *, tolerance: checks.Number) -> Components:
    """Find the principal components of all attributes, from two queries for each and one for each pair."""
    means = Means(oracle, tolerance)
    axes = tuple(range(len(means.universe.shape)))
    centre = np.array([means.signed_mean((axis,), means.scale(axis)) for axis in axes])
    moments = np.zeros((len(axes), len(axes)))
    for a, b in itertools.combinations_with_replacement(axes, 2):
        products = means.scale(a) ** 2 if a == b else np.multiply.outer(means.scale(a), means.scale(b))
        moments[a, b] = moments[b, a] = means.signed_mean((a,) if a == b else (a, b), products)
    values, vectors = np.linalg.eigh(moments - np.outer(centre, centre))
    order = np.argsort(-values)
    return Components(centre, vectors.T[order], np.maximum(values[order], 0), means.asked)
