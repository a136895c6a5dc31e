"""What a private value may be: one of public names, a number between public bounds, or a string of bits.

What is none of the names counts as the first, what is no number as the middle of the range: to refuse it
would tell of it.
"""

from __future__ import annotations

import hashlib
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.local.laws.wire import require_short

MOST_VALUES = 1 << 48
"""More values than this are no list but a search."""
MOST_SALT = (1 << 64) - 1
LONGEST_STRING = 64
"""Bits of the strings that a search finds."""
MOST_STEPS = 1 << 20
"""A finer grid is finer than any noise."""
_FARTHEST = 400  # digits of a decimal that are read
_NAMES = (int, str, float)  # columns of whole numbers of which one is missing are kept as floats; 3.0 is 3


class Domain(ABC):
    """What a private value may be, as public data."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values are told apart."""

    @abstractmethod
    def read(self, value: object) -> int:
        """Return the place of a value, whatever it is."""

    def read_all(self, values: Iterable[object]) -> Iterator[int]:
        """Yield the place of each value, as `read` does."""
        return map(self.read, values)

    @property
    def more(self) -> tuple[Any, ...]:
        """What a table depends on besides the number of values."""
        return ()

    @abstractmethod
    def describe(self) -> Any:
        """Return the same as plain data, for the wire."""


@dataclass(frozen=True, slots=True)
class ValueNames(Domain):
    """The whole numbers 0 .. count - 1, or a list of texts or whole numbers."""

    count: int
    names: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, given: object) -> ValueNames:
        """Return the domain that a number or a list of names stands for."""
        if type(given) is ValueNames:
            return given
        if isinstance(given, int) and not isinstance(given, bool):
            if not 2 <= given <= MOST_VALUES:
                raise _refuse(f"from 2 to {MOST_VALUES} values", int(given))
            return cls(int(given))
        listed = list_entries(given) if not isinstance(given, range) else [*given]
        odd = next((each for each in listed if type(each) not in (str, int)), given)
        if not listed or odd is not given:
            within = " in a list" if odd is not given else ""
            raise _refuse("a number of values, or a list of texts or whole numbers", got=_kind(odd) + within)
        names: tuple[Any, ...] = tuple(listed)
        if len(set(names)) != len(names) or len(names) < 2:
            raise _refuse("two different values or more", got=f"{len(names)} of them, some alike or too few")
        return cls(len(names)) if names == tuple(range(len(names))) else cls(len(names), names)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.count

    def read(self, value: object) -> int:
        """Return the place of a value."""
        if type(value) is bool and not self.names:
            return int(value)  # a column of yes and no
        if type(value) not in _NAMES or not isinstance(value, int | str | float):
            return 0
        if self.names:
            return _find_places(self.names).get(value, 0)
        known = not isinstance(value, str) and 0 <= value < self.count and value == int(value)
        return int(value) if known else 0

    def read_all(self, values: Iterable[object]) -> Iterator[int]:
        """Yield the place of each value; names are looked up in one list, found once."""
        if not self.names:
            return map(self.read, values)
        places = _find_places(self.names)
        return (places.get(value, 0) if type(value) in _NAMES else 0 for value in values)

    def name(self, place: int) -> str | int:
        """Return the value at a place."""
        return self.names[place] if self.names else place

    def describe(self) -> Any:
        """Return the number, or the names."""
        return list(self.names) if self.names else self.count

    def __repr__(self) -> str:
        return f"{self.count} values"


@dataclass(frozen=True, slots=True)
class RepeatedNames(ValueNames):
    """Values that are reported again and again, with the budget of one report."""

    once: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        require_short(once=self.once)

    @property
    def more(self) -> tuple[Any, ...]:
        """The budget of one report."""
        return (self.once,)

    def describe(self) -> Any:
        """Return the values and that budget."""
        return {"values": ValueNames.describe(self), "once": str(self.once)}


@dataclass(frozen=True, slots=True)
class Span(Domain):
    """Numbers between two bounds, on a grid of an even number of equal steps, so that it has a middle."""

    lower: Fraction
    upper: Fraction
    steps: int

    def __post_init__(self) -> None:
        require_short(lower=self.lower, upper=self.upper)
        if not self.lower < self.upper:
            raise InvalidParameter(name="upper", rule=f"above lower={self.lower}", value=self.upper)
        if not 2 <= self.steps <= MOST_STEPS or self.steps % 2:
            raise InvalidParameter(name="steps", rule=f"even, from 2 to {MOST_STEPS}", value=self.steps)

    @property
    def size(self) -> int:
        """One more than there are steps."""
        return self.steps + 1

    @property
    def half(self) -> Fraction:
        """Half of the range."""
        return (self.upper - self.lower) / 2

    @property
    def middle(self) -> Fraction:
        """The middle of the range."""
        return (self.upper + self.lower) / 2

    def read(self, value: object) -> int:
        """Return the nearest place of the grid; a number outside the bounds counts as the bound."""
        number = _read_number(value)
        if number is None:
            return self.steps // 2
        if isinstance(number, float):
            return self.steps if number > 0 else 0
        place = math.floor((number - self.lower) * self.steps / (self.upper - self.lower) + Fraction(1, 2))
        return min(max(place, 0), self.steps)

    def describe(self) -> Any:
        """Return bounds and steps."""
        return {"lower": str(self.lower), "upper": str(self.upper), "steps": self.steps}


