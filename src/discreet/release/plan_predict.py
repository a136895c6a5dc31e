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
from discreet.queries.workload import Workload
from discreet.release.base import WorkloadRelease
from discreet.release.plan_candidates import Candidate, Facts
from discreet.release.plan_population import nobody

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
        The mean and the largest error of all queries, in rows; infinite where it does not apply.
    bound
        What the mechanism proves of the largest error with probability 0.95, whatever the data are; infinite
        where it proves nothing useful.
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


def predict(candidate: Candidate, facts: Facts, population: Histogram, rng: Rng) -> Prediction:
    """Run one mechanism on made-up people, or say why it cannot be run.

    Where the error is noise alone, an empty table shows it, and no population has to be believed.
    """
    try:
        mechanism = candidate.make(facts)
    except (InvalidParameter, NeighboursMismatch, Refused) as problem:
        return Prediction(candidate.name, None, why_not=str(problem))
    average, largest = tried(mechanism, facts.workload, None if mechanism.is_noise_alone else population, rng)
    bound = known_error(mechanism, _BETA)
    return Prediction(candidate.name, mechanism, average, largest, bound, makes_rows=candidate.makes_rows)


def preferred(predictions: Sequence[Prediction], facts: Facts) -> Prediction:
    """Return the first prediction that is about as good as the best one.

    Raises
    ------
    Refused
        Where no mechanism applies.
    """
    ranks = [each.error(facts.by) * (1.0 if each.makes_rows else _NO_ROWS) for each in predictions]
    best = min(ranks)
    if best == math.inf:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in predictions)
        raise Refused(what=repr(facts.workload), why=f"no mechanism applies ({reasons})", way_out=_WAY_OUT)
    most = max(_ALIKE * best, _NEGLIGIBLE)
    return next(each for each, rank in zip(predictions, ranks, strict=True) if rank <= most)


def tried(
    mechanism: WorkloadRelease, workload: Workload, population: Histogram | None, rng: Rng
) -> tuple[float, float]:
    """Return the mean and the largest error of a release; of several where there is no population."""
    people = nobody(workload.universe) if population is None else population
    truth = workload.answers(people)
    found = []
    runs = 1 if workload.universe.size > _SMALL else _SMALL_RUNS
    for _ in range(_RUNS if population is None else runs):
        off = np.abs(mechanism.release(people, rng=rng).value.answers(workload) - truth)
        found.append((off.mean(), off.max()))
    average, largest = np.mean(found, axis=0).tolist()
    return average, largest
