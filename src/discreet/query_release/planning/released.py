"""What a release hands back: a synopsis, its guarantee, and the plan that it was made by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.core import checks
from discreet.core.fixed import Array, Floats
from discreet.core.guarantee import Guarantee
from discreet.core.mechanism import Release
from discreet.core.progress import bars
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.workload import Workload
from discreet.query_release.planning.bootstrap import standard_errors
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable

if TYPE_CHECKING:
    from discreet.query_release.planning.planner import ReleasePlan

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
    """

    plan: ReleasePlan

    @property
    def guarantee(self) -> Guarantee:
        """What the release cost, in terms of what the table protects."""
        return self.plan.guarantee

    @property
    def workload(self) -> Workload:
        """The queries that it was made for."""
        return self.plan.facts.workload

    def answers(self, workload: Workload | None = None) -> Array:
        """Return estimated counts, one a query; of the workload it was made for where none is given."""
        return self.value.answers(self.workload if workload is None else workload)

    def marginal(self, *names: str | Sequence[str]) -> Array:
        """Return the estimated table over some attributes, in the order of the universe; lists will do."""
        lists = [(each,) if isinstance(each, str) else checks.several(names=each) for each in names]
        return self.value.marginal([name for each in lists for name in each])

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
    ) -> Floats:
        """Estimate how far off every answer is: 1.96 times it holds about 95 of 100 true answers.

        The mechanism is run again on rows that are drawn from the synopsis, which costs no privacy. An
        estimate, no bound: see `discreet.query_release.planning.bootstrap`.
        """
        asked_for = self.workload if workload is None else workload
        return standard_errors(self.plan.mechanism, self.value, asked_for, runs=runs, rng=rng)

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        return f"Released({self.value!r} by {self.plan.best.name}, {self.plan.bought}{ending})"
