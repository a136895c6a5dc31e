"""Any statistics of many analysts: independent noise for as many as the public caps allow.

The source answers queries that are not linear by weights over all possible tables, whose number is
exponential in the rows. This is the way that is not: every statistic has noise of its own, and its owner
alone receives it, so there is nothing that analysts could learn of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from discreet.analysts.apart import Apart, Nothing
from discreet.analysts.promises import AnalystRelease, Delivery, Leftover
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import (
    Combined,
    Distance,
    HowMany,
    Ranked,
    Statistic,
    Trusted,
    write_statistic,
)
from discreet.analysts.tiny import BUDGET, COIN, PEOPLE
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Fixed, build
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, MaybeExact, Public, derived, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import up
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import Grid, evaluate_finite
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import read_name
from discreet.query_release.base import read_histogram
from discreet.query_release.linear.joint_noise import Joint
from discreet.query_release.tiny import list_pairs


@dataclass(frozen=True, slots=True)
class OwnAnswers(Delivery):
    """What one release sends to whom: to everybody her own answers, and nothing else."""

    def answers(self, analyst: str, book: Any) -> dict[int, float]:
        """Return an analyst's answers, by place."""
        del book  # everything is in what she received
        return {answer.place: answer.count for answer in self.leftovers(analyst)}


