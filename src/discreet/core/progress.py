"""A progress bar for long runs, shown only to whoever asks for one.

``release(data, progress=True)`` draws a bar where rich is installed, and nothing where it is not. The bar
shows how many steps were taken. That may depend on the data, so it is for the owner's own screen.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from discreet.core.mechanism import Mechanism, Release
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive

Data = TypeVar("Data")
Value = TypeVar("Value")
Item = TypeVar("Item")

_WANTED: ContextVar[bool] = ContextVar("progress", default=False)


class LongRun(Mechanism[Data, Value]):
    """A mechanism whose release can show a progress bar."""

    __slots__ = ()

    def release(
        self, data: Data | Sensitive[Data], *, rng: Rng = SYSTEM, progress: bool = False
    ) -> Release[Value]:
        """Draw one release, with a progress bar on request. It costs `guarantee`, whatever comes out."""
        with bars(progress):
            return Mechanism.release(self, data, rng=rng)


@contextmanager
def bars(wanted: bool) -> Iterator[None]:
    """Show the bars of what is done inside, or none."""
    token = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(token)


def track(steps: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass the steps on, behind a bar where one is wanted and rich is installed; none inside another."""
    if not _WANTED.get():
        yield from steps
        return
    try:
        rich = importlib.import_module("rich.progress")
    except ImportError:
        yield from steps
        return
    _WANTED.set(False)
    try:
        yield from rich.track(steps, total=total, description=label)
    finally:
        _WANTED.set(True)
