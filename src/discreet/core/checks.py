"""Every rule on a parameter, in one place.

Each helper takes keywords, so that the message can name the parameter, and returns the exact value
(or a tuple of them). Tests are written so that NaN fails them: ``not value > 0``.

Floats are read as the decimal a person wrote: ``0.1`` becomes 1/10, not the binary number next to it.
"""

from __future__ import annotations

import enum
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.core.errors import InvalidParameter, plain

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

Number = int | float | Fraction | Decimal
"""What a user may write for a parameter. Booleans and strings are refused although Python would take them."""


def exact(**named: object) -> Fraction:
    """Return one finite number as the Fraction a person meant."""
    ((name, value),) = named.items()
    if isinstance(value, bool | np.bool_ | str | bytes) or value is None:
        raise InvalidParameter(name=name, rule="a finite number", value=value)
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise InvalidParameter(name=name, rule="a finite number", value=value)
        return Fraction(str(value)) if isinstance(value, np.floating) else Fraction(repr(value))
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidParameter(name=name, rule="a finite number", value=value)
        return Fraction(value)
    if isinstance(value, Fraction):
        return value if type(value) is Fraction else Fraction(int(value.numerator), int(value.denominator))
    raise InvalidParameter(name=name, rule="a finite number", value=value)


def positive(**named: object) -> Fraction:
    """Return a number that must be finite and > 0."""
    return _ruled(named, "finite and > 0", lambda x: x > 0)


def non_negative(**named: object) -> Fraction:
    """Return a number that must be finite and >= 0."""
    return _ruled(named, "finite and >= 0", lambda x: x >= 0)


def probability(**named: object) -> Fraction:
    """Return a number that must lie strictly between 0 and 1."""
    return _ruled(named, "strictly between 0 and 1", lambda x: 0 < x < 1)


def delta(**named: object) -> Fraction:
    """Return a failure probability: 0 <= delta < 1."""
    return _ruled(named, "at least 0 and below 1", lambda x: 0 <= x < 1)


def at_least(minimum: Number, **named: object) -> Fraction:
    """Return a number that must be finite and >= minimum."""
    return _ruled(named, f"finite and >= {plain(minimum)}", lambda x: x >= minimum)


def integer(minimum: int, **named: object) -> int:
    """Return a whole number that must be >= minimum."""
    ((name, value),) = named.items()
    rule = f"an integer >= {minimum}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InvalidParameter(name=name, rule=rule, value=value)
    number = int(value)
    if not number >= minimum:
        raise InvalidParameter(name=name, rule=rule, value=value)
    return number


def index(length: int, **named: object) -> int:
    """Return a position that must lie in range(length)."""
    ((name, value),) = named.items()
    place = -1 if isinstance(value, bool) or not isinstance(value, int | np.integer) else int(value)
    if not 0 <= place < length:
        raise InvalidParameter(name=name, rule=f"an integer in 0..{length - 1}", value=value)
    return place


def one_of(allowed: tuple[T, ...], **named: object) -> T:
    """Return a value that must be one of a closed set."""
    ((name, value),) = named.items()
    for candidate in allowed:
        if type(value) is type(candidate) and value == candidate:
            return candidate
    words = ", ".join(repr(candidate) for candidate in allowed)
    raise InvalidParameter(name=name, rule=f"one of {words}", value=value)


def text(**named: object) -> str:
    """Return a text that must not be empty."""
    ((name, value),) = named.items()
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter(name=name, rule="a non-empty text", value=value)
    return value


def instance(kind: type[Any], **named: object) -> Any:
    """Return a value that must be an instance of a class. The class may say the `way_out`."""
    ((name, value),) = named.items()
    if isinstance(value, kind):
        return value
    rule = f"an instance of {kind.__name__}"
    if issubclass(kind, enum.Enum):
        rule = "one of " + ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
    # Anything but a plain value may be data: only its type is said, and nothing of it is kept.
    plain = value is None or isinstance(
        value, str | bytes | int | float | Fraction | Decimal | enum.Enum | type
    )
    shown = {"value": value} if plain else {"got": f"a {type(value).__name__}"}
    raise InvalidParameter(name=name, rule=rule, hint=getattr(kind, "way_out", ""), **shown)


def exactly(kind: type[T], **named: object) -> T:
    """Return a value that must be of a class itself: one that is derived from it could do anything else."""
    ((name, value),) = named.items()
    if type(value) is kind:
        return value
    got = type(value).__name__
    said = f"a {got}" if got != kind.__name__ else f"another class's {got}"
    raise InvalidParameter(name=name, rule=f"a {kind.__name__} itself", got=said)


def _ruled(named: dict[str, object], rule: str, holds: Callable[[Fraction], bool]) -> Fraction:
    ((name, value),) = named.items()
    try:
        number = exact(**{name: value})
    except InvalidParameter:
        infinite = isinstance(value, float | np.floating | Decimal)
        raise InvalidParameter(
            name=name, rule=rule if infinite else f"a number, {rule}", value=value
        ) from None
    if not holds(number):
        raise InvalidParameter(name=name, rule=rule, value=value)
    return number
