"""Tiny universes and scripts that audits of the median mechanisms run on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from discreet.core.mechanism import Conversation
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe

TINY = Universe([("cell", (0, 1))])
CROSSING = [([3, 0], [4, 0]), ([1, 2], [2, 2])]
"""Neighbours between which the first query below goes away from its guess and the second towards it."""


def ask_each(universe: Universe, *weights: Any) -> Callable[[Conversation[Any]], Hashable]:
    """Return a script that asks queries, given by their weights, and notes how the conversation ends."""
    axes = tuple(range(len(universe.shape)))
    queries = [TableQuery(universe, axes, f"query {n}", table=table) for n, table in enumerate(weights)]

    def script(conversation: Conversation[Any]) -> Hashable:
        answers: list[Any] = []
        for query in queries:
            if conversation.closed:
                break
            answer = conversation.ask(query)
            answers.append((answer.kind, answer.value))
        return (*answers, "closed" if conversation.closed else "open")

    return script


def make_histograms(universe: Universe, pairs: Any) -> list[tuple[Histogram, Histogram]]:
    """Return pairs of counts as pairs of histograms."""
    return [(Histogram.dense(universe, a), Histogram.dense(universe, b)) for a, b in pairs]
