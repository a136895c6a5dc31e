"""Work in turns: whoever has waited longest for her turn is next, however much others have sent.

Threads do the work; a loop decides whose. Each analyst has a line of her own, and the lines take turns, so
that at most one question of every other analyst is between hers, whatever they cost to read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from discreet.core.errors import DiscreetError

WAITING = 64
"""The most questions of one analyst that wait."""

AT_ONCE = 4
"""The most questions of one analyst that are worked on."""

T = TypeVar("T")


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
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="question")
        self._free = threads
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
        self._pool.shutdown(wait=True, cancel_futures=True)

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
            self._pool.submit(self._work, asyncio.get_running_loop(), who, work, done)

    def _work(
        self,
        loop: asyncio.AbstractEventLoop,
        who: str,
        work: Callable[[], Any],
        done: asyncio.Future[Any],
    ) -> None:
        """Do the work, in a thread, and let the loop know what came of it."""
        result, problem = None, None
        try:
            result = work()
        except BaseException as error:  # whatever it was: whoever waits is told
            problem = error
        loop.call_soon_threadsafe(self._end, who, done, result, problem)

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
        self._begin()
