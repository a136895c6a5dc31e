"""Counts and made-up rows, from the shared hypothesis or a conversation of one's own."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.curator.doors import Analyst
from discreet.curator.kept.written_values import write_value
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.universe import Universe
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.server.requests import CountsAsked

_FARTHEST = 40
"""Digits before or behind the point: no declared value has more, and an exponent could fill the memory."""

_EQUAL = (bool, int, Fraction)
"""Kinds whose values are equal in Python though they mean something else: True is 1."""


def write_counts(door: Analyst, asked: CountsAsked, conversation: str | None) -> dict[str, Any]:
    """Return counts as plain values, in the order in which they were asked for."""
    universe = door.universe_of(conversation)
    clauses = read_clauses(universe, asked.conjunctions)
    said = door.ask(Conjunctions(universe, clauses), conversation=conversation)
    listed = (said,) if isinstance(said, OnlineAnswer) else said
    return {
        "values": [one.value for one in listed],
        "errors": [_finite(one.own) for one in listed],
        "together": [_finite(one.error) for one in listed],
        "kinds": [one.kind for one in listed],
    }


def write_rows(door: Analyst, rows: int, conversation: str | None) -> dict[str, Any]:
    """Return made-up rows as plain values, column by column."""
    made = door.synthetic(rows, conversation=conversation).columns()
    return {"columns": {name: [write_value(one) for one in values] for name, values in made.items()}}


def read_clauses(universe: Universe, clauses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return clauses with values as their columns have them: JSON has neither dates nor fractions."""
    kinds = {attribute.name: type(attribute.values[0]) for attribute in universe.attributes}
    return [
        {name: [_read_value(one, kinds.get(name)) for one in values] for name, values in clause.items()}
        for clause in clauses
    ]


def _read_value(value: Any, kind: type | None) -> Any:
    if kind is datetime.date and isinstance(value, str):
        return _read_date(value)
    got = "a number with a point"
    if type(value) is not Decimal:
        is_alike = (type(value) is bool) is (kind is bool)
        if is_alike or type(value) not in _EQUAL or kind not in _EQUAL:
            return value
        got = "true or false for a number, or the other way round"
    elif kind is Fraction and value.is_finite() and abs(value.adjusted()) <= _FARTHEST:
        return Fraction(value)
    rule = "values of their columns: text, whole numbers, true, false or null; 0.5 in a decimal column"
    raise InvalidParameter(name="conjunctions", rule=rule, got=got)


def _read_date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(
            name="conjunctions", rule="dates like 2024-12-31 in a date column", got="other text"
        ) from None


def _finite(error: float) -> float | None:
    return error if error < float("inf") else None
