"""The window counter: the sum of the last steps, at every step, without end."""

from __future__ import annotations

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
from discreet.streams.conversation import CounterRun, StreamCounter
from discreet.streams.counters.endless_counter import END
from discreet.streams.counters.shared_counter import SharedCounter
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.noise_sums import ErrorLaw, noise_variance
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import Which
from discreet.streams.weighted_sums import WeightedSum, choose_points

Part = WideTreeCounter | SharedCounter
_WIDEST = 1 << 12
_AT_ONCE = 1 << 14  # steps of pieces that are taken together


@frozen
class WindowCounter(StreamCounter):
    """Publish the sum of the last `width` elements at every step.

    The stream is cut into pieces as long as the window, each with a counter of its own and the whole budget,
    because no step is in two of them. A window is the end of one piece and the beginning of the next.

    Privacy: (epsilon, delta) for all answers together, whenever the stream ends.
    Accuracy: depends on the width alone, not on how long the stream is.
    Time: that of the counters it is made of: a `WideTreeCounter` for delta 0, else a `BufferedCounter`. It
    keeps as many answers as a window is wide, twice.

    Parameters
    ----------
    width
        How many steps a window has, at most 4096.
    horizon
        Where it closes at the latest. Noise does not depend on it; `error(beta)` over all steps does.

    The others are those of every `StreamCounter`. Of a user's events the first ones count.

    Examples
    --------
    >>> week = WindowCounter(width=7, epsilon=1, delta=0, neighbours=Event())
    >>> week.error(0.05, step=7), week.error(0.05, step=700)
    (8.0, 8.0)
    >>> with week.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(30)]
    """

    width: int = public(checks.integer, 1)
    horizon: int = public(checks.integer, 1, default=END)

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        if self.width > _WIDEST:
            raise InvalidParameter(
                name="width",
                rule=f"at most {_WIDEST} steps",
                value=self.width,
                hint="Push sums of several steps as one, or subtract two answers of another counter",
            )
        if self.cap is not None and self.cap.which is not Which.FIRST:
            raise NeighboursMismatch(
                f"neighbours: counters one after the other hide {self.neighbours} with a cap on the first "
                f"events only. Take UserCap(most)"
            )
        if self.cap is not None and self.cap.most > self.width:
            raise InvalidParameter(
                name="cap", rule="of at most as many events as a window has steps", value=self.cap
            )
        _ = self.part

    @property
    def part(self) -> Part:
        """The counter of one piece."""
        return _make_part(self)

    @property
    def loss(self) -> Loss:
        """The cost of all answers: a changed event is in one of the pieces; all have the same budget.

        Events of one user may be in several, and each piece has noise for that.
        """
        return self.bought

    def _error_law(self, step: int) -> ErrorLaw:
        """Return the law of the beginning of the open piece, and of the end of the one before."""
        part, past = self.part, (step - 1) % self.width + 1
        own: Any = part._error_law(past)  # noqa: SLF001 - its own part
        if step <= self.width or past == self.width:
            return own  # type: ignore[no-any-return]
        return own + part.law_between(past, self.width)  # type: ignore[no-any-return]

    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        steps = range(1, min(2 * self.width, self.horizon) + 1)
        points = choose_points(noise_variance(self.part.noise))
        for step in steps:
            law = self._error_law(step)
            later = step > self.width  # all windows that end at this place of a piece
            count = (self.horizon - step) // self.width + 1 if later else 1
            yield count, law.bound_at(points) if isinstance(law, WeightedSum) else law

    def _count_added(self, step: int) -> int:
        return min(step, self.width)

    def _start(self) -> CounterRun:
        return WindowRun(self)


class WindowRun(CounterRun):
    """The counter of the open piece, and what was published about it and the piece before."""

    def __init__(self, counter: WindowCounter) -> None:
        self._part, self._width = counter.part, counter.width
        self._before: list[float] = []
        self._now: list[float] = []
        self._run = self._part._start()  # noqa: SLF001 - its own part
        self._blank = self._run.write()

    def _begin(self, taken: int) -> None:
        """Let the counter of a piece be as it was before its first element, and say how many it has taken."""
        self._run.read(self._blank)
        self._run.taken = taken

    def _go_on(self) -> None:
        """Begin the next piece where this one has ended."""
        if len(self._now) == self._width:
            self._before, self._now = self._now, []
            self._begin(0)

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        self._go_on()
        now = float(self._run.step(units, rng))
        self._now.append(now)
        self.taken += 1
        return now + self._before[-1] - self._before[len(self._now) - 1] if self._before else now

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many, piece by piece."""
        answers, done = np.empty(units.size), 0
        while done < units.size:
            self._go_on()
            begun = len(self._now)
            if not begun and units.size - done >= 2 * self._width:
                size = min(units.size - done, max(_AT_ONCE, 2 * self._width)) // self._width * self._width
                answers[done : done + size] = self._take_pieces(units[done : done + size], rng)
                done += size
                continue
            some = units[done : done + self._width - begun]
            found = np.asarray(self._run.steps(some, rng), dtype=np.float64)
            self._now.extend(found.tolist())
            if self._before:
                found = found + self._before[-1] - np.array(self._before[begun : len(self._now)])
            answers[done : done + some.size] = found
            done += some.size
        self.taken += units.size
        return answers

    def _take_pieces(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take several pieces, whole ones and all together; the last one is left open at its end."""
        found = self._part.answer_rows(units.reshape(-1, self._width), rng)
        before = np.array([self._before, *found[:-1].tolist()]) if self._before else found[:-1]
        sums = found.copy()
        sums[len(found) - len(before) :] += before[:, -1:] - before
        self._before, self._now = found[-2].tolist(), found[-1].tolist()
        self._begin(self._width)
        return sums.ravel()

    def write(self) -> dict[str, Any]:
        """Return what the open counter keeps, and what was published."""
        return {
            "before": [value.hex() for value in self._before],
            "now": [value.hex() for value in self._now],
            "run": self._run.write(),
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        self._before = [float.fromhex(text) for text in written["before"]]
        self._now = [float.fromhex(text) for text in written["now"]]
        self._run.read(written["run"])
        self._run.taken = len(self._now)


@lru_cache(maxsize=64)
def _make_part(whole: WindowCounter) -> Part:
    given: dict[str, Any] = {
        "horizon": whole.width,
        "epsilon": whole.epsilon,
        "delta": whole.delta,
        "neighbours": whole.neighbours,
        "elements": whole.elements,
        "cap": whole.cap,
    }
    return WideTreeCounter(**given) if whole.delta == 0 else SharedCounter(streams=whole.events, **given)


def _tiny() -> Iterator[Tiny]:
    one = WindowCounter(width=1, horizon=2, epsilon=4, delta=0, neighbours=Event())
    yield Tiny(one, list(Event().pairs((0, 1), 2)), script=push_all(2), stepwise=False)
    two = WindowCounter(width=2, horizon=3, epsilon=5, delta=0, neighbours=EventPresence())
    pairs = [((None, 1, 1), (1, 1, 1)), ((1, None, None), (None, None, None)), ((1, 1, 1), (1, 1, None))]
    yield Tiny(two, pairs, script=push_all(3), stepwise=False)
    yield Tiny(two, pairs[:1], script=push_all(3, at_once=True), stepwise=False)


CARD = Card(
    title="Window counter: the sum of the last steps, at every step",
    theorem="(epsilon, delta)-differential privacy of all answers; the error depends on the width alone",
    reference="[CSS11], counters of pieces as long as the window",
    example=lambda: (
        WindowCounter(width=30, epsilon=1, delta=0, neighbours=Event(), horizon=1000),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
