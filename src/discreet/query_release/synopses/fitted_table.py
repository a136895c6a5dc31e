"""From answers to rows: the table that comes nearest to any published answers, by a linear program.

[Roth10] chapter 5, footnote. If a table exists whose answers are all within alpha of those given, then the
fitted one is within alpha of them too, and so within 2 alpha of that table on every query. Only published
numbers are read, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter, Refused
from discreet.core.fixed import Array
from discreet.queries.workload import Workload
from discreet.query_release.synopses.synopsis import Weights

MOST_WEIGHTS = 4_000_000
"""How many weights, queries times cells, a linear program may have."""

_LARGEST = 10**290
"""Sums of as many answers as there may be stay within floats."""


class FittedTable(Weights):
    """Weights that answer as nearly as possible what was given.

    Attributes
    ----------
    misfit
        The largest difference between a given answer and that of the weights; no weights have a smaller one.
    """

    def __init__(
        self, workload: Workload, weights: Array, *, answers: tuple[float, ...], misfit: float
    ) -> None:
        super().__init__(workload.universe, weights, transcript=answers)
        self.misfit = misfit


def fit_table(
    workload: Workload, answers: Sequence[float], *, rows: checks.Number | None = None
) -> FittedTable:
    """Return the non-negative weights whose largest misfit with some answers is least.

    Parameters
    ----------
    workload
        What was asked, over a universe of moderate size.
    answers
        What was answered, one number a query; from anywhere, noisy or inconsistent.
    rows
        The public or released number of rows. Left free where left out.

    Raises
    ------
    Refused
        Where there are too many queries and cells for a linear program.
    """
    checks.instance(Workload, workload=workload)
    exact = [checks.exact(answers=answer) for answer in answers]
    if len(exact) != len(workload):
        raise InvalidParameter(name="answers", rule=f"{len(workload)} numbers", value=len(exact))
    total = None if rows is None else checks.at_least(0, rows=rows)
    # What a linear program takes for nothing is absolute, so its largest number is made 1.
    scale: Fraction = max(map(abs, (*exact, total or Fraction(0)))) or Fraction(1)
    if scale > _LARGEST:
        raise InvalidParameter(name="answers", rule=f"numbers of at most {_LARGEST:.0e}", got="larger ones")
    matrix = _matrix_of(workload)
    wanted = np.array([float(number / scale) for number in exact], dtype=np.float64)
    ones = np.ones((len(wanted), 1))
    found = linprog(
        np.append(np.zeros(matrix.shape[1]), 1),
        A_ub=np.block([[matrix, -ones], [-matrix, -ones]]),
        b_ub=np.concatenate([wanted, -wanted]),
        A_eq=None if total is None else np.append(np.ones(matrix.shape[1]), 0)[None, :],
        b_eq=None if total is None else [float(total / scale)],
    )
    if found.x is None:
        raise InternalError(f"a linear program that always has a solution ended without: {found.message}")
    weights = np.maximum(found.x[:-1], 0) * float(scale)
    given = np.array([float(number) for number in exact], dtype=np.float64)
    misfit = float(np.abs(matrix @ weights - given).max(initial=0))
    return FittedTable(workload, weights, answers=tuple(given.tolist()), misfit=misfit)


def _matrix_of(workload: Workload) -> Array:
    size = workload.universe.size
    if size * len(workload) > MOST_WEIGHTS:
        raise Refused(
            what=f"a linear program of {len(workload)} queries over {size} cells",
            why=f"at most {MOST_WEIGHTS:,} weights are handled",
            way_out="Ask about fewer attributes, or release with a mechanism that makes rows itself",
        )
    codes = workload.universe.unravel(np.arange(size))
    return np.asarray(workload.block(0, len(workload), codes), dtype=np.float64)