@frozen
class AnyQueries(Apart):
    """Answer every statistic by itself, with noise for as many of them as the caps allow.

    Privacy: (epsilon, delta) for one row: Laplace noise, or Gaussian where it is less, for places that each
    move by up to `sensitivity`. Nothing between analysts: the noise depends on the caps and not on the book.
    Accuracy: error(beta) is the exact quantile of the largest of all noises, plus the grid's rounding.
    Time: O(places), and that of the statistics.

    Parameters
    ----------
    universe
        What all statistics are over.
    caps
        How many analysts, and how many statistics each. Public.
    sensitivity
        How far one row may move a statistic at most. Public; the book takes none that moves further.
    epsilon, delta
        The budget for the people in the data; delta may be 0.
    neighbours
        The change of the data that is hidden.
    grid
        The unit that values are rounded to. Without it only statistics of whole numbers are taken.
    trusted
        The functions whose writers the owner of the data believes. Public; the book takes no others.
    """

    sensitivity: Exact = public(checks.positive)
    grid: MaybeExact = public(checks.positive, default=None)
    trusted: Public[Iterable[Trusted], tuple[Trusted, ...]] = public(
        checks.each, checks.instance, Trusted, default=()
    )
    noise: Joint = derived()

    def _complete(self) -> None:
        if self.steps < 1:
            hint = "Declare a grid for statistics that move by less than one"
            rule = ">= 1 for whole numbers"
            raise InvalidParameter(name="sensitivity", rule=rule, value=self.sensitivity, hint=hint)
        self._set(noise=self._smallest_noise(self.steps))

    @property
    def steps(self) -> int:
        """How far one row may move a statistic, in units of the grid, after rounding."""
        return Grid(self.grid).shift(self.sensitivity, 1)

    @property
    def loss(self) -> Loss:
        """The curve of the noise."""
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all places, rounding included."""
        grid = Grid(self.grid)
        return up(Fraction(self.noise.error(beta)) * grid.step + grid.rounding)

    def book(self, asked: Mapping[str, Iterable[Statistic]]) -> StatisticBook:
        """Return the book of analysts with their statistics, each of which must keep the public limits."""
        book = StatisticBook(self, asked)
        for name, statistics in asked.items():
            book = book.with_statistics(name, statistics)
        return book

    def release(  # type: ignore[override]  # its book is of another kind
        self,
        data: AskedStatistics | Sensitive[AskedStatistics],
        *,
        rng: Rng = SYSTEM,
        progress: bool = False,
    ) -> AnalystRelease:
        """Draw one release. It costs both guarantees, whatever comes out."""
        return Apart.release(self, cast("Any", data), rng=rng, progress=progress)

    def _draw(self, data: Any, rng: Rng) -> Delivery:
        asked = self.check(data)
        units = np.zeros(self.caps.places, dtype=np.int64)
        for place, statistic in asked.book.items():
            units[place] = self._units(statistic, asked.histogram)
        # Empty places get noise too, and are sent to nobody.
        noisy = Grid(self.grid).from_units(np.ravel(self.noise.release(units, rng=rng).value))
        private = tuple(
            (name, tuple(Leftover(place, float(noisy[place])) for place in asked.book.list_asked(name)))
            for name in asked.book.names
        )
        return OwnAnswers(Nothing(self.universe), private)

    def check(self, data: Any, *, rows: int | None = None) -> AskedStatistics:
        """Return data that must be statistics of a book of this mechanism, and a table of a public size."""
        if type(data) is not AskedStatistics:
            rule, hint = "an AskedStatistics", "Make one with AskedStatistics(histogram, book)"
            raise InvalidParameter(name="data", rule=rule, got=f"a {type(data).__name__}", hint=hint)
        if not self._is_same(data.book.mode):
            raise InvalidParameter(name="data", rule="a book of this mechanism", got="another's")
        read_histogram(data.histogram, self.universe, neighbours=self.neighbours, rows=rows)
        return data

    def _is_same(self, other: AnyQueries) -> bool:
        # The very functions: whoever writes one may also write what it equals.
        pairs = zip(self.trusted, other.trusted, strict=False)
        return self == other and all(mine.function is theirs.function for mine, theirs in pairs)

    def _units(self, statistic: Statistic, histogram: Histogram) -> int:
        # Whatever goes wrong in one analyst's statistic must not stop the answers of the others.
        value = evaluate_finite(statistic.value, histogram, Fraction(0))
        return int(Grid(Grid(self.grid).step).to_units(value, 1))


class StatisticBook(Fixed):
    """Who asks which statistics. Who takes part is public; what she asks, and how much, is not.

    Made by `AnyQueries.book`. Whatever the public limits forbid is refused here, towards its owner and before
    any data are read, so that a release never fails because of somebody's question.
    """

    __slots__ = ("_asked", "mode")
    mode: AnyQueries
    _asked: Mapping[str, tuple[Statistic, ...]]

    def __init__(self, mode: AnyQueries, names: Iterable[str]) -> None:
        self._set(mode, {read_name(checks.text(names=name)): () for name in names})

    def _set(self, mode: AnyQueries, asked: Mapping[str, tuple[Statistic, ...]]) -> None:
        self.mode, self._asked = checks.exactly(AnyQueries, mode=mode), MappingProxyType(dict(asked))
        if len(self._asked) > mode.caps.analysts:
            rule = f"at most {mode.caps.analysts} different names"
            raise InvalidParameter(name="names", rule=rule, value=self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The analysts, in the order they registered."""
        return tuple(self._asked)

    def with_statistics(self, analyst: str, statistics: Iterable[Statistic]) -> StatisticBook:
        """Return the book with more statistics of one analyst; everybody else's stay where they are."""
        new = tuple(map(self._read_statistic, islice(statistics, self.mode.caps.queries + 1)))
        own = (*self._asked[checks.one_of(self.names, analyst=analyst)], *new)
        if len(own) > self.mode.caps.queries:
            raise Refused(
                what=f"statistic number {self.mode.caps.queries + 1} of one analyst",
                why=f"the public cap is {self.mode.caps.queries}",
                way_out="Ask less, or open a book with larger caps",
            )
        return build(StatisticBook, StatisticBook._set, self.mode, {**self._asked, analyst: own})

    def list_asked(self, analyst: str) -> dict[int, Statistic]:
        """Return one analyst's statistics by place."""
        number = self.names.index(checks.one_of(self.names, analyst=analyst))
        return dict(enumerate(self._asked[analyst], start=number * self.mode.caps.queries))

    def items(self) -> Iterator[tuple[int, Statistic]]:
        """List all places that are taken. Only mechanisms should call this."""
        for name in self.names:
            yield from self.list_asked(name).items()

    def _read_statistic(self, given: Statistic) -> Statistic:
        mode, statistic = self.mode, write_statistic(checks.instance(Statistic, statistic=given))
        if statistic.universe != mode.universe:
            rule = "over the universe of the book"
            raise InvalidParameter(name="statistic", rule=rule, got="another one")
        # The very objects: whoever writes a function may also write what it equals.
        if any(all(one is not known for known in mode.trusted) for one in statistic.trusted):
            way_out = "Ask the owner of the data to review the function and to put it into `trusted`"
            raise _refuse("it rests on a promise that nobody has vouched for", way_out)
        if mode.grid is None and not statistic.is_whole:
            raise _refuse("its values need not be whole numbers", "Declare a grid")
        if statistic.sensitivity(mode.neighbours) > mode.sensitivity:
            why = f"one row may move it by more than the public limit, {float(mode.sensitivity):g}"
            raise _refuse(why, "Divide it by a factor, or open a book with a larger limit")
        return statistic

    def __repr__(self) -> str:
        # Not how much was asked: that is nobody else's business.
        return f"<StatisticBook: {len(self.names)} analysts, at most {self.mode.caps.queries} each>"