@dataclass(frozen=True, slots=True)
class BitStrings(Domain):
    """Whole numbers below 2**bits, or texts and bytes that are no longer: far too many for a list.

    The place of a value is its number times an odd number that the salt decides, modulo 2**bits. That has an
    inverse, and values that begin alike no longer do: two of them share their first m bits for at most
    2 / 2**m of all multipliers [DHKP97].
    """

    bits: int
    salt: int = 0

    def __post_init__(self) -> None:
        for name, given, least, most in (
            ("bits", self.bits, 1, LONGEST_STRING),
            ("salt", self.salt, 0, MOST_SALT),
        ):
            if type(given) is not int or not least <= given <= most:
                raise InvalidParameter(name=name, rule=f"a whole number from {least} to {most}", value=given)

    @property
    def size(self) -> int:
        """All strings of bits."""
        return 1 << self.bits

    @property
    def multiplier(self) -> int:
        """What values are multiplied by: an odd number below 2**bits."""
        return _find_multiplier(self.bits, self.salt)

    def read(self, value: object) -> int:
        """Return the place of a value; a text counts as its bytes, with zeros at the end."""
        number = 0
        if type(value) is str:
            value = value.encode(errors="replace")
        if type(value) is bytes and len(value) <= self.bits // 8:
            number = int.from_bytes(value, "big") << (self.bits - 8 * len(value))
        elif type(value) in (int, float) and isinstance(value, int | float) and 0 <= value < self.size:
            number = int(value) if value == int(value) else 0
        return number * self.multiplier % self.size

    def find_value(self, place: int) -> int:
        """Return the number whose place it is."""
        return place * pow(self.multiplier, -1, self.size) % self.size

    def describe(self) -> Any:
        """Return bits and salt."""
        return {"bits": self.bits, "salt": self.salt}


@lru_cache(maxsize=64)
def _find_multiplier(bits: int, salt: int) -> int:
    digest = hashlib.sha256(f"discreet prefix search, {salt}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") | 1) % (1 << bits)


def make_scalar(entry: object) -> object:
    """Return a number of NumPy's as a plain one, and all else as it is: arrays are no number.

    A device has no NumPy; where nothing imported it, there are none, whatever a class says of itself.
    """
    numpy: Any = sys.modules.get("numpy")
    kind: Any = type(entry)
    if numpy is not None and issubclass(kind, numpy.generic):
        return _take(numpy, numpy.generic, entry)
    if numpy is not None and kind is numpy.ndarray and not numpy.ndim(entry):
        return _take(numpy, numpy.ndarray, entry)
    return entry


def _take(numpy: Any, kind: Any, entry: object) -> object:
    plain = kind.item(entry)
    if type(plain) is not numpy.longdouble:
        return plain
    with numpy.errstate(all="ignore"):  # that a number is huge is not to be told
        return float(plain)


def list_entries(value: object) -> list[object]:
    """Return what a list or a tuple stores, whatever its class would show; nothing for all else.

    `isinstance` is for the type checker: it asks a stranger's object for its class, which may raise.
    """
    if issubclass(type(value), list) and isinstance(value, list):
        return list(list.__iter__(value))
    if issubclass(type(value), tuple) and isinstance(value, tuple):
        return list(tuple.__iter__(value))
    return []


def _read_number(value: object) -> Fraction | float | None:
    """Return a number exactly, an infinity as a float, and None for what is no number.

    `isinstance` is for the type checker: it asks a stranger's object for its class, which may raise.
    """
    if type(value) in (int, Fraction) and isinstance(value, int | Fraction):
        return Fraction(value)
    if type(value) is float:
        return None if math.isnan(value) else value if math.isinf(value) else Fraction(value)
    if type(value) is Decimal and not value.is_nan():
        if value.is_infinite() or value.adjusted() > _FARTHEST:
            return -math.inf if value.is_signed() else math.inf
        return Fraction(0) if value.adjusted() < -_FARTHEST else Fraction(value)
    return None


@lru_cache(maxsize=64)
def _find_places(names: tuple[str | int, ...]) -> dict[Any, int]:
    return {name: place for place, name in enumerate(names)}


def _kind(given: object) -> str:
    return f"a {type(given).__name__}"


def _refuse(rule: str, value: object = None, got: str = "") -> InvalidParameter:
    return InvalidParameter(name="domain", rule=rule, value=value, got=got)
