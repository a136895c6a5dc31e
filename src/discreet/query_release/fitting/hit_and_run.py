"""Random histograms among all that agree with published answers.

The polytope is {x >= 0, sum x = total, low <= matrix x <= high}. Cells that no published query tells apart
form a class. Given the total of a class, a uniform point divides it like independent exponentials, so only
the class totals s need a chain: their density is the product of s_c^(size_c - 1). One step picks two classes
and moves mass from one to the other: exactly along that line, by a slice of the density.

Everything here is a function of public numbers, the coins included: they are hashed from the constraints.
So how well the chain mixes has no influence on privacy, only on how typical the points are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from discreet.core.fixed import Floats
from discreet.core.rng import Rng

CHAINS = 64
"""How many points are kept; their median is within about a sixth of a standard deviation of the true one."""
SWEEPS = 8
"""How many steps a chain makes for each class."""
MOST_STEPS = 5_000
"""The most steps of a chain, so that an update takes seconds however many classes there are."""

_SHRINKS = 60  # a slice halves or better about every other time: 60 leave a chain where it is almost never
_INSIDE = 1e-7  # how much of the widest possible margin a polytope must leave to be walked in
_BLOCK = 1 << 18


class PublicCoins(Rng):
    """Bits hashed from public bytes: the same for everybody. Never for noise."""

    unsafe = True

    def __init__(self, seed: bytes) -> None:
        self._seed, self._blocks, self._block, self._used = seed, 0, b"", 0

    def random_bytes(self, count: int) -> bytes:
        """Return the next bytes of the stream."""
        if self._used + count > len(self._block):  # the rest of a block is left unused
            number = self._blocks.to_bytes(8, "little")
            self._block = hashlib.shake_256(self._seed + number).digest(max(_BLOCK, count))
            self._blocks, self._used = self._blocks + 1, 0
        start, self._used = self._used, self._used + count
        return self._block[start : self._used]

    def uniforms(self, *shape: int) -> Floats:
        """Return numbers strictly between 0 and 1."""
        words = self.words(int(np.prod(shape))) >> np.uint64(11)
        return np.asarray((words + 0.5) / (1 << 53), dtype=np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class Slabs:
    """The histograms of a given total that agree with published answers, cell by cell.

    Attributes
    ----------
    total
        The number of rows of every histogram.
    matrix, low, high
        One row of weights a published answer, and the interval it puts the query in.
    """

    total: float
    matrix: Floats
    low: Floats
    high: Floats

    @classmethod
    def simplex(cls, cells: int, total: float) -> Self:
        """Return all histograms."""
        return cls(total, np.zeros((0, cells)), np.zeros(0), np.zeros(0))

    def cut(self, weights: Floats, low: float, high: float) -> Self:
        """Return those that also agree with one more answer."""
        return type(self)(
            self.total,
            np.vstack([self.matrix, weights]),
            np.append(self.low, low),
            np.append(self.high, high),
        )

    @cached_property
    def classes(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        """The class of each cell, the sizes of the classes, and the weights of the queries on them."""
        if not len(self.matrix):
            cells = self.matrix.shape[1]
            return np.zeros(cells, dtype=np.intp), np.array([float(cells)]), np.zeros((0, 1))
        # Rows of bytes are sorted much faster than rows of numbers.
        columns = np.ascontiguousarray(self.matrix.T)
        keys = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).ravel()
        _, first, label, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        return label.ravel(), sizes.astype(np.float64), self.matrix[:, first]

    @cached_property
    def centre(self) -> Floats | None:
        """Class totals that keep the largest margin from every side at once; None where there is no room.

        The margin r takes r of the uniform histogram from every cell and r of the half width from every slab.
        """
        _, sizes, weights = self.classes
        uniform = self.total * sizes / sizes.sum()
        if not len(weights):
            return np.asarray(uniform)
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        lean = weights @ uniform
        found: Any = linprog(
            np.append(np.zeros(sizes.size), -1.0),
            A_ub=np.vstack(
                [np.column_stack([weights, lean + half]), np.column_stack([-weights, half - lean])]
            ),
            b_ub=np.concatenate([middle + half, half - middle]),
            A_eq=np.append(np.ones(sizes.size), self.total)[None, :],
            b_eq=[self.total],
            bounds=[(0, None)] * sizes.size + [(0, 1)],
            method="highs",
        )
        if found.status != 0 or found.x[-1] < _INSIDE:
            return None
        totals = found.x[:-1] + found.x[-1] * uniform
        return np.asarray(totals * (self.total / totals.sum()))

    def seed(self) -> bytes:
        """Return a digest of the constraints."""
        digest = hashlib.sha256(repr((self.total, self.matrix.shape)).encode())
        for array in (self.matrix, self.low, self.high):
            digest.update(array.tobytes())
        return digest.digest()


def sample(slabs: Slabs, before: Floats | None = None) -> Floats:
    """Return one histogram a chain, or as good as the chains can make it.

    Parameters
    ----------
    slabs
        Where to draw from; its `centre` must exist.
    before
        Histograms of fewer constraints: each is drawn towards the centre just far enough to start from.
    """
    label, sizes, _ = slabs.classes
    coins = PublicCoins(slabs.seed())
    totals = walk(slabs, _starts(slabs, before), coins)
    shares = -np.log(coins.uniforms(CHAINS, label.size))
    sums = np.stack([np.bincount(label, row, minlength=sizes.size) for row in shares])
    return np.asarray(shares * (totals / sums)[:, label])


def walk(slabs: Slabs, totals: Floats, coins: PublicCoins) -> Floats:
    """Move every chain a number of steps and return the class totals."""
    _, sizes, weights = slabs.classes
    classes = sizes.size
    if classes == 1:
        return totals
    chains = np.arange(len(totals))
    totals = totals.copy()
    columns, low, high = np.ascontiguousarray(weights.T), slabs.low, slabs.high
    answers = totals @ columns
    for _ in range(min(SWEEPS * classes, MOST_STEPS)):
        words = coins.words(2 * chains.size).reshape(2, -1)
        giver = (words[0] % np.uint64(classes)).astype(np.intp)
        taker = (giver + 1 + (words[1] % np.uint64(classes - 1)).astype(np.intp)) % classes
        gives, takes = totals[chains, giver], totals[chains, taker]
        moved = columns[taker] - columns[giver]
        bottom, top = _segment(answers, moved, low, high)
        step = _slice(
            np.maximum(bottom, -takes),
            np.minimum(top, gives),
            (gives, sizes[giver] - 1),
            (takes, sizes[taker] - 1),
            coins,
        )
        totals[chains, giver] = np.maximum(gives - step, 0.0)
        totals[chains, taker] = np.maximum(takes + step, 0.0)
        answers += step[:, None] * moved
    return totals


def _starts(slabs: Slabs, before: Floats | None) -> Floats:
    """Return class totals inside the slabs, one row a chain."""
    label, sizes, weights = slabs.classes
    centre: Any = slabs.centre
    if before is None:
        return np.tile(centre, (CHAINS, 1))
    totals = np.stack([np.bincount(label, row, minlength=sizes.size) for row in before])
    inside, outside = weights @ centre, totals @ weights.T
    with np.errstate(divide="ignore", invalid="ignore"):
        over = (outside - slabs.high) / (outside - inside)
        under = (slabs.low - outside) / (inside - outside)
    share = np.where(outside > slabs.high, over, np.where(outside < slabs.low, under, 0.0))
    # A little further than the border, so that rounding leaves no chain outside.
    pull = np.minimum(share.max(axis=1, initial=0.0) * 1.01, 1.0)[:, None]
    return np.asarray((1 - pull) * totals + pull * centre)


def _segment(answers: Floats, moved: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return how far each chain may go either way before some answer leaves its interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (low - answers) / moved, (high - answers) / moved
    still = moved == 0
    bottom = np.where(still, -np.inf, np.minimum(to_low, to_high)).max(axis=1, initial=-np.inf)
    top = np.where(still, np.inf, np.maximum(to_low, to_high)).min(axis=1, initial=np.inf)
    return np.minimum(bottom, 0.0), np.maximum(top, 0.0)


def _slice(
    bottom: Floats,
    top: Floats,
    giver: tuple[Floats, Floats],
    taker: tuple[Floats, Floats],
    coins: PublicCoins,
) -> Floats:
    """Draw a step for each chain from (gives - t)^(power) (takes + t)^(power) on its segment."""
    (gives, less), (takes, more) = giver, taker
    level = np.log(coins.uniforms(bottom.size))
    step, active = np.zeros(bottom.size), np.ones(bottom.size, dtype=bool)
    for _ in range(_SHRINKS):
        tried = bottom + (top - bottom) * coins.uniforms(bottom.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            height = less * np.log1p(-tried / gives) + more * np.log1p(tried / takes)
        accepted = active & (height >= level)
        step[accepted] = tried[accepted]
        active &= ~accepted
        if not active.any():
            break
        shrink = active & (tried < 0)
        bottom = np.where(shrink, tried, bottom)
        top = np.where(active & ~shrink, tried, top)
    return step
