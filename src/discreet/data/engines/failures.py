"""How engines fail: a few codes for the owner, one constant error for everybody else, and an end to waiting.

Codes are read off the type or the number of an engine's exception, never off its words, which may quote data.
"""

from __future__ import annotations

import enum
import signal
import threading
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
    ended, late = threading.Event(), threading.Event()

    def wait() -> None:
        if ended.wait(seconds):
            return
        late.set()
        while not ended.is_set():
            with suppress(Exception):  # what the body waits for may have gone away by itself
                cancel()
            ended.wait(_AGAIN)

    watcher = threading.Thread(target=wait, name="discreet-timeout", daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if late.is_set():
            raise Expired from None
        raise
    finally:
        ended.set()
        watcher.join()


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
