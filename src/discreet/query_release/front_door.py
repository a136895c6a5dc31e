"""The front door of query release: plan, measure, and return a synopsis with what is known of it."""

from __future__ import annotations

from typing import Any, overload

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.workload import Workload
from discreet.query_release.asked import TableWorkload, read_asked
from discreet.query_release.planning.planner import ReleasePlan, plan
from discreet.query_release.planning.population import Public
from discreet.query_release.planning.released import Released


@overload
def release(
    wanted: ReleasePlan, data: Any = None, *, rng: Rng = SYSTEM, progress: bool = False
) -> Released: ...
@overload
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
) -> Released: ...
def release(
    wanted: ReleasePlan | Workload | TableWorkload | tuple[Any, Workload],
    data: Any = None,
    *,
    epsilon: checks.Number | None = None,
    delta: checks.Number | None = None,
    neighbours: Neighbours | None = None,
    rows: int | None = None,
    public: Public | None = None,
    by: str | None = None,
    score: str | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Released:
    """Answer a workload as well as the budget allows: plan from public facts, measure once, make a synopsis.

    Privacy: (epsilon, delta) for one unit of the table, with all the rows that count, or for one row of a
    histogram. The plan is that of `plan` for the same facts, and is made before the data are read.
    Accuracy: see `Released.plan` beforehand and `Released.standard_errors` afterwards.
    Time: planning tries every mechanism, which takes most of it; a plan made before is used as it is.

    Parameters
    ----------
    wanted
        What `plan` returned; or what `discreet.marginals` returns, a workload, or data with a workload.
    data
        The table or histogram, where `wanted` is a workload alone or a plan for one.
    epsilon, delta
        The budget; a plan has it already, and everything below.
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
    >>> planned = plan((people, Marginals.of_order(universe, 2)), epsilon=1, delta=1e-9, rows=1000)
    >>> len(release(planned).synthetic(100))
    100
    """
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "rows": rows}
    given |= {"public": public, "by": by, "score": score}
    facts = {name: value for name, value in given.items() if value is not None}
    if isinstance(wanted, ReleasePlan):
        if facts:
            rule = "left out: the plan was made for it"
            raise InvalidParameter(name=min(facts), rule=rule, value=facts[min(facts)])
        return wanted.release(data, rng=rng, progress=progress)
    for name in ("epsilon", "delta"):
        if name not in facts:
            raise InvalidParameter(name=name, rule="given, or a plan in place of the workload", got="nothing")
    request = read_asked(wanted, data)
    return plan(request, **facts).release(request.data, rng=rng, progress=progress)
