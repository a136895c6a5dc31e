"""Whether the planner's simulations are near what happens, on tables that they know nothing of.

Where a theorem says nothing of a way to serve analysts, the planner runs it on the default population, or on
public people. Here it is run on four kinds of tables far from that population: a hump, blocks of equal
shares, two heights in turns, and seven people of ten in one cell. Numbers are the largest error of all
answers, mean of two runs, over the predicted one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.analysts.planner import Mode, ServiceSetting, candidates
from discreet.analysts.promises import ManyAnalysts, OneAnalystToMany, OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps
from discreet.analysts.simulation import make_book, simulate_error
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.testing import unsafe_seeded

UNIVERSES = (
    (Universe([("a", range(5)), ("b", range(4)), ("c", (0, 1))]), 2),
    (Universe([(f"bit {place}", (0, 1)) for place in range(5)]), None),
    (Universe([("a", range(30))]), 1),
)
SIMULATED = ("separate budgets", "query game", "analyst game")


def list_shares(cells: int, generator: Any) -> Iterator[tuple[str, Any]]:
    places = np.arange(cells)
    yield "hump", np.exp(-(((places - cells / 3) / (cells / 8)) ** 2))
    yield "blocks", np.repeat(generator.dirichlet(np.ones(4)), cells // 4 + 1)[:cells]
    yield "in turns", np.where(places % 2, 1.0, 0.05)
    yield "one cell", np.where(places == cells // 2, cells * 0.7, 0.3)


def list_modes(setting: ServiceSetting) -> Iterator[Mode[ManyAnalysts]]:
    found = {
        mode.name: mode
        for promise in (OneQueryToMany(), OneAnalystToMany())
        for mode in candidates(setting, promise)
    }
    yield from (found[name] for name in SIMULATED)


def measure(setting: ServiceSetting, shares: Any, generator: Any) -> Iterator[tuple[str, float, float]]:
    """Yield the name of each way, and what happened over what either prediction said."""
    universe, tables = setting.universe, None if setting.order is None else setting.tables
    public, private = (
        Histogram.dense(
            universe, generator.multinomial(setting.rows, shares / shares.sum()).reshape(universe.shape)
        )
        for _ in range(2)
    )
    book = make_book(universe, setting.caps, tables, setting.caps.analysts)
    asked: dict[str, Any] = {"universe": universe, "rows": setting.rows, "caps": setting.caps}
    for mode in list_modes(setting):
        mechanism, worst = mode.make(), []
        for run in range(2):
            given = mechanism.release(QueriesAndData(private, book), rng=unsafe_seeded(run)).value
            worst.append(
                max(
                    abs(given.answers(who, book)[place] - query.evaluate(private))
                    for who in book.names
                    for place, query in book.list_asked(who).items()
                )
            )
        blind, seeing = (
            simulate_error(mechanism, tables=tables, public=people, **asked) for people in (None, public)
        )
        yield mode.name, float(np.mean(worst)) / blind, float(np.mean(worst)) / seeing


def main() -> None:
    generator = np.random.default_rng(2026)  # noqa: TID251
    ratios: list[tuple[float, float]] = []
    for universe, order in UNIVERSES:
        for rows, epsilon in ((400, 1), (2500, 0.5)):
            setting = ServiceSetting(
                universe=universe,
                rows=rows,
                caps=Caps(analysts=3, queries=30),
                epsilon=epsilon,
                delta=1e-6,
                analyst_epsilon=1,
                analyst_delta=1e-6,
                order=order,
            )
            for kind, shares in list_shares(universe.size, generator):
                for name, blind, seeing in measure(setting, shares, generator):
                    ratios.append((blind, seeing))
                    sizes = f"{universe.size:>3} cells {rows:>5} rows"
                    print(f"{sizes}  {kind:9} {name:17} {blind:6.2f} {seeing:6.2f}")
    for place, people in enumerate(("default population", "public people")):
        found = [each[place] for each in ratios if math.isfinite(each[place])]
        near = sum(0.5 <= ratio <= 2 for ratio in found)
        print(
            f"{people}: {min(found):.2f} to {max(found):.2f}, {near} of {len(found)} within a factor of two"
        )


if __name__ == "__main__":
    main()
