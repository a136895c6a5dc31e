"""A local algorithm run on a stream: a randomizer reports each element, and reports are all that is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import ConversationClosed, InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive, keep_silence
from discreet.core.neighbours import Event, EventPresence, Neighbours
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.streams.checkpoint import StreamCheckpoint
from discreet.streams.conversation import read_stream
from discreet.streams.local_reports.reporters import make_reporter, read_randomizer
from discreet.streams.opening import GoesOn
from discreet.streams.pan_private.looks import look_at_reports


@frozen
class LocalStream(GoesOn["LocalConversation"]):
    """Report every element of a stream by a local randomizer, and keep the reports alone.

    Privacy: (epsilon, 0) for one element, for all answers and the state at every moment together: any number
    of looks, known or not. [DR14] Section 12.1.
    Accuracy: error(beta) for the frequencies of all elements after the last step, with randomized response.
    Time: one report a step; one number a category is kept.

    Parameters
    ----------
    horizon
        The number of steps after which the conversation closes.
    epsilon
        What a report costs, or may cost at most.
    neighbours
        What is hidden: `Event()` or `EventPresence()`.
    categories
        Elements are 0 .. categories - 1. What is no category counts as the first one.
    randomizer
        Who reports, if not randomized response: a survey of `discreet.local`, whose values are then the
        elements; or any object that says its `categories`, its `loss` and that its `neighbours` are
        `LocalReport()`, and has a `release(value, rng=)` or an `encode(value, rng=)`.

    Examples
    --------
    >>> stream = LocalStream(horizon=10_000, epsilon=1, neighbours=Event())
    >>> round(stream.error(0.05), 3)
    0.019
    """

    horizon: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    categories: int = public(checks.integer, 2, default=2)
    randomizer: Any = public(read_randomizer, default=None)

    def _complete(self) -> None:
        if type(self.neighbours) not in (Event, EventPresence):
            raise NeighboursMismatch(
                f"neighbours: a report hides one element, and cannot hide {self.neighbours}. "
                f"Use Event() or EventPresence()"
            )
        cost = self.reporter.loss.exact_epsilon()
        if cost is None or cost > self.epsilon:
            raise InvalidParameter(
                name="epsilon", rule="at least what the randomizer costs, without a delta", value=self.epsilon
            )

    @property
    def reporter(self) -> Any:
        """Who reports: the randomizer, or randomized response at the whole budget."""
        if self.randomizer is not None:
            return self.randomizer
        return RandomizedResponse(epsilon=self.epsilon, categories=self.categories)

    @property
    def loss(self) -> Loss:
        """The cost of one report: all else is computed from reports."""
        loss: Loss = self.reporter.loss
        return loss

    @property
    def words(self) -> str:
        """The guarantee in words, with what it covers."""
        return f"{Interactive.words.__get__(self)}, for all answers and the state at all moments together"

    def error(self, beta: checks.Number) -> float:
        """Return what no frequency is off by after the last step, but for a probability beta.

        Raises
        ------
        NoBound
            For other randomizers than randomized response.
        """
        missed = checks.probability(beta=beta)
        one = self.reporter
        if type(one) is not RandomizedResponse:
            raise NoBound(
                what="the error of another randomizer's reports",
                why="it is not known here",
                way_out="Ask the randomizer, or what it estimates",
            )
        every = RandomizedResponse(epsilon=one.epsilon, categories=one.categories, people=self.horizon)
        return every.frequency_error(missed)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> LocalConversation:
        return LocalConversation(self, data, rng)


def _require_told(randomizer: object) -> None:
    """Refuse to write down reports of what says nothing of itself: nobody could tell whose they are."""
    if type(randomizer).__repr__ is object.__repr__:
        raise InvalidParameter(
            name="randomizer",
            rule="a dataclass, or one whose __repr__ says all that it is, to be gone on with elsewhere",
            got=f"a {type(randomizer).__name__}",
        )


class LocalConversation(Conversation[Any]):
    """Takes elements, reports each at once, and answers any number of times."""

    def __init__(self, mechanism: LocalStream, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._held = read_stream(data.reveal())
        self._reporter, self._horizon = make_reporter(mechanism.reporter), mechanism.horizon
        self._reports: Counter[Any] = Counter()

    @property
    def steps(self) -> int:
        """How many elements have been reported."""
        return self._reports.total()

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """All that is kept, and all that an intruder finds: how often each report was made, and was asked."""
        self._require_here()
        with self._turn:  # between two steps
            return Sensitive(self._write())

    def push(self, element: Any) -> None:
        """Report one element and forget it."""
        self.push_many((element,))

    def push_many(self, elements: Any) -> None:
        """Report many elements.

        Raises
        ------
        InvalidParameter
            For more elements than there are steps left, or what is no sequence. None is taken.
        """
        self._require_here()
        with self._turn:
            if self.closed:
                raise ConversationClosed(f"this conversation is closed: {self._closed_because}")
            plain = read_stream(elements)
            left = self._horizon - self.steps
            if len(plain) > left:
                rule = f"at most as many as there are steps left, {left}"
                raise InvalidParameter(name="elements", rule=rule, got=f"{len(plain)}")
            with keep_silence():
                self._reports.update(self._reporter.report(plain, self._rng))

    def checkpoint(self) -> StreamCheckpoint:
        """End this conversation and return what it takes to go on elsewhere: its reports, and no more."""
        self._require_here()
        with self._turn:
            if self.closed:
                raise ConversationClosed(f"this conversation is closed: {self._closed_because}")
            own: Any = self.mechanism
            _require_told(own.randomizer)
            made = StreamCheckpoint.of(self.mechanism, self._write())
            self.close("it was written down, and goes on wherever its checkpoint is restored")
            return made

    def _write(self) -> dict[str, Any]:
        return {"reports": sorted(self._reporter.show(self._reports).items()), "asked": self.asked}

    def _take_on(self, parts: dict[str, Any]) -> None:
        self._reports, self._asked = self._reporter.read(parts["reports"]), parts["asked"]

    def estimate(self, **how: Any) -> Any:
        """Return what the randomizer makes of all reports so far; their numbers where it makes nothing.

        Parameters
        ----------
        how
            What else the randomizer's own `estimate` asks for.
        """
        return self.ask(None, **how)

    def _answer(self, query: Any, **public: Any) -> Any:
        if query is not None:
            wanted = checks.integer(0, query=query)
            self.push_many(self._held[:wanted])
            self._held = self._held[wanted:]
        return self._reporter.estimate(self._reports, **public)


def _tiny() -> Iterator[Tiny]:
    for categories in (2, 3):
        stream = LocalStream(horizon=3, epsilon=1, categories=categories, neighbours=Event())
        yield Tiny(stream, list(Event().pairs(range(categories), 2)), look_at_reports(2))
        respond = RandomizedResponse(epsilon=1, categories=categories)
        present = LocalStream(horizon=3, epsilon=2, randomizer=respond, neighbours=EventPresence())
        yield Tiny(present, list(EventPresence().pairs((0, 1), 2)), look_at_reports(2))


CARD = Card(
    title="Local stream: a local algorithm on a stream, whose memory may be seized at any time",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at all moments, event by event",
    reference="[DR14] section 12.1",
    example=lambda: (
        LocalStream(horizon=1000, epsilon=1, categories=3, neighbours=Event()),
        tuple(number % 3 for number in range(1000)),
    ),
    tiny=_tiny,
)
