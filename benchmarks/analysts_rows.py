"""The tables, analysts and questions of the benchmark of analyst privacy. Run on its own, this lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import adult
from discreet.analysts.planner import ServiceSetting
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.union import Union
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload

EPSILON, DELTA = 1, 1e-6

Array = NDArray[Any]


def cells(tables: Marginals, chosen: Array) -> Workload:
    """Return some cells of marginal tables, by number; one may come often."""
    ends = np.array(tables.tables.offsets)
    parts = []
    for place, axes in enumerate(tables.sets):
        own = chosen[(ends[place] <= chosen) & (chosen < ends[place + 1])] - ends[place]
        if len(own):
            codes = np.stack(np.unravel_index(own, [tables.universe.shape[axis] for axis in axes]), axis=1)
            parts.append(Conjunctions.from_codes(tables.universe, axes, codes))
    return Union(parts)


@dataclass(frozen=True)
class Row:
    """One line of the table: the data, how much is asked, and what kind of questions."""

    name: str
    histogram: Histogram
    caps: Caps
    order: int | None

    @property
    def setting(self) -> ServiceSetting:
        """What is public of it."""
        return ServiceSetting(
            universe=self.histogram.universe,
            rows=self.histogram.total,
            caps=self.caps,
            epsilon=EPSILON,
            delta=DELTA,
            analyst_epsilon=EPSILON,
            analyst_delta=DELTA,
            order=self.order,
        )

    def page(self, generator: Any) -> Workload:
        """Return the questions of one analyst, as many as he may ask."""
        if self.order is not None:
            tables = self.setting.tables
            # A table first and then a cell of it, or nearly all questions would be about the largest ones.
            ends = np.array(tables.tables.offsets)
            chosen = generator.integers(len(ends) - 1, size=self.caps.queries)
            return cells(tables, generator.integers(ends[chosen], ends[chosen + 1]))
        universe = self.histogram.universe
        halves = generator.integers(2, size=(self.caps.queries, *universe.shape), dtype=np.uint8) > 0
        return Predicates(universe, [(universe.names, half) for half in halves])

    def book(self, generator: Any) -> QueryBook:
        """Return the book in which every analyst has asked all he may."""
        asked = {f"a{place}": self.page(generator) for place in range(self.caps.analysts)}
        return book_of(self.histogram.universe, self.caps, asked)

    def __str__(self) -> str:
        caps = self.caps
        return (
            f"{self.name}: {self.histogram.total:,} rows, {self.histogram.universe.size:,} cells, "
            f"{caps.analysts:,} analysts x {caps.queries:,} = {caps.places:,} questions"
        )


def synthetic(bits: int, rows: int, generator: Any) -> Histogram:
    """Make a table of correlated bits: a few typical people, and noise around them."""
    universe = Universe((f"b{place}", (0, 1)) for place in range(bits))
    centres = generator.random((8, bits)) < 0.5
    flips = generator.dirichlet(np.ones(8))
    cells = np.stack(np.unravel_index(np.arange(universe.size), universe.shape), axis=1)
    away = (centres[:, None, :] != cells).sum(axis=2)
    shares = flips @ (0.2**away * 0.8 ** (bits - away))
    counts = generator.multinomial(rows, shares / shares.sum()).reshape(universe.shape)
    return Histogram.dense(universe, counts)


FEW, MORE, MANY = Caps(3, 334), Caps(100, 1000), Caps(1000, 1000)


SYNTHETIC = (
    (12, 10**4, MORE, 3),
    (10, 10**5, FEW, None),
    (10, 10**6, MORE, None),
    (10, 10**7, FEW, None),
    (10, 10**7, MANY, None),
    (16, 10**6, FEW, None),
    (14, 3 * 10**3, MORE, None),  # where noise is too much, and nothing beats a guess by far
)


def rows(generator: Any) -> Iterator[Row]:
    """List the rows, each made when it is its turn."""
    census = adult.census(adult.SMALL6)
    if census is not None:
        for caps in (FEW, MORE, MANY):
            yield Row("census, cells of up to 3 attributes", census.histogram, caps, 3)
    for bits, count, caps, order in SYNTHETIC:
        kind = "any predicate" if order is None else f"cells of up to {order} attributes"
        yield Row(f"synthetic, {kind}", synthetic(bits, count, generator), caps, order)


def main() -> None:
    """List the rows."""
    for row in rows(np.random.default_rng(11)):  # noqa: TID251
        print(row)


if __name__ == "__main__":
    main()
