"""Public set systems, the private elements to cover, and the result: who uses which set."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Bools, Fixed, Integers, build, fix_array
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import AddRemove
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.progress import LongRun
from discreet.optimisation.common.labels import bare_array, find_places, read_labels

ELEMENTS = AddRemove("element")
Present = Bools
"""Which elements are to be covered."""


class SetSystem(Fixed):
    """A public family of sets. Frozen, comparable by value.

    Parameters
    ----------
    family
        A mapping from names to elements, a sequence of collections of elements, or a matrix, sparse or not,
        with a row a set and a column an element.
    """

    __slots__ = ("_holders", "_holders_start", "_members", "_members_start", "_places", "elements", "names")
    elements: tuple[Hashable, ...]
    names: tuple[Hashable, ...]
    _members: Integers
    _members_start: Integers
    _holders: Integers
    _holders_start: Integers
    _places: dict[Hashable, int]

    def __init__(self, family: Any) -> None:
        self._set(*_read(family))

    def _set(self, names: Iterable[Hashable], elements: Iterable[Hashable], table: Any) -> None:
        self.names, self.elements = read_labels(names, "family"), read_labels(elements, "family")
        if not (self.names and self.elements):
            raise InvalidParameter(name="family", rule="sets, with elements", value="an empty family")
        table.sort_indices()
        turned = table.tocsc()
        self._members, self._members_start = _fix(table.indices), _fix(table.indptr)
        self._holders, self._holders_start = _fix(turned.indices), _fix(turned.indptr)
        self._places = {element: place for place, element in enumerate(self.elements)}

    @classmethod
    def of(cls, family: Any) -> SetSystem:
        """Return a family as a set system, made anew: one that was handed in may be filled with anything."""
        return family.restate() if type(family) is SetSystem else cls(family)

    def restate(self) -> SetSystem:
        """Return the same sets, made anew from plain data."""
        sets = np.repeat(np.arange(len(self.names)), np.diff(self._members_start))
        shape = (len(self.names), len(self.elements))
        table = sparse.csr_matrix((np.ones(len(sets), dtype=bool), (sets, self._members)), shape=shape)
        return build(SetSystem, SetSystem._set, self.names, self.elements, table)

    def members(self, place: int) -> Integers:
        """Return the elements of a set, by number."""
        return self._members[self._members_start[place] : self._members_start[place + 1]]

    def holders(self, elements: Integers) -> Integers:
        """Return the sets that hold the elements, once for each element they hold."""
        start = self._holders_start[elements]
        counts = self._holders_start[elements + 1] - start
        shifts = np.repeat(start - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return self._holders[shifts + np.arange(shifts.size)]

    def place(self, element: Hashable) -> int:
        """Return the number of an element."""
        try:
            return self._places[element]
        except (KeyError, TypeError):
            raise InvalidParameter(name="element", rule="one of the public elements", value=element) from None

    def sizes(self, present: Present) -> Integers:
        """Return how many present elements every set has."""
        owners = np.repeat(np.arange(len(self.names)), np.diff(self._members_start))
        return np.bincount(owners[present[self._members]], minlength=len(self.names)).astype(np.int64)

    def part(self, sets: Integers, elements: Integers) -> SetSystem:
        """Return the system of some sets, restricted to some elements, under their names."""
        inside = np.zeros(len(self.elements), dtype=bool)
        inside[elements] = True
        return SetSystem(
            {
                self.names[s]: [self.elements[e] for e in self.members(s).tolist() if inside[e]]
                for s in sets.tolist()
            }
        )

    def read(self, data: Any) -> Present:
        """Read the private elements: a collection of them, or an array of flags, one a public element.

        Each is looked up by itself. What is no public element counts nowhere.

        Raises
        ------
        InvalidParameter
            When it is neither as a whole. The message quotes no element.
        """
        flags = isinstance(data, np.ndarray) and data.dtype.kind == "b"
        data = np.ma.filled(data, False) if flags and type(data) is np.ma.MaskedArray else bare_array(data)
        if flags and data.shape == (len(self.elements),):
            return np.array(data)
        try:
            if flags or isinstance(data, str | bytes) or getattr(data, "ndim", 1) != 1:
                raise TypeError
            places = find_places(data, self._places)
        except Exception:  # whatever is wrong with the private elements must look the same
            rule = "a collection of elements, or a flag for each"
            raise InvalidParameter(name="elements", rule=rule, got="something else") from None
        present = np.zeros(len(self.elements), dtype=bool)
        present[places] = True
        return present

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetSystem) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((len(self.names), len(self.elements), self._members.size, self._members[:64].tobytes()))

    def _key(self) -> tuple[Any, ...]:
        return self.names, self.elements, self._members.tobytes(), self._members_start.tobytes()

    def __deepcopy__(self, memo: object) -> SetSystem:
        return self

    def __repr__(self) -> str:
        return f"<{len(self.names)} sets, {len(self.elements)} elements>"


@frozen
class OfElements(LongRun[Any, "Assignment"]):
    """What all set covers share: the public sets, and a budget for one element."""

    family: Public[Any, SetSystem] = public(SetSystem.of)
    epsilon: Exact = public(checks.positive)

    @property
    def neighbours(self) -> AddRemove:  # type: ignore[override]
        """One element is hidden."""
        return ELEMENTS

    @property
    def loss(self) -> Loss:
        """The budget."""
        return PureLoss(self.epsilon)

    def _assign(self, order: Iterable[int]) -> Assignment:
        return Assignment((Part(tuple(self.family.names[place] for place in order), self.family),))


@dataclass(frozen=True, slots=True)
class Part:
    """One order of sets, for the elements of one system."""

    order: tuple[Hashable, ...]
    system: SetSystem = field(repr=False, compare=False)
    _ranks: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ranks", {name: rank for rank, name in enumerate(self.order)})

    def first(self, element: Hashable) -> Hashable:
        """Return the first set of the order that holds an element."""
        holders = self.system.holders(np.array([self.system.place(element)]))
        if not holders.size:
            raise InvalidParameter(name="element", rule="in at least one set", value=element)
        names: list[Hashable] = [self.system.names[s] for s in holders.tolist()]
        return min(names, key=self._ranks.__getitem__)


@dataclass(frozen=True, slots=True, repr=False)
class Assignment:
    """Orders of sets. Every element, to be covered or not, uses the first set that holds it.

    The orders may be published; which sets are really in use may not.

    Attributes
    ----------
    parts
        One order for every part of the universe; a single one unless costs lie far apart.
    """

    parts: tuple[Part, ...]

    @property
    def permutation(self) -> tuple[Hashable, ...]:
        """The sets in order, part after part."""
        return tuple(name for part in self.parts for name in part.order)

    def assignment(self, element: Hashable) -> Hashable:
        """Return the set that an element uses."""
        for part in self.parts:
            if len(self.parts) == 1 or element in part.system.elements:
                return part.first(element)
        raise InvalidParameter(name="element", rule="one of the public elements", value=element)

    def instruction(self, element: Hashable) -> str:
        """Say in words what an element that is to be covered does. It tells nothing about others."""
        return f"If you are {element}, use {self.assignment(element)}."

    def cover(self, elements: Iterable[Hashable]) -> frozenset[Hashable]:
        """Return the sets that are used. For the owner of the elements only: it is not private."""
        return frozenset(self.assignment(element) for element in elements)

    def __repr__(self) -> str:
        names = self.permutation
        shown = ", ".join(map(repr, names[:5]))
        return f"Assignment({shown}{', ...' if len(names) > 5 else ''})"


def require_few(family: SetSystem, most: int) -> None:
    """Refuse a family of more sets than can be tried in every order."""
    if len(family.names) > most:
        raise InvalidParameter(name="family", rule=f"at most {most} sets", value=len(family.names))


def _fix(numbers: Any) -> Integers:
    return fix_array(np.array(numbers, dtype=np.int64))


def _read(family: Any) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], Any]:
    if sparse.issparse(family) or isinstance(family, np.ndarray):
        matrix: Any = family
        table = sparse.csr_matrix(matrix != 0)
        table.sort_indices()
        return tuple(range(table.shape[0])), tuple(range(table.shape[1])), table
    if isinstance(family, str | bytes) or not isinstance(family, Iterable):
        raise InvalidParameter(name="family", rule="sets of elements", value=type(family).__name__)
    listed = list(family.items() if isinstance(family, Mapping) else enumerate(family))
    read_labels((name for name, _ in listed), "family")
    return _read_sets(listed)


def _read_sets(listed: list[tuple[Hashable, Any]]) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], Any]:
    places: dict[Hashable, int] = {}
    rows, columns = [], []
    for row, (name, elements) in enumerate(listed):
        if isinstance(elements, str | bytes) or not isinstance(elements, Iterable):
            raise InvalidParameter(name="family", rule="collections of elements", value=name)
        for element in _order(elements):
            rows.append(row)
            columns.append(places.setdefault(element, len(places)))
    shape = (len(listed), max(1, len(places)))
    table = sparse.csr_matrix((np.ones(len(rows), dtype=bool), (rows, columns)), shape=shape)
    table.sort_indices()
    return tuple(name for name, _ in listed), tuple(places), table


def _order(elements: Iterable[Hashable]) -> Iterator[Hashable]:
    """Yield different elements; a set's in the order of their texts, so that equal families read alike."""
    unordered, listed = isinstance(elements, set | frozenset), read_labels(elements, "family")
    yield from dict.fromkeys(sorted(listed, key=repr) if unordered else listed)
