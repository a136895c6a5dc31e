"""Analyst privacy: the error of every mode beside one conversation in which nothing is hidden.

Every analyst asks all that the caps allow, and every question is answered and compared with the truth:
errors are shares of the rows, the largest and the mean of all questions, and of up to five runs. Where a way
to answer would take minutes, fewer analysts are looked at, and the line says so; that can only flatter it.
CPU seconds are those of one release and of all its answers.

The price is the best mode that keeps analysts apart over the best conversation that does not.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysts_rows import DELTA, EPSILON, FEW, MANY, MORE, Row, rows
from discreet.analysts.planner import Mode, Outlook, ServiceSetting, candidates, outlook, talks
from discreet.analysts.promises import OneAnalystToMany, OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.core.neighbours import Replace
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

CHOICE_BAR, PRICE_BAR, TIME_BAR = 1.2, 2.0, 120
WORK, BITS = 1e9, 1.1e9  # rounds times (cells + places), and cells times places, of games that are played
TALK = 2e8  # cells times questions of a conversation about any predicate
LEARNERS, TALKERS = 20, 100  # analysts whose answers are looked at where each of them takes long
RUNS, QUICK = 5, 3  # of a way to answer, and the seconds after which no other run is begun
UPDATES = 40  # the most measured answers of a conversation from nothing: more take minutes, and help little

Floats = NDArray[Any]


@dataclass(frozen=True)
class Found:
    """What one way to answer was worth: errors as shares of the rows, and seconds."""

    largest: float
    mean: float
    seconds: float
    note: str = ""

    def __str__(self) -> str:
        return f"{self.largest:10.6f} {self.mean:10.6f} {self.seconds:8.1f}"


@dataclass(frozen=True)
class Bench:
    """A row, its book, and the true answers of each analyst."""

    row: Row
    book: QueryBook
    truth: dict[str, Floats]

    def found(self, answer: Callable[[], dict[str, Floats]], note: str = "") -> Found:
        """Answer, and compare with the truth; a few times where that is quick, the means of it."""
        errors: list[tuple[Any, Any]] = []
        begun = time.process_time()
        while not errors or (len(errors) < RUNS and time.process_time() - begun < QUICK):
            said = answer()
            off = np.abs(np.concatenate([own - self.truth[name] for name, own in said.items() if len(own)]))
            errors.append((off.max(), off.mean()))
        seconds = (time.process_time() - begun) / len(errors)
        largest, mean = np.mean(errors, axis=0) / self.row.setting.rows
        return Found(float(largest), float(mean), seconds, note)


def verdict(value: float, bar: float) -> str:
    return f"bar {bar:g} {'met' if value <= bar else 'MISSED'}"


def opened(row: Row, generator: Any) -> Bench:
    book = row.book(generator)
    pages = {name: book.page(name) for name in book.names}
    return Bench(
        row, book, {name: page.queries.answers(row.histogram) for name, page in pages.items() if page}
    )


def some(bench: Bench, count: int) -> tuple[QueryBook, str]:
    """Return a book in which only some analysts ask; what they get has the same law as in the full one."""
    names = bench.book.names
    if count >= len(names):
        return bench.book, ""
    asked = {name: page.queries for name in names[:count] if (page := bench.book.page(name))}
    book = book_of(bench.book.universe, bench.book.caps, {name: asked.get(name, ()) for name in names})
    return book, f"{count} of the analysts"


def mode_found(mode: Mode[Any], bench: Bench) -> Found | str:
    """Run one mode and look at its answers; or say why it is not run."""
    made: Any = mode.make()
    universe, places = bench.row.histogram.universe, bench.row.caps.places
    book, note = bench.book, ""
    if "game" in mode.name:
        if universe.size * places > BITS:
            return f"not played: {universe.size * places:.1g} bits"
        if made.rounds * (universe.size + places) > WORK:
            return f"not played: {made.rounds:,} rounds of {universe.size + places:.1g} numbers"
        note = f"{made.rounds:,} rounds"
    if "budgets" in mode.name:
        book, note = some(bench, LEARNERS)

    def answer() -> dict[str, Floats]:
        delivery = made.release(QueriesAndData(bench.row.histogram, book)).value
        return {name: np.array([*delivery.answers(name, book).values()]) for name in book.names}

    return bench.found(answer, note)


def asked(conversation: Any, page: Workload) -> Floats:
    """Ask a workload; once the conversation has closed, its last hypothesis."""
    if conversation.closed:
        return np.asarray(conversation.synopsis.answers(page))
    return np.asarray(conversation.ask_many(page).values)


def talk_found(talk: Mode[MultiplicativeWeights], bench: Bench) -> Found:
    """Hold one conversation that all analysts share, in which they ask one after the other."""
    mechanism, work = talk.make(), bench.row.caps.queries * bench.row.histogram.universe.size
    few = TALKERS if bench.row.order else max(3, min(TALKERS, int(TALK // work)))
    names = bench.book.names[:few]
    note = "" if len(names) == len(bench.book.names) else f"{few} of the analysts"
    pages: dict[str, Any] = {name: page.queries for name in names if (page := bench.book.page(name))}

    def answer() -> dict[str, Floats]:
        conversation: Any = mechanism.open(bench.row.histogram)
        # A question that comes again has the same answer, at no cost.
        return {name: asked(conversation, page) for name, page in pages.items()}

    return bench.found(answer, note)


def guessed(bench: Bench) -> dict[str, Floats]:
    """Answer without a look at the data: as if all cells had the same number of rows."""
    universe = bench.book.universe
    flat = np.full(universe.shape, bench.row.setting.rows / universe.size)
    pages = {name: bench.book.page(name) for name in bench.book.names}
    return {name: page.queries.answers(flat) for name, page in pages.items() if page}


def conversations(setting: ServiceSetting) -> tuple[Mode[MultiplicativeWeights], ...]:
    """Return the planner's conversations, the one from nothing with no more updates than it has time for."""

    def cold() -> MultiplicativeWeights:
        return MultiplicativeWeights(
            universe=setting.universe,
            epsilon=EPSILON,
            delta=DELTA,
            updates=UPDATES,
            rows=setting.rows,
            queries=setting.caps.places,
            neighbours=Replace("row"),
        )

    *warm, last = talks(setting)
    return *warm, Mode(f"cold, {UPDATES} updates", last.error, cold)


