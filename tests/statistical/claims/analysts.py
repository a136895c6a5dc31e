"""Claims of mechanisms that serve many analysts: the largest error of all that they receive."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator, tables

from discreet.analysts.any_queries import AnyQueries
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.online_queries import OnlineQueries
from discreet.analysts.online_statistics import OnlineStatistics
from discreet.analysts.private_answers import PrivateAnswers
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.public_synopsis import PublicSynopsis
from discreet.analysts.query_book import Caps, book_of
from discreet.catalogue import find
from discreet.core.neighbours import Replace
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe

ROW = Replace("row")
PEOPLE = Universe([("age", range(4)), ("region", range(3)), ("smoker", (0, 1))])
CAPS = Caps(analysts=2, queries=40)
ROWS = 3000


def _received(label: str, mechanism: Any, data: Histogram, asked: dict[str, Any], **more: Any) -> Case:
    book = book_of(data.universe, mechanism.caps, asked)
    truth = {name: {p: q.evaluate(data) for p, q in book.list_asked(name).items()} for name in book.names}

    def off(rng: Rng) -> float:
        delivery = mechanism.release(QueriesAndData(data, book), rng=rng).value
        return max(
            abs(answer - truth[name][place])
            for name in book.names
            for place, answer in delivery.answers(name, book).items()
        )

    return Case(label, mechanism.error, off, **more)


def _apart() -> dict[str, list[Case]]:
    pairs, draw = Marginals.of_order(PEOPLE, 2), generator(17)
    names = list(PEOPLE.names)
    subsets = Predicates(PEOPLE, [(names, draw.random(PEOPLE.shape) < 0.5) for _ in range(20)])
    public: dict[str, Any] = {"caps": CAPS, "epsilon": 1, "neighbours": ROW}
    # Many empty cells: what they lose below zero, the full ones have to make up for.
    whole = Marginals(PEOPLE, [names])
    found: dict[str, list[Case]] = {"private-answers": [], "public-synopsis": []}
    for label, data in tables(PEOPLE, ROWS).items():
        for delta in (0, 1e-6):
            answers = PrivateAnswers(universe=PEOPLE, delta=delta, **public)
            asked = {"acme": list(subsets), "bolt": list(pairs)[:10]}
            found["private-answers"].append(_received(f"{label}, delta {delta}", answers, data, asked))
        synopsis = PublicSynopsis(workload=whole, delta=1e-6, **public)
        found["public-synopsis"].append(_received(f"one table, {label}", synopsis, data, {"acme": whole}))
    tabled = PublicSynopsis(workload=pairs, delta=1e-6, **public)
    data = tables(PEOPLE, ROWS)["heavy"]

    def noise(rng: Rng) -> float:
        measured = tabled.tables.release(data, rng=rng).value.answers(pairs)
        return float(np.abs(measured - pairs.answers(data)).max())

    found["public-synopsis.measured_error"] = [Case("pairs", tabled.measured_error, noise)]
    return found


def _statistics(card: str) -> list[Case]:
    mechanism, asked = find(card).example()
    truth = {
        (name, place): statistic.value(asked.histogram)
        for name in asked.book.names
        for place, statistic in asked.book.list_asked(name).items()
    }

    def off(rng: Rng) -> float:
        delivery = mechanism.release(asked, rng=rng).value
        return max(
            abs(answer - truth[name, place])
            for name in asked.book.names
            for place, answer in delivery.answers(name, asked.book).items()
        )

    assert isinstance(mechanism, AnyQueries | OnlineStatistics)
    return [Case("the example", mechanism.error, off)]


def _learning() -> dict[str, list[Case]]:
    mechanism, asked = find("online-queries").example()
    truth = {
        (name, place): query.evaluate(asked.histogram)
        for name in asked.book.names
        for place, query in asked.book.list_asked(name).items()
    }

    def online(rng: Rng) -> float:
        delivery = mechanism.release(asked, rng=rng).value
        return max(
            abs(answer - truth[name, place])
            for name in asked.book.names
            for place, answer in delivery.answers(name, asked.book).items()
        )

    assert isinstance(mechanism, OnlineQueries)
    return {"online-queries": [Case("the example", mechanism.error, online)], **_games()}


def _games() -> dict[str, list[Case]]:
    """The mean of the `density` worst: sides of queries, or analysts by their worst side."""
    coin = Universe([("x", (0, 1))])
    data = Histogram.dense(coin, [9_500, 500])
    heads = Predicates(coin, [(["x"], np.array([False, True]))]).query(0)
    caps = Caps(analysts=20, queries=1)
    public: dict[str, Any] = {
        "universe": coin,
        "caps": caps,
        "rows": 10_000,
        "epsilon": 60,
        "delta": 1e-2,
        "analyst_epsilon": 60,
        "analyst_delta": 1e-2,
        "neighbours": ROW,
        "rounds": 150,
        "density": 10,
    }
    book = book_of(coin, caps, {f"analyst {n}": [heads] for n in range(20)})

    def off(game: Any) -> Any:
        def worst(rng: Rng) -> float:
            shared = game.release(QueriesAndData(data, book), rng=rng).value.shared
            return abs(float(shared.answer(heads)) - 500)

        return worst

    games = (("query-game", QueryGame(**public)), ("analyst-game", AnalystGame(**public)))
    return {name: [Case("one query of everybody", game.error, off(game))] for name, game in games}


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    statistics = {card: _statistics(card) for card in ("any-queries", "online-statistics")}
    return {**_apart(), **statistics, **_learning()}
