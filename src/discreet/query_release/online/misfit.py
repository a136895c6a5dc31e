"""What tables of few attributes do not say of tables of more: learnt from the measured ones.

A hypothesis of order k is fitted to all tables of up to k attributes. How far it misses tables of one
attribute more is seen on measured ones: their residuals have noise of their own, whose size is known and is
taken off. Over cells the miss grows like the count, by about the same factor for most cells; from order to
order the factor falls, and the fall from the second to the third is taken for that from the third to the
fourth. An extrapolation, and no bound: attributes may depend on each other four at a time and no fewer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from discreet.core.fixed import Floats
from discreet.query_release.fitting.weights import marginal_table
from discreet.query_release.online.table_weights import FLAT, fit_weights
from discreet.query_release.synopses.marginal_tables import MarginalTables

Axes = tuple[int, ...]

FALLS = 8.0
"""How much faster the factor falls from the third order on; tuned."""
_SURE = 2.0  # standard deviations of the noise's own energy that must be exceeded


def estimate_misfit(tables: MarginalTables, variances: Mapping[Axes, float]) -> float:
    """Return the variance that four attributes add to a count, for every row of it; 0 where none shows.

    Parameters
    ----------
    tables
        What was measured: all tables of up to three attributes.
    variances
        The variance of the noise of each residual, over all values of the other attributes.
    """
    pairs, triples = (_miss(tables, variances, order) for order in (2, 3))
    return min(triples, triples**2 / pairs) / FALLS if pairs and triples else 0.0


def _miss(tables: MarginalTables, variances: Mapping[Axes, float], order: int) -> float:
    """Return how much further off than a sample would be a hypothesis of lower order is, for each row."""
    shape, rows = tables.universe.shape, max(tables.total, 1.0)
    weights = fit_weights(tables, flatness=FLAT, order=order - 1).reshape(shape)
    energy = spread = counted = 0.0
    for axes, variance in variances.items():
        if len(axes) != order:
            continue
        free = math.prod(shape[axis] - 1 for axis in axes)
        off = centre_table(tables.table(axes) - marginal_table(weights, axes))
        energy += float(np.square(off).sum()) - free * variance
        spread += 2 * free * variance**2
        counted += rows * math.prod(1 - 1 / shape[axis] for axis in axes)
    if not counted:
        return 0.0
    return max(0.0, (energy - _SURE * math.sqrt(spread)) / counted - 1.0)


def centre_table(table: Floats) -> Floats:
    """Return the residual of a table: its mean along every axis taken out."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table
