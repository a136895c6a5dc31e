"""Work in turns: whoever has waited longest for her turn is next, however much others have sent.

Threads do the work; a loop decides whose. Each analyst has a line of her own, and the lines take turns, so
that at most one question of every other analyst is between hers, whatever they cost to read. What the loop
itself works on, and takes room, waits for `Turns`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from discreet.core.errors import DiscreetError

WAITING = 64
"""The most questions of one analyst that wait."""

AT_ONCE = 4
"""The most questions of one analyst that are worked on."""

T = TypeVar("T")
_Begun = tuple[asyncio.AbstractEventLoop, str, Callable[[], Any], "asyncio.Future[Any]"]
_Ended = tuple[str, "asyncio.Future[Any]", Any, BaseException | None]


class TooMany(DiscreetError):
    """An analyst has more questions waiting than anybody may have."""

    def __init__(self) -> None:
        super().__init__(f"more than {WAITING} of your questions are waiting. Wait for their answers first.")


class FairQueue:
    """Runs functions in threads, the analysts taking turns.

    Parameters
    ----------
    threads
        How many run at once.
    """

    def __init__(self, threads: int) -> None:
        self._begun: SimpleQueue[_Begun | None] = SimpleQueue()
        self._ended: deque[_Ended] = deque()
        self._pool = [Thread(target=self._serve, name=f"question-{k}", daemon=True) for k in range(threads)]
        for thread in self._pool:
            thread.start()
        self._free, self._woken = threads, False
        self._lines: OrderedDict[str, deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = OrderedDict()
        self._running: dict[str, int] = {}

    async def run(self, who: str, work: Callable[[], T]) -> T:
        """Return what a function returns, once it is the turn of whoever asks.

        Raises
        ------
        TooMany
            Where she has too many waiting already. Nothing was begun.
        """
        line = self._lines.setdefault(who, deque())
        if len(line) >= WAITING:
            raise TooMany
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        line.append((work, done))
        self._begin()
        # Whoever goes away does not stop what was begun: its charge is made, and its answer is kept.
        return await done

    def close(self) -> None:
        """Let what runs end, and begin nothing more."""
        self._lines.clear()
        for _ in self._pool:
            self._begun.put(None)
        for thread in self._pool:
            thread.join()

    def _begin(self) -> None:
        """Begin what may begin, one of each line in turn."""
        stuck = 0
        while self._free and stuck < len(self._lines):
            who, line = next(iter(self._lines.items()))
            self._lines.move_to_end(who)
            if self._running.get(who, 0) >= AT_ONCE:
                stuck += 1
                continue
            stuck = 0
            work, done = line.popleft()
            if not line:
                del self._lines[who]
            self._free -= 1
            self._running[who] = self._running.get(who, 0) + 1
            self._begun.put((asyncio.get_running_loop(), who, work, done))

    def _serve(self) -> None:
        """Do what was begun, in a thread, one after the other, and let the loop know what came of it."""
        while (begun := self._begun.get()) is not None:
            loop, who, work, done = begun
            result, problem = None, None
            try:
                result = work()
            except BaseException as error:  # whatever it was: whoever waits is told
                problem = error
            self._ended.append((who, done, result, problem))
            if not self._woken:  # the loop takes all that ended by then: it is not woken for each
                self._woken = True
                loop.call_soon_threadsafe(self._end_all)
            del begun, work, done, result, problem  # nothing of a question is kept while waiting for another

    def _end_all(self) -> None:
        self._woken = False  # before anything is taken: what ends from here on wakes the loop again
        while self._ended:
            self._end(*self._ended.popleft())
        self._begin()

    def _end(self, who: str, done: asyncio.Future[Any], result: Any, problem: BaseException | None) -> None:
        self._free += 1
        self._running[who] -= 1
        if not self._running[who]:
            del self._running[who]
        if not done.done():  # whoever went away has cancelled it
            if problem is None:
                done.set_result(result)
            else:
                done.set_exception(problem)


class Turns:
    """Lets so many in at once; whoever waits has her turn after one of each other name.

    Parameters
    ----------
    at_once
        How many are in at once.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def take(self, name: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(name, deque()).append(mine)
        self._let_in()
        try:
            await mine
            yield
        finally:
            if mine.cancel():  # whoever goes away while she waits is passed over
                self._let_in()
            elif not mine.cancelled():
                self._free += 1
                self._let_in()

    def _let_in(self) -> None:
        while self._free and self._lines:
            name, line = next(iter(self._lines.items()))
            self._lines.move_to_end(name)
            one = line.popleft()
            if not line:
                del self._lines[name]
            if not one.done():
                self._free -= 1
                one.set_result(None)
