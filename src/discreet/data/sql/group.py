"""GROUP BY: columns and what is computed from them, by name, by alias or by place, in grouping sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.atoms import simplify
from discreet.data.plan.evaluate import ABSENT, inside
from discreet.data.plan.key_nodes import ComputedKey, Key, sort_keys, sort_sets
from discreet.data.plan.keys import cells_of, is_listed, may_be_missing, name_group, possible_spans
from discreet.data.plan.narrowing import Narrowed, narrow, range_of
from discreet.data.plan.numbers import variable
from discreet.data.plan.row_nodes import Condition, Field, Polynomial
from discreet.data.plan.tabulate import tabulate
from discreet.data.schema.columns import Category, Column, Decimal, Identifier, Integer
from discreet.data.sql.date_formats import BEYOND
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.language import operand
from discreet.data.sql.rows.operands import (
    ChoiceColumn,
    Day,
    Label,
    Missing,
    Operand,
    Truth,
    as_number,
    labelled,
    truth_number,
)
from discreet.data.sql.selected.calls import AGGREGATES
from discreet.data.sql.selected.windows import refuse_rows
from discreet.data.sql.text import number, refuse

MAX_CELLS = 1_000_000
MAX_SETS = 64
MAX_GROUPS = 20_000
"""Groups of one key that is computed."""
Sets = list[tuple[Key, ...]]
_SEVERAL = (exp.Cube, exp.Rollup, exp.GroupingSets)
_FILLING = ("COALESCE", "IFNULL", "NVL")
_COARSER = "Group by something coarser"
_OF_UNITS = ", or ask of one row a unit: SELECT AVG(n) FROM (SELECT {0}, COUNT(*) AS n FROM t GROUP BY {0})"


class Grouping:
    """What the keys of a question are, wherever they are written.

    Parameters
    ----------
    listed
        What SELECT lists: GROUP BY may name its aliases and places.
    where
        The condition of the question: groups that it leaves no row are not listed.
    after
        HAVING, ORDER BY and whatever else looks at the groups.
    """

    def __init__(
        self,
        listed: Sequence[exp.Expression],
        where: Condition,
        scope: Scope,
        after: Iterable[exp.Expression | None] = (),
    ) -> None:
        self._after = [clause for clause in after if clause is not None]
        self._listed, self._where, self._scope = listed, where, scope
        self._aliases = {
            item.alias.lower(): item.this for item in listed if isinstance(item, exp.Alias) and item.alias
        }
        self.keys: tuple[Key, ...] = ()
        self._totals = False  # whether some set leaves a key out
        self._computes = False  # whether some key is written as more than a column's name

    def sets(self, node: exp.Expression | None) -> Sets:
        """Return the grouping sets of a GROUP BY clause."""
        sets: Sets = [()]
        if node is not None:
            items = self._items(node)
            self._totals = any(isinstance(item, _SEVERAL) for item in items)
            for item in items:
                sets = _cross(sets, self._item(item))
        self.keys = sort_keys(key for keys in sets for key in keys)
        return sort_sets(sets)

    def distinct(self, node: exp.Expression, sets: Sets, *, is_grouped: bool) -> Sets:
        """Return the grouping sets of SELECT DISTINCT: without GROUP BY, what is selected are the keys."""
        take(node)
        selected = [item.this if isinstance(item, exp.Alias) else item for item in self._listed]
        named = [item for item in selected if isinstance(item, exp.Column) and not item.is_star]
        columns = {self._scope.field(item) for item in named}
        if is_grouped:
            if not set(self.keys) <= {self.find(item) for item in selected}:
                way_out = "Select every key, or leave DISTINCT out"
                raise refuse("DISTINCT", "rows of different groups could look alike", way_out)
            return sets
        if len(named) < len(selected):
            return sets
        self.keys = sort_keys(columns)
        return [self.keys]

    def find(self, node: exp.Expression) -> Key | None:
        """Return the key that a node is, None where it is none; refuse a column that is none."""
        if isinstance(node, exp.Column) and not isinstance(node.args.get("this"), exp.Star):
            field = self._scope.field(node)
            if field not in self.keys:
                if isinstance(self._scope.column(field), Identifier):
                    way_out = f"COUNT(DISTINCT {field.name}) counts them"
                    if field.name == self._scope.main.unit.column:
                        way_out += f"; a subquery may GROUP BY {field.name}"
                    raise refuse(field.name, "it would show single units", way_out)
                if not self.keys and any(item.find(exp.Window) for item in self._listed):
                    raise refuse_rows("OVER")
                why = "it is neither a key nor an aggregate"
                raise refuse(field.name, why, f"GROUP BY {field.name}, or aggregate it")
            return field
        if not self._computes or isinstance(node, exp.Literal | exp.Paren) or _aggregates(node):
            return None
        try:
            key = self._key(node)
        except Refused:
            return None  # what is computed from keys and aggregates is no expression of a row
        return key if key in self.keys else None

    def _items(self, node: exp.Expression) -> list[exp.Expression]:
        """Return what is grouped by; ALL stands for whatever is selected that holds no aggregate."""
        items, everything, *after = take(node, "expressions", "all", "rollup", "cube")
        words = [one for listed in after for one in listed or []]
        if words:
            # WITH ROLLUP and WITH CUBE stand after the keys that they are about.
            plain = bool(items) and not any(isinstance(item, _SEVERAL) for item in items)
            if len(words) > 1 or take(words[0], "expressions")[0] or not plain or everything is not None:
                raise refuse("WITH ROLLUP", "it stands once, after keys", "Write GROUP BY ROLLUP (a, b)")
            items = [type(words[0])(expressions=items)]
        if everything is None:
            return items or []
        if not everything or items:
            raise refuse("GROUP BY DISTINCT", "it is not part of the language", "Name the keys")
        selected = [item.this if isinstance(item, exp.Alias) else item for item in self._listed]
        return [item for item in selected if not isinstance(item, exp.Literal) and not _aggregates(item)]

    def _item(self, node: exp.Expression) -> Sets:
        """Return the grouping sets that one item of GROUP BY stands for."""
        if isinstance(node, exp.Cube):
            sets: Sets = [()]
            for part in take(node, "expressions")[0]:
                sets = _cross(sets, [(), *self._item(part)])
            return sets
        if isinstance(node, exp.Rollup):
            prefix: Sets = [()]
            sets = [()]
            for part in take(node, "expressions")[0]:
                prefix = _cross(prefix, self._item(part))
                sets = _limit(sets + prefix)
            return sets
        if isinstance(node, exp.GroupingSets):
            return _limit([keys for part in take(node, "expressions")[0] for keys in self._item(part)])
        if isinstance(node, exp.Paren):
            return self._item(take(node, "this")[0])
        if isinstance(node, exp.Tuple):
            return [sort_keys(self._key(self._named(part)) for part in take(node, "expressions")[0] or [])]
        return [(self._key(self._named(node)),)]

    def _named(self, node: exp.Expression) -> exp.Expression:
        """Return the item of SELECT that a place or an alias stands for; a column comes before an alias."""
        if isinstance(node, exp.Literal):
            return self._numbered(node)
        if not isinstance(node, exp.Column):
            return node
        if node.args.get("table") is not None:
            return self._filled(node) or node
        fields = (self._scope.tables.field(one.name, node.name) for one in self._scope.names.values())
        if any(field is not None for field in fields):
            return self._filled(node) or node
        found: exp.Expression = self._aliases.get(node.name.lower(), node)
        if found is not node and _aggregates(found):
            raise refuse(
                f"GROUP BY {node.name}", "it is an aggregate", "Name a column, or what is computed from it"
            )
        return found

    def _filled(self, column: exp.Column) -> exp.Expression | None:
        """Return what SELECT shows instead of a column that may be missing: then it has that group, too.

        `SELECT COALESCE(x, 'none') ... GROUP BY x` has one group for each x and one for none. Where x itself
        is looked at it stays a column, and what is missing is in no group. Beside totals it is they that have
        no x: `COALESCE(x, 'all')` is what they are called.
        """
        if self._totals:
            return None
        field, filled, alias = self._scope.field(column), None, ""
        others: list[exp.Expression] = [*self._after]
        for item in self._listed:
            shown = item.this if isinstance(item, exp.Alias) else item
            if self._fills(shown, field) and filled in (None, shown):
                filled, alias = shown, item.alias.lower()
            elif not _aggregates(shown):
                others.append(shown)
        named = [
            node
            for one in others
            for node in one.find_all(exp.Column)
            # ORDER BY takes the name of a column of the answer first.
            if not (isinstance(one, exp.Order) and not node.table and node.name.lower() == alias)
        ]
        return None if any(node.name.lower() == field.name.lower() for node in named) else filled

    def _fills(self, node: exp.Expression, field: Field) -> bool:
        if not isinstance(node, exp.Anonymous) or str(node.this).upper() not in _FILLING:
            return False
        listed = node.args.get("expressions") or []
        first = listed[0] if len(listed) == 2 else None
        while isinstance(first, exp.Paren):
            first = first.this
        if not isinstance(first, exp.Column) or self._scope.field(first) != field:
            return False
        return _is_undeclared(listed[1], self._scope.column(field))

    def _numbered(self, node: exp.Expression) -> exp.Expression:
        text, is_string = take(node, "this", "is_string")
        place = None if is_string else number(str(text), "GROUP BY")
        if place is None or place.denominator != 1 or not 1 <= place <= len(self._listed):
            raise refuse(f"GROUP BY {text}", "no item of SELECT has this place", "Write the column's name")
        item = self._listed[int(place) - 1]
        found: exp.Expression = item.this if isinstance(item, exp.Alias) else item
        if _aggregates(found):
            raise refuse(f"GROUP BY {text}", "that item is an aggregate", "Name a column")
        return found

    def _key(self, node: exp.Expression) -> Key:
        while isinstance(node, exp.Paren):
            (node,) = take(node, "this")
        if isinstance(node, exp.Column):
            return self._scope.field(node)
        if isinstance(node, exp.Div) and isinstance(node.expression, exp.Literal):
            way_out = "Write FLOOR(x / 10), or x // 10"
            raise refuse("GROUP BY x / 10", "division is exact here, so it makes no groups", way_out)
        self._computes = True
        return make_key(operand(_whole_buckets(node), self._scope), self._where, self._scope)


def _whole_buckets(node: exp.Expression) -> exp.Expression:
    """Read `x / 10 * 10` as a key: nothing but whole quotients makes groups of it."""
    if not isinstance(node, exp.Mul):
        return node
    left, right = take(node, "this", "expression")
    inner = left.this if isinstance(left, exp.Paren) else left
    if not isinstance(inner, exp.Div) or not isinstance(right, exp.Literal) or inner.expression != right:
        return node
    whole = exp.IntDiv(this=inner.this.copy(), expression=right.copy())
    return exp.Mul(this=exp.Paren(this=whole), expression=right.copy())


def make_key(side: Operand, where: Condition, scope: Scope) -> Key:
    """Return the key that an expression is: its groups are all values that it can have."""
    tables = scope.tables
    if isinstance(side, ChoiceColumn):
        return side.field
    labels: tuple[Label, ...] = ()
    if isinstance(side, Truth):
        kind, found = "truth", truth_number(side, tables)
    elif isinstance(side, Day):
        kind, found = "date", side.number
    else:
        named = None if isinstance(side, Missing) else labelled(side, tables)
        if named is not None:
            kind, found, labels = "label", named.number, named.labels
        else:
            kind, found = "number", as_number(side, tables)
    settled = None if found is None else simplify(found, tables)
    if settled is None or not settled.atoms:
        raise refuse("GROUP BY", "the key is a constant", "Leave it out")
    first = settled.atoms[0]
    if isinstance(first, Field) and kind != "label" and settled == variable(first):
        return first
    key = ComputedKey(settled, kind, _codes(settled, where, scope), labels)  # type: ignore[arg-type]
    if kind == "date" and key.codes:
        _require_calendar(key, scope)
    return key


def _require_calendar(key: ComputedKey, scope: Scope) -> None:
    """Refuse days that have no name: an answer could not be shown once it was paid for."""
    try:
        for end in (key.codes[0], key.codes[-1]):
            name_group(key, end, scope.tables)
    except (ValueError, OverflowError):
        raise refuse("GROUP BY", BEYOND, "Add or subtract less") from None


def _codes(found: Polynomial, where: Condition, scope: Scope) -> tuple[int, ...]:
    """Return the values of a key that the condition leaves possible, in steps of its unit, ascending."""
    tables = scope.tables
    known = tabulate(found, tables)
    if known is not None:
        spans = possible_spans(known.field, where, tables)
        listed = np.arange(known.first, known.first + len(known.values), dtype=np.int64)
        values = known.values[inside(listed, spans, missing=False)]
        if may_be_missing(known.field, where, tables):
            values = np.append(values, known.missing)
        codes = np.unique(values[values != ABSENT]).tolist()
    else:
        low, high = range_of(found, narrow(Narrowed({}), where, tables), tables)
        codes = range(low, high + 1)
    if len(codes) > MAX_GROUPS:
        why = f"the key has {len(codes)} possible values, and at most {MAX_GROUPS} are listed"
        raise refuse("GROUP BY", why, "Use coarser groups, such as FLOOR(x / 100), or put bounds in WHERE")
    return tuple(codes)


def _aggregates(node: exp.Expression) -> bool:
    """Say whether an expression holds an aggregate."""
    calls = (str(one.this).upper() for one in node.find_all(exp.Anonymous))
    return isinstance(node, exp.Star) or any(name in AGGREGATES for name in calls)


def _cross(left: Sets, right: Sets) -> Sets:
    _limit([()] * (len(left) * len(right)))
    return [sort_keys((*a, *b)) for a, b in itertools.product(left, right)]


def _limit(sets: Sets) -> Sets:
    if len(sets) > MAX_SETS:
        raise refuse("GROUP BY", f"it has more than {MAX_SETS} grouping sets", "Use fewer keys")
    return sets


def check_sets(
    sets: Iterable[tuple[Key, ...]], where: Condition, scope: Scope, delta: Fraction, strategy: str | None
) -> None:
    """Refuse keys that show units, and more groups than are listed."""
    listed = tuple(sets)
    keys = sort_keys(key for one in listed for key in one)
    columns = {key: scope.column(key) for key in keys if isinstance(key, Field)}
    for field, column in columns.items():
        if isinstance(column, Identifier):
            unit = scope.main.unit.column
            way_out = _COARSER if unit is None else _COARSER + _OF_UNITS.format(unit)
            raise refuse(f"GROUP BY {field.name}", "it would show single units", way_out)
    open_keys = [key.name for key in keys if not is_listed(key, scope.tables)]
    if strategy not in (None, "LAPLACE_THRESHOLD" if open_keys else "PUBLIC_GROUPS"):
        way_out = "Use PUBLIC_GROUPS for declared keys, LAPLACE_THRESHOLD for others, or leave it out"
        raise refuse(f"group_selection_strategy = {strategy}", "it does not fit the keys", way_out)
    if open_keys and not delta > 0:
        why = "its values are not declared, so groups appear by a threshold, which needs delta > 0"
        raise refuse(f"GROUP BY {open_keys[0]}", why, "Set delta, or ask the owner to declare the values")
    cells = 0
    for one in listed:
        declared = [key for key in one if is_listed(key, scope.tables)]
        cells += cells_of(declared, scope.tables, where) or 1
    if cells > MAX_CELLS:
        raise refuse("GROUP BY", f"it has more than {MAX_CELLS} declared groups", "Use fewer or coarser keys")


def _is_undeclared(node: exp.Expression, column: Column) -> bool:
    """Say whether a constant is nothing that a column holds, so that its group is one of its own."""
    sign = -1 if isinstance(node, exp.Neg) else 1
    value = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(value, exp.Literal):
        return False
    if value.is_string:
        return isinstance(column, Category) and str(value.this) not in column.values
    found = sign * number(str(value.this), "COALESCE")
    if isinstance(column, Category):
        return found not in column.values and isinstance(column.values[0], int)
    return isinstance(column, Integer | Decimal) and not column.lower <= found <= column.upper
