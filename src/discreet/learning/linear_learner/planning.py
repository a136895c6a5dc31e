"""Which learner of linear functions errs least, from public quantities alone."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core import checks
from discreet.core.bounds import read_error
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.learning.experts.losses import SIGNED, Losses
from discreet.learning.linear_learner.linear_learner import LinearLearner
from discreet.learning.linear_learner.vertex_learner import VertexLearner

_BETA = 0.05


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """The learners that keep a budget with their errors at 95 %, the smaller one first."""

    predictions: tuple[tuple[LinearLearner | VertexLearner, float], ...]

    @property
    def best(self) -> LinearLearner | VertexLearner:
        """The learner with the smallest error."""
        return self.predictions[0][0]

    def __str__(self) -> str:
        lines = [f"{type(learner).__name__:13}  error {error:.4g}" for learner, error in self.predictions]
        return "\n".join(lines)

    __repr__ = __str__


def plan_linear(
    size: int,
    rows: int,
    epsilon: checks.Number,
    delta: checks.Number,
    neighbours: Neighbours,
    *,
    losses: Losses = SIGNED,
) -> LinearPlan:
    """Compare the errors of both learners on fresh examples, at 95 %; infinity where nothing is promised.

    The choice of one coordinate needs no delta, and wins wherever either learns anything.

    Examples
    --------
    >>> from discreet.streams import Event
    >>> plan_linear(10, 100_000, 1, 1e-6, Event())
    VertexLearner  error 0.02061
    LinearLearner  error 0.08692
    """
    vertex = VertexLearner(size=size, rows=rows, epsilon=epsilon, neighbours=neighbours, losses=losses)
    found: list[tuple[LinearLearner | VertexLearner, float]] = [(vertex, read_error(vertex, _BETA))]
    try:
        linear = LinearLearner(
            size=size, rows=rows, epsilon=epsilon, delta=delta, neighbours=neighbours, losses=losses
        )
        found.append((linear, read_error(linear, _BETA)))
    except InvalidParameter:  # it needs an order of examples, and two of them
        pass
    return LinearPlan(tuple(sorted(found, key=lambda pair: pair[1])))
