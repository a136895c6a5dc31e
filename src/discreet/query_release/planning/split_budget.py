"""How a budget is shared out among the parts of a workload: by their predicted errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

from discreet import query_release
from discreet.core.errors import Refused
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.union import Union
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.planning.candidates import CANDIDATES, PlanCandidate, ReleaseFacts
from discreet.query_release.planning.predict import choose, predict

_MOST = 6  # parts, for each of which every mechanism is tried


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
