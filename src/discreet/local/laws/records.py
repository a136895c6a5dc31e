"""Records of several attributes, and a function of theirs with values between 0 and 1, on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.local.laws.domains import Domain, list_entries, make_scalar
from discreet.local.laws.wire import refuse

MOST_WEIGHTS = 1 << 20
"""A longer list is no survey for a device."""
MOST_STEPS = 1 << 16
_PLAIN = (str, int, bool, type(None))

Attributes = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True, slots=True)
class RecordWeights(Domain):
    """What may be reported about: a weight for each combination of the values of some attributes.

    Attributes
    ----------
    attributes
        The name and the values of each attribute of a record, in order.
    axes
        The places of those that the weight depends on.
    weights
        In steps, for each combination of their values; the last attribute runs fastest.
    steps
        How many steps there are from 0 to 1.
    """

    attributes: Attributes
    axes: tuple[int, ...]
    weights: tuple[int, ...]
    steps: int

    def __post_init__(self) -> None:
        require_plain(self.attributes)
        if len(self.weights) > MOST_WEIGHTS:
            raise InvalidParameter(
                name="query",
                rule=f"at most {MOST_WEIGHTS} weights",
                value=len(self.weights),
                hint="Ask about fewer attributes at once",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each of these attributes has."""
        return tuple(len(self.attributes[axis][1]) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many combinations there are; 1 where the weight depends on nothing."""
        return len(self.weights)

    @property
    def more(self) -> tuple[Any, ...]:
        """The weights decide the table."""
        return self.weights, self.steps

    def read(self, value: object) -> int:
        """Return the place of a record: a list of values in order, or values by name.

        What is no value of its attribute, and what is missing, counts as the first value.
        """
        codes = read_record(self.attributes, value)
        place = 0
        for axis, size in zip(self.axes, self.shape, strict=True):
            place = place * size + codes[axis]
        return place

    def describe(self) -> Any:
        """Return it as plain data."""
        return {
            "attributes": [[name, list(values)] for name, values in self.attributes],
            "axes": list(self.axes),
            "steps": self.steps,
            "weights": list(self.weights),
        }

    @classmethod
    def restore(cls, described: dict[str, Any]) -> RecordWeights:
        """Return what `describe` wrote; what is not quite as it should be is refused."""
        pairs, axes, weights, steps = (described[key] for key in ("attributes", "axes", "weights", "steps"))
        if not isinstance(pairs, list) or not all(map(is_attribute, pairs)) or not pairs:
            raise refuse("its attributes are no lists of a name and plain values")
        if not _are_whole(axes, len(pairs)) or axes != sorted(set(axes)):
            raise refuse("its axes are no places of attributes, ascending")
        if type(steps) is not int or not 1 <= steps <= MOST_STEPS or not _are_whole(weights, steps + 1):
            raise refuse("its weights are no whole numbers of steps")
        if math.prod(len(pairs[axis][1]) for axis in axes) != len(weights):
            raise refuse("it has not one weight for each combination")
        attributes = tuple((name, tuple(values)) for name, values in pairs)
        return cls(attributes, tuple(axes), tuple(weights), steps)

    def __repr__(self) -> str:
        return (
            f"{self.size} weights of {', '.join(self.attributes[axis][0] for axis in self.axes) or 'nothing'}"
        )


def read_record(attributes: Attributes, record: object) -> list[int]:
    """Return the place of each value in its attribute's list; 0 for what is none of them, or missing.

    Classes derived from lists are read as lists are, whatever they would do or say that they are.
    """
    if issubclass(type(record), dict) and isinstance(record, dict):
        entries = [dict.get(record, name, ...) for name, _ in attributes]
    else:
        entries = list_entries(record)
    entries = entries[: len(attributes)] + [...] * (len(attributes) - len(entries))
    codes = (_find_codes(values) for _, values in attributes)
    return [known.get(_make_key(entry), 0) for known, entry in zip(codes, entries, strict=True)]


def require_plain(attributes: Attributes) -> None:
    """Refuse values that do not travel as they are: records could not be told apart by them."""
    if not all(type(each) in _PLAIN for _, values in attributes for each in values):
        raise InvalidParameter(
            name="universe", rule="of texts, whole numbers, True, False and None", got="other values"
        )


def is_attribute(pair: object) -> bool:
    """Tell whether this is a name and a list of different plain values."""
    if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not str:
        return False
    values = pair[1]
    if not isinstance(values, list) or not values or not all(type(each) in _PLAIN for each in values):
        return False
    return len({_make_key(each) for each in values}) == len(values)


def _are_whole(given: object, bound: int) -> bool:
    return isinstance(given, list) and all(type(each) is int and 0 <= each < bound for each in given)


def _make_key(entry: object) -> object:
    """Return what an entry is looked up by: nothing unusual is asked for its hash."""
    plain = make_scalar(entry)
    return plain if type(plain) in (*_PLAIN, float) else ...  # 1.0 is found as 1 is


@lru_cache(maxsize=256)
def _find_codes(values: tuple[Any, ...]) -> dict[object, int]:
    return {_make_key(value): code for code, value in enumerate(values)}
