"""Predicted errors: every mechanism that applies, tried on people who do not exist.

Trials draw noise that is fixed by what is tried, so that the same public facts have the same predictions.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import query_release
from discreet.core.bounds import read_error
from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.fixed import Floats
from discreet.noise.trial_noise import TrialNoise
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.union import Union
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.planning.candidates import CANDIDATES, PlanCandidate, ReleaseFacts
from discreet.query_release.planning.population import nobody

_BETA = 0.05  # the failure probability of the bounds that are printed
ALIKE = 1.05
"""Errors this close are called the same."""
MODELLED = 1.1
"""How much better a mechanism must be that was tried on made-up people than one whose errors are noise alone;
chosen by `benchmarks/release_margin.py`, on other tables than those that it was checked on."""
NO_ROWS = 1.09
"""How much better a synopsis must be that makes no synthetic rows."""
_NEGLIGIBLE = 0.1  # of a row: smaller errors are all the same
_MOST = 6  # parts of a workload, for each of which every mechanism is tried
_WAY_OUT = "Ask for queries with whole weights, over fewer attributes"
# How many trials: of noise alone, which takes no time, until their mean is off by one per cent; of whatever
# fits a model until it is by seven. All of them together have so many answers, or fit so many cells.
_NOISE_RUNS, _ANSWERS, _SURE_OF_NOISE = (12, 1000), 1_000_000, 0.01
_FITS, _CELLS, _SURE_OF_FITS = (4, 40), 100_000, 0.07


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
    is_exact
        Whether its errors are noise alone, the same on all data: then the prediction rests on no population.
    """

    name: str
    mechanism: WorkloadRelease | None
    average: float = math.inf
    largest: float = math.inf
    bound: float = math.inf
    why_not: str = ""
    makes_rows: bool = True
    is_exact: bool = False

    def error(self, by: str) -> float:
        """Return the error that the choice goes by."""
        return self.average if by == "average" else self.largest


def predict(candidate: PlanCandidate, facts: ReleaseFacts, population: Histogram) -> Prediction:
    """Run one mechanism on made-up people, or say why it cannot be run.

    Where the error is noise alone, an empty table shows it, and no population has to be believed.
    """
    try:
        mechanism = candidate.make(facts)
    except (InvalidParameter, NeighboursMismatch, Refused) as problem:
        return Prediction(candidate.name, None, why_not=str(problem))
    try:
        average, largest = try_mechanism(candidate.name, mechanism, facts, population)
    except Refused as problem:  # a synopsis that makes no rows
        return Prediction(candidate.name, None, why_not=str(problem))
    return Prediction(
        candidate.name,
        mechanism,
        average,
        largest,
        read_error(mechanism, _BETA) if facts.score == "answers" else math.inf,
        makes_rows=candidate.makes_rows,
        is_exact=_is_exact(mechanism, facts),
    )


def choose(predictions: Sequence[Prediction], facts: ReleaseFacts) -> Prediction:
    """Return the first prediction that is about as good as the best one.

    One that rests on made-up people, or whose synopsis makes no rows, must be better by more than a little.

    Raises
    ------
    Refused
        Where no mechanism applies.
    """
    ranks = [each.error(facts.by) * _handicap(each, facts) for each in predictions]
    best = min(ranks)
    if best == math.inf:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in predictions)
        raise Refused(what=repr(facts.workload), why=f"no mechanism applies ({reasons})", way_out=_WAY_OUT)
    most = max(ALIKE * best, _NEGLIGIBLE)
    return next(each for each, rank in zip(predictions, ranks, strict=True) if rank <= most)


def say_why(best: Prediction, other: Prediction, facts: ReleaseFacts) -> str:
    """Say why a prediction is chosen before another with a smaller error."""
    if not other.makes_rows and best.makes_rows:
        return f"{other.name} answers these queries alone, and makes no synthetic rows"
    if best.is_exact and _rests_on_people(other, facts):
        return (
            f"the errors of {best.name} are noise alone, on any data; "
            f"those of {other.name} depend on the data, and the rows that it was tried on are made up"
        )
    return f"that of {other.name} is about the same"


