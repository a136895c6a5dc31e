"""What everything on a stream shares: public parameters, the conversation it opens, what is known beforehand.

A counter is pushed one element after another and publishes the sum of all so far, again and again, under one
guarantee that is charged when it is opened. What it publishes shows how many steps there were, so it can only
hide changes that leave the number of steps as it is. Elements are private data: nothing about one may decide
an exception.

A counter's own part is a `CounterRun`: how a step is taken, and what has to be kept between two of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.mechanism import Conversation
from discreet.core.neighbours import Contribution, Event, EventPresence, Neighbours, UserEvents
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import down, up
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import LIMIT, Grid
from discreet.mechanisms.reading import make_plain
from discreet.streams.checkpoint import StreamCheckpoint
from discreet.streams.elements import ElementReader, Elements, WholeElements, read_elements
from discreet.streams.noise_sums import ErrorLaw, find_reach
from discreet.streams.opening import GoesOn
from discreet.streams.user_cap import CapBook, UserCap, read_event

BITS = WholeElements(1)
"""Events that happen or not: what a stream of single events is made of where its owner says nothing else."""

_PUSHED, _SEVERAL = object(), object()


class CounterRun(ABC):
    """How one counter takes its steps. What it keeps is what `write` returns: as private as the data."""

    taken: int = 0

    @abstractmethod
    def step(self, units: int, rng: Rng) -> int | float:
        """Take one element and return the answer: of a counter the estimate of the sum so far, in units."""

    @abstractmethod
    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take several at once and return the answer after each."""

    @abstractmethod
    def write(self) -> dict[str, Any]:
        """Return the state as plain lists and whole numbers."""

    @abstractmethod
    def read(self, written: dict[str, Any]) -> None:
        """Take on a state that was written."""


@frozen
class StreamMechanism(GoesOn["CounterConversation"]):
    """Public parameters of whatever answers at every step of a stream, and what follows from them.

    Parameters
    ----------
    horizon
        The number of steps after which the conversation closes; any number, public.
    epsilon, delta
        The budget of all answers together. With delta 0 the noise is geometric, else discrete Gaussian.
    neighbours
        What is hidden: `Event()`, another element at one step; `EventPresence()`, whether there was one;
        `Contribution(most)`, one person's part in one element; or `UserEvents()`, all events of one user.
        Lengths are public.
    elements
        The declared range of the elements: bits where nobody says, but for `Contribution`.
    cap
        How many events of one user count, for `UserEvents`.
    """

    horizon: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    elements: Public[Elements | None, Elements] = public(read_elements, default=None)
    cap: UserCap | None = public(checks.exactly, UserCap, default=None)

    def _complete(self) -> None:
        self._require_relation()
        if cast("Elements | None", self.elements) is None:
            self._set(elements=self._choose_elements())
        if self.horizon * self.elements.largest >= LIMIT >> 1:
            raise InvalidParameter(
                name="horizon",
                rule="such that a sum of all elements is below 2**61 units of the grid",
                value=self.horizon,
                hint="Declare a coarser grid or a smaller range",
            )

    def _choose_elements(self) -> Elements:
        """Return what nobody declared: events that happen or not, unless an element is a sum over people."""
        if isinstance(self.neighbours, Contribution):
            raise InvalidParameter(
                name="elements",
                rule="given for Contribution(most): the range of one step's sum",
                got="nothing",
                hint="For instance elements=WholeElements(200): a larger one counts as 200, without a word",
            )
        return BITS

    def _require_relation(self) -> None:
        """Refuse relations that a published sequence cannot hide, and caps that nobody needs."""
        if type(self.neighbours) not in (Event, EventPresence, Contribution, UserEvents):
            raise NeighboursMismatch(
                f"neighbours: a counter publishes one answer a step, which shows how many steps there were, "
                f"and it cannot hide {self.neighbours}. Use Event(), EventPresence(), Contribution(most) or "
                f"UserEvents(), which leave the length of the stream as it is"
            )
        if isinstance(self.neighbours, UserEvents) != (self.cap is not None):
            raise InvalidParameter(
                name="cap",
                rule="given for UserEvents(), and for nothing else",
                value=self.cap,
                hint="For instance cap=UserCap(10): the first ten events of each user count",
            )

    @property
    def events(self) -> int:
        """How many events of a stream neighbours can differ in."""
        return 1 if self.cap is None else min(self.cap.most, self.horizon)

    @property
    def moved(self) -> int:
        """How far one event moves a sum, in units of the grid."""
        return self.elements.moved(self.neighbours)

    @abstractmethod
    def _start(self) -> CounterRun:
        """Return a run that has taken no step."""

    def _begin(self, data: Sensitive[Any], rng: Rng) -> CounterConversation:
        return CounterConversation(self, data, rng)


