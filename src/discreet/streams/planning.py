"""Which counter errs least, from public quantities alone."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.streams.conversation import BITS, StreamCounter
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.tree_counter import TreeCounter
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.elements import Elements
from discreet.streams.user_cap import UserCap

BETA = 0.05
"""Predicted largest errors are missed with this probability."""


@dataclass(frozen=True, slots=True)
class CounterOutlook:
    """What one counter would do.

    Attributes
    ----------
    counter
        The mechanism, ready to be opened.
    typical
        The root of the mean variance of all answers.
    last
        The standard deviation of the last answer.
    largest
        What no answer of all is off by more than, with probability 19/20.
    """

    counter: StreamCounter
    typical: float
    last: float
    largest: float

    @property
    def name(self) -> str:
        """The counter's class, and its noise where it takes both."""
        pure = "pure" if self.counter.delta == 0 else "Gaussian"
        return f"{type(self.counter).__name__}, {pure}"


@dataclass(frozen=True, slots=True)
class CounterPlan:
    """The counters that keep a budget, the one with the smallest typical error first."""

    predictions: tuple[CounterOutlook, ...]

    @property
    def best(self) -> StreamCounter:
        """The counter whose answers are typically nearest."""
        return self.predictions[0].counter

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.predictions)
        lines = [f"{'counter':{width}}   typical      last   largest of all (95 %)"]
        lines += [
            f"{each.name:{width}}  {each.typical:8.4g}  {each.last:8.4g}  {each.largest:8.4g}"
            for each in self.predictions
        ]
        return "\n".join(lines)

    __repr__ = __str__


def plan(
    horizon: int,
    epsilon: checks.Number,
    delta: checks.Number,
    neighbours: Neighbours,
    *,
    elements: Elements = BITS,
    cap: UserCap | None = None,
) -> CounterPlan:
    """Predict the errors of every counter that keeps the budget over `horizon` steps.

    With a positive delta the pure counters are there too: they keep the budget and leave delta unused.

    Examples
    --------
    >>> from discreet.streams import Event
    >>> type(plan(365, 1, 1e-9, Event()).best).__name__
    'WideTreeCounter'
    """
    public: dict[str, Any] = {
        "horizon": horizon,
        "epsilon": epsilon,
        "neighbours": neighbours,
        "elements": elements,
        "cap": cap,
    }
    kinds: list[tuple[type[StreamCounter], checks.Number]] = [(kind, 0) for kind in _PURE]
    if checks.delta(delta=delta) > 0:
        kinds += [(kind, delta) for kind in _GAUSSIAN]
    found: list[StreamCounter] = [TreeCounter(delta=0, **public)]  # refuses what nobody could count
    for kind, mass in kinds:
        with contextlib.suppress(InvalidParameter):  # some need a coarser grid than others
            found.append(kind(delta=mass, **public))
    return CounterPlan(tuple(sorted(map(_predict, found), key=lambda each: each.typical)))


_PURE: tuple[type[StreamCounter], ...] = (WideTreeCounter,)
_GAUSSIAN: tuple[type[StreamCounter], ...] = (TreeCounter, BufferedCounter)


def _predict(counter: StreamCounter) -> CounterOutlook:
    return CounterOutlook(
        counter,
        typical=math.sqrt(counter.mean_variance),
        last=math.sqrt(counter.variance(counter.horizon)),
        largest=counter.error(BETA),
    )
