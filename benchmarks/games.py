"""Games at scale: CPU time against the bars, and how close to the best their decisions are."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.core.neighbours import Bidder
from discreet.games import (
    CongestionGame,
    ExponentialVCG,
    FacilityLocation,
    FairQuery,
    Network,
    OneBit,
    PostedPrice,
    Routes,
    SplitAuction,
    price_ladder,
    search_misreport,
)
from discreet.optimisation import Metric
from discreet.testing import unsafe_seeded

PRICING_BAR, LOCATION_BAR, CITY_BAR = 1.0, 5.0, 30.0
"""Seconds for 1e5 bidders, for 1e5 people on 21 places with two facilities, and for a city's traffic."""
BEST_OF = 5


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the last result and the least CPU time of several runs."""
    times = []
    for _ in range(BEST_OF):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return result, min(times)


def show(what: str, seconds: float, bar: float | None, more: str) -> None:
    verdict = "" if bar is None else f"bar {bar:g} s {'met' if seconds <= bar else 'MISSED'}"
    print(f"{what:52} {seconds:8.3f} s  {verdict:14} {more}")


def pricing(bidders: int) -> None:
    bids = np.random.default_rng(1).lognormal(1, 1, bidders).round(2)  # noqa: TID251
    ladder = price_ladder(lowest=0.01, highest=100, growth=0.05, unit=0.01)
    best = max(float(price) * (bids >= float(price)).sum() for price in ladder)
    posted = PostedPrice(prices=ladder, epsilon=1, neighbours=Bidder())
    split = SplitAuction(prices=ladder, epsilon=1, bidders=bidders, neighbours=Bidder())
    for what, game, given in (
        (f"posted price, {bidders:,} bidders, {len(ladder)} prices, an array", posted, bids),
        ("the same, a list", posted, bids.tolist()),
        ("split auction, an array", split, bids),
    ):
        outcome, seconds = timed(partial(game.run, given))
        share = float(sum(map(float, outcome.payments))) / best
        missed = best - share * best <= game.error(0.05)
        bound = "within its bound" if missed else "ABOVE ITS BOUND"
        show(what, seconds, PRICING_BAR, f"{share:.3f} of the best single price, {bound}")


def location(people: int, m: int) -> None:
    street = Metric.points([[place] for place in range(m + 1)], unit=1)
    homes = np.random.default_rng(2).binomial(m, 0.35, people)  # noqa: TID251
    start = time.process_time()
    game = FacilityLocation.for_players(people, metric=street, k=2, neighbours=Bidder())
    made = time.process_time() - start
    outcome, seconds = timed(lambda: game.run(homes))
    more = f"{outcome.decision}, made in {made:.3f} s, held with probability {float(game.held):.3f}"
    show(f"facility location, {people:,} people, m = {m}, k = 2", made + seconds, LOCATION_BAR, more)


def others(players: int) -> None:
    table = np.random.default_rng(3).random((players, 20)).round(3)  # noqa: TID251
    vcg = ExponentialVCG(
        outcomes=range(20), epsilon=0.1, payments="expected", grid=0.001, neighbours=Bidder()
    )
    outcome, seconds = timed(lambda: vcg.run(table))
    most = max(outcome.payments)
    show(
        f"VCG payments, {players:,} players, 20 outcomes",
        seconds,
        None,
        f"largest {most:.2g} <= epsilon / 16",
    )
    survey = FairQuery(players=players, budget=100, epsilon=0.01, neighbours=OneBit())
    answers = [(person % 3 == 0, Fraction(person % 97, 8)) for person in range(players)]
    outcome, seconds = timed(lambda: survey.run(answers))
    sellers = sum(1 for sold in outcome.signals if sold)
    show(
        f"FairQuery, {players:,} people",
        seconds,
        None,
        f"{sellers:,} sell for {-float(sum(outcome.payments)):.1f}",
    )


def make_roads(generator: Any, kinds: int, routes: int) -> Routes:
    """Return parallel routes of random latencies, and types with random costs of their own."""
    return Routes(
        latencies=[[a, 5 + 10 * b] for a, b in generator.random((routes, 2)).round(3)],
        types=range(kinds),
        costs=generator.random((kinds, routes)).round(3),
    )


def routing(sizes: tuple[int, ...], routes: int, seeds: int, lied: int) -> None:
    """Print mean regrets and what the best of some lies gains, against the number of players.

    Budgets fall as 1 / root of the players, so that bounds on both should: regrets fall faster.
    """
    generator = np.random.default_rng(4)  # noqa: TID251
    ways = make_roads(generator, 200, routes)
    points = []
    for players in sizes:
        kinds = generator.integers(0, 200, players).tolist()
        epsilon = (10_000 / players) ** 0.5
        rounds = round(4 * players**0.5)
        game = CongestionGame(
            ways=ways, players=players, rounds=rounds, epsilon=epsilon, delta=1e-6, neighbours=Bidder()
        )
        start = time.process_time()
        honest = [game.run(kinds, rng=unsafe_seeded(seed)) for seed in range(seeds)]
        seconds = (time.process_time() - start) / seeds
        regret = float(np.mean([game.regrets(kinds, outcome.signals).mean() for outcome in honest]))
        found = search_misreport(
            game,
            reports=kinds,
            players=[0],
            lies=[40, 90, 150, None],
            worth=game.utility,
            runs=lied,
            randomness=unsafe_seeded,
        )
        points.append((players, regret, found.gain, game.truthfulness, game.error(0.05)))
        show(f"routing, {players:,} players, {routes} routes, epsilon {epsilon:.2f}", seconds, None, "")
        print(
            f"    mean regret {regret:.5f} (bound {points[-1][4]:.3f}), a lie gains {found.gain:.6f} "
            f"+- {found.deviation:.6f} (bound {points[-1][3]:.3f})"
        )
    for column, what in ((1, "regret"), (3, "bound on what a lie gains"), (4, "bound on the regret")):
        players_log, log = (np.log([point[place] for point in points]) for place in (0, column))
        slope = float(np.polyfit(players_log, log, 1)[0])
        print(f"    slope of the {what} against players, log to log: {slope:.2f}")


def city(players: int) -> None:
    """Route a network as large as Sioux Falls: 24 places, 76 roads, 528 trips, latencies as roads have."""
    generator = np.random.default_rng(5)  # noqa: TID251
    pairs = [(a, a + 1) for a in range(24) if a % 6 != 5] + [(a, a + 6) for a in range(18)]
    pairs = pairs[:38]
    roads = [road for a, b in pairs for road in ((a, b), (b, a))]
    minutes, room = generator.integers(2, 11, len(roads)), generator.uniform(0.02, 0.12, len(roads))
    net = Network(
        roads=roads,
        latencies=[[int(t), 0, 0, 0, 0.15 * t / share**4] for t, share in zip(minutes, room, strict=True)],
        trips=[(a, b) for a in range(24) for b in range(24) if a != b][:528],
        longest=10,
    )
    wanted = generator.integers(0, len(net.types), players).tolist()
    people = [net.types[place] for place in wanted]
    start = time.process_time()
    game = CongestionGame(ways=net, players=players, rounds=300, epsilon=1, delta=1e-6, neighbours=Bidder())
    outcome = game.run(people)
    seconds = time.process_time() - start
    lost = game.regrets(people, outcome.signals)
    costs = net.latencies.costs(outcome.decision.shares)
    mean = float(np.mean([costs[list(way)].sum() for way in outcome.signals]))
    most = float(np.quantile(lost, 0.99))
    more = f"mean trip {mean:.1f} minutes, mean regret {lost.mean():.3f}, 1 % regret more than {most:.2f}"
    what = f"a city of {len(net.places)} places, {len(roads)} roads, {players:,} trips"
    show(what, seconds, CITY_BAR, more)


def main() -> None:
    pricing(100_000)
    location(100_000, 20)
    others(100_000)
    routing((2_500, 5_000, 10_000, 20_000, 40_000), 100, 20, 20)
    city(360_600)


if __name__ == "__main__":
    main()
