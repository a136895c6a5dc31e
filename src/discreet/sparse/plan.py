"""The words a sparse-vector plan is written in: kinds of noise, forms, rules, and the plan itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.noise import Noise
from discreet.sparse.loss import SparseLoss


class _Word(Enum):
    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class NoiseKind(_Word):
    """The noise of thresholds, queries and values."""

    EXPONENTIAL = "exponential"
    """One-sided; the same guarantee as Laplace noise of that scale with half its variance."""
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    """Light tails; needs delta > 0 and a public cap on the number of questions."""


class Form(_Word):
    """When the noisy threshold is drawn."""

    ONCE = "once"
    REDRAWN = "redrawn"
    """Again after each positive answer: as many AboveThresholds, composed."""


class Rule(_Word):
    """How the budget becomes noise."""

    OPTIMAL = "optimal"
    BOOK = "book"
    """The scales of [DR14], Algorithms 1 to 3: redrawn, Laplace, half the budget on the threshold."""


@dataclass(frozen=True, slots=True)
class SparseSetting:
    """The public parameters a plan depends on, in units of the grid."""

    shift: int
    monotone: bool
    positives: int
    epsilon: Fraction
    delta: Fraction
    noise: NoiseKind
    form: Form | None
    rule: Rule
    queries: int

    @property
    def factor(self) -> int:
        """How many shifts one positive answer's noise must cover."""
        return 1 if self.monotone else 2


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """Noise laws in units of the grid, and what a whole conversation with them costs.

    `offset` is added to every threshold, so that one-sided noise does not tilt the comparison.
    """

    form: Form
    threshold_noise: Noise
    query_noise: Noise
    offset: int
    loss: SparseLoss