def _handicap(prediction: Prediction, facts: ReleaseFacts) -> float:
    # Where rows are scored, what makes none does not apply.
    return (1.0 if prediction.makes_rows else NO_ROWS) * (
        MODELLED if _rests_on_people(prediction, facts) else 1.0
    )


def _rests_on_people(prediction: Prediction, facts: ReleaseFacts) -> bool:
    return facts.made_up and not prediction.is_exact


def _is_exact(mechanism: WorkloadRelease, facts: ReleaseFacts) -> bool:
    return mechanism.is_noise_alone and facts.score == "answers"


def try_mechanism(
    name: str, mechanism: WorkloadRelease, facts: ReleaseFacts, population: Histogram
) -> tuple[float, float]:
    """Return the mean and the largest error of a release, tried until luck hardly matters."""
    workload = facts.workload
    (fewest, most), sure = _FITS, _SURE_OF_FITS
    most = min(most, max(1, _CELLS // workload.universe.size))
    if _is_exact(mechanism, facts):
        population = nobody(workload.universe)
        (fewest, most), sure = _NOISE_RUNS, _SURE_OF_NOISE
        most = min(most, max(fewest, _ANSWERS // len(workload)))
    truth, errors = workload.answers(population), np.empty((0, 2))
    # The same noise for every budget: then errors are compared by it alone.
    rng = TrialNoise(f"{name} {workload.universe.shape} {facts.score}")
    for runs in range(most):
        if runs >= fewest and _is_certain(errors[:, 0 if facts.by == "average" else 1], sure):
            break
        synopsis = mechanism.release(population, rng=rng).value
        counted = synopsis if facts.score == "answers" else synopsis.synthetic(rng=rng)
        off = np.abs(counted.answers(workload) - truth)
        errors = np.vstack([errors, (off.mean(), off.max())])
    average, largest = errors.mean(axis=0).tolist()
    return average, largest


def _is_certain(errors: Floats, sure: float) -> bool:
    """Tell whether one standard error of a mean is a small part of it."""
    return bool(errors.std(ddof=1) <= sure * errors.mean() * math.sqrt(len(errors)))


def make_splitting(workload: Union, people: Histogram) -> PlanCandidate:
    """Return the candidate that releases each part by the mechanism that is best for it."""

    def make(facts: ReleaseFacts) -> WorkloadRelease:
        if len(workload.parts) > _MOST:
            raise Refused(
                what=f"a budget for {len(workload.parts)} parts",
                why=f"at most {_MOST} are planned one by one",
                way_out="Put parts of one kind into one workload",
            )
        makes, errors = [], []
        for part, weight in zip(workload.parts, workload.weights, strict=True):
            own = dataclasses.replace(facts, workload=part)
            found = choose([predict(each, own, people) for each in CANDIDATES], facts)
            makes.append(_make_later(found.name, own))
            size = len(part) if facts.by == "average" else 1
            errors.append(max(found.error(facts.by), 1e-9) * float(weight) * size)
        return query_release.Split.share(
            workload=workload,
            makes=makes,
            shares=[error ** _power(facts) for error in errors],
            epsilon=facts.epsilon,
            delta=facts.delta,
            neighbours=facts.neighbours,
        )

    return PlanCandidate("split", make)


def _make_later(name: str, facts: ReleaseFacts) -> Callable[[Fraction, Fraction], WorkloadRelease]:
    candidate = next(each for each in CANDIDATES if each.name == name)

    def make(epsilon: Fraction, delta: Fraction) -> WorkloadRelease:
        return candidate.make(dataclasses.replace(facts, epsilon=epsilon, delta=delta))

    return make


def _power(facts: ReleaseFacts) -> float:
    """Return the power of the errors that is best to share by.

    Errors fall as c / epsilon. The largest of them is smallest where all are equal: epsilon as c. Their sum
    is smallest, where the epsilons add up, with epsilon as the square root of c; where their squares do, as
    those of Gaussian noise nearly do, as the cube root.
    """
    if facts.by == "largest":
        return 1.0
    return 1 / 3 if facts.delta else 1 / 2
