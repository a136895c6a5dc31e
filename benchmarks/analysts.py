"""Analyst privacy: the error of every mode beside a conversation with nothing hidden, in one run.

The caps say how many analysts and queries there may be, and every noise is calibrated to them. Two analysts
ask, up to 500 queries each; the rest of the book is empty, which changes nothing for a mode that keeps
analysts apart. Errors are the largest of all these queries, as shares of the rows, the mean of a few runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import adult
from discreet.analysts.planner import WARM, Mode, Setting, outlook
from discreet.analysts.promises import Asked, OneAnalystToMany, OneQueryToMany
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.query_game import QueryGame
from discreet.core.neighbours import Replace
from discreet.queries.histogram import Histogram
from discreet.queries.marginals import Marginals
from discreet.queries.query import LinearQuery, ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.release.marginals import Residuals
from discreet.release.multiplicative_weights import MultiplicativeWeights
from discreet.release.warm_start import all_marginals

EPSILON, DELTA = 1, 1e-6
RUNS, ASKING, FULL = 3, 2, 500
CHOICE_BAR, PRICE_BAR, TIME_BAR = 1.2, 2.0, 120
WORK = 4e8  # rounds times (cells + places) above which a game is not played
BITS = 2e9  # cells times places above which a game's table is too large to make
UPDATES = 40

Floats = NDArray[Any]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    histogram: Histogram
    caps: Caps
    order: int | None

    @property
    def setting(self) -> Setting:
        """What is public of it."""
        return Setting(
            universe=self.histogram.universe,
            rows=self.histogram.total,
            caps=self.caps,
            epsilon=EPSILON,  # type: ignore[arg-type]
            delta=DELTA,  # type: ignore[arg-type]
            analyst_epsilon=EPSILON,  # type: ignore[arg-type]
            analyst_delta=DELTA,  # type: ignore[arg-type]
            order=self.order,
        )


def verdict(value: float, bar: float) -> str:
    return f"bar {bar:g} {'met' if value <= bar else 'MISSED'}"


def cells(universe: Universe, order: int, generator: Any) -> ProductQuery:
    """Ask for one cell of a table over up to `order` attributes."""
    most = min(order, len(universe.shape))
    chosen = generator.choice(len(universe.shape), generator.integers(1, most + 1), replace=False)
    axes = tuple(sorted(chosen.tolist()))
    masks = [np.arange(universe.shape[a]) == generator.integers(universe.shape[a]) for a in axes]
    return ProductQuery(universe, axes, "cell", masks=masks)


def predicate(universe: Universe, generator: Any) -> TableQuery:
    """Ask for a random half of all cells."""
    axes = tuple(range(len(universe.shape)))
    return TableQuery(universe, axes, "half", table=generator.random(universe.shape) < 0.5)


def full_books(row: Row, generator: Any) -> QueryBook:
    universe, caps = row.histogram.universe, row.caps
    asking, each = min(ASKING, caps.analysts), min(FULL, caps.queries)

    def one() -> LinearQuery:
        return predicate(universe, generator) if row.order is None else cells(universe, row.order, generator)

    asked: dict[str, list[LinearQuery]] = {f"a{place}": [] for place in range(caps.analysts)}
    for place in range(asking):
        asked[f"a{place}"] = [one() for _ in range(each)]
    return book_of(universe, caps, asked)


def mode_error(mode: Mode, row: Row, book: QueryBook, truth: dict[int, float]) -> float | None:
    """Return the largest error of a mode, mean of some runs; None for a game that is too large to play."""
    made: Any = mode.make()
    universe, places = row.histogram.universe, row.caps.places
    if "game" in mode.name and (
        made.rounds * (universe.size + places) > WORK or universe.size * places > BITS
    ):
        return None
    runs = 1 if "game" in mode.name or "budgets" in mode.name else RUNS
    worst = []
    for _ in range(runs):
        delivery = made.release(Asked(row.histogram, book)).value
        found: dict[int, float] = {}
        for name in list(book.names)[:ASKING]:
            found |= delivery.answers(name, book)
        worst.append(max(abs(found[place] - true) for place, true in truth.items()))
    return float(np.mean(worst)) / row.histogram.total


def data_only_error(row: Row, book: QueryBook, truth: dict[int, float]) -> float:
    """Return the largest error of one conversation that all share, with a warm start from small tables."""
    setting = row.setting
    public: dict[str, Any] = {"delta": DELTA, "neighbours": Replace("row")}
    small = Marginals(setting.universe, all_marginals(setting.universe, row.order or 2)[0])
    mechanism = MultiplicativeWeights(
        universe=setting.universe,
        epsilon=EPSILON,
        updates=UPDATES,
        rows=setting.rows,
        questions=FULL * ASKING,
        start=Residuals(workload=small, epsilon=WARM * setting.epsilon, **public),
        **public,
    )
    queries = dict(book.items())
    worst = []
    for _ in range(RUNS):
        conversation: Any = mechanism.open(row.histogram)
        given = conversation.ask_many(Queries(setting.universe, [queries[place] for place in truth]))
        worst.append(float(np.abs(given.values - np.array(list(truth.values()))).max()))
    return float(np.mean(worst)) / setting.rows


def report(row: Row, generator: Any) -> tuple[float, float]:
    """Print a row and return how far the planner's choice is from the best, and the price."""
    book = full_books(row, generator)
    truth = {place: float(query.evaluate(row.histogram)) for place, query in book.items()}
    alone = data_only_error(row, book, truth)
    views = [outlook(row.setting, promise) for promise in (OneQueryToMany(), OneAnalystToMany())]
    # The two promises differ in their game only, which comes last in both lists where it comes at all.
    modes = {mode.name: mode for view in views for mode in view.modes}
    measured = {name: mode_error(mode, row, book, truth) for name, mode in modes.items()}
    known = {name: off for name, off in measured.items() if off is not None}
    best, chosen = min(known, key=known.__getitem__), views[1].best.name
    caps = row.caps
    print(f"{row.name}, {row.histogram.total:,} rows, {caps.analysts} analysts x {caps.queries} queries")
    predicted = views[0].data_only / row.histogram.total
    print(f"  {'nothing hidden':17} {alone:.6f} measured, {predicted:.6f} predicted")
    for name, mode in modes.items():
        off = measured[name]
        said = "not played: too large" if off is None else f"{off:.6f} measured"
        print(f"  {name:17} {said}, {mode.error / row.histogram.total:.6f} predicted")
    # Where any predicate may come, a warm start from the whole table is predicted but takes too long to run.
    ratio, price = known[chosen] / known[best], known[chosen] / min(alone, predicted)
    print(
        f"  chosen {chosen}, {ratio:.2f} of the best ({best}), {verdict(ratio, CHOICE_BAR)}; "
        f"price of analyst privacy {price:.2f}, {verdict(price, PRICE_BAR)}"
    )
    return ratio, price


