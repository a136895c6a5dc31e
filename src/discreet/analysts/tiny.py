"""The data of audits and examples: coins that two analysts ask about, and one table for everybody."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.core.neighbours import Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe

COIN = Universe([("x", (0, 1))])
"""The smallest universe there is something to ask about."""
HEADS, TAILS, BOTH = Predicates(
    COIN, [(["x"], np.array(mask, dtype=bool)) for mask in ([0, 1], [1, 0], [1, 1])]
)
"""Queries over the coin."""
TWO = Caps(analysts=2, queries=1)
COINS = book_of(COIN, TWO, {"first": [HEADS], "second": [TAILS]})
"""Two analysts, one question each."""
PEOPLE = Universe([("age", range(8)), ("smoker", (False, True)), ("region", range(4))])
"""What the examples are about."""
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "neighbours": Replace("row")}
LOUD: dict[str, Any] = {"epsilon": 4, "delta": Fraction(1, 100), "neighbours": Replace("row")}
"""Budgets of examples, and of audits, in which little noise leaves few outcomes."""


def tiny_data(book: QueryBook, rows: int) -> list[tuple[QueriesAndData, QueriesAndData]]:
    """Return every pair of neighbouring tables of some rows over two cells, with one book."""
    tables = [Histogram.dense(book.universe, [k, rows - k]) for k in range(rows + 1)]
    return [(QueriesAndData(a, book), QueriesAndData(b, book)) for a, b in itertools.pairwise(tables)]


@lru_cache(maxsize=1)
def example_data() -> QueriesAndData:
    """Return 2,000 people, and three analysts who ask about small tables of them."""
    codes = np.stack([np.arange(2000) % 8, np.arange(2000) % 3 // 2, np.arange(2000) // 7 % 4], axis=1)
    pairs, triples = Marginals.of_order(PEOPLE, 2), Marginals.of_order(PEOPLE, 3)
    asked = {"acme": list(pairs), "bolt": list(triples), "cork": [pairs.query(0)]}
    book = book_of(PEOPLE, Caps(analysts=3, queries=64), asked)
    return QueriesAndData(Histogram.from_records(PEOPLE, codes), book)
