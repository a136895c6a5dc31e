"""Intervals of what is computed from noisy numbers: outward interval arithmetic, exact until it is shown.

Every part of an expression is known to be something *possible*: a number between two ends, one of a few texts
or truth values, or anything. A function of parts is possible where some values of the parts make it so. What
is missing is kept apart: an interval promises to hold the true value where there is one.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.data.plan.after import (
    Exact,
    apply_to_numbers,
    compare_values,
    evaluate,
    raise_to,
    root,
    round_number,
)
from discreet.data.plan.curved.logarithms import MAX_EXPONENT, exponential, ln
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.kinds import Function
from discreet.data.plan.nodes import Aggregate, Computed, Constant, Shown, Windowed

End = Fraction | float
"""An end of an interval: exact, or an infinity."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A number from `low` to `high`, both included; none where `low` is above `high`.

    Parameters
    ----------
    missing
        Whether there may be no value.
    step
        What the number is a multiple of, where that is known: a whole number that is not 0 is 1 at least.
    """

    low: End
    high: End
    missing: bool = False
    step: Fraction | None = None

    @property
    def empty(self) -> bool:
        """Whether there is surely no value."""
        return self.low > self.high


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few values, the missing one among them or not; of `values` None, anything."""

    values: frozenset[Exact] | None


Possible = Enclosed | OneOf
NOTHING = Enclosed(math.inf, -math.inf, missing=True)
_ANYTHING = OneOf(None)
_TRUTHS: frozenset[Exact] = frozenset((True, False))
_RISING: tuple[Function, ...] = ("floor", "ceil", "sign", "round", "trunc")


def exactly(value: Exact) -> Possible:
    """Return what is possible where a value is known; a date is the number of its day."""
    if value is None:
        return NOTHING
    if isinstance(value, datetime.date):
        value = Fraction(value.toordinal())
    if isinstance(value, Fraction):
        return Enclosed(value, value, step=abs(value) or None)
    return OneOf(frozenset((value,)))


def enclose(what: Shown, leaf: Callable[[Key | Aggregate | Windowed], Possible]) -> Possible:
    """Return what is possible in one row, from what is possible of keys, aggregates and windows there."""
    if isinstance(what, Constant):
        return exactly(what.value)
    if not isinstance(what, Computed):
        return leaf(what)
    parts = [enclose(part, leaf) for part in what.parts]
    function = what.function
    if function == "case":
        return _case(parts)
    if function in ("and", "or", "not"):
        return _decide(function, parts)
    if function == "is null":
        return OneOf(
            frozenset(
                (True,) if _is_nothing(parts[0]) else (True, False) if _may_miss(parts[0]) else (False,)
            )
        )
    if function in ("=", "<>", "<", "<="):
        return _compare(function, parts[0], parts[1])
    if function == "coalesce":
        return _coalesce(parts)
    if function == "nullif":
        return _without(parts[0], parts[1])
    numbers = [part for part in parts if isinstance(part, Enclosed)]
    if len(numbers) < len(parts):
        return _ANYTHING  # the least and the greatest of texts and truth values
    return _of_numbers(function, numbers)


def _of_numbers(function: Function, parts: Sequence[Enclosed]) -> Possible:
    missing = any(part.missing for part in parts)
    if any(part.empty for part in parts):
        return NOTHING
    if function in ("least", "greatest"):
        pick = min if function == "least" else max
        low, high = pick(part.low for part in parts), pick(part.high for part in parts)
        found = Enclosed(low, high)
    elif function == "+":
        found = Enclosed(_add([part.low for part in parts]), _add([part.high for part in parts]))
    elif function == "-":
        low, high = _add([parts[0].low, -parts[1].high]), _add([parts[0].high, -parts[1].low])
        found = Enclosed(low, high)
    elif function == "*":
        found = parts[0]
        for part in parts[1:]:
            found = _times(found, part)
    elif function == "/":
        found = _quotient(parts[0], parts[1])
    elif function == "%":
        found = _rest(parts[0], parts[1])
    else:
        found = _of_one(function, parts)
    return replace(found, missing=missing or found.missing, step=_step(function, parts))


def _step(function: Function, parts: Sequence[Enclosed]) -> Fraction | None:
    """Return what the result is a multiple of."""
    if function in ("floor", "ceil", "sign") or (function in ("round", "trunc") and len(parts) == 1):
        return Fraction(1)
    steps = [part.step for part in parts if part.step is not None]
    if len(steps) < len(parts):
        return None
    if function == "*":
        return math.prod(steps, start=Fraction(1))
    if function == "abs":
        return steps[0]
    if function in ("+", "-", "least", "greatest"):
        return find_common_step(parts)
    return None


def find_common_step(parts: Sequence[Enclosed]) -> Fraction | None:
    """Return what all of some numbers, and so their sums, are multiples of."""
    steps = [part.step for part in parts if part.step is not None]
    if len(steps) < len(parts):
        return None
    common = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.gcd(*(int(step * common) for step in steps)), common)


