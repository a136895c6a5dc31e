"""Propose-test-release for a line: the median slope over pairs of rows, of which one row changes one.

Who is paired with whom is drawn at random, so neither the order in which rows are kept nor a row that decides
where others stand (rows that are sorted, say) matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.learning.declared import read_numbers
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.reading import make_plain
from discreet.optimisation.common.orders import UniformOrder


@frozen
class StableSlope(Mechanism[Any, "float | None"]):
    """Release the slope of a line through rows (x, y) where no row decides it, or answer None: no reply.

    Privacy: (epsilon_test + epsilon_release, delta), reply or not: one row changes the slope of one pair.
    Accuracy: a reply misses the median slope of the pairs by more than error(beta) with probability at most
    beta. Nearly half of the pairs may be anything at all before that is more than a slope of the others.
    Time: O(rows log rows).

    Parameters
    ----------
    bound
        The proposed bound on how far one row moves the median.
    lower, upper, grid
        Slopes are rounded to the grid, those outside count as the nearest bound.
    epsilon_test, epsilon_release, delta
        The budgets of the test and of the reply, and the probability of a reply where the bound is wrong.
    neighbours
        `Replace`: the number of rows is public.

    Examples
    --------
    >>> slope = StableSlope(
    ...     bound=0.02, lower=-10, upper=10, grid=0.01, neighbours=Replace("person"),
    ...     epsilon_test=0.5, epsilon_release=0.5, delta=1e-6
    ... )
    >>> rows = [(age % 60, 2 * (age % 60) + age % 7) for age in range(6000)]
    >>> abs(slope.release(rows).value - 2) < 1
    True
    """

    bound: Exact = public(checks.positive)
    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    grid: Exact = public(checks.positive)
    epsilon_test: Exact = public(checks.positive)
    epsilon_release: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    median: ProposeTestRelease = derived()
    _budget: ClassVar[str] = "epsilon_release"

    def _complete(self) -> None:
        self._set(
            median=ProposeTestRelease.median(
                bound=self.bound,
                lower=self.lower,
                upper=self.upper,
                grid=self.grid,
                epsilon_test=self.epsilon_test,
                epsilon_release=self.epsilon_release,
                delta=self.delta,
                neighbours=self.neighbours,
            )
        )

    @property
    def loss(self) -> Loss:
        """That of the median of the slopes: one row changes one of them, whoever is paired with whom."""
        return self.median.loss

    def error(self, beta: checks.Number) -> float:
        """Return what a reply misses the median slope by, but for beta. No reply is no error."""
        return self.median.error(beta)

    def needed_distance(self, beta: checks.Number) -> int:
        """Return how many slopes must change until one row decides, for a reply with probability 1 - beta."""
        return self.median.needed_distance(beta)

    def _draw(self, data: Any, rng: Rng) -> float | None:
        points = read_points(data)
        order = np.array(rng.perform(UniformOrder(), len(points)), dtype=np.int64)
        slopes = list_slopes(points[order], float(self.lower), float(self.upper))
        reply: float | None = self.median.release(slopes, rng=rng).value
        return reply


def list_slopes(points: Floats, low: float, high: float) -> Floats:
    """Return the slope of each pair, a point of the first half and one of the second, within the bounds.

    Pairs that stand above each other, or with what is no point, have no slope. They count as the lower and as
    the upper bound in turns, so that they draw the median to neither side.
    """
    half = len(points) // 2
    with np.errstate(all="ignore"):  # a warning would tell of a row
        move = points[half : 2 * half] - points[:half]
        slopes = move[:, 1] / move[:, 0]
    wall = np.where(np.arange(half) % 2 == 0, low, high)
    known = np.isfinite(move).all(axis=1) & (move[:, 0] != 0)
    return np.clip(np.where(known, slopes, wall), low, high)


def read_points(data: Any) -> Floats:
    """Return rows as points, each read on its own; NaN in the place of what is none."""
    rows = data.to_numpy() if hasattr(data, "to_numpy") else make_plain(data)
    if type(rows) is np.ndarray and rows.ndim == 2 and rows.shape[1] == 2:
        listed = rows
    elif isinstance(rows, list | tuple):
        listed = np.empty((len(rows), 2), dtype=object)
        for place, row in enumerate(rows):
            listed[place] = _read_point(row)
    else:
        raise InvalidParameter(
            name="data",
            rule="rows of two numbers: a list of pairs, an array or a frame",
            got="something else",
        )
    return np.column_stack([read_numbers(listed[:, 0]), read_numbers(listed[:, 1])])


def _read_point(row: Any) -> Array:
    # No row is asked for its shape, or made an array: what that raises or warns of would be about the row.
    point, kind = np.full(2, np.nan, dtype=object), type(row)
    if issubclass(kind, list | tuple):
        both = make_plain(row)
    else:
        both = row if kind is np.ndarray and row.shape == (2,) else ()
    if len(both) == 2:
        point[0], point[1] = both[0], both[1]
    return point


def _tiny() -> Iterator[Tiny]:
    row = Replace("row")
    # Of two rows there is one pair, whose slope any row may move as far as was proposed.
    mechanism = StableSlope(
        bound=4,
        lower=-2,
        upper=2,
        grid=1,
        epsilon_test=2,
        epsilon_release=2,
        delta=0.4,
        neighbours=row,
    )
    yield Tiny(mechanism, list(row.pairs(((0, 0), (1, 2), "x"), 2)), tight=False)


def _example() -> tuple[StableSlope, Any]:
    mechanism = StableSlope(
        bound=0.1,
        lower=-10,
        upper=10,
        grid=0.01,
        epsilon_test=1,
        epsilon_release=1,
        delta=1e-6,
        neighbours=Replace("person"),
    )
    return mechanism, tuple((age % 60, 2 * (age % 60) + age % 7) for age in range(1200))


CARD = Card(
    title="Propose-test-release for the slope of a line",
    theorem="(epsilon_test + epsilon_release, delta)-differential privacy, reply or not",
    reference="[DL09]; [AMSSV22] for pairs of rows",
    example=_example,
    tiny=_tiny,
)
