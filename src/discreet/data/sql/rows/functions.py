"""Functions of numbers, and of values of any kind: choices and quotients, so none can fail on a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.data.plan.atoms import choose, floor_quotient, simplify
from discreet.data.plan.canonical import AnySign, compare, conjunction, within
from discreet.data.plan.narrowing import range_of
from discreet.data.plan.numbers import add, constant, multiply, negate, scale, value_of
from discreet.data.plan.row_nodes import FALSE, Polynomial, Within
from discreet.data.plan.tabulate import tabulate
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.comparing import compare_sides
from discreet.data.sql.rows.operands import (
    MISSING,
    Day,
    Missing,
    Operand,
    Ratio,
    as_number,
    by_sign,
    describe,
    first_present,
    is_present,
    rounded,
    times,
    unify,
    unless,
    wrap,
)
from discreet.data.sql.text import refuse

MAX_DIGITS = 12
Number = Polynomial | Ratio
_DIVISION = "Write x / NULLIF(y, 0) or SAFE_DIVIDE(x, y), which are missing there, or put y > 0 in WHERE"


def number_of(side: Operand, what: str) -> Number | Missing:
    """Return an operand that is a number; refuse any other."""
    if isinstance(side, Polynomial | Ratio | Missing):
        return side
    raise refuse(
        what, f"it takes numbers, not {describe(side)}", "Use integer or decimal columns and numbers"
    )


def whole_of(side: Operand, what: str, low: int, high: int) -> int:
    """Return an operand that is a plain whole number between bounds; refuse any other."""
    value = value_of(side) if isinstance(side, Polynomial) else None
    if value is None or value.denominator != 1 or not low <= value <= high:
        raise refuse(what, f"it takes a whole number from {low} to {high} there", "Write the number itself")
    return int(value)


def plus(left: Number, right: Number) -> Number:
    """Return left + right, exactly."""
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        return add(left, right)
    (a, b), (c, d) = _fraction(left), _fraction(right)
    if b == d:
        return Ratio(add(a, c), b)
    return Ratio(add(multiply(a, d), multiply(c, b)), multiply(b, d))


def product(left: Number, right: Number) -> Number:
    """Return left * right, exactly."""
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        return multiply(left, right)
    (a, b), (c, d) = _fraction(left), _fraction(right)
    return Ratio(multiply(a, c), multiply(b, d))


def _fraction(number: Number) -> tuple[Polynomial, Polynomial]:
    return (number.above, number.below) if isinstance(number, Ratio) else (number, constant(1))


def minus(number: Number) -> Number:
    """Return -number."""
    return Ratio(negate(number.above), number.below) if isinstance(number, Ratio) else negate(number)


def divide(left: Number, right: Number, scope: Scope, *, safe: bool) -> Operand:
    """Return left / right, exactly; missing where right is 0, which must be impossible unless `safe`."""
    (a, b), (c, d) = _fraction(left), _fraction(right)
    above, below = multiply(a, d), multiply(b, c)
    if value_of(d) is None and not _is_never_zero(d, scope):
        # What divides is missing where its own denominator is 0, and so is the quotient.
        above, below = multiply(above, d), multiply(below, d)
    divisor = value_of(below)
    if divisor is not None:
        if divisor == 0 and not safe:
            raise refuse("division by 0", "it has no value", "Divide by something else")
        return MISSING if divisor == 0 else multiply(constant(1 / divisor), above)
    if not safe and not _is_never_zero(c, scope):
        raise refuse("division", "the declared bounds allow a divisor of 0", _DIVISION)
    return Ratio(above, below)


def _is_never_zero(number: Polynomial, scope: Scope) -> bool:
    """Say whether the declared bounds, and what is known where it is divided, leave no 0."""
    low, high = range_of(number, scope.known, scope.tables)
    if low > 0 or high < 0:
        return True
    zero = compare(number, "=", scope.tables)
    if isinstance(zero, Within) and zero.field in scope.known.spans:
        spans = [(max(a, c), min(b, d)) for a, b in zero.spans for c, d in scope.known.spans[zero.field]]
        return within(zero.field, spans, missing=False, tables=scope.tables) == FALSE
    return zero == FALSE


def _round(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    number = number_of(sides[0], name)
    digits = whole_of(sides[1], name, -MAX_DIGITS, MAX_DIGITS) if len(sides) > 1 else 0
    if isinstance(number, Missing):
        return number
    return _or_missing(
        by_sign(number, scope.tables, lambda above, below: rounded(above, below, digits, scope.tables))
    )


def _cut(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """FLOOR, CEIL and TRUNC, to some decimals."""
    number, tables = number_of(sides[0], name), scope.tables
    power = Fraction(10) ** (whole_of(sides[1], name, -MAX_DIGITS, MAX_DIGITS) if len(sides) > 1 else 0)
    if isinstance(number, Missing):
        return number

    def make(above: Polynomial, below: Polynomial) -> Polynomial | None:
        shifted = multiply(constant(power), above)
        is_cut = name.startswith("TRUNC")
        low, high = scale(above, tables).span
        down = up = None
        if name == "FLOOR" or (is_cut and high >= 0):
            down = times(floor_quotient(shifted, below, tables), 1 / power)
        if name.startswith("CEIL") or (is_cut and low < 0):
            up = times(floor_quotient(negate(shifted), below, tables), -1 / power)
        if is_cut and low < 0 <= high:
            return choose([(compare(above, ">=", tables), down)], up, tables)
        return up if down is None else down

    return _or_missing(by_sign(number, tables, make))


def _int(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Cut the decimals off, as INT(x) does."""
    del name
    return _cut("TRUNC", sides, scope)


