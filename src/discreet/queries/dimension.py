"""How rich a class of queries is: VC dimension and fat-shattering dimension.

A class shatters some cells if every way to split them in two is made by one of its predicates; the VC
dimension is the size of the largest such set. A class of real-valued queries gamma-shatters some cells if
there is a level for each, such that for every split some query is at least gamma above the levels of the one
part and gamma below those of the other [BLW94].

Finite universes and finite lists can be poorer than the textbook's class of the same name, so every result
says whether it is exact or only a bound from above.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array, Bools
from discreet.queries.kinds.conjunctions import Clauses
from discreet.queries.kinds.halfspaces import Halfspaces
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.parities import Parities
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.workload import Workload

_WORK = 20_000_000  # weights that a search looks at before it gives up
_SETS = 200_000  # shattered sets of one size it keeps


@dataclass(frozen=True, slots=True)
class VCDimension:
    """A dimension, whether it is exact or a bound from above, and why."""

    value: int
    exact: bool
    why: str

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at most '}{self.value}: {self.why}"


def vc_dimension(workload: Workload) -> VCDimension:
    """Return the VC dimension of a class of predicates, or a bound, by formula.

    Parities count as the predicates that hold where the parity is odd.
    """
    if not (workload.is_predicates or isinstance(workload, Parities)):
        raise InvalidParameter(name="workload", rule="of predicates", value=workload)
    counted = _by_count(workload)
    found = _formula(workload)
    return counted if found is None or (counted.value < found.value and not found.exact) else found


def fat_shattering_dimension(workload: Workload, gamma: checks.Number) -> VCDimension:
    """Return the fat-shattering dimension at a width gamma, or a bound, by formula."""
    width = checks.positive(gamma=gamma)
    ends = [(Fraction(float(low)), Fraction(float(high))) for low, high in workload.extents()]
    if max(high for _, high in ends) - min(low for low, _ in ends) < 2 * width:
        return VCDimension(0, True, "no two weights are 2 gamma apart")
    if workload.is_predicates or isinstance(workload, Parities):
        # Two different weights, 2 gamma apart or more: the level between them says nothing new.
        return vc_dimension(workload)
    return _by_count(workload)


def vc_by_search(workload: Workload) -> int:
    """Return the VC dimension of a small class by trying all sets of cells."""
    rows = _weights(workload)
    if not set(np.unique(rows).tolist()) <= {0, 1} and not isinstance(workload, Parities):
        raise InvalidParameter(name="workload", rule="of predicates", value=workload)
    high = rows > 0
    return _largest_shattered([(cell, high[:, cell], ~high[:, cell]) for cell in range(high.shape[1])])


def fat_by_search(workload: Workload, gamma: checks.Number) -> int:
    """Return the fat-shattering dimension of a small class by trying all sets of cells and all levels."""
    width = checks.positive(gamma=gamma)
    rows = _weights(workload)
    candidates = []
    for cell in range(rows.shape[1]):
        column = [Fraction(float(weight)) for weight in rows[:, cell]]
        # A level may rise until the lowest weight above it is exactly gamma away: only those matter.
        for lowest in sorted(set(column)):
            high = np.array([weight >= lowest for weight in column])
            low = np.array([weight <= lowest - 2 * width for weight in column])
            candidates.append((cell, high, low))
    return _largest_shattered(candidates)


Split = tuple[int, Bools, Bools]
"""A cell with the queries that are above its level and those that are below."""


def _largest_shattered(candidates: Sequence[Split]) -> int:
    """Grow shattered sets one cell at a time: every part of a shattered set is shattered."""
    useful = [split for split in candidates if split[1].any() and split[2].any()]
    sets: list[tuple[int, ...]] = [()]
    size = 0
    while sets:
        following = []
        for chosen in sets:
            first = chosen[-1] + 1 if chosen else 0
            for last in range(first, len(useful)):
                grown = (*chosen, last)
                if (not chosen or useful[last][0] != useful[chosen[-1]][0]) and _splits_all(useful, grown):
                    following.append(grown)
        if len(following) > _SETS:
            raise _too_large()
        sets = following
        size += bool(sets)
    return size


def _splits_all(useful: Sequence[Split], chosen: tuple[int, ...]) -> bool:
    decided = np.ones(len(useful[0][1]), dtype=np.bool_)
    number = np.zeros(len(decided), dtype=np.int64)
    for place in chosen:
        _, high, low = useful[place]
        decided &= high | low
        number = 2 * number + high
    return bool(len(np.unique(number[decided])) == 2 ** len(chosen))


def _weights(workload: Workload) -> Array:
    """Return the different rows and columns of a small workload."""
    codes = workload.cells(_WORK // len(workload))
    if codes is None:
        raise _too_large()
    rows = workload.block(0, len(workload), codes).astype(np.float64)
    return np.unique(np.unique(rows, axis=0), axis=1)


def _too_large() -> Refused:
    return Refused(
        what="the dimension of this workload by search",
        why="there are too many cells or queries",
        way_out="Ask vc_dimension or fat_shattering_dimension for a formula",
    )


def _by_count(workload: Workload) -> VCDimension:
    return VCDimension(math.floor(math.log2(len(workload))), False, "2^k splits need as many queries")


@singledispatch
def _formula(workload: Workload) -> VCDimension | None:
    """Return what is known of a family beyond the number of its queries."""
    del workload
    return None


@_formula.register
def _of_prefixes(workload: Prefixes) -> VCDimension:
    chains = sum(workload.universe.shape[axis] > 1 for (axis,) in workload.sets)
    if chains <= 1:
        return VCDimension(chains, True, "prefixes of one attribute are nested")
    value = _largest_size(lambda k: 2**k <= chains * (k - 1) + 2)
    return VCDimension(value, False, "nested sets split k cells in at most k + 1 ways an attribute")


@_formula.register
def _of_rectangles(workload: Rectangles) -> VCDimension:
    sizes = [workload.universe.shape[axis] for axis in set().union(*workload.sets)]
    value = sum(min(size - 1, 2) for size in sizes)
    why = "each cell of a shattered set is alone at an end of some attribute"
    return VCDimension(value, workload.is_every, why)


@_formula.register
def _of_marginals(workload: Marginals) -> VCDimension:
    tables = [axes for axes in workload.sets if any(workload.universe.shape[axis] > 1 for axis in axes)]
    if len(tables) <= 1 and len(workload.sets) == 1:
        return VCDimension(len(tables), True, "the cells of one table are disjoint")
    # Each table splits off at most k non-empty parts; the empty part and, by a total, the whole come once.
    value = _largest_size(lambda k: 2**k <= len(tables) * k + 2)
    return VCDimension(value, False, "disjoint sets split k cells in at most k + 1 ways a table")


@_formula.register
def _of_clauses(workload: Clauses) -> VCDimension:
    sizes = [workload.universe.shape[axis] for axis in set().union(*workload.sets)]
    # A cell that a clause keeps from all the others has a value that none of them has.
    value = _largest_size(lambda k: k <= sum(min(k, n) if k <= n else n - 1 for n in sizes))
    if all(n == 2 for n in sizes) and len(sizes) > 1:
        value = min(value, len(sizes))
    complete = workload.has_every_monotone() and value == len(sizes)
    return VCDimension(value, complete, "each cell of a shattered set has a value to itself")


@_formula.register
def _of_parities(workload: Parities) -> VCDimension:
    rank = workload.rank
    return VCDimension(rank, len(workload) == 2**rank, "linear functions over the field of two elements")


@_formula.register
def _of_halfspaces(workload: Halfspaces) -> VCDimension:
    attributes = len(set().union(*workload.sets))
    return VCDimension(attributes + 1, False, "k + 2 points in k dimensions cannot be shattered (Radon)")


def _largest_size(possible: Callable[[int], bool]) -> int:
    """Return the last k for which a condition holds that, once false, stays false."""
    return next(k for k in itertools.count() if not possible(k + 1))
