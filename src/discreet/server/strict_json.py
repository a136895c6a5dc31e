"""JSON as a curator takes it: one meaning for every text, and exact numbers.

The standard reader takes NaN, reads 1e999 as infinity, lets the last of two equal names win and rounds every
number to a float. Whoever signs for a budget cannot have any of these.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from discreet.core.errors import InvalidParameter

DIGITS = 40
"""The most characters of a number."""

NAMES = 1000
"""The most names in one object."""

_MOST_EXPONENT = 400
_LONG_NUMBER = re.compile(rb"[-0-9]{%d}" % (DIGITS + 1))
_HALF_LETTER = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(body: bytes) -> Any:
    """Return what a body says. Numbers with a point or an exponent are `Decimal`, exactly as written.

    Raises
    ------
    InvalidParameter
        Where it is not JSON in UTF-8, names something twice, nests too deeply, or has a number that is not
        finite or absurdly long.
    """
    try:
        text = body.decode("utf-8")
        said = json.loads(
            text,
            object_pairs_hook=_read_pairs,
            parse_constant=_refuse_constant,
            parse_float=_read_decimal,
            # Most bodies have no long number: then none is looked at.
            parse_int=_read_integer if _LONG_NUMBER.search(body) else None,
        )
        if _HALF_LETTER.search(body):
            _require_letters(said)
    except UnicodeDecodeError:
        _refuse("text in UTF-8")
    except json.JSONDecodeError as problem:
        _refuse("JSON", f"something else at character {problem.pos}")
    except RecursionError:
        _refuse("JSON that nests less deeply")
    return said


def write_json(said: Any) -> bytes:
    """Return plain values as JSON, in one form; what is no number in JSON is a fault of ours."""
    return json.dumps(said, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) != len(pairs):
        _refuse("JSON that names nothing twice in one object")
    if len(pairs) > NAMES:  # each may be wrong in its own way, and all would be listed
        _refuse(f"JSON with at most {NAMES} names in one object")
    return said


def _refuse_constant(text: str) -> NoReturn:
    _refuse(f"JSON, which has no {text}")


def _read_decimal(text: str) -> Decimal:
    try:
        number = Decimal(text) if len(text) <= DIGITS else None
    except InvalidOperation:  # an exponent beyond all that a decimal can have
        number = None
    if number is None or abs(number.adjusted()) > _MOST_EXPONENT:
        _refuse(f"JSON with numbers of at most {DIGITS} characters, between 1e±{_MOST_EXPONENT}")
    return number


def _read_integer(text: str) -> int:
    if len(text) > DIGITS:
        _refuse(f"JSON with numbers of at most {DIGITS} characters")
    return int(text)


def _require_letters(said: Any) -> None:
    """Refuse halves of letters: they can be written in JSON, and nowhere else."""
    try:
        json.dumps(said, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        _refuse("JSON without halves of letters")


def _refuse(rule: str, got: str = "another one") -> NoReturn:
    raise InvalidParameter(name="body", rule=rule, got=got) from None
