"""What answers' own errors depend on, written down: learning it takes seconds, and is the same every time."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from discreet.query_release.fitting.mean_squares import Linear
from discreet.query_release.online.own_errors import OwnErrors

_LINEAR, _ARRAYS = ("kept", "lost", "beyond"), ("sizes", "reaches")
_NUMBERS = ("rows", "misfit", "more")


def write_own_errors(own: OwnErrors, about: str) -> bytes:
    """Return what was learnt, with a digest of what it was learnt about."""
    said: dict[str, Any] = {"about": about}
    for name in _LINEAR:
        linear = getattr(own, name)
        said[name] = {one.name: getattr(linear, one.name).tolist() for one in fields(Linear)}
    said |= {name: getattr(own, name).tolist() for name in _ARRAYS}
    said |= {name: float(getattr(own, name)) for name in _NUMBERS}
    return json.dumps(said).encode()


def read_own_errors(note: bytes, about: str) -> OwnErrors | None:
    """Return what was learnt; None where it was learnt about something else."""
    said = json.loads(note)
    if said["about"] != about:
        return None
    read: dict[str, Any] = {name: said[name] for name in _NUMBERS}
    for name in _LINEAR:
        read[name] = Linear(**{part: np.array(numbers) for part, numbers in said[name].items()})
    read |= {name: np.array(said[name]) for name in _ARRAYS}
    return OwnErrors(**read)
