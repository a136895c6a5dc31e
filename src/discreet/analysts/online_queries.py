"""Online, one query to many: queries come one after the other, and a shared hypothesis learns from them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.analysts.learns_online import Asked, LearnsOnline
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.tiny import BUDGET, COIN, HEADS, PEOPLE, TAILS, tiny_data
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import Integers
from discreet.core.neighbours import Replace
from discreet.core.parameters import frozen
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.query_release.synopses.synopsis import Weights


@frozen
class OnlineQueries(LearnsOnline):
    """Answer queries tick by tick from one shared hypothesis that learns; each stays hidden from the others.

    At tick j every analyst's j-th place is answered. A query that the hypothesis answers badly gets a private
    answer, and joins a batch; once a batch seems full at the end of a tick, it changes the hypothesis.

    Privacy: (epsilon, delta) for one row, composed over one pure sparse-vector conversation an analyst; and
    for one query (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 5, corrected.
    Accuracy: error(beta) rows for all answers at once, for beta of at least 0.05 and sizes left out.
    Time: O(places * cells + updates * samples * cells).

    Parameters
    ----------
    universe
        What all queries are over.
    caps
        The public limits of the query book; there are `caps.queries` ticks.
    rows, epsilon, delta, analyst_epsilon, analyst_delta
        As in `QueryGame`.
    sizes
        How it runs; worked out from the public quantities above where left out. Given sizes come without a
        bound on the error, and are not refused for lack of one: for audits and experiments.
    bound
        The share of the rows below which an error is useful. What cannot promise that is refused.
    neighbours
        The change of the data that is hidden: `Replace`.

    Raises
    ------
    Refused
        Where no sizes promise an error below `bound`. Says how many rows it would take.
    """

    def _complete(self) -> None:
        self.universe.require_dense()
        LearnsOnline._complete(self)  # noqa: SLF001 - its own base

    @property
    def drawn(self) -> int:
        """The cells."""
        return self.universe.size

    def error(self, beta: checks.Number) -> float:
        """Return alpha in rows: no answer is off by more, but for beta.

        Thresholds are planned for one beta, and sizes that are given for none: otherwise there is no bound.
        """
        return self._error_units(beta)

    def _refuse(self, needed: float) -> NoBound:
        epsilon = float(self.epsilon) * needed / self.rows
        return NoBound(
            what=f"online queries on {self.rows} rows",
            why=f"the error it can promise is not below {float(self.bound):.3g} of them",
            way_out=f"It takes about {needed:.2g} rows, or epsilon {epsilon:.2g}; or use PrivateAnswers, "
            "which is perfectly private between analysts",
        )

    def _read_asked(self, data: Any) -> Asked:
        book = self._check(data, rows=self.rows).book
        return Asked(data.histogram, book.names, {name: book.list_asked(name) for name in book.names})

    def _guess(self, tally: Integers | None, history: tuple[Any, ...]) -> Weights:
        cells = self.universe.size
        weights = (
            np.full(cells, self.rows / cells) if tally is None else tally * (self.rows / self.sizes.samples)
        )
        return Weights(self.universe, weights, transcript=history)

    def _answer_from(self, guess: Weights, question: LinearQuery) -> float:
        return guess.answer(question)

    def _true_answer(self, question: LinearQuery, histogram: Histogram) -> int:
        return int(question.evaluate(histogram))

    def _gains(self, question: LinearQuery) -> Integers:
        return np.asarray(question.vector().astype(np.int64).ravel())

    def _limits(self, question: LinearQuery) -> tuple[float, float]:
        del question  # all are counts
        return 0.0, float(self.rows)


def _tiny() -> Iterator[Tiny]:
    caps = Caps(analysts=1, queries=2)
    mechanism = OnlineQueries(
        universe=COIN,
        caps=caps,
        rows=1,
        epsilon=16,
        delta=0,
        analyst_epsilon=400,
        analyst_delta=0.01,
        sizes=OnlineSizes(updates=1, samples=1, batch=1, rate=Fraction(2), positives=1, threshold=0),
        neighbours=Replace("row"),
    )
    yield Tiny(mechanism, tiny_data(book_of(COIN, caps, {"first": [HEADS, TAILS]}), 1))


def _example() -> tuple[OnlineQueries, QueriesAndData]:
    table, caps = Histogram.dense(PEOPLE, np.arange(64) % 7 * 100_000), Caps(analysts=2, queries=20)
    asked = {"acme": Marginals.of_order(PEOPLE, 1), "bolt": Marginals(PEOPLE, [["age", "smoker"]])}
    given = {"universe": PEOPLE, "caps": caps, "analyst_epsilon": 1, "analyst_delta": 1e-6, **BUDGET}
    return OnlineQueries(rows=int(table.total), **given), QueriesAndData(table, book_of(PEOPLE, caps, asked))


CARD = Card(
    title="Queries one after the other, answered from a hypothesis that learns and hides each of them",
    theorem="(epsilon, delta) for one row, and for one query towards all other analysts together",
    reference="[HRU13] Algorithm 5, corrected",
    example=_example,
    tiny=_tiny,
)
