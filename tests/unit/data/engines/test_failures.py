"""What handlers of signals raise is kept, and the handlers come back."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from discreet.data.engines.failures import Expired, hear_signals, watch


@pytest.fixture(autouse=True)
def plain_handler() -> Iterator[None]:
    """Engines that other tests opened in this process may have left handlers of their own."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, found)


def test_what_a_handler_raises_is_kept_and_its_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), hear_signals() as raised:
        assert signal.getsignal(signal.SIGINT) is not before
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert [type(one) for one in raised] == [KeyboardInterrupt]
    assert raised[0].__context__ is None
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_was_changed_meanwhile_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with hear_signals():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hear_nothing() -> None:
    seen: list[object] = []

    def work() -> None:
        with hear_signals() as raised:
            seen.extend((signal.getsignal(signal.SIGINT), raised))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT), []]


def test_what_takes_too_long_is_stopped_until_it_ends_and_nothing_else_is() -> None:
    """Two at once on one watcher: the late one is cancelled, the other never, nor is one that has ended."""
    stopped, others = threading.Event(), []
    with watch(60, lambda: others.append("patient")):
        with watch(0.01, lambda: others.append("quick")):
            pass
        with pytest.raises(Expired), watch(0.05, stopped.set):
            assert stopped.wait(20)
            raise RuntimeError("the engine gives up")
    with pytest.raises(RuntimeError), watch(60, lambda: others.append("failed")):
        raise RuntimeError("by itself")
    time.sleep(0.1)
    assert not others


def test_what_has_ended_keeps_no_hold_on_the_engine() -> None:
    """A cursor that the watcher held on to would outlive the interpreter, and DuckDB would complain."""

    class Cursor:
        def interrupt(self) -> None:
            """Do nothing."""

    cursor = Cursor()
    gone = weakref.ref(cursor)
    with watch(60, cursor.interrupt):
        pass
    del cursor
    assert gone() is None
