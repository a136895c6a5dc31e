"""JSON as a client takes it: finite numbers, and one meaning for every text."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from discreet.core.errors import StrangeReply


def read_json(body: bytes) -> Any:
    """Return what a reply says.

    Raises
    ------
    StrangeReply
        Where it is not JSON in UTF-8, names something twice, or has a number that is not finite.
    """
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_read_pairs,
            parse_constant=_refuse,
            parse_float=_read_float,
        )
    except (ValueError, RecursionError):  # also numbers of thousands of digits
        raise StrangeReply("it is not JSON") from None


def write_json(said: Any) -> bytes:
    """Return plain values as JSON."""
    return json.dumps(said, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) != len(pairs):
        raise ValueError
    return said


def _refuse(text: str) -> NoReturn:
    raise ValueError


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number
