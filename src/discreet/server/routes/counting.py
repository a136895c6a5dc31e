"""Counts and made-up rows, from the shared hypothesis or a conversation of one's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.curator.doors import Analyst
from discreet.curator.kept.written_values import write_value
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.server.requests import CountsAsked


def write_counts(door: Analyst, asked: CountsAsked, conversation: str | None) -> dict[str, Any]:
    """Return counts as plain values, in the order in which they were asked for."""
    clauses = [_read_clause(one) for one in asked.conjunctions]
    said = door.ask(Conjunctions(door.universe_of(conversation), clauses), conversation=conversation)
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


def _read_clause(clause: dict[str, Any]) -> dict[str, Any]:
    """Return a clause with values that a universe may have."""
    for values in clause.values():
        if Decimal in map(type, values):
            rule = "text, whole numbers, true, false or null"
            raise InvalidParameter(name="conjunctions", rule=rule, got="a number with a point")
    return clause


def _finite(error: float) -> float | None:
    return error if error < float("inf") else None
