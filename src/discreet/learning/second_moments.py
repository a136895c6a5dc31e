"""Second moments of bounded rows: what every linear model needs, measured once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Floats
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.learning.budgets import (
    FINEST,
    Measurement,
    Noisy,
    add_up,
    count_moves,
    spread_budget,
)
from discreet.learning.moments import Moments
from discreet.noise import DiscreteGaussian
from discreet.query_release.base import require_rows

_CHUNK = 1 << 16  # rows whose products are added up at a time


@frozen
class SecondMoments(Mechanism[Any, Moments]):
    """Release the sums of the products of all pairs of columns, for linear models with standard errors.

    Privacy: (epsilon, delta), Gaussian noise of one law on whole-number sums. With S the squared length of a
    row, the squares of its products for i <= j add up to (S^2 + sum z_i^4) / 2.
    Accuracy: error(beta) bounds the largest error of all sums at once, but for a probability beta.
    Time: O(rows size^2).

    Parameters
    ----------
    size
        How many columns there are.
    length
        The largest squared length of a row, in squares of one.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    resolution
        Rows come in whole numbers of 1 / resolution.

    Notes
    -----
    Data are a whole-number array, a row for each row of the table. A row with a number above one, or longer
    than was declared, counts nowhere.

    Examples
    --------
    >>> linear = SecondMoments(size=3, length=3, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    >>> round(linear.error(0.05), 1)
    35.4
    """

    size: int = public(checks.integer, 1)
    length: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(require_rows)
    resolution: int = public(checks.integer, 1, FINEST, default=1024)
    noise: Noisy = derived()

    def _complete(self) -> None:
        if self.length > self.size:
            raise InvalidParameter(
                name="length", rule="at most size: no number is above one", value=self.length
            )
        # Of fourth powers at most one a square of length.
        square = self.resolution**4 * self.length * (self.length + 1) // 2
        # The products of two rows are never at an obtuse angle: a replaced row costs twice, not four times.
        moves = count_moves(self.neighbours, same=square, apart=2 * square)
        (noise,) = spread_budget((Measurement(moves, Fraction(1)),), self.epsilon, self.delta)
        self._set(noise=noise)

    @property
    def loss(self) -> Loss:
        """The curve of the noise."""
        return add_up((self.noise,))

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of all sums, in the units of the columns, but for a probability beta."""
        sums = self.size * (self.size + 1) // 2
        reach = DiscreteGaussian(self.noise.variance).reach(each_of(sums, beta))
        return up(Fraction(reach) / self.resolution**2)

    def _draw(self, data: Any, rng: Rng) -> Moments:
        sums = np.zeros((self.size, self.size), dtype=np.int64)
        for rows in self._read(data):
            sums += (rows.T @ rows).astype(np.int64)  # whole numbers below 2**40: exact in any order
        noisy = rng.perform(self.noise.step, sums[np.triu_indices(self.size)])
        upper = tuple(np.asarray(noisy).tolist())
        return Moments(self.size, upper, self.resolution, self.noise.deviation)

    def _read(self, data: Any) -> Iterator[Floats]:
        """Yield the rows that count, some at a time."""
        whole = type(data) is np.ndarray and data.dtype.kind in "iu" and data.ndim == 2
        if not whole or data.shape[1] != self.size:
            raise InvalidParameter(
                name="data",
                rule=f"a whole-number array of rows of {self.size} numbers",
                got="something else",
                hint="discreet.learning.RidgeRegressor reads frames and arrays by declared columns",
            )
        return (self._keep(data[start : start + _CHUNK]) for start in range(0, len(data), _CHUNK))

    def _keep(self, rows: Array) -> Floats:
        inside = ((rows >= -self.resolution) & (rows <= self.resolution)).all(axis=1)
        small = rows[inside].astype(np.int64)
        kept: Array = small[(small * small).sum(axis=1) <= self.length * self.resolution**2]
        return kept.astype(np.float64)


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {"delta": Fraction(1, 100), "resolution": 1, "epsilon": 3}
    for neighbours in (AddRemove("row"), Replace("row")):
        one = SecondMoments(size=1, length=1, neighbours=neighbours, **plain)
        pairs = [(_stack(a), _stack(b)) for a, b in neighbours.pairs((-1, 0, 1, 5), 2)]
        # Squares of one column are at no right angle either: there two rows are nearer than the bound says.
        yield Tiny(one, pairs, tight=isinstance(neighbours, AddRemove))


def _stack(rows: Any) -> Array:
    return np.array(rows, dtype=np.int64).reshape(len(rows), 1)


def _example() -> tuple[SecondMoments, Any]:
    mechanism = SecondMoments(size=3, length=3, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    place = np.arange(300)
    return mechanism, np.stack([np.full(300, 1024), place, 900 - 2 * place], axis=1)


CARD = Card(
    title="Second moments of bounded rows, for linear models",
    theorem="(epsilon, delta)-differential privacy; error the exact quantile of the largest noise",
    reference="[Wan18]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
