"""PERCENT_RANK, CUME_DIST and NTILE over the rows of an answer: what ranks and how many rows there are tell.

Each rises with a rank, so its interval is that of the rank, moved by the same function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.data.plan.after import compute
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.nodes import Computed, Constant, Ordering, Shown, Windowed
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.text import refuse

SHARES = ("PERCENT_RANK", "CUME_DIST", "NTILE")
MAX_TILES = 1_000
_NONE, _ONE = Constant(Fraction(0)), Constant(Fraction(1))


def turn_order(order: Sequence[Ordering]) -> tuple[Ordering, ...]:
    """Return the opposite order."""
    return tuple(
        replace(one, descending=not one.descending, missing_first=not one.missing_first) for one in order
    )


def read_share(
    name: str,
    arguments: Sequence[Shown],
    partition: tuple[Key | Computed, ...],
    order: tuple[Ordering, ...],
    tables: PlanTables,
) -> Shown:
    """Return which part of the rows comes before one, or which of some equal parts it is in."""
    count = Windowed("count", None, partition, ())
    if name == "NTILE":
        return _tile(_read_tiles(arguments), Windowed("row_number", None, partition, order), count, tables)
    if arguments:
        raise refuse(name, "it takes nothing but an order", f"Write {name}() OVER (ORDER BY COUNT(*))")
    if name == "PERCENT_RANK":
        before = compute("-", [Windowed("rank", None, partition, order), _ONE], tables)
        others = compute("nullif", [compute("-", [count, _ONE], tables), _NONE], tables)
        return compute("coalesce", [compute("/", [before, others], tables), _NONE], tables)
    # As many as come up to a row and its equals are all but those that come after them.
    after = compute("-", [Windowed("rank", None, partition, turn_order(order)), _ONE], tables)
    return compute("/", [compute("-", [count, after], tables), count], tables)


def _read_tiles(arguments: Sequence[Shown]) -> Fraction:
    value = arguments[0].value if len(arguments) == 1 and isinstance(arguments[0], Constant) else None
    if not isinstance(value, Fraction) or value.denominator != 1 or not 1 <= value <= MAX_TILES:
        way_out = "Write NTILE(4) OVER (ORDER BY COUNT(*))"
        raise refuse("NTILE", f"it takes a whole number from 1 to {MAX_TILES}", way_out)
    return value


def _tile(tiles: Fraction, place: Shown, count: Shown, tables: PlanTables) -> Shown:
    """Return which part a row is in: the first ones have one row more, where the rows do not go up evenly.

    By the larger parts a row is in the `ceil(place / (size + 1))`th; by the smaller ones, counted on from
    where the larger end, in the `larger + ceil((place - end) / size)`th. The true one is the greater of both.
    """
    size = compute("floor", [compute("/", [count, Constant(tiles)], tables)], tables)
    larger = compute("-", [count, compute("*", [size, Constant(tiles)], tables)], tables)
    wide = compute("+", [size, _ONE], tables)
    first = compute("ceil", [compute("/", [place, wide], tables)], tables)
    beyond = compute("-", [place, compute("*", [larger, wide], tables)], tables)
    then = compute("ceil", [compute("/", [beyond, size], tables)], tables)
    second = compute("coalesce", [compute("+", [larger, then], tables), _NONE], tables)
    return compute("greatest", [first, second], tables)
