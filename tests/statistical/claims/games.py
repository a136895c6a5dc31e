"""Claims of games: what prices bring in, and what decisions are worth, against the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator

from discreet.core.neighbours import Bidder
from discreet.core.rng import Rng
from discreet.games import (
    AnonymousGame,
    CongestionGame,
    CorrelatedEquilibrium,
    Environment,
    ExponentialVCG,
    FacilityLocation,
    LargeGame,
    Market,
    MinCost,
    OneBit,
    PostedPrice,
    PricedVote,
    PrivateVote,
    PunishingExponential,
    Routes,
    SplitAuction,
    WalrasianEquilibrium,
    ZeroSumEquilibrium,
)
from discreet.games.common.curves import measure_welfare
from discreet.optimisation import Metric

PRICES = tuple(Fraction(quarter, 4) for quarter in range(1, 21))


def _prices() -> dict[str, list[Case]]:
    draw = generator(3)
    crowds = {
        "alike": [2.5] * 1_500,
        "spread": draw.lognormal(0.3, 0.6, 1_500).round(2).tolist(),
        "nobody": [0] * 1_500,
    }
    posted = PostedPrice(prices=PRICES, epsilon=0.2, neighbours=Bidder())
    split = SplitAuction(prices=PRICES, epsilon=0.2, bidders=1_500, neighbours=Bidder())
    return {
        "posted-price": [_price(label, posted, bids) for label, bids in crowds.items()],
        "split-auction": [_price(label, split, bids) for label, bids in crowds.items()],
    }


def _price(label: str, game: Any, bids: Sequence[float]) -> Case:
    best = max(price * sum(bid >= price for bid in bids) for price in PRICES)
    return Case(label, game.error, lambda rng: _miss(game, bids, best, rng))


def _miss(game: Any, bids: Sequence[float], best: Fraction, rng: Rng) -> float:
    paid = Counter(game.run(bids, rng=rng).payments)
    return float(best - sum(price * buyers for price, buyers in paid.items()))


def _choices() -> dict[str, list[Case]]:
    table = generator(4).integers(0, 11, (120, 6)) / 10
    vcg = ExponentialVCG(outcomes=range(6), epsilon=0.3, payments="expected", grid=0.1, neighbours=Bidder())
    worth = [[[1, 0, 0.25], [0, 0.5, 0.25]], [[0.5, 0, 0.75], [0, 1, 0.75]]]
    river = Environment(types="wr", outcomes="bf", reactions="wrs", utilities=worth, grid=0.25)
    punishing = PunishingExponential(environment=river, epsilon=0.05, neighbours=Bidder())
    street = Metric.points([[place] for place in range(5)], unit=1)
    facilities = FacilityLocation(metric=street, k=2, epsilon=0.01, neighbours=Bidder())
    homes = generator(5).integers(0, 5, 900).tolist()
    return {
        "exponential-vcg": [_choice("a table", vcg, table.tolist(), table.sum(axis=0).max())],
        "punishing-exponential": [
            _choice(label, punishing, reports, _best(river, reports))
            for label, reports in (("a mixed town", "wrw" * 100), ("walkers", "w" * 300))
        ],
        "facility-location": [_choice("a street", facilities, homes, _best(facilities.environment, homes))],
    }


def _votes() -> dict[str, list[Case]]:
    table = generator(6).integers(0, 11, (80, 4)) / 10
    priced = PricedVote(outcomes=range(4), epsilon=0.4, grid=0.1, neighbours=Bidder())
    vote = PrivateVote(outcomes="ab", epsilon=0.2, neighbours=Bidder())
    survey = MinCost(players=120, highest=10, epsilon=0.1, neighbours=OneBit())

    def behind(count: int) -> Case:
        votes = list("a" * (40 + count) + "b" * 40)
        return Case(
            f"{count} votes apart",
            vote.error,
            lambda rng: 0.0 if vote.release(votes, rng=rng).value == "a" else float(count),
        )

    def sold(answers: list[tuple[int, int]], rng: Rng) -> float:
        return abs(survey.release(answers, rng=rng).value - sum(bit for bit, _ in answers))

    crowds = {"mixed": [(i % 2, i % 9) for i in range(120)], "all ill": [(1, i % 9) for i in range(120)]}
    return {
        "private-vote": [behind(4), behind(18)],
        "priced-vote": [_choice("a table", priced, table.tolist(), table.sum(axis=0).max())],
        "min-cost": [
            Case(label, survey.error, lambda rng, answers=answers: sold(answers, rng))
            for label, answers in crowds.items()
        ],
    }


def _equilibria() -> dict[str, list[Case]]:
    draw = generator(8)
    tables = {
        "by lot": draw.random((4, 5)).round(1),
        "stone, paper": [[0.5, 1, 0.2], [0, 0.5, 1], [1, 0, 0.5]],
    }
    roads = Routes(
        latencies=[[0, 1], [0.2, 0.5, 0.5], [0.5]], types="ab", costs=[[0, 0, 0.1], [0.3, 0, None]]
    )
    traffic = CongestionGame(ways=roads, players=4_000, rounds=60, epsilon=2, delta=1e-6, neighbours=Bidder())
    crowds = {"one type": ["a"] * 4_000, "two types": ["a", "b", "b", "b"] * 1_000}
    beach = AnonymousGame(types="ab", actions="xyz", payoffs=generator(9).random((2, 3, 3)))
    public: dict[str, Any] = {"game": beach, "players": 4_000, "epsilon": 2, "delta": 1e-6}
    mediators = [
        CorrelatedEquilibrium(rounds=80, against=against, neighbours=Bidder(), **public)
        for against in ("actions", "rules")
    ]
    halves = np.kron(np.eye(2, dtype=int), np.ones(2_000, dtype=int))
    watched = {"weights": halves, "watches": [0, 1] * 2_000}
    across = LargeGame(types="ab", actions="xyz", payoffs=beach.payoffs, **watched)
    mediators.append(
        CorrelatedEquilibrium(rounds=80, against="rules", neighbours=Bidder(), **public | {"game": across})
    )
    return {
        "correlated-equilibrium": [
            Case(
                f"{game.against}, {game.game!r}",
                game.error,
                lambda rng, game=game: _deviate(game, crowds["two types"], rng),
            )
            for game in mediators
        ],
        "zero-sum-equilibrium": [_play(label, table) for label, table in tables.items()],
        "congestion-game": [_follow(label, traffic, kinds) for label, kinds in crowds.items()],
    }


def _play(label: str, table: Any) -> Case:
    reports = np.repeat(np.array(table)[None], 2_000, axis=0)
    _, rows, columns = reports.shape
    game = ZeroSumEquilibrium(
        rows=rows,
        columns=columns,
        players=2_000,
        rounds=80,
        epsilon=8,
        delta=1e-6,
        grid=0.1,
        neighbours=Bidder(),
    )
    return Case(label, game.error, lambda rng: game.gap(game.release(reports, rng=rng).value, reports))


def _deviate(game: CorrelatedEquilibrium, kinds: list[str], rng: Rng) -> float:
    return game.gain(kinds, game.release(kinds, rng=rng).value)


def _follow(label: str, game: CongestionGame, kinds: list[str]) -> Case:
    def lost(rng: Rng) -> float:
        return float(game.regrets(kinds, game.run(kinds, rng=rng).signals).mean())

    return Case(label, game.error, lost)


def _markets() -> dict[str, list[Case]]:
    bundles = [{"x": 1}, {"y": 2}, {"x": 1, "y": 1}]
    values = [[0.9, 0.3, 1], [0.2, 0.8, 0.7]]
    public: dict[str, Any] = {"players": 4_000, "epsilon": 4, "delta": 1e-6, "neighbours": Bidder()}
    cases = []
    for label, supply in (("scarce", {"x": 900, "y": 700}), ("plenty", {"x": 9_000, "y": 3_000})):
        market = Market(supply=supply, bundles=bundles, types="ab", values=values)
        game = WalrasianEquilibrium(market=market, rounds=100, **public)
        cases.append(Case(label, game.error, lambda rng, game=game: _trade(game, ["a", "b"] * 2_000, rng)))
    return {"walrasian-equilibrium": cases}


def _trade(game: WalrasianEquilibrium, kinds: list[str], rng: Rng) -> float:
    return game.gap(kinds, game.release(kinds, rng=rng).value)


def _best(environment: Environment, reports: Sequence[Any]) -> float:
    rows = [environment.best[environment.types.index(kind)] for kind in reports]
    return float(sum(rows).max() * environment.unit)  # type: ignore[union-attr]


def _choice(label: str, game: Any, reports: Sequence[Any], best: float) -> Case:
    def off(rng: Rng) -> float:
        return best - measure_welfare(game, game.run(list(reports), rng=rng), reports)

    return Case(label, game.error, off)


def cases() -> dict[str, list[Case]]:
    """Return all of them by card."""
    return _prices() | _choices() | _votes() | _equilibria() | _markets()
