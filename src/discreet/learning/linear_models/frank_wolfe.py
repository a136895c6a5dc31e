"""Sparse linear models with a link, by private Frank-Wolfe steps: each chooses one column, and a sign."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_down, shorten_up
from discreet.learning.budgets import Noisy, count_moves, range_within
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.linked_learner import JUDGED, LinkedLearner, list_pairs
from discreet.learning.linear_models.links import PARTS, Link
from discreet.learning.linear_models.rows import WEIGHT, walk
from discreet.mechanisms.gaussian import NARROWEST, discrete_loss
from discreet.noise.selection import ExponentialChoice

STEPS = 10
"""How many choices are made where nobody says."""

_FARTHEST, _WIDEST, _DIGITS = 64, 1 << 18, 12


@frozen
class FrankWolfe(LinkedLearner):
    """Fit a linear model with few weights to bounded rows of very many columns.

    Privacy: (epsilon, delta). Each step looks at whole-number gradients once, by the exponential mechanism:
    a row moves the gradient of every column by at most what was declared. Costs of choices add up.
    Accuracy: no theorem about rows to come; noise grows with the logarithm of the number of columns alone.
    Time: O(steps rows size).

    Parameters
    ----------
    link
        What the linear score foretells.
    size
        How many columns there are, with the constant.
    reach
        What the absolute weights add up to at most.
    steps
        How many choices are made. No more columns than that have a weight.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    most
        The largest count, for the Poisson link.
    cut
        Where residuals are cut off, in the units of the target, as in `NoisyNewton`.
    resolution
        Rows come in whole numbers of 1 / resolution.
    judged
        Whether the weights are judged at the end. Only audits want that out.

    Notes
    -----
    Data are a pair (rows, targets) of whole-number arrays, as of `NoisyNewton`. A row may be as long as it
    likes: only numbers above one are not let in.

    Examples
    --------
    >>> learner = FrankWolfe(
    ...     link=Link.LOGISTIC, size=10_000, reach=4, epsilon=1, delta=1e-9, neighbours=AddRemove("person")
    ... )
    >>> learner.guarantee.implies(epsilon=1, delta=1e-9)
    True
    """

    reach: Exact = public(checks.positive)
    steps: int = public(checks.integer, 1, default=STEPS)
    choice: ExponentialChoice = derived()
    noise: Noisy = derived()

    def _complete(self) -> None:
        if self.delta == 0:
            raise InvalidParameter(
                name="delta", rule="> 0 for many choices", value=self.delta, hint="Pass delta=1e-9, say"
            )
        if self.size > _WIDEST:
            raise InvalidParameter(name="size", rule=f"at most {_WIDEST} columns", value=self.size)
        if not Fraction(1, PARTS) <= self.reach <= _FARTHEST:
            raise InvalidParameter(name="reach", rule=f"from 1 / {PARTS} to {_FARTHEST}", value=self.reach)
        LinkedLearner._complete(self)  # noqa: SLF001 - its own base
        rho = zcdp_rho(epsilon=self.epsilon, delta=self.delta)
        spread = self._spread()
        range_ = range_within(rho * (1 - self.judged * JUDGED) / self.steps)
        self._set(choice=ExponentialChoice(shorten_down(range_ / spread, _DIGITS), Fraction(spread)))
        square = 2 * self.tables.worst**2  # how badly all are foretold, and how many count
        least = Fraction(square) / (2 * rho * JUDGED)
        self._set(noise=Noisy(square, max(NARROWEST, shorten_up(least, _DIGITS)), 1))

    def _spread(self) -> int:
        """Return how far one row moves the difference of two scores: of a column and of its negative."""
        pull = self.tables.pull * self.resolution
        return count_moves(self.neighbours, same=2 * pull, apart=4 * pull)

    @property
    def loss(self) -> Loss:
        """All choices, and the noise of judging them, together."""
        choices = BoundedRangeLoss(self.choice.rate * self.choice.sensitivity), self.steps
        judging = discrete_loss(Fraction(self.noise.square), self.noise.variance), 1
        return Composed((choices, judging) if self.judged else (choices,))

    def _draw(self, data: Any, rng: Rng) -> LinearScores:
        rows, targets = self._read(data)
        tables, weights = self.tables, np.zeros(self.size)
        turns = np.zeros(self.size, dtype=np.int64)
        for place in range(self.steps):
            pulls = np.zeros(self.size, dtype=np.int64)
            for part, wanted, scores in walk(rows, targets, weights, self.resolution):
                pulls += (tables.pulls(scores, wanted) @ part).astype(np.int64)
            chosen = rng.perform(self.choice, np.concatenate([pulls, -pulls]))
            turns[chosen % self.size] += 1 if chosen < self.size else -1
            weights = self._weigh(turns, place + 1)
        return self._tell(weights, self._judge(rows, targets, weights, iter([self.noise]), rng))

    def _weigh(self, turns: Integers, count: int) -> Floats:
        """Return the weights after `count` choices, in whole parts: a corner of the ball for each, averaged.

        One more part of the average is where the walk began, at no weight at all.
        """
        each = float(self.reach) / (count + 1) * WEIGHT
        return np.asarray(np.trunc(turns * each) / WEIGHT)


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {"delta": Fraction(1, 10**6), "resolution": 1, "judged": False, "reach": 1}
    rows = [(1, PARTS), (1, -PARTS), (-1, PARTS), (1, 0)]
    for neighbours in (AddRemove("row"), Replace("row")):
        one = FrankWolfe(link=Link.LINEAR, size=1, steps=1, epsilon=12, neighbours=neighbours, **plain)
        yield Tiny(one, list_pairs(neighbours, rows, 2))
        two = FrankWolfe(link=Link.LINEAR, size=1, steps=2, epsilon=12, neighbours=neighbours, **plain)
        yield Tiny(two, list_pairs(neighbours, rows, 2), tight=False)


def _example() -> tuple[FrankWolfe, Any]:
    mechanism = FrankWolfe(
        link=Link.LOGISTIC,
        size=40,
        reach=4,
        steps=4,
        epsilon=1,
        delta=1e-9,
        neighbours=AddRemove("person"),
    )
    place = np.arange(300)[:, None]
    rows = (place * np.arange(1, 41)) % 1024
    return mechanism, (rows, (place[:, 0] % 3 > 0) * PARTS)


CARD = Card(
    title="Sparse linear models by private Frank-Wolfe steps",
    theorem="(epsilon, delta)-differential privacy of all choices together, by the sum of bounded ranges",
    reference="[TTZ15]",
    example=_example,
    tiny=_tiny,
)