def _times(left: Enclosed, right: Enclosed) -> Enclosed:
    ends = [_multiply(a, b) for a, b in itertools.product((left.low, left.high), (right.low, right.high))]
    return Enclosed(min(ends), max(ends))


def _add(ends: Sequence[End]) -> End:
    # An exact end may be beyond floats, so it never meets an infinity in one operation.
    beyond = [end for end in ends if isinstance(end, float)]
    return beyond[0] if beyond else sum(ends, Fraction(0))


def _multiply(a: End, b: End) -> End:
    if 0 in (a, b):
        return Fraction(0)
    if isinstance(a, float) or isinstance(b, float):
        return math.inf if (a > 0) == (b > 0) else -math.inf
    return a * b


def _quotient(left: Enclosed, right: Enclosed) -> Enclosed:
    """Divide by what is not 0: by each sign on its own, as near to 0 as its steps allow."""
    nearest = right.step or Fraction(0)
    missing = right.low <= 0 <= right.high
    ends: list[End] = []
    if right.high > 0:
        ends += _by_one_sign(left, max(right.low, nearest), right.high, math.inf)
    if right.low < 0:
        ends += _by_one_sign(left, right.low, min(right.high, -nearest), -math.inf)
    if not ends:
        return NOTHING
    return Enclosed(min(ends), max(ends), missing)


def _by_one_sign(left: Enclosed, low: End, high: End, beyond: float) -> list[End]:
    if low > high:
        return []
    inverse = [
        beyond if end == 0 else Fraction(0) if isinstance(end, float) else 1 / end for end in (low, high)
    ]
    return [_multiply(a, b) for a in (left.low, left.high) for b in inverse]


def _rest(left: Enclosed, right: Enclosed) -> Enclosed:
    """Enclose what a division leaves: smaller than the divisor, with the sign of what is divided."""
    largest: End = max(-right.low, right.high)
    if right.low == right.high and right.low != 0 and not _unbounded(left):
        turns = {math.trunc(end / right.low) for end in (left.low, left.high)}
        if len(turns) == 1 and (left.low >= 0 or left.high <= 0):
            ends = [
                apply_to_numbers("%", [Fraction(end), Fraction(right.low)]) for end in (left.low, left.high)
            ]
            known = [end for end in ends if end is not None]
            return Enclosed(min(known), max(known))
    low = max(-largest, left.low) if left.low < 0 else Fraction(0)
    high = min(largest, left.high) if left.high > 0 else Fraction(0)
    return Enclosed(low, high, missing=right.low <= 0 <= right.high)


def _unbounded(part: Enclosed) -> bool:
    return isinstance(part.low, float) or isinstance(part.high, float)


def _of_one(function: Function, parts: Sequence[Enclosed]) -> Enclosed:
    """Enclose a function of one number: one that never falls is between its values at the ends."""
    one = parts[0]
    second = int(parts[1].low) if len(parts) > 1 else 0
    if function == "sqrt":
        if one.high < 0:
            return NOTHING
        low = Fraction(0) if one.low <= 0 else _root(one.low, upwards=False)
        return Enclosed(low, _root(one.high, upwards=True), missing=one.low < 0)
    if function in ("ln", "exp"):
        return _bend(function, one)
    if function == "power" and parts[1].low != second:
        return _raise(one, Fraction(parts[1].low))
    if function in _RISING:
        low, high = (
            end if isinstance(end, float) else round_number(function, end, second)
            for end in (one.low, one.high)
        )
        if function == "sign":
            low, high = max(low, Fraction(-1)), min(high, Fraction(1))
        return Enclosed(low, high)
    # abs and power: both fall below 0, if they are even, and rise above it.
    ends: list[End] = [max(-end, end) if function == "abs" else end**second for end in (one.low, one.high)]
    even = function == "abs" or second % 2 == 0
    low = Fraction(0) if even and second != 0 and one.low <= 0 <= one.high else min(ends)
    if function == "abs" and one.low <= 0 <= one.high:
        low = Fraction(0)
    return Enclosed(low, max(ends))


def _bend(function: Function, one: Enclosed) -> Enclosed:
    """Enclose a logarithm or an exponential: both rise, and neither has a value everywhere."""
    if function == "exp":
        low = Fraction(0) if one.low == -math.inf else _bend_end(exponential, one.low, upwards=False)
        return Enclosed(low, _bend_end(exponential, one.high, upwards=True), missing=one.high > MAX_EXPONENT)
    if one.high <= 0:
        return NOTHING
    low = -math.inf if one.low <= 0 else _bend_end(ln, one.low, upwards=False)
    return Enclosed(low, _bend_end(ln, one.high, upwards=True), missing=one.low <= 0)


def _raise(one: Enclosed, exponent: Fraction) -> Enclosed:
    """Enclose a broken power, which rises from 0 on."""
    if one.high < 0:
        return NOTHING
    low, high = (
        end if isinstance(end, float) else raise_to(max(end, Fraction(0)), exponent)
        for end in (one.low, one.high)
    )
    low = Fraction(0) if one.low <= 0 else low
    beyond = high is None or isinstance(high, float)
    return Enclosed(
        Fraction(0) if low is None else low, math.inf if high is None else high, missing=one.low < 0 or beyond
    )


