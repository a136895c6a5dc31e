"""Which expression a name stands for, in a query whose subqueries are put into it.

Work is counted before it is done: a name that stands for something long, in something that is named twice,
would double with every level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import refuse_column, refuse_unknown, take, word
from discreet.data.sql.rows.dates import DATE_FUNCTIONS, NOW, UNIT_FIRST
from discreet.data.sql.sources.joins import find_relation
from discreet.data.sql.sources.matches import is_match
from discreet.data.sql.text import refuse

MAX_COPIED = 4_096
"""Nodes of the syntax tree that are copied while subqueries are put into a query."""
_DATE_PARTS = frozenset(
    "YEAR ISOYEAR QUARTER MONTH WEEK ISOWEEK DAY DAYOFWEEK DAYOFYEAR DOW DOY HOUR MINUTE SECOND".split()
)
_NESTED = (exp.Select, exp.Subquery, exp.SetOperation)
_SEVERAL = ("several columns have this name", "Put the table's name before it")


@dataclass(slots=True)
class Meaning:
    """What a name of a FROM clause stands for.

    A column of a declared table (the name that the table has here, and the column's own); or an expression of
    such columns, of so many nodes; or, where two columns have the name, neither.
    """

    name: str
    column: tuple[str, str] | None = None
    tree: exp.Expression | None = None
    size: int = 1
    read: bool = False

    @classmethod
    def of(cls, name: str, tree: exp.Expression) -> Meaning:
        """Return what an expression over declared tables means."""
        if isinstance(tree, exp.Column):
            return cls(name, (tree.table, tree.name))
        return cls(name, None, tree, count_nodes(tree))

    @property
    def is_clear(self) -> bool:
        """Whether it stands for one thing."""
        return self.tree is not None or self.column is not None


Listed = list[tuple[str | None, Meaning]]
"""What a subquery selects, each under its name if it has one."""


@dataclass(frozen=True, slots=True)
class FromItem:
    """One relation of a FROM clause: its name, and its columns by their names in lower case."""

    name: str | None
    columns: Mapping[str, Meaning]

    @classmethod
    def of(cls, name: str | None, listed: Listed, renamed: Sequence[str]) -> FromItem:
        """Make the item of a subquery, whose columns may be renamed by their places."""
        if renamed and len(renamed) != len(listed):
            why = f"it has {len(listed)} columns, and {len(renamed)} names are given"
            raise refuse(f"AS {name}(...)", why, "Give each column one name")
        columns: dict[str, Meaning] = {}
        for place, (own, meant) in enumerate(listed):
            shown = renamed[place] if renamed else own
            # A column without a name cannot be read, but what it is must be understood.
            key = f" {place}" if shown is None else shown.lower()
            columns[key] = (
                Meaning(shown or "") if key in columns else replace(meant, name=shown or "", read=False)
            )
        return cls(name, columns)

    def is_named(self, name: str) -> bool:
        """Say whether it has a name, whatever the case."""
        return self.name is not None and self.name.lower() == name.lower()


@dataclass(slots=True)
class Copies:
    """What putting subqueries into a query took so far."""

    nodes: int = 0
    tables: int = 0
    items: list[FromItem] = field(default_factory=list)

    def spend(self, nodes: int) -> None:
        """Count nodes before they are copied."""
        self.nodes += nodes
        if self.nodes > MAX_COPIED:
            why = f"putting it into the query makes more than {MAX_COPIED} copies of its parts"
            raise refuse("subquery", why, "Ask a shorter question, or use each name fewer times")

    def read_again(self, tree: exp.Expression) -> None:
        """Count something that is about to be read once more."""
        self.spend(count_nodes(tree))

    def keep(self, item: FromItem) -> FromItem:
        """Remember an item, to see in the end what of it was never read."""
        self.items.append(item)
        return item

    def take_unread(self, start: int) -> list[exp.Expression]:
        """Return every expression that was selected from some item on and never read, and forget them."""
        columns = [column for item in self.items[start:] for column in item.columns.values()]
        del self.items[start:]
        return [column.tree for column in columns if column.tree is not None and not column.read]

    def declared(self, name: str, alias: str | None, tables: PlanTables) -> tuple[FromItem, exp.Table]:
        """Return a declared table, and how FROM is to write it: under a name of ours."""
        relation = find_relation(name, tables)
        other = None if alias is None else tables.relation(alias)
        if other is not None and other != relation:
            raise refuse(f"AS {alias}", "it is the name of another table", "Choose another alias")
        own = f"discreet_r{self.tables}"
        self.tables += 1
        columns = {one.name.lower(): Meaning(one.name, (own, one.name)) for one in relation.columns}
        table = exp.Table(
            this=exp.to_identifier(relation.name, quoted=True),
            alias=exp.TableAlias(this=exp.to_identifier(own, quoted=True)),
        )
        return FromItem(alias or relation.name, columns), table


@dataclass(slots=True)
class FromNames:
    """The names of one FROM clause.

    `match` puts a query that asks for a partner into this one; `outer` are the names of the query around.
    `merged` holds the columns that USING made one with a column before: by place and name. They are found
    with their table only.
    """

    copies: Copies
    match: Callable[[exp.Expression], exp.Expression]
    outer: FromNames | None = None
    items: list[FromItem] = field(default_factory=list)
    merged: set[tuple[int, str]] = field(default_factory=set)

    def add(self, item: FromItem) -> None:
        """Add an item; refuse a name that is there already."""
        if item.name is not None and any(one.is_named(item.name) for one in self.items):
            raise refuse(f"table {item.name}", "a table is named once", "Choose another alias")
        self.items.append(item)

    def merge(self, item: FromItem, using: list[exp.Expression]) -> exp.Expression:
        """Add an item that is joined by USING; return the condition."""
        if len(using) != 1:
            raise refuse("USING", "joins are on one key", "Write USING (key)")
        key = word(using[0])
        left, right = self.find(key), item.columns.get(key.lower())
        if left is None or right is None:
            raise _refuse_name(key, self.items if left is None else [item])
        self.add(item)
        self.merged.add((len(self.items) - 1, key.lower()))
        return exp.EQ(this=self._copy(left), expression=self._copy(right))

    def select(self, item: exp.Expression) -> exp.Expression:
        """Return what an item of SELECT means, under the name that it has."""
        if isinstance(item, exp.Alias):
            inner, alias = take(item, "this", "alias")
            return _name(self.put_in(inner), word(alias))
        made = self.put_in(item)
        if isinstance(item, exp.Column) and not (isinstance(made, exp.Column) and made.name == item.name):
            return _name(made, item.name)
        return made

    def columns(self, item: exp.Expression) -> Listed:
        """Return the columns that an item of a subquery's SELECT stands for."""
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            return self._star(item, star)
        made = self.select(item)
        name = made.alias_or_name if isinstance(made, exp.Alias | exp.Column) else None
        return [(name, Meaning.of(name or "", strip_alias(made)))]

    def _star(self, item: exp.Expression, star: exp.Expression) -> Listed:
        (left_out,) = take(star, "except_")
        dropped = {word(take(one, "this")[0]).lower() for one in left_out or []}
        listed = list(enumerate(self.items))
        if isinstance(item, exp.Column):
            table = word(take(item, "this", "table")[1])
            listed = [(place, one) for place, one in listed if one.is_named(table)]
            if not listed:
                raise _refuse_table(table)
        missing = dropped - {key for _, one in listed for key in one.columns}
        if missing:
            raise _refuse_name(min(missing), [one for _, one in listed])
        found: Listed = []
        for place, one in listed:
            self.copies.spend(1 + len(one.columns) // 16)
            for key, column in one.columns.items():
                if key not in dropped and ((place, key) not in self.merged or item is not star):
                    column.read = True  # or not, in what is made of it
                    found.append((column.name or None, column))
        return found

    def clause(
        self, value: Any, aliases: Mapping[str, exp.Expression], *, outputs_first: bool = False
    ) -> Any:
        """Return what a clause means; names that FROM does not have may be those of outputs."""
        if isinstance(value, list):
            return [self.clause(one, aliases, outputs_first=outputs_first) for one in value]
        if not isinstance(value, exp.Expression):
            return value
        return self.put_in(value, aliases, outputs_first=outputs_first)

    def put_in(
        self,
        node: exp.Expression,
        aliases: Mapping[str, exp.Expression] | None = None,
        *,
        outputs_first: bool = False,
    ) -> exp.Expression:
        """Return an expression with every name replaced by what it stands for."""

        def swap(one: exp.Expression) -> exp.Expression:
            if is_match(one):
                return self.match(one)
            if isinstance(one, _NESTED):
                raise _refuse_nested()
            if not isinstance(one, exp.Column):
                return one
            if _is_date_part(one):
                return exp.Var(this=one.name)
            name, table = take(one, "this", "table")
            if isinstance(name, exp.Star):
                raise refuse_unknown(one, "SELECT")
            output = None if aliases is None or table is not None else aliases.get(word(name).lower())
            if output is not None and outputs_first:
                return one
            found = self.find(word(name), None if table is None else word(table))
            if found is not None:
                made = self._copy(found)
            elif output is not None:
                self.copies.read_again(output)
                made = exp.Paren(this=output.copy())
            elif table is None and not name.args.get("quoted") and one.name.upper() in NOW:
                return exp.Anonymous(this=one.name)
            else:
                raise _refuse_name(word(name), self.items)
            if aliases is not None and isinstance(made.unnest(), exp.Literal):
                # A number there would be taken for the place of an output.
                raise refuse(word(name), "it is a constant", "Leave it out")
            return made

        return node.copy().transform(swap, copy=False)

    def find(self, name: str, table: str | None = None) -> Meaning | None:
        """Return what a name stands for; None where FROM does not have it."""
        key = name.lower()
        if table is None:
            listed = [
                one
                for place, one in enumerate(self.items)
                if key in one.columns and (place, key) not in self.merged
            ]
        else:
            listed = [one for one in self.items if one.is_named(table)]
            if not listed and self.outer is not None:
                return self.outer.find(name, table)
            if not listed:
                raise _refuse_table(table)
            if key not in listed[0].columns:
                raise _refuse_name(name, listed)
        if len(listed) > 1 or any(not one.columns[key].is_clear for one in listed):
            raise refuse(name, *_SEVERAL)
        if not listed and self.outer is not None:
            return self.outer.find(name)
        return listed[0].columns[key] if listed else None

    def _copy(self, meant: Meaning) -> exp.Expression:
        self.copies.spend(meant.size)
        meant.read = True
        if meant.column is not None:
            return exp.column(meant.column[1], table=meant.column[0], quoted=True)
        if meant.tree is None:
            raise refuse(meant.name, *_SEVERAL)
        made = meant.tree.copy()
        return made if isinstance(made, exp.Paren) else exp.Paren(this=made)


def count_nodes(tree: exp.Expression) -> int:
    """Count the nodes of a syntax tree."""
    return len(list(tree.walk()))


def strip_alias(item: exp.Expression) -> exp.Expression:
    """Return an item of SELECT without its name."""
    return item.this if isinstance(item, exp.Alias) else item


def _name(tree: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def _refuse_table(name: str) -> Refused:
    return refuse(name, "no table of FROM has this name", "Use a table of FROM, or its alias")


def _refuse_name(name: str, items: Sequence[FromItem]) -> Refused:
    return refuse_column(name, [one.name for item in items for one in item.columns.values() if one.name])


def _refuse_nested() -> Refused:
    return refuse(
        "a subquery in an expression",
        "its answer would be exact",
        "Ask for its number first, and write that into the question; a share of a total is "
        "SUM(x) / SUM(SUM(x)) OVER () beside GROUP BY, and what each unit has is told by a subquery of FROM "
        "that groups by the unit",
    )


def _is_date_part(node: exp.Column) -> bool:
    """Say whether a word that looks like a column is a part of a date, as in DATE_TRUNC(day, MONTH)."""
    call = node.parent
    if not isinstance(call, exp.Anonymous) or str(call.this).upper() not in DATE_FUNCTIONS:
        return False
    places = call.args.get("expressions") or []
    if len(places) < 2 or (len(places) == 2 and "DIFF" in str(call.this).upper()):
        return False  # two dates have no word between them
    first, last = places[0], places[-1]
    if str(call.this).upper() in UNIT_FIRST:
        return node is first and _is_part_word(node)
    if isinstance(first, exp.Literal) and first.is_string:
        return False  # that is the word
    words = [place for place in (first, last) if _is_part_word(place)]
    return any(node is word for word in words[-1:]) and (node is last or len(places) == 3)


def _is_part_word(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column) and not node.args.get("table") and node.name.upper() in _DATE_PARTS
