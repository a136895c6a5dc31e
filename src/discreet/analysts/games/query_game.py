"""Offline, one query to many: a synopsis for all analysts that hides each single query from the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.analysts.games.bregman_choice import CappedChoice, Sides, Standing
from discreet.analysts.games.calibration import GameSizes
from discreet.analysts.games.play import SampledGame
from discreet.analysts.promises import OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.core.card import Card, Tiny
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe


@dataclass(frozen=True, slots=True, init=False, repr=False)
class QueryGame(SampledGame):
    """Publish one synopsis for the queries of many analysts; each query stays hidden from the other analysts.

    Privacy: (epsilon, delta) for one row, by zCDP over the query player's draws; and for one query of one
    analyst (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 3, corrected.
    Accuracy: all but `density` sides of queries are off by at most error(beta) rows.
    Time: O(rounds * (cells + places)).

    Parameters
    ----------
    universe
        What all queries are over.
    caps
        The public limits of the query book. Nothing depends on how much of it is used.
    rows
        The public number of rows.
    epsilon, delta
        The budget for the people in the data.
    analyst_epsilon, analyst_delta
        The budget for each query, towards all other analysts together.
    rounds, density
        How many cells are drawn, and how many sides of queries must share the query player's attention;
        balanced by the public quantities where left out.
    leftovers
        For how many badly answered queries each analyst gets private answers. The others see none of it.
    neighbours
        The change of the data that is hidden: `Replace`.
    """

    promise = OneQueryToMany()

    @property
    def field(self) -> GameSizes:
        """Each side of each place is a group of its own; one query has two sides."""
        return GameSizes(
            rows=self.rows,
            cells=self.universe.size,
            groups=2 * self.caps.places,
            members=1,
            changed=2,
            draws=1,
        )

    def _start(self) -> Standing:
        return Sides(np.zeros(self.caps.places, dtype=np.int64))

    def _pick(self, standing: Standing, rate: Fraction, before: int, rng: Rng) -> int:
        # Each of the earlier rounds moved a query's score by one at most, and its complement's back.
        step = CappedChoice(rate, self.density, sensitivity=Fraction(2 * before))
        return rng.perform(step, standing)


def tiny_data(book: QueryBook, rows: int) -> list[tuple[QueriesAndData, QueriesAndData]]:
    """Return every pair of neighbouring tables of some rows over two cells, with one book."""
    tables = [Histogram.dense(book.universe, [k, rows - k]) for k in range(rows + 1)]
    return [(QueriesAndData(a, book), QueriesAndData(b, book)) for a, b in itertools.pairwise(tables)]


COIN = Universe([("x", (0, 1))])
"""The smallest universe there is something to ask about."""
HEADS, TAILS, BOTH = Predicates(
    COIN, [(["x"], np.array(mask, dtype=bool)) for mask in ([0, 1], [1, 0], [1, 1])]
)
"""Queries over the coin."""


def _tiny() -> Iterator[Tiny]:
    caps = Caps(analysts=2, queries=1)
    book = book_of(COIN, caps, {"first": [HEADS], "second": [TAILS]})
    short = QueryGame(
        universe=COIN,
        caps=caps,
        rows=2,
        epsilon=8,
        delta=0.01,
        analyst_epsilon=6,
        analyst_delta=0.01,
        rounds=3,
        density=2,
    )
    yield Tiny(short, tiny_data(book, 2), tight=False)


@lru_cache(maxsize=1)
def _example() -> QueriesAndData:
    universe = Universe([("age", range(8)), ("smoker", (False, True)), ("region", range(4))])
    codes = np.stack([np.arange(2000) % 8, np.arange(2000) % 3 // 2, np.arange(2000) // 7 % 4], axis=1)
    pairs, triples = Marginals.of_order(universe, 2), Marginals.of_order(universe, 3)
    asked = {"acme": list(pairs), "bolt": list(triples), "cork": [pairs.query(0)]}
    book = book_of(universe, Caps(analysts=3, queries=64), asked)
    return QueriesAndData(Histogram.from_records(universe, codes), book)


CARD = Card(
    name="query-game",
    family="analysts",
    title="One synopsis for many analysts that hides each query from the others",
    theorem="(epsilon, delta) for one row, and for one query towards all other analysts together",
    reference="[HRU13] Algorithm 3, corrected",
    example=lambda: (
        QueryGame(
            universe=_example().book.universe,
            caps=_example().book.caps,
            rows=2000,
            epsilon=1,
            delta=1e-6,
            analyst_epsilon=1,
            analyst_delta=1e-6,
            rounds=200,
            density=96,
        ),
        _example(),
    ),
    tiny=_tiny,
)
