"""LN, LOG, SQRT, EXP and broken powers in each row: where the declared range leaves them a value everywhere.

They are steps that are computed when a question is read (`plan.curves`), so no engine rounds or fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.atoms import choose
from discreet.data.plan.canonical import compare
from discreet.data.plan.curves import Curve, Rounding, bend
from discreet.data.plan.narrowing import range_of
from discreet.data.plan.numbers import scale, value_of
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.functions import FUNCTIONS, Function, number_of, whole_of
from discreet.data.sql.rows.operands import MISSING, Missing, Operand, as_number
from discreet.data.sql.rows.translate import operand
from discreet.data.sql.text import refuse

MAX_POWER = 10
_BASES: dict[str, Fraction | None] = {"LN": None, "LOG10": Fraction(10), "LOG2": Fraction(2)}
_CURVES = (*_BASES, "LOG", "SQRT", "EXP")
_ROUNDED = ("FLOOR", "CEIL", "CEILING", "ROUND", "TRUNC", "TRUNCATE", "INT")
_DIGITS = 6
_HALF = Fraction(1, 2)


def _read(name: str, sides: Sequence[Operand]) -> tuple[Curve, Operand]:
    """Return the function that a call names, and what it is of."""
    if name == "EXP":
        return Curve("exp"), sides[0]
    if name == "SQRT":
        return Curve("power", _HALF), sides[0]
    if name != "LOG":
        return Curve("log", _BASES[name]), sides[0]
    if len(sides) != 2:
        why = "in some dialects it is the natural logarithm, in others that to base 10"
        raise refuse("LOG(x)", why, "Write LN(x) or LOG10(x)")
    # The base is the number: some dialects write it first, others last.
    known = [value_of(side) if isinstance(side, Polynomial) else None for side in sides]
    if (known[0] is None) == (known[1] is None):
        raise refuse(
            "LOG(b, x)", "one of the two is the base, a number", "Write LN(x), LOG10(x) or LOG(2, x)"
        )
    base, what = (known[0], sides[1]) if known[1] is None else (known[1], sides[0])
    if base is None or base <= 1:
        raise refuse("LOG(b, x)", "the base is a number above 1", "Write LN(x), LOG10(x) or LOG(2, x)")
    return Curve("log", base), what


def _compute(  # noqa: PLR0917
    name: str, curve: Curve, side: Operand, scope: Scope, rounding: Rounding = "nearest", digits: int = -1
) -> Polynomial | None:
    given = number_of(side, name)
    number = None if isinstance(given, Missing) else as_number(given, scope.tables)
    if number is None:
        return None
    low, _ = range_of(number, scope.known, scope.tables)
    least = {"log": 1, "power": 0, "exp": low}[curve.name]
    if low < least:
        what = "0 or less" if curve.name == "log" else "less than 0"
        way_out = f"Put x > 0 in WHERE, or write CASE WHEN x > 0 THEN {name}(x) END, or {name}(x + 1)"
        raise refuse(name, f"the declared bounds allow {what}, where it has no value", way_out)
    unit = None if digits < 0 else Fraction(1, 10**digits)
    return bend(curve, number, scope.tables, rounding=rounding, unit=unit)


def _curve(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    curve, side = _read(name, sides)
    found = _compute(name, curve, side, scope)
    return MISSING if found is None else found


def _power(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Whole powers are products; others are of numbers that are not negative."""
    exponent = value_of(sides[1]) if isinstance(sides[1], Polynomial) else None
    if exponent is None or exponent < 0 or exponent > MAX_POWER:
        raise refuse(name, f"its exponent is a number from 0 to {MAX_POWER}", "Write the number itself")
    if exponent.denominator == 1 and exponent <= 4:
        return FUNCTIONS[name][2](name, sides, scope)
    found = _compute(name, Curve("power", exponent), sides[0], scope)
    return MISSING if found is None else found


def read_rounded(name: str, given: Sequence[exp.Expression], scope: Scope) -> Operand | None:
    """Read FLOOR(LOG10(x)) and its likes: rounded once, from the exact value; None for any other call."""
    inner = given[0]
    while isinstance(inner, exp.Paren):
        inner = inner.this
    curve_name = str(inner.args.get("this")).upper() if isinstance(inner, exp.Anonymous) else ""
    if name not in _ROUNDED or curve_name not in _CURVES:
        return None
    _, listed = take(inner, "this", "expressions")
    least, most, _ = CURVED_FUNCTIONS[curve_name]
    if not least <= len(listed or []) <= most:
        return None
    digits = whole_of(operand(given[1], scope), name, 0, _DIGITS) if len(given) > 1 else 0
    curve, side = _read(curve_name, [operand(part, scope) for part in listed])

    def make(rounding: Rounding) -> Polynomial | None:
        return _compute(curve_name, curve, side, scope, rounding, digits)

    if name == "ROUND":
        found = make("nearest")
    elif name in ("FLOOR", "CEIL", "CEILING"):
        found = make("down" if name == "FLOOR" else "up")
    else:
        found = make("down")
        if found is not None and scale(found, scope.tables).span[0] < 0:
            found = choose([(compare(found, ">=", scope.tables), found)], make("up"), scope.tables)
    return MISSING if found is None else found


CURVED_FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    **dict.fromkeys((*_BASES, "SQRT", "EXP"), (1, 1, _curve)),
    "LOG": (1, 2, _curve),
    "POW": (2, 2, _power),
    "POWER": (2, 2, _power),
}
