"""Every rule on a parameter, in one place.

Each helper takes keywords, so that the message can name the parameter, and returns the exact value
(or a tuple of them). Tests are written so that NaN fails them: ``not value > 0``.

Floats are read as the decimal a person wrote: ``0.1`` becomes 1/10, not the binary number next to it.

What comes out is always of a plain type, made from the stored value in one reading: a subclass of int,
float, Fraction or str that compares, prints or converts itself otherwise cannot pass as one number and be
used as another.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
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

FARTHEST = 4096
"""How many powers of ten a decimal may be away from 1: a fraction of 1E+999999999 would fill the memory."""

_LARGEST = 10**308  # an epsilon that floats can hold
_NUMPY = frozenset(np.dtype(code).type for code in "bhilqBHILQefdg")


def read_number(value: object) -> Fraction | float | None:
    """Read what may be a number: for data, about which no error may speak.

    It never raises and asks no method of a stranger's class. Returned is the Fraction a person meant, a float
    where it is NaN or infinite (which a decimal beyond 10**FARTHEST is taken for; one below 10**-FARTHEST is
    0), or None where it is no number.
    """
    kind = type(value)
    try:
        if issubclass(kind, float) or kind in _NUMPY:
            return _read_machine_number(value)
        if issubclass(kind, int) and kind is not bool:
            return Fraction(_whole(value))  # type: ignore[arg-type]
        if issubclass(kind, Decimal):
            return _read_decimal(value)  # type: ignore[arg-type]
        if issubclass(kind, Fraction):
            return Fraction(*map(_whole, Fraction.as_integer_ratio(value)))  # type: ignore[arg-type]
    except BaseException:  # a subclass that hides its own parts is no number
        return None
    return None


def _read_machine_number(value: Any) -> Fraction | float:
    if isinstance(value, np.integer):
        return Fraction(int(value))
    if type(value) in _NUMPY:
        return Fraction(str(value)) if np.isfinite(value) else float(value)
    return Fraction(float.__repr__(value)) if math.isfinite(value) else float.__pos__(value)


def _read_decimal(value: Decimal) -> Fraction | float:
    if Decimal.is_nan(value):
        return math.nan
    far = 0 if Decimal.is_infinite(value) or Decimal.is_zero(value) else Decimal.adjusted(value)
    if Decimal.is_infinite(value) or far > FARTHEST:
        return -math.inf if Decimal.is_signed(value) else math.inf
    return Fraction(0) if far < -FARTHEST else Fraction(*Decimal.as_integer_ratio(value))


def exact(**named: object) -> Fraction:
    """Return one finite number as the Fraction a person meant."""
    ((name, value),) = named.items()
    if isinstance(value, Decimal) and Decimal.is_finite(value) and not Decimal.is_zero(value):
        if abs(Decimal.adjusted(value)) > FARTHEST:
            raise InvalidParameter(name=name, rule=f"a number of at most {FARTHEST} digits", value=value)
    number = read_number(value)
    if not isinstance(number, Fraction):
        raise InvalidParameter(name=name, rule="a finite number", value=value)
    return number


def positive(**named: object) -> Fraction:
    """Return a number that must be finite and > 0."""
    return _check_rule(named, "finite and > 0", lambda x: x > 0)


def non_negative(**named: object) -> Fraction:
    """Return a number that must be finite and >= 0."""
    return _check_rule(named, "finite and >= 0", lambda x: x >= 0)


def probability(**named: object) -> Fraction:
    """Return a number that must lie strictly between 0 and 1."""
    return _check_rule(named, "strictly between 0 and 1", lambda x: 0 < x < 1)


def delta(**named: object) -> Fraction:
    """Return a failure probability: 0 <= delta < 1."""
    return _check_rule(named, "at least 0 and below 1", lambda x: 0 <= x < 1)


def at_least(minimum: Number, **named: object) -> Fraction:
    """Return a number that must be finite and >= minimum."""
    return _check_rule(named, f"finite and >= {plain(minimum)}", lambda x: x >= minimum)


def integer(minimum: int, maximum: int | None = None, /, **named: object) -> int:
    """Return a whole number that must be >= minimum, and <= maximum where there is one."""
    number = _check_integer(named, f"an integer >= {minimum}", minimum)
    if maximum is not None and number > maximum:
        raise InvalidParameter(name=next(iter(named)), rule=f"at most {maximum}", value=number)
    return number


def several(**named: object) -> tuple[Any, ...]:
    """Return the members of a list. Text and bytes have members too, which nobody means by their numbers."""
    ((name, value),) = named.items()
    if isinstance(value, str | bytes | bytearray | memoryview) or not isinstance(value, Iterable):
        raise InvalidParameter(name=name, rule="a list", got=f"a {type(value).__name__}")
    return tuple(value)


def each(check: Callable[..., T], *arguments: Any, **named: object) -> tuple[T, ...]:
    """Return the members of a list, each of which must pass a check: `check(*arguments, name=member)`."""
    ((name, _),) = named.items()
    return tuple(check(*arguments, **{name: member}) for member in several(**named))


def index(length: int, **named: object) -> int:
    """Return a position that must lie in range(length)."""
    return _check_integer(named, f"an integer in 0..{length - 1}", 0, length - 1)


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
    if not isinstance(value, str) or not str.strip(value):
        raise InvalidParameter(name=name, rule="a non-empty text", value=value)
    return str.__str__(value)


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
    hint = vars(kind).get("way_out", "")
    if isinstance(value, type) and issubclass(value, kind):
        hint = f"Make one: {value.__name__}(...)"
    raise InvalidParameter(name=name, rule=rule, hint=hint, **shown)


def function(of: str, **named: object) -> Any:
    """Return a value that must be callable."""
    ((name, value),) = named.items()
    if not callable(value):
        raise InvalidParameter(name=name, rule=f"a function of {of}", value=value)
    return value


def exactly(kind: type[T], **named: object) -> T:
    """Return a value that must be of a class itself: one that is derived from it could do anything else.

    The class may say the `way_out`.
    """
    ((name, value),) = named.items()
    if type(value) is kind:
        return value
    got = type(value).__name__
    said = f"a {got}" if got != kind.__name__ else f"another class's {got}"
    hint = vars(kind).get("way_out", "")
    raise InvalidParameter(name=name, rule=f"a {kind.__name__} itself", got=said, hint=hint)


def _whole(value: int | np.integer[Any]) -> int:
    """Return the stored integer; a subclass's own conversion is not asked."""
    return int.__int__(value) if isinstance(value, int) else int(value)


def _check_integer(named: dict[str, object], rule: str, least: int, most: int | None = None) -> int:
    ((name, value),) = named.items()
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = _whole(value)
        if least <= number and (most is None or number <= most):
            return number
    raise InvalidParameter(name=name, rule=rule, value=value)


def _check_rule(named: dict[str, object], rule: str, holds: Callable[[Fraction], bool]) -> Fraction:
    ((name, value),) = named.items()
    try:
        number = exact(**{name: value})
    except InvalidParameter:
        infinite = isinstance(value, float | np.floating | Decimal)
        hint = "Write 50% as 0.5" if isinstance(value, str) and str.endswith(value, "%") else ""
        raise InvalidParameter(
            name=name, rule=rule if infinite else f"a number, {rule}", value=value, hint=hint
        ) from None
    if not holds(number):
        raise InvalidParameter(name=name, rule=rule, value=value)
    if name == "epsilon" and number > _LARGEST:  # accounts are kept in floats too, which end there
        raise InvalidParameter(name=name, rule=f"{rule}, and at most 1e308", value=value)
    return number
