"""The endless counter: one counter after the other, each for more steps than all before it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import Loss
from discreet.core.neighbours import Event, EventPresence
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.streams.conversation import CounterRun, StreamCounter
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.encoded_counter import DecodedNoise
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.noise_sums import ErrorLaw, noise_variance
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import Which
from discreet.streams.weighted_sums import choose_points

Part = WideTreeCounter | BufferedCounter

_LONGEST = 1 << 22
_MOST = 1024
END = 1 << 30
"""Where a counter closes that was told no end."""


@frozen
class EndlessCounter(StreamCounter):
    """Publish the sum so far at every step, for a stream of which nobody knows how long it will be.

    A counter for 16 steps is followed by one for 1,024, by one for 65,536 and so on, each with the whole
    budget, because no step is in two of them. An answer adds up their last answers and that of the one which
    is open.

    Privacy: (epsilon, delta) for all answers together, whenever the stream ends. [CSS11]
    Accuracy: variance(t) depends on t alone, and is about twice that of the counter which knows the end.
    Time: that of the counters it is made of: a `WideTreeCounter` for delta 0, else a `BufferedCounter`.

    Parameters
    ----------
    horizon
        Where it closes at the latest. Noise does not depend on it; `error(beta)` over all steps does.
    first
        How many steps the first counter takes.
    growth
        How many times as many the next one takes.

    The others are those of every `StreamCounter`. Several events of a user are hidden with delta 0 alone, and
    the first ones of each count.

    Examples
    --------
    >>> counter = EndlessCounter(epsilon=1, delta=0, neighbours=Event())
    >>> [length for length, _ in zip(counter.lengths(), range(3))], counter.error(0.05, step=256)
    ([16, 1024, 65536], 18.0)
    >>> with counter.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(7)]
    """

    horizon: int = public(checks.integer, 1, default=END)
    first: int = public(checks.integer, 1, default=16)
    growth: int = public(checks.integer, 1, default=64)

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        if self.delta > 0 and self.events > 1:
            raise NeighboursMismatch(
                f"neighbours: counters one after the other hide {self.neighbours}, several events of a user, "
                f"with delta=0 only. Take delta=0, UserCap(1) or a PerturbedCounter"
            )
        if self.cap is not None and self.cap.which is not Which.FIRST:
            raise InvalidParameter(
                name="cap", rule="one that lets the first events count", value=self.cap, hint="UserCap(most)"
            )
        spans = list(itertools.islice(self._spans(self.horizon), _MOST + 1))
        if len(spans) > _MOST:
            raise InvalidParameter(
                name="growth",
                rule=f"such that at most {_MOST} counters follow one another up to the horizon",
                value=self.growth,
                hint="Take a longer first one, more growth, or an earlier horizon",
            )
        _ = self.make_part(max(length for length, _ in spans))

    def lengths(self) -> Iterator[int]:
        """Yield how many steps each counter takes, one after the other, without end.

        None takes fewer steps than events of one user count: then k of all events that count cost at most k
        times as much as one, in whichever counters they are.
        """
        least = 1 if self.cap is None else self.cap.most
        length = max(self.first, least)
        while True:
            yield length
            length = max(least, min(self.growth * length, max(_LONGEST, self.first)))

    def make_part(self, length: int) -> Part:
        """Return the counter of a length."""
        return _make_part(self, length)

    def _spans(self, step: int) -> Iterator[tuple[int, int]]:
        """Yield the lengths of the counters up to a step, each with how many of its steps are past then."""
        for length in self.lengths():
            yield length, min(length, step)
            step -= length
            if step <= 0:
                return

    @property
    def loss(self) -> Loss:
        """The cost of all answers: a changed event is in one of the counters; all have the same budget."""
        return self.bought

    def _error_law(self, step: int) -> ErrorLaw:
        laws: list[Any] = [self.make_part(length)._error_law(past) for length, past in self._spans(step)]  # noqa: SLF001
        return sum(laws[1:], start=laws[0])  # type: ignore[no-any-return]

    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        """Bound the laws of all steps of one counter after the other."""
        parts = [self.make_part(length) for length, _ in self._spans(self.horizon)]
        left, ended = self.horizon, None
        points = choose_points(max(noise_variance(part.noise) for part in parts))
        for part in parts:
            laws: Any = part.bound_tails(points) if isinstance(part, WideTreeCounter) else part._error_laws()  # noqa: SLF001
            for count, law in laws:
                if left > 0:
                    yield min(count, left), law if ended is None else ended + law
                left -= count
            last = _bound_last(part, points)
            ended = last if ended is None else ended + last

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers up to the horizon, at most."""
        return self.average_up_to(self.horizon)

    def average_up_to(self, last: int) -> float:
        """Return the mean of the variances of the first answers, at most."""
        total, before = 0.0, 0.0
        for length, past in self._spans(last):
            part = self.make_part(length)
            total += past * (before + part.average_up_to(past))
            before += part.variance(length)
        return up(total / last * (1 + 1e-12))

    def _start(self) -> CounterRun:
        return EndlessRun(self)