def printed(name: str, error: float, found: Found | str, rows: int) -> None:
    said = f"{found:40}" if isinstance(found, str) else f"{found!s:30} {found.note}"
    print(f"    {name:22} {error / rows:10.6f} {said}", flush=True)


def report(row: Row, generator: Any) -> tuple[float, float]:
    """Print a row and return how far the planner's choices are from the best, and the price."""
    print(f"\n{row}", flush=True)
    begun = time.process_time()
    bench, count = opened(row, generator), row.setting.rows
    print(f"    all questions made and truly answered in {time.process_time() - begun:.1f} s")
    print(f"    {'':22} {'predicted':>10} {'largest':>10} {'mean':>10} {'CPU s':>8}")
    shared: dict[str, Found] = {}
    for talk in conversations(row.setting):
        shared[talk.name] = talk_found(talk, bench)
        printed(f"({talk.name})", talk.error, shared[talk.name], count)
    printed("(all cells alike)", count, bench.found(lambda: guessed(bench)), count)
    begun = time.process_time()
    views = [outlook(row.setting, promise) for promise in (OneQueryToMany(), OneAnalystToMany())]
    planned = time.process_time() - begun
    modes = {mode.name: mode for view in views for mode in view.modes}
    measured: dict[str, Found | str] = {}
    for name, mode in modes.items():
        measured[name] = mode_found(mode, bench)
        printed(name, mode.error, measured[name], count)
    known = {name: found.largest for name, found in measured.items() if isinstance(found, Found)}
    alone = min(found.largest for found in shared.values())
    ratios, prices = zip(*(judged(view, known, alone) for view in views), strict=True)
    print(f"    planned in {planned:.1f} s", end="")
    game = measured["query game"]
    print(
        ""
        if isinstance(game, str)
        else f"; query game in {game.seconds:.1f} s, {verdict(game.seconds, TIME_BAR)}"
    )
    return max(ratios), max(prices)


def judged(view: Outlook, known: dict[str, float], alone: float) -> tuple[float, float]:
    """Print what the planner chose under one promise, and what hiding the questions costs."""
    chosen = view.best.name
    best = min((mode.name for mode in view.modes if mode.name in known), key=known.__getitem__)
    ratio, price = known[chosen] / known[best], known[best] / alone
    print(
        f"    {type(view.promise).__name__}: chosen {chosen}, {ratio:.2f} of the best ({best}), "
        f"{verdict(ratio, CHOICE_BAR)}; price {price:.2f}, {verdict(price, PRICE_BAR)}"
    )
    return ratio, price


def map_of_modes() -> None:
    """Print which mode the planner recommends, by rows, cells and questions, and its predicted error."""
    print("\nwho is predicted to win, any predicate, one query hidden: largest error as a share of the rows")
    cells = (10, 14, 18, 22)
    print(f"    {'rows':>12} {'questions':>10} " + " ".join(f"{f'2^{bits} cells':>24}" for bits in cells))
    for count in (10**3, 10**4, 10**5, 10**6, 10**7):
        for caps in (FEW, MORE, MANY):
            won = [winner(bits, count, caps) for bits in cells]
            print(f"    {count:12,} {caps.places:10,} " + " ".join(f"{one:>24}" for one in won), flush=True)


def winner(bits: int, count: int, caps: Caps) -> str:
    universe = Universe((f"b{place}", (0, 1)) for place in range(bits))
    setting = ServiceSetting(
        universe=universe,
        rows=count,
        caps=caps,
        epsilon=EPSILON,
        delta=DELTA,
        analyst_epsilon=EPSILON,
        analyst_delta=DELTA,
    )
    best = min(candidates(setting, OneQueryToMany()), key=lambda mode: mode.error)
    useful = best.error < count / 2
    return f"{best.name} {best.error / count:.4f}" if useful else "nothing useful"


def main() -> None:
    """Print everything."""
    begun = time.process_time()
    generator = np.random.default_rng(11)  # noqa: TID251
    found = [report(row, generator) for row in rows(generator)]
    worst, price = (max(numbers) for numbers in zip(*found, strict=True))
    print(f"\nall rows: choice at most {worst:.2f} of the best, {verdict(worst, CHOICE_BAR)}")
    print(f"          price at most {price:.2f}, {verdict(price, PRICE_BAR)}")
    map_of_modes()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{time.process_time() - begun:.0f} s of CPU in all, {memory:.1f} GiB of memory at most")


if __name__ == "__main__":
    main()
