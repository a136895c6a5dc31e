"""Workloads of predicates, read together: which of them are boxes, how large these are, and all identities.

What is read is public, and the same for everybody: no turn is needed for it, and no data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Bools, Integers
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.groups import Grouping, Groups
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.matrix import Matrix
from discreet.queries.query import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.query_release.online.questions import (
    NOTHING,
    Key,
    make_key,
    read_predicate,
    reduce_table,
    write_codes,
    write_rest,
    write_runs,
)

NO_BOX = -1

_FEW = 64  # queries: below this a look at each is quicker than a pass for each code


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """All that a bound on the noise of boxes asks for. Many predicates may be of one kind.

    Attributes
    ----------
    sizes, runs
        How many codes of each attribute a kind of box has, and whether those of each follow one another.
    kinds
        The kind of each predicate, by place; `NO_BOX` for those that are none.
    """

    sizes: Integers
    runs: Bools
    kinds: Integers

    @classmethod
    def of_codes(cls, codes: Bools, universe: Universe) -> Boxes:
        """Return boxes that are given by their codes, attribute after attribute, one a row."""
        starts = np.concatenate([[0], np.cumsum(universe.shape)[:-1]])
        sizes = np.add.reduceat(codes, starts, axis=1, dtype=np.int64)
        runs = np.ones(len(codes), dtype=np.bool_)
        for start, size in zip(starts.tolist(), universe.shape, strict=True):
            runs &= is_run(codes[:, start : start + size])
        return cls(sizes, runs, np.arange(len(codes)))


def is_run(codes: Bools) -> Bools:
    """Return which rows of codes are one run."""
    return np.asarray(codes[:, 0] + (codes[:, 1:] & ~codes[:, :-1]).sum(axis=1) == 1)


class WorkloadReading(ABC):
    """A workload of predicates, read.

    Attributes
    ----------
    workload
        What was read; its answers are those of the predicates.
    boxes, empty
        Which of the predicates are boxes, and which are met by no cell.
    """

    workload: Workload
    boxes: Boxes
    empty: Bools

    @abstractmethod
    def keys(self, places: Integers) -> list[Key]:
        """Return the identity of some of the predicates, as `read_question` gives it."""


def read_workload(workload: Workload) -> WorkloadReading:
    """Read a workload of predicates, as groups where it is made of tables."""
    if isinstance(workload, Marginals):
        everything = [tuple(range(size)) for size in workload.universe.shape]
        groupings = [tuple((axis, everything[axis]) for axis in axes) for axes in workload.sets]
        workload = Groups(workload.universe, axes=(), where=np.array(True), groupings=groupings)
    return _Grouped(workload) if isinstance(workload, Groups) else _Listed(workload)


def reading_work(workload: Workload) -> int:
    """Return about how many numbers are looked at to read a workload that is not made of tables."""
    return min(_work_of_each(workload), _work_of_passes(workload))


def _work_of_each(workload: Workload) -> int:
    """Every predicate's own table, once for each of its attributes."""
    shape = workload.universe.shape
    sets = workload.sets if isinstance(workload, Queries) else [tuple(range(len(shape)))]
    return len(workload) * max(math.prod(shape[axis] for axis in axes) * (1 + len(axes)) for axes in sets)


def _work_of_passes(workload: Workload) -> int:
    """All cells, and every predicate, once for each code of each attribute."""
    listed = isinstance(workload, Queries | Matrix)  # answered one by one, each from its own weights
    once = _work_of_each(workload) if listed else workload.universe.size + len(workload)
    return (sum(workload.universe.shape) + 1) * once


