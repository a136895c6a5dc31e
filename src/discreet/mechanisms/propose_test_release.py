"""Propose-test-release: noise for the local sensitivity, once a private test has found it small."""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import ApproxLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.grid import LIMIT, Bounds, Grid, evaluate_finite
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.mechanisms.reading import is_column, make_plain, type_name
from discreet.noise import DiscreteLaplace, NoisyComparison

_MARGIN = Fraction(1, 1 << 99)  # tails are known to 2**-100; comparisons stay on the safe side of that
_HALF = Fraction(1, 2)
_FARTHEST = LIMIT // 2


@frozen
class ProposeTestRelease(Mechanism[Any, "float | int | None"]):
    """Release a number whose sensitivity is small near the data, or answer None: no reply.

    Privacy: (epsilon_test + epsilon_release, delta), reply or not. [DL09], with an exact threshold.
    Accuracy: a reply misses by more than error(beta) with probability at most beta; data further than
    needed_distance(beta) from instability get a reply with probability at least 1 - beta.
    Time: that of `distance` and `value`.

    Parameters
    ----------
    bound
        The proposed bound on the local sensitivity of `value`.
    epsilon_test, epsilon_release, delta
        The budgets of the test and of the reply, and the probability of a reply where the bound is wrong.
    distance
        Data -> how many changes away the nearest data with a larger local sensitivity are (0: the data
        themselves). One change must move it by at most one.
    value
        Data -> the number. Exceptions and numbers that are not finite count as 0 in both functions.
    grid
        The unit the number is rounded to: 1 for a count.
    neighbours
        The change that `distance` and the local sensitivity are about.
    """

    bound: Exact = public(checks.positive)
    epsilon_test: Exact = public(checks.positive)
    epsilon_release: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    distance: Callable[[Any], Any] = public(checks.function, "the data")
    value: Callable[[Any], Any] = public(checks.function, "the data")
    grid: Exact = public(checks.positive)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    _budget: ClassVar[str] = "epsilon_release"  # only the reply has an error; what the test costs is given

    def _complete(self) -> None:
        if self.delta <= _MARGIN:
            raise InvalidParameter(name="delta", rule="> 2**-99", value=self.delta)

    @classmethod
    def split_evenly(cls, epsilon: checks.Number, **public: Any) -> Self:
        """Return the mechanism for a budget, half for the test and half for the reply."""
        half = checks.positive(epsilon=epsilon) / 2
        return cls(epsilon_test=half, epsilon_release=half, **public)

    @classmethod
    def median(
        cls,
        *,
        bound: checks.Number,
        lower: checks.Number,
        upper: checks.Number,
        grid: checks.Number,
        **public: Any,
    ) -> Self:
        """Return the mechanism for the median of numbers in [lower, upper], rounded to the grid.

        The number of rows is public: neighbours are `Replace`. Numbers outside are clamped, NaN counts
        as 0 and then so. The lower median is meant where the number of rows is even.
        """
        neighbours = public.get("neighbours")
        if isinstance(neighbours, Neighbours) and not isinstance(neighbours, Replace):
            raise NeighboursMismatch(
                f"the distance of the median is computed for Replace, not for {neighbours}. "
                f"Pass neighbours=Replace(...), where the number of rows is public, or use SubsampleAggregate"
            )
        bounds = Bounds(
            unit=checks.positive(grid=grid), lower=checks.exact(lower=lower), upper=checks.exact(upper=upper)
        )
        units = math.floor(checks.positive(bound=bound) / bounds.unit)
        value, distance = StableMedian(bounds), MedianDistance(bounds, units)
        return cls(bound=bound, distance=distance, value=value, grid=grid, **public)

    @property
    def shift(self) -> int:
        """The proposed bound in units of the grid."""
        return Grid(self.grid).shift(self.bound, 1)

    @property
    def test_noise(self) -> DiscreteLaplace:
        """The noise on the distance."""
        return DiscreteLaplace(laplace_scale(1, self.epsilon_test))

    @property
    def reply_noise(self) -> DiscreteLaplace:
        """The noise on the reply, in units of the grid."""
        return DiscreteLaplace(laplace_scale(self.shift, self.epsilon_release))

    @property
    def threshold(self) -> int:
        """The smallest noisy distance that gets a reply: distance 0 reaches it with probability <= delta."""
        noise = self.test_noise
        return noise.reach(2 * (self.delta - _MARGIN)) + 1 if self.delta < _HALF else 1

    @property
    def loss(self) -> Loss:
        """Both budgets and the delta."""
        test, reply = 1 / self.test_noise.scale, self.shift / self.reply_noise.scale
        return ApproxLoss(test + reply, self.delta)

    def error(self, beta: checks.Number) -> float:
        """Return what a reply misses by, but for a probability beta. No reply is no error.

        A median, a trimmed mean or an interquartile range is that of the rows clamped to the declared bounds;
        what rounding these rows moves it by is paid for.
        """
        grid = Grid(self.grid)
        rounding = self.value.rounding if isinstance(self.value, OfRows) else grid.rounding
        return up(self.reply_noise.reach(beta) * grid.step + rounding)

    def needed_distance(self, beta: checks.Number) -> int:
        """Return a distance from which a reply comes with probability at least 1 - beta."""
        return self.threshold + self.test_noise.reach(beta)

    def _draw(self, data: Any, rng: Rng) -> float | int | None:
        if isinstance(self.value, OfRows):
            _require_rows(data)  # or what is no table would be one without a reply, and charged
        steps = min(Fraction(LIMIT), max(Fraction(0), evaluate_finite(self.distance, data, Fraction(0))))
        test = NoisyComparison(self.test_noise, sensitivity=Fraction(1))
        if not rng.perform(test, (math.floor(steps), self.threshold)):
            return None
        grid = Grid(self.grid)
        units = grid.to_units(evaluate_finite(self.value, data, Fraction(0)), 1)
        noisy = rng.perform(laplace_step(self.shift, self.epsilon_release), units)
        reply: float | int = grid.from_units(noisy)
        return reply


