"""Online, one query to many, for any statistics: weights over all tables, where these can be listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from discreet.analysts.any_queries import AnyQueries, AskedStatistics, OwnAnswers, StatisticBook
from discreet.analysts.learns_online import Asked, LearnsOnline
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.promises import AnalystRelease, Leftover, ManyAnalysts
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import HowMany, Ranked, Statistic, Trusted
from discreet.analysts.tiny import COIN
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound, Refused
from discreet.core.fixed import Array, Integers, fix_array
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, MaybeExact, Public, derived, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import up
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import LIMIT, Grid, evaluate_finite
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.synopses.synopsis import Weights

MOST_TABLES = 20_000
"""So many tables can there be at most; each is a candidate with a weight of its own."""


class SampledTables(Weights):
    """Tables that were drawn, and how often each; their mean answers counting queries.

    Attributes
    ----------
    tables
        The counts of each table that was drawn, one a row.
    shares
        How often it was drawn, as a share of all draws.
    """

    def __init__(self, universe: Universe, tables: Integers, shares: Array, *, transcript: Any) -> None:
        super().__init__(universe, shares @ tables, transcript=transcript)
        self.tables, self.shares = tables, shares


@frozen
class OnlineStatistics(LearnsOnline):
    """Answer statistics tick by tick from drawn tables that learn; each stays hidden from the other analysts.

    As `OnlineQueries`, over tables in place of cells: every table of `rows` rows is a candidate, with one
    weight, and a statistic that the drawn tables answer badly moves the weights.

    Privacy: (epsilon, delta) for one row, composed over one pure sparse-vector conversation an analyst; and
    for one statistic (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 5, end.
    Accuracy: error(beta) for all answers at once, for beta of at least 0.05 and sizes left out.
    Time: O(places * tables + updates * samples * tables), and that of the statistics. The number of tables is
    binomial(rows + cells - 1, rows), and refused above 20,000; `baseline` has no such limit.

    Parameters
    ----------
    universe
        What all statistics are over.
    caps
        How many analysts, and how many statistics each. Public; there are `caps.queries` ticks.
    sensitivity, grid, trusted
        What a statistic may be; as in `AnyQueries`.
    rows, epsilon, delta, analyst_epsilon, analyst_delta, sizes, bound
        As in `OnlineQueries`.
    neighbours
        The change of the data that is hidden: `Replace`.

    Raises
    ------
    Refused
        Where there are too many tables, or no sizes promise an error below `bound`.
    """

    sensitivity: Exact = public(checks.positive)
    grid: MaybeExact = public(checks.positive, default=None)
    trusted: Public[Iterable[Trusted], tuple[Trusted, ...]] = public(
        checks.each, checks.instance, Trusted, default=()
    )
    baseline: AnyQueries = derived()
    tables: int = derived()

    def _complete(self) -> None:
        baseline = AnyQueries(
            universe=self.universe,
            caps=self.caps,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            sensitivity=self.sensitivity,
            grid=self.grid,
            trusted=self.trusted,
        )
        self._set(baseline=baseline, tables=_count_tables(self.universe.size, self.rows))
        if self.span * self.caps.places > LIMIT:
            rule = "so small that all statistics together stay below 2^62 steps of the grid"
            hint = "Declare a coarser grid"
            raise InvalidParameter(name="sensitivity", rule=rule, value=self.sensitivity, hint=hint)
        LearnsOnline._complete(self)  # noqa: SLF001 - its own base

    @property
    def drawn(self) -> int:
        """The tables."""
        return self.tables

    @property
    def shift(self) -> int:
        """How many steps of the grid one row may move a statistic."""
        return self.baseline.steps

    @property
    def _gain(self) -> int:
        return self.span

    def error(self, beta: checks.Number) -> float:
        """Return alpha: no answer is off by more, but for beta, rounding included.

        Thresholds are planned for one beta, and sizes that are given for none: otherwise there is no bound.
        """
        grid = Grid(self.grid)
        return up(Fraction(self._error_units(beta)) * grid.step + grid.rounding)

    def book(self, asked: Mapping[str, Iterable[Statistic]]) -> StatisticBook:
        """Return the book of analysts with their statistics; it serves the baseline as well."""
        return self.baseline.book(asked)

    def release(  # type: ignore[override]  # its book is of another kind
        self,
        data: AskedStatistics | Sensitive[AskedStatistics],
        *,
        rng: Rng = SYSTEM,
        progress: bool = False,
    ) -> AnalystRelease:
        """Draw one release. It costs both guarantees, whatever comes out."""
        held: Any = data
        return ManyAnalysts.release(self, held, rng=rng, progress=progress)

    # What the tables are ------------------------------------------------------------------------------

    def _refuse(self, needed: float) -> NoBound:
        epsilon = float(self.epsilon) * needed / self.rows
        return NoBound(
            what=f"online statistics on {self.rows} rows",
            why=f"the error it can promise is not below {float(self.bound):.3g} of what they can be apart",
            way_out=f"It takes about epsilon {epsilon:.2g}; or use AnyQueries, which has noise for each "
            "statistic and is perfectly private between analysts",
        )

    def _read_asked(self, data: Any) -> Asked:
        book = self.baseline.check(data, rows=self.rows).book
        return Asked(data.histogram, book.names, {name: book.list_asked(name) for name in book.names})

    def _guess(self, tally: Integers | None, history: tuple[Any, ...]) -> SampledTables:
        drawn = np.ones(self.tables, dtype=np.int64) if tally is None else tally
        kept = np.flatnonzero(drawn)
        shares = drawn[kept] / drawn.sum()
        return SampledTables(self.universe, self._list_tables()[kept], shares, transcript=history)

    def _answer_from(self, guess: Weights, question: Statistic) -> float:
        drawn: Any = guess
        return float(drawn.shares @ self._values(question, drawn.tables))

    def _true_answer(self, question: Statistic, histogram: Histogram) -> int:
        # Whatever goes wrong in one analyst's statistic must not stop the answers of the others.
        value = evaluate_finite(question.value, histogram, Fraction(0))
        return int(Grid(Grid(self.grid).step).to_units(value, 1))

    def _gains(self, question: Statistic) -> Integers:
        values = self._values(question, self._list_tables())
        least = int(values.min())
        # No two tables are further apart, if the promise of a trusted function holds; here it must. What is
        # far beyond is cut off before anything is subtracted: the difference would leave 64 bits.
        return np.asarray(np.minimum(values, min(least + self.span, LIMIT)) - least)

    def _limits(self, question: Statistic) -> tuple[float, float]:
        values = self._values(question, self._list_tables())
        return float(values.min()), float(values.max())

    @property
    def _unit(self) -> float:
        return float(Grid(self.grid).step)

    def _deliver(self, guess: Weights, private: Iterable[tuple[str, tuple[Leftover, ...]]]) -> OwnAnswers:
        return OwnAnswers(guess, tuple(private))

    def _list_tables(self) -> Integers:
        return _list_tables(self.universe.size, self.rows)

    def _values(self, question: Statistic, tables: Integers) -> Integers:
        """Return the statistic of some made-up tables, in units."""
        shape = self.universe.shape
        made = (Histogram.dense(self.universe, counts.reshape(shape)) for counts in tables)
        return np.array([self._true_answer(question, table) for table in made], dtype=np.int64)


def _count_tables(cells: int, rows: int) -> int:
    count = math.comb(rows + cells - 1, rows) if min(cells, rows) < MOST_TABLES else MOST_TABLES + 1
    if count > MOST_TABLES:
        raise Refused(
            what=f"weights over all tables of {rows} rows in {cells} cells",
            why=f"there are more than the {MOST_TABLES:,} that can be listed",
            way_out="Use AnyQueries, whose noise takes no list",
        )
    return count


@lru_cache(maxsize=4)
def _list_tables(cells: int, rows: int) -> Integers:
    """Return the counts of all tables, one a row, in a fixed order."""
    # Bars among stars: the gaps between bars are the counts.
    bars = np.array(list(combinations(range(rows + cells - 1), cells - 1)), dtype=np.int64)
    bars = bars.reshape(math.comb(rows + cells - 1, cells - 1), cells - 1)
    ends = np.full((len(bars), 1), rows + cells - 1)
    return fix_array(np.diff(bars, prepend=-1, append=ends, axis=1) - 1)


_LOUD: dict[str, Any] = {"analyst_epsilon": 1, "analyst_delta": 1e-6, "neighbours": Replace("row")}
_SIDES = Marginals(COIN, [["x"]])


def _example() -> tuple[OnlineStatistics, AskedStatistics]:
    caps = Caps(analysts=2, queries=3)
    mechanism = OnlineStatistics(
        universe=COIN, caps=caps, rows=300, sensitivity=1, epsilon=8, delta=1e-6, **_LOUD
    )
    asked: dict[str, list[Statistic]] = {
        "acme": [Ranked(_SIDES, rank=1), HowMany(_SIDES, at_least=140)],
        "bolt": [Ranked(_SIDES, rank=2)],
    }
    return mechanism, AskedStatistics(Histogram.dense(COIN, [210, 90]), mechanism.book(asked))


def _tiny() -> Iterator[Tiny]:
    mechanism = OnlineStatistics(
        universe=COIN,
        caps=Caps(analysts=1, queries=2),
        rows=1,
        sensitivity=1,
        epsilon=24,
        delta=0,
        analyst_epsilon=400,
        analyst_delta=0.01,
        sizes=OnlineSizes(updates=1, samples=1, batch=1, rate=Fraction(2), positives=1, threshold=0),
        neighbours=Replace("row"),
    )
    one, other = (Ranked(_SIDES.subset([side]), rank=1) for side in (1, 0))
    book = mechanism.book({"first": [one, other]})
    tails, heads = (AskedStatistics(Histogram.dense(COIN, counts), book) for counts in ([1, 0], [0, 1]))
    yield Tiny(mechanism, [(tails, heads)])


CARD = Card(
    title="Statistics one after the other, answered from drawn tables that learn, where tables can be listed",
    theorem="(epsilon, delta) for one row, and for one statistic towards all other analysts together",
    reference="[HRU13] Section 5, end, with Algorithm 5 as corrected",
    example=_example,
    tiny=_tiny,
)
