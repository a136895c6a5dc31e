"""Claims of counters: the worst of all answers of a stream, or that of one step."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case

from discreet.core.neighbours import Event, UserEvents
from discreet.core.rng import Rng
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.endless_counter import EndlessCounter
from discreet.streams.counters.keyed_counter import KeyedCounter
from discreet.streams.counters.perturbed_counter import PerturbedCounter
from discreet.streams.counters.square_root_counter import SquareRootCounter
from discreet.streams.counters.tree_counter import TreeCounter
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.counters.window_counter import WindowCounter
from discreet.streams.elements import RealElements
from discreet.streams.stream_alarm import StreamAlarm
from discreet.streams.user_cap import UserCap

DRAWS = 150


def counter_cases(make: Any, deltas: tuple[float, ...] = (0, 1e-6)) -> list[Case]:
    """The worst answer, pure and Gaussian; a grid that is too coarse; one step."""
    found = []
    ones = np.ones(100, dtype=np.int64)
    for delta in deltas:
        counter = make(horizon=100, epsilon=1, delta=delta, neighbours=Event())
        found.append(_worst(f"all steps, delta {delta}", counter, ones, np.cumsum(ones)))
        found.append(_one(f"step 63, delta {delta}", counter, ones, 63))
    coarse = RealElements(lower=0, upper=10, grid=4)
    off = make(horizon=60, epsilon=100, delta=deltas[0], neighbours=Event(), elements=coarse)
    found.append(_worst("a coarse grid", off, np.full(60, 5.99), np.cumsum(np.full(60, 5.99))))
    few = make(horizon=100, epsilon=3, delta=deltas[0], neighbours=UserEvents(), cap=UserCap(3))
    events = tuple((place % 20, 1) for place in range(100))
    found.append(_worst("users", few, events, np.minimum(np.arange(1, 101), 60)))
    return found


def _worst(label: str, counter: Any, stream: Any, truth: Any) -> Case:
    def off(rng: Rng) -> float:
        return float(np.abs(counter.open(stream, rng=rng).ask(len(stream)) - truth).max())

    return Case(label, counter.error, off, DRAWS)


def _one(label: str, counter: Any, stream: Any, step: int) -> Case:
    def off(rng: Rng) -> float:
        return float(abs(counter.open(stream, rng=rng).ask(step)[-1] - np.sum(stream[:step])))

    return Case(label, lambda beta: counter.error(beta, step=step), off, DRAWS)


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    return {
        "tree-counter": counter_cases(TreeCounter) + consistent_cases(),
        "buffered-counter": counter_cases(BufferedCounter, (1e-6,)),
        "perturbed-counter": counter_cases(PerturbedCounter, (1e-6,)),
        "square-root-counter": counter_cases(SquareRootCounter, (1e-6,)),
        "wide-tree-counter": counter_cases(WideTreeCounter, (0,)),
        "endless-counter": endless_cases(),
        "keyed-counter": keyed_cases(),
        "window-counter": window_cases(),
        "stream-alarm": alarm_cases(),
    }


def consistent_cases() -> list[Case]:
    """Blocks that are estimated from their parts as well."""
    ones = np.ones(100, dtype=np.int64)
    found = []
    for delta in (0, 1e-6):
        tree = TreeCounter(horizon=100, epsilon=1, delta=delta, neighbours=Event(), consistent=True)
        found.append(_worst(f"consistent, delta {delta}", tree, ones, np.cumsum(ones)))
        found.append(_one(f"consistent, step 63, delta {delta}", tree, ones, 63))
    return found


def endless_cases() -> list[Case]:
    """Steps behind the first pieces, each with a counter of its own."""
    ones = np.ones(100, dtype=np.int64)
    made = [EndlessCounter(epsilon=1, delta=delta, neighbours=Event(), horizon=100) for delta in (0, 1e-6)]
    return [_worst(f"all steps, delta {one.delta}", one, ones, np.cumsum(ones)) for one in made]


def keyed_cases() -> list[Case]:
    """All keys at all steps."""
    stream = tuple("ab"[place % 3 % 2] for place in range(60))
    truth = np.cumsum([[one == "a", one == "b", False] for one in stream], axis=0)
    made = [
        KeyedCounter(keys=("a", "b", "c"), horizon=60, epsilon=1, delta=delta, neighbours=Event())
        for delta in (0, 1e-6)
    ]
    return [_worst(f"all keys, delta {one.delta}", one, stream, truth) for one in made]


def window_cases() -> list[Case]:
    """Sums of the last seven elements."""
    ones = np.ones(60, dtype=np.int64)
    truth = np.minimum(np.arange(1, 61), 7)
    made = [
        WindowCounter(width=7, horizon=60, epsilon=1, delta=delta, neighbours=Event()) for delta in (0, 1e-6)
    ]
    return [_worst(f"all steps, delta {one.delta}", one, ones, truth) for one in made]


def alarm_cases() -> list[Case]:
    """Sums that creep up to the threshold and past it, again and again."""
    ones = np.ones(200, dtype=np.int64)
    given: dict[str, Any] = {"horizon": 200, "epsilon": 1, "delta": 0, "neighbours": Event(), "threshold": 60}
    made = {"anew": StreamAlarm(**given), "from the start": StreamAlarm(alarms=3, **given)}
    made["of a week"] = StreamAlarm(width=70, **given)
    return [Case(label, one.error, _wrong_by(one, ones), DRAWS) for label, one in made.items()]


def _wrong_by(alarm: StreamAlarm, stream: Any) -> Any:
    def off(rng: Rng) -> float:
        worst, last, rung = 0.0, 0, 0
        for place, rings in enumerate(alarm.open(rng=rng).push_many(stream)):
            first = max(last, 0 if alarm.width is None else place + 1 - alarm.width)
            away = float(sum(stream[first : place + 1])) - float(alarm.threshold) * (rung + 1)
            worst = max(worst, -away if rings else away)
            if rings and alarm.alarms is None:
                last = place + 1
            elif rings:
                rung += 1
        return worst

    return off
