"""Classes of rules that foretell a label of two values, each looking at few attributes.

Rules that look at the same attributes make a block: a table of what each foretells for each combination of
values. How many examples a rule gets wrong follows from how often each combination has either label, so a
class of a hundred thousand rules is counted in a moment.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.fixed import Bools, Integers, fix_array
from discreet.core.parameters import checked, public
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe

_MOST = 1 << 27
"""How many predictions of all rules together are listed: 128 MB."""


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """What is foretold for each combination of some attributes' values: the first label or the second.

    Attributes
    ----------
    universe, label
        What a record may be, and which attribute is foretold.
    axes
        The places of the attributes that the rule looks at.
    second
        For each combination of their values, in order, whether the second label is foretold.
    """

    universe: Universe
    label: int
    axes: tuple[int, ...]
    second: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values the attributes have."""
        return tuple(self.universe.shape[axis] for axis in self.axes)

    def predict(self, codes: Any) -> Integers:
        """Foretell the labels of records that are given as rows of codes: 0 for the first value, else 1."""
        rows = np.asarray(codes)
        cells = find_places(rows, self.axes, self.shape)
        return np.asarray(self.second, dtype=np.int64)[cells]

    @property
    def wrong(self) -> TableQuery:
        """The query whose mean is the rule's error."""
        foretold = np.asarray(self.second, dtype=np.bool_).reshape(self.shape)
        table = np.stack([foretold, ~foretold], axis=-1)
        axes = (*self.axes, self.label)
        order = np.argsort(axes)
        table = table.transpose(order)
        return TableQuery(self.universe, tuple(sorted(axes)), "errors of a rule", table=table)

    def __str__(self) -> str:
        attributes = [self.universe.attributes[axis] for axis in self.axes]
        values = itertools.product(*(attribute.values for attribute in attributes))
        chosen = [value for value, second in zip(values, self.second, strict=True) if second]
        names = ", ".join(attribute.name for attribute in attributes)
        label = self.universe.attributes[self.label]
        shown = ", ".join(map(str, chosen[:8])) + (", ..." if len(chosen) > 8 else "")
        return f"{label.name} = {label.values[1]!r} where ({names}) is one of {shown or 'none'}"


@dataclass(frozen=True, slots=True, eq=False)
class RuleBlock:
    """Rules that look at the same attributes: a row for each, a column for each combination of values."""

    axes: tuple[int, ...]
    second: Bools


def _read_label(**named: object) -> str:
    return checks.text(**named)


@checked
class RuleClass(ABC):
    """A finite class of rules.

    Parameters
    ----------
    universe
        What a record may be.
    label
        The name of the attribute that is foretold. It has two values.
    """

    universe: Universe = public(checks.exactly, Universe)
    label: str = public(_read_label)

    def _complete(self) -> None:
        names = self.universe.names
        if self.label not in names or self.universe.shape[names.index(self.label)] != 2:
            raise InvalidParameter(name="label", rule="an attribute of two values", value=self.label)
        if len(names) < 2:
            raise InvalidParameter(
                name="universe", rule="of the label and another attribute", got="the label alone"
            )

    @property
    def place(self) -> int:
        """The place of the label among the attributes."""
        return self.universe.names.index(self.label)

    @property
    def features(self) -> tuple[int, ...]:
        """The places of all other attributes."""
        return tuple(axis for axis in range(len(self.universe.shape)) if axis != self.place)

    @abstractmethod
    def list_blocks(self) -> Iterator[RuleBlock]:
        """List the rules, those that look at the same attributes together."""

    @property
    def blocks(self) -> tuple[RuleBlock, ...]:
        """The rules, listed once."""
        return _list_once(self)

    def __len__(self) -> int:
        return sum(len(block.second) for block in self.blocks)

    def rule(self, place: int) -> LearnedRule:
        """Return a rule by its place."""
        left = checks.index(len(self), place=place)
        for block in self.blocks:
            if left < len(block.second):
                return LearnedRule(self.universe, self.place, block.axes, tuple(block.second[left].tolist()))
            left -= len(block.second)
        raise InternalError("a place is in none of the blocks")

    def count_errors(self, codes: Integers) -> Integers:
        """Return how many records each rule foretells wrongly."""
        found = []
        labels = codes[:, self.place]
        for block in self.blocks:
            shape = tuple(self.universe.shape[axis] for axis in block.axes)
            cells = find_places(codes, block.axes, shape) * 2 + labels
            counts = np.bincount(cells, minlength=2 * math.prod(shape)).reshape(-1, 2)
            found.append(counts[:, 1].sum() + block.second @ (counts[:, 0] - counts[:, 1]))
        return np.concatenate(found).astype(np.int64)


