"""Statistics: numbers about a table that need not be linear, yet move little with one row.

Most kinds here are functions of counts, and their sensitivity follows from how they are made: nobody has to
be believed. `Trusted` is the one exception, and says so in its name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.neighbours import AddRemove, Neighbours
from discreet.mechanisms.grid import evaluate_finite
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery, TableQuery, require_table
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.queries.written import write_workload
from discreet.query_release.base import require_rows
from discreet.query_release.tiny import list_pairs


class Statistic(ABC):
    """A number about a table, with a bound on how far one row moves it. Public and free of data."""

    __slots__ = ()
    universe: Universe

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return a bound on the distance between the values of neighbours."""

    @abstractmethod
    def value(self, histogram: Histogram) -> Fraction:
        """Return the true value. Only mechanisms should call this."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether every value is a whole number."""

    @property
    def trusted(self) -> tuple[Trusted, ...]:
        """The promises of others that the bound rests on."""
        return ()


@dataclass(frozen=True, slots=True, init=False)
class OfCounts(Statistic):
    """A function of the answers of a workload with whole weights."""

    workload: Workload

    def _set_workload(self, workload: Workload) -> None:
        fixed = write_workload(workload)
        if not fixed.is_integral:
            raise InvalidParameter(
                name="workload",
                rule="one of whole weights",
                got="real ones",
                hint="Multiply the weights until they are whole",
            )
        object.__setattr__(self, "workload", fixed)

    @property
    def universe(self) -> Universe:  # type: ignore[override]
        """What the counts are over."""
        return self.workload.universe

    @property
    def is_whole(self) -> bool:
        """Whether every value is a whole number: it is."""
        return True

    def value(self, histogram: Histogram) -> Fraction:
        """Return the true value."""
        # Python's integers: sums of sizes may leave 64 bits.
        return Fraction(self._of(self.workload.answers(histogram).tolist()))

    @abstractmethod
    def _of(self, counts: list[int]) -> int:
        """Return the function's value."""


@dataclass(frozen=True, slots=True, init=False)
class Ranked(OfCounts):
    """The count at a rank: 1 is the largest of all counts, `len(workload)` the smallest.

    Sensitivity: that of the single count that moves most. If no count moves by more than m, then as many
    counts as before are at least as large as before, less m.

    Parameters
    ----------
    workload
        The counts.
    rank
        Which of them, by size.
    """

    rank: int

    def __init__(self, workload: Workload, *, rank: int) -> None:
        self._set_workload(workload)
        object.__setattr__(
            self, "rank", checks.index(len(self.workload) + 1, rank=checks.integer(1, rank=rank))
        )

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return how far a single count can move."""
        return self.workload.sensitivity_bound(neighbours, norm=math.inf)

    def _of(self, counts: list[int]) -> int:
        return sorted(counts, reverse=True)[self.rank - 1]


@dataclass(frozen=True, slots=True, init=False)
class HowMany(OfCounts):
    """How many counts reach a threshold: groups that are large enough, or, at 1, values that occur at all.

    Sensitivity: how many of the counts one row is in. A row that is added lifts that many over the threshold
    at most, and none below it; one that is changed is removed first and added after, so the two moves are
    in opposite directions and do not add up.

    Parameters
    ----------
    workload
        The counts; every weight 0 or 1.
    at_least
        The threshold.
    """

    at_least: int

    def __init__(self, workload: Workload, *, at_least: int) -> None:
        self._set_workload(workload)
        if not self.workload.is_predicates:
            rule = "one of counting queries, every weight 0 or 1"
            raise InvalidParameter(name="workload", rule=rule, got="other weights")
        object.__setattr__(self, "at_least", checks.integer(1, at_least=at_least))

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return how many of the counts one row is in."""
        require_rows(neighbours)
        return self.workload.sensitivity_bound(AddRemove("row"), norm=1)

    def _of(self, counts: list[int]) -> int:
        return sum(count >= self.at_least for count in counts)


@dataclass(frozen=True, slots=True, init=False)
class Distance(OfCounts):
    """How far two lists of counts are apart: the sum of all gaps, or the largest.

    Sensitivity: that of the differences, which are linear queries of weights -1, 0 and 1, in the same norm.

    Parameters
    ----------
    left, right
        The counts to compare, equally many.
    norm
        1 adds all gaps up; math.inf takes the largest.
    """

    norm: float

    def __init__(self, left: Workload, right: Workload, *, norm: float) -> None:
        sides = []
        for side in (left, right):
            self._set_workload(side)
            sides.append(self.workload)
        first, second = sides
        if first.universe != second.universe or len(first) != len(second):
            rule = "as many counts as left, over the same universe"
            raise InvalidParameter(name="right", rule=rule, got="others")
        gaps = [_difference(a, b) for a, b in zip(first, second, strict=True)]
        self._set_gaps(Queries(first.universe, gaps), norm)

    @classmethod
    def of_gaps(cls, gaps: Workload, *, norm: float) -> Self:
        """Return the distance whose gaps are the answers of a workload."""
        self = cls.__new__(cls)
        self._set_gaps(gaps, norm)
        return self

    def _set_gaps(self, gaps: Workload, norm: float) -> None:
        self._set_workload(gaps)
        object.__setattr__(self, "norm", checks.one_of((1, math.inf), norm=norm))

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return how far the differences can move."""
        return self.workload.sensitivity_bound(neighbours, norm=self.norm)

    def _of(self, counts: list[int]) -> int:
        sizes = [abs(count) for count in counts]
        return sum(sizes) if self.norm == 1 else max(sizes)


@dataclass(frozen=True, slots=True, init=False)
class Combined(Statistic):
    """A sum of other statistics, each times a factor.

    Sensitivity: the sum of theirs, each times the size of its factor.

    Parameters
    ----------
    parts
        Pairs (factor, statistic) over one universe.
    """

    parts: tuple[tuple[Fraction, Statistic], ...]

    def __init__(self, parts: Iterable[tuple[checks.Number, Statistic]]) -> None:
        listed = tuple(
            (checks.exact(factor=factor), checks.instance(Statistic, statistic=statistic))
            for factor, statistic in parts
        )
        if len({statistic.universe for _, statistic in listed}) != 1:
            rule = "at least one statistic, all over one universe"
            raise InvalidParameter(name="parts", rule=rule, got="others")
        object.__setattr__(self, "parts", listed)

    @property
    def universe(self) -> Universe:  # type: ignore[override]
        """What all parts are over."""
        return self.parts[0][1].universe

    @property
    def is_whole(self) -> bool:
        """Whether every value is a whole number."""
        return all(factor.denominator == 1 and part.is_whole for factor, part in self.parts)

    @property
    def trusted(self) -> tuple[Trusted, ...]:
        """Those of the parts."""
        return tuple(one for _, part in self.parts for one in part.trusted)

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return the weighted sum of the parts' sensitivities."""
        return sum((abs(factor) * part.sensitivity(neighbours) for factor, part in self.parts), Fraction(0))

    def value(self, histogram: Histogram) -> Fraction:
        """Return the true value."""
        return sum((factor * part.value(histogram) for factor, part in self.parts), Fraction(0))


