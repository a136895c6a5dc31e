"""What is computed from keys and aggregates: arithmetic, functions, CASE, and the conditions of HAVING.

It is computed from released values, so it costs nothing; one function per kind of node, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.after import MAX_DIGITS, MAX_POWER, compute, find_sort
from discreet.data.plan.key_nodes import ComputedKey
from discreet.data.plan.kinds import Function
from discreet.data.plan.nodes import Computed, Constant, Shown
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category
from discreet.data.sql.nodes import Scope, refuse_unknown, take, word
from discreet.data.sql.rows.comparing import read_day_text
from discreet.data.sql.selected.calls import read_aggregate
from discreet.data.sql.selected.windows import read_window
from discreet.data.sql.text import number, refuse, shorten
from discreet.data.sql.values import refuse_undeclared

MAX_LIST = 200
_LATER = "Compute it from the answer, which costs nothing"
_ARITHMETIC: dict[type[exp.Expression], Function] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_SIGNS: dict[type[exp.Expression], tuple[Function, bool]] = {
    exp.EQ: ("=", False),
    exp.NEQ: ("<>", False),
    exp.LT: ("<", False),
    exp.LTE: ("<=", False),
    exp.GT: ("<", True),
    exp.GTE: ("<=", True),
}
_CALLS: dict[str, tuple[Function, int, int]] = {
    "ABS": ("abs", 1, 1),
    "CEIL": ("ceil", 1, 1),
    "CEILING": ("ceil", 1, 1),
    "COALESCE": ("coalesce", 1, 100),
    "EXP": ("exp", 1, 1),
    "FLOOR": ("floor", 1, 1),
    "GREATEST": ("greatest", 1, 100),
    "IFNULL": ("coalesce", 2, 2),
    "INT": ("trunc", 1, 1),
    "LEAST": ("least", 1, 100),
    "LN": ("ln", 1, 1),
    "MOD": ("%", 2, 2),
    "NULLIF": ("nullif", 2, 2),
    "NVL": ("coalesce", 2, 2),
    "POW": ("power", 2, 2),
    "POWER": ("power", 2, 2),
    "ROUND": ("round", 1, 2),
    "SAFE_DIVIDE": ("/", 2, 2),
    "SIGN": ("sign", 1, 1),
    "SQRT": ("sqrt", 1, 1),
    "TRUNC": ("trunc", 1, 2),
    "TRUNCATE": ("trunc", 1, 2),
}
_WHOLE_TYPES = ("INT", "BIGINT", "SMALLINT", "TINYINT", "INT64")
_REAL_TYPES = ("DECIMAL", "BIGDECIMAL", "DOUBLE", "FLOAT", "FLOAT64")


@dataclass(frozen=True, slots=True)
class Names:
    """What may be named beside aggregates: keys, and the columns of the answer by their names."""

    scope: Scope
    find_key: Callable[[exp.Expression], Shown | None]
    """Returns the key that a node is; None where it is none. Refuses a column that is no key."""
    columns: Mapping[str, Shown]
    """In HAVING and ORDER BY: the columns of the answer, by their names in lower case."""


def translate(node: exp.Expression, names: Names) -> Shown:
    """Translate a key, an aggregate, a constant, or what is computed from these."""
    named = _find_column(node, names)
    if named is not None:
        return named
    key = names.find_key(node)
    if key is not None:
        return key
    kind = type(node)
    if kind in _NODES:
        return _NODES[kind](node, names)
    if kind in _ARITHMETIC:
        return _compute(_ARITHMETIC[kind], take_operands(node), names)
    if kind in _SIGNS:
        sign, turned = _SIGNS[kind]
        left, right = take(node, "this", "expression")
        return _compare(sign, right, left, names) if turned else _compare(sign, left, right, names)
    if isinstance(node, exp.Anonymous):
        name = str(node.args.get("this")).upper()
        if name in _CALLS:
            return _call(name, node, names)
        if name in ("IF", "IIF"):
            return _if(node, names)
        if name in _MORE_CALLS:
            return _MORE_CALLS[name](name, node, names)
    return read_aggregate(node, names.scope)


def take_operands(node: exp.Expression) -> tuple[exp.Expression, ...]:
    """Return both sides of an operation; how a parser would type a division does not matter."""
    if isinstance(node, exp.Div):
        left, right, _, _ = take(node, "this", "expression", "typed", "safe")
        return left, right
    return take(node, "this", "expression")


def condition(node: exp.Expression, names: Names, clause: str) -> Shown:
    """Translate a condition on keys and aggregates."""
    found = translate(node, names)
    if find_sort(found, names.scope.tables) not in ("truth", "anything"):
        raise refuse(
            clause, "it is not a condition", f"Compare something, for instance {clause} COUNT(*) > 100"
        )
    return found


def _find_column(node: exp.Expression, names: Names) -> Shown | None:
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    if not isinstance(node.args.get("this"), exp.Identifier):
        return None
    return names.columns.get(word(node.this).lower())


def _compute(function: Function, parts: Sequence[exp.Expression], names: Names) -> Computed:
    return compute(function, [translate(part, names) for part in parts], names.scope.tables)


def _paren(node: exp.Expression, names: Names) -> Shown:
    return translate(take(node, "this")[0], names)


def _literal(node: exp.Expression, names: Names) -> Shown:
    del names
    text, is_string = take(node, "this", "is_string")
    return Constant(str(text) if is_string else number(str(text), "number"))


def _truth(node: exp.Expression, names: Names) -> Shown:
    del names
    return Constant(bool(take(node, "this")[0]))


def _null(node: exp.Expression, names: Names) -> Shown:
    del names
    take(node)
    return Constant(None)


def _negate(node: exp.Expression, names: Names) -> Shown:
    found = translate(take(node, "this")[0], names)
    if isinstance(found, Constant) and isinstance(found.value, Fraction):
        return Constant(-found.value)
    return compute("*", [Constant(Fraction(-1)), found], names.scope.tables)


def _not(node: exp.Expression, names: Names) -> Shown:
    return _compute("not", take(node, "this"), names)


def _chain(node: exp.Expression, names: Names) -> Shown:
    """AND and OR: long chains lean to the left, so they are walked, not recursed into."""
    kind, parts, rest = type(node), [], [node]
    while rest:
        part = rest.pop()
        if type(part) is kind:
            right_first = take(part, "this", "expression")[::-1]
            rest.extend(right_first)
        else:
            parts.append(part)
    if len(parts) > MAX_LIST:
        raise refuse("HAVING", f"it has more than {MAX_LIST} terms", "Use IN (...) or ask less at once")
    return _compute("and" if kind is exp.And else "or", parts, names)


def _is(node: exp.Expression, names: Names) -> Shown:
    left, right = take(node, "this", "expression")
    if not isinstance(right, exp.Null):
        raise refuse_unknown(node, "a condition")
    take(right)
    return _compute("is null", (left,), names)


def _between(node: exp.Expression, names: Names) -> Shown:
    this, low, high = take(node, "this", "low", "high")
    sides = [_compare("<=", low, this, names), _compare("<=", this, high, names)]
    return compute("and", sides, names.scope.tables)


def _in(node: exp.Expression, names: Names) -> Shown:
    this, listed = take(node, "this", "expressions")
    if not listed or len(listed) > MAX_LIST:
        raise refuse("IN", f"it must list 1 to {MAX_LIST} values", "List fewer values, or use a range")
    parts = [_compare("=", this, value, names) for value in listed]
    return parts[0] if len(parts) == 1 else compute("or", parts, names.scope.tables)


def _compare(sign: Function, left: exp.Expression, right: exp.Expression, names: Names) -> Computed:
    """Compare two values; text beside a date is read as one, and text beside a category must be declared."""
    tables = names.scope.tables
    sides = [translate(side, names) for side in (left, right)]
    for place, other in ((0, sides[1]), (1, sides[0])):
        one = sides[place]
        if not isinstance(one, Constant) or not isinstance(one.value, str):
            continue
        if find_sort(other, tables) == "date":
            sides[place] = Constant(read_day_text(one.value))
        elif isinstance(other, Field) and sign in ("=", "<>"):
            column = tables.column(other)
            if isinstance(column, Category) and one.value not in names.scope.positions(other):
                raise refuse_undeclared(other.name, one.value, column)
    return compute(sign, sides, tables)


def _case(node: exp.Expression, names: Names) -> Shown:
    this, ifs, default = take(node, "this", "ifs", "default")
    parts: list[Shown] = []
    for one in ifs:
        test, value = take(one, "this", "true")
        parts.append(
            condition(test, names, "CASE WHEN") if this is None else _compare("=", this, test, names)
        )
        parts.append(translate(value, names))
    parts.append(Constant(None) if default is None else translate(default, names))
    return compute("case", parts, names.scope.tables)


def _if(node: exp.Expression, names: Names) -> Shown:
    name, arguments = take(node, "this", "expressions")
    if not arguments or len(arguments) not in (2, 3):
        raise refuse(str(name).upper(), "it takes a condition and two values", "Write IF(condition, a, b)")
    test, *values = arguments
    listed = [translate(value, names) for value in values]
    parts = [condition(test, names, "IF"), *listed, *[Constant(None)] * (2 - len(listed))]
    return compute("case", parts, names.scope.tables)


def _call(name: str, node: exp.Expression, names: Names) -> Shown:
    _, arguments = take(node, "this", "expressions")
    function, fewest, most = _CALLS[name]
    if not fewest <= len(arguments or []) <= most:
        count = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise refuse(name, f"it takes {count} values", _LATER)
    parts = [translate(argument, names) for argument in arguments]
    exponent = parts[1].value if function == "power" and isinstance(parts[1], Constant) else None
    if isinstance(exponent, Fraction) and exponent.denominator != 1:
        return _broken_power(parts[0], exponent, names.scope.tables)
    if function in ("round", "trunc", "power") and len(parts) == 2:
        largest = MAX_POWER if function == "power" else MAX_DIGITS
        smallest = 0 if function == "power" else -MAX_DIGITS
        value = parts[1].value if isinstance(parts[1], Constant) else None
        whole = isinstance(value, Fraction) and value.denominator == 1
        if not whole or not smallest <= value <= largest:  # type: ignore[operator]
            raise refuse(name, f"its second part is a whole number from {smallest} to {largest}", _LATER)
        if function != "power" and value == 0:
            parts.pop()
    return compute(function, parts, names.scope.tables)


def _broken_power(what: Shown, exponent: Fraction, tables: PlanTables) -> Shown:
    """Return a power that is no product: of what is not negative."""
    if exponent == Fraction(1, 2):
        return compute("sqrt", [what], tables)
    if exponent < 0 or exponent > MAX_POWER:
        raise refuse("POWER", f"its exponent is a number from 0 to {MAX_POWER}", _LATER)
    return compute("power", [what, Constant(exponent)], tables)


def _log(name: str, node: exp.Expression, names: Names) -> Shown:
    """Return a logarithm to some base: a quotient of natural ones. The base is the number of the two."""
    _, arguments = take(node, "this", "expressions")
    parts = [translate(argument, names) for argument in arguments or []]
    if name != "LOG" and len(parts) == 1:
        parts.append(Constant(Fraction(10 if name == "LOG10" else 2)))
    elif name != "LOG" or len(parts) != 2:
        why = "of one number some dialects take the natural logarithm, others that to base 10"
        raise refuse(name, why, "Write LN(x), LOG10(x) or LOG(2, x)")
    if isinstance(parts[0], Constant):
        parts.reverse()
    base = parts[1].value if isinstance(parts[1], Constant) else None
    if not isinstance(base, Fraction) or base <= 1:
        raise refuse(name, "the base is a number above 1", "Write LN(x), LOG10(x) or LOG(2, x)")
    tables = names.scope.tables
    quotient = compute("/", [compute("ln", [part], tables) for part in parts], tables)
    # Rounded, so that the one of 1000 to base 10 is 3: neither logarithm is known to the last digit.
    return compute("round", [quotient, Constant(Fraction(MAX_DIGITS))], tables)


def _count_days(name: str, node: exp.Expression, names: Names) -> Shown:
    """Return the days between two dates of an answer: `DATEDIFF(to, from)`, with or without the word DAY."""
    _, arguments = take(node, "this", "expressions")
    listed = list(arguments or [])
    words = [one for one in listed if _is_word(one, "day")]
    dates = [one for one in listed if one not in words]
    if len(dates) != 2 or len(words) > 1:
        raise refuse(f"{name} of an answer", "it counts the days between two dates", "Write MAX(x) - MIN(x)")
    if words and listed[0] is words[0]:
        dates.reverse()  # with the word in front, what comes first is where counting begins
    return _compute("-", dates, names)


def _is_word(node: exp.Expression, said: str) -> bool:
    if isinstance(node, exp.Literal):
        return bool(node.args.get("is_string")) and str(node.this).lower() == said
    bare = isinstance(node, exp.Var) or (isinstance(node, exp.Column) and node.args.get("table") is None)
    return bare and node.name.lower() == said


def _grouping(name: str, node: exp.Expression, names: Names) -> Shown:
    """Return 1 in rows that are totals over a key: it is missing there, and nowhere else."""
    del name
    _, arguments = take(node, "this", "expressions")
    keys = [translate(argument, names) for argument in arguments or []]
    if len(keys) != 1 or not isinstance(keys[0], Field | ComputedKey):
        raise refuse("GROUPING", "it takes one key of GROUP BY", "Write GROUPING(key) for each")
    tables = names.scope.tables
    parts: list[Shown] = [compute("is null", keys, tables), Constant(Fraction(1)), Constant(Fraction(0))]
    return compute("case", parts, tables)


def _int_div(node: exp.Expression, names: Names) -> Shown:
    return compute("trunc", [_compute("/", take(node, "this", "expression"), names)], names.scope.tables)


def _cast(node: exp.Expression, names: Names) -> Shown:
    value, to, _ = take(node, "this", "to", "safe")
    if not isinstance(to, exp.DataType):
        raise refuse("CAST", "it names no type", "Leave it out")
    kind, sizes, own = take(to, "this", "expressions", "kind")
    name = str(own or getattr(kind, "value", kind)).upper()
    if name == "DATE" and isinstance(value, exp.Literal) and value.is_string:
        return Constant(read_day_text(str(take(value, "this", "is_string")[0])))
    found = translate(value, names)
    if name in _WHOLE_TYPES and not sizes:
        return compute("round", [found], names.scope.tables)
    if name not in _REAL_TYPES or len(sizes or []) > 2 or isinstance(found, Constant):
        raise refuse(f"CAST(... AS {shorten(name)})", "answers are numbers as they are", "Leave it out")
    if find_sort(found, names.scope.tables) not in ("number", "anything"):
        raise refuse("CAST", "it is not a number", "Leave it out")
    if len(sizes or []) == 2:
        digits = number(str(take(take(sizes[1], "this")[0], "this", "is_string")[0]), "CAST")
        if digits.denominator != 1 or digits > MAX_DIGITS:
            raise refuse("CAST", f"a number has at most {MAX_DIGITS} decimals", "Leave it out")
        return compute("round", [found, Constant(digits)] if digits else [found], names.scope.tables)
    return found


def _window(node: exp.Expression, names: Names) -> Shown:
    return read_window(node, names.scope.tables, lambda part: translate(part, names))


_MORE_CALLS: dict[str, Callable[[str, exp.Expression, Names], Shown]] = {
    "GROUPING": _grouping,
    **dict.fromkeys(("LOG", "LOG10", "LOG2"), _log),
    **dict.fromkeys(("DATEDIFF", "DATE_DIFF"), _count_days),
}
_NODES: dict[type[exp.Expression], Callable[[exp.Expression, Names], Shown]] = {
    exp.And: _chain,
    exp.Between: _between,
    exp.Boolean: _truth,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.In: _in,
    exp.IntDiv: _int_div,
    exp.Is: _is,
    exp.Literal: _literal,
    exp.Neg: _negate,
    exp.Not: _not,
    exp.Null: _null,
    exp.Or: _chain,
    exp.Paren: _paren,
    exp.TryCast: _cast,
    exp.Window: _window,
}
