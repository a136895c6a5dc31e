"""The front door of query release: plan, measure, and return a synopsis with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from discreet.accounting.deltas import read_delta
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.core.progress import bars
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.workload import Workload
from discreet.query_release.asked import PlansCounts, PlansQuestions, TableWorkload, read_asked
from discreet.query_release.planning.planner import ReleasePlan
from discreet.query_release.planning.planner import plan as plan_release
from discreet.query_release.planning.population import Public
from discreet.query_release.planning.released import Released

T = TypeVar("T")


@overload
def plan(
    wanted: Workload | TableWorkload | tuple[Any, Workload],
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    rows: int | None = None,
    neighbours: Neighbours | None = None,
    public: Public | None = None,
    by: str = "average",
    score: str = "answers",
    large_delta: bool = False,
    progress: bool = False,
) -> ReleasePlan: ...
@overload
def plan(
    wanted: Iterable[str],
    data: PlansQuestions[T],
    *,
    within: Any,
    of: Any = None,
    beta: checks.Number | None = None,
    epsilon: checks.Number | None = None,
    delta: checks.Number | None = None,
    large_delta: bool = False,
) -> T: ...
@overload
def plan(
    wanted: PlansCounts[T], *, epsilon: checks.Number, delta: checks.Number, large_delta: bool = False
) -> T: ...
def plan(
    wanted: Any,
    data: Any = None,
    *,
    epsilon: checks.Number | None = None,
    delta: checks.Number | None = None,
    rows: int | None = None,
    neighbours: Neighbours | None = None,
    public: Public | None = None,
    by: str | None = None,
    score: str | None = None,
    within: Any = None,
    of: Any = None,
    beta: checks.Number | None = None,
    large_delta: bool = False,
    progress: bool = False,
) -> Any:
    """Say what a release, or several questions, would cost and how well they would be answered.

    No private data are looked at and nothing is spent.

    Parameters
    ----------
    wanted
        What `discreet.marginals` returns, a workload, or data with a workload. Or a SELECT, or several.
        Or a table with a time column: then counters of its rows so far are compared, see `streams.plan`.
    data
        The table or session that the questions are asked of.
    epsilon, delta
        The budget. Of a session left out: it has one.
    rows
        About how many rows there are, from public knowledge; 10,000 where nobody says.
    neighbours
        The change that is hidden; where left out, what the table declares, or one row of a histogram.
    public
        A public table, histogram or synopsis of similar data to try mechanisms on; a made-up population
        where left out.
    by, score
        Whether to make the "average" or the "largest" error small, of the "answers" or of synthetic "rows".
    within, of, beta
        Of questions, the wanted errors, one for all or one for each; in parts of a public size where `of`
        says one; and the probability that any of them may be missed. See `Table.plan_within`.
    large_delta
        Whether a delta above a thousandth is meant: with that probability anything may be published.
    progress
        Whether to show a bar while the mechanisms for a workload are tried.

    Examples
    --------
    >>> from discreet.queries import Prefixes, Universe
    >>> ages = Prefixes(Universe([("age", range(1000))]), ["age"])
    >>> plan(ages, epsilon=1, delta=0, by="largest").best.name
    'range-tree'
    """
    for_all = _keep_given(epsilon=epsilon, delta=delta)
    _check_delta(delta, large=large_delta)
    for_release = _keep_given(rows=rows, neighbours=neighbours, public=public, by=by, score=score)
    for_questions = _keep_given(within=within, of=of, beta=beta)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    wanted = list(wanted) if isinstance(wanted, Iterator) else wanted
    if isinstance(wanted, list | tuple) and wanted and all(isinstance(one, str) for one in wanted):
        _refuse_given(for_release, "questions by SQL")
        if within is None:
            hint = "Pass a number of rows, or a part of a public size: within=0.02, of=60_000"
            raise InvalidParameter(name="within", rule="given", got="nothing", hint=hint)
        if not isinstance(data, PlansQuestions):
            got = "nothing" if data is None else f"a {type(data).__name__}"
            raise InvalidParameter(name="data", rule="the table or session that is asked", got=got)
        meant = {"large_delta": True} if large_delta else {}
        return data.plan_within(wanted, **for_all, **for_questions, **meant)
    if isinstance(wanted, PlansCounts):
        _refuse_given(for_questions | for_release | _keep_given(data=data), "a table with a time column")
        _require_given(for_all, "epsilon", "delta")
        return wanted.plan_counts(**for_all)
    _refuse_given(for_questions, "a workload")
    _require_given(for_all, "epsilon", "delta")
    if data is not None:
        rule = "left out, or given with the workload as (data, workload)"
        raise InvalidParameter(name="data", rule=rule, got=f"a {type(data).__name__}")
    with bars(progress):
        return plan_release(wanted, **for_all, **for_release)


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
    large_delta: bool = False,
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
    large_delta: bool = False,
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
    large_delta
        As in `plan`.
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
    facts = _keep_given(
        epsilon=epsilon, delta=delta, neighbours=neighbours, rows=rows, public=public, by=by, score=score
    )
    if isinstance(wanted, ReleasePlan):
        _refuse_given(facts, "a plan, which was made for it")
        return wanted.release(data, rng=rng, progress=progress)
    _require_given(facts, "epsilon", "delta")
    _check_delta(delta, large=large_delta)
    request = read_asked(wanted, data)
    with bars(progress):
        planned = plan_release(request, **facts)
    return planned.release(request.data, rng=rng, progress=progress)


def _check_delta(delta: checks.Number | None, *, large: bool) -> None:
    if delta is not None:
        read_delta(delta, large=large)


def _keep_given(**named: Any) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value is not None}


def _refuse_given(named: Mapping[str, Any], of: str) -> None:
    for name, value in named.items():
        raise InvalidParameter(name=name, rule=f"left out of {of}", value=value)


def _require_given(named: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if name not in named:
            raise InvalidParameter(name=name, rule="given", got="nothing")