def _floor_div(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Return the whole part of a quotient where the denominator is positive: what a plan prints."""
    above, below = (number_of(side, name) for side in sides)
    if not isinstance(above, Polynomial) or not isinstance(below, Polynomial):
        raise refuse(name, "it takes two numbers", "Write FLOOR(x / y)")
    return _or_missing(floor_quotient(above, below, scope.tables))


def int_div(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Return a quotient without its decimals."""
    left, right = (number_of(side, name) for side in sides)
    if isinstance(left, Missing) or isinstance(right, Missing):
        return MISSING
    return _cut("TRUNC", [divide(left, right, scope, safe=False)], scope)


def modulo(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Return the remainder, with the sign of the dividend."""
    left, right = (number_of(side, name) for side in sides)
    quotient = int_div(name, sides, scope)
    if isinstance(quotient, Missing):
        return MISSING
    whole = number_of(quotient, name)
    if isinstance(left, Missing) or isinstance(right, Missing) or isinstance(whole, Missing):
        return MISSING
    divisor = value_of(right) if isinstance(right, Polynomial) else None
    if divisor and isinstance(left, Polynomial) and tabulate(left, scope.tables) is None:
        return _or_missing(_remainder(left, abs(divisor), scope))
    rest = plus(left, minus(product(right, whole)))
    return _or_missing(simplify(rest, scope.tables)) if isinstance(rest, Polynomial) else rest


def _remainder(number: Polynomial, divisor: Fraction, scope: Scope) -> Polynomial | None:
    """Return the remainder of a number with too many values to be listed: on either side of 0 its own."""
    tables = scope.tables

    def above(side: Polynomial) -> Polynomial | None:
        whole = times(floor_quotient(multiply(constant(1 / divisor), side), constant(1), tables), -divisor)
        return None if whole is None else simplify(add(side, whole), tables)

    low, high = scale(number, tables).span
    up = above(number) if high >= 0 else None
    down = times(above(negate(number)), -1) if low < 0 else None
    if up is None or down is None:
        return down if up is None else up
    return choose([(compare(number, ">=", tables), up)], down, tables)


def _abs(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    number = number_of(sides[0], name)
    if isinstance(number, Missing):
        return number
    sized = as_number(number, scope.tables)
    if sized is None:
        return MISSING
    below = compare(sized, "<", scope.tables)
    if name == "SIGN":
        above = compare(sized, ">", scope.tables)
        zero = compare(sized, "=", scope.tables)
        cases = [(below, constant(-1)), (zero, constant(0)), (above, constant(1))]
        return _or_missing(choose(cases, None, scope.tables))
    return _or_missing(choose([(below, negate(sized))], sized, scope.tables))


def _extreme(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """LEAST and GREATEST; missing where some value is (as in the standard and in BigQuery)."""
    kind, numbers, labels = unify(sides, name, scope.tables)
    if kind not in ("number", "date"):
        raise refuse(name, "it takes numbers or dates", "Use CASE")
    there = [number for number in dict.fromkeys(numbers) if number is not None]
    if None in numbers:
        return MISSING
    sign: AnySign = "<=" if name == "LEAST" else ">="
    cases = []
    for place, number in enumerate(there[:-1]):
        others = there[place + 1 :]
        beats = [compare(add(number, negate(other)), sign, scope.tables) for other in others]
        cases.append((conjunction(beats, scope.tables), number))
    present = conjunction([is_present(number, scope.tables) for number in there], scope.tables)
    chosen = choose(cases, there[-1], scope.tables)
    return wrap(kind, choose([(present, chosen)], None, scope.tables), labels, scope.tables)


def _coalesce(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    return first_present(sides, name, scope.tables)


def _nullif(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    del name
    if isinstance(sides[0], Missing) or isinstance(sides[1], Missing):
        return sides[0]
    return unless(sides[0], compare_sides(sides[0], "=", sides[1], scope), scope.tables)


def _safe_divide(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    left, right = (number_of(side, name) for side in sides)
    if isinstance(left, Missing) or isinstance(right, Missing):
        return MISSING
    return divide(left, right, scope, safe=True)


def _power(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    del scope
    number, exponent = number_of(sides[0], name), whole_of(sides[1], name, 0, 4)
    if isinstance(number, Missing):
        return number
    found = plus(constant(1), product(constant(0), number))  # also its power 0 is missing where it is
    for _ in range(exponent):
        found = product(found, number)
    return found


def _label(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Return the label at a place: what a plan prints for a key of labels."""
    number, labels = sides[0], sides[1:]
    values = [value_of(one) if isinstance(one, Polynomial) else one for one in labels]
    if not isinstance(number, Polynomial) or not all(isinstance(one, str | Fraction) for one in values):
        raise refuse(name, "it takes a number and its labels", "Write ELT(x, 'one', 'two')")
    low, high = (end * scale(number, scope.tables).unit for end in scale(number, scope.tables).span)
    if low < 1 or high > len(labels) or scale(number, scope.tables).unit.denominator != 1:
        raise refuse(name, "its number must lie between 1 and how many labels there are", "Use CASE")
    named = tuple(one if isinstance(one, str) else int(Fraction(str(one))) for one in values)
    return wrap("label", add(number, constant(-1)), named, scope.tables)


def _width_bucket(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    given = number_of(sides[0], name)
    number = None if isinstance(given, Missing) else as_number(given, scope.tables)
    low, high = (value_of(side) if isinstance(side, Polynomial) else None for side in sides[1:3])
    count = whole_of(sides[3], name, 1, 10_000)
    if number is None:
        return MISSING
    if low is None or high is None or not low < high:
        raise refuse(
            name, "it takes a number, two bounds and how many buckets", "Write WIDTH_BUCKET(x, 0, 100, 10)"
        )
    tables = scope.tables
    place = floor_quotient(
        multiply(constant(Fraction(count) / (high - low)), add(number, constant(-low))), constant(1), tables
    )
    cases = [
        (compare(add(number, constant(-low)), "<", tables), constant(0)),
        (compare(add(number, constant(-high)), ">=", tables), constant(count + 1)),
    ]
    inner = None if place is None else add(place, constant(1))
    return _or_missing(choose(cases, inner, tables))


def _unix_date(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    del scope
    if not isinstance(sides[0], Day):
        raise refuse(name, "it takes a date", "Write UNIX_DATE(day)")
    return sides[0].number


def _date_from_unix_date(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    del scope
    number = number_of(sides[0], name)
    return Day(number) if isinstance(number, Polynomial) else MISSING


def _or_missing(number: Polynomial | None) -> Operand:
    return MISSING if number is None else number


Function = Callable[[str, Sequence[Operand], Scope], Operand]
FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    "ABS": (1, 1, _abs),
    "CEIL": (1, 1, _cut),
    "CEILING": (1, 1, _cut),
    "COALESCE": (1, 100, _coalesce),
    "DATE_FROM_UNIX_DATE": (1, 1, _date_from_unix_date),
    "DIV": (2, 2, int_div),
    "ELT": (2, 2_000, _label),
    "FLOOR": (1, 1, _cut),
    "FLOOR_DIV": (2, 2, _floor_div),
    "GREATEST": (1, 20, _extreme),
    "IFNULL": (2, 2, _coalesce),
    "INT": (1, 1, _int),
    "LEAST": (1, 20, _extreme),
    "MOD": (2, 2, modulo),
    "NULLIF": (2, 2, _nullif),
    "NVL": (2, 2, _coalesce),
    "POW": (2, 2, _power),
    "POWER": (2, 2, _power),
    "ROUND": (1, 2, _round),
    "SAFE_DIVIDE": (2, 2, _safe_divide),
    "SIGN": (1, 1, _abs),
    "TRUNC": (1, 2, _cut),
    "TRUNCATE": (1, 2, _cut),
    "UNIX_DATE": (1, 1, _unix_date),
    "WIDTH_BUCKET": (4, 4, _width_bucket),
}
