"""What every table about users shares: one cell a user that is noisy before the user comes, and few answers.

A cell is drawn before anything is known of its user and changes when the user comes, so that it always tells
as much as a randomized response would. What an intruder finds are the cells, and how often was answered and
refreshed: not how many elements came, which is private where a user's elements change it. Elements are
private data: nothing about one may decide an exception.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import ConversationClosed, InternalError, InvalidParameter, NeighboursMismatch
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Conversation, Interactive, keep_silence
from discreet.core.neighbours import Neighbours, UserEvents, UserStream
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.laplace import laplace_scale
from discreet.mechanisms.randomized_response import Respond
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.streams.checkpoint import StreamCheckpoint
from discreet.streams.conversation import read_stream
from discreet.streams.opening import GoesOn
from discreet.streams.pan_private.comings import read_comings

Cells = NDArray[Any]

MOST_USERS = 1 << 28
"""Cells are kept in memory, and sums over them stay far inside 64-bit words."""

_SMALLEST = Fraction(1, 1 << 48)  # far below it floats no longer tell a contrast from none

_AT_ONCE = 1 << 20  # cells that are drawn together


class TableRun(ABC):
    """How the cells of one table are drawn, changed and added up."""

    cells: Cells

    @staticmethod
    def redraw(cells: Cells, step: Respond, rng: Rng) -> None:
        """Put a randomized response in the place of every cell."""
        if cells.size == 1:  # one element was pushed
            cells[0] = rng.perform(step, int(cells[0]))
            return
        for start in range(0, cells.size, _AT_ONCE):
            some = cells[start : start + _AT_ONCE]
            some[...] = np.asarray(rng.perform(step, some.astype(np.int64)))

    @abstractmethod
    def begin(self, rng: Rng) -> None:
        """Draw every cell, before any user comes."""

    @abstractmethod
    def take(self, users: Cells, changes: Cells, rng: Rng) -> None:
        """Let users come, each as often as `changes` says; a user may be there several times."""

    @abstractmethod
    def count(self) -> int | Cells:
        """Return what an answer is computed from: whole numbers that one cell moves as declared."""

    def refresh(self, rng: Rng) -> None:
        """Draw the cells again such that whoever saw them learns no more from the next look than from one."""
        raise InternalError("these cells cover one look, and are not drawn again")

    def take_on(self, cells: Any, refreshes: int) -> None:
        """Go on with cells that were written down."""
        del refreshes
        self.cells[...] = cells

    def erase(self) -> None:
        """Overwrite the cells."""
        self.cells[...] = 0


@frozen
class UserTable(GoesOn["TableConversation"]):
    """Public parameters of a table about users, and what follows from them.

    Parameters
    ----------
    users
        How many users there are; a user is a number from 0 to users - 1. It is public, and so is who has
        which number.
    epsilon
        The budget of all answers and all looks at the state together.
    neighbours
        What is hidden: `UserStream()`, everything about one user, how often the user came included; or
        `UserEvents()`, the same in a stream with blank steps.
    answers
        How many answers are given. Each costs the same.
    share
        The part of the budget that pays for looks at the state; the answers have the rest.
    """

    users: int = public(checks.integer, 1, MOST_USERS)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    answers: int = public(checks.integer, 1, default=1)
    share: Exact = public(checks.probability, default=Fraction(9, 10))

    def _complete(self) -> None:
        if type(self.neighbours) not in (UserStream, UserEvents):
            raise NeighboursMismatch(
                f"neighbours: a table hides all that one user did, and more than {self.neighbours}. "
                f"Use UserStream() or UserEvents()"
            )
        if self.epsilon_state < _SMALLEST or self.noise.scale > 1 / _SMALLEST:
            raise InvalidParameter(
                name="epsilon",
                rule="large enough for looks that cost 2**-48 or more, and noise of at most 2**48",
                value=self.epsilon,
                hint="Take a larger epsilon, or fewer answers and looks",
            )

    @property
    def looks(self) -> int:
        """How many looks at the state are covered."""
        return 1

    @property
    def epsilon_state(self) -> Fraction:
        """What one look at the state costs."""
        return self.epsilon * self.share / self.looks

    @property
    def epsilon_answer(self) -> Fraction:
        """What one answer costs."""
        return self.epsilon * (1 - self.share) / self.answers

    @property
    @abstractmethod
    def moved(self) -> int:
        """How far one cell moves what an answer is computed from, in the L1 norm."""

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of an answer."""
        return DiscreteLaplace(laplace_scale(self.moved, self.epsilon_answer))

    @property
    def loss(self) -> Loss:
        """The cost of all answers and all covered looks: that of each, added up."""
        return PureLoss(self.epsilon)  # looks times that of the state, and answers times that of an answer

    @property
    def words(self) -> str:
        """The guarantee in words, with what it covers."""
        return f"{Interactive.words.__get__(self)}, for {say_covered(self.answers, self.looks)}"

    @abstractmethod
    def _start(self) -> TableRun:
        """Return a run whose cells have not been drawn."""

    def _read(self, elements: Any) -> tuple[Cells, Cells]:
        """Return the cells of those who came, and how often each of them did."""
        return read_comings(elements, self.users)

    @abstractmethod
    def _estimate(self, noisy: Any, refreshes: int) -> Any:
        """Return what a noisy count says."""

    def _begin(self, data: Sensitive[Any], rng: Rng) -> TableConversation:
        return TableConversation(self, data, rng)


