"""What a question means: a small frozen tree that holds no text of the analyst and no data.

A `Plan` is in normal form from the start. What it says of single rows, `row_nodes` has.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.core import checks
from discreet.data.plan.key_nodes import ComputedKey, Key, sort_keys
from discreet.data.plan.kinds import Function, Kind, WindowFunction
from discreet.data.plan.row_nodes import Condition, Field, Polynomial, UnitValue

MIN_EPSILON = Fraction(1, 10**6)
"""The least a question may cost: below it an answer is nothing but noise."""


@dataclass(frozen=True, slots=True)
class Join:
    """A join: with a public table on its unique key, or with a private one on the privacy unit.

    Where `outer` is set, rows without a partner stay, once, and the columns of the table are missing there.
    """

    table: str
    left: Field
    right: Field
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Units:
    """A relation with exactly one row for each unit that has a row that counts, or for each unit and key.

    Parameters
    ----------
    table, joins, where
        The rows, as in a `Plan`.
    values
        The columns, beside the unit itself and the keys: sorted, each once.
    keys
        Declared columns of the table: there is one row for each unit and what they hold together, the missing
        value among it. So a unit has as many rows as it has in the table, at most.
    """

    table: str
    joins: tuple[Join, ...]
    where: Condition
    values: tuple[UnitValue, ...]
    keys: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number (or, for several quantiles, a few) a group.

    Parameters
    ----------
    kind
        What is computed.
    number
        What it is computed of; None for counts of rows and units.
    row_bounds
        Each row's value is clamped to these before anything else.
    group_bounds
        Each unit's total in a group is clamped to these (sums and counts).
    points
        For quantiles: which ones, between 0 and 1.
    column
        For counts of present or different values and for the most frequent one: of which column.
    other
        For what is said of pairs of numbers: the second one (of a regression: what explains the first).
    """

    kind: Kind
    number: Polynomial | None = None
    row_bounds: tuple[Fraction, Fraction] | None = None
    group_bounds: tuple[Fraction, Fraction] | None = None
    points: tuple[Fraction, ...] = ()
    column: Field | None = None
    other: Polynomial | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the request wrote; None is the missing one."""

    value: Fraction | str | bool | datetime.date | None

    def __eq__(self, other: object) -> bool:
        # For Python TRUE is 1, and a question that asks for one is not the other.
        return isinstance(other, Constant) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self._told)

    @property
    def _told(self) -> tuple[bool, Fraction | str | bool | datetime.date | None]:
        return isinstance(self.value, bool), self.value


@dataclass(frozen=True, slots=True)
class Computed:
    """What is computed from released values, for nothing: numbers, texts, dates and truth values.

    Parameters
    ----------
    function
        What is computed. `case` has conditions and values in turn, then the value of all other rows.
    parts
        What it is computed from. Made by the functions of `plan.after`.
    """

    function: Function
    parts: tuple[Key | Aggregate | Constant | Computed | Windowed, ...]


@dataclass(frozen=True, slots=True)
class Windowed:
    """What is computed from the same thing in several rows of an answer, for nothing.

    Parameters
    ----------
    function
        What is computed.
    what
        Of what; None for ranks, and to count rows.
    partition
        Rows with the same of these are looked at together: keys, or what is computed of keys alone.
    order
        What they are sorted by; ranks and neighbours follow it. Nothing else is sorted by what is noisy.
    frame
        How many rows before and after each are looked at, None for all; of no frame all rows of a partition,
        or where they are sorted those up to each and its equals.
    distance, otherwise
        How many rows before or after a neighbour stands, and what is shown where there is none.
    """

    function: WindowFunction
    what: Key | Aggregate | Constant | Computed | None
    partition: tuple[Key | Computed, ...]
    order: tuple[Ordering, ...]
    frame: tuple[int | None, int | None] | None = None
    distance: int = 1
    otherwise: Constant = Constant(None)


Shown = Key | Aggregate | Constant | Computed | Windowed
"""What a column of an answer may be, and what HAVING and ORDER BY look at."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer, under a name: a group key, an aggregate, or what is computed from these."""

    name: str
    what: Key | Aggregate | Constant | Computed | Windowed


@dataclass(frozen=True, slots=True)
class Ordering:
    """One thing that rows are sorted by."""

    what: Key | Aggregate | Constant | Computed | Windowed
    descending: bool
    missing_first: bool


@dataclass(frozen=True, slots=True)
class After:
    """Which rows of an answer are shown, and in which order: decided by released values alone.

    Parameters
    ----------
    having
        Rows are shown where it is true; None shows all.
    order
        What rows are sorted by, the first one first; ties stay in the order of the keys.
    offset, limit
        How many rows are left out first, and how many are shown at most.
    qualify
        The same as `having`, of what is computed from several of the rows that it leaves.
    """

    having: Computed | None = None
    order: tuple[Ordering, ...] = ()
    offset: int = 0
    limit: int | None = None
    qualify: Computed | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """One SELECT of several whose rows are listed one below the other, with what the whole measures for it.

    Parameters
    ----------
    asked
        The SELECT as a question of its own: its WHERE says which groups it lists.
    sets
        Its grouping sets, among those of the whole.
    outputs
        Its columns: of the rows that it counts, which are not all that the whole counts.
    having, order, qualify
        Which of its groups are shown, and what the rows of the whole are sorted by, in it.
    """

    asked: Plan
    sets: tuple[tuple[Key, ...], ...]
    outputs: tuple[Key | Aggregate | Constant | Computed | Windowed, ...]
    having: Computed | None
    order: tuple[Key | Aggregate | Constant | Computed | Windowed, ...]
    qualify: Computed | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What the request asks to be tightened; None leaves the owner's policy as it is."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_rows: int | None = None
    max_groups: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The most one query may be charged. The owner sets it; a request can only ask for less."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.at_least(MIN_EPSILON, epsilon=self.epsilon))
        object.__setattr__(self, "delta", checks.delta(delta=self.delta))


