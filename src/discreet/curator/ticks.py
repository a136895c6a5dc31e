"""Time between analysts: replies leave at public ticks, and nobody is overtaken while she waits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
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
    def hold(self) -> Iterator[None]:
        """Do the work inside when it is time for work, and come back at a tick, whatever came of it."""
        if not self.every:
            yield
            return
        self._sleep(self.find_work())
        try:
            yield
        finally:
            self._sleep(self.find_leave())

    def find_work(self) -> float:
        """Return the earliest time, by the monotone clock, at which work on a question may begin."""
        if not self.every:
            return self._opened
        place = (time.monotonic() - self._opened) / self.every
        tick = math.floor(place)
        if _BEGIN <= place - tick <= _LATEST:
            return self._opened
        return self._opened + self.every * (tick + _BEGIN + (place - tick > _LATEST))

    def find_leave(self) -> float:
        """Return the time, by the monotone clock, at which what is ready now leaves."""
        if not self.every:
            return self._opened
        return self._opened + self.every * math.ceil((time.monotonic() - self._opened) / self.every)

    def _sleep(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0:
            time.sleep(left)


class FairLock:
    """A lock that is had in the order in which it was asked for, again and again by who has it.

    A plain lock often goes to whoever comes back first. Here at most one question of each other analyst is
    ahead, however many they send: what a tick must have room for.

    Everybody in line waits for the turn of who is ahead of her. No interrupt, wherever it comes, leaves a
    turn that nobody can have: whoever gives up points those behind her to who was ahead, and leaving is one
    step that the interpreter does not interrupt.

    >>> line = FairLock()
    >>> with line.turn():
    ...     pass
    """

    def __init__(self) -> None:
        self._joining = threading.Lock()
        self._last = self._inside = _Turn(self)

    def turn(self) -> _Turn:
        """Return a turn, to be had by `with`."""
        inside = self._inside
        return inside if inside.is_mine else _Turn(self)

    def join(self, turn: _Turn) -> None:
        """Put a turn at the end of the line. For turns."""
        with self._joining:
            turn.before, self._last = self._last, turn

    def enter(self, turn: _Turn) -> None:
        """Note whose turn it is. For turns."""
        self._inside = turn


class _Turn:
    """A place in line: a lock that is taken before anybody knows of it, and given back after the turn."""

    __slots__ = ("_line", "_lock", "before")

    def __init__(self, line: FairLock) -> None:
        self._line, self._lock = line, threading.RLock()
        self.before: _Turn | None = None  # who is ahead; None for whoever had her turn

    @property
    def is_mine(self) -> bool:
        """Whether this thread has it."""
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001

    def __enter__(self) -> None:
        again = self.is_mine
        try:
            self._lock.acquire()  # at once: it is hers already, or nobody else knows it
            if not again:
                self._line.join(self)
                while self.before is not None:
                    with self.before._lock:  # noqa: SLF001
                        pass
                    # Whoever had her turn is behind nobody; whoever gave up still is.
                    self.before = self.before.before
                self._line.enter(self)
        except BaseException:
            if self.is_mine:
                self._lock.release()
            raise

    @property
    def __exit__(self) -> Callable[..., None]:  # noqa: PLE0302 - what it returns has all parameters
        """The lock's own: looked up before the turn begins, so that no code of ours is left to interrupt."""
        return self._lock.__exit__
