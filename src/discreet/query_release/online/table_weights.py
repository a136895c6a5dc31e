"""From estimated marginal tables to a weight for every cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.core.fixed import Array, Floats
from discreet.queries.kinds.marginals import Marginals
from discreet.query_release.fitting.entropy_fit import normalise
from discreet.query_release.fitting.quasi_newton import minimise
from discreet.query_release.synopses.marginal_tables import MarginalTables

CLOSE, FLAT = 0.03, 0.1
"""How much the flattest weights are preferred to a closer fit.

Close weights answer what was measured; flat ones say less that is wrong about everything else.
"""
STEPS = 300
_ROUNDS = 3  # of as many steps, while the fit is off some table by more than the noise explains
_NEAR = 2.0  # deviations of a cell
UNIFORM = 1e-4
"""The part of the total that is spread over all cells, so that no weight is zero."""
_FEW = 1 << 14  # cells, once a table: so few are summed sooner than passes over them are planned


def fit_weights(tables: MarginalTables, *, flatness: float, order: int | None = None) -> Floats:
    """Return positive weights with the estimated total that fit every estimated table and its subsets.

    With an order, tables of more attributes are left out.

    The weights maximise entropy minus squared misfits over their variances: exponentials of sums of one table
    a set of attributes. Those are found by quasi-Newton steps on the dual, which is smooth and convex.
    """
    universe, total = tables.universe, max(tables.total, 1.0)
    names = universe.names
    sets = [axes for axes in tables.layout.sets if order is None or len(axes) <= order]
    workload = Marginals(universe, [[names[axis] for axis in axes] for axes in sets])
    wanted = tables.answers(workload)
    deviations = [tables.standard_errors([names[axis] for axis in axes]) for axes in sets]
    spread = np.maximum(np.concatenate([np.ravel(each) for each in deviations]), 0.5)
    answers, adjoint = _products(workload)

    def weights(dual: Floats) -> tuple[Floats, float]:
        return normalise(adjoint(dual / spread), total)

    def objective(dual: Floats) -> tuple[float, Floats]:
        found, log_mass = weights(dual)
        misfit = (answers(found) - wanted) / spread
        value = total * log_mass - float(dual @ (wanted / spread)) + flatness / 2 * float(dual @ dual)
        return value, misfit + flatness * dual

    best = np.zeros(len(workload))
    for _ in range(_ROUNDS):
        # Begun anew, since what the steps have learnt about the curvature may be what keeps them back.
        best = minimise(objective, best, iterations=STEPS, still=1e-9)
        if float(np.abs(objective(best)[1]).max(initial=0.0)) <= _NEAR:
            break
    return (1 - UNIFORM) * weights(best)[0] + UNIFORM * total / universe.size


def _products(workload: Marginals) -> tuple[Callable[[Floats], Array], Callable[[Floats], Array]]:
    """Return how to sum tables out of weights, and the transpose of that.

    Thousands of steps ask for both. Where cells are few, it is looked up where each goes in each table.
    """
    universe, starts = workload.universe, workload.tables.offsets
    tables = len(starts) - 1
    if universe.size * tables > _FEW:
        return workload.answers, workload.adjoint
    numbers, table_of = np.arange(len(workload)), np.repeat(np.arange(tables), np.diff(starts))
    each = (np.where(table_of == table, numbers, 0) for table in range(tables))
    places = np.stack([np.ravel(workload.adjoint(one)) for one in each])
    every = np.ravel(places)

    def answers(weights: Floats) -> Array:
        return np.bincount(every, np.tile(np.ravel(weights), tables), minlength=len(workload))

    def adjoint(vector: Floats) -> Array:
        return np.asarray(vector[places].sum(axis=0).reshape(universe.shape))

    return answers, adjoint
