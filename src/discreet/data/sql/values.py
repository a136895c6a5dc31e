"""Values that no row can have: an equality with one is a slip of the pen, and answering it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction

from discreet.core.errors import Refused, plain
from discreet.data.schema.columns import Category, Column, Date, Ranged
from discreet.data.sql.text import refuse, shorten

_LISTED = 300  # characters of declared values that a message shows
_COMPARED = 1_000  # declared values that are searched for a similar one: a longer list would cost time


def refuse_undeclared(name: str, value: object, column: Column, *, sign: str = "=") -> Refused:
    """Return the refusal of a value, or a pattern, that no declared value equals."""
    written = write_value(value)
    values = column.domain()
    near = _near(value, values)
    hint = f"Did you mean {write_value(near)}? " if near is not None else ""
    other = column.other if isinstance(column, Category) else None
    others = "" if other is None else f"; others count as {write_value(other)}"
    why = "no declared value is like it" if sign == "LIKE" else f"{shorten(written)} is not declared"
    return refuse(f"{name} {sign} {written}", why, f"{hint}Declared: {_list_values(values)}{others}")


def refuse_unreachable(name: str, value: Fraction, column: Ranged) -> Refused:
    """Return the refusal of an equality that no declared number or date meets."""
    grid = getattr(column, "grid", Fraction(1))
    low, high = (column.decode(code) for code in (column.code_lower, column.code_upper))
    steps = "" if isinstance(column, Date) else f" in steps of {plain(grid)}"
    written = "..." if isinstance(column, Date) else plain(value)
    why = f"no row can have this value: {name} is declared from {_number(low)} to {_number(high)}{steps}"
    return refuse(f"{name} = {written}", why, "Others count as the nearest one: use it, or < > BETWEEN")


def _near(value: object, values: Sequence[object]) -> str | None:
    """Return the declared text that was probably meant."""
    if not isinstance(value, str):
        return None
    folded = {str(one).casefold(): str(one) for one in reversed(values)}
    wanted = value.strip().casefold()
    if wanted in folded:
        return folded[wanted]
    if len(folded) > _COMPARED:
        return None
    found = get_close_matches(wanted, folded, n=1)
    return folded[found[0]] if found else None


def list_values(column: Column) -> str:
    """Print the declared values of a column, or as many as fit a message."""
    if isinstance(column, Category):
        return _list_values(column.values)
    if isinstance(column, Ranged):
        return (
            f"from {_number(column.decode(column.code_lower))} to {_number(column.decode(column.code_upper))}"
        )
    return "anything"


def _list_values(values: Sequence[object]) -> str:
    text, left = "", len(values)
    for value in values:
        more = (", " if text else "") + write_value(value)
        if len(text) + len(more) > _LISTED:
            return f"{text} and {left} more" if text else f"{left} values"
        text, left = text + more, left - 1
    return text


def write_value(value: object) -> str:
    """Print a value as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return _number(value)


def _number(value: object) -> str:
    return plain(value) if isinstance(value, Fraction) else str(value)
