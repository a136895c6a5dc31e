"""Predicted errors: every mechanism that applies, tried on people who do not exist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.bounds import known_error
from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.planning.candidates import PlanCandidate, ReleaseFacts
from discreet.query_release.planning.population import nobody

_BETA = 0.05  # the failure probability of the bounds that are printed
_ALIKE = 1.05  # errors this close are called the same
_NEGLIGIBLE = 0.1  # of a row: smaller errors are all the same
_NO_ROWS = 1.09  # how much better a synopsis must be that makes no synthetic rows
_WAY_OUT = "Ask for queries with whole weights, over fewer attributes"
_RUNS = 12  # of a mechanism whose error is noise alone: one measurement each
_SMALL, _SMALL_RUNS = 5000, 2  # cells, and how often a fit to so few is tried


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one mechanism is expected to do.

    Attributes
    ----------
    name
        That of the mechanism's card.
    mechanism
        Ready to be used; None where it does not apply.
    average, largest
        The mean and the largest error of all queries, in rows; infinite where it does not apply. They are of
        answers, or of synthetic rows, as the plan says.
    bound
        What the mechanism proves of the largest error of its answers with probability 0.95, whatever the data
        are; infinite where it proves nothing useful, and for synthetic rows.
    why_not
        Why it does not apply.
    makes_rows
        Whether its synopsis makes synthetic rows.
    """

    name: str
    mechanism: WorkloadRelease | None
    average: float = math.inf
    largest: float = math.inf
    bound: float = math.inf
    why_not: str = ""
    makes_rows: bool = True

    def error(self, by: str) -> float:
        """Return the error that the choice goes by."""
        return self.average if by == "average" else self.largest


def predict(candidate: PlanCandidate, facts: ReleaseFacts, population: Histogram, rng: Rng) -> Prediction:
    """Run one mechanism on made-up people, or say why it cannot be run.

    Where the error is noise alone, an empty table shows it, and no population has to be believed.
    """
    try:
        mechanism = candidate.make(facts)
    except (InvalidParameter, NeighboursMismatch, Refused) as problem:
        return Prediction(candidate.name, None, why_not=str(problem))
    try:
        average, largest = tried(mechanism, facts, population, rng)
    except Refused as problem:  # a synopsis that makes no rows
        return Prediction(candidate.name, None, why_not=str(problem))
    bound = known_error(mechanism, _BETA) if facts.score == "answers" else math.inf
    return Prediction(candidate.name, mechanism, average, largest, bound, makes_rows=candidate.makes_rows)


def preferred(predictions: Sequence[Prediction], facts: ReleaseFacts) -> Prediction:
    """Return the first prediction that is about as good as the best one.

    Raises
    ------
    Refused
        Where no mechanism applies.
    """
    # Where rows are scored, what makes none does not apply.
    ranks = [each.error(facts.by) * (1.0 if each.makes_rows else _NO_ROWS) for each in predictions]
    best = min(ranks)
    if best == math.inf:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in predictions)
        raise Refused(what=repr(facts.workload), why=f"no mechanism applies ({reasons})", way_out=_WAY_OUT)
    most = max(_ALIKE * best, _NEGLIGIBLE)
    return next(each for each, rank in zip(predictions, ranks, strict=True) if rank <= most)


def tried(
    mechanism: WorkloadRelease, facts: ReleaseFacts, population: Histogram, rng: Rng
) -> tuple[float, float]:
    """Return the mean and the largest error of a release; of several where noise is all that matters."""
    workload = facts.workload
    of_noise = mechanism.is_noise_alone and facts.score == "answers"
    people = nobody(workload.universe) if of_noise else population
    truth = workload.answers(people)
    found = []
    runs = 1 if workload.universe.size > _SMALL else _SMALL_RUNS
    for _ in range(_RUNS if of_noise else runs):
        synopsis = mechanism.release(people, rng=rng).value
        counted = synopsis if facts.score == "answers" else synopsis.synthetic(rng=rng)
        off = np.abs(counted.answers(workload) - truth)
        found.append((off.mean(), off.max()))
    average, largest = np.mean(found, axis=0).tolist()
    return average, largest