@frozen
class StreamCounter(StreamMechanism):
    """A counter of a stream: its parameters are those of every `StreamMechanism`."""

    @abstractmethod
    def _error_law(self, step: int) -> ErrorLaw:
        """Return the law of the noise in the answer of a step, counted from 1."""

    @abstractmethod
    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        """Return the laws of all steps, each with the number of steps that have it."""

    def variance(self, step: int) -> float:
        """Return the variance of the noise in the answer of a step, counted from 1, rounded up."""
        unit = self.elements.bounds.unit
        return up(self._error_law(self._read_step(step)).variance * up(unit * unit))

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        unit = self.elements.bounds.unit
        total = sum(count * law.variance for count, law in self._error_laws())
        return up(total / self.horizon * up(unit * unit))

    def error(self, beta: checks.Number, *, step: int | None = None) -> float:
        """Return alpha: with probability 1 - beta no answer is off by more than alpha.

        Off from the sum of the elements so far, each clipped to its range, and of those that the cap lets
        count. What rounding to the grid adds is included.

        Parameters
        ----------
        beta
            The probability of missing it.
        step
            The one step, counted from 1, that the statement is about; by default it is about all together.
        """
        missed = down(checks.probability(beta=beta))
        last = self.horizon if step is None else self._read_step(step)
        reach = self._find_reach(missed, None if step is None else last)
        bounds = self.elements.bounds
        off = 0 if bounds.unit == 1 else bounds.rounding
        return up(reach * bounds.unit + self._count_added(last) * off)

    def _count_added(self, step: int) -> Fraction | int:
        """Return how many elements, by their weights, the answers up to a step add up at most."""
        return step

    def _find_reach(self, missed: float, step: int | None) -> int:
        """Return what the noise of one step, or of any, exceeds with a probability of at most `missed`."""
        return find_reach(self._error_laws() if step is None else [(1, self._error_law(step))], missed)

    def _read_step(self, step: object) -> int:
        found = checks.integer(1, step=step)
        if found > self.horizon:
            raise InvalidParameter(name="step", rule=f"at most the horizon, {self.horizon}", value=step)
        return found