def read_sorted(data: Sequence[Any], bounds: Bounds) -> list[int]:
    """Return the rows in units, clamped and sorted."""
    units = Grid(bounds.unit).to_units(_read_rows(make_plain(data)), len(data))
    within: list[int] = np.sort(bounds.clamp(np.atleast_1d(units))).tolist()
    return within


def _require_rows(data: Any) -> None:
    rows = make_plain(data)
    if type(rows) is np.ndarray:
        known = rows.ndim == 1 and rows.dtype.kind in "biufO"
    else:
        known = type(rows) in (list, tuple, range) or is_column(rows)
    if not known:
        raise InvalidParameter(
            name="data", rule="a list, tuple, array or column of numbers", got=f"type {type_name(data)}"
        )


def _read_rows(rows: Any) -> NDArray[Any] | list[Any]:
    """Return what a grid reads exactly, each row on its own: one that is no number spoils no other."""
    if type(rows) is np.ndarray and rows.dtype.kind in "biuf":
        return rows.astype(np.int64) if rows.dtype.kind == "b" else rows
    listed = list(rows)
    # Floats alone may share an array: next to them whole numbers beyond 2^53 would be rounded.
    return np.array(listed, dtype=np.float64) if all(type(row) is float for row in listed) else listed


@dataclass(frozen=True, slots=True)
class OfRows(ABC):
    """A number that rows decide once they are rounded to a grid and clamped.

    Attributes
    ----------
    bounds
        The range of a row.
    """

    bounds: Bounds

    def __post_init__(self) -> None:
        low, high = self.bounds.ends
        if max(-low, high) > _FARTHEST:  # the difference of two rows must fit 64 bits
            raise InvalidParameter(
                name="grid",
                rule="such that lower and upper are within 2^61 multiples of it",
                value=self.bounds.unit,
                hint="Take a coarser grid, or narrower bounds",
            )

    @property
    def rounding(self) -> Fraction:
        """How far the number, rounded as well, is from that of the rows before: here it is one of them."""
        return self.bounds.rounding

    @abstractmethod
    def __call__(self, data: Sequence[Any]) -> Fraction:
        """Return the number."""


@dataclass(frozen=True, slots=True)
class StableMedian(OfRows):
    """The lower median on the grid; the lower bound where there are no rows."""

    def __call__(self, data: Sequence[Any]) -> Fraction:
        """Return the median."""
        rows = read_sorted(data, self.bounds)
        middle = rows[(len(rows) + 1) // 2 - 1] if rows else self.bounds.ends[0]
        return middle * self.bounds.unit


@dataclass(frozen=True, slots=True)
class MedianDistance:
    """How many rows must change until one further change can move the median by more than `bound` units.

    After k changes and one more the median can have jumped across any k + 2 neighbours in the sorted
    order around it: from x[m + t - k - 1] to x[m + t], 0 <= t <= k + 1 [NRS07], where the bounds stand for
    the missing rows at both ends. The distance is the smallest such k with a jump above the bound.
    """

    bounds: Bounds
    bound: int

    def __call__(self, data: Sequence[Any]) -> int:
        """Return the distance; the number of rows and one more where no data are unstable."""
        rows, (low, high) = read_sorted(data, self.bounds), self.bounds.ends
        n = len(rows)
        middle = (n + 1) // 2
        padded = np.array([low] * (n + 2) + rows + [high] * (n + 2), dtype=np.int64)
        centre = n + 1 + middle  # where the median stands in `padded`

        def unstable(k: int) -> bool:
            tops, bottoms = padded[centre : centre + k + 2], padded[centre - k - 1 : centre + 1]
            return int(np.max(tops - bottoms)) > self.bound

        return bisect.bisect_left(range(n + 1), True, key=unstable)  # more changes, wider jumps


def _tiny() -> Iterator[Tiny]:
    row, paid = Replace("row"), {"epsilon_test": 2, "epsilon_release": 2, "delta": 0.01}
    for grid, rows in ((1, (0, 1, 2, 3)), (0.5, (0.2, 0.74, 0.76, 1.7))):
        mechanism = ProposeTestRelease.median(
            bound=1, lower=0, upper=rows[-1], grid=grid, neighbours=row, **paid
        )
        yield Tiny(mechanism, list(row.pairs(rows, 3)), tight=False)


CARD = Card(
    title="Propose-test-release, with the median",
    theorem="(epsilon_test + epsilon_release, delta)-differential privacy, reply or not",
    reference="[DL09]; [NRS07] for the median",
    example=lambda: (
        ProposeTestRelease.median(
            bound=2,
            lower=0,
            upper=100,
            grid=1,
            epsilon_test=1,
            epsilon_release=1,
            delta=1e-6,
            neighbours=Replace("person"),
        ),
        tuple(range(30, 70)) * 20,
    ),
    tiny=_tiny,
)
