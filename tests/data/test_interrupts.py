"""Ctrl-C while an engine works arrives as itself, says nothing of the engine's, and breaks nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet.data.engines.failures import hear_signals

SCRIPT = Path(__file__).with_name("interrupted.py")


def interrupted(kind: str, *arguments: str) -> None:
    """Run the script in a process of its own: it sends itself SIGINT, and says "held" at the end."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), kind, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["held"], done.stdout + done.stderr
    assert "failed in" not in done.stderr, "an interrupt is no failure of the engine"


@pytest.mark.parametrize("kind", ["frame", "csv", "table"])
def test_duckdb_lets_an_interrupt_through(kind: str, tmp_path: Path) -> None:
    interrupted(kind, str(tmp_path))


def test_postgres_lets_an_interrupt_through(postgres_dsn: str) -> None:
    interrupted("postgres", postgres_dsn)


def test_spark_lets_an_interrupt_through(spark_session: object) -> None:
    interrupted("spark")


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
