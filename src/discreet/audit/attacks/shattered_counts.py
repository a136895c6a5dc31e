"""Reconstruction from a class of counts that can tell all halves of some cells apart: [Roth10] Section 5.3.

A class shatters d cells if for every subset of them some query counts that subset and no other of them. Plant
one person on each of d / 2 cells. Whoever answers all queries within `error` has published where they are,
but for 2 `error` of them (Lemma 15); and a private mechanism must not. So every private mechanism errs by
d / (4 (1 + e^(2 epsilon))) on one of the queries: Theorem 27 for predicates, with its constants. Queries with
weights between 0 and 1 tell halves apart by less, and as much less is proved of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers, fix_array
from discreet.core.rounding import below, exp_up, up

MOST_CELLS = 20
_CHANGES = 2  # somebody is added and somebody is removed
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class SubsetCounts:
    """All counts over half of some cells: the queries that tell the halves apart.

    Attributes
    ----------
    cells
        How many cells there are: even, at most 20.
    """

    cells: int

    def __post_init__(self) -> None:
        _require_halves(checks.integer(2, cells=self.cells))

    @property
    def halves(self) -> Halves:
        """The halves of the cells, in order."""
        return _list_halves(self.cells)

    @property
    def matrix(self) -> Integers:
        """The queries as rows over the cells."""
        rows = np.zeros((len(self.halves), self.cells), dtype=np.int64)
        np.put_along_axis(rows, np.array(self.halves), 1, axis=1)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class WeightedHalves:
    """Real-valued queries that tell the halves of some cells apart: one for each half.

    Attributes
    ----------
    matrix
        The queries as rows over the cells, in the order of `halves`, with weights in [0, 1]. Each must be
        larger on all members of its half than on all other cells. Cells: an even number, at most 20.
    """

    matrix: Floats

    def __post_init__(self) -> None:
        weights = fix_array(np.asarray(self.matrix, dtype=np.float64))
        object.__setattr__(self, "matrix", weights)
        cells = weights.shape[-1] if weights.ndim == 2 else 0
        _require_halves(cells)
        if len(weights) != math.comb(cells, cells // 2):
            rule = f"a row for each half of {cells} cells"
            raise InvalidParameter(name="matrix", rule=rule, got=f"{len(weights)} rows")
        if not (weights.min() >= 0 and weights.max() <= 1 and self.gap > 0):
            rule = "weights in [0, 1], larger on a half than elsewhere"
            raise InvalidParameter(name="matrix", rule=rule, got="others")

    @property
    def halves(self) -> Halves:
        """The halves of the cells, in order."""
        return _list_halves(self.matrix.shape[1])

    @property
    def gap(self) -> float:
        """How much less a half's query says of another half, for each member that is not its own: Lemma 14.

        At least 2 width less the difference of the levels, for queries that are `width` above a level on
        their members and as far below it on other cells.
        """
        members = SubsetCounts(self.matrix.shape[1]).matrix.astype(np.bool_)
        lowest = np.where(members, self.matrix, np.inf).min(axis=1)
        highest = np.where(members, -np.inf, self.matrix).max(axis=1)
        return float((lowest - highest).min())


def reconstruct_shattered(counts: SubsetCounts | WeightedHalves, answers: Sequence[float]) -> tuple[int, ...]:
    """Return the half whose answer falls the least short of its own: nearly the planted one (Lemma 15).

    A half's query says less of any other half: by `gap` (1 for counts) for each member in which they differ
    (Lemma 14). With answers within `error`, no half that differs in more than 2 `error` / `gap` members comes
    out on top.
    """
    halves, matrix = counts.halves, counts.matrix
    if len(answers) != len(halves):
        raise InvalidParameter(name="answers", rule=f"{len(halves)} numbers", value=len(answers))
    own = np.take_along_axis(matrix, np.array(halves), 1).sum(axis=1)
    return halves[int(np.argmin(own - np.asarray(answers, dtype=np.float64)))]


def least_count_error(
    dimension: int,
    *,
    epsilon: checks.Number,
    beta: checks.Number = 0,
    width: checks.Number = _HALF,
) -> float:
    """Return the error that every private release of a class of queries exceeds on some data.

    If all answers are within `error` with probability 1 - beta, a random member of the planted half is
    reconstructed with probability 1 - 4 error / d - beta at least, and somebody who is not there with
    4 error / d + beta at most; the two are e^(2 epsilon) apart at most.

    Parameters
    ----------
    dimension
        How many cells the class shatters: its VC dimension, or its fat-shattering dimension at `width`. See
        `discreet.queries.vc_dimension`, where it is exact: a bound from above proves nothing here.
    epsilon
        The privacy of adding or removing one person.
    beta
        How often the release may err more.
    width
        For queries with weights in [0, 1]; 1/2 for counts. Levels lie between `width` and 1 - `width`: of p
        parts of that range one holds a p-th of them, at most (1 - 2 width) / p apart.
    """
    cells, half = checks.integer(0, dimension=dimension), checks.positive(width=width)
    if half > _HALF:
        raise InvalidParameter(name="width", rule="at most 1/2", value=width)
    spread = 1 - 2 * half
    parts = range(max(1, math.floor(spread / half) - 1), math.ceil(spread / half) + 2)
    told = max((2 * half - spread / p) * (-(-cells // p) // 2 * 2) for p in parts)
    odds = 1 + exp_up(up(_CHANGES * checks.positive(epsilon=epsilon)))
    missed = up(checks.delta(beta=beta))
    if odds == math.inf:
        return 0.0
    rest = 1 - odds * missed
    return max(0.0, below(float(told) / 4 * rest / odds, steps=8))


Halves = tuple[tuple[int, ...], ...]


def _list_halves(cells: int) -> Halves:
    return tuple(itertools.combinations(range(cells), cells // 2))


def _require_halves(cells: int) -> None:
    if not 2 <= cells <= MOST_CELLS or cells % 2:
        raise InvalidParameter(name="cells", rule=f"even, 2 to {MOST_CELLS}", value=cells)
