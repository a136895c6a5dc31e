"""Which counter errs least, from public quantities alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import Neighbours
from discreet.streams.conversation import StreamCounter, StreamMechanism
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.endless_counter import EndlessCounter
from discreet.streams.counters.keyed_counter import KeyedCounter
from discreet.streams.counters.perturbed_counter import END, PerturbedCounter
from discreet.streams.counters.square_root_counter import SquareRootCounter
from discreet.streams.counters.tree_counter import TreeCounter, choose_branching
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.counters.window_counter import WindowCounter
from discreet.streams.elements import Elements
from discreet.streams.stream_alarm import StreamAlarm
from discreet.streams.user_cap import UserCap

BETA = 0.05
"""Predicted largest errors are missed with this probability."""

LOOKED_AT = 1 << 20
"""As many steps of a stream without an end are looked at."""

_SLOWER = 1.01  # how much better a counter has to be that looks at all steps before each


@dataclass(frozen=True, slots=True)
class CounterOutlook:
    """What one counter, or one alarm, would do.

    Attributes
    ----------
    counter
        The mechanism, ready to be opened.
    typical
        The root of the mean variance of all answers. An alarm publishes no numbers and has none.
    last
        The standard deviation of the last answer.
    largest
        What no answer of all is off by more than, with probability 19/20.
    """

    counter: StreamMechanism
    typical: float
    last: float
    largest: float

    @property
    def name(self) -> str:
        """The counter's class, its noise where it takes both, and what else tells it from others."""
        said = ["pure" if self.counter.delta == 0 else "Gaussian"]
        if isinstance(self.counter, TreeCounter):
            said += ["consistent"] * self.counter.consistent
            said += [f"branching {self.counter.branching}"] * (self.counter.branching > 2)
        return ", ".join([type(self.counter).__name__, *said])


@dataclass(frozen=True, slots=True)
class CounterPlan:
    """The counters that keep a budget, the one with the smallest error first.

    The error is the typical one; of alarms, and of counters beside them, the largest. A counter that looks at
    all steps before each has to be better by a hundredth.
    """

    predictions: tuple[CounterOutlook, ...]

    @property
    def best(self) -> StreamMechanism:
        """The counter whose answers are nearest."""
        return self.predictions[0].counter

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.predictions)
        lines = [f"{'counter':{width}}   typical      last   largest of all (95 %)"]
        for each in self.predictions:
            typical, last = (f"{number:8.4g}" for number in (each.typical, each.last))
            lines.append(f"{each.name:{width}}  {typical}  {last}  {each.largest:8.4g}")
        return "\n".join(lines).replace("     nan", "       -")

    __repr__ = __str__


def plan(
    horizon: int | None,
    epsilon: checks.Number,
    delta: checks.Number,
    neighbours: Neighbours,
    *,
    elements: Elements | None = None,
    cap: UserCap | None = None,
    keys: Iterable[int | str] | None = None,
    width: int | None = None,
    threshold: checks.Number | None = None,
) -> CounterPlan:
    """Predict the errors of every counter that keeps the budget.

    With a positive delta the pure counters are there too: they keep the budget and leave delta unused.

    Parameters
    ----------
    horizon
        The number of steps, or None where nobody knows: then 2**20 steps are looked at.
    epsilon, delta, neighbours, elements, cap
        Those of every `StreamCounter`.
    keys
        What is counted, each by itself; by default everything together.
    width
        How many steps back sums reach; by default all.
    threshold
        What a sum has to reach, where that alone is to be told: then the list has the alarm, and the counters
        from whose answers it could be told as well.

    Examples
    --------
    >>> from discreet.streams import Event
    >>> type(plan(365, 1, 1e-9, Event()).best).__name__
    'WideTreeCounter'
    >>> type(plan(None, 1, 1e-9, Event()).best).__name__
    'PerturbedCounter'
    """
    deltas = (0, delta) if checks.delta(delta=delta) > 0 else (0,)
    public = {"epsilon": epsilon, "neighbours": neighbours, "elements": elements, "cap": cap}
    kinds = _list_kinds(horizon, keys=keys, width=width, threshold=threshold)
    if horizon is None and (keys is not None or threshold is not None):
        raise InvalidParameter(name="horizon", rule="given with keys or a threshold", value=None)
    if horizon is not None or width is None:
        public["horizon"] = END if horizon is None else horizon
    found, refused = [], []
    for kind, more in kinds:
        for mass in deltas:
            try:  # some need a positive delta, some none, and some a coarser grid than others
                found.append(_predict(kind(delta=mass, **public, **more)))
            except (InvalidParameter, NeighboursMismatch) as problem:
                refused.append(problem)
    if not found:
        raise refused[0]
    return CounterPlan(tuple(sorted(found, key=lambda each: _weigh(each, by_largest=threshold is not None))))


def _list_kinds(horizon: int | None, **wanted: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield every kind of counter that answers what is wanted, with what is its own."""
    keys, width, threshold = wanted["keys"], wanted["width"], wanted["threshold"]
    if sum(each is not None for each in (keys, width)) + (keys is not None and threshold is not None) > 1:
        hint = "Plan the window or the alarm of one key by itself"
        raise InvalidParameter(name="keys", rule="given without width and threshold", got="both", hint=hint)
    if threshold is not None:
        yield StreamAlarm, {"threshold": checks.positive(threshold=threshold), "width": width}
    if keys is not None:
        yield KeyedCounter, {"keys": keys}
    elif width is not None:
        yield WindowCounter, {"width": width}
    elif horizon is None:
        yield from ((kind, {}) for kind in (EndlessCounter, PerturbedCounter))
    else:
        yield TreeCounter, {}
        best = {choose_branching(checks.integer(1, horizon=horizon), pure=pure) for pure in (True, False)}
        yield from ((TreeCounter, {"branching": branching}) for branching in sorted(best - {2}))
        yield TreeCounter, {"consistent": True}
        known = (WideTreeCounter, BufferedCounter, SquareRootCounter, EndlessCounter, PerturbedCounter)
        yield from ((kind, {}) for kind in known)


def _predict(mechanism: StreamMechanism) -> CounterOutlook:
    if isinstance(mechanism, StreamAlarm):
        return CounterOutlook(mechanism, math.nan, math.nan, mechanism.error(BETA))
    counter = checks.instance(StreamCounter, mechanism=mechanism)
    last, mean = counter.horizon, counter.mean_variance
    if isinstance(counter, EndlessCounter | PerturbedCounter) and last == END:
        last, mean = LOOKED_AT, counter.average_up_to(LOOKED_AT)
    return CounterOutlook(
        counter, math.sqrt(mean), last=math.sqrt(counter.variance(last)), largest=counter.error(BETA)
    )


def _weigh(outlook: CounterOutlook, *, by_largest: bool) -> float:
    error = outlook.largest if by_largest else outlook.typical
    return error * (_SLOWER if isinstance(outlook.counter, SquareRootCounter) else 1)