def _bend_end(curve: Callable[..., Fraction], end: End, *, upwards: bool) -> End:
    if isinstance(end, float):
        return math.inf
    if curve is exponential and end > MAX_EXPONENT:
        return math.inf if upwards else exponential(Fraction(MAX_EXPONENT))
    return curve(end, upwards=upwards)


def _root(end: End, *, upwards: bool) -> End:
    return end if isinstance(end, float) else root(end, upwards=upwards)


def _is_nothing(part: Possible) -> bool:
    return part.empty if isinstance(part, Enclosed) else part.values == frozenset((None,))


def _may_miss(part: Possible) -> bool:
    if isinstance(part, Enclosed):
        return part.missing
    return part.values is None or None in part.values


def _either(parts: Sequence[Possible]) -> Possible:
    """Return what is possible where one of some parts is what there is."""
    listed = [part for part in parts if not _is_nothing(part)]
    if not listed:
        return NOTHING
    missing = any(map(_may_miss, parts))
    numbers = [part for part in listed if isinstance(part, Enclosed)]
    if len(numbers) == len(listed):
        return Enclosed(min(part.low for part in numbers), max(part.high for part in numbers), missing)
    sets = [part.values for part in listed if isinstance(part, OneOf)]
    values = frozenset(itertools.chain.from_iterable(one for one in sets if one is not None))
    return _ANYTHING if None in sets else OneOf(values | {None} if missing else values)


def _coalesce(parts: Sequence[Possible]) -> Possible:
    taken: list[Possible] = []
    for part in parts:
        taken.append(part)
        if not _may_miss(part):
            break
    found = _either(taken)
    if _may_miss(taken[-1]):
        return found
    if isinstance(found, Enclosed):
        return replace(found, missing=False)
    return found if found.values is None else OneOf(found.values - {None})


def _without(part: Possible, other: Possible) -> Possible:
    """Enclose NULLIF: the first part, missing where the two may be equal."""
    same = _compare("=", part, other)
    if isinstance(same, OneOf) and same.values is not None and True not in same.values:
        return part
    if isinstance(part, Enclosed):
        equal = same == OneOf(frozenset((True,)))
        return NOTHING if equal else replace(part, missing=True)
    return part if part.values is None else OneOf(part.values | {None})


def _case(parts: Sequence[Possible]) -> Possible:
    *cases, otherwise = parts
    taken: list[Possible] = []
    for condition, value in zip(cases[::2], cases[1::2], strict=True):
        truths = _truths(condition)
        if True in truths:
            taken.append(value)
        if truths == {True}:
            return _either(taken)
    return _either([*taken, otherwise])


def _truths(part: Possible) -> frozenset[Exact]:
    if isinstance(part, OneOf) and part.values is not None:
        return part.values
    return frozenset((None,)) if _is_nothing(part) else _TRUTHS | {None}


def _decide(function: Function, parts: Sequence[Possible]) -> Possible:
    """Combine truth values one by one: three at most are possible at each step."""
    truths = [_truths(part) for part in parts]
    if function == "not":
        return OneOf(frozenset(None if value is None else not value for value in truths[0]))
    found: frozenset[Exact] = frozenset((function == "and",))
    for one in truths:
        found = frozenset(
            evaluate(Computed(function, (Constant(a), Constant(b))), lambda _: None)
            for a, b in itertools.product(found, one)
        )
    return OneOf(found)


def _compare(function: Function, left: Possible, right: Possible) -> Possible:
    if _is_nothing(left) or _is_nothing(right):
        return OneOf(frozenset((None,)))
    missing: frozenset[Exact] = frozenset((None,)) if _may_miss(left) or _may_miss(right) else frozenset()
    if isinstance(left, OneOf) and isinstance(right, OneOf):
        if left.values is None or right.values is None:
            return OneOf(_TRUTHS | missing)
        pairs = itertools.product(left.values - {None}, right.values - {None})
        return OneOf(frozenset(compare_values(function, a, b) for a, b in pairs) | missing)
    if not isinstance(left, Enclosed) or not isinstance(right, Enclosed):
        return OneOf(_TRUTHS | missing)
    return OneOf(_compare_ranges(function, left, right) | missing)


def _compare_ranges(function: Function, left: Enclosed, right: Enclosed) -> frozenset[Exact]:
    if function in ("=", "<>"):
        if left.low > right.high or right.low > left.high:
            return frozenset((function == "<>",))
        same = left.low == left.high == right.low == right.high
        return frozenset((function == "=",)) if same else _TRUTHS
    strict = function == "<"
    surely = left.high < right.low if strict else left.high <= right.low
    never = left.low >= right.high if strict else left.low > right.high
    return frozenset((surely,)) if surely or never else _TRUTHS
