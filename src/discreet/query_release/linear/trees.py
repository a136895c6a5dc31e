"""Trees over an ordered attribute: counts of nested intervals, and the best estimate from all of them.

Level 0 is the root, the last level are the values themselves. The counts of level l are multiplied by a whole
number m_l before noise of one law is added, so m_l^2 is the precision of the level; 0 leaves it out.

Estimates go up and down the tree once, as least squares do on a tree. *Up*: a node's own measurement and the
sum of its children's estimates are averaged by precision; the result has variance zeta_l, with

    1 / zeta_l = m_l^2 + 1 / (B_l zeta_{l+1})        (B_l children; zeta of the leaves is 1 / m^2).

*Down*: what a node's final estimate differs from the sum of its children's is shared out among them equally.
Within a family the differences from the mean are independent of everything above, so the variance of an
interval is a sum over levels; see `CountTree.range_square`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import scipy

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.mechanisms.grid import LIMIT

FINENESS = 64
"""How finely multipliers are rounded: the smallest is this large, before common factors are taken out."""
_NEGLIGIBLE = 0.05  # a level this much less precise than the best is left out


@dataclass(frozen=True, slots=True)
class CountTree:
    """A tree over `size` ordered values.

    Attributes
    ----------
    size
        How many values there are; leaves beyond them are empty.
    degrees
        How many children the nodes of each level have, from the root down.
    multipliers
        The factor of each level's counts, from the root to the leaves; 0 where a level is not measured.
    """

    size: int
    degrees: tuple[int, ...]
    multipliers: tuple[int, ...]

    def __post_init__(self) -> None:
        for factor in self.multipliers:
            checks.integer(0, multipliers=factor)
        if len(self.multipliers) != len(self.degrees) + 1 or not self.multipliers[-1]:
            rule = "one factor a level, from the root to the leaves, whose own is not 0"
            raise InvalidParameter(name="multipliers", rule=rule, value=self.multipliers)
        _check_degrees(self.degrees, self.size)

    @property
    def nodes(self) -> int:
        """How many counts are measured."""
        widths = accumulate(self.degrees, mul, initial=1)
        return sum(width for width, m in zip(widths, self.multipliers, strict=True) if m)

    @property
    def zetas(self) -> tuple[float, ...]:
        """The variance of every level's estimate from below, for noise of variance one."""
        return _zetas(self.degrees, [float(m * m) for m in self.multipliers])

    def range_square(self, *, known: bool) -> float:
        """Bound the variance of the estimate of any interval, for noise of variance one.

        `known` says that the root is known and not estimated.
        """
        return _range_square(self.degrees, self.zetas, known=known)

    @property
    def heaviest(self) -> float:
        """Bound the weight of any one noise in the estimate of any interval."""
        shares = zip(self.multipliers, self.zetas, strict=True)
        return max(m * zeta for m, zeta in shares)

    def measure(self, counts: Array, axis: int) -> Array:
        """Return the multiplied counts of all measured levels, one level after the other along an axis."""
        counts = np.moveaxis(counts, axis, -1)
        if float(counts.sum(dtype=np.float64)) > LIMIT:  # they were multiplied along another axis
            counts = counts.astype(object)
        leaves = math.prod(self.degrees)
        padded = np.zeros((*counts.shape[:-1], leaves), dtype=counts.dtype)
        padded[..., : self.size] = counts
        levels = [padded]
        for degree in reversed(self.degrees):
            levels.append(levels[-1].reshape(*counts.shape[:-1], -1, degree).sum(axis=-1))
        scaled = zip(reversed(levels), self.multipliers, strict=True)
        # Counts too large for their multiplier are cut off: that moves no two of them further apart.
        parts = [np.minimum(level, LIMIT // m) * m for level, m in scaled if m]
        return np.moveaxis(np.concatenate(parts, axis=-1).astype(np.int64), -1, axis)

    def estimate(self, noisy: Array, axis: int, *, total: float | None = None) -> Array:
        """Return the best estimate of every value's count; all leaves add up to `total` if it is known."""
        numbers = np.moveaxis(np.asarray(noisy, dtype=np.float64), axis, -1)
        own = self._levels(numbers)
        below, sums = own[-1], []
        for place in reversed(range(len(self.degrees))):
            families = below.reshape(*numbers.shape[:-1], -1, self.degrees[place])
            sums.append((families, families.sum(axis=-1)))
            share = self.zetas[place] * self.multipliers[place] ** 2
            measured = own[place]
            below = sums[-1][1] if measured is None else share * measured + (1 - share) * sums[-1][1]
        final = below if total is None else np.full_like(below, total)
        for families, added in reversed(sums):
            final = families + ((final - added) / families.shape[-1])[..., None]
            final = final.reshape(*numbers.shape[:-1], -1)
        return np.moveaxis(final[..., : self.size], -1, axis)

    def trace(self, weights: Array, axis: int, *, known: bool) -> Array:
        """Return what every measured number is multiplied by in weighted sums of the estimates.

        The transpose of `estimate`: first down the tree backwards, then up. `known` says that the total is.
        """
        leaves = np.moveaxis(np.asarray(weights, dtype=np.float64), axis, -1)
        final = np.zeros((*leaves.shape[:-1], math.prod(self.degrees)))
        final[..., : self.size] = leaves
        finals, shared = [final], []
        for degree in reversed(self.degrees):
            shared.append(finals[-1].reshape(*leaves.shape[:-1], -1, degree).sum(axis=-1) / degree)
            finals.append(shared[-1])
        below = np.zeros_like(finals[-1]) if known else finals[-1]
        found = []
        for place, degree in enumerate(self.degrees):
            share = self.zetas[place] * self.multipliers[place] ** 2
            if self.multipliers[place]:
                found.append(below * (share / self.multipliers[place]))
            added = (1 - share) * below - shared[-1 - place]
            below = finals[-2 - place] + np.repeat(added, degree, axis=-1)
        found.append(below / self.multipliers[-1])
        return np.moveaxis(np.concatenate(found, axis=-1), -1, axis)

    def _levels(self, numbers: Array) -> list[Any]:
        """Cut the numbers into levels, divided by their multipliers; None for a level that is not there."""
        found: list[Any] = []
        start, width = 0, 1
        for place, m in enumerate(self.multipliers):
            found.append(numbers[..., start : start + width] / m if m else None)
            start += width if m else 0
            width *= self.degrees[place] if place < len(self.degrees) else 1
        return found


def _zetas(degrees: tuple[int, ...], precisions: list[float]) -> tuple[float, ...]:
    found = [1 / precisions[-1]]
    for degree, precision in zip(reversed(degrees), reversed(precisions[:-1]), strict=True):
        found.append(1 / (precision + 1 / (degree * found[-1])))
    return tuple(reversed(found))


def _range_square(degrees: tuple[int, ...], zetas: tuple[float, ...], *, known: bool) -> float:
    """Add up the levels of the worst interval.

    Of the B children of the node where an interval's two ends part, let s be inside, ends in part. They add
    at most zeta (s - s^2 / B), and the node itself (s / B)^2 of its own variance; below, both ends go on by
    themselves, with at most zeta B / 4 a level and end. Parting further down is never worse.
    """
    root = 0.0 if known else zetas[0]
    degree, zeta = degrees[0], zetas[1]
    bend = degree * zeta - root
    inside = min(float(degree), zeta * degree**2 / (2 * bend)) if bend > 0 else float(degree)
    top = zeta * (inside - inside**2 / degree) + (inside / degree) ** 2 * root
    rest = zip(degrees[1:], zetas[2:], strict=True)
    return top + 2 * sum(z * d / 4 for d, z in rest)


Trees = tuple[CountTree, ...]


def box_square(trees: Trees, *, known: bool) -> float:
    """Bound the variance of any box for noise of variance one: a product, as the estimate is."""
    return math.prod(tree.range_square(known=known) for tree in trees)


@lru_cache(maxsize=256)
def best_tree(size: int, *, power: int, known: bool, degrees: tuple[int, ...] | None = None) -> CountTree:
    """Return the tree with the smallest worst variance of an interval at a given budget.

    Parameters
    ----------
    size
        The number of ordered values.
    power
        1 where the sum of the multipliers is paid for (Laplace noise), 2 for that of their squares.
    known
        Whether the number of rows is known; then the root is not measured.
    degrees
        The branching, from the root down, where it is not to be chosen.
    """
    if size == 1:
        return CountTree(1, (1,), (0, 1))
    if degrees is not None:
        shapes = [_check_degrees(degrees, size)]
    else:
        heights = range(1, math.ceil(math.log(size, 3)) + 1)
        shapes = list(dict.fromkeys(_balance(size, height) for height in heights))
    trees = [_optimise(size, shape, power, known) for shape in shapes]
    return min(trees, key=lambda tree: _price(tree.degrees, np.array(tree.multipliers), power, known))


def _price(degrees: tuple[int, ...], factors: Array, power: int, known: bool) -> float:
    """Return the worst variance of an interval, times the budget that the factors take."""
    zetas = _zetas(degrees, [float(f) ** 2 for f in factors])
    paid = float((factors**power).sum()) ** (2 / power)
    return _range_square(degrees, zetas, known=known) * float(paid)


def _optimise(size: int, degrees: tuple[int, ...], power: int, known: bool) -> CountTree:
    """Return the tree with the best factors, rounded to whole numbers."""

    def factors(logs: Array) -> Array:
        return np.array([0.0, *np.exp(np.clip(logs, -20, 20))])[int(not known) :]

    def price(logs: Array) -> float:
        return math.log(_price(degrees, factors(logs), power, known))

    found = factors(scipy.optimize.minimize(price, np.zeros(len(degrees) + (not known)), method="L-BFGS-B").x)
    found[found < _NEGLIGIBLE * found.max()] = 0
    found[-1] = max(found[-1], _NEGLIGIBLE * found.max())
    unit = FINENESS / found[found > 0].min()
    whole = [round(float(f) * unit) for f in found]
    common = reduce(math.gcd, whole)
    return CountTree(size, degrees, tuple(m // common for m in whole))


def _balance(size: int, height: int) -> tuple[int, ...]:
    """Return degrees as equal as can be whose product reaches the size."""
    degree = max(2, math.floor(size ** (1 / height)))
    degrees = [degree] * height
    place = height
    while math.prod(degrees) < size:
        place = place - 1 if place else height - 1
        degrees[place] += 1
    return tuple(degrees)


def _check_degrees(degrees: tuple[int, ...], size: int) -> tuple[int, ...]:
    listed = tuple(checks.integer(1, degrees=degree) for degree in degrees)
    if math.prod(listed) < size:
        raise InvalidParameter(
            name="degrees", rule=f"numbers whose product reaches the {size} values", value=degrees
        )
    return listed


def sum_moves(trees: Sequence[CountTree], *, power: int, replaced: bool) -> int:
    """Return the sum of the moves, to a power of 1 or 2, that one row makes in the product of some trees.

    Where a row is changed, every count with one of the two rows moves; counts of the roots have both.
    """
    total = math.prod(sum(int(m**power) for m in tree.multipliers) for tree in trees)
    return 2 * (total - math.prod(int(t.multipliers[0] ** power) for t in trees)) if replaced else total
