"""How far off a release probably is: run the mechanism again on data that look like it.

Post-processing: the synopsis is public, so its synthetic table may be measured as often as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Array, Floats
from discreet.core.rng import SYSTEM, Rng
from discreet.noise import coins
from discreet.queries.histogram import Histogram
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.fitting.residual import group_places
from discreet.query_release.planning.population import nobody
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable

NOISE_RUNS = 30
"""How often noise alone is drawn at least; a release on nobody takes no time."""
WIDER = 1.2
"""How much wider than simulated the bars are; tuned on other tables than those that they are tested on."""
_FEWEST, _SHARE = 25, 0.1  # simulated answers near to an answer, and which part of all they are
_POOLED = 10  # simulated answers near by weigh as much as so many runs of a query's own
_FLOOR = 0.5  # of the root mean square of a table's bars: what hides in noise is no smaller in small cells
_LISTED = 20_000  # queries that are looked at one by one


def simulate(
    mechanism: WorkloadRelease, synopsis: Synopsis, workload: Workload, *, runs: int, rng: Rng = SYSTEM
) -> Floats:
    """Return the errors of repeated releases of rows drawn from the synopsis' own synthetic table.

    An estimate and no bound: what the synopsis smoothed away, its synthetic table does not have either. The
    rows are drawn with replacement, since the true ones were a sample of something too.

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
    pairs = _releases(mechanism, synopsis, workload, checks.integer(1, runs=runs), rng)
    return np.stack([answers - truth for answers, truth in pairs])


def standard_errors(
    mechanism: WorkloadRelease, synopsis: Synopsis, workload: Workload, *, runs: int, rng: Rng = SYSTEM
) -> Floats:
    """Estimate the root mean squared error of every query; 1.96 times it holds about 95 of 100 of them.

    Where errors are noise alone, whatever the data are, it is simulated on no data at all. Elsewhere a few
    runs say little of one query, so it is pooled with simulated answers of about the same size: they were
    chosen by the noise as the released one was, and come from tables over the same attributes.
    """
    count = checks.integer(1, runs=runs)
    if mechanism.is_noise_alone:
        empty = nobody(workload.universe)
        own = max(count, NOISE_RUNS)
        drawn = [mechanism.release(empty, rng=rng).value.answers(workload) for _ in range(own)]
        return _root_mean_square(np.array(drawn, dtype=np.float64))
    found = synopsis.answers(workload)
    pairs = list(_releases(mechanism, synopsis, workload, count, rng))
    answers = np.stack([answer for answer, _ in pairs])
    errors = np.stack([answer - truth for answer, truth in pairs])
    bars = np.empty(len(workload))
    for places in _groups(workload):
        near = _near_by(found[places], answers[:, places].ravel(), errors[:, places].ravel())
        own_square = np.square(errors[:, places]).mean(axis=0)
        square = (count * own_square + _POOLED * near) / (count + _POOLED)
        bars[places] = np.maximum(square, _FLOOR**2 * square.mean())
    return WIDER * np.sqrt(np.maximum(bars, synopsis.model_gaps(workload)))


def _releases(
    mechanism: WorkloadRelease, synopsis: Synopsis, workload: Workload, runs: int, rng: Rng
) -> Iterator[tuple[Floats, Floats]]:
    """Yield released and true answers of tables that are drawn from a synopsis."""
    table = checks.instance(Synopsis, synopsis=synopsis).synthetic(rng=rng)
    for _ in range(runs):
        histogram = _drawn(table, rng)
        answers = mechanism.release(histogram, rng=rng).value.answers(workload)
        yield np.asarray(answers, dtype=np.float64), np.asarray(workload.answers(histogram), dtype=np.float64)


def _drawn(table: SyntheticTable, rng: Rng) -> Histogram:
    """Return as many rows of a table as it has, drawn with replacement."""
    if not len(table):
        return table.histogram()
    return Histogram.from_records(
        table.universe, table.codes[coins.uniform_below(len(table), len(table), rng)]
    )


def _groups(workload: Workload) -> list[Array]:
    """Return the places of queries over the same attributes; all of them where there are too many."""
    if not isinstance(workload, Tabled) or len(workload.sets) == 1 or len(workload) > _LISTED:
        return [np.arange(len(workload))]
    return [np.array(places) for places in group_places(query.axes for query in workload).values()]


def _near_by(found: Floats, answers: Floats, errors: Floats) -> Floats:
    """Return, for every answer, the mean squared error of the simulated answers that are nearest to it."""
    order = np.argsort(answers)
    ends = np.concatenate([[0.0], np.cumsum(np.square(errors[order]))])
    count = min(len(order), max(_FEWEST, int(_SHARE * len(order))))
    start = np.clip(np.searchsorted(answers[order], found) - count // 2, 0, len(order) - count)
    return np.asarray((ends[start + count] - ends[start]) / count)


def _root_mean_square(errors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(errors).mean(axis=0)))