class _Remembered:
    """A place for what follows from a plan and is asked for again and again. It is no part of the plan."""

    __slots__ = ("_asked_for", "_branches_shown", "_sets_shown")
    _asked_for: tuple[Aggregate, ...]
    _branches_shown: tuple[Branch, ...]
    _sets_shown: tuple[tuple[Key, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(_Remembered):
    """A checked question.

    Parameters
    ----------
    table
        The private table.
    joins
        Tables joined to it, in order.
    where
        Which rows count.
    sets
        The grouping sets: one group-by each, sorted; `((),)` for a single number.
    outputs
        The columns of the answer, in the order asked.
    options
        What the request tightened.
    after
        Which rows of the answer are shown, in which order.
    units
        Where the question is about one row for each unit: that relation, which then is the table.
    branches
        Where it is several SELECTs below one another: each. The columns have the names of the first.
    """

    table: str
    joins: tuple[Join, ...]
    where: Condition
    sets: tuple[tuple[Key, ...], ...]
    outputs: tuple[Output, ...]
    options: Options
    after: After = After()
    units: Units | None = None
    branches: tuple[Branch, ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """Everything that some grouping set groups by, sorted."""
        return sort_keys(key for keys in self.sets for key in keys)

    @property
    def shown_sets(self) -> tuple[tuple[Key, ...], ...]:
        """The grouping sets in the order of the answer's rows: keys as they were selected, then others."""
        try:
            found: tuple[tuple[Key, ...], ...] = self._sets_shown
        except AttributeError:
            shown = [what for branch in self.shown_branches for what in branch.outputs]
            selected = [what for what in shown if isinstance(what, Field | ComputedKey)]
            order = {key: place for place, key in enumerate(dict.fromkeys([*selected, *self.keys]))}
            turned = [tuple(sorted(keys, key=order.__getitem__)) for keys in self.sets]
            found = tuple(sorted(turned, key=lambda keys: [order[key] for key in keys]))
            object.__setattr__(self, "_sets_shown", found)
        return found

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Everything that is asked of the data, each once: what is shown, computed with or looked at."""
        try:
            found: tuple[Aggregate, ...] = self._asked_for
        except AttributeError:
            found = self._list_aggregates(self.shown_branches)
            object.__setattr__(self, "_asked_for", found)
        return found

    def list_measured(self, keys: tuple[Key, ...]) -> tuple[Aggregate, ...]:
        """Return what is asked of the groups of one grouping set."""
        return self._list_aggregates([one for one in self.shown_branches if keys in one.sets])

    @property
    def shown_branches(self) -> tuple[Branch, ...]:
        """The SELECTs that the rows of the answer come from: itself, where it is one."""
        if self.branches:
            return self.branches
        try:
            found: tuple[Branch, ...] = self._branches_shown
        except AttributeError:
            found = (self._show_alone(),)
            object.__setattr__(self, "_branches_shown", found)
        return found

    def _show_alone(self) -> Branch:
        outputs, order = (one.what for one in self.outputs), (one.what for one in self.after.order)
        after = self.after
        return Branch(self, self.sets, tuple(outputs), after.having, tuple(order), after.qualify)

    def list_column(self, name: str) -> tuple[Shown, ...]:
        """Return what a column is in each SELECT."""
        place = [output.name for output in self.outputs].index(name)
        return tuple(branch.outputs[place] for branch in self.shown_branches)

    def _list_aggregates(self, branches: Iterable[Branch]) -> tuple[Aggregate, ...]:
        looked_at = [what for branch in branches for what in list_looked_at(branch)]
        return tuple(
            dict.fromkeys(leaf for one in looked_at for leaf in leaves(one) if isinstance(leaf, Aggregate))
        )


def list_looked_at(branch: Branch) -> list[Shown]:
    """Return everything that is shown or looked at in one SELECT."""
    conditions = [one for one in (branch.having, branch.qualify) if one is not None]
    return [*branch.outputs, *branch.order, *conditions]


def leaves(what: Shown) -> Iterator[Key | Aggregate]:
    """Yield the keys and aggregates that something is computed from, as they are written."""
    rest = [what]
    while rest:
        one = rest.pop()
        if isinstance(one, Computed):
            rest.extend(reversed(one.parts))
        elif isinstance(one, Windowed):
            rest.extend(reversed(list_window(one)))
        elif not isinstance(one, Constant):
            yield one


def operands(what: Shown) -> Iterator[Key | Aggregate | Windowed]:
    """Yield what the value of something in one row is computed from."""
    rest = [what]
    while rest:
        one = rest.pop()
        if isinstance(one, Computed):
            rest.extend(reversed(one.parts))
        elif not isinstance(one, Constant):
            yield one


def list_window(window: Windowed) -> list[Shown]:
    """Return what is looked at in each row of a window."""
    own: list[Shown] = [] if window.what is None else [window.what]
    return [*own, *window.partition, *(one.what for one in window.order)]
