"""Functions of text: computed on the declared values of a category, when the question is read.

No engine sees them: what is left of a function of a category is which of its values give what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np

from discreet.data.plan.atoms import from_values
from discreet.data.plan.canonical import compare, disjunction, within
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.numbers import add, constant, multiply, scale, value_of
from discreet.data.plan.row_nodes import FALSE, TRUE, Condition, Field, Polynomial
from discreet.data.plan.tabulate import OneColumn, tabulate
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.functions import Function, whole_of
from discreet.data.sql.rows.operands import (
    MISSING,
    ChoiceColumn,
    Day,
    Labelled,
    Mapped,
    Missing,
    Operand,
    Truth,
    describe,
    labelled,
    order_labels,
    renumber,
)
from discreet.data.sql.rows.patterns import Regexp, like
from discreet.data.sql.text import refuse
from discreet.data.sql.values import refuse_undeclared

MAX_PATTERN = 100
MAX_MATCHING = 2_000_000
MAX_LABELS = 1_000
_ON_CATEGORIES = "It works on categories of text: ask the owner to declare the values of other columns"
_LIKE_TAKES = "it works on text columns and a pattern in quotes"
Values = list[str | None]


def _texts(side: Operand, what: str) -> tuple[Field, Values, str | None] | str | Labelled | Missing:
    """Return a text, or those of a category's values; refuse what is no text."""
    if isinstance(side, str | Missing):
        return side
    if isinstance(side, ChoiceColumn) and side.kind is str:
        return side.field, [str(value) for value in side.positions], None
    if isinstance(side, Mapped) and all(value is None or isinstance(value, str) for value in side.values):
        missing = None if side.missing is None else str(side.missing)
        return side.field, [None if value is None else str(value) for value in side.values], missing
    if isinstance(side, Labelled) and isinstance(side.labels[0], str):
        return side
    if isinstance(side, ChoiceColumn) and side.kind is int:
        raise refuse(
            what, "the category holds numbers", "Write CAST(... AS TEXT) first, or compare it with ="
        )
    raise refuse(what, f"it takes text, not {describe(side)}", _ON_CATEGORIES)


def _charge(values: Iterable[str | None], steps: int, what: str, scope: Scope) -> None:
    """Count comparisons of characters before they are made: all of a question have one limit."""
    scope.work.matching += steps * sum(len(value or "") + 1 for value in values)
    if scope.work.matching > MAX_MATCHING:
        why = f"patterns and declared values make more than {MAX_MATCHING} comparisons of characters"
        raise refuse(what, why, "List the values with IN, or use fewer patterns at once")


def _map(name: str, side: Operand, function: Callable[[str], str], scope: Scope, steps: int = 1) -> Operand:
    """Return another text for each text that an operand can be."""
    given = _texts(side, name)
    if isinstance(given, Missing):
        return given
    if isinstance(given, str):
        return function(given)
    if isinstance(given, Labelled):
        _charge(map(str, given.labels), steps, name, scope)
        made = [function(str(label)) for label in given.labels]
        places: dict[str, int] = {}
        moved = {i: places.setdefault(text, len(places)) for i, text in enumerate(made)}
        number = renumber(given.number, moved, scope.tables)
        return MISSING if number is None else order_labels(Labelled(number, tuple(places)), scope.tables)
    field, values, missing = given
    _charge(values, steps, name, scope)
    return Mapped(
        field,
        tuple(None if value is None else function(value) for value in values),
        None if missing is None else function(missing),
    )


def _measure(
    name: str, side: Operand, function: Callable[[str], int], scope: Scope, steps: int = 1
) -> Operand:
    """Return a whole number for each text that an operand can be."""
    given = _texts(side, name)
    if isinstance(given, Missing):
        return given
    if isinstance(given, str):
        return constant(function(given))
    if isinstance(given, Labelled):
        _charge(map(str, given.labels), steps, name, scope)
        moved = {i: function(str(label)) for i, label in enumerate(given.labels)}
        number = renumber(given.number, moved, scope.tables)
        return MISSING if number is None else number
    field, values, missing = given
    _charge(values, steps, name, scope)
    codes = [ABSENT if value is None else function(value) for value in (*values, missing)]
    listed = OneColumn(field, 0, np.array(codes[:-1], dtype=np.int64), codes[-1])
    found = from_values(listed, Fraction(1), scope.tables)
    if found is None:
        raise refuse(name, f"{field.name} has too many values for it", "Put a condition on the column itself")
    return found


