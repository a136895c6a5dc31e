"""The book's learner of linear functions: coordinates are experts, examples are rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Event, EventPresence, Neighbours
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down
from discreet.learning.experts.conversation import bound_hedge
from discreet.learning.experts.losses import SIGNED, Losses
from discreet.learning.experts.tiny import one_against_all, small_rounds
from discreet.learning.experts.weighted_majority import Speed, WeightedMajority


@frozen
class LinearLearner(Mechanism[Any, Floats]):
    """Return weights of coordinates, none negative and 1 in sum, under which examples have a small mean.

    Privacy: (epsilon, delta). [DR14] Theorem 11.5, whose proof does not show it; see its page.
    Accuracy: error(beta), for examples drawn independently. [DR14] Theorem 11.6.
    Time: O(rows size).

    One choice of a coordinate, `VertexLearner`, errs far less on any table worth learning from.

    Parameters
    ----------
    size
        How many coordinates an example has, each in [-1, 1].
    rows
        How many examples there are, which is public, in an order that does not depend on them.
    epsilon, delta
        The budget.
    neighbours
        What is hidden: `Event()`, another example at one place; `EventPresence()`, whether there is one.
    losses
        The range of a coordinate.
    speed
        How the rate is chosen.
    """

    size: int = public(checks.integer, 1)
    rows: int = public(checks.integer, 2)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    losses: Losses = public(checks.exactly, Losses, default=SIGNED)
    speed: Speed = public(checks.instance, Speed, default=Speed.TIGHT)
    majority: WeightedMajority = derived()
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        followed = WeightedMajority(
            experts=self.size,
            horizon=self.rows,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            losses=self.losses,
            speed=self.speed,
        )
        self._set(majority=followed)

    @classmethod
    def as_printed(cls, *, epsilon: checks.Number, delta: checks.Number, **public: Any) -> Self:
        """Return [DR14] Algorithm 17: the rate epsilon / sqrt(32 T ln(1 / delta)), for losses in [-1, 1]."""
        return cls(epsilon=epsilon, delta=delta, speed=Speed.BOOK, **public)

    @property
    def loss(self) -> Loss:
        """The loss of the experts' names."""
        return self.majority.loss

    def error(self, beta: checks.Number) -> float:
        """Return what the expected value of a fresh example exceeds the smallest by, but for beta.

        Names and examples together are a martingale: what a name is worth on fresh examples, less what the
        weights it was drawn with lose on this one. The best coordinate is one coordinate, whatever is drawn.
        """
        lucky = math.sqrt(-math.log(down(checks.probability(beta=beta) / 2)) / self.rows)
        width = float(self.losses.width)
        learned = bound_hedge(self.majority.rate, self.losses, self.size, self.rows)
        bound = learned + width * lucky * (1 + math.sqrt(1 / 2))
        return require_useful(above(bound, 16), trivial=width, what="the error", way_out=MORE)

    def _draw(self, data: Any, rng: Rng) -> Floats:
        rows = self.losses.hold_rounds(data, self.size)
        if len(rows) != self.rows:
            raise InvalidParameter(name="data", rule=f"{self.rows} examples", got="another number of them")
        named = self.majority.open(rows, rng=rng).ask(self.rows)
        weights: Floats = np.bincount(named, minlength=self.size) / self.rows
        return weights


def _tiny() -> Iterator[Tiny]:
    for neighbours in (Event(), EventPresence()):
        coarse = Losses(Fraction(-1), Fraction(1), 2)
        mechanism = LinearLearner(size=12, rows=2, epsilon=1, delta=0, neighbours=neighbours, losses=coarse)
        yield Tiny(mechanism, one_against_all(neighbours, coarse, 12))
    small = LinearLearner(size=2, rows=3, epsilon=2, delta=0.01, neighbours=Event())
    yield Tiny(small, small_rounds(Event(), 3), tight=False)


def _example() -> tuple[LinearLearner, Any]:
    mechanism = LinearLearner(size=4, rows=300, epsilon=1, delta=1e-6, neighbours=Event())
    places = np.arange(300)[:, None]
    return mechanism, np.cos(places * np.arange(1, 5)) * 0.5 + np.arange(4) / 10


CARD = Card(
    title="Linear learner: coordinates as experts",
    theorem="(epsilon, delta)-differential privacy; error by regret and two martingales",
    reference="[DR14] Algorithm 17, Theorems 11.5 and 11.6",
    example=_example,
    tiny=_tiny,
)