class TableConversation(Conversation[Any]):
    """Takes users as they come, and answers a declared number of times."""

    def __init__(self, mechanism: UserTable, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._table = mechanism
        self._held = read_stream(data.reveal())
        self._run = mechanism._start()  # noqa: SLF001 - its own mechanism
        self._draw = AddNoise(mechanism.noise, Fraction(mechanism.moved))
        self._refreshes = 0
        self._run.begin(rng)

    @property
    def refreshes(self) -> int:
        """How often the state was drawn anew for a look that was announced. Nobody sets it back."""
        return self._refreshes

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """All that is kept, and all that an intruder finds: the cells, and how often was answered."""
        self._require_here()
        with self._turn:  # between two steps
            return Sensitive(self._write())

    def push(self, element: Any) -> None:
        """Take one element: a user, or a pair (user, how often). What is neither is as if it had not come.

        Raises
        ------
        ConversationClosed
            When all answers have been given. The element is forgotten.
        """
        self.push_many((element,))

    def push_many(self, elements: Any) -> None:
        """Take many elements at once.

        Raises
        ------
        InvalidParameter
            For what is no sequence.
        """
        with self._step(), keep_silence():
            self._run.take(*self._table._read(read_stream(elements)), self._rng)  # noqa: SLF001 - its own

    def advance(self, count: int) -> None:
        """Take the next elements of the stream that was handed in: `count`, or as many as there are."""
        wanted = checks.integer(0, count=count)
        self.push_many(self._held[:wanted])
        self._held = self._held[wanted:]

    def estimate(self) -> Any:
        """Answer from all that came so far. It is one of the answers that were paid for."""
        return self.ask(None)

    def refresh(self) -> None:
        """Say that somebody looked inside, or may have: what is kept is drawn again before the next look.

        Raises
        ------
        InvalidParameter
            Where no further look is covered.
        """
        with self._step():
            require_refresh(self._refreshes, self._table.looks)
            self._run.refresh(self._rng)
            self._refreshes += 1

    def checkpoint(self) -> StreamCheckpoint:
        """End this conversation and return what it takes to go on elsewhere. Whoever keeps a copy looks."""
        self._require_here()
        with self._turn:
            if self.closed:
                raise InvalidParameter(
                    name="checkpoint", rule="made of an open conversation", got=f"one that is {self!r}"
                )
            made = StreamCheckpoint.of(self.mechanism, self._write())
            self.close("it was written down, and goes on wherever its checkpoint is restored")
            return made

    def close(self, because: str = "its owner ended it") -> None:
        """Refuse every further question, and overwrite what was kept."""
        super().close(because)
        self._run.erase()

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Let one thread change the cells, whole or not at all."""
        self._require_here()
        with self._turn:
            if self.closed:
                raise ConversationClosed(f"this conversation is closed: {self._closed_because}")
            try:
                yield
            except InvalidParameter:  # of the container's type, before a cell was touched
                raise
            except BaseException:
                self.close("a step was interrupted")
                raise
            self._erase_if_closed()  # meanwhile: what was written behind the erasure tells who came

    def _erase_if_closed(self) -> None:
        if self.closed:
            self._run.erase()

    def _answer(self, query: Any, **public: Any) -> Any:
        """Answer; first take as many elements of the stream held as the query says, or none."""
        del public
        if query is not None:
            self.advance(query)
        try:
            noisy = self._rng.perform(self._draw, self._run.count())
        except BaseException:
            self.close("an answer was interrupted")
            raise
        if self.asked + 1 >= self._table.answers:
            self.close("all answers that were paid for have been given")
        return self._table._estimate(noisy, self._refreshes)  # noqa: SLF001 - its own mechanism

    def _write(self) -> dict[str, Any]:
        return {"cells": self._run.cells.tolist(), "answered": self.asked, "refreshes": self._refreshes}

    def _take_on(self, parts: dict[str, Any]) -> None:
        self._asked, self._refreshes = parts["answered"], parts["refreshes"]
        self._run.take_on(parts["cells"], self._refreshes)


def say_covered(answers: int | None, looks: int) -> str:
    """Return in words what one guarantee covers together."""
    given = "all answers" if answers is None else "one answer" if answers == 1 else f"{answers} answers"
    if looks == 1:
        return f"{given} and the state at one moment together"
    return f"{given} and the state at {looks} moments, with a refresh after each but the last, together"


def require_refresh(done: int, looks: int) -> None:
    """Refuse a refresh after which one more look would be one more than is covered."""
    if done + 1 >= looks:
        raise InvalidParameter(
            name="looks",
            rule="more than the number of refreshes: a look after the last one is covered too",
            value=looks,
            hint="Declare more looks when the mechanism is built; or close the conversation",
        )
