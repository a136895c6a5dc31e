"""The public sizes of the online mechanism, and what they are worth.

Everything is worked out from caps and budgets. For a *gap* g, a share of the rows:

* samples n^ keep every sampled hypothesis within g of its weights on every query;
* a query is bad where the hypothesis is off by 2 g or more, so the weights are off by g or more;
* a batch of B bad queries with rate B <= 4 g then brings the weights nearer to the data by rate B g / 2 in
  relative entropy, which starts at ln |X| at most. So there are at most 2 ln|X| / (rate g) bad queries in
  closed batches, and ln|X| / g^2 updates if no batch is smaller than half of the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import per_step_epsilon, zcdp_rho
from discreet.analysts.query_book import Caps
from discreet.core import checks
from discreet.core.neighbours import Neighbours, OneQuery
from discreet.core.parameters import Exact, checked, public
from discreet.core.rounding import above, down, shorten_down, up
from discreet.mechanisms.scores import Monotone
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import Form

PLANNED_BETA = Fraction(1, 20)
"""The failure probability that thresholds are planned for: a third each for gates, closings and samples."""

_GAPS = tuple(Fraction(1, 1 << power) for power in range(3, 8))  # below, samples take too long


@checked
class OnlineSizes:
    """How the online mechanism runs.

    Attributes
    ----------
    updates
        How often the hypothesis may change.
    samples
        How many cells are drawn for each new hypothesis.
    batch
        The number of bad queries at which a batch is meant to be closed.
    rate
        What one bad query adds to the log-weight of the cells it counts.
    positives
        How many bad queries each analyst may have.
    threshold
        By how many rows a hypothesis must be off for a query to be bad.
    """

    updates: int = public(checks.integer, 1)
    samples: int = public(checks.integer, 1)
    batch: int = public(checks.integer, 1)
    rate: Exact = public(checks.positive)
    positives: int = public(checks.integer, 1)
    threshold: int = public(checks.integer, 0)

    @property
    def rho(self) -> Fraction:
        """What all samples together tell of one query: each has a range of 2 rate."""
        return self.samples * self.updates * self.rate**2 / 2


@dataclass(frozen=True, slots=True)
class Budgets:
    """The public parameters that sizes are worked out from; `shift` is what one row moves an answer by."""

    cells: int
    caps: Caps
    epsilon: Fraction
    delta: Fraction
    analyst_epsilon: Fraction
    analyst_delta: Fraction
    neighbours: Neighbours
    shift: int = 1

    def gate(self, positives: int) -> NumericSparse:
        """Return the conversation of one analyst: pure, with the threshold's noise drawn once."""
        return _gate(self, positives)

    @property
    def closing(self) -> AboveThreshold:
        """What closes a batch. All closings together tell of one query no more than its epsilon."""
        return _closing(self.analyst_epsilon / 2, self.caps.queries)


@lru_cache(maxsize=256)
def _gate(budgets: Budgets, positives: int) -> NumericSparse:
    caps = budgets.caps
    return NumericSparse(
        sensitivity=budgets.shift,
        epsilon=per_step_epsilon(count=caps.analysts, epsilon=budgets.epsilon, delta=budgets.delta),
        delta=0,
        positives=positives,
        form=Form.ONCE,
        queries=2 * caps.queries,
        neighbours=budgets.neighbours,
    )


@lru_cache(maxsize=256)
def _closing(epsilon: Fraction, ticks: int) -> AboveThreshold:
    # Of two batches one has the other's size or, at some ticks, one more: sizes move one way.
    return AboveThreshold(
        sensitivity=Monotone(1), epsilon=epsilon, delta=0, queries=ticks, neighbours=OneQuery()
    )


@dataclass(frozen=True, slots=True)
class OnlineCandidate:
    """Sizes for one gap. They do not depend on the number of rows; the threshold does.

    Rows stand for the span of the answers: so far apart can those of two tables be.
    """

    gap: Fraction
    updates: int
    samples: int
    batch: int
    rate: Fraction
    positives: int
    gate_error: float

    def rows_off(self, rows: int) -> float:
        """Return by how many rows any answer is off: the threshold, the gate's error, and rounding."""
        return above(up(2 * self.gap * rows) + 2 * self.gate_error + 2)

    def rows_needed(self, bound: Fraction) -> float:
        """Return the number of rows from which the error is below a share of them."""
        left = bound - 2 * self.gap
        return math.inf if left <= 0 else (2 * self.gate_error + 2) / float(left)

    def sizes(self, rows: int) -> OnlineSizes:
        """Return the sizes for a number of rows."""
        threshold = math.ceil(up(2 * self.gap * rows) + self.gate_error + 0.5)
        return OnlineSizes(
            self.updates, self.samples, self.batch, self.rate, self.positives, threshold=threshold
        )


@lru_cache(maxsize=64)
def candidates(budgets: Budgets) -> tuple[OnlineCandidate, ...]:
    """Return sizes for every gap that is tried."""
    return tuple(_candidate(budgets, gap) for gap in _GAPS)


def _candidate(budgets: Budgets, gap: Fraction) -> OnlineCandidate:
    caps, third = budgets.caps, PLANNED_BETA / 3
    entropy = Fraction(above(math.log(budgets.cells)))
    updates = max(1, min(caps.queries, math.ceil(entropy / gap**2)))
    # Two tails for every place and every sampled hypothesis.
    tails = above(math.log(2 * caps.places * updates / third))
    samples = math.ceil(Fraction(tails) / (2 * gap**2))
    slack = math.ceil(budgets.closing.error(third / updates))
    rho = zcdp_rho(epsilon=budgets.analyst_epsilon / 2, delta=budgets.analyst_delta)
    most = shorten_down(Fraction(down(math.sqrt(2 * rho / (samples * updates)) * (1 - 1e-12))), 12)
    # No batch that is closed is smaller than half of the largest possible one.
    batch = max(3 * slack + caps.analysts, math.ceil(4 * gap / most))
    largest = batch + slack + caps.analysts
    rate = 4 * gap / largest
    positives = min(caps.queries, math.ceil(2 * entropy / (rate * gap)) + largest)
    error = budgets.gate(positives).error(third / caps.analysts)
    return OnlineCandidate(gap, updates, samples, batch, rate, positives, error)
