"""Time between analysts: replies leave at public ticks, and nobody is overtaken while she waits."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.core import checks

_BEGIN, _LATEST = 1 / 4, 1 / 2  # of a tick: when work on a question may begin


class Ticks:
    """Lets every question begin in the second quarter of a tick, and its reply leave when the tick ends.

    Replies leave while nobody's question is worked on: a reply that has to wait for a processor would leave
    late, and tell by milliseconds that someone else asked. So work that takes less than half a tick, waiting
    for the engine included, is invisible, and so is a refusal. Work that takes longer leaves at a later tick
    and may delay what leaves meanwhile: choose ticks twice as long as all analysts together may need at once.

    Parameters
    ----------
    every
        Seconds between ticks; 0 for none.
    """

    def __init__(self, every: checks.Number) -> None:
        self.every = float(checks.non_negative(tick=every))
        self._opened = time.monotonic()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do the work inside when it is time for work, and come back at a tick, whatever came of it."""
        if not self.every:
            yield
            return
        place = self._place(self.every)
        tick = math.floor(place)
        if not _BEGIN <= place - tick <= _LATEST:
            self._until(self.every * (tick + _BEGIN + (place - tick > _LATEST)))
        try:
            yield
        finally:
            self._until(self.every * math.ceil(self._place(self.every)))

    def _place(self, every: float) -> float:
        return (time.monotonic() - self._opened) / every

    def _until(self, wanted: float) -> None:
        while (left := self._opened + wanted - time.monotonic()) > 0:
            time.sleep(left)


class Line:
    """A lock that is had in the order in which it was asked for, again and again by who has it.

    A plain lock often goes to whoever comes back first. Here at most one question of each other analyst is
    ahead, however many they send: what a tick must have room for.
    """

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._threads: deque[int] = deque()

    def __enter__(self) -> None:
        mine = threading.get_ident()
        with self._moved:
            if self._threads and self._threads[0] == mine:
                self._threads.appendleft(mine)
                return
            try:
                self._threads.append(mine)
                self._moved.wait_for(lambda: self._threads[0] == mine)
            except BaseException:  # who gives up, by a keyboard's interrupt say, must not block the others
                if mine in self._threads:
                    self._threads.remove(mine)
                self._moved.notify_all()
                raise

    def __exit__(self, *_: object) -> None:
        with self._moved:
            self._threads.popleft()
            self._moved.notify_all()
