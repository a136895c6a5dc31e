"""The best coordinate by one choice: a linear function is smallest at a corner of the simplex."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Event, Neighbours, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down
from discreet.learning.experts.losses import SIGNED, Losses
from discreet.learning.experts.tiny import one_against_all
from discreet.mechanisms.permute_and_flip import PermuteAndFlip

_BLOCK = 1 << 18  # numbers that are read at a time


@frozen
class VertexLearner(Mechanism[Any, int]):
    """Return the coordinate under which examples have a small mean.

    Privacy: (epsilon, 0), by permute-and-flip on the sums of all coordinates.
    Accuracy: error(beta), for independent examples: about 4 ln(size / beta) / (epsilon rows) and what the
    sample itself is off by.
    Time: O(rows size).

    Parameters
    ----------
    size
        How many coordinates an example has.
    rows
        How many examples there are, which is public.
    epsilon
        The budget.
    neighbours
        `Replace(unit)`, another example in the place of one; or `Event()`, where they have an order.
    losses
        The range of a coordinate.

    Examples
    --------
    >>> vertex = VertexLearner(size=10, rows=10_000, epsilon=1, neighbours=Replace("person"))
    >>> round(vertex.excess(0.05), 4)
    0.0018
    """

    size: int = public(checks.integer, 1)
    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    losses: Losses = public(checks.exactly, Losses, default=SIGNED)
    choice: PermuteAndFlip = derived()
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        if type(self.neighbours) not in (Event, Replace):
            raise InvalidParameter(
                name="neighbours",
                rule="Replace(unit) or Event(): the number of examples is public",
                got=str(self.neighbours),
            )
        chosen = PermuteAndFlip(
            sensitivity=self.losses.steps, epsilon=self.epsilon, size=self.size, neighbours=self.neighbours
        )
        self._set(choice=chosen)

    @property
    def loss(self) -> Loss:
        """The loss of one choice."""
        return self.choice.loss

    def excess(self, beta: checks.Number) -> float:
        """Return what the mean of these examples exceeds the smallest by, but for a probability beta."""
        unit = float(self.losses.width / self.losses.steps)
        return above(self.choice.error(beta) * unit / self.rows + self.losses.rounding, 8)

    def error(self, beta: checks.Number) -> float:
        """Return what the expected value of a fresh example exceeds the smallest by, but for beta."""
        third = checks.probability(beta=beta) / 3
        width, missed = float(self.losses.width), -math.log(down(third))
        off = math.sqrt((missed + math.log(self.size)) / (2 * self.rows)) + math.sqrt(
            missed / (2 * self.rows)
        )
        bound = self.excess(third) + width * off
        return require_useful(above(bound, 16), trivial=width, what="the error", way_out=MORE)

    def _draw(self, data: Any, rng: Rng) -> int:
        rows = self.losses.hold_rounds(data, self.size)
        if len(rows) != self.rows:
            raise InvalidParameter(name="data", rule=f"{self.rows} examples", got="another number of them")
        sums, block = np.zeros(self.size, dtype=np.int64), max(1, _BLOCK // self.size)
        for start in range(0, len(rows), block):
            sums += self.losses.read_rounds(rows[start : start + block], self.size).sum(axis=0)
        return int(self.choice.release(-sums, rng=rng).value)


def _tiny() -> Iterator[Tiny]:
    for neighbours in (Event(), Replace("row")):
        for losses in (Losses(Fraction(0), Fraction(1), 3), SIGNED):
            vertex = VertexLearner(size=12, rows=2, epsilon=1, neighbours=neighbours, losses=losses)
            yield Tiny(vertex, one_against_all(Event(), losses, 12))
    small = VertexLearner(size=2, rows=2, epsilon=2, neighbours=Replace("row"))
    domain = ((-1, 1), (1, -1), (math.nan, 7), ("x", None))
    yield Tiny(small, list(Replace("row").pairs(domain, 2)))


def _example() -> tuple[VertexLearner, Any]:
    mechanism = VertexLearner(size=4, rows=300, epsilon=1, neighbours=Replace("person"))
    places = np.arange(300)[:, None]
    return mechanism, np.cos(places * np.arange(1, 5)) * 0.5 + np.arange(4) / 10


CARD = Card(
    title="Vertex learner: the best coordinate by one choice",
    theorem="(epsilon, 0)-differential privacy; error that of permute-and-flip on sums",
    reference="[MS20]; [DR14] section 11.3",
    example=_example,
    tiny=_tiny,
)
