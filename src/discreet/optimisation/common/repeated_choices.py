"""What it costs to choose items one after the other when nobody can be satisfied twice.

In every round item j is drawn with probability proportional to exp(rate score_j). One record adds to the
scores, and what it can still add, over all rounds to come, is at most one minus what the chosen items have
already given it. So it gets its one unit early and then falls silent, or its items keep not being chosen,
and either way the rounds tell little about it: far less than their number suggests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import largest
from discreet.core import checks
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.losses.base import check_order, short
from discreet.core.rounding import above, down, up

_SLACK = 1e-13
_WIDEST = 300  # beyond, floats end before the formulas do


@dataclass(frozen=True, slots=True)
class SequentialLoss(Loss):
    """The exact worst case of `rounds` such choices, for adding or removing a record.

    With c = e^range, P for the data without the record and Q for the data with it, and for every real
    epsilon between -range and rounds * range, the largest divergence is ::

        sup P(E) - e^epsilon Q(E) = (c - M)^(rounds + 1) / (c (c - 1)^rounds),
        M = e^((epsilon + range) / (rounds + 1)).

    *Proof.* Write u = e^(range gain) for what a round gives the record, of mean M_i under P: the round
    multiplies Q / P by u / M_i, and the product of all u is at most c. By induction over the rounds, a
    record does worst when it gets all or nothing: the divergence that is left after a gain u lies below the
    chord between u = 1 and u = c. Then the most telling event is that the record got nothing in j rounds,
    whose value is the product of (1 - p_i) times (1 - e^epsilon / product of M_i), M_i = 1 + (c - 1) p_i.
    Given the product of the M_i, log(1 - p_i) being concave in log M_i, equal ones are worst; and the best
    common M has M^(rounds + 1) = c e^epsilon. One round gives the curve of a bounded range. The page of the
    public projects has the induction in full.

    Attributes
    ----------
    range_
        The exponent of one whole unit of score.
    rounds
        How many items are chosen.
    """

    range_: Fraction
    rounds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "range_", checks.positive(range_=self.range_))
        object.__setattr__(self, "rounds", checks.integer(1, rounds=self.rounds))

    @property
    def pure(self) -> Fraction:
        """The loss that is never exceeded."""
        return self.range_ * self.rounds

    def delta(self, epsilon: checks.Number) -> float:
        """Return the curve, for the worse of the two orders of the neighbours."""
        e = checks.non_negative(epsilon=epsilon)
        if e >= self.pure:
            return 0.0
        if self.range_ > _WIDEST:
            return 1.0
        with_record = 0.0
        if e < self.range_:
            # Q(E) - e^epsilon P(E) is the other order at the complement of E.
            factor = math.exp(up(e))
            gap = -math.expm1(down(e)) + factor * self._without(-e)
            with_record = max(0.0, gap) * (1 + _SLACK) + 1e-15 * factor
        return min(1.0, max(self._without(e), with_record))

    def _without(self, epsilon: Fraction) -> float:
        step, range_ = (epsilon + self.range_) / (self.rounds + 1), up(self.range_)
        # (c - M) / (c - 1) is one minus this, which is rounded down.
        gone = math.expm1(down(step)) / math.expm1(range_) * (1 - 4e-15)
        logarithm = (self.rounds + 1) * math.log1p(-gone) if gone < 1 else -math.inf
        return math.exp(logarithm) * -math.expm1(-range_) * (1 + _SLACK * (1 - max(logarithm, -800.0)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the pure epsilon at delta 0, else invert the curve."""
        return min(up(self.pure), Loss.epsilon(self, delta))

    def renyi(self, order: checks.Number) -> float:
        """Return the least of the rounds' own bounds and that of endless rounds.

        Endless rounds have the curve of two exponential times, of rates 1 and c, for every epsilon.
        """
        a, r = check_order(order), up(min(self.range_, Fraction(_WIDEST)))
        c = math.exp(r)
        left = 1 - (a - 1) * (c - 1)  # from here on the divergence is infinite
        bounds = [above(a * self.zcdp()), up(self.pure)]
        if left > 1e-6 and self.range_ <= _WIDEST:
            first, second = (1 - a) * r - math.log(left), a * r - math.log(a * c + 1 - a)
            bounds.append((max(first, second) + 1e-15 * (1 + a * c) * (2 + 1 / left)) / (a - 1))
        return max(0.0, min(bounds))

    def zcdp(self) -> float:
        """Return the sum over the rounds, each of bounded range."""
        return above(self.rounds * BoundedRangeLoss(self.range_).zcdp())

    def exact_epsilon(self) -> Fraction:
        """Return the pure loss."""
        return self.pure

    def __str__(self) -> str:
        return (
            f"epsilon {short(self.pure)} ({self.rounds} rounds of {short(self.range_)}, nobody counts twice)"
        )


@lru_cache(maxsize=256)
def sequential_range(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """Return the largest range, a hair less, of `rounds` choices that are (epsilon, delta) together."""
    if delta == 0:
        return epsilon / rounds
    return largest(lambda range_: SequentialLoss(range_, rounds).delta(epsilon) <= delta, digits=12)
