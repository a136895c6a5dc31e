"""What agents want, and what each further item would give them.

Nobody gets more than one unit in all, and no item takes anything away: both are enforced here, whatever the
agents say, because the guarantee rests on them. Where valuations are non-decreasing and lie between 0 and 1
nothing is changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Bools, Integers
from discreet.mechanisms.grid import evaluate_finite
from discreet.optimisation.common.labels import is_number_below, is_plain
from discreet.optimisation.common.repeated_choices import ChoiceRounds

Valuation = Callable[[frozenset[int]], Any]
_CELLS = 1 << 24
"""How many pairs of a set and an agent are compared at once."""


class Agents(ABC):
    """All agents of one instance, before anything is chosen."""

    resources: int

    @abstractmethod
    def begin(self) -> ChoiceRounds:
        """Return the state in which nothing is chosen yet."""

    @abstractmethod
    def values(self, sets: Integers) -> Integers:
        """Return what all agents together get from each of some sets of items, one a row."""

    @abstractmethod
    def keep(self, kept: Bools) -> Agents:
        """Return some of the agents."""

    @abstractmethod
    def rows(self) -> Sequence[Hashable]:
        """Return what each agent said, for counting in how many agents two instances differ."""

    @property
    def count(self) -> int:
        """How many agents there are."""
        return len(self.rows())

    def distance(self, other: Agents) -> int:
        """Count the agents that are in one of the instances only."""
        mine, theirs = Counter(self.rows()), Counter(other.rows())
        return (mine - theirs).total() + (theirs - mine).total()


class Coverage(Agents):
    """Agents who want any one of a few items: one unit if one of theirs is chosen."""

    def __init__(self, wanted: Any, by_item: Any = None, present: Bools | None = None) -> None:
        self._wanted = wanted
        self._by_item = wanted.tocsc() if by_item is None else by_item
        self._present = np.ones(wanted.shape[0], dtype=bool) if present is None else present
        self.resources = int(wanted.shape[1])

    @property
    def count(self) -> int:
        """How many agents there are."""
        return int(self._present.sum())

    def begin(self) -> ChoiceRounds:
        """Return the state in which nobody is covered."""
        return _CoverageRounds(self._wanted, self._by_item, self._present.copy())

    def values(self, sets: Integers) -> Integers:
        """Count the agents with an item of theirs in the set."""
        count, size = sets.shape
        chosen = sparse.csr_array(
            (np.ones(sets.size, dtype=np.int32), sets.ravel(), size * np.arange(count + 1)),
            shape=(count, self.resources),
        )
        wanted = self._wanted[np.flatnonzero(self._present)].astype(np.int32)
        step = max(1, _CELLS // max(1, wanted.shape[0]))
        parts = [(chosen[at : at + step] @ wanted.T > 0).sum(axis=1) for at in range(0, count, step)]
        return np.concatenate(parts).astype(np.int64)

    def keep(self, kept: Bools) -> Coverage:
        """Return some of the agents."""
        present = self._present.copy()
        present[present] = kept
        return Coverage(self._wanted, self._by_item, present)

    def rows(self) -> Sequence[Hashable]:
        """Return the items each agent wants."""
        return [
            frozenset(_row(self._wanted, agent).tolist()) for agent in np.flatnonzero(self._present).tolist()
        ]


class _CoverageRounds(ChoiceRounds):
    def __init__(self, wanted: Any, by_item: Any, open_: Bools) -> None:
        self._wanted, self._by_item, self._open = wanted, by_item, open_
        self._gains = self._wishes(np.flatnonzero(open_))

    def gains(self) -> Integers:
        return self._gains

    def take(self, item: int) -> None:
        agents = _row(self._by_item, item)
        covered = agents[self._open[agents]]
        self._open[covered] = False
        self._gains = self._gains - self._wishes(covered)

    def _wishes(self, agents: Array) -> Integers:
        """Count how many of the agents want every item."""
        starts, ends = self._wanted.indptr[agents], self._wanted.indptr[agents + 1]
        lengths = ends - starts
        # Positions of all their entries: one run of consecutive numbers an agent.
        shift = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        places = np.arange(shift.size) + shift
        return np.bincount(self._wanted.indices[places], minlength=self._wanted.shape[1]).astype(np.int64)


def _row(table: Any, place: int) -> Array:
    """Return the entries of one row of a row-wise table, or of one column of a column-wise one."""
    found: Array = table.indices[table.indptr[place] : table.indptr[place + 1]]
    return found


class Oracles(Agents):
    """Agents who value any set of items: functions from sets to numbers between 0 and 1, on a grid."""

    def __init__(self, valuations: Sequence[Valuation], resources: int, unit: Fraction) -> None:
        self.valuations, self.resources, self.unit = tuple(valuations), resources, unit

    def begin(self) -> ChoiceRounds:
        """Return the state in which nothing is chosen yet."""
        return _OracleRounds(self)

    def values(self, sets: Integers) -> Integers:
        """Add up what the functions say."""
        each = (frozenset(items) for items in sets.tolist())
        return np.array(
            [sum(read_value(f, items, self.unit) for f in self.valuations) for items in each], dtype=np.int64
        )

    def keep(self, kept: Bools) -> Oracles:
        """Return some of the agents."""
        chosen = [f for f, k in zip(self.valuations, kept.tolist(), strict=True) if k]
        return Oracles(chosen, self.resources, self.unit)

    def rows(self) -> Sequence[Hashable]:
        """Return the functions themselves."""
        return self.valuations


class _OracleRounds(ChoiceRounds):
    def __init__(self, agents: Oracles) -> None:
        self._agents = agents
        self._chosen: frozenset[int] = frozenset()
        self._had = [self._value(f, self._chosen) for f in agents.valuations]

    def gains(self) -> Integers:
        found = (self._gain(frozenset({*self._chosen, item})) for item in range(self._agents.resources))
        return np.array([sum(gains) for gains in found], dtype=np.int64)

    def take(self, item: int) -> None:
        chosen = frozenset({*self._chosen, item})
        self._had = [had + gain for had, gain in zip(self._had, self._gain(chosen), strict=True)]
        self._chosen = chosen

    def _gain(self, items: frozenset[int]) -> list[int]:
        together = zip(self._agents.valuations, self._had, strict=True)
        return [max(0, self._value(f, items) - had) for f, had in together]

    def _value(self, valuation: Valuation, items: frozenset[int]) -> int:
        return read_value(valuation, items, self._agents.unit)


def read_value(valuation: Valuation, items: frozenset[int], unit: Fraction) -> int:
    """Return what an agent says a set is worth, in units: none to the whole."""
    value = evaluate_finite(valuation, items, otherwise=Fraction(0)) / unit
    return max(0, min(int(1 / unit), round(value)))


def read_agents(data: Any, resources: int, unit: Fraction) -> Agents:
    """Read agents at the door.

    Parameters
    ----------
    data
        A table of agents by items, dense or sparse, that says who wants what; or the items that each agent
        wants; or a function an agent, from a frozenset of items to a number between 0 and 1. The last two may
        be mixed. An item that does not exist is wanted in vain, and so is what is neither. Agents who want
        nothing are left out: they count nowhere.
    resources
        How many items there are.
    unit
        The grid of the functions' values; 1 for a table.
    """
    if sparse.issparse(data) or isinstance(data, np.ndarray):
        return _read_table(data, resources, unit)
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise _no_agents(f"a {type(data).__name__}")
    agents = list(data)
    # Which agents there are must not decide whether there is an answer: each is read by himself.
    if unit != 1 or any(map(callable, agents)):
        read = (a if callable(a) else _AnyOf(_read_wishes(a, resources)) for a in agents)
        return Oracles([a for a in read if type(a) is not _AnyOf or a.wanted], resources, unit)
    wanted = [wishes for wishes in (_read_wishes(agent, resources) for agent in agents) if wishes]
    ends = np.cumsum([0, *map(len, wanted)])
    items = np.fromiter(chain.from_iterable(wanted), dtype=np.int64, count=int(ends[-1]))
    shape = (len(wanted), resources)
    return Coverage(sparse.csr_array((np.ones(items.size, dtype=bool), items, ends), shape=shape))


def _read_wishes(agent: Any, resources: int) -> frozenset[int]:
    """Return the items that an agent wants, none where that cannot be read."""
    try:
        return frozenset(int(item) for item in agent if is_number_below(resources, item))
    except BaseException:  # whatever it raises would speak of one agent
        return frozenset()


@dataclass(frozen=True, slots=True)
class _AnyOf:
    """The valuation of an agent who is content with any one of some items."""

    wanted: frozenset[int]

    def __call__(self, items: frozenset[int]) -> int:
        return int(not self.wanted.isdisjoint(items))


def _read_table(data: Any, resources: int, unit: Fraction) -> Coverage:
    if unit != 1:
        raise InvalidParameter(name="grid", rule="given for functions only", value=unit)
    if data.ndim != 2 or data.shape[1] != resources:
        raise _no_agents("a table of another width")  # how many agents there are is nobody's business
    if data.dtype.kind not in "biuf":  # one odd entry among numbers makes texts or objects of all of them
        if not isinstance(data, np.ndarray):
            raise _no_agents(f"a table of {data.dtype}")
        data = np.array([list(map(_read_entry, row)) for row in data.tolist()]).reshape(data.shape)
    # Every entry counts once, whatever its value; a repeated one is added up and still counts once.
    table: Any = sparse.csr_array(data)
    table.sum_duplicates()
    table.data = (table.data < 0) | (table.data > 0)  # NaN is no wish
    table.eliminate_zeros()
    return Coverage(table, present=np.diff(table.indptr) > 0)


def _read_entry(entry: Any) -> bool:
    """Tell whether an entry of a table is a wish: a number other than 0."""
    number = is_plain(entry) and isinstance(entry, int | float | np.integer | np.floating | np.bool_)
    return bool(number and (entry < 0 or entry > 0))


def _no_agents(what: str) -> InvalidParameter:
    return InvalidParameter(
        name="data", rule="a table of agents by items, the items of each, or functions", got=what
    )