@dataclass(frozen=True, slots=True, init=False)
class Trusted(Statistic):
    """Any function of the table. Its sensitivity is a promise of whoever wrote it: nothing checks it.

    A function that raises, or returns anything but a finite number, counts as `lower`: an error message
    would be an answer that nobody paid for. The promise is about the function with that rule.

    Parameters
    ----------
    function
        Histogram -> a number. It must depend on the histogram alone, and leave no trace but that number.
    universe
        What its histograms are over.
    name
        What to call it.
    sensitivity
        The promise: the values of neighbours are at most so far apart.
    neighbours
        What the promise is about.
    lower, upper
        Declared bounds; values are clamped to them, so that no row moves one by more than their distance.
    """

    function: Callable[[Histogram], Any]
    universe: Universe
    name: str
    bound: Fraction
    neighbours: Neighbours
    lower: Fraction
    upper: Fraction

    def __init__(
        self,
        function: Callable[[Histogram], Any],
        *,
        universe: Universe,
        name: str,
        sensitivity: checks.Number,
        neighbours: Neighbours,
        lower: checks.Number,
        upper: checks.Number,
    ) -> None:
        if not callable(function):
            raise InvalidParameter(name="function", rule="a function of a histogram", value=function)
        low, high = checks.exact(lower=lower), checks.exact(upper=upper)
        if not low < high:
            raise InvalidParameter(name="upper", rule="above lower", value=upper)
        for field, given in (
            ("function", function),
            ("universe", checks.instance(Universe, universe=universe)),
            ("name", checks.text(name=name)),
            ("bound", min(checks.positive(sensitivity=sensitivity), high - low)),
            ("neighbours", require_rows(neighbours)),
            ("lower", low),
            ("upper", high),
        ):
            object.__setattr__(self, field, given)

    @property
    def is_whole(self) -> bool:
        """Whether every value is known to be a whole number: it is not."""
        return False

    @property
    def trusted(self) -> tuple[Trusted, ...]:
        """Itself."""
        return (self,)

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return what was promised for just these neighbours."""
        if neighbours != self.neighbours:
            raise NeighboursMismatch(
                f"{self.name} was promised for {self.neighbours}, and it is asked about {neighbours}"
            )
        return self.bound

    def value(self, histogram: Histogram) -> Fraction:
        """Return the true value, clamped; `lower` where there is none."""
        return max(self.lower, min(self.upper, evaluate_finite(self.function, histogram, self.lower)))


def write_statistic(statistic: Statistic) -> Statistic:
    """Return the same statistic, made anew from its fields; refuse what is of none of the kinds above.

    They are closed: a subclass could claim any sensitivity. Of `Trusted` the very object was vouched for.
    """
    kind: Any = type(statistic)
    given: Any = statistic
    if kind is Ranked:
        return Ranked(given.workload, rank=given.rank)
    if kind is HowMany:
        return HowMany(given.workload, at_least=given.at_least)
    if kind is Distance:
        return Distance.of_gaps(given.workload, norm=given.norm)
    if kind is Combined:
        return Combined([(factor, write_statistic(part)) for factor, part in given.parts])
    if kind is Trusted:
        return statistic
    raise Refused(
        what="a statistic",
        why="it is of no known kind, and could claim any sensitivity",
        way_out="Use the kinds there are",
    )


def largest_move(statistic: Statistic, neighbours: Neighbours, *, rows: int) -> Fraction:
    """Return the furthest that two neighbours of up to `rows` rows are apart, by trying all of them.

    A smaller bound is wrong. For tiny universes: to test a function before it is trusted.
    """
    pairs = list_pairs(checks.instance(Statistic, statistic=statistic).universe, neighbours, rows)
    return max(abs(statistic.value(left) - statistic.value(right)) for left, right in pairs)


def _difference(left: LinearQuery, right: LinearQuery) -> TableQuery:
    """Return the query of one weight less another's, over the attributes of both."""
    universe, axes = left.universe, tuple(sorted({*left.axes, *right.axes}))
    require_table(universe, axes, f"{left.name} less {right.name}")
    sides = [
        np.asarray(query.table(), dtype=np.int64).reshape(
            [universe.shape[axis] if axis in query.axes else 1 for axis in axes]
        )
        for query in (left, right)
    ]
    return TableQuery(universe, axes, f"{left.name} less {right.name}", table=sides[0] - sides[1])
