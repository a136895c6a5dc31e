"""What a server answers, as the values that the curator itself gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from discreet.core.errors import StrangeReply
from discreet.curator.history import AskedQuestion
from discreet.curator.kept.written_reply import read_asked
from discreet.curator.kept.written_values import read_value
from discreet.query_release.synopses.online_answer import OnlineAnswers

T = TypeVar("T")


def read_as(what: str, read: Callable[[Any], T], said: Any) -> T:
    """Return what a function reads from a reply.

    Raises
    ------
    StrangeReply
        Where it is of another shape.
    """
    try:
        return read(said)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise StrangeReply(f"it is no {what} as this version reads it") from None


def read_history(said: Mapping[str, Any]) -> tuple[AskedQuestion, ...]:
    """Return what an analyst asked."""
    return tuple(map(read_asked, _list(said["questions"])))


def read_table(said: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return rows, column by column."""
    return {_text(name): list(map(read_value, _list(values))) for name, values in said["columns"].items()}


def read_counts(said: Mapping[str, Any]) -> OnlineAnswers:
    """Return many counts as arrays."""
    values, owns, errors = (
        np.array([math.inf if one is None else float(one) for one in _list(said[name])], dtype=np.float64)
        for name in ("values", "errors", "together")
    )
    kinds = np.array([_text(one) for one in _list(said["kinds"])])
    if not len(values) == len(owns) == len(errors) == len(kinds) or not np.all(np.isfinite(values)):
        raise ValueError
    return OnlineAnswers(values, errors, kinds, owns)


def read_names(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of data sets."""
    return tuple(map(_text, _list(said["datasets"])))


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise TypeError
    return said


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise TypeError
    return said