class CounterConversation(Conversation[Any]):
    """Takes elements and answers the noisy sum so far, until the horizon is reached."""

    def __init__(self, mechanism: StreamMechanism, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._run = mechanism._start()  # noqa: SLF001 - its own mechanism
        self._horizon = mechanism.horizon
        self._reader: ElementReader = mechanism.elements.reader(mechanism.neighbours)
        self._grid = Grid(None if self._reader.unit == 1 else self._reader.unit)
        self._cap = mechanism.cap
        self._book = None if self._cap is None else CapBook(self._cap, self._horizon)
        self._held = read_stream(data.reveal())

    @property
    def steps(self) -> int:
        """How many steps have been answered."""
        return self._run.taken

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """All that is kept between two steps: exact sums of blocks that are open, so it is private."""
        return self._look()

    def push(self, element: Any) -> Any:
        """Take one element, and answer the sum so far. For `UserEvents`, a pair (user, element).

        Raises
        ------
        ConversationClosed
            When the horizon was reached. Nothing is drawn, and the element is forgotten.
        """
        return self.ask(_PUSHED, element=element)

    def push_many(self, elements: Any) -> NDArray[Any]:
        """Take many elements at once, and answer the sum after each.

        Raises
        ------
        InvalidParameter
            For more elements than there are steps left, or what is no sequence. None is taken.
        """
        return self.ask(_SEVERAL, element=elements)  # type: ignore[no-any-return]

    def checkpoint(self) -> StreamCheckpoint:
        """End this conversation and return what it takes to go on elsewhere. It is private."""
        self._require_here()
        with self._turn:
            self._require_open()
            made = StreamCheckpoint.of(self.mechanism, self._write())
            self.close("it was written down, and goes on wherever its checkpoint is restored")
            return made

    def _look(self) -> Sensitive[dict[str, Any]]:
        """Return what is kept once a step is over: half-way it may hold an element without any noise."""
        self._require_here()
        with self._turn:
            if self._answering:  # whoever interrupted this very thread would wait for ever
                raise InvalidParameter(name="state", rule="read between two steps", got="a look within one")
            return Sensitive(self._write())

    def _require_open(self) -> None:
        if self._closed_because or self._answering:  # half a step would be taken again, and count twice
            raise InvalidParameter(
                name="checkpoint",
                rule="made of an open conversation, between two steps",
                got=f"one that is {self!r}",
            )

    def _answer(self, query: Any, **public: Any) -> Any:
        """Answer after one pushed element, after several, or after the next `query` of the stream held."""
        if query is _PUSHED:
            return self._take(self._run.step, self._read_one(public["element"], self._run.taken))
        events = _hold(public["element"] if query is _SEVERAL else self._next(query))
        count = len(events)
        if count > self._horizon - self._run.taken:
            raise InvalidParameter(
                name="elements",
                rule=f"at most as many as there are steps left, {self._horizon - self._run.taken}",
                got=f"{count}",
            )
        answers = self._take(self._run.steps, self._read_several(events))
        if query is not _SEVERAL:
            self._held = self._held[count:]
        return answers

    def _take(self, take: Callable[[Any, Rng], Any], units: Any) -> Any:
        """Take a step, whole or not at all: what comes again after an interrupt may count twice."""
        try:
            answer = take(units, self._rng)
            self._end()
            return self._show(answer)
        except BaseException:
            self.close("a step was interrupted")
            raise

    def _end(self) -> None:
        """Close where the last step has been taken."""
        if self._run.taken >= self._horizon:
            self.close(f"all {self._horizon} steps of its horizon have been taken")

    def _show(self, answer: Any) -> Any:
        """Return an answer as it is published."""
        return self._grid.from_units(answer)

    def _next(self, count: object) -> Any:
        wanted = checks.integer(1, query=count)
        if wanted > len(self._held):
            raise InvalidParameter(
                name="query",
                rule=f"at most the number of steps of the stream that are left, {len(self._held)}",
                value=count,
                hint="Push further elements with push or push_many",
            )
        return self._held[:wanted]

    def _read_one(self, event: Any, place: int) -> int:
        if self._book is None:
            return self._reader.read(event)
        user, element = read_event(event)
        return self._reader.read(element) if user is not None and self._book.admit(user, place) else 0

    def _read_several(self, events: Any) -> NDArray[np.int64]:
        if self._book is None:
            return self._reader.read_many(events)
        first = self._run.taken
        units = (self._read_one(event, first + place) for place, event in enumerate(events))
        return np.fromiter(units, dtype=np.int64, count=len(events))

    def _write(self) -> dict[str, Any]:
        users = [] if self._book is None else self._book.write()
        return {"taken": self._run.taken, "run": self._run.write(), "users": users, "asked": self.asked}

    def _take_on(self, parts: dict[str, Any]) -> None:
        self._run.read(parts["run"])
        self._run.taken, self._asked = parts["taken"], parts["asked"]
        if self._cap is not None:
            self._book = CapBook.restore(self._cap, self._horizon, parts["users"])
        self._end()


def read_stream(stream: Any) -> Any:
    """Return a stream as a list, a tuple or an array of its own, by its type alone."""
    plain = make_plain(stream)
    if isinstance(plain, list | tuple):
        return tuple(plain)
    if type(plain) is np.ndarray and plain.ndim == 1 and plain.dtype.kind in "biuf":
        return plain.copy()
    raise InvalidParameter(
        name="data",
        rule="a sequence of elements",
        got=f"a {type(stream).__name__}",
        hint="Pass a list, a tuple, or an array or column of numbers; or nothing, and push",
    )


def _hold(events: Any) -> Any:
    """Return elements as a tuple or an array: as many are taken as were counted, whoever adds to a list."""
    plain = make_plain(events)
    if isinstance(plain, list):
        return tuple(plain)
    if isinstance(plain, tuple) or (type(plain) is np.ndarray and plain.ndim == 1):
        return plain
    raise InvalidParameter(name="elements", rule="a sequence", got=f"a {type(events).__name__}")