def _test(name: str, side: Operand, function: Callable[[str], bool], scope: Scope, steps: int = 1) -> Truth:
    """Return where a test of text holds and where it fails."""
    given = _texts(side, name)
    tables = scope.tables
    if isinstance(given, Missing):
        return Truth(FALSE, FALSE)
    if isinstance(given, str):
        return Truth(TRUE, FALSE) if function(given) else Truth(FALSE, TRUE)
    if isinstance(given, Labelled):
        _charge(map(str, given.labels), steps, name, scope)
        held = [function(str(label)) for label in given.labels]
        equal = [compare(add(given.number, constant(-i)), "=", tables) for i in range(len(held))]
        yes = disjunction([one for one, told in zip(equal, held, strict=True) if told], tables)
        return Truth(
            yes, disjunction([one for one, told in zip(equal, held, strict=True) if not told], tables)
        )
    field, values, missing = given
    _charge(values, steps, name, scope)
    told = [None if value is None else function(value) for value in (*values, missing)]
    sides = []
    for wanted in (True, False):
        spans = [(i, i) for i, value in enumerate(told[:-1]) if value is wanted]
        sides.append(within(field, spans, missing=told[-1] is wanted, tables=tables))
    return Truth(sides[0], sides[1])


def like_condition(
    side: Operand, pattern: Operand, scope: Scope, *, negated: bool, fold: bool, escape: Operand | None
) -> Condition:
    """Return the condition that a declared text is like a pattern."""
    if _holds_no_text(side):
        way_out = "Use BETWEEN, or LIKE of CAST(day AS TEXT)" if isinstance(side, Day) else "Use = or IN"
        raise refuse("LIKE", _LIKE_TAKES, way_out)
    pattern, mark = read_pattern(pattern, escape)
    wanted = pattern.lower() if fold else pattern
    told = _test(
        "LIKE",
        side,
        lambda value: like(value.lower() if fold else value, wanted, mark),
        scope,
        steps=len(pattern) + 1,
    )
    if told.holds == FALSE and not negated and isinstance(side, ChoiceColumn):
        raise refuse_undeclared(side.field.name, pattern, scope.column(side.field), sign="LIKE")
    return told.fails if negated else told.holds


def read_pattern(pattern: Operand, escape: Operand | None) -> tuple[str, str]:
    """Return the pattern of a LIKE and the character that escapes in it, or nothing."""
    mark = "" if escape is None else escape
    if not isinstance(pattern, str):
        raise refuse("LIKE", _LIKE_TAKES, "Use = or IN")
    if len(pattern) > MAX_PATTERN or ("\\" in pattern and mark != "\\"):
        why = f"patterns have at most {MAX_PATTERN} characters and no backslash"
        raise refuse("LIKE", why, "List the values with IN, or write LIKE '...' ESCAPE '!'")
    if not isinstance(mark, str) or len(mark) > 1:
        raise refuse("ESCAPE", "it is one character in quotes", "Write LIKE '10!%' ESCAPE '!'")
    return pattern, mark


def _holds_no_text(side: Operand) -> bool:
    """Say whether an operand holds no text."""
    if isinstance(side, ChoiceColumn):
        return side.kind is not str
    return not isinstance(side, Mapped | Labelled)


def regexp_condition(
    side: Operand, pattern: Operand, scope: Scope, *, negated: bool, fold: bool
) -> Condition:
    """Return the condition that a declared text holds what a regular expression describes."""
    told = _matches(side, pattern, scope, fold=fold)
    return told.fails if negated else told.holds


def _matches(side: Operand, pattern: Operand, scope: Scope, *, fold: bool) -> Truth:
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN:
        why = f"it takes a pattern in quotes of at most {MAX_PATTERN} characters"
        raise refuse("a regular expression", why, "Use LIKE or IN")
    expression = Regexp(pattern, fold=fold)
    return _test("a regular expression", side, expression.found_in, scope, steps=2 * expression.size)


