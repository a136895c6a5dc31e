"""The guard every node passes: each set argument is taken by name, or the request is refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.narrowing import Narrowed
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Column
from discreet.data.schema.schema import Dimension, Schema
from discreet.data.sql.text import refuse, shorten

_UNSET: tuple[object, ...] = (None, False, [], "")
_WORDS = {
    "catalog": ("a catalogue before the table's name", "Leave it out"),
    "db": ("a schema before the table's name", "Leave it out"),
    "desc": ("DESC", "Leave it out"),
    "distinct": ("DISTINCT", "Leave it out"),
    "group": ("GROUP BY", "Leave it out"),
    "having": ("HAVING", "Leave it out"),
    "into": ("INTO", "Leave it out"),
    "limit": ("LIMIT", "Leave it out"),
    "locks": ("FOR UPDATE", "Leave it out"),
    "method": ("NATURAL JOIN", "Write JOIN ... USING (key)"),
    "offset": ("OFFSET", "Leave it out"),
    "on": ("DISTINCT ON", "GROUP BY it, with MIN(x) or MAX(x)"),
    "order": ("ORDER BY", "Leave it out"),
    "qualify": ("QUALIFY", "Use HAVING, ORDER BY and LIMIT"),
    "percent": ("PERCENT", "Write LIMIT 10"),
    "pivots": ("PIVOT", "Write COUNTIF(x = 1) AS one, COUNTIF(x = 2) AS two, or GROUP BY x"),
    "query": ("a subquery", "List the values"),
    "rollup": ("WITH ROLLUP", "Write GROUP BY ROLLUP (...)"),
    "sample": ("TABLESAMPLE", "Leave it out"),
    "side": ("an outer join", "Write JOIN ... USING (key)"),
    "sort": ("SORT BY", "Write ORDER BY"),
    "symmetric": ("SYMMETRIC", "Put the smaller bound first"),
    "unnest": ("UNNEST", "List the values"),
    "windows": ("WINDOW", "Leave it out"),
    "with_": ("WITH", "Name the table in FROM"),
    "with_ties": ("WITH TIES", "Write LIMIT 10"),
}
_NOT_KNOWN = "it is not part of the language"
_NODES: dict[type, tuple[str, str, str]] = {
    exp.DPipe: ("||", _NOT_KNOWN, "GROUP BY it, or select the parts and write the text from the answer"),
    exp.Exists: ("EXISTS", _NOT_KNOWN, "Put conditions on the table's own columns"),
    exp.Filter: ("FILTER", _NOT_KNOWN, "Put the condition in WHERE, and ask once for each"),
    **dict.fromkeys((exp.Like, exp.ILike), ("LIKE", _NOT_KNOWN, "Put the condition in WHERE")),
    exp.Subquery: (
        "a subquery in an expression",
        _NOT_KNOWN,
        "ORDER BY n DESC LIMIT 1 shows the largest; else ask for its number first, and write that here",
    ),
    exp.Star: ("SELECT *", "single rows are never shown", "Ask for aggregates, such as COUNT(*) or AVG(x)"),
    exp.Window: (
        "OVER",
        _NOT_KNOWN,
        "GROUP BY the keys; ORDER BY ranks the groups, and shares of their sum are computed from the answer",
    ),
}
_PLACES = {
    "FROM": "Name the table, with its conditions in WHERE",
    "SELECT": "Ask for keys and aggregates",
    "a condition": "Compare columns with values, by = <> < <= > >= IN BETWEEN LIKE",
    "an expression": "Write the number, or + - * of columns and numbers",
    "place of a column": "GROUP BY the column itself and add up the answer, or ask the owner for another",
}


def take(node: exp.Expression, *names: str) -> tuple[Any, ...]:
    """Return the named arguments of a node; refuse if any other argument is set."""
    for name, value in node.args.items():
        if name not in names and value not in _UNSET:
            what, way_out = _WORDS.get(name, (f"{type(node).__name__}.{name}", "Leave it out"))
            raise refuse(what, _NOT_KNOWN, way_out)
    return tuple(node.args.get(name) for name in names)


def refuse_unknown(node: exp.Expression, place: str) -> Refused:
    """Return the refusal of a node that has no translation where it stands."""
    if isinstance(node, exp.Column) and isinstance(node.args.get("this"), exp.Star):
        return refuse(*_NODES[exp.Star])
    for kind, words in _NODES.items():
        if isinstance(node, kind) and (place == "SELECT" or kind is exp.Exists):
            return refuse(*words)
    if isinstance(node, exp.BitwiseXor):
        return refuse("^", "dialects mean a power or bits by it", "Write POWER(x, 2), or x * x")
    if isinstance(node, exp.SimilarTo):
        way_out = "Write REGEXP_LIKE(x, '^(a|b)$'): dialects read the signs of SIMILAR TO differently"
        return refuse("SIMILAR TO", _NOT_KNOWN, way_out)
    if isinstance(node, exp.Window):
        way_out = "Ask for bounds first, as by APPROX_QUANTILES(x, 4), and compare with these numbers"
        return refuse("OVER", "a row would be told from where the others are", way_out)
    return refuse(f"{type(node).__name__.upper()} in {place}", _NOT_KNOWN, _PLACES[place])


def word(node: object) -> str:
    """Return the text of an identifier."""
    if not isinstance(node, exp.Identifier):
        raise refuse("name", "a plain name is needed here", "Use the names of the schema")
    (text, _) = take(node, "this", "quoted")
    if not isinstance(text, str):
        raise refuse("name", "a plain name is needed here", "Use the names of the schema")
    return text


@dataclass(slots=True)
class Work:
    """What reading a question took so far.

    `places` holds where the declared values of a column stand, once they were asked for; `matching` counts
    comparisons of characters, `patterns` what free text is compared with, `truths` conditions that stand for
    values; `computed` is what functions gave.
    """

    places: dict[Field, dict[object, int]] = dataclass_field(default_factory=dict)
    matching: int = 0
    patterns: int = 0
    truths: int = 0
    computed: dict[tuple[object, ...], Any] = dataclass_field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables of one FROM clause under the names the request gave them.

    `same` maps the key of a joined table to the column it equals, so that one column has one name. `hidden`
    columns have to be named with their table. `work` is shared by all parts of one question. `today` is the
    day that the question is read on, and `known` what its conditions say of the rows that an expression is
    computed for.
    """

    tables: PlanTables
    names: dict[str, Schema | Dimension]
    same: dict[Field, Field]
    work: Work = dataclass_field(default_factory=Work)
    today: datetime.date | None = None
    known: Narrowed = dataclass_field(default_factory=lambda: Narrowed({}))
    hidden: frozenset[Field] = frozenset()

    @property
    def main(self) -> Schema:
        """The private table that stands first."""
        first = next(iter(self.names.values()))
        if not isinstance(first, Schema):
            raise refuse(first.name, "it is a public table", "Put a private table first and join it")
        return first

    def field(self, node: exp.Expression) -> Field:
        """Return the column that a node names, or refuse."""
        if not isinstance(node, exp.Column):
            raise refuse_unknown(node, "place of a column")
        name, table = take(node, "this", "table")
        if table is None:
            return self._find_unqualified(word(name))
        relation = self.names.get(word(table).lower())
        if relation is None:
            raise refuse(word(table), "no table of FROM has this name", "Use a table of FROM, or its alias")
        field = self.tables.field(relation.name, word(name))
        if field is None:
            raise refuse_column(word(name), (one.name for one in relation.columns))
        return self.same.get(field, field)

    def column(self, field: Field) -> Column:
        """Return what is declared of a column."""
        return self.tables.column(field)

    def positions(self, field: Field) -> dict[object, int]:
        """Return where each declared value of a category or a boolean stands."""
        places = self.work.places
        if field not in places:
            places[field] = {value: i for i, value in enumerate(self.column(field).domain())}
        return places[field]

    def _find_unqualified(self, name: str) -> Field:
        listed = [self.tables.field(relation.name, name) for relation in self.names.values()]
        found = {
            self.same.get(field, field) for field in listed if field is not None and field not in self.hidden
        }
        if not found:
            raise refuse_column(name, (one.name for each in self.names.values() for one in each.columns))
        if len(found) > 1:
            raise refuse(name, "several tables have a column of this name", "Put the table's name before it")
        return found.pop()


def refuse_column(name: str, columns: Iterable[str]) -> Refused:
    """Return the refusal of a column, with those that there are."""
    known = ", ".join(columns)
    way_out = f"Columns: {known if len(known) <= 400 else known[:400] + '...'}; text stands in single quotes"
    return refuse(f"column {shorten(name)}", "it is not declared", way_out)
