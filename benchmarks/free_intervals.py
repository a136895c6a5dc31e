"""Intervals of free answers: how many true counts each holds by itself, and how wide it is.

Tables that the intervals were tuned on, and others. A line a table and budget: over questions about up to
three columns (which measured tables tell about) and about more of them, the share of true counts that lie in
their 95 % interval, and the median half width over the median error, beside that of the interval that holds
for all counts at once. Every release has its own seed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import adult
from benchmarks.error_bars import ages, arithmetic, chain, heavy, kinds_of_people, survey
from discreet.core.errors import ConversationClosed
from discreet.core.neighbours import AddRemove
from discreet.curator.hypotheses.shared import WARM, measure_small_tables
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.universe import Universe
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.testing import unsafe_seeded

EPSILONS = (Fraction(3, 10), Fraction(1), Fraction(3))
SHARED = Fraction(4, 5)  # of a curator's budget
DELTA = Fraction(8, 10**10)
SEEDS, ASKED = 4, 2_000
LEAST, MOST, WIDEST = 0.93, 0.97, 4.0

Codes = NDArray[np.int64]
Draw = Any  # a numpy generator of table data


class Table(NamedTuple):
    """A table, and whether the intervals were tuned on it."""

    name: str
    tuned: bool
    histogram: Histogram


def counted(codes: Codes) -> Histogram:
    """Return a histogram over as many values as there are."""
    sizes = (codes.max(axis=0) + 1).tolist()
    universe = Universe([(f"c{place}", range(size)) for place, size in enumerate(sizes)])
    return Histogram.from_records(universe, codes).to_dense()


def ballots(draw: Draw, rows: int, columns: int, strength: float) -> Codes:
    """Draw yes or no answers that lean with three hidden opinions."""
    leaning = draw.normal(size=(rows, 3)) @ (draw.normal(size=(3, columns)) * strength)
    sure = draw.normal(size=(rows, columns)) + draw.normal(size=columns) * 0.7
    return np.asarray(leaning + sure > 0, dtype=np.int64)


def seasons(draw: Draw, rows: int) -> Codes:
    """Draw seven attributes that all follow one, each in its own way."""
    season = draw.integers(0, 12, rows)
    ways = [draw.permutation(12)[season] + draw.integers(0, 3, rows) for _ in range(7)]
    return np.stack([way // (3 + place % 3) for place, way in enumerate(ways)], axis=1)


def curved(draw: Draw, rows: int) -> Codes:
    """Draw numbers that depend on each other by products and distances, each cut into equal parts."""
    z = draw.normal(size=(rows, 5))
    z[:, 1] += z[:, 0]
    z[:, 2] += np.abs(z[:, 1])
    z[:, 3] += z[:, 0] * z[:, 1]
    z[:, 4] += z[:, 2] * z[:, 0]
    cuts = [np.quantile(z[:, k], np.linspace(0, 1, n + 1)[1:-1]) for k, n in enumerate((10, 8, 8, 6, 6))]
    return np.stack([np.searchsorted(cut, z[:, k]) for k, cut in enumerate(cuts)], axis=1)


def trips(draw: Draw, rows: int) -> Codes:
    """Draw where trips begin and end, of 40 places each, mostly near each other, and the hour."""
    begin = np.minimum(draw.zipf(1.4, rows) - 1, 39)
    end = np.where(
        draw.random(rows) < 0.7, (begin + draw.integers(0, 4, rows)) % 40, draw.integers(0, 40, rows)
    )
    hour = (draw.normal(8, 2, rows) + 9 * draw.integers(0, 2, rows)).astype(np.int64) % 24
    return np.asarray(np.stack([begin, end, hour], axis=1), dtype=np.int64)


def incomes(draw: Draw, rows: int) -> Codes:
    """Draw incomes of fifty classes, where people live, how they live, and whether they are insured."""
    region, size = draw.integers(0, 8, rows), draw.poisson(1.3, rows).clip(0, 5)
    income = np.exp(draw.normal(2.2 + 0.08 * region, 0.6, rows)).clip(0, 49)
    insured = draw.random(rows) < 1 / (1 + np.exp(2 - income / 6 - size / 3))
    return np.stack([income.astype(np.int64), region, size, insured.astype(np.int64)], axis=1)


def tables(seed: int) -> Iterator[Table]:
    """List all tables."""
    draw = np.random.default_rng(seed)  # noqa: TID251
    yield Table("independent", True, counted(kinds_of_people(draw, 4_000, (5, 4, 6, 2), 1, 0.7)))
    yield Table("four kinds", True, counted(kinds_of_people(draw, 5_000, (6, 4, 5, 3, 4), 4, 0.3)))
    yield Table("heavy tails", True, counted(heavy(draw, 8_000, (20, 7, 9, 3))))
    yield Table("a chain", True, counted(chain(draw, 3_000, 7, 4, 0.6)))
    yield Table("bundled people", True, counted(survey(draw, 61_395)))
    yield Table("a million", True, counted(kinds_of_people(draw, 1_000_000, (12, 8, 6, 5, 4), 6, 0.4)))
    yield Table("a thousand", True, counted(kinds_of_people(draw, 1_000, (8, 6, 5, 4), 3, 0.3)))
    yield Table("thirteen ballots", True, counted(ballots(draw, 30_000, 13, 1.0)))
    yield Table("sixty values", True, counted(ages(draw, 6_000)))
    yield Table("trips", True, counted(trips(draw, 50_000)))
    draw = np.random.default_rng(seed + 1)  # noqa: TID251
    census = adult.census(adult.SMALL6)
    if census is not None:
        yield Table("census", False, census.histogram)
    yield Table("arithmetic", False, counted(arithmetic(draw, 3_000)))
    yield Table("seasons", False, counted(seasons(draw, 40_000)))
    yield Table("curved", False, counted(curved(draw, 1_000_000)))
    yield Table("few in a chain", False, counted(chain(draw, 1_000, 5, 5, 0.5)))
    yield Table("ten ballots", False, counted(ballots(draw, 5_000, 10, 2.0)))
    yield Table("incomes", False, counted(incomes(draw, 12_000)))


def boxes(universe: Universe, fewest: int, most: int) -> Rectangles:
    """Make questions about some columns: a single value of each, or a range."""
    draw, listed = np.random.default_rng(77), []  # noqa: TID251
    for _ in range(ASKED):
        box = {}
        order = min(int(draw.integers(fewest, most + 1)), len(universe.shape))
        for axis in draw.choice(len(universe.shape), order, replace=False):
            low, high = sorted(draw.integers(0, universe.shape[axis], 2).tolist())
            values = universe.attributes[axis].values
            box[universe.names[axis]] = values[low], values[low if draw.random() < 0.5 else high]
        listed.append(box)
    return Rectangles(universe, listed)


class Found(NamedTuple):
    """How well some intervals did: shares of counts, and widths as multiples of the median error."""

    held: float
    width: float
    together: float


def judge(conversation: Any, asked: Rectangles, histogram: Histogram) -> Found:
    """Ask questions and compare with the truth, which the conversation keeps to itself."""
    batch = conversation.read(asked)
    with contextlib.suppress(ConversationClosed):  # then what is left is answered without the gate
        while batch.is_open:
            conversation.ask(batch)
    answers = conversation.answers(batch)
    off = np.abs(answers.values - asked.answers(histogram))
    typical = max(float(np.median(off)), 1e-9)
    held, width, every = (off <= answers.owns).mean(), np.median(answers.owns), np.median(answers.errors)
    return Found(float(held), float(width) / typical, float(every) / typical)


def main() -> None:
    """Print a line a table and budget, then the means of both halves."""
    means: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    print(
        f"{'table':16} {'epsilon':>7} {'rows':>8} {'cells':>6} {'holds':>6} {'width':>6} {'at once':>8}"
        f" | beyond: {'holds':>6} {'width':>6} {'at once':>8}"
    )
    for table in tables(seed=1):
        universe, few = table.histogram.universe, len(table.histogram.universe.shape) <= 3
        near, far = boxes(universe, 1, 3), None if few else boxes(universe, 4, 5)
        lines: list[list[float]] = []
        for epsilon in EPSILONS:
            mechanism = MultiplicativeWeights(
                universe=universe,
                epsilon=SHARED * epsilon,
                delta=DELTA,
                updates=20,
                neighbours=AddRemove("row"),
                start=measure_small_tables(universe, WARM * SHARED * epsilon, DELTA, AddRemove("row")),
            )
            found = []
            for seed in range(SEEDS):
                talk = mechanism.open(table.histogram, rng=unsafe_seeded(seed + 100 * int(10 * epsilon)))
                one = judge(talk, near, table.histogram)
                more = Found(np.nan, np.nan, np.nan) if far is None else judge(talk, far, table.histogram)
                found.append((*one, *more))
            mean = np.mean(found, axis=0)
            lines.append(mean.tolist())
            print(
                f"{table.name:16} {float(epsilon):7g} {table.histogram.total:8d} {universe.size:6d} "
                f"{mean[0]:6.3f} {mean[1]:6.2f} {mean[2]:8.1f} |         "
                f"{mean[3]:6.3f} {mean[4]:6.2f} {mean[5]:8.1f}",
                flush=True,
            )
        means[table.tuned].append(tuple(np.mean(lines, axis=0)))
    for tuned, listed in means.items():
        if not listed:
            continue
        held, width = np.array([line[:2] for line in listed]).T
        inside = int(((held >= LEAST) & (held <= MOST)).sum())
        print(
            f"{'tuned on' if tuned else 'not tuned on':13} {len(listed)} tables: holds {held.mean():.3f} "
            f"({held.min():.3f} to {held.max():.3f}, {inside} within {LEAST} to {MOST}), "
            f"width {width.mean():.2f}, widest {width.max():.2f} (bar {WIDEST:g})"
        )


if __name__ == "__main__":
    main()
