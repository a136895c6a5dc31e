"""How often one analyst may ask: a bucket that fills at a public rate."""

from __future__ import annotations

import time
from collections import OrderedDict

_MOST_NAMES = 10_000


class RequestRates:
    """Counts requests by name.

    Parameters
    ----------
    a_second, at_once
        How many are allowed in the long run, and how many at once.
    """

    def __init__(self, *, a_second: float, at_once: int) -> None:
        self._rate, self._most = a_second, at_once
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Count a request; tell whether it is allowed."""
        now = time.monotonic()
        left, then = self._buckets.pop(name, (float(self._most), now))
        left = min(float(self._most), left + (now - then) * self._rate)
        allowed = left >= 1
        self._buckets[name] = left - allowed, now
        if len(self._buckets) > _MOST_NAMES:
            self._buckets.popitem(last=False)
        return allowed