class _Listed(WorkloadReading):
    """Any predicates. Time: a look at each, or a pass over the universe for each code, whichever is less.

    Conjunctions say their codes themselves: O(their codes).
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        few = len(workload) <= _FEW or _work_of_each(workload) < _work_of_passes(workload)
        if type(workload) is Conjunctions:
            codes, is_box, self.empty, self._keys = self._conditions(workload)
        else:
            codes, is_box, self.empty, self._keys = (self._each if few else self._passes)(workload)
        found = Boxes.of_codes(codes[is_box], workload.universe)
        kinds = np.full(len(workload), NO_BOX)
        kinds[is_box] = found.kinds
        self.boxes = Boxes(found.sizes, found.runs, kinds)
        self._codes = codes

    @staticmethod
    def _each(workload: Workload) -> tuple[Bools, Bools, Bools, list[Key]]:
        codes = np.zeros((len(workload), sum(workload.universe.shape)), dtype=np.bool_)
        is_box, keys = np.zeros(len(workload), dtype=np.bool_), []
        for place, query in enumerate(workload):
            key, found = read_predicate(query, np.asarray(query.table()))
            keys.append(key)
            if found is not None:
                codes[place], is_box[place] = found, True
        return codes, is_box, np.array([key == NOTHING for key in keys]), keys

    @staticmethod
    def _conditions(workload: Conjunctions) -> tuple[Bools, Bools, Bools, list[Key]]:
        """Take the codes of conjunctions as they say them: each is a box, unless nothing meets it."""
        codes = workload.codes()
        starts = np.cumsum([0, *workload.universe.shape[:-1]])
        empty: Bools = ~np.asarray(np.logical_or.reduceat(codes, starts, axis=1).all(axis=1))
        codes[empty] = False
        return codes, ~empty, empty, []

    @staticmethod
    def _passes(workload: Workload) -> tuple[Bools, Bools, Bools, list[Key]]:
        """Find the codes by a pass over the universe each: a cell that has the code counts one."""
        universe = workload.universe
        codes = np.zeros((len(workload), sum(universe.shape)), dtype=np.bool_)
        sizes, column = np.ones(len(workload), dtype=np.int64), 0
        for axis, size in enumerate(universe.shape):
            for code in range(size):
                cells = np.zeros(universe.shape, dtype=np.int64)
                cells[(slice(None),) * axis + (code,)] = 1
                codes[:, column + code] = workload.answers(cells) > 0
            sizes *= codes[:, column : column + size].sum(axis=1)
            column += size
        volume = workload.answers(np.ones(universe.shape, dtype=np.int64))
        return codes, (volume > 0) & (volume == sizes), volume == 0, []

    def keys(self, places: Integers) -> list[Key]:
        """Return the identity of some of the predicates, as `read_question` gives it."""
        if self._keys:
            return [self._keys[place] for place in places.tolist()]
        ends = np.cumsum(self.workload.universe.shape).tolist()
        starts = [0, *ends[:-1]]
        found = []
        for place in places.tolist():
            if self.boxes.kinds[place] == NO_BOX:
                query = self.workload.query(place)
                found.append(read_predicate(query, np.asarray(query.table()))[0])
                continue
            row = self._codes[place]
            spans = enumerate(zip(starts, ends, strict=True))
            found.append(make_key((write_codes(axis, row[a:b]) for axis, (a, b) in spans), b""))
        return found


class _Grouped(WorkloadReading):
    """Groups: all that depends on a group is its keys, and the rest of the condition that they leave.

    Time: a pass over the condition's table for each grouping, and O(groups).
    """

    def __init__(self, workload: Groups) -> None:
        self.workload: Groups = workload
        sizes, runs, kinds, empty, first = [], [], [], [], 0
        self._leftovers = [_Leftover(workload, grouping) for grouping in workload.groupings]
        for left in self._leftovers:
            sizes.append(left.sizes)
            runs.append(left.runs)
            kinds.append(np.where(left.whole[left.of], first + left.of, NO_BOX))
            empty.append(left.empty[left.of])
            first += len(left.sizes)
        self.boxes = Boxes(np.concatenate(sizes), np.concatenate(runs), np.concatenate(kinds))
        self.empty = np.concatenate(empty)

    def keys(self, places: Integers) -> list[Key]:
        """Return the identity of some of the predicates, as `read_question` gives it."""
        numbers = np.searchsorted(self.workload.offsets, places, side="right") - 1
        found: list[Key] = []
        # Places ascend, so groupings come one after the other.
        for number, left in enumerate(self._leftovers):
            found += left.keys(places[numbers == number] - self.workload.offsets[number])
        return found


def _find_distinct(rows: Bools) -> tuple[Integers, Integers]:
    """Return where each distinct row is first, and which of them every row is."""
    if len(rows) == 1:  # a question without groups: most questions
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    packed = np.packbits(rows, axis=1)
    _, first, of = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return first, of


class _Leftover:
    """What a condition still asks for within the groups of one grouping: only distinct ones are kept.

    Attributes
    ----------
    of
        Which of them each group has.
    sizes, runs, whole, empty
        Of each: how many codes of each attribute its group has, whether they are runs, whether its group is
        a box, and whether it is met by nothing.
    """

    def __init__(self, groups: Groups, grouping: Grouping) -> None:
        universe, axes = groups.universe, groups.axes
        self._grouping, self._shape = grouping, universe.shape
        keys = dict(grouping)
        both = [place for place, axis in enumerate(axes) if axis in keys]
        rest = [place for place, axis in enumerate(axes) if axis not in keys]
        self._rest: Axes = tuple(axes[place] for place in rest)
        turned = groups.where.transpose([*both, *rest])
        inner = turned.shape[len(both) :]
        rows = turned.reshape(-1, math.prod(inner))
        first, of = _find_distinct(rows)
        self._tables = rows[first].reshape(len(first), *inner)
        # From the codes of the keys that the condition looks at to what it leaves of them.
        table = of.reshape(turned.shape[: len(both)])
        lengths = [len(codes) for _, codes in grouping]
        order = [axis for axis, _ in grouping]
        index = []
        for place in both:
            at = order.index(axes[place])
            index.append(
                np.array(keys[axes[place]]).reshape([-1 if p == at else 1 for p in range(len(order))])
            )
        self.of: Integers = np.broadcast_to(table[tuple(index)], lengths).ravel()
        places = range(len(self._rest))
        others = [tuple(1 + other for other in places if other != place) for place in places]
        self._codes = [np.asarray(self._tables.any(axis=axes)) for axes in others]
        self.sizes = np.tile(np.array(self._shape, dtype=np.int64), (len(first), 1))
        self.sizes[:, order] = 1
        self.runs = np.ones(len(first), dtype=np.bool_)
        for axis, codes in zip(self._rest, self._codes, strict=True):
            self.sizes[:, axis] = codes.sum(axis=1)
            self.runs &= is_run(codes)
        volume = self._tables.reshape(len(first), -1).sum(axis=1)
        self.empty = volume == 0
        self.whole = ~self.empty & (volume == self.sizes[:, list(self._rest)].prod(axis=1))

    def keys(self, places: Integers) -> list[Key]:
        """Return the identities of some groups."""
        if not len(places):
            return []
        of = self.of[places].tolist()
        lengths = [len(codes) for _, codes in self._grouping]
        chosen = np.unravel_index(places, lengths) if lengths else ()
        columns: dict[int, list[bytes]] = {}
        for (axis, codes), where in zip(self._grouping, chosen, strict=True):
            written = [b"" if self._shape[axis] == 1 else write_runs(axis, (c, c + 1)) for c in codes]
            columns[axis] = [written[place] for place in where.tolist()]
        rests = {number: self._write(number) for number in dict.fromkeys(of)}
        for at, axis in enumerate(self._rest):
            columns[axis] = [rests[number][0][at] for number in of]
        listed: Sequence[list[bytes]] = [columns[axis] for axis in sorted(columns)]
        parts = zip(*listed, strict=True) if listed else iter([()] * len(of))
        return [
            NOTHING if self.empty[number] else make_key(part, rests[number][1])
            for part, number in zip(parts, of, strict=True)
        ]

    def _write(self, number: int) -> tuple[list[bytes], bytes]:
        masks = [codes[number] for codes in self._codes]
        if self.whole[number] or self.empty[number]:
            rest = b""
        else:
            inside = self._tables[number][np.ix_(*(np.flatnonzero(mask) for mask in masks))]
            rest = write_rest(reduce_table(inside), self._rest)
        return [write_codes(axis, mask) for axis, mask in zip(self._rest, masks, strict=True)], rest