def synthetic(bits: int, rows: int, generator: Any) -> Histogram:
    """Make a table of correlated bits: a few typical people, and noise around them."""
    universe = Universe((f"b{place}", (0, 1)) for place in range(bits))
    centres = generator.random((8, bits)) < 0.5
    flips = generator.dirichlet(np.ones(8))
    shares = np.zeros(universe.shape)
    for cell in np.ndindex(universe.shape):
        away = (centres != np.array(cell)).sum(axis=1)
        shares[cell] = float((flips * 0.2**away * 0.8 ** (bits - away)).sum())
    counts = generator.multinomial(rows, (shares / shares.sum()).reshape(-1)).reshape(universe.shape)
    return Histogram.dense(universe, counts)


def table_rows(generator: Any) -> Iterator[Row]:
    census = adult.census(adult.SMALL6)
    if census is not None:
        for caps in (Caps(3, 334), Caps(100, 1000), Caps(1000, 1000)):
            yield Row("census, cells of up to 3 attributes", census.histogram, caps, 3)
    for rows in (10**5, 10**6, 10**7):
        histogram = synthetic(10, rows, generator)
        for caps in (Caps(3, 334), Caps(100, 1000), Caps(1000, 1000)):
            yield Row("1,024 cells, any predicate", histogram, caps, None)


def game_time() -> None:
    """Print how long the query game takes at its balanced length: 1e4 rows, 2^12 cells, 1e5 queries."""
    generator = np.random.default_rng(5)  # noqa: TID251
    histogram = synthetic(12, 10**4, generator)
    universe, caps = histogram.universe, Caps(analysts=100, queries=1000)
    queries = {f"a{place}": [cells(universe, 3, generator) for _ in range(1000)] for place in range(100)}
    places = {
        1000 * number + place: query
        for number, own in enumerate(queries.values())
        for place, query in enumerate(own)
    }
    book = QueryBook(universe, caps, queries, places)
    begun = time.process_time()
    game = QueryGame(
        universe=universe,
        caps=caps,
        rows=10**4,
        epsilon=EPSILON,
        delta=DELTA,
        analyst_epsilon=EPSILON,
        analyst_delta=DELTA,
    )
    planned = time.process_time()
    game.release(Asked(histogram, book), progress=True)
    taken = time.process_time() - begun
    print(
        f"query game, 1e4 rows, 2^12 cells, 1e5 queries: {game.rounds} rounds in {taken:.1f} s of CPU "
        f"({planned - begun:.1f} s to plan), {verdict(taken, TIME_BAR)}"
    )


def main() -> None:
    """Print everything."""
    generator = np.random.default_rng(11)  # noqa: TID251
    found = [report(row, generator) for row in table_rows(generator)]
    worst, price = (max(numbers) for numbers in zip(*found, strict=True))
    print(f"all rows: choice at most {worst:.2f} of the best, {verdict(worst, CHOICE_BAR)}")
    print(f"          price at most {price:.2f}, {verdict(price, PRICE_BAR)}")
    game_time()


if __name__ == "__main__":
    main()
