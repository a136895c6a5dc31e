"""CTEs and subqueries of FROM, put into the query that reads them.

It is done on the syntax tree, before anything is translated. A column of an inner SELECT is replaced by what
it stands for, in brackets; inner conditions are joined by AND; what is left names declared tables only, each
under a name of ours. A subquery that groups by the privacy unit becomes the relation of units
(`sql.unit_rows`). Nothing is taken for granted about an expression: whatever was put into the query is
translated there, argument by argument, and what is selected and never read is translated all the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.data.plan.derived import UNITS
from discreet.data.plan.nodes import Units
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Dimension, Schema
from discreet.data.sql.nodes import refuse_unknown, take, word
from discreet.data.sql.sources.matches import Matched, UnitMatched, part_tests, read_match, refuse_match
from discreet.data.sql.sources.names import Copies, FromItem, FromNames, Listed, strip_alias
from discreet.data.sql.sources.unit_rows import ReadsAnswer, UnitRows, names_aggregate, read_units
from discreet.data.sql.text import refuse

MAX_LEVELS = 16
"""Subqueries within subqueries."""
_JOIN_INSIDE = "Join inside the subquery, and compute all values of a unit there"
_OF_UNITS = (
    "Ask for units: unit IN (SELECT unit FROM t GROUP BY unit HAVING COUNT(*) > 3); or ask of these rows "
    "themselves: SELECT COUNT(*) FROM (SELECT unit, COUNT(*) AS n FROM t GROUP BY unit) WHERE n > 3"
)
_CLAUSES = {
    "limit": ("LIMIT", "which rows it would keep is chance"),
    "offset": ("OFFSET", "which rows it would keep is chance"),
    "order": ("ORDER BY", "the order of a subquery's rows says nothing"),
    "qualify": ("QUALIFY", "it keeps rows by a window over the rows of others"),
}
_ANSWERS = "Ask the inner query on its own, and compute the rest from its answer, which costs nothing"
_QUERIES = (exp.Select, exp.Subquery, exp.SetOperation)

MaxRows = Callable[[Schema], int | None]
Definitions = Mapping[str, "_Definition"]


@dataclass(frozen=True, slots=True)
class Flattened:
    """A query over declared tables, or over the relation of units.

    `checks` are expressions that were selected and never read.
    """

    tree: exp.Select
    tables: PlanTables
    units: Units | None
    checks: tuple[exp.Expression, ...]


def flatten(
    tree: exp.Select, tables: PlanTables, max_rows: MaxRows, today: datetime.date | None = None
) -> Flattened:
    """Put the subqueries of FROM into a query.

    Parameters
    ----------
    tree
        The query. It is not changed.
    tables
        What is declared.
    max_rows
        How many rows of one unit of a table the request asks to count.
    today
        What CURRENT_DATE means; None for the day it is.

    Raises
    ------
    Refused
        For anything that is no projection, no condition and not one row a unit.
    """
    if not any(node is not tree and isinstance(node, _QUERIES) for node in tree.walk()):
        return Flattened(tree, tables, None, ())
    reader = _Reader(tables, max_rows, today)
    made = reader.outermost(tree)
    units = reader.units
    return Flattened(
        made,
        tables if units is None else units.tables,
        None if units is None else units.units,
        tuple(reader.copies.take_unread(0)),
    )


@dataclass(slots=True)
class _Definition:
    """A CTE: what it selects, the CTEs it may name itself, and how often it was read."""

    tree: exp.Expression
    columns: list[exp.Expression]
    before: Definitions
    reads: int = 0


@dataclass(frozen=True, slots=True)
class _Rows:
    """What stands in FROM and WHERE once the subqueries are gone."""

    table: exp.Table
    joins: list[exp.Join]
    tests: list[exp.Expression]
    is_units: bool = False

    def fill(self, tree: exp.Select) -> exp.Select:
        """Write FROM, the joins and WHERE into a query."""
        tree.set("from_", exp.From(this=self.table))
        tree.set("joins", self.joins or None)
        tree.set("where", exp.Where(this=_conjoin(self.tests)) if self.tests else None)
        return tree


@dataclass(slots=True)
class _Reader:
    tables: PlanTables
    max_rows: MaxRows
    today: datetime.date | None
    units: UnitRows | None = None
    copies: Copies = field(default_factory=Copies)

    def outermost(self, tree: exp.Select) -> exp.Select:
        """Return the query itself over declared tables."""
        before = self._definitions(tree, {})
        names, rows = self._from(tree, before, 0)
        made = exp.Select()
        shown = [names.select(item) for item in tree.args.get("expressions") or []]
        aliases = {one.alias.lower(): one.this for one in shown if isinstance(one, exp.Alias)}
        for key, value in tree.args.items():
            if key in ("expressions", "from_", "joins", "with_", "where") or value is None:
                continue
            if key not in ("distinct", "limit", "offset"):  # these name no column
                value = names.clause(value, aliases, outputs_first=key == "order")  # noqa: PLW2901
            made.set(key, value)
        made.set("expressions", shown)
        self._require_read(before)
        return rows.fill(made)

    def _definitions(self, tree: exp.Expression, known: Definitions) -> dict[str, _Definition]:
        """Read WITH: each definition may name those before it; a name hides a table's from then on."""
        node = tree.args.get("with_")
        found: dict[str, _Definition] = dict(known)
        here: set[str] = set()
        for one in take(node, "expressions")[0] if node is not None else []:
            # Whether an engine would keep what it computes says nothing about what is meant.
            body, alias, _ = take(one, "this", "alias", "materialized")
            name, columns = take(alias, "this", "columns")
            if word(name).lower() in here:
                raise refuse(f"WITH {word(name)}", "the name is given twice", "Choose another name")
            here.add(word(name).lower())
            found[word(name).lower()] = _Definition(body, columns or [], dict(found))
        return found

    def _require_read(self, before: Definitions) -> None:
        for name, one in before.items():
            if not one.reads:
                raise refuse(f"WITH {name}", "nothing reads it", "Leave it out")

    def _from(
        self, tree: exp.Expression, before: Definitions, level: int, outer: FromNames | None = None
    ) -> tuple[FromNames, _Rows]:
        """Read FROM, the joins and WHERE of a query."""
        source, joined, filtered = (tree.args.get(key) for key in ("from_", "joins", "where"))
        if source is None and any(item.find(exp.Select) for item in tree.args.get("expressions") or []):
            way_out = "Write one SELECT with all of them: SELECT COUNTIF(condition) / COUNT(*) FROM t"
            raise refuse("a subquery in an expression", "each would be asked on its own", way_out)
        if source is None:
            raise refuse("SELECT", "it names no table", f"Write FROM {self.tables.schemas[0].name}")
        one, rows = self._source(take(source, "this")[0], before, level)
        joins, tests = list(rows.joins), list(rows.tests)

        def match(node: exp.Expression) -> exp.Expression:
            if rows.is_units:
                raise refuse_match("there is one row a unit around it", _JOIN_INSIDE)
            join, found = self._match(node, names, before, level)
            if join is not None:
                joins.append(join)
            return found

        names = FromNames(self.copies, match, outer)
        names.add(one)
        for node in joined or []:
            if rows.is_units:
                raise refuse("JOIN of a subquery", "it has one row a unit", _JOIN_INSIDE)
            self._join(node, names, joins, tests, before, level)
        if filtered is not None:
            tests.append(names.put_in(take(filtered, "this")[0]))
        return names, _Rows(rows.table, joins, tests, rows.is_units)

    def _join(  # noqa: PLR0917
        self,
        node: exp.Expression,
        names: FromNames,
        joins: list[exp.Join],
        tests: list[exp.Expression],
        before: Definitions,
        level: int,
    ) -> None:
        right, kind, side, on, using = take(node, "this", "kind", "side", "on", "using")
        one, rows = self._source(right, before, level)
        if rows.is_units:
            raise refuse("JOIN of a subquery", "it has one row a unit", _JOIN_INSIDE)
        if side and (rows.joins or rows.tests):
            raise refuse(f"{side} JOIN of a subquery", "it drops rows on its own", "Name the table itself")
        if using:
            on = names.merge(one, using)
        else:
            names.add(one)
            on = None if on is None else names.put_in(on)
        joins.append(exp.Join(this=rows.table, kind=kind, side=side, on=on))
        joins.extend(rows.joins)
        tests.extend(rows.tests)

    def _match(
        self, node: exp.Expression, names: FromNames, before: Definitions, level: int
    ) -> tuple[exp.Join | None, exp.Expression]:
        """Read a query that asks for a partner: the join that finds it, if any, and the condition on it."""
        tree, selected, looked_for = read_match(node)
        if not isinstance(tree, exp.Select) or tree.args.get("from_") is None or level >= MAX_LEVELS:
            raise refuse_match("it is not one SELECT from a table")
        # A list of units is of all rows of each that are kept, however many of them the question counts.
        inside, start = replace(self, max_rows=_keep_all, units=None), len(self.copies.items)
        rows, right = inside.list_keys(tree, selected, names, before, level)
        units = inside.units if rows.is_units else None
        named = rows.table.name if units is None else units.units.table
        relation = self.tables.relation(named)
        if units is not None and (units.units.keys or units.units.joins):
            raise refuse_match("it groups by more than the unit, or joins tables", _OF_UNITS)
        if rows.joins or relation is None:
            raise refuse_match("it is not of one table")
        own = rows.table.name if units is not None else rows.table.alias
        pairs, tests = part_tests(rows.tests, own)
        if right is not None and looked_for is not None:
            left = names.put_in(looked_for)
            if pairs or not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
                raise refuse_match("it compares one column with one column")
            pairs = [(left, right)]
        key = relation.key if isinstance(relation, Dimension) else relation.unit.column
        if len(pairs) != 1 or pairs[0][1].name != key or pairs[0][1].table != own:
            raise refuse_match(f"it must compare {key or 'a key of a public table'}, and that once")
        ((left, right),) = pairs
        if isinstance(relation, Schema):
            _require_own(tests, own)
            looked_up = UnitMatched(key=right, left=left, table=rows.table, units=units)
            looked_up.set("unread", self.copies.take_unread(start))
            if tests:
                looked_up.set("this", _conjoin(tests))
            return None, looked_up
        on = exp.EQ(this=left.copy(), expression=right.copy())
        matched = Matched(key=right, left=left if selected is not None else None)
        if tests:
            matched.set("this", _conjoin(tests))
        return exp.Join(this=rows.table, side="LEFT", on=on), matched

    def list_keys(
        self,
        tree: exp.Select,
        selected: exp.Expression | None,
        around: FromNames,
        before: Definitions,
        level: int,
    ) -> tuple[_Rows, exp.Expression | None]:
        """Read the query of IN or EXISTS: its rows, and what IN looks among."""
        if not tree.args.get("group") and not tree.args.get("having"):
            clauses = ("expressions", "from_", "joins", "where", "distinct")
            take(tree, *clauses, *(() if selected else ("limit",)))
            if tree.args.get("distinct") is not None:
                take(tree.args["distinct"])  # a list has no row twice
            names, rows = self._from(tree, before, level + 1, around)
            return rows, None if selected is None else names.put_in(strip_alias(selected))
        if selected is None:
            raise refuse_match("it groups rows", _OF_UNITS)
        try:
            one, rows = self._derived(tree, None, [], before, level)
        except ReadsAnswer:
            raise refuse_match("it groups rows by something else than the unit", _OF_UNITS) from None
        (meant,) = one.columns.values()
        if meant.column is None:
            raise refuse_match("it selects no unit", _OF_UNITS)
        meant.read = True
        return rows, exp.column(meant.column[1], table=meant.column[0], quoted=True)

    def _source(self, node: exp.Expression, before: Definitions, level: int) -> tuple[FromItem, _Rows]:
        """Read one item of FROM."""
        if isinstance(node, exp.Subquery):
            tree, alias = take(node, "this", "alias")
            return self._derived(tree, alias, [], before, level)
        if not isinstance(node, exp.Table):
            raise refuse_unknown(node, "FROM")
        name_node, alias = take(node, "this", "alias")
        if not isinstance(name_node, exp.Identifier):
            raise refuse_unknown(name_node, "FROM")
        defined = before.get(word(name_node).lower())
        if defined is not None:
            if defined.reads:
                self.copies.read_again(defined.tree)
            defined.reads += 1
            alias = alias or exp.TableAlias(this=name_node.copy())
            return self._derived(defined.tree, alias, defined.columns, defined.before, level)
        name = None if alias is None else word(take(alias, "this")[0])
        source, table = self.copies.declared(word(name_node), name, self.tables)
        return source, _Rows(table, [], [])

    def _derived(
        self,
        tree: exp.Expression,
        alias: exp.Expression | None,
        columns: list[exp.Expression],
        before: Definitions,
        level: int,
    ) -> tuple[FromItem, _Rows]:
        """Read a subquery: what its columns stand for, and what stands in its FROM and WHERE."""
        if isinstance(tree, exp.SetOperation):
            raise refuse(
                f"{type(tree).__name__.upper()} in a subquery", "it is not part of the language", _ANSWERS
            )
        if not isinstance(tree, exp.Select):
            raise refuse_unknown(tree, "FROM")
        if level >= MAX_LEVELS:
            why = f"subqueries are nested more than {MAX_LEVELS} deep"
            raise refuse("subquery", why, "Ask a simpler question")
        for key, (what, why) in _CLAUSES.items():
            if tree.args.get(key):
                raise refuse(f"{what} in a subquery", why, "Leave it out, or apply it to the answer")
        name, listed = (None, None) if alias is None else take(alias, "this", "columns")
        if listed and columns:
            columns = []
        own, start = self._definitions(tree, before), len(self.copies.items)
        names, rows = self._from(tree, own, level + 1)
        # Each argument is read here or above; any other is refused by its name.
        items, grouped, having, distinct, *_ = take(
            tree, "expressions", "group", "having", "distinct", "from_", "joins", "where", "with_"
        )
        self._require_read({key: one for key, one in own.items() if before.get(key) is not one})
        if grouped is not None or distinct:
            outputs, rows = self._units(items, grouped, having, distinct, names, rows, start)
        elif any(isinstance(node, exp.Window) for item in items for node in item.walk()):
            why, way_out = "it looks at other rows", "GROUP BY the privacy unit there, with MIN, MAX or COUNT"
            raise refuse("OVER in a subquery", why, way_out)
        elif having is not None or any(names_aggregate(node) for item in items for node in item.walk()):
            why = "only those of one unit are known there"
            way_out = f"GROUP BY the privacy unit there, or: {_ANSWERS}"
            raise ReadsAnswer(what="aggregates in a subquery", why=why, way_out=way_out)
        else:
            outputs = [pair for item in items for pair in names.columns(item)]
        source = FromItem.of(
            None if name is None else word(name), outputs, [word(one) for one in listed or columns]
        )
        return self.copies.keep(source), rows

    def _units(  # noqa: PLR0917
        self,
        items: list[exp.Expression],
        grouped: exp.Expression | None,
        having: exp.Expression | None,
        distinct: exp.Expression | None,
        names: FromNames,
        rows: _Rows,
        start: int,
    ) -> tuple[Listed, _Rows]:
        """Read a subquery with one row for each unit; `start` is where what it reads begins."""
        if rows.is_units:
            raise refuse("GROUP BY in a subquery", "it has one row a unit already", "Leave it out")
        if self.units is not None:
            raise refuse("JOIN of a subquery", "it has one row a unit", _JOIN_INSIDE)
        shown = [names.select(item) for item in items]
        aliases = {one.alias.lower(): one.this for one in shown if isinstance(one, exp.Alias)}
        if distinct is not None:
            take(distinct)
            if grouped is not None:
                raise refuse("DISTINCT in a subquery", "GROUP BY leaves no row twice", "Leave it out")
            keys = [exp.Literal.number(k + 1) for k in range(len(shown))]
        else:
            keys = take(names.clause(grouped, aliases), "expressions")[0] or []
        inner = rows.fill(exp.Select())
        if having is not None:
            having = take(names.clause(having, aliases), "this")[0]
        unread = self.copies.take_unread(start)  # of the rows, which nothing around them can name
        self.units = read_units(
            inner, shown, keys, having, unread, tables=self.tables, max_rows=self.max_rows, today=self.today
        )
        table = exp.Table(this=exp.to_identifier(UNITS, quoted=True))
        tests = [] if self.units.having is None else [self.units.having]
        return self.units.outputs, _Rows(table, [], tests, is_units=True)


def _require_own(tests: list[exp.Expression], own: str) -> None:
    """Refuse conditions of a list of units that name other tables; another list there is refused later."""
    lists = any(test.find(UnitMatched) for test in tests)
    if not lists and any(one.table != own for test in tests for one in test.find_all(exp.Column)):
        why = "it compares rows of a private table with those around it"
        raise refuse_match(why, "Compare with constants there, or JOIN the tables on the unit")


def _keep_all(table: Schema) -> None:
    """Ask for no fewer rows of a unit than are kept."""
    del table


def _conjoin(tests: list[exp.Expression]) -> exp.Expression:
    found, *rest = [exp.Paren(this=test) for test in tests]
    for test in rest:
        found = exp.And(this=found, expression=test)  # type: ignore[assignment]
    return found