@checked
class Stumps(RuleClass):
    """Rules that compare one attribute's place among its values with a threshold, and the two constants."""

    def list_blocks(self) -> Iterator[RuleBlock]:
        """List them attribute by attribute."""
        for axis in self.features:
            size = self.universe.shape[axis]
            below = np.arange(size) < np.arange(1, size)[:, None]
            constants = np.array([[False] * size, [True] * size])
            several = (below, ~below, constants) if axis == self.features[0] else (below, ~below)
            yield RuleBlock((axis,), fix_array(np.concatenate(several)))


@checked
class AllOf(RuleClass):
    """Conjunctions: the second label where each of some attributes has one given value.

    Parameters
    ----------
    width
        The number of attributes a rule looks at, at most.
    """

    width: int = public(checks.integer, 1, default=2)

    def list_blocks(self) -> Iterator[RuleBlock]:
        """List them by the attributes they look at."""
        for count in range(1, min(self.width, len(self.features)) + 1):
            for axes in itertools.combinations(self.features, count):
                cells = math.prod(self.universe.shape[axis] for axis in axes)
                yield RuleBlock(axes, fix_array(np.eye(_within(cells * cells, cells), dtype=np.bool_)))


@checked
class DecisionLists(RuleClass):
    """Lists "if a = x then one label, else if b = y then one, else the other or the same".

    Parameters
    ----------
    length
        How many tests a list has.
    """

    length: int = public(checks.integer, 1, default=2)

    def list_blocks(self) -> Iterator[RuleBlock]:
        """List them by the attributes that are tested, in order."""
        for axes in itertools.permutations(self.features, min(self.length, len(self.features))):
            shape = tuple(self.universe.shape[axis] for axis in axes)
            codes = np.indices(shape).reshape(len(axes), -1)
            tests = itertools.product(*(range(size) for size in shape))
            labels = list(itertools.product((False, True), repeat=len(axes) + 1))
            _within(math.prod(shape) ** 2 * len(labels), 0)
            rows = [_run_list(codes, test, given) for test in tests for given in labels]
            yield RuleBlock(axes, fix_array(np.stack(rows)))


@checked
class GridHalfspaces(RuleClass):
    """Rules "a weighted sum of attributes' places is at least a threshold", with small whole weights.

    Places are counted from the middle of an attribute's values.

    Parameters
    ----------
    most
        The largest size of a weight.
    """

    most: int = public(checks.integer, 1, default=1)

    def list_blocks(self) -> Iterator[RuleBlock]:
        """List every different one once, in one block."""
        axes = self.features
        shape = tuple(self.universe.shape[axis] for axis in axes)
        codes = np.indices(shape).reshape(len(axes), -1)
        middled = 2 * codes - np.array(shape)[:, None] + 1
        _within((2 * self.most + 1) ** len(axes) * math.prod(shape), 0)
        found: dict[bytes, Bools] = {}
        for weights in itertools.product(range(-self.most, self.most + 1), repeat=len(axes)):
            sums = np.array(weights) @ middled
            for threshold in (*np.unique(sums), sums.max() + 1):
                second = sums >= threshold
                found[second.tobytes()] = second
            _within(len(found) * math.prod(shape), 0)
        yield RuleBlock(axes, fix_array(np.stack(list(found.values()))))


