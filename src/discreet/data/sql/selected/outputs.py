"""SELECT's list, HAVING, ORDER BY, LIMIT and OFFSET: what is shown of an answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.after import compute, find_sort, is_noisy
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.keys import is_listed
from discreet.data.plan.nodes import (
    After,
    Aggregate,
    Computed,
    Constant,
    Ordering,
    Output,
    Shown,
)
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import Scope, refuse_unknown, take, word
from discreet.data.sql.selected.aggregates import default_name
from discreet.data.sql.selected.computed import Names, condition, translate
from discreet.data.sql.selected.windows import looks_around, refuse_rows
from discreet.data.sql.text import number, refuse, shorten
from discreet.data.sql.values import list_values

MAX_OUTPUTS = 100
MAX_ORDER = 20
MAX_ROWS = 10**9
"""The largest LIMIT and OFFSET: beyond any answer."""
_NAME = re.compile(r"(?=.{1,63}$)[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*", re.ASCII)
_KEPT_NAMES = ("round", "trunc", "floor", "ceil", "coalesce", "abs")
KeyFinder = Callable[[exp.Expression], Shown | None]
"""Returns the key that a node is, or what it stands for; None where it is none. Refuses other columns."""


@dataclass(frozen=True, slots=True)
class AnswerClauses:
    """The parts of a query that decide what is shown; None where there is none."""

    having: exp.Expression | None
    order: exp.Expression | None
    limit: exp.Expression | None
    offset: exp.Expression | None
    qualify: exp.Expression | None


def read_outputs(
    listed: list[exp.Expression], find_key: KeyFinder, scope: Scope, *, taken: Container[str] = ()
) -> tuple[Output, ...]:
    """Translate what is selected, each under a name of its own; of a name that is taken no alias is read."""
    if len(listed) > MAX_OUTPUTS:
        raise refuse("SELECT", f"it has more than {MAX_OUTPUTS} columns", "Ask less at once")
    outputs: list[Output] = []
    used: set[str] = set()
    aliases: dict[str, Shown] = {}
    names = Names(scope, find_key, aliases)
    for item in listed:
        node, alias = take(item, "this", "alias") if isinstance(item, exp.Alias) else (item, None)
        name = None if alias is None else word(alias)
        if name is not None and (not _NAME.fullmatch(name) or name.lower() in used):
            why = "names are letters, digits, _ and single blanks, each used once"
            raise refuse(f"AS {shorten(name)}", why, "Choose another")
        if isinstance(node, exp.Star) or isinstance(node.args.get("this"), exp.Star):
            raise refuse_unknown(node, "SELECT")
        what = translate(node, names)
        outputs.append(Output(name or _fresh(_default_name(what), used), what))
        used.add(outputs[-1].name.lower())
        is_taken = name is not None and name.lower() in taken
        if name is not None and not is_taken and not _is_column(name, scope.names.values(), scope.tables):
            # What stands further right may name it; a column of the table comes first.
            aliases[name.lower()] = what
    return tuple(outputs)


def read_after(
    clauses: AnswerClauses,
    outputs: tuple[Output, ...],
    find_key: KeyFinder,
    scope: Scope,
    *,
    taken: Container[str] = (),
) -> After:
    """Translate HAVING, ORDER BY, LIMIT and OFFSET."""
    columns: dict[str, Shown] = {output.name.lower(): output.what for output in outputs}
    # A column of the table comes before one of the answer here, as engines have it.
    tables = scope.names.values()
    free = {
        name: what
        for name, what in columns.items()
        if name not in taken and not _is_column(name, tables, scope.tables)
    }
    chosen = Names(scope, find_key, free)
    having = None if clauses.having is None else _read_condition(clauses.having, chosen, "HAVING")
    if having is not None and looks_around(having):
        why = "HAVING decides which rows it looks at"
        raise refuse("OVER in HAVING", why, "Use QUALIFY, which comes after it")
    qualify = None if clauses.qualify is None else _read_condition(clauses.qualify, chosen, "QUALIFY")
    if qualify is not None and not any(map(looks_around, [qualify, *columns.values()])):
        raise refuse("QUALIFY", "it looks at no window", "Use HAVING, or RANK() OVER (...) <= 3")
    names = Names(scope, find_key, columns)
    order = () if clauses.order is None else _read_order(clauses.order, outputs, names)
    offset, limit = read_row_count(clauses.offset, "OFFSET"), read_row_count(clauses.limit, "LIMIT")
    return After(having, order, offset or 0, limit, qualify)


def _read_condition(clause: exp.Expression, names: Names, word_: str) -> Computed:
    found = condition(take(clause, "this")[0], names, word_)
    is_true = (found, Constant(True))  # a key that is true or false, or a constant
    return found if isinstance(found, Computed) else compute("=", is_true, names.scope.tables)


def require_aggregate(
    outputs: tuple[Output, ...], after: After, sets: Sequence[tuple[Key, ...]], tables: PlanTables
) -> None:
    """Refuse a question that asks nothing of the data; which values of free text there are is something."""
    looked_at: list[Shown] = [*(one.what for one in outputs), *(one.what for one in after.order)]
    looked_at += [one for one in (after.having, after.qualify) if one is not None]
    keys = [output.what for output in outputs if isinstance(output.what, Field | ComputedKey)]
    public = [key for key in keys if isinstance(key, Field) and is_listed(key, tables)]
    declared = any(all(is_listed(key, tables) for key in one) for one in sets)
    if any(map(is_noisy, looked_at)) or (keys and not declared):
        return
    if any(map(looks_around, looked_at)):
        raise refuse_rows("OVER")
    known = ""
    if public:
        known = f"; what {public[0].name} may be is public: {list_values(tables.column(public[0]))}"
    raise refuse("SELECT", "it asks for no aggregate", f"Add COUNT(*), SUM(x) or AVG(x){known}")


def _is_column(name: str, relations: object, tables: PlanTables) -> bool:
    return any(tables.field(one.name, name) is not None for one in relations)  # type: ignore[attr-defined]


def _read_order(node: exp.Expression, outputs: tuple[Output, ...], names: Names) -> tuple[Ordering, ...]:
    (listed,) = take(node, "expressions")
    if len(listed) == 1 and _says_all(listed[0], names):
        _, descending, first = take(listed[0], "this", "desc", "nulls_first")
        places = (exp.Literal.number(k + 1) for k in range(len(outputs)))
        listed = [exp.Ordered(this=place, desc=descending, nulls_first=first) for place in places]
        listed = listed[:MAX_ORDER]
    if len(listed) > MAX_ORDER:
        raise refuse("ORDER BY", f"it has more than {MAX_ORDER} parts", "Sort by fewer")
    found: dict[Shown, Ordering] = {}
    for item in listed:
        this, descending, missing_first = take(item, "this", "desc", "nulls_first")
        is_place = isinstance(this, exp.Literal)
        what = outputs[find_ordinal(this, outputs)].what if is_place else translate(this, names)
        if find_sort(what, names.scope.tables) == "list":
            way_out = "Sort by one quantile, such as MEDIAN(x)"
            raise refuse("ORDER BY", "several quantiles have no order", way_out)
        # What was sorted by before decides nothing any more, and what is the same in all rows never did.
        if not isinstance(what, Constant):
            found.setdefault(what, Ordering(what, bool(descending), bool(missing_first)))
    return tuple(found.values())


def _says_all(item: exp.Expression, names: Names) -> bool:
    """Say whether ORDER BY ALL is meant: a column of that name comes first."""
    column = item.this
    bare = isinstance(column, exp.Column) and column.args.get("table") is None
    if not bare or not isinstance(column.this, exp.Identifier) or column.this.args.get("quoted"):
        return False
    scope = names.scope
    return column.name.upper() == "ALL" and not (
        "all" in names.columns or _is_column("all", scope.names.values(), scope.tables)
    )


def find_ordinal(node: exp.Expression, outputs: Sequence[object]) -> int:
    """Return the place of the column that ORDER BY names by a number, from 0 on."""
    text, is_string = take(node, "this", "is_string")
    place = Fraction(0) if is_string else number(str(text), "ORDER BY")
    if place.denominator != 1 or not 1 <= place <= len(outputs):
        why = f"it is not the place of a column, 1 to {len(outputs)}"
        raise refuse(f"ORDER BY {shorten(str(text))}", why, "Write the column's name or its place")
    return int(place) - 1


def read_row_count(node: exp.Expression | None, clause: str) -> int | None:
    """Return how many rows LIMIT, OFFSET or FETCH FIRST say; None for all."""
    if node is None:
        return None
    way_out = f"Write {clause} 10"
    if isinstance(node, exp.Fetch):
        _, count, options = take(node, "direction", "count", "limit_options")
        count = exp.Literal.number(1) if count is None else count
    else:
        count, options = take(node, "expression", "limit_options")
    if options is not None:
        take(options, "rows")
    if isinstance(count, exp.Column) and count.name.upper() == "ALL":
        return None
    text, is_string = take(count, "this", "is_string") if isinstance(count, exp.Literal) else ("", True)
    rows = Fraction(-1) if is_string else number(str(text), clause)
    if rows.denominator != 1 or not 0 <= rows <= MAX_ROWS:
        raise refuse(clause, f"it is a whole number from 0 to {MAX_ROWS}", way_out)
    return int(rows)


def _default_name(what: Shown) -> str:
    if isinstance(what, Aggregate):
        return default_name(what)
    if isinstance(what, Computed) and what.function in _KEPT_NAMES:
        return _default_name(what.parts[0])
    return what.name if isinstance(what, Field | ComputedKey) else "value"


def _fresh(name: str, taken: set[str]) -> str:
    tries = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
    return next(found for found in tries if found.lower() not in taken)
