"""Claims of algorithms whose state is private: counters as other counters, tables by what they estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator
from tests.statistical.claims.streams import DRAWS

from discreet.core.neighbours import Event, UserStream
from discreet.core.rng import Rng
from discreet.streams.local_reports.local_stream import LocalStream
from discreet.streams.pan_private.cropped_mean import CroppedMean
from discreet.streams.pan_private.dynamic_density import DynamicDensity
from discreet.streams.pan_private.hashed_density import HashedDensity
from discreet.streams.pan_private.heavy_hitter_fraction import HeavyHitterFraction
from discreet.streams.pan_private.incidence_fraction import IncidenceFraction
from discreet.streams.pan_private.modular_incidence import ModularIncidence
from discreet.streams.pan_private.pan_private_counter import PanPrivateCounter
from discreet.streams.pan_private.pan_private_density import PanPrivateDensity
from discreet.streams.pan_private.pan_private_tree import PanPrivateTree

USERS = 400


def _counters(kind: Any, **given: Any) -> list[Case]:
    """The worst answer, and that of one step; pure and Gaussian; with a refresh."""
    found = []
    ones = np.ones(64, dtype=np.int64)
    for delta, looks in ((0, 1), (1e-6, 1), (0, 3)):
        counter = kind(horizon=64, epsilon=1, delta=delta, neighbours=Event(), looks=looks, **given)

        def off(rng: Rng, counter: Any = counter, looks: int = looks) -> float:
            conversation = counter.open(ones, rng=rng)
            parts = [conversation.ask(21)]
            for _ in range(1, looks):
                conversation.refresh()
                parts.append(conversation.ask(21))
            parts.append(conversation.ask(64 - conversation.steps))
            return float(np.abs(np.concatenate(parts) - np.cumsum(ones)).max())

        def one(rng: Rng, counter: Any = counter) -> float:
            return float(abs(counter.open(ones, rng=rng).ask(63)[-1] - 63))

        def bound(beta: object, counter: Any = counter) -> float:
            return counter.error(beta, step=63)  # type: ignore[no-any-return]

        found.append(Case(f"all steps and a state, delta {delta}, {looks} looks", counter.error, off, DRAWS))
        if looks == 1:
            found.append(Case(f"step 63 and a state, delta {delta}", bound, one, DRAWS))
    return found


def _table(label: str, table: Any, stream: Any, truth: Any, draws: int = DRAWS, **how: Any) -> Case:
    """All answers of a table, with as many refreshes as there may be before the last."""
    read: Callable[[Any], Any] = how.get("read", lambda estimate: estimate)

    def off(rng: Rng) -> float:
        conversation = table.open(rng=rng)
        conversation.push_many(stream)
        for _ in range(1, table.looks):
            conversation.refresh()
        estimates = [read(conversation.estimate()) for _ in range(table.answers)]
        return float(np.abs(np.array(estimates) - truth).max())

    return Case(label, table.error, off, draws)


def _densities() -> list[Case]:
    found = []
    for came, given in ((0, {}), (150, {}), (400, {}), (200, {"looks": 2}), (200, {"answers": 5})):
        table = PanPrivateDensity(users=USERS, epsilon=2, neighbours=UserStream(), **given)
        stream = np.tile(np.arange(came), 2)
        found.append(_table(f"{came} of {USERS} came, {given}", table, stream, came / USERS))
    return found


def _hashed(kind: Any, **given: Any) -> list[Case]:
    """Keys are drawn anew: that is what the claim is about."""
    found = []
    for came in (0, 100, 300):
        tables = [
            kind(users=300, cells=900, key=key, epsilon=6, neighbours=UserStream(), **given)
            for key in range(DRAWS)
        ]
        stream = [(f"user {place}", 1) for place in range(came)]
        if kind is DynamicDensity:  # who is gone again does not count
            stream += [("gone", 1), ("gone", -1)]
        left = list(tables)

        def off(rng: Rng, left: Any = left, stream: Any = stream, came: int = came) -> float:
            table = left[rng.bits(16) % len(left)]
            conversation = table.open(rng=rng)
            conversation.push_many(stream)
            return float(abs(conversation.estimate() - came / 300))

        found.append(Case(f"{kind.__name__}: {came} of 300 came", tables[0].error, off, DRAWS))
    return found


def _times() -> tuple[Any, Any]:
    """Return a stream in which users came 0 to 5 times, and how often each did."""
    times = generator(4).integers(0, 6, USERS)
    return np.repeat(np.arange(USERS), times), times


def _incidences() -> list[Case]:
    stream, times = _times()
    found = []
    for given in ({"modulus": 7}, {"modulus": 2}, {"modulus": 6, "looks": 2, "answers": 2}):
        table = ModularIncidence(users=USERS, epsilon=3, neighbours=UserStream(), **given)
        rests = np.bincount(times % table.modulus, minlength=table.modulus) / USERS
        found.append(_table(f"{given}", table, stream, rests, read=lambda estimate: estimate.fractions))
    return found


def _cropped() -> dict[str, list[Case]]:
    stream, times = _times()
    public: dict[str, Any] = {"users": USERS, "epsilon": 3, "neighbours": UserStream()}
    half = np.full(USERS, 4)  # bits are as uncertain as they can be where half of a crop came
    means = [
        _table("up to 3", CroppedMean(crop=3, **public), stream, np.minimum(times, 3).mean()),
        _table("up to 8", CroppedMean(crop=8, **public), np.repeat(np.arange(USERS), half), 4),
    ]
    heavy = [
        _table(f"{k} or more", HeavyHitterFraction(times=k, **public), stream, (times >= k).mean())
        for k in (1, 2, 4)
    ]
    exact = [
        _table(f"just {k}", IncidenceFraction(times=k, **public), stream, (times == k).mean()) for k in (1, 3)
    ]
    return {"cropped-mean": means, "heavy-hitter-fraction": heavy, "incidence-fraction": exact}


def _local() -> list[Case]:
    found = []
    for categories in (2, 4):
        stream = LocalStream(horizon=500, epsilon=1, categories=categories, neighbours=Event())
        elements = np.arange(500) % (categories - 1)
        truth = np.bincount(elements, minlength=categories) / 500

        def off(rng: Rng, stream: Any = stream, elements: Any = elements, truth: Any = truth) -> float:
            return float(np.abs(stream.open(elements, rng=rng).ask(500) - truth).max())

        found.append(Case(f"{categories} categories of events", stream.error, off, DRAWS))
    return found


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    return {
        "pan-private-counter": _counters(PanPrivateCounter),
        "pan-private-tree": _counters(PanPrivateTree, branching=4),
        "pan-private-density": _densities(),
        "hashed-density": _hashed(HashedDensity),
        "dynamic-density": _hashed(DynamicDensity, modulus=3),
        "modular-incidence": _incidences(),
        **_cropped(),
        "local-stream": _local(),
    }
