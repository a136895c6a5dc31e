"""Subsample-and-aggregate: any function, on blocks of rows, averaged privately."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import up
from discreet.mechanisms.grid import Bounds, evaluate_finite
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.mechanisms.reading import is_column, make_plain
from discreet.noise import DiscreteLaplace, coins


@dataclass(frozen=True, slots=True)
class Partition(Primitive[int, "tuple[int, ...]"]):
    """Give each of a number of rows a block, independently and uniformly.

    It meets no data but the number of rows, and a row that is added or removed leaves the others where
    they are.
    """

    blocks: int

    @property
    def sensitivity(self) -> Fraction:
        """One row."""
        return Fraction(1)

    def sample(self, value: int, rng: Rng) -> tuple[int, ...]:
        """Draw a block for every row."""
        return tuple(coins.uniform_below(self.blocks, value, rng).tolist())

    def law(self, value: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield every assignment of rows to blocks."""
        each = Fraction(1, self.blocks**value)
        yield from ((drawn, each) for drawn in itertools.product(range(self.blocks), repeat=value))

    def distance(self, value: int, other: int) -> Fraction:
        """Return the difference in the number of rows."""
        return Fraction(abs(value - other))


@frozen
class SubsampleAggregate(Mechanism[Any, Any]):
    """Evaluate a function on random blocks of rows and release the mean of its clamped results.

    Privacy: (epsilon, 0), whatever the function does: a row is in one block. After [NRS07].
    Accuracy: error(beta) is the exact quantile of the noise, plus the grid's rounding, against the mean of
    the blocks' clamped results. How far that is from the function of all rows is the function's affair.
    Time: `blocks` calls of the function.

    Parameters
    ----------
    function
        Rows -> a number. It sees an array where the data are an array, else a tuple, with copies of rows that
        could be changed. What is missing from a column of whole numbers, or masked, is 0 there.
    blocks
        How many blocks. More blocks mean less noise and fewer rows for the function.
    lower, upper
        Declared bounds; the results of the blocks are clamped to them.
    otherwise
        The result of a block that is empty, or where the function raises or returns anything but a
        finite number. By default the middle of the bounds.
    epsilon
        The budget of one release.
    grid
        The unit the blocks' results are rounded to.
    neighbours
        `AddRemove` or `Replace`.
    """

    function: Callable[[Any], Any] = public(checks.function, "the rows")
    blocks: int = public(checks.integer, 1)
    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    otherwise: Public[checks.Number | None, Fraction] = public(checks.exact, default=None)
    epsilon: Exact = public(checks.positive)
    grid: Exact = public(checks.positive)
    neighbours: Neighbours = public(checks.instance, Neighbours)

    def _complete(self) -> None:
        _ = self.bounds  # refuses bounds with nothing between them
        middle: Fraction | None = self.otherwise
        self._set(otherwise=(self.lower + self.upper) / 2 if middle is None else middle)
        if not self.lower <= self.otherwise <= self.upper:
            raise InvalidParameter(name="otherwise", rule="between lower and upper", value=self.otherwise)
        if not isinstance(self.neighbours, AddRemove | Replace):
            raise NeighboursMismatch(f"blocks of rows need AddRemove or Replace, not {self.neighbours}")

    @property
    def bounds(self) -> Bounds:
        """The range of one block's result on the grid."""
        return Bounds(self.grid, self.lower, self.upper)

    @property
    def width(self) -> int:
        """How many units one block's result, and so the sum of all, can move."""
        return self.bounds.width

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the sum of the blocks' results, in units of the grid."""
        return DiscreteLaplace(laplace_scale(self.width, self.epsilon))

    @property
    def loss(self) -> Loss:
        """The exact curve of the noise for a sum that moves by the whole width."""
        return DiscreteLaplaceLoss(self.width, self.noise.scale)

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the noise on the mean, plus the rounding.

        Bounds that are no multiples of the grid are rounded inwards, which is paid for where it moves a
        result further than rounding to the grid does.
        """
        return up(self.noise.reach(beta) * self.grid / self.blocks + self.bounds.rounding)

    def _draw(self, data: Any, rng: Rng) -> Any:
        numbers = make_plain(data)
        rows = make_plain(numbers.to_numpy()) if is_column(numbers) else numbers
        if type(rows) not in (np.ndarray, list, tuple):
            raise InvalidParameter(
                name="data",
                rule="a column, array, list or tuple of rows",
                got=f"type {type(data).__name__}",
                hint="Of a data frame, pass frame.to_numpy()",
            )
        assigned = rng.perform(Partition(self.blocks), len(rows))
        results = sum(self._result(block) for block in _split(rows, assigned, self.blocks))
        noisy = rng.perform(laplace_step(self.width, self.epsilon), results)
        return float(int(noisy) * self.grid / self.blocks)

    def _result(self, rows: Sequence[Any] | NDArray[Any]) -> int:
        return self.bounds.to_units(
            evaluate_finite(self.function, rows, self.otherwise) if len(rows) else self.otherwise
        )


def _split(data: Any, assigned: Sequence[int], blocks: int) -> Iterator[Any]:
    """Yield the rows of every block, in their order."""
    if type(data) is np.ndarray:
        places = np.asarray(assigned, dtype=np.int64)
        yield from (data[places == block] for block in range(blocks))
        return
    members: list[list[Any]] = [[] for _ in range(blocks)]
    for row, block in zip(data, assigned, strict=True):
        members[block].append(row)
    yield from (tuple(rows) for rows in members)


def _tiny() -> Iterator[Tiny]:
    row = Replace("row")
    for upper, grid, pairs in ((2, 1, row.pairs((0, 1, 2), 3)), (1.3, 0.5, row.pairs((0.2, 0.7, 1.3), 2))):
        mechanism = SubsampleAggregate(
            function=max, blocks=2, lower=0, upper=upper, epsilon=4, grid=grid, neighbours=row
        )
        yield Tiny(mechanism, list(pairs))


CARD = Card(
    title="Subsample-and-aggregate with a clamped mean",
    theorem="(epsilon, 0)-differential privacy for the mean of any function over random blocks",
    reference="[NRS07]",
    example=lambda: (
        SubsampleAggregate(
            function=max, blocks=10, lower=0, upper=100, epsilon=1, grid=1, neighbours=AddRemove("person")
        ),
        tuple(range(100)) * 3,
    ),
    tiny=_tiny,
)
