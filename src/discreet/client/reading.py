"""What a server answers, as the values that the curator itself gives."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar, get_args

import numpy as np

from discreet.core.errors import StrangeReply
from discreet.curator.amounts import Amounts
from discreet.curator.history import AskedQuestion, Quote
from discreet.curator.reply import Interval, Kind, Reply
from discreet.data.pricing.question_plan import ColumnError
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


def read_amounts(said: Mapping[str, str]) -> Amounts:
    """Return parts of a budget."""
    return Amounts({_text(name): Fraction(_text(amount)) for name, amount in said.items()})


def read_reply(said: Mapping[str, Any]) -> Reply:
    """Return an answer."""
    if said["kind"] not in get_args(Kind):
        raise ValueError
    columns = tuple(map(_text, _list(said["columns"])))
    rows = tuple(tuple(map(_read, _list(row))) for row in _list(said["rows"]))
    if any(len(row) != len(columns) for row in rows):
        raise ValueError
    return Reply(
        columns,
        rows,
        _read_intervals(said["intervals"], columns, len(rows)),
        said["kind"],
        read_amounts(said["cost"]),
        repeated=said["repeated"] is True,
    )


def read_quote(said: Mapping[str, Any]) -> Quote:
    """Return a price. Its guarantee stays where it is computed."""
    return Quote(
        _text(said["kind"]),
        tuple(map(_read_error, _list(said["columns"]))),
        cost=read_amounts(said["cost"]),
        words=_text(said["words"]),
        together=tuple(map(_read_error, _list(said["together"]))),
    )


def read_history(said: Mapping[str, Any]) -> tuple[AskedQuestion, ...]:
    """Return what an analyst asked."""
    return tuple(
        AskedQuestion(
            int(one["number"]),
            _text(one["what"]),
            _text(one["kind"]),
            one["repeated"] is True,
            read_amounts(one["cost"]),
        )
        for one in _list(said["questions"])
    )


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


def _read_intervals(
    said: Mapping[str, Any], columns: tuple[str, ...], rows: int
) -> dict[str, tuple[Interval, ...]]:
    intervals = {
        columns[columns.index(name)]: tuple((_read(low), _read(high)) for low, high in _list(ends))
        for name, ends in said.items()
    }
    if any(len(ends) != rows for ends in intervals.values()):
        raise ValueError
    return intervals


def _read_error(said: Mapping[str, Any]) -> ColumnError:
    error = said["error"]
    return ColumnError(_text(said["name"]), None if error is None else float(error), _text(said["words"]))


def _read(said: Any) -> Any:
    if not isinstance(said, dict):
        if isinstance(said, list):
            raise TypeError
        return said
    ((tag, text),) = said.items()
    return _TAGS[tag](_text(text))


_TAGS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "date": datetime.date.fromisoformat,
    "exact": Fraction,
}


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise TypeError
    return said


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise TypeError
    return said
