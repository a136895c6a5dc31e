"""What was answered before, and what measured answers teach: the nearest weights that they allow."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.fixed import Array, Floats
from discreet.core.search import narrow
from discreet.queries.query import Axes
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.online.questions import Key
from discreet.query_release.synopses.online_answer import MEASURED, OnlineAnswer

SWEEPS = 3
"""How often all measured answers are gone through after a new one."""

RECORDED = 1 << 18
"""How many answers that were not measured are kept. The oldest fall out, and are checked anew if asked."""

_EDGE = 0.5  # rows that a hypothesis leaves on either side of a question
_CLOSE = 1e-9  # relative: floats do not meet an edge exactly


class Record:
    """What questions that went to the data were answered: the same again, as long as it is kept."""

    def __init__(self) -> None:
        self._measured: dict[Key, OnlineAnswer] = {}  # there are few of them
        self._others: OrderedDict[Key, OnlineAnswer] = OrderedDict()

    def get(self, key: Key) -> OnlineAnswer | None:
        """Return the answer to a question; None where it is not kept."""
        return self._measured.get(key) or self._others.get(key)

    def keep(self, key: Key, answer: OnlineAnswer) -> OnlineAnswer:
        """Keep an answer, and return it."""
        if answer.kind == MEASURED:
            self._measured[key] = answer
            return answer
        self._others[key] = answer
        if len(self._others) > RECORDED:
            self._others.popitem(last=False)
        return answer


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBand:
    """A measured answer: weights between 0 and 1 over some axes, and the band its count lies in."""

    axes: Axes
    weights: Floats
    low: float
    high: float

    def said(self, hypothesis: Hypothesis) -> float:
        """Return the count of the hypothesis."""
        return float(np.vdot(hypothesis.table(self.axes), self.weights))

    def teach(self, hypothesis: Hypothesis) -> bool:
        """Move the hypothesis to the near edge of the band, if it is outside; tell whether it was.

        Of all weights that reach the edge these are the nearest ones in relative entropy. If the true count p
        lies in the band, the relative entropy of the truth falls by at least that of the edge t from the
        count q that was said: kl(p, q) - kl(p, t) >= kl(t, q) >= 2 (t - q)^2 for q < t <= p, as parts of
        the total.
        """
        total = hypothesis.total
        said = self.said(hypothesis)
        edge = min(_EDGE, total / 4)
        target = min(max(said, self.low, edge), max(self.high, edge), total - edge)
        if abs(target - said) <= _CLOSE * total:
            return False
        power = _power(hypothesis.table(self.axes), self.weights, target)
        hypothesis.update(self.axes, power * self.weights)
        return True


def relearn(hypothesis: Hypothesis, history: list[MeasuredBand]) -> None:
    """Go through all measured answers until each is in its band, or for a few sweeps.

    Answers that contradict one another, which noise can make them do, are left with the last one holding.
    """
    for _ in range(SWEEPS):
        moved = [each.teach(hypothesis) for each in history]
        if not any(moved):
            return


def _power(table: Array, weights: Array, target: float) -> float:
    """Return the power s such that the table times exp(s weights), rescaled, has the wanted count."""
    total = float(table.sum())
    if bool(np.isin(weights, (0.0, 1.0)).all()):
        said = min(max(float(np.vdot(table, weights)), 1e-12 * total), total * (1 - 1e-12))
        return math.log(target / (total - target)) - math.log(said / (total - said))

    def count(power: float) -> Any:
        grown = table * np.exp(power * weights - max(power, 0.0))
        return total * np.vdot(grown, weights) / grown.sum()

    low, high = -1.0, 1.0
    while count(low) > target and low > -500:
        low *= 2
    while count(high) < target and high < 500:
        high *= 2
    return sum(narrow(lambda power: bool(count(power) >= target), low, high, steps=60)) / 2
