"""Values of replies as plain JSON: what JSON has no word for is tagged, and nothing is rounded."""

from __future__ import annotations

import contextlib
import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.core.errors import InternalError, InvalidParameter

_EXACT = 1 << 53
"""From here on many readers of JSON round whole numbers."""


def write_value(value: Any) -> Any:
    """Return a value as JSON has it: itself, or an object whose only name says what it is."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_EXACT < value < _EXACT else {"int": str(value)}
        case float():
            if math.isnan(value):
                raise InternalError("a reply holds only numbers")
            return value if math.isfinite(value) else {"float": "inf" if value > 0 else "-inf"}
        case Fraction():
            return {"fraction": str(value)}
        case Decimal():
            return {"decimal": str(value)}
        case datetime.datetime():
            return {"datetime": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case tuple():
            return {"several": [write_value(one) for one in value]}
    raise InternalError(f"a reply holds a value of the kind {type(value).__name__}")


def read_value(written: Any) -> Any:
    """Return the value that was written."""
    if written is None or isinstance(written, bool | int | str):
        return written
    if isinstance(written, float) and math.isfinite(written):
        return written
    if isinstance(written, dict) and len(written) == 1:
        ((kind, value),) = written.items()
        with contextlib.suppress(KeyError, TypeError, ValueError, ArithmeticError):
            return _READERS[kind](value)
    raise InvalidParameter(name="value", rule="one that a reply can hold", got="another")


_READERS: dict[str, Any] = {
    "int": int,
    "float": {"inf": math.inf, "-inf": -math.inf}.__getitem__,
    "fraction": lambda text: Fraction(*map(int, text.split("/"))),  # no exponents, which fill the memory
    "decimal": Decimal,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "several": lambda listed: tuple(map(read_value, listed)),
}
