"""Public ticks: replies leave at times that say nothing about who else asked."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.core import checks


class Ticks:
    """Holds every reply, and every refusal, to the first tick at least one whole tick after its question.

    Work that takes less than a tick, waiting for the engine included, is invisible. Work that takes longer
    leaves at a later tick: choose ticks longer than what all analysts together may ask of the engine at once.

    Parameters
    ----------
    every
        Seconds between ticks; None for none.
    """

    def __init__(self, every: checks.Number | None) -> None:
        self.every = None if every is None else float(checks.positive(tick=every))
        self._opened = time.monotonic()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do the work inside, and come back at a tick, whatever came of it."""
        asked = time.monotonic()
        try:
            yield
        finally:
            if self.every is not None:
                self._wait(asked + self.every)

    def _wait(self, least: float) -> None:
        now, every = time.monotonic(), self.every or 0.0
        wanted = self._opened + math.ceil((max(least, now) - self._opened) / every) * every
        while (left := wanted - time.monotonic()) > 0:
            time.sleep(left)
