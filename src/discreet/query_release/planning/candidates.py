"""What a planner may choose from: how each mechanism is built for a workload, and where it is no use.

A mechanism is loaded when it is built, and facts that rule it out are looked at before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet import query_release
from discreet.core.errors import Refused
from discreet.core.neighbours import Neighbours, Replace
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.union import Union
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.base import WorkloadRelease

_FITTED = 300_000  # cells that are fitted many times over
_PROJECTED = 100_000  # cells and queries together, passed over some hundred times
_LEARNED = 10_000_000  # cells that are passed over a few times a round
_LONGEST = 4000  # values of one attribute, whose pairs are compared
_ROUNDS = 10
_SCORED = 1_000_000  # pairs of a candidate database and a query
_DEEPEST = 10_000  # rows of a small database
_SPARE = 4  # a bound on a private number of rows, over the guess
_ACCURACY = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything that is public about a release that is planned.

    Attributes
    ----------
    workload, epsilon, delta, neighbours
        As every release has them.
    rows
        About how many rows there are; exactly how many where a row is replaced.
    by
        What is made small: the "average" or the "largest" error of the queries.
    score
        What the errors are of: the synopsis' own "answers", or counts of its synthetic "rows".
    made_up
        Whether the people that mechanisms are tried on are made up, and not like public data.
    """

    workload: Workload
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows: int
    by: str
    score: str = "answers"
    made_up: bool = True

    @property
    def public(self) -> dict[str, Any]:
        """The parameters that all mechanisms with a delta share."""
        return {**self.pure, "delta": self.delta}

    @property
    def pure(self) -> dict[str, Any]:
        """The parameters that all mechanisms share."""
        return {"workload": self.workload, "epsilon": self.epsilon, "neighbours": self.neighbours}


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A mechanism that may be chosen.

    Attributes
    ----------
    name
        That of its card.
    make
        Builds it, or raises InvalidParameter or Refused where it does not apply.
    makes_rows
        Whether its synopsis makes synthetic rows.
    """

    name: str
    make: Callable[[ReleaseFacts], WorkloadRelease]
    makes_rows: bool = True


def _max_entropy(facts: ReleaseFacts) -> WorkloadRelease:
    _few_cells(facts, _FITTED)
    return query_release.MaxEntropy(**facts.public | {"workload": _tables(facts.workload)})


def _adaptive(facts: ReleaseFacts) -> WorkloadRelease:
    _some_delta(facts)
    longest = max(facts.workload.universe.shape)
    if longest > _LONGEST:
        raise Refused(
            what=f"an attribute of {longest} values",
            why=f"with more than {_LONGEST} its smoothing takes too long",
            way_out="Use another mechanism, or declare a coarser grid",
        )
    return query_release.Adaptive(**facts.public | {"workload": _tables(facts.workload)})


def _residuals(facts: ReleaseFacts) -> WorkloadRelease:
    _some_delta(facts)
    if not isinstance(facts.workload, Marginals):
        raise _refuse(f"a workload of {type(facts.workload).__name__}", "residuals are those of marginals")
    goal = query_release.Goal.TOTAL if facts.by == "average" else query_release.Goal.WORST
    return query_release.ResidualMarginals(goal=goal, **facts.public)


def _range_tree(facts: ReleaseFacts) -> WorkloadRelease:
    _few_attributes(facts, most=1)
    return query_release.RangeTree(**facts.public)


def _rectangle_tree(facts: ReleaseFacts) -> WorkloadRelease:
    _few_attributes(facts, fewest=2, most=3)
    return query_release.RectangleTree(**facts.public)


def _projection(facts: ReleaseFacts) -> WorkloadRelease:
    cells, queries = facts.workload.universe.size, len(facts.workload)
    if cells + queries > _PROJECTED:
        raise _refuse(
            f"a universe of {cells} cells and {queries} queries",
            f"with more than {_PROJECTED} of both together it takes too long",
        )
    rows = facts.rows * (1 if isinstance(facts.neighbours, Replace) else _SPARE)
    return query_release.Projection(rows=rows, **facts.public)


def _mwem(facts: ReleaseFacts) -> WorkloadRelease:
    _few_cells(facts, _LEARNED)
    workload = facts.workload
    queries = len(workload.sets) if isinstance(workload, Marginals) else len(workload)
    return query_release.MWEM(rounds=min(_ROUNDS, queries), rows=facts.rows, **facts.public)


def _small_database(facts: ReleaseFacts) -> WorkloadRelease:
    _few_cells(facts, _SCORED)
    cells, queries, size = facts.workload.universe.size, len(facts.workload), 0
    while size < min(facts.rows, _DEEPEST) and math.comb(cells + size, size + 1) * queries <= _SCORED:
        size += 1
    if not size:
        raise _refuse("a small database", "there are too many of them to score")
    return query_release.SmallDatabase(rows=facts.rows, size=size, **facts.pure)


def _interval_search(facts: ReleaseFacts) -> WorkloadRelease:
    if facts.delta or not isinstance(facts.neighbours, Replace):
        raise Refused(
            what="interval search",
            why="it takes no delta, and a public number of rows",
            way_out="Use the range tree",
        )
    _few_attributes(facts, most=1)
    return query_release.IntervalSearch(rows=facts.rows, accuracy=_ACCURACY, **facts.pure)


@lru_cache(maxsize=32)
def _tables(workload: Workload) -> Workload:
    """Return the tables that the parts of a union look at: a model of them answers all parts."""
    if not isinstance(workload, Union) or not all(isinstance(part, Tabled) for part in workload.parts):
        return workload
    names = workload.universe.names
    sets = dict.fromkeys(axes for part in workload.parts for axes in part.sets)  # type: ignore[attr-defined]
    return Marginals(workload.universe, [[names[axis] for axis in axes] for axes in sets])


def _refuse(what: str, why: str) -> Refused:
    return Refused(what=what, why=why, way_out="Use another mechanism")


def _some_delta(facts: ReleaseFacts) -> None:
    if not facts.delta:
        raise Refused(what="delta 0", why="its noise is Gaussian", way_out="Allow a delta above 0")


def _few_attributes(facts: ReleaseFacts, *, most: int, fewest: int = 1) -> None:
    tables = _tables(facts.workload)
    sets = tables.sets if isinstance(tables, Tabled) else {query.axes for query in facts.workload}
    count = len(set().union(*sets))
    if not fewest <= count <= most:
        several = str(most) if fewest == most else f"{fewest} to {most}"
        raise _refuse(
            f"a workload about {count} attribute{'s' * (count != 1)}", f"its trees are over {several}"
        )


def _few_cells(facts: ReleaseFacts, most: int) -> None:
    size = facts.workload.universe.size
    if size > most:
        raise _refuse(f"a universe of {size} cells", f"with more than {most} it takes too long")


CANDIDATES = (
    PlanCandidate("residual-marginals", _residuals),
    PlanCandidate("range-tree", _range_tree),
    PlanCandidate("rectangle-tree", _rectangle_tree),
    PlanCandidate("max-entropy", _max_entropy),
    PlanCandidate("adaptive", _adaptive),
    PlanCandidate("projection", _projection),
    PlanCandidate("mwem", _mwem),
    PlanCandidate("small-database", _small_database),
    PlanCandidate("interval-search", _interval_search),
    PlanCandidate("independent", lambda facts: query_release.Independent(**facts.public), makes_rows=False),
)
"""In the order in which they are preferred where errors are alike: first those whose errors are noise alone,
then synopses that answer more."""
