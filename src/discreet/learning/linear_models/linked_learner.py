"""What learners of linear models with a link share: parameters, which rows count, how they are judged."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.learning.budgets import FINEST, Measurement, Noisy, add_up, spread_budget
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.links import PARTS, Link, Tables, choose_cut, make_tables
from discreet.learning.linear_models.rows import Judged, judge, keep_known, keep_short, read_rows
from discreet.query_release.base import require_rows

JUDGED = Fraction(1, 20)
"""The part of the budget for how well the weights do."""

WIDEST = 1 << 12
"""How many columns are taken at most, where all of them are measured."""


@frozen
class LinkedLearner(Mechanism[Any, LinearScores]):
    """Public parameters of every learner of a linear model with a link."""

    link: Link = public(checks.instance, Link)
    size: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(require_rows)
    most: Exact = public(checks.positive, default=1)
    cut: Public[checks.Number | None, Fraction] = public(checks.positive, default=None)
    resolution: int = public(checks.integer, 1, FINEST, default=1024)
    judged: bool = public(checks.exactly, bool, default=True)
    _way_out: ClassVar[str] = "Read judged of the released model"

    def _complete(self) -> None:
        # Below the least, no count but 0 would be a whole part.
        if not Fraction(1, PARTS) <= self.most <= 1 << 20:
            raise InvalidParameter(
                name="most", rule=f"from 1 / {PARTS} to 2**20", value=self.most, hint="Count in other units"
            )
        if self.link is not Link.POISSON and self.most != 1:
            raise InvalidParameter(name="most", rule="left out but for counts", value=self.most)
        self._set(cut=choose_cut(self.link, self.cut, self.most))
        if not self.cut >= Fraction(1, PARTS):
            raise InvalidParameter(name="cut", rule=f"at least 1 / {PARTS}", value=self.cut)

    @property
    def tables(self) -> Tables:
        """What a row adds at each score; public."""
        return make_tables(self.link, self.cut, self.most, self.resolution)

    def error(self, beta: checks.Number) -> float:
        """Refuse: nothing is proved about the rows to come.

        Raises
        ------
        NoBound
            Always.
        """
        checks.probability(beta=beta)
        raise NoBound(
            what="the error of a fitted model",
            why="it depends on what the columns say of the target",
            way_out=self._way_out,
        )

    def _read(self, data: Any) -> tuple[Array, Integers]:
        """Return the rows that count, and their targets."""
        return keep_known(
            *read_rows(data, self.size), link=self.link, most=self.most, resolution=self.resolution
        )

    def _judge(
        self, rows: Array, targets: Integers, weights: Floats, spare: Iterator[Noisy], rng: Rng
    ) -> Judged:
        """Measure how well weights do, by the next noise; nothing is known where that is left out."""
        if not self.judged:
            return Judged(1.0, math.inf, 0.0)
        return judge(
            rows, targets, weights, tables=self.tables, resolution=self.resolution, noise=next(spare), rng=rng
        )

    def _tell(self, weights: Floats, judged: Judged, **known: Any) -> LinearScores:
        """Return the model of some weights; of what is not said here nothing is known."""
        unknown: dict[str, Any] = {"covariance": (), "leaks": (), "settled": False}
        return LinearScores(
            link=self.link,
            weights=tuple(weights.tolist()),
            judged=judged.mean,
            judged_deviation=judged.deviation,
            most=float(self.most),
            **unknown | known,
        )


@frozen
class MeasuredLearner(LinkedLearner):
    """Public parameters of a learner that measures sums of all columns, of rows whose length is declared."""

    length: int = public(checks.integer, 1)
    noises: tuple[Noisy, ...] = derived()

    def _complete(self) -> None:
        if self.length > self.size:
            raise InvalidParameter(
                name="length", rule="at most size: no number is above one", value=self.length
            )
        if self.size > WIDEST or self.resolution**2 * self.length > 1 << 32:
            raise InvalidParameter(
                name="size", rule=f"at most {WIDEST} columns of fine numbers", value=self.size
            )
        LinkedLearner._complete(self)  # noqa: SLF001 - its own base
        self._set(noises=spread_budget(self._measurements(), self.epsilon, self.delta))

    @abstractmethod
    def _measurements(self) -> tuple[Measurement, ...]:
        """Return what is measured, in this order, and the part of the budget that each takes."""

    @property
    def loss(self) -> Loss:
        """All measurements together."""
        return add_up(self.noises)

    def _read(self, data: Any) -> tuple[Array, Integers]:
        """Return the rows that count, and their targets."""
        kept, wanted = LinkedLearner._read(self, data)  # noqa: SLF001 - its own base
        return keep_short(kept, wanted, length=self.length, resolution=self.resolution)


def list_pairs(neighbours: Neighbours, rows: list[tuple[int, int]], size: int) -> list[tuple[Any, Any]]:
    """Return all neighbouring tables of one column with at most `size` rows, for audits."""
    return [(_stack(left), _stack(right)) for left, right in neighbours.pairs(rows, size)]


def list_example() -> tuple[Integers, Integers]:
    """Return a table of a constant and one column, with targets of 0 and 1, for cards."""
    place = np.arange(300)
    rows = np.stack([np.full(300, 1024), (place * 37) % 1024], axis=1)
    return rows, (place % 3 > 0) * PARTS


def _stack(rows: Any) -> tuple[Integers, Integers]:
    numbers = np.array([number for number, _ in rows], dtype=np.int64).reshape(len(rows), 1)
    return numbers, np.array([target for _, target in rows], dtype=np.int64)
