"""OVER: what is computed from several rows of an answer. Of the rows of a table it is refused.

It looks at released values alone, so it costs nothing. Which rows a sum or a neighbour looks at is decided by
keys; only ranks follow what is noisy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.after import compute, find_sort, is_noisy
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.kinds import WindowFunction
from discreet.data.plan.nodes import Aggregate, Computed, Constant, Ordering, Shown, Windowed, operands
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import take
from discreet.data.sql.selected.calls import AGGREGATES
from discreet.data.sql.selected.shares import SHARES, read_share, turn_order
from discreet.data.sql.text import number, refuse, shorten

MAX_FRAME = 1_000
"""Rows before or after one that a frame may count, and how far a neighbour may stand."""
_RANKS: dict[str, WindowFunction] = {"RANK": "rank", "DENSE_RANK": "dense_rank", "ROW_NUMBER": "row_number"}
_NEIGHBOURS: dict[str, WindowFunction] = {"LAG": "lag", "LEAD": "lead"}
_TOTALS: dict[str, WindowFunction] = {
    "SUM": "sum",
    "AVG": "average",
    "MEAN": "average",
    "COUNT": "count",
    "MIN": "min",
    "MAX": "max",
}
_ROWS = (
    "GROUP BY what parts the rows, and look at the groups: SUM(COUNT(*)) OVER (), "
    "RANK() OVER (ORDER BY SUM(x) DESC)"
)
_NOISY = "the rows that it looks at would be chosen by noise"
_QUANTILES = ("PERCENTILE_CONT", "PERCENTILE_DISC", "MEDIAN")
_KNOWN = (
    "SUM, AVG, COUNT, MIN, MAX, RANK, DENSE_RANK, ROW_NUMBER, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, "
    "FIRST_VALUE, LAST_VALUE and RATIO_TO_REPORT are known"
)
_ENDS = ("FIRST_VALUE", "LAST_VALUE")
Translate = Callable[[exp.Expression], Shown]
RowValue = Key | Aggregate | Constant | Computed
"""What may be looked at in each row of a window."""


def read_window(node: exp.Expression, tables: PlanTables, translate: Translate) -> Shown:
    """Translate a window over the groups of an answer.

    Parameters
    ----------
    node
        The call with its OVER.
    tables
        What is declared.
    translate
        What translates keys and aggregates.
    """
    call, parted, order, spec, named, _ = take(node, "this", "partition_by", "order", "spec", "alias", "over")
    if named is not None:
        raise refuse("OVER a named window", "it is not part of the language", "Write it out: OVER (...)")
    if not isinstance(call, exp.Anonymous):
        raise refuse(f"{type(call).__name__.upper()} OVER", "it is not part of the language", "Leave it out")
    name, listed = take(call, "this", "expressions")
    name, arguments = str(name).upper(), list(listed or [])
    try:
        return _translate(name, arguments, (parted or [], order, spec), tables, translate)
    except Refused as refusal:
        if refusal.why == _NOISY or _aggregates(node, within=call):
            raise
        if name in _QUANTILES:
            way_out = f"Leave OVER out: {name} is an aggregate, of each group with GROUP BY"
            raise refuse(f"{name} OVER", "it would be told beside every row", way_out) from None
        raise refuse_rows(f"{name} OVER") from None


def looks_around(what: Shown) -> bool:
    """Say whether something looks at other rows of the answer."""
    return any(isinstance(one, Windowed) for one in operands(what))


def refuse_rows(what: str) -> Refused:
    """Return the refusal of a window over the rows of a table."""
    return refuse(what, "over the rows of a table it would show single rows", _ROWS)


def _aggregates(node: exp.Expression, within: exp.Expression) -> bool:
    """Say whether a window names an aggregate beside its own call: then it is about groups."""
    return any(
        one is not within
        and isinstance(one, exp.Anonymous)
        and str(one.args.get("this")).upper() in AGGREGATES
        for one in node.walk()
    )


def _translate(  # noqa: PLR0912
    name: str,
    arguments: list[exp.Expression],
    over: tuple[list[exp.Expression], exp.Expression | None, exp.Expression | None],
    tables: PlanTables,
    translate: Translate,
) -> Shown:
    parted, order, spec = over
    if name not in (*_RANKS, *SHARES, *_NEIGHBOURS, *_TOTALS, *_ENDS, "RATIO_TO_REPORT"):
        raise refuse(f"{name} OVER", f"of windows over an answer {_KNOWN}", "Compute it from the answer")
    partition = tuple(dict.fromkeys(_read_key(one, translate) for one in parted))
    orders = () if order is None else _read_order(order, tables, translate)
    if name in _RANKS:
        if arguments or spec is not None or not orders:
            raise refuse(
                name, "it takes nothing but an order", f"Write {name}() OVER (ORDER BY COUNT(*) DESC)"
            )
        return Windowed(_RANKS[name], None, partition, orders)
    if name in SHARES:
        if spec is not None or not orders:
            raise refuse(name, "it takes an order", f"Write {name}(...) OVER (ORDER BY COUNT(*) DESC)")
        return read_share(name, [translate(one) for one in arguments], partition, orders, tables)
    if name in _ENDS:
        return _end(
            name, arguments, Windowed("first_value", None, partition, orders), spec, tables, translate
        )
    if any(is_noisy(one.what) for one in orders):
        raise refuse(f"{name} OVER (ORDER BY an aggregate)", _NOISY, "ORDER BY a key, or use RANK()")
    if name in _NEIGHBOURS:
        return _neighbour(
            name, arguments, Windowed(_NEIGHBOURS[name], None, partition, orders), spec, tables, translate
        )
    if name == "RATIO_TO_REPORT":
        if len(arguments) != 1 or orders or spec is not None:
            raise refuse(name, "it takes one value", f"Write {name}(COUNT(*)) OVER ()")
        what = _read_value(arguments[0], tables, translate)
        return compute("/", [what, Windowed("sum", what, partition, ())], tables)
    if len(arguments) != 1:
        raise refuse(name, "it takes one value", f"Write {name}(COUNT(*)) OVER ()")
    function = _TOTALS[name]
    orders, frame = _read_frame(spec, orders)
    if function == "count" and isinstance(arguments[0], exp.Star):
        take(arguments[0])
        return Windowed(function, None, partition, orders, frame)
    what = _read_value(arguments[0], tables, translate)
    made = Windowed(function, what, partition, orders, frame)
    if find_sort(made, tables) not in ("number", "date", "anything"):
        raise refuse(f"{name} OVER", "it is computed of numbers and dates", "Use an aggregate")
    return made


def _read_key(node: exp.Expression, translate: Translate) -> Key | Computed:
    found = translate(node)
    if not is_public(found):
        why = "it names keys of GROUP BY, or what is computed of them"
        raise refuse("PARTITION BY", why, "PARTITION BY a key, or leave it out")
    return found


def is_public(what: Shown | None) -> TypeGuard[Key | Computed]:
    """Say whether something is a key of an answer, or computed of keys in one row: no noise is in it."""
    if isinstance(what, Computed):
        return not is_noisy(what) and not looks_around(what)
    return isinstance(what, Field | ComputedKey)


def _read_value(node: exp.Expression, tables: PlanTables, translate: Translate) -> RowValue:
    found = translate(node)
    if isinstance(found, Windowed) or looks_around(found):
        raise refuse("OVER in OVER", "it is not part of the language", "Compute the rest from the answer")
    find_sort(found, tables)
    return found


def _read_order(order: exp.Expression, tables: PlanTables, translate: Translate) -> tuple[Ordering, ...]:
    found: dict[Shown, Ordering] = {}
    for item in take(order, "expressions")[0]:
        this, descending, missing_first = take(item, "this", "desc", "nulls_first")
        what = _read_value(this, tables, translate)
        if isinstance(what, Constant) or find_sort(what, tables) == "list":
            raise refuse("ORDER BY in OVER", "it is a key or an aggregate", "Write ORDER BY COUNT(*) DESC")
        found.setdefault(what, Ordering(what, bool(descending), bool(missing_first)))
    return tuple(found.values())


def _neighbour(  # noqa: PLR0917
    name: str,
    arguments: list[exp.Expression],
    window: Windowed,
    spec: exp.Expression | None,
    tables: PlanTables,
    translate: Translate,
) -> Windowed:
    if not 1 <= len(arguments) <= 3 or spec is not None or not window.order:
        way_out = f"Write {name}(COUNT(*), 1, 0) OVER (ORDER BY a key)"
        raise refuse(name, "it takes a value, how far away, and a default, with an order", way_out)
    what, *rest = (_read_value(one, tables, translate) for one in arguments)
    otherwise = rest[1] if len(rest) > 1 else Constant(None)
    if not isinstance(otherwise, Constant):
        raise refuse(name, "its default is a constant", f"Write {name}(COUNT(*), 1, 0)")
    distance = 1 if not rest else _read_distance(rest[0].value if isinstance(rest[0], Constant) else None)
    made = replace(window, what=what, distance=distance, otherwise=otherwise)
    find_sort(made, tables)
    return made


def _end(  # noqa: PLR0917
    name: str,
    arguments: list[exp.Expression],
    window: Windowed,
    spec: exp.Expression | None,
    tables: PlanTables,
    translate: Translate,
) -> Windowed:
    """FIRST_VALUE, and LAST_VALUE of all rows: the first one of those in the opposite order."""
    over = "OVER (ORDER BY a key ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    if len(arguments) != 1 or not window.order:
        raise refuse(name, "it takes a value, with an order", f"Write {name}(COUNT(*)) {over}")
    orders, frame = _read_frame(spec, window.order)
    if (frame is not None and frame[0] is not None) or (name == "LAST_VALUE" and (spec is None or orders)):
        why = "it is of all rows of a partition, or of those from the first one on"
        raise refuse(f"a frame of {name}", why, f"Write {name}(COUNT(*)) {over}")
    what = _read_value(arguments[0], tables, translate)
    order = turn_order(window.order) if name == "LAST_VALUE" else window.order
    made = replace(window, what=what, order=order)
    if any(is_noisy(one.what) for one in order) and (is_noisy(what) or find_sort(what, tables) != "text"):
        why = "the row that it looks at would be chosen by noise"
        raise refuse(f"{name} OVER (ORDER BY an aggregate)", why, "ORDER BY a key, or use MAX(...) OVER ()")
    find_sort(made, tables)
    return made


def _read_distance(value: object) -> int:
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= MAX_FRAME:
        raise refuse(
            "OVER", f"rows are counted by whole numbers from 0 to {MAX_FRAME}", "Write LAG(COUNT(*), 1)"
        )
    return int(value)


def _read_frame(
    spec: exp.Expression | None, orders: tuple[Ordering, ...]
) -> tuple[tuple[Ordering, ...], tuple[int | None, int | None] | None]:
    """Return the order and the frame that matter: of all rows, neither does."""
    if spec is None:
        return orders, None
    kind, start, start_side, end, end_side = take(spec, "kind", "start", "start_side", "end", "end_side")
    first = _read_end(start, start_side, "PRECEDING")
    last = _read_end(end if end is not None else "CURRENT ROW", end_side, "FOLLOWING")
    if first is None and last is None:
        return (), None
    if not orders:
        raise refuse(f"{kind} in OVER", "rows have no order without one", "Add ORDER BY a key")
    if str(kind).upper() == "ROWS":
        return orders, (first, last)
    if first is not None or last != 0:
        raise refuse(f"{kind} in OVER", "it counts something else than rows", "Write ROWS BETWEEN ...")
    return orders, None


def _read_end(end: object, side: object, own: str) -> int | None:
    """Return how many rows a frame reaches before or after; None for all."""
    words = str(side or own).upper()
    if end == "CURRENT ROW":
        return 0
    if end == "UNBOUNDED" and words == own:
        return None
    text, is_string = take(end, "this", "is_string") if isinstance(end, exp.Literal) else ("", True)
    if is_string or words != own:
        way_out = "Write ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING"
        raise refuse(
            "a frame in OVER", f"it reaches from rows before to rows after: not {shorten(words)}", way_out
        )
    return _read_distance(number(str(text), "OVER"))
