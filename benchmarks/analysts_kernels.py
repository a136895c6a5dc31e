"""The offline game's rounds: time of one in memory and on a GPU, and whole balanced games.

    python -m benchmarks.analysts_kernels           numpy, on one core
    python -m benchmarks.analysts_kernels --gpu     also where torch sees CUDA, and a game of 1e6 rows there

The rounds are those of the balanced game at 1e5 rows, its rates included. To keep tables small, some hundred
queries and cells are different only. Full rounds bring all scores, the level and the board up to date every
time: what a game would do that did not put them off.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.analysts.games.bregman_choice import CappedChoice, Sides
from discreet.analysts.games.cells import CellChoice, Hits
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.games.scores import BitRows, GameTable
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook
from discreet.core.errors import Refused
from discreet.core.neighbours import Replace
from discreet.core.rng import SYSTEM
from discreet.equilibrium import arrays as game_arrays
from discreet.equilibrium.arrays import NUMPY, Arrays
from discreet.queries.histogram import Histogram
from discreet.queries.query import ProductQuery
from discreet.queries.universe import Universe

EPSILON, DELTA = 1, 1e-6
SIZES = ((10**5, 12), (10**6, 12), (10**5, 16), (10**6, 16))
ROWS, BIG = 10**5, 10**6
DIFFERENT = 512  # queries and cells
ROUNDS, FULL_ROUNDS = 1500, 40
GAME_BITS, ANALYSTS, QUERIES = 10, 1000, 1000
ERROR_BAR = 1.0  # of the uniform guess's


def balanced(universe: Universe, caps: Caps, rows: int) -> QueryGame:
    return QueryGame(
        universe=universe,
        caps=caps,
        rows=rows,
        epsilon=EPSILON,
        delta=DELTA,
        analyst_epsilon=EPSILON,
        analyst_delta=DELTA,
        neighbours=Replace("row"),
    )


def bit_universe(bits: int) -> Universe:
    return Universe((f"b{place}", (0, 1)) for place in range(bits))


def player(game: QueryGame, arrays: Arrays, generator: Any) -> Callable[[int, bool], float]:
    """Return what plays some rounds and says how many seconds each took."""
    places, size = game.caps.places, game.universe.size
    by_cell, by_place = (
        BitRows(generator.integers(0, 256, (DIFFERENT, columns // 8), dtype=np.uint8), columns, kind)
        for columns, kind in ((places, arrays), (size, NUMPY))
    )
    answers = generator.binomial(game.rows, 0.5, places)
    standing = Sides(np.zeros(places, dtype=np.int64)).facing(by_cell, answers)
    hits, choose = Hits(by_place), CellChoice(game.rates.cell, Fraction(0))
    pick = CappedChoice(game.rates.action, game.density, Fraction(0))
    clock = time.process_time if arrays is NUMPY else time.perf_counter  # a device's time is not the host's

    def play(rounds: int, full: bool) -> float:
        nonlocal standing, hits
        begun = clock()
        for _ in range(rounds):
            action = SYSTEM.perform(pick, standing)
            hits = hits.after(action % DIFFERENT, 1 if action < places else -1)
            cell = SYSTEM.perform(choose, hits)
            standing = standing.after(cell % DIFFERENT, -game.rows, most=game.rows)
            if full:
                standing.sums.whole()
                hits.board = standing.level = None
        arrays.fetch(standing.sums.whole()[:1])  # waits for the device
        return (clock() - begun) / rounds

    return play


def round_times(kinds: dict[str, Arrays], generator: Any) -> None:
    """Print the milliseconds of a round for all sizes."""
    print(f"{'queries':>9} {'cells':>7} " + " ".join(f"{name:>9} {name + ', full':>15}" for name in kinds))
    for places, bits in SIZES:
        game = balanced(bit_universe(bits), Caps(places // 1000, 1000), ROWS)
        found = []
        for arrays in kinds.values():
            play = player(game, arrays, generator)
            play(20, False)
            found += [play(ROUNDS, False) * 1e3, play(FULL_ROUNDS, True) * 1e3]
        numbers = " ".join(
            f"{late:6.2f} ms {full:12.2f} ms" for late, full in zip(found[::2], found[1::2], strict=True)
        )
        print(f"{places:9,} {1 << bits:7,} {numbers}", flush=True)


def people(bits: int, rows: int, generator: Any) -> Histogram:
    """Make a table of correlated bits: a few typical people, and one bit in five of each turned over."""
    centres = generator.random((4, bits)) < 0.5
    codes = centres[generator.integers(4, size=rows)] ^ (generator.random((rows, bits)) < 0.2)
    return Histogram.from_records(bit_universe(bits), codes.astype(np.int64))


def cell_query(universe: Universe, generator: Any) -> ProductQuery:
    """Ask for one cell of a table over three attributes."""
    axes = tuple(sorted(generator.choice(len(universe.shape), 3, replace=False).tolist()))
    masks = [np.arange(2) == generator.integers(2) for _ in axes]
    return ProductQuery(universe, axes, "cell", masks=masks)


def whole_game(rows: int, device: str | None) -> None:
    """Play a balanced game and print its time, and its errors beside the uniform guess's."""
    generator = np.random.default_rng(4)  # noqa: TID251
    histogram = people(GAME_BITS, rows, generator)
    universe, caps = histogram.universe, Caps(ANALYSTS, QUERIES)
    names = [f"a{place}" for place in range(ANALYSTS)]
    pool = [cell_query(universe, generator) for _ in range(DIFFERENT)]
    book = QueryBook(universe, caps, names, {place: pool[place % DIFFERENT] for place in range(caps.places)})
    game = balanced(universe, caps, rows)
    begun = time.perf_counter(), time.process_time()
    with nullcontext() if device is None else game_arrays.on_torch(device):
        made = game.release(QueriesAndData(histogram, book), progress=True).value.shared
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    table = GameTable(book)
    true = table.answers(histogram) / rows
    picked = table.answers(Histogram.dense(universe, np.array(made.transcript).reshape(universe.shape)))
    flat = table.answers(Histogram.dense(universe, np.ones(universe.shape, dtype=np.int64))) / universe.size
    off, guess = np.abs(picked / game.rounds - true), np.abs(flat - true)
    ratio = float(off.max() / guess.max())
    print(
        f"game of {rows:,} rows, {universe.size:,} cells, {caps.places:,} queries on {device or 'numpy'}: "
        f"{game.rounds:,} rounds in {wall:.1f} s ({cpu:.1f} s of CPU)\n"
        f"  largest error {off.max():.4f}, mean {off.mean():.4f}; uniform guess {guess.max():.4f}, "
        f"{guess.mean():.4f}; {ratio:.2f} of its largest, "
        f"bar {ERROR_BAR:g} {'met' if ratio <= ERROR_BAR else 'MISSED'}",
        flush=True,
    )


def main() -> None:
    """Print the rows of this machine."""
    generator = np.random.default_rng(3)  # noqa: TID251
    kinds, gpu = {"numpy": NUMPY}, "--gpu" in sys.argv
    if gpu:
        try:
            kinds["cuda"] = game_arrays.torch_arrays("cuda")
        except Refused as refusal:
            print(f"GPU: {refusal}")
            gpu = False
    round_times(kinds, generator)
    whole_game(ROWS, None)
    if gpu:
        whole_game(ROWS, "cuda")
        whole_game(BIG, "cuda")


if __name__ == "__main__":
    main()
