"""The front door of query release: plan, measure, and return a synopsis with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.group import member_budget
from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.mechanism import Release
from discreet.core.neighbours import ROWS, AddRemove, Neighbours, Replace
from discreet.core.progress import bars
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.histogram import Histogram
from discreet.queries.workload import Workload
from discreet.query_release.asked import TableWorkload, read_asked
from discreet.query_release.planning.bootstrap import standard_errors
from discreet.query_release.planning.planner import ReleasePlan, plan
from discreet.query_release.planning.population import Public
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable

_RUNS = 5  # releases of a synthetic table that an error bar is estimated from


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Release[Synopsis]):
    """A synopsis with its guarantee and the plan it was made by. Public.

    Attributes
    ----------
    value
        The synopsis; `answers`, `marginal` and `synthetic` ask it.
    plan
        What was expected of it.
    unit
        The guarantee in terms of what the table protects: a person, say, with all their rows.
    bought
        The same as (epsilon, delta), as it was asked for: what is printed.
    """

    plan: ReleasePlan
    unit: Guarantee
    bought: Guarantee

    @property
    def guarantee(self) -> Guarantee:
        """What the release cost."""
        return self.unit

    @property
    def workload(self) -> Workload:
        """The queries that it was made for."""
        return self.plan.facts.workload

    def answers(self, workload: Workload | None = None) -> NDArray[Any]:
        """Return estimated counts, one a query; of the workload it was made for where none is given."""
        return self.value.answers(self.workload if workload is None else workload)

    def marginal(self, *names: str) -> NDArray[Any]:
        """Return the estimated table over some attributes, in the order of the universe."""
        return self.value.marginal(names)

    def synthetic(
        self, rows: int | None = None, *, rng: Rng = SYSTEM, progress: bool = False
    ) -> SyntheticTable:
        """Return made-up rows in the schema's own values; as many as there seem to be by default.

        They say how far their counts are from the answers: where that is much, plan with score="rows".
        """
        with bars(progress):
            made = self.value.synthetic(rows, rng=rng)
        return made.judge(self.workload, self.answers(), total=self.value.total)

    def standard_errors(
        self, workload: Workload | None = None, *, runs: int = _RUNS, rng: Rng = SYSTEM
    ) -> NDArray[np.float64]:
        """Estimate how far off every answer is: 1.96 times it holds about 95 of 100 true answers.

        The mechanism is run again on rows that are drawn from the synopsis, which costs no privacy. An
        estimate, no bound: see `discreet.query_release.planning.bootstrap`.
        """
        asked_for = self.workload if workload is None else workload
        return standard_errors(self.plan.mechanism, self.value, asked_for, runs=runs, rng=rng)

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        best = self.plan.best
        return f"Released({self.value!r} by {best.name}, {self.bought}{ending})"


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
    histogram. The plan is made before the data are read.
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
        About how many rows there are, from public knowledge; see `plan`. Where a row is replaced, their
        number is public and is counted.
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
    whole, missed = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    hidden, size = _hidden(request, neighbours)
    count = _public_rows(request) if rows is None and isinstance(hidden, Replace) else rows
    each, less = member_budget(epsilon=whole, delta=missed, size=size)
    facts: dict[str, Any] = {
        "rows": count,
        "neighbours": hidden,
        "public": public,
        "by": by,
        "score": score,
        "rng": rng,
    }
    planned = plan(request.workload, epsilon=each, delta=less, **facts)
    unit = planned.mechanism.guarantee
    if not isinstance(request.data, Histogram):
        unit = request.data.per_unit(unit)
    if not unit.implies(epsilon=whole, delta=missed):
        raise InternalError(f"the plan gives {unit}, which is not within epsilon {whole} at delta {missed}")
    found = planned.mechanism.release(_counted(request), rng=rng, progress=progress)
    return Released(
        value=found.value,
        mechanism=found.mechanism,
        unsafe_seeded=found.unsafe_seeded,
        plan=planned,
        unit=unit,
        bought=Guarantee(ApproxLoss(whole, missed) if missed else PureLoss(whole), unit.neighbours),
    )


def _hidden(request: TableWorkload, neighbours: Neighbours | None) -> tuple[Neighbours, int]:
    """Return the change of rows that is hidden, and how many such changes one unit makes."""
    if isinstance(request.data, Histogram):
        return neighbours or ROWS, 1
    if neighbours is not None:
        raise InvalidParameter(
            name="neighbours", rule="left to the table, which declares them", value=neighbours
        )
    replaced, many = isinstance(request.data.neighbours, Replace), request.data.rows_per_unit
    if replaced and many == 1:
        return Replace("row"), 1
    return AddRemove("row"), many * (2 if replaced else 1)


def _counted(request: TableWorkload) -> Histogram:
    if isinstance(request.data, Histogram):
        return request.data
    return request.data.histogram(request.workload.universe.names)


def _public_rows(request: TableWorkload) -> int:
    """Return the number of rows, where it is public."""
    return max(1, _counted(request).total)
