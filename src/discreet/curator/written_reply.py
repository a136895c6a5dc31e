"""Replies, prices and histories as plain values, for whoever keeps or sends them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.curator.history import AskedQuestion, Quote
from discreet.curator.reply import Reply


def write_amounts(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    """Return exact amounts as text."""
    return {name: str(amount) for name, amount in amounts.items()}


def write_reply(reply: Reply) -> dict[str, Any]:
    """Return a reply as plain values."""
    return {
        "columns": list(reply.columns),
        "rows": [[_write(value) for value in row] for row in reply.rows],
        "intervals": _write_intervals(reply.intervals),
        "together": _write_intervals(reply.together),
        "keys": list(reply.keys),
        "kind": reply.kind,
        "cost": write_amounts(reply.cost),
        "repeated": reply.repeated,
        "receipt": None,
    }


def write_quote(quote: Quote) -> dict[str, Any]:
    """Return a price as plain values."""
    return {
        "kind": quote.kind,
        "columns": [{"name": one.name, "error": one.error, "words": one.words} for one in quote.columns],
        "together": [{"name": one.name, "error": one.error, "words": one.words} for one in quote.together],
        "cost": write_amounts(quote.cost),
        "guarantee": None if quote.guarantee is None else str(quote.guarantee),
        "words": quote.words,
    }


def write_asked(asked: AskedQuestion) -> dict[str, Any]:
    """Return one question of a history as plain values."""
    return {
        "number": asked.number,
        "what": asked.what,
        "kind": asked.kind,
        "repeated": asked.repeated,
        "cost": write_amounts(asked.cost),
    }


def _write_intervals(intervals: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [[_write(low), _write(high)] for low, high in ends] for name, ends in intervals.items()}


def _write(value: Any) -> Any:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"float": str(value)}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, Fraction | Decimal):
        return {"exact": str(value)}
    return value
