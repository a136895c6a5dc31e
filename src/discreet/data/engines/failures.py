"""How engines fail: a few codes for the owner, one constant error for everybody else, and an end to waiting.

Codes are read off the type or the number of an engine's exception, never off its words, which may quote data.
"""

from __future__ import annotations

import enum
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from discreet.core.errors import OpenFailed

TIMEOUT = 600
"""Seconds an engine may work on one query, unless the owner says otherwise."""
_AGAIN = 1.0
"""Seconds between two calls that stop a query: the first may come before the engine has begun."""


class Reason(enum.Enum):
    """Why an engine failed, as far as its owner may be told without quoting it."""

    PERMISSION = "permission"
    NO_TEMP = "no temporary tables"
    STANDBY = "hot standby"
    TIMEOUT = "time-out"
    LOST = "lost connection"
    NOT_FOUND = "not found"
    NO_ROOM = "out of memory or disk"
    UNREADABLE = "unreadable"

    def to_error(self) -> OpenFailed:
        """Return the owner's error."""
        return OpenFailed(reason=self.value, way_out=_WAYS_OUT[self])


_WAYS_OUT = {
    Reason.PERMISSION: "GRANT the role USAGE on the schema and SELECT on the declared columns, "
    "or let this user read the file",
    Reason.NO_TEMP: "GRANT TEMPORARY ON DATABASE ... TO the role: codes are kept in temporary tables",
    Reason.STANDBY: "A hot standby holds no temporary tables: connect to a primary, "
    "or to a logical replica, which is one",
    Reason.TIMEOUT: "Give Table a longer timeout, or look for a session that holds a lock on the table",
    Reason.LOST: "Look whether the server or the session is still there, then open the table again",
    Reason.NOT_FOUND: "Is the file, table, schema or column there, and spelled as the engine spells it",
    Reason.NO_ROOM: "Free memory or disk, or declare fewer columns: others are not read",
    Reason.UNREADABLE: "Is it whole, of the kind its name says, and open nowhere else? "
    "A CSV file must be UTF-8, with commas and as many cells in every line as in the first",
}


class Expired(Exception):
    """A query took longer than its owner allows."""


@contextmanager
def watch(seconds: float | None, cancel: Callable[[], object]) -> Iterator[None]:
    """Call `cancel` once the body has taken too long, and until it ends; its failure is then `Expired`.

    Parameters
    ----------
    seconds
        How long it may take; None for as long as it takes.
    cancel
        Makes the engine give up what the body waits for. Called from another thread.
    """
    if seconds is None:
        yield
        return
    watched = _Watched(time.monotonic() + seconds, cancel)
    _WATCHER.begin(watched)
    try:
        yield
    except Exception:
        if watched.is_late:
            raise Expired from None
        raise
    finally:
        watched.end()


class _Watched:
    """Something that must end by a time, and is cancelled again and again from then on until it does."""

    def __init__(self, due: float, cancel: Callable[[], object]) -> None:
        self.due, self.is_late, self.has_ended = due, False, False
        self._cancel: Callable[[], object] | None = cancel
        self._lock = threading.Lock()

    def end(self) -> None:
        """Cancel nothing any more: whatever the engine does next is somebody else's.

        What would have been cancelled is let go: the watcher holds on to this until it is next woken.
        """
        with self._lock:
            self.has_ended, self._cancel = True, None

    def stop(self) -> None:
        """Cancel it, unless it has ended, or is being cancelled already."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._cancel is not None:
                self.is_late = True
                with suppress(Exception):  # what the body waits for may have gone away by itself
                    self._cancel()
        finally:
            self._lock.release()


class _Watcher:
    """One thread that looks after all queries, begun with the first: a thread for each would cost more."""

    def __init__(self) -> None:
        self._begun: queue.SimpleQueue[_Watched] = queue.SimpleQueue()
        self._lock, self._process = threading.Lock(), 0

    def begin(self, watched: _Watched) -> None:
        """Look after a query from now on."""
        if self._process != os.getpid():  # a fork takes no threads along
            with self._lock:
                if self._process != os.getpid():
                    self._begun = queue.SimpleQueue()
                    thread = threading.Thread(target=self._serve, name="discreet-timeout", daemon=True)
                    thread.start()
                    self._process = os.getpid()
        self._begun.put(watched)

    def _serve(self) -> None:
        running: list[_Watched] = []
        while True:
            first = min((one.due for one in running), default=math.inf) - time.monotonic()
            with suppress(queue.Empty):
                # What ended is forgotten a few at a time: nobody is woken for it.
                running.append(self._begun.get(timeout=None if first == math.inf else max(first, 0.0)))
            running = [one for one in running if not one.has_ended]
            for one in running:
                if one.due <= time.monotonic():
                    one.due += _AGAIN
                    # In a thread of its own: an engine that hangs on being stopped keeps up nobody else.
                    threading.Thread(target=one.stop, name="discreet-late", daemon=True).start()


_WATCHER = _Watcher()


@contextmanager
def hear_signals() -> Iterator[list[BaseException]]:
    """Keep what handlers of signals raise meanwhile, such as the KeyboardInterrupt of Ctrl-C.

    An engine that waits looks for signals itself, and may swallow what their handlers raise or put an error
    of its own in its place. Only the main thread is ever sent one.
    """
    raised: list[BaseException] = []
    ours: dict[signal.Signals, tuple[_Handler, _Handler]] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in signal.Signals:
                former = signal.getsignal(number)
                if callable(former):
                    ours[number] = former, _hear(former, raised)
                    signal.signal(number, ours[number][1])
        yield raised
    finally:
        for number, (former, handler) in ours.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, former)


_Handler = Callable[[int, FrameType | None], object]


def _hear(handler: _Handler, raised: list[BaseException]) -> _Handler:
    def hear(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            error.__context__ = None  # what was handled meanwhile may be the engine's
            raised.append(error)
            raise

    return hear
