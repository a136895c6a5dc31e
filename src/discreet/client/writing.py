"""What is sent to a server: plain data, exact numbers as the decimals they are written as."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.deltas import read_delta
from discreet.core import checks
from discreet.core.errors import InvalidParameter

_CALLED = re.compile("[0-9a-f]{16}")
_ONE_COUNT = 'For one count pass [{"ward": ["north"]}]: of a column all values that it may have'


def check_called(opener: str, **named: object) -> str:
    """Return what a server called something that was opened."""
    ((name, value),) = named.items()
    called = checks.text(**named)
    if not _CALLED.fullmatch(called):
        raise InvalidParameter(name=name, rule=f"what {opener} returned", value=value)
    return called


def write_question(
    query: str,
    *,
    fresh: bool,
    study: str | None,
    epsilon: checks.Number | None,
    delta: checks.Number | None,
) -> dict[str, Any]:
    """Return a question as it is sent."""
    said: dict[str, Any] = {"sql": checks.text(query=query), "fresh": bool(fresh)}
    if study is not None:
        said["study"] = checks.text(study=study)
    if epsilon is not None:
        said["epsilon"] = _write_number(checks.positive(epsilon=epsilon), "epsilon")
    if delta is not None:
        said["delta"] = _write_number(checks.delta(delta=delta), "delta")
    return said


def write_offer(epsilon: checks.Number, delta: checks.Number, study: str | None) -> dict[str, Any]:
    """Return what is offered for something that is opened."""
    said: dict[str, Any] = {
        "epsilon": _write_number(checks.positive(epsilon=epsilon), "epsilon"),
        "delta": _write_number(read_delta(delta, way_out="No server takes a larger one"), "delta"),
    }
    return said if study is None else {**said, "study": checks.text(study=study)}


def _write_number(number: Fraction, name: str) -> float:
    """Return the float that is written as the same decimal; a server reads decimals exactly."""
    written = float(number)
    if Fraction(repr(written)) != number:
        raise InvalidParameter(name=name, rule="a decimal of at most 15 digits", value=number)
    return written


def write_clause(clause: Any) -> dict[str, list[Any]]:
    """Return the values that columns may have in one count."""
    if not isinstance(clause, Mapping):
        rule, got = "a list of counts, each with values by column", f"a {type(clause).__name__} among them"
        raise InvalidParameter(name="conjunctions", rule=rule, got=got, hint=_ONE_COUNT)
    return {column: _write_values(checks.text(column=column), values) for column, values in clause.items()}


def _write_values(column: str, values: Any) -> list[Any]:
    try:
        listed = checks.several(values=values)
    except InvalidParameter:
        listed = ()
    if not listed:
        got = f"a {type(values).__name__}" if isinstance(values, str) else "none"
        raise InvalidParameter(name=column, rule="a list of values", got=got, hint=_ONE_COUNT)
    return [_write_value(value) for value in listed]


def _write_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, np.bool_ | np.str_):
        return value.item()
    if type(value) is datetime.date:
        return value.isoformat()
    if isinstance(value, float | Decimal | Fraction):
        return _write_number(checks.exact(values=value), "values")
    rule = "text, numbers, dates, True, False or None"
    raise InvalidParameter(name="values", rule=rule, got=f"a {type(value).__name__}")