def concatenate(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """Join texts; missing where one is."""
    found: Operand = ""
    for side in sides:
        found = _join(name, found, _plain_text(side, scope), scope)
    return found


def _plain_text(side: Operand, scope: Scope) -> Operand:
    if isinstance(side, ChoiceColumn) and side.kind is int:
        return Mapped(side.field, tuple(str(value) for value in side.positions))
    told = spell_number(side, scope) if isinstance(side, Polynomial) else None
    return side if told is None else told


def spell_number(number: Polynomial, scope: Scope) -> Operand | None:
    """Return a whole number as text; None where it may be broken, or has too many values to be listed."""
    fixed, tables = value_of(number), scope.tables
    if fixed is not None:
        return str(fixed) if fixed.denominator == 1 else None
    exact = scale(number, tables)
    if exact.unit.denominator != 1:
        return None
    known, unit, (low, high) = tabulate(number, tables), int(exact.unit), exact.span
    if known is None:
        if high - low >= MAX_LABELS:
            return None
        place = add(multiply(constant(Fraction(1, unit)), number), constant(-low))
        return Labelled(place, tuple(str(step * unit) for step in range(low, high + 1)))
    spend(len(known.values))
    reached = sorted({*known.values.tolist(), known.missing} - {ABSENT})
    if len(reached) > MAX_LABELS:
        return None
    moved = renumber(number, {step * unit: place for place, step in enumerate(reached)}, tables)
    labels = tuple(str(step * unit) for step in reached)
    return MISSING if moved is None else order_labels(Labelled(moved, labels), tables)


def _join(name: str, left: Operand, right: Operand, scope: Scope) -> Operand:
    if isinstance(left, Missing) or isinstance(right, Missing):
        return MISSING
    if isinstance(left, str):
        return _map(name, right, lambda value: left + value, scope)
    if isinstance(right, str):
        return _map(name, left, lambda value: value + right, scope)
    one, other = _texts(left, name), _texts(right, name)
    if isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0]:
        pairs = list(zip((*one[1], one[2]), (*other[1], other[2]), strict=True))
        _charge([value for pair in pairs for value in pair], 1, name, scope)
        made = [None if a is None or b is None else a + b for a, b in pairs]
        return Mapped(one[0], tuple(made[:-1]), made[-1])
    first, second = labelled(left, scope.tables), labelled(right, scope.tables)
    if first is None or second is None or len(first.labels) * len(second.labels) > MAX_LABELS:
        raise refuse(
            name, f"its texts have more than {MAX_LABELS} combinations", "GROUP BY both columns instead"
        )
    labels = [f"{a}{b}" for a in first.labels for b in second.labels]
    number = add(multiply(constant(len(second.labels)), first.number), second.number)
    if len(set(labels)) == len(labels):
        return order_labels(Labelled(number, tuple(labels)), scope.tables)
    places: dict[str, int] = {}
    moved = {i: places.setdefault(label, len(places)) for i, label in enumerate(labels)}
    merged = renumber(number, moved, scope.tables)
    return MISSING if merged is None else order_labels(Labelled(merged, tuple(places)), scope.tables)


