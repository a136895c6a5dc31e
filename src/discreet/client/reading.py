"""What a server answers, as the values that the curator itself gives; another shape is not read."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from discreet.core.errors import StrangeReply
from discreet.curator.amounts import Amounts
from discreet.curator.history import AskedQuestions, Quote
from discreet.curator.kept import written_reply
from discreet.curator.kept.written_values import read_value
from discreet.curator.reply import Reply
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.query_release.synopses.online_answer import OnlineAnswers

T = TypeVar("T")
_FRACTION = re.compile(r"-?\d{1,2000}(/\d{1,2000})?")


def read_as(what: str, read: Callable[[Any], T], said: Any) -> T:
    """Return what a function reads from a reply.

    Raises
    ------
    StrangeReply
        Where it is of another shape.
    """
    try:
        return read(said)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise StrangeReply(f"it is no {what} as this version reads it") from None


def read_fraction(said: Any) -> Fraction:
    """Return an exact number that was written out."""
    if _FRACTION.fullmatch(_text(said)) is None:
        raise ValueError
    return Fraction(said)


def read_amounts(said: Mapping[str, Any]) -> Amounts:
    """Return parts of a budget."""
    return Amounts({name: read_fraction(amount) for name, amount in said.items()})


def read_reply(said: Mapping[str, Any]) -> Reply:
    """Return an answer, whose every row has a value of every column."""
    columns, rows = [_text(one) for one in _list(said["columns"])], _list(said["rows"])
    tables = (said["intervals"], said["together"] or {})
    ends = [(name, one) for table in tables for name, one in table.items()]
    is_whole = all(len(_list(row)) == len(columns) for row in rows)
    is_bounded = all(name in columns and len(_list(one)) == len(rows) for name, one in ends)
    if not (is_whole and is_bounded and isinstance(said["repeated"], bool)):
        raise ValueError
    read_amounts(said["cost"])
    return written_reply.read_reply(said)


def read_quote(said: Mapping[str, Any]) -> Quote:
    """Return a price. Its guarantee stays where it is computed."""
    read_amounts(said["cost"])
    return written_reply.read_quote(said)


def read_history(said: Mapping[str, Any]) -> AskedQuestions:
    """Return what an analyst asked."""
    for one in _list(said["questions"]):
        read_amounts(one["cost"])
    return AskedQuestions(map(written_reply.read_asked, said["questions"]))


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


def read_columns(said: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return made-up rows, column by column."""
    columns = {name: [read_value(one) for one in _list(values)] for name, values in said["columns"].items()}
    if len({len(values) for values in columns.values()}) != 1:
        raise ValueError
    return columns


def read_names(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of data sets."""
    return tuple(map(_text, _list(said["datasets"])))


def read_conversation(said: Mapping[str, Any]) -> str:
    """Return what a conversation is called."""
    return _text(said["conversation"])


def read_standing_name(said: Mapping[str, Any]) -> str:
    """Return what a standing question is called."""
    return _text(said["standing"])


def read_standing_names(said: Mapping[str, Any]) -> dict[str, str]:
    """Return what standing questions are called, each with its question."""
    return {_text(name): _text(text) for name, text in said["standing"].items()}


def read_standing(said: Mapping[str, Any]) -> StandingAnswer:
    """Return what a standing question has answered."""
    periods = tuple(map(datetime.date.fromisoformat, _list(said["periods"])))
    values, errors = (tuple(float(one) for one in _list(said[name])) for name in ("values", "errors"))
    if not len(periods) == len(values) == len(errors) or not all(map(math.isfinite, values + errors)):
        raise ValueError
    return StandingAnswer(
        name=_text(said["standing"]),
        question=_text(said["question"]),
        is_running=bool(said["running"]),
        periods=periods,
        values=values,
        errors=errors,
        together=float(said["together"]),
        left=int(said["left"]),
    )


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise TypeError
    return said


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise TypeError
    return said
