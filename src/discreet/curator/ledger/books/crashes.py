"""Named places where a test can end the process as a loss of power would: see `tests/faults`."""

from __future__ import annotations

import os
import signal

_AT, _, _COUNT = os.environ.get("DISCREET_CRASH_AT", "").partition("#")
_passed = {"times": 0}


def reach(place: str) -> None:
    """Pass a place; end the process there where `DISCREET_CRASH_AT` names it (`place#3`: the third time)."""
    if place == _AT:
        _passed["times"] += 1
        if _passed["times"] == int(_COUNT or 1):
            os.kill(os.getpid(), signal.SIGKILL)
