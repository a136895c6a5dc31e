"""The front door of query release: plan, measure, and return a synopsis with what is known of it."""

from __future__ import annotations

from typing import Any

from discreet.core import checks
from discreet.core.neighbours import Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.workload import Workload
from discreet.query_release.asked import TableWorkload, read_asked
from discreet.query_release.planning.planner import plan
from discreet.query_release.planning.population import Public
from discreet.query_release.planning.released import Released


def release(
    wanted: Workload | TableWorkload | tuple[Any, Workload],
    data: Any = None,
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    neighbours: Neighbours | None = None,
    rows: int | None = None,
    public: Public | None = None,
    by: str = "average",
    score: str = "answers",
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Released:
    """Answer a workload as well as the budget allows: plan from public facts, measure once, make a synopsis.

    Privacy: (epsilon, delta) for one unit of the table, with all the rows that count, or for one row of a
    histogram. The plan is that of `plan` for the same facts, and is made before the data are read.
    Accuracy: see `Released.plan` beforehand and `Released.standard_errors` afterwards.

    Parameters
    ----------
    wanted
        What `discreet.marginals` returns, a workload, or a pair of data and workload.
    data
        The table or histogram, where `wanted` is a workload alone.
    epsilon, delta
        The budget.
    neighbours
        The change that is hidden; where left out, what the table declares, or one row of a histogram.
    rows
        About how many rows there are, from public knowledge; see `plan`.
    public, by, score
        As in `plan`; pass score="rows" where synthetic rows are what you want.
    rng
        Where the noise comes from.
    progress
        Whether to show a bar.

    Examples
    --------
    >>> from discreet.queries import Histogram, Marginals, Universe
    >>> universe = Universe([("smoker", (False, True)), ("region", ("north", "south"))])
    >>> people = Histogram.dense(universe, [300, 200, 150, 350])
    >>> found = release(Marginals.of_order(universe, 2), people, epsilon=1, delta=1e-9, rows=1000)
    >>> len(found.synthetic(100))
    100
    """
    request = read_asked(wanted, data)
    planned = plan(
        request,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        rows=rows,
        public=public,
        by=by,
        score=score,
    )
    return planned.release(request.data, rng=rng, progress=progress)
