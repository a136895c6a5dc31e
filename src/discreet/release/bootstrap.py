"""How far off a release probably is: run the mechanism again on data that look like it.

Post-processing: the synopsis is public, so its synthetic table may be measured as often as one likes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.mechanism import Mechanism
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.histogram import Histogram
from discreet.queries.workload import Workload
from discreet.release.synopsis import Synopsis


def simulate(
    mechanism: Mechanism[Histogram, Synopsis],
    synopsis: Synopsis,
    workload: Workload,
    *,
    runs: int,
    rng: Rng = SYSTEM,
) -> NDArray[np.float64]:
    """Return the errors of repeated releases of the synopsis' own synthetic table.

    An estimate and no bound: what the synopsis smoothed away, its synthetic table does not have either.

    Parameters
    ----------
    mechanism
        What made the synopsis, or another mechanism that is thought of.
    synopsis
        The release.
    workload
        The queries to judge.
    runs
        How many releases; a few tell the size of an error, many its distribution.

    Returns
    -------
    One row a run, one column a query: released minus true answer.
    """
    checks.instance(Synopsis, synopsis=synopsis)
    count = checks.integer(1, runs=runs)
    histogram = synopsis.synthetic(rng=rng).histogram()
    truth = workload.answers(histogram)
    errors = np.empty((count, len(workload)))
    for run in range(count):
        errors[run] = mechanism.release(histogram, rng=rng).value.answers(workload) - truth
    return errors


def standard_errors(
    mechanism: Mechanism[Histogram, Synopsis], synopsis: Synopsis, workload: Workload, **how: Any
) -> NDArray[np.float64]:
    """Return the root mean squared error of every query in `simulate`."""
    errors = simulate(mechanism, synopsis, workload, **how)
    return np.asarray(np.sqrt(np.square(errors).mean(axis=0)))