class EndlessRun(CounterRun):
    """The counter that is open, and what those before it published at their ends."""

    def __init__(self, counter: EndlessCounter) -> None:
        self._counter, self._lengths = counter, counter.lengths()
        self._number, self._before, self._last = 0, 0.0, 0.0
        self._open()

    def _open(self) -> None:
        self._length = next(self._lengths)
        self._part = self._counter.make_part(self._length)._start()  # noqa: SLF001 - its own parts

    def _go_on(self) -> None:
        """Begin the next counter where this one has ended."""
        if self._part.taken >= self._length:
            self._before, self._number = self._before + self._last, self._number + 1
            self._open()

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        self._go_on()
        self._last = float(self._part.step(units, rng))
        self.taken += 1
        return self._before + self._last

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many, counter by counter."""
        answers, done = np.empty(units.size), 0
        while done < units.size:
            self._go_on()
            some = units[done : done + self._length - self._part.taken]
            found = self._part.steps(some, rng)
            answers[done : done + some.size] = found + self._before
            self._last, done = float(found[-1]), done + some.size
        self.taken += units.size
        return answers

    def write(self) -> dict[str, Any]:
        """Return what the counter that is open keeps, and the sum of what was published before it."""
        return {
            "number": self._number,
            "before": self._before.hex(),
            "last": self._last.hex(),
            "taken": self._part.taken,
            "part": self._part.write(),
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        for _ in range(written["number"]):
            self._number += 1
            self._open()
        self._before, self._last = float.fromhex(written["before"]), float.fromhex(written["last"])
        self._part.read(written["part"])
        self._part.taken = written["taken"]


@lru_cache(maxsize=64)
def _make_part(whole: EndlessCounter, length: int) -> Part:
    kind: type[Part] = WideTreeCounter if whole.delta == 0 else BufferedCounter
    return kind(
        horizon=length,
        epsilon=whole.epsilon,
        delta=whole.delta,
        neighbours=whole.neighbours,
        elements=whole.elements,
        cap=whole.cap,
    )


def _bound_last(part: Part, points: Any) -> Any:
    """Return the law of a counter's last answer, or a bound on it that can be added to others."""
    law = part._error_law(part.horizon)  # noqa: SLF001
    return law if isinstance(law, DecodedNoise) else law.bound_at(points)


def _tiny() -> Iterator[Tiny]:
    bits = (0, 1)
    pure: dict[str, Any] = {"epsilon": 4, "delta": 0, "first": 1, "growth": 1, "horizon": 2}
    one = EndlessCounter(neighbours=Event(), **pure)
    yield Tiny(one, list(Event().pairs(bits, 2)), script=push_all(2), stepwise=False)
    yield Tiny(one, list(Event().pairs(bits, 2))[:2], script=push_all(2, at_once=True), stepwise=False)
    present = EndlessCounter(neighbours=EventPresence(), **pure)
    yield Tiny(present, list(EventPresence().pairs((1,), 2)), script=push_all(2), stepwise=False)


CARD = Card(
    title="Endless counter: a count at every step, of a stream whose length nobody knows",
    theorem="(epsilon, delta)-differential privacy of all answers, whenever the stream ends",
    reference="[CSS11]",
    example=lambda: (
        EndlessCounter(epsilon=1, delta=0, neighbours=Event(), horizon=1 << 20),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