def _refuse(why: str, way_out: str) -> Refused:
    return Refused(what="a statistic", why=why, way_out=way_out)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AskedStatistics:
    """What the curator holds: the data, and who asked what. Both are private, each towards someone else."""

    histogram: Histogram
    book: StatisticBook

    def __post_init__(self) -> None:
        checks.instance(Histogram, histogram=self.histogram)
        checks.exactly(StatisticBook, book=self.book)

    def __repr__(self) -> str:
        return f"<AskedStatistics: {self.histogram!r}, {self.book!r}>"


_SIDES = Marginals(COIN, [["x"]])
_AGES, _PAIRS = Marginals(PEOPLE, [["age"]]), Marginals(PEOPLE, [["age", "region"]])
_TABLE = Histogram.dense(PEOPLE, np.arange(64) * 3)


def _example() -> tuple[AnyQueries, AskedStatistics]:
    mode = AnyQueries(universe=PEOPLE, caps=Caps(analysts=3, queries=2), sensitivity=1, **BUDGET)
    asked: dict[str, list[Statistic]] = {
        "acme": [Ranked(_PAIRS, rank=1), HowMany(_PAIRS, at_least=20)],
        "blue": [],
        "cork": [Ranked(_AGES, rank=4)],
    }
    return mode, AskedStatistics(_TABLE, mode.book(asked))


def _tiny() -> Iterator[Tiny]:
    gap = Distance(_SIDES.subset([0]), _SIDES.subset([1]), norm=1)
    most, present = Ranked(_SIDES, rank=1), HowMany(_SIDES, at_least=1)
    quarter = Combined([(Fraction(1, 4), gap)])  # a row moves it by 3/2 units of 1/3: by 2 once rounded
    for asked, epsilon, delta, neighbours, limit, grid in (
        ([most, present], 12, 0, AddRemove("row"), 1, None),
        ([gap], 4, 0, Replace("row"), 2, None),
        ([most], Fraction(3, 2), Fraction(1, 4), AddRemove("row"), 1, None),
        ([quarter], 4, 0, Replace("row"), Fraction(1, 2), Fraction(1, 3)),
    ):
        mode = AnyQueries(
            universe=COIN,
            caps=Caps(analysts=len(asked), queries=1),
            sensitivity=limit,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            grid=grid,
        )
        book = mode.book({str(place): [statistic] for place, statistic in enumerate(asked)})
        pairs = list_pairs(COIN, neighbours, 2)
        yield Tiny(mode, [(AskedStatistics(a, book), AskedStatistics(b, book)) for a, b in pairs])


CARD = Card(
    title="Statistics of bounded sensitivity, linear or not, each answered to its owner alone",
    theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
    reference="[HRU13] Section 5, end; [DR14] Theorems 3.6 and 3.22",
    example=_example,
    tiny=_tiny,
)