def _case_function(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    functions: dict[str, Callable[[str], str]] = {
        "LOWER": str.lower,
        "LCASE": str.lower,
        "UPPER": str.upper,
        "UCASE": str.upper,
        "INITCAP": str.title,
        "REVERSE": lambda value: value[::-1],
    }
    return _map(name, sides[0], functions[name], scope)


def _trim(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    characters = sides[1] if len(sides) > 1 else " "
    if not isinstance(characters, str):
        raise refuse(name, "it takes the characters in quotes", f"Write {name}(x)")
    functions: dict[str, Callable[[str], str]] = {
        "TRIM": lambda value: value.strip(characters),
        "BTRIM": lambda value: value.strip(characters),
        "LTRIM": lambda value: value.lstrip(characters),
        "RTRIM": lambda value: value.rstrip(characters),
    }
    return _map(name, sides[0], functions[name], scope, steps=1 + len(characters))


def _substr(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    start = whole_of(sides[1], name, 1, 1_000)
    length = whole_of(sides[2], name, 0, 1_000) if len(sides) > 2 else 1_000
    return _map(name, sides[0], lambda value: value[start - 1 : start - 1 + length], scope)


def _ends(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    count = whole_of(sides[1], name, 0, 1_000)
    if name == "LEFT":
        return _map(name, sides[0], lambda value: value[:count], scope)
    return _map(
        name, sides[0], lambda value: value[len(value) - count :] if count < len(value) else value, scope
    )


def _pad(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    """LPAD and RPAD: as many characters as are asked for, of longer texts the first ones."""
    count, fill = whole_of(sides[1], name, 0, MAX_PATTERN), sides[2] if len(sides) > 2 else " "
    if not isinstance(fill, str) or not 1 <= len(fill) <= MAX_PATTERN:
        raise refuse(name, "it takes what it fills with in quotes", f"Write {name}(x, 2, '0')")

    def pad(value: str) -> str:
        filled = (fill * count)[: max(0, count - len(value))]
        return (filled + value if name == "LPAD" else value + filled)[:count]

    return _map(name, sides[0], pad, scope, 1 + count)


def _replace(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    old, new = sides[1], sides[2]
    if not isinstance(old, str) or not isinstance(new, str) or len(new) > MAX_PATTERN:
        raise refuse(name, "it takes short texts in quotes", "Write REPLACE(x, 'old', 'new')")
    return _map(name, sides[0], lambda value: value.replace(old, new) if old else value, scope, 1 + len(new))


def _split_part(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    mark, place = _quoted(name, sides[1]), whole_of(sides[2], name, 1, 1_000)
    if not mark:
        raise refuse(name, "it splits at a text", "Write SPLIT_PART(x, '-', 1)")

    def part(value: str) -> str:
        parts = value.split(mark)
        return parts[place - 1] if place <= len(parts) else ""

    return _map(name, sides[0], part, scope, 1 + len(mark))


def _length(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    return _measure(name, sides[0], len, scope)


def _strpos(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    wanted = _quoted(name, sides[1])
    return _measure(name, sides[0], lambda value: value.find(wanted) + 1, scope, 1 + len(wanted))


def _quoted(name: str, side: Operand) -> str:
    if not isinstance(side, str) or len(side) > MAX_PATTERN:
        raise refuse(name, "it takes a short text in quotes", f"Write {name}(x, 'text')")
    return side


def _affix(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    wanted = _quoted(name, sides[1])
    functions: dict[str, Callable[[str], bool]] = {
        "STARTS_WITH": lambda value: value.startswith(wanted),
        "STARTSWITH": lambda value: value.startswith(wanted),
        "ENDS_WITH": lambda value: value.endswith(wanted),
        "ENDSWITH": lambda value: value.endswith(wanted),
        "CONTAINS": lambda value: wanted in value,
        "CONTAINS_SUBSTR": lambda value: wanted.lower() in value.lower(),
    }
    return _test(name, sides[0], functions[name], scope, 1 + len(wanted))


def _regexp(name: str, sides: Sequence[Operand], scope: Scope) -> Operand:
    del name
    return _matches(sides[0], sides[1], scope, fold=False)


TEXT_FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    **dict.fromkeys(("LOWER", "LCASE", "UPPER", "UCASE", "INITCAP", "REVERSE"), (1, 1, _case_function)),
    **dict.fromkeys(("TRIM", "BTRIM", "LTRIM", "RTRIM"), (1, 2, _trim)),
    **dict.fromkeys(("SUBSTR", "SUBSTRING"), (2, 3, _substr)),
    **dict.fromkeys(("LEFT", "RIGHT"), (2, 2, _ends)),
    **dict.fromkeys(("LPAD", "RPAD"), (2, 3, _pad)),
    **dict.fromkeys(("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), (1, 1, _length)),
    **dict.fromkeys(("STRPOS", "INSTR"), (2, 2, _strpos)),
    **dict.fromkeys(
        ("STARTS_WITH", "STARTSWITH", "ENDS_WITH", "ENDSWITH", "CONTAINS", "CONTAINS_SUBSTR"), (2, 2, _affix)
    ),
    **dict.fromkeys(("REGEXP_LIKE", "REGEXP_CONTAINS", "REGEXP_MATCHES"), (2, 2, _regexp)),
    "CONCAT": (1, 20, concatenate),
    "REPLACE": (3, 3, _replace),
    "SPLIT_PART": (3, 3, _split_part),
}