@checked
class SmallTrees(RuleClass):
    """Trees of one test, and one more on either side: each compares an attribute's place with a threshold."""

    def list_blocks(self) -> Iterator[RuleBlock]:
        """List them by root, left and right attribute."""
        for root, left, right in itertools.product(self.features, repeat=3):
            axes = tuple(dict.fromkeys((root, left, right)))
            shape = tuple(self.universe.shape[axis] for axis in axes)
            codes = dict(zip(axes, np.indices(shape).reshape(len(axes), -1), strict=True))
            cuts = [range(1, self.universe.shape[axis]) for axis in (root, left, right)]
            _within(math.prod(map(len, cuts)) * 16 * math.prod(shape), 0)
            rows = []
            for cut, on_left, on_right in itertools.product(*cuts):
                first, second = codes[left] < on_left, codes[right] < on_right
                for leaves in itertools.product((False, True), repeat=4):
                    side = np.where(first, leaves[0], leaves[1])
                    other = np.where(second, leaves[2], leaves[3])
                    rows.append(np.where(codes[root] < cut, side, other))
            if rows:
                yield RuleBlock(axes, fix_array(np.stack(rows)))


CLASSES: tuple[type[RuleClass], ...] = (Stumps, AllOf, DecisionLists, GridHalfspaces, SmallTrees)


def read_class(**named: object) -> RuleClass:
    """Return a class of one of the kinds here: a stranger's could count errors otherwise."""
    ((name, value),) = named.items()
    if type(value) in CLASSES:
        return value  # type: ignore[return-value]
    words = ", ".join(kind.__name__ for kind in CLASSES)
    raise InvalidParameter(name=name, rule=f"one of {words}", got=f"a {type(value).__name__}")


def find_places(codes: Any, axes: tuple[int, ...], shape: tuple[int, ...]) -> Integers:
    """Return the place of each record's combination of values among all of them."""
    places = np.zeros(len(codes), dtype=np.int64)
    for axis, size in zip(axes, shape, strict=True):
        places = places * size + codes[:, axis]
    return places


def _run_list(codes: Integers, values: tuple[int, ...], labels: tuple[bool, ...]) -> Bools:
    found = np.full(codes.shape[1], labels[-1])
    for row, value, label in reversed(list(zip(codes, values, labels[:-1], strict=True))):
        found = np.where(row == value, label, found)
    return np.asarray(found, dtype=np.bool_)


def _within(predictions: int, found: int) -> int:
    if predictions > _MOST:
        raise InvalidParameter(
            name="universe",
            rule=f"such that at most {_MOST} predictions of rules are listed",
            got="more",
            hint="Leave out attributes, group values, or take a smaller class",
        )
    return found


@lru_cache(maxsize=32)
def _list_once(rules: RuleClass) -> tuple[RuleBlock, ...]:
    """List every different rule once, with what it depends on: bounds are about their number."""
    found: dict[tuple[int, ...], dict[bytes, Bools]] = {}
    listed = 0
    for block in rules.list_blocks():
        listed += _within(listed + block.second.size, block.second.size)
        for part in _drop_idle(block, tuple(rules.universe.shape[axis] for axis in block.axes)):
            known = found.setdefault(part.axes, {})
            known.update((second.tobytes(), second) for second in part.second)
    constants, first = found.pop((), {}), rules.features[0]
    for second in constants.values():
        whole = np.repeat(second, rules.universe.shape[first])
        found.setdefault((first,), {})[whole.tobytes()] = whole
    if not found:
        raise InvalidParameter(
            name="universe",
            rule="with an attribute of several values to foretell by",
            got="one value of each",
        )
    return tuple(RuleBlock(axes, fix_array(np.stack(list(rows.values())))) for axes, rows in found.items())


def _drop_idle(block: RuleBlock, shape: tuple[int, ...]) -> Iterator[RuleBlock]:
    """Yield the rules of a block without the attributes that they do not depend on, in ascending order."""
    tables = block.second.reshape(-1, *shape)
    idle = np.stack(
        [
            (tables == tables.take([0], axis=place)).reshape(len(tables), -1).all(axis=1)
            for place in range(1, tables.ndim)
        ],
        axis=1,
    )
    for pattern in np.unique(idle, axis=0):
        some = tables[(idle == pattern).all(axis=1)]
        kept = some[(slice(None), *(0 if dropped else slice(None) for dropped in pattern))]
        axes = [axis for axis, dropped in zip(block.axes, pattern, strict=True) if not dropped]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        turned = kept.transpose(0, *(place + 1 for place in order))
        yield RuleBlock(tuple(sorted(axes)), turned.reshape(len(turned), -1))
