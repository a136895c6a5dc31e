"""What a planner may choose from: how each mechanism is built for a workload, and where it is no use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.errors import Refused
from discreet.core.neighbours import Neighbours, Replace
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.union import Union
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.explicit.small_database import SmallDatabase
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.interval_search import IntervalSearch
from discreet.query_release.linear.range_tree import RangeTree
from discreet.query_release.linear.rectangle_tree import RectangleTree
from discreet.query_release.linear.residual_marginals import Goal, ResidualMarginals
from discreet.query_release.models.adaptive import Adaptive
from discreet.query_release.models.max_entropy import MaxEntropy

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
    """

    workload: Workload
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows: int
    by: str
    score: str = "answers"

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
    return MaxEntropy(**facts.public | {"workload": _tables(facts.workload)})


def _adaptive(facts: ReleaseFacts) -> WorkloadRelease:
    longest = max(facts.workload.universe.shape)
    if longest > _LONGEST:
        raise Refused(
            what=f"an attribute of {longest} values",
            why=f"with more than {_LONGEST} its smoothing takes too long",
            way_out="Use another mechanism, or declare a coarser grid",
        )
    return Adaptive(**facts.public | {"workload": _tables(facts.workload)})


def _residuals(facts: ReleaseFacts) -> WorkloadRelease:
    return ResidualMarginals(goal=Goal.TOTAL if facts.by == "average" else Goal.WORST, **facts.public)


def _range_tree(facts: ReleaseFacts) -> WorkloadRelease:
    _few_attributes(facts, 1)
    return RangeTree(**facts.public)


def _rectangle_tree(facts: ReleaseFacts) -> WorkloadRelease:
    _few_attributes(facts, 3)
    mechanism = RectangleTree(**facts.public)
    if len(mechanism.trees) == 1:
        raise Refused(what="a product of one tree", why="it is the tree itself", way_out="Use the range tree")
    return mechanism


def _projection(facts: ReleaseFacts) -> WorkloadRelease:
    cells, queries = facts.workload.universe.size, len(facts.workload)
    if cells + queries > _PROJECTED:
        raise Refused(
            what=f"a universe of {cells} cells and {queries} queries",
            why=f"with more than {_PROJECTED} of both together it takes too long",
            way_out="Use another mechanism",
        )
    return Projection(
        rows=facts.rows * (1 if isinstance(facts.neighbours, Replace) else _SPARE), **facts.public
    )


def _mwem(facts: ReleaseFacts) -> WorkloadRelease:
    _few_cells(facts, _LEARNED)
    workload = facts.workload
    questions = len(workload.sets) if isinstance(workload, Marginals) else len(workload)
    return MWEM(rounds=min(_ROUNDS, questions), rows=facts.rows, **facts.public)


def _small_database(facts: ReleaseFacts) -> WorkloadRelease:
    _few_cells(facts, _SCORED)
    cells, queries, size = facts.workload.universe.size, len(facts.workload), 0
    while size < min(facts.rows, _DEEPEST) and math.comb(cells + size, size + 1) * queries <= _SCORED:
        size += 1
    if not size:
        raise Refused(
            what="a small database",
            why="there are too many of them to score",
            way_out="Use another mechanism",
        )
    return SmallDatabase(rows=facts.rows, size=size, **facts.pure)


def _interval_search(facts: ReleaseFacts) -> WorkloadRelease:
    if facts.delta:
        raise Refused(what="interval search", why="it takes no delta", way_out="Use the range tree")
    return IntervalSearch(rows=facts.rows, accuracy=_ACCURACY, **facts.pure)


@lru_cache(maxsize=32)
def _tables(workload: Workload) -> Workload:
    """Return the tables that the parts of a union look at: a model of them answers all parts."""
    if not isinstance(workload, Union) or not all(isinstance(part, Tabled) for part in workload.parts):
        return workload
    names = workload.universe.names
    sets = dict.fromkeys(axes for part in workload.parts for axes in part.sets)  # type: ignore[attr-defined]
    return Marginals(workload.universe, [[names[axis] for axis in axes] for axes in sets])


def _few_attributes(facts: ReleaseFacts, most: int) -> None:
    tables = _tables(facts.workload)
    if isinstance(tables, Tabled) and (count := len(set().union(*tables.sets))) > most:
        raise Refused(
            what=f"a workload about {count} attributes",
            why=f"trees are over at most {most}",
            way_out="Use another mechanism",
        )


def _few_cells(facts: ReleaseFacts, most: int) -> None:
    size = facts.workload.universe.size
    if size > most:
        raise Refused(
            what=f"a universe of {size} cells",
            why=f"with more than {most} it takes too long",
            way_out="Use another mechanism",
        )


CANDIDATES = (
    PlanCandidate("max-entropy", _max_entropy),
    PlanCandidate("adaptive", _adaptive),
    PlanCandidate("residual-marginals", _residuals),
    PlanCandidate("range-tree", _range_tree),
    PlanCandidate("rectangle-tree", _rectangle_tree),
    PlanCandidate("projection", _projection),
    PlanCandidate("mwem", _mwem),
    PlanCandidate("small-database", _small_database),
    PlanCandidate("interval-search", _interval_search),
    PlanCandidate("independent", lambda facts: Independent(**facts.public), makes_rows=False),
)
"""In the order in which they are preferred where errors are alike: synopses that answer more come first."""
