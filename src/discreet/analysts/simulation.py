"""What a mode is worth where no theorem says so: its largest error on people who do not exist.

The people are the default population of the universe, or like public data that somebody has; the analysts
ask all that the caps allow, cells of the setting's tables or halves of all cells, and the noise is that of
trials: the same setting has the same prediction on every machine. No private data are read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.analysts.games.play import SampledGame
from discreet.analysts.promises import ManyAnalysts, QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.core.fixed import Floats
from discreet.noise.trial_noise import TrialNoise
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.query_release.planning.population import Public, alike, population

RUNS = 3
"""How often a mode is tried; the prediction is the mean."""
MOST_WORK = 3e8
"""Rounds times numbers that a round looks at, for all runs of a mode: about half a minute."""
_FEW = 3  # analysts that are tried where each is served apart, and all alike


def simulate_error(
    mechanism: ManyAnalysts,
    *,
    universe: Universe,
    rows: int,
    caps: Caps,
    tables: Marginals | None,
    public: Public | None = None,
) -> float:
    """Return the largest error of all questions on made-up people, in rows; infinity where it takes too long.

    Parameters
    ----------
    mechanism
        A game, or separate budgets.
    universe, rows, caps
        What is public.
    tables
        Questions are cells of these; halves of all cells where left out.
    public
        Data like the private ones that may be looked at; the default population where left out.
    """
    people = population(universe, rows) if public is None else alike(universe, public, rows)
    game = isinstance(mechanism, SampledGame)
    asking = caps.analysts if game else min(caps.analysts, _FEW)
    places = asking * caps.queries
    steps: int = mechanism.rounds if isinstance(mechanism, SampledGame) else caps.queries
    bits = places * universe.size
    if RUNS * max(steps * (universe.size + places), bits) > MOST_WORK:
        return math.inf
    book = make_book(universe, caps, tables, asking)
    truth = {name: page.queries.answers(people) for name in book.names if (page := book.page(name))}
    data, worst = QueriesAndData(people, book), []
    for run in range(RUNS):
        noise = TrialNoise(f"serving analysts, run {run}")
        delivery = mechanism.release(data, rng=noise).value
        worst.append(max(_largest_gap(delivery.answers(name, book), truth[name]) for name in truth))
    return float(np.mean(worst))


def make_book(universe: Universe, caps: Caps, tables: Marginals | None, asking: int) -> QueryBook:
    """Return a book in which some analysts have asked all that they may; the others are silent."""
    stream = TrialNoise(f"questions {universe.shape} {caps}")
    asked: dict[str, Workload] = {}
    for number in range(asking):
        asked[f"analyst {number}"] = (
            _halves(universe, caps.queries, stream)
            if tables is None
            else _cells(tables, caps.queries, stream)
        )
    return book_of(universe, caps, asked)


def _halves(universe: Universe, count: int, stream: TrialNoise) -> Workload:
    masks = stream.uniform(count * universe.size).reshape(count, *universe.shape) < 0.5
    return Predicates(universe, [(universe.names, mask) for mask in masks])


def _cells(tables: Marginals, count: int, stream: TrialNoise) -> Workload:
    """Return cells of tables: a table first and then a cell of it, or most would be of the largest table."""
    ends = np.array(tables.tables.offsets)
    chosen = (stream.uniform(count) * (len(ends) - 1)).astype(np.int64)
    sizes = np.diff(ends)[chosen]
    places = ends[chosen] + np.minimum((stream.uniform(count) * sizes).astype(np.int64), sizes - 1)
    return Queries(tables.universe, [tables.query(int(place)) for place in places])


def _largest_gap(answers: dict[int, float], truth: Floats | Any) -> float:
    given = np.array([answers[place] for place in sorted(answers)])
    return float(np.abs(given - np.asarray(truth, dtype=np.float64)).max(initial=0.0))
