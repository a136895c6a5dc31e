"""A query around an answer: whatever it says is computed from the answer, and costs nothing.

The inner query is a question of its own; what it would show, the outer one computes with. A condition around
it chooses among its rows; an aggregate around it is a window over all of them, of which one row is shown. A
row that a condition leaves out is missing in the window, so intervals know that noise decides about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.after import compute, find_sort, is_noisy
from discreet.data.plan.derived import relate
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.keys import is_listed
from discreet.data.plan.kinds import WindowFunction
from discreet.data.plan.nodes import Aggregate, Computed, Constant, Ordering, Plan, Shown, Windowed
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import Scope, refuse_column, take, word
from discreet.data.sql.selected.calls import AGGREGATES
from discreet.data.sql.selected.computed import Names, condition, translate
from discreet.data.sql.selected.inner_keys import list_function
from discreet.data.sql.selected.outputs import (
    AnswerClauses,
    KeyFinder,
    find_ordinal,
    read_after,
    read_outputs,
)
from discreet.data.sql.selected.windows import is_public, looks_around
from discreet.data.sql.text import refuse

_BY = ("ARG_MAX", "ARG_MIN", "MAX_BY", "MIN_BY")
_FIRST = "Ask the inner query itself, with ORDER BY n DESC LIMIT 1 (or without DESC)"
_LATER = "Ask the inner query on its own, and compute the rest from its answer"
_TOTALS: dict[str, WindowFunction] = {
    "SUM": "sum",
    "AVG": "average",
    "MEAN": "average",
    "COUNT": "count",
    "COUNTIF": "count",
    "COUNT_IF": "count",
    "MIN": "min",
    "MAX": "max",
}
_ONE = Constant(Fraction(1))


@dataclass(frozen=True, slots=True)
class AnswerInside:
    """A query whose one source is another query: that one, what it is called here, and by what WITH."""

    tree: exp.Select
    name: str | None
    renamed: tuple[str, ...]
    defined: str | None


def find_inside(tree: exp.Select) -> AnswerInside | None:
    """Return the one query that a query reads, with the definitions of WITH that it may name itself."""
    source = tree.args.get("from_")
    if source is None or tree.args.get("joins"):
        return None
    one, before, defined = source.this, tree.args.get("with_"), None
    listed = [] if before is None else take(before, "expressions")[0]
    if isinstance(one, exp.Subquery):
        inner, alias = take(one, "this", "alias")
        read = listed
    elif isinstance(one, exp.Table) and (named := [d for d in listed if d.alias.lower() == one.name.lower()]):
        _, alias = take(one, "this", "alias")
        inner, own, _ = take(named[0], "this", "alias", "materialized")
        alias = own if alias is None else exp.TableAlias(this=alias.this, columns=own.args.get("columns"))
        read, defined = listed[: listed.index(named[0])], named[0].alias
        if len(read) + 1 < len(listed):
            raise refuse(f"WITH {listed[-1].alias}", "nothing reads it", "Leave it out")
    else:
        return None
    if not isinstance(inner, exp.Select):
        return None
    inner = inner.copy()
    if read:
        own_before = inner.args.get("with_")
        later = [] if own_before is None else take(own_before, "expressions")[0]
        inner.set("with_", exp.With(expressions=[*(d.copy() for d in read), *later]))
    name, columns = (None, None) if alias is None else take(alias, "this", "columns")
    renamed = tuple(map(word, columns or ()))
    return AnswerInside(inner, None if name is None else word(name), renamed, defined)


def ask_around(
    tree: exp.Select,
    inside: AnswerInside,
    inner: Plan,
    tables: PlanTables,
    beside: Callable[[KeyFinder], KeyFinder],
) -> Plan:
    """Return the inner question with what the query around it shows of its answer.

    What finds a column of the answer is made by `beside` to find other things that stand for a value.

    Raises
    ------
    Refused
        For what is more than a projection, a condition or an aggregate of the rows of the answer.
    """
    for key, said in (("ORDER BY", inner.after.order), ("LIMIT", inner.after.limit is not None)):
        if said or (key == "LIMIT" and inner.after.offset):
            why = "of an answer that another query reads, noise would choose the rows"
            raise refuse(f"{key} in a subquery", why, "Put it after the outermost query")
    if inner.branches:
        raise refuse("UNION ALL in a subquery", "it is not part of the language", _LATER)
    related = relate(inner, tables)
    reader = _Around(inner, inside, Scope(related, {}, {}), _name_columns(inner, inside), beside)
    made = reader.group(tree) if reader.is_grouped(tree) else reader.project(tree)
    shown: list[Shown | None] = [*(one.what for one in made.outputs), *(one.what for one in made.after.order)]
    shown += [made.after.having, made.after.qualify]
    declared = all(is_listed(key, related) for key in made.keys)
    if declared and not any(one is not None and is_noisy(one) for one in shown):
        why = "it reads no aggregate of the answer: which groups there are is public"
        raise refuse("SELECT", why, "Read one, for instance SUM(n) or WHERE n > 100")
    return made


def _name_columns(inner: Plan, inside: AnswerInside) -> dict[str, Shown]:
    names = inside.renamed or tuple(output.name for output in inner.outputs)
    if len(names) != len(inner.outputs):
        why = f"it has {len(inner.outputs)} columns, and {len(names)} names are given"
        raise refuse(f"AS {inside.name}(...)", why, "Give each column one name")
    return {name.lower(): output.what for name, output in zip(names, inner.outputs, strict=True)}


@dataclass(frozen=True, slots=True)
class _Around:
    """Reads a query around an answer.

    `tests` is what chooses among the rows that an aggregate is of; `keys` is what they are grouped by, and
    `written` how the outer query writes those that are computed of keys of the answer.
    """

    inner: Plan
    inside: AnswerInside
    scope: Scope
    columns: Mapping[str, Shown]
    beside: Callable[[KeyFinder], KeyFinder]
    tests: tuple[Shown, ...] = ()
    keys: tuple[Key | Computed, ...] | None = None
    written: tuple[tuple[exp.Expression, Shown], ...] = ()
    _within: bool = False

    def is_grouped(self, tree: exp.Select) -> bool:
        """Say whether a query has aggregates of its own."""
        if tree.args.get("group") is not None or tree.args.get("having") is not None:
            return True
        parts = [*(tree.args.get("expressions") or []), tree.args.get("order")]
        return any(
            _is_aggregate(node) and not isinstance(node.parent, exp.Window)
            for part in parts
            if part is not None
            for node in part.walk(prune=lambda node: isinstance(node, exp.Subquery))
        )

    def project(self, tree: exp.Select) -> Plan:
        """Read a query that shows rows of the answer."""
        listed, filtered, *clauses = take(
            tree, "expressions", "where", "order", "limit", "offset", "qualify", "from_", "with_"
        )[:6]
        order, limit, offset, qualify = clauses
        outputs = read_outputs(self._expand(listed, grouped=False), self.find, self.scope, taken=self.columns)
        after = read_after(
            AnswerClauses(None, order, limit, offset, qualify),
            outputs,
            self.find,
            self.scope,
            taken=self.columns,
        )
        tests = [] if filtered is None else [self._read_test(filtered, "WHERE")]
        before = self.inner.after
        windows = [output.what for output in self.inner.outputs if looks_around(output.what)]
        having: list[Shown | None] = [before.having, *tests]
        chosen: list[Shown | None] = [before.qualify, after.qualify]
        looked_up = any(node.find(exp.Subquery) for node in [*listed, *clauses, filtered] if node is not None)
        if looked_up and any(looks_around(one) for one in tests):
            raise refuse("a subquery in WHERE", "it looks at other rows of the answer", "Use QUALIFY")
        if looked_up and any(
            node.find(exp.Window) for node in [*listed, order, qualify] if node and filtered
        ):
            raise refuse("OVER beside a subquery", "WHERE comes before one and after the other", _LATER)
        if looked_up:
            # What is said of the whole answer is said of all its rows; a condition around it comes after.
            having, chosen = [before.having], [*chosen[:1], *tests, *chosen[1:]]
        if windows or before.qualify is not None:
            # Windows of the answer look at all of its rows; what is around them comes after.
            having, chosen = [before.having], [before.qualify, *tests, after.qualify]
            own = [output.what for output in outputs if looks_around(output.what)]
            if qualify is not None or any(_adds_window(one, windows) for one in own):
                raise refuse("OVER around OVER", "it is not part of the language", _LATER)
        made = replace(after, having=self._all(having), qualify=self._all(chosen))
        return replace(self.inner, outputs=outputs, after=made)

    def group(self, tree: exp.Select) -> Plan:
        """Read a query with aggregates of the rows of the answer."""
        listed, filtered, grouped, having, order, limit, offset, *_ = take(
            tree, "expressions", "where", "group", "having", "order", "limit", "offset", "from_", "with_"
        )
        before = self.inner.after
        if before.qualify is not None:
            raise refuse("QUALIFY in a subquery", "aggregates around it are not part of the language", _LATER)
        tests: list[Shown] = [] if before.having is None else [before.having]
        tests += [] if filtered is None else [self._read_test(filtered, "WHERE")]
        nodes = [] if grouped is None else take(grouped, "expressions")[0]
        pairs = [self._read_key(node, listed) for node in nodes]
        keys = tuple(dict.fromkeys(key for _, key in pairs))
        written = tuple(pair for pair in pairs if isinstance(pair[1], Computed))
        reader = replace(self, tests=tuple(tests), keys=keys, written=written)
        outputs = read_outputs(
            self._expand(listed, grouped=True), reader.find, self.scope, taken=self.columns
        )
        after = read_after(
            AnswerClauses(None, order, limit, offset, None),
            outputs,
            reader.find,
            self.scope,
            taken=self.columns,
        )
        chosen: list[Shown | None] = []
        if having is not None:
            aliases = {one.name.lower(): one.what for one in outputs if one.name.lower() not in self.columns}
            chosen.append(
                condition(take(having, "this")[0], Names(self.scope, reader.find, aliases), "HAVING")
            )
        if keys and tests:
            there = Windowed("count", reader.keep(_ONE), keys, ())
            chosen.append(compute("<", [Constant(Fraction(0)), there], self.scope.tables))
        rest = [key for key in self.inner.keys if key not in keys]
        if rest:
            # All rows of a group show the same: the first one is shown.
            place = Windowed("row_number", None, keys, tuple(Ordering(key, False, False) for key in rest))
            chosen.append(compute("=", [place, _ONE], self.scope.tables))
        return replace(self.inner, outputs=outputs, after=replace(after, qualify=self._all(chosen)))

    def find(self, node: exp.Expression) -> Shown | None:
        """Return what a node stands for; None where that is nothing by itself."""
        return self.beside(self._find)(node)

    def _find(self, node: exp.Expression) -> Shown | None:
        """Return the column of the answer that a node is, or an aggregate of it; None where it is neither."""
        for tree, key in self.written:
            if node == tree:
                return key
        if isinstance(node, exp.Subquery) and not self._within:
            return self._look_up(node)
        if isinstance(node, exp.Column):
            return self._find_column(node)
        if isinstance(node, exp.Window):
            return self._refuse_window() if self.keys is not None else None
        if not _is_aggregate(node):
            return None
        if self.keys is None or self._within:
            raise refuse("an aggregate of an aggregate", "it is not part of the language here", _LATER)
        return self._read_aggregate(node)

    def _look_up(self, node: exp.Expression) -> Shown:
        """Read (SELECT SUM(n) FROM t), where WITH calls the answer itself t: a number of all its rows."""
        inner, alias = take(node, "this", "alias")
        source = inner.args.get("from_") if isinstance(inner, exp.Select) else None
        one = source.this if source is not None else None
        # The name of a subquery in FROM means nothing in another one: there it is a table of the owner.
        defined = (self.inside.defined or "").lower()
        listed, filtered = [], None
        if isinstance(one, exp.Table) and one.name.lower() == defined:
            take(one, "this", "alias")
            listed, filtered = take(inner, "expressions", "where", "from_")[:2]
        if alias is not None or len(listed) != 1:
            raise refuse("a subquery around an answer", "it is one number of the same answer", _LATER)
        before = self.inner.after.having if self.keys is not None else None  # else it stays where it is
        tests: list[Shown] = [] if before is None else [before]
        tests += [] if filtered is None else [self._read_test(filtered, "WHERE")]
        reader = replace(self, keys=(), tests=tuple(tests), written=())
        return translate(listed[0], Names(self.scope, reader.find, {}))

    def _find_column(self, node: exp.Expression) -> Shown:
        name, table = take(node, "this", "table")
        if isinstance(name, exp.Star):
            raise refuse("SELECT *", "it lists rows, and aggregates stand beside it", "Name the columns")
        if table is not None and (
            self.inside.name is None or word(table).lower() != self.inside.name.lower()
        ):
            raise refuse(word(table), "no table of FROM has this name", "Use the name of the subquery")
        what = self.columns.get(word(name).lower())
        if what is None:
            raise refuse_column(word(name), self.columns)
        if self.keys is not None and not self._within and what not in self.keys:
            why = "it is neither a key of the outer GROUP BY nor an aggregate"
            raise refuse(word(name), why, f"GROUP BY it, or write MAX({word(name)})")
        return what

    def _read_aggregate(self, node: exp.Expression) -> Windowed:
        """Read an aggregate of the rows of the answer that a condition leaves."""
        tests: list[Shown] = []
        inside = replace(self, _within=True)
        names = Names(self.scope, inside.find, {})
        if isinstance(node, exp.Filter):
            node, filtered = take(node, "this", "expression")
            tests.append(condition(take(filtered, "this")[0], names, "FILTER"))
        name, arguments = take(node, "this", "expressions") if isinstance(node, exp.Anonymous) else ("", [])
        name = str(name).upper()
        if name not in _TOTALS or len(arguments or []) != 1:
            why = f"of an answer {', '.join(_TOTALS)} of one value are known"
            named = name or type(node).__name__.upper()
            raise refuse(f"{named} of an answer", why, _FIRST if name in _BY else _LATER)
        (argument,) = arguments
        what: Shown
        if name in ("COUNTIF", "COUNT_IF"):
            tests.append(condition(argument, names, name))
            what = _ONE
        elif name == "COUNT" and isinstance(argument, exp.Star):
            take(argument)
            what = _ONE
        else:
            what = translate(argument, names)
        kept = self.keep(what, tests)
        if looks_around(kept):
            raise refuse(f"{name} of OVER", "it is not part of the language", _LATER)
        made = Windowed(_TOTALS[name], kept, self.keys or (), ())
        if find_sort(made, self.scope.tables) not in ("number", "date", "anything"):
            raise refuse(f"{name} of an answer", "it is computed of numbers and dates", _LATER)
        return made

    def keep(self, what: Shown, tests: Sequence[Shown] = ()) -> Key | Aggregate | Constant | Computed:
        """Return something, missing in the rows that conditions leave out."""
        chosen = self._all([*self.tests, *tests])
        if chosen is not None:
            return compute("case", [chosen, what, Constant(None)], self.scope.tables)
        if isinstance(what, Windowed):
            raise refuse("an aggregate of OVER", "it is not part of the language", _LATER)
        return what

    def _read_test(self, clause: exp.Expression, name: str) -> Shown:
        names = Names(self.scope, replace(self, _within=True).find, {})
        return condition(take(clause, "this")[0], names, name)

    def _read_key(
        self, node: exp.Expression, listed: list[exp.Expression]
    ) -> tuple[exp.Expression, Key | Computed]:
        """Return a key as it is written, and what it is: one of the answer, or a function of one."""
        if isinstance(node, exp.Literal):
            item = listed[find_ordinal(node, listed)]
            node = item.this if isinstance(item, exp.Alias) else item
        elif isinstance(node, exp.Column) and node.name.lower() not in self.columns:
            aliases = {one.alias.lower(): one.this for one in listed if isinstance(one, exp.Alias)}
            node = aliases.get(node.name.lower(), node)
        while isinstance(node, exp.Paren):
            (node,) = take(node, "this")
        if isinstance(node, exp.Column):
            found: Shown | None = replace(self, keys=(), _within=True).find(node)
        else:
            for one in node.find_all(exp.Column):
                if one.args.get("table") is not None:  # which is that of the answer
                    replace(self, keys=(), _within=True).find(one)
            found = list_function(node, self.columns, self.inner, self.scope.tables)
        if not is_public(found):
            why = "it names keys of the inner GROUP BY, or what is computed of one of them"
            raise refuse("GROUP BY around an answer", why, _LATER)
        return node, found

    def _expand(self, listed: list[exp.Expression], *, grouped: bool) -> list[exp.Expression]:
        """Put the columns of the answer in the place of *; each is shown under its own name."""
        found: list[exp.Expression] = []
        for item in listed:
            if isinstance(item, exp.Star) and not grouped:
                take(item)
                found += [_name(exp.column(name, quoted=True), name) for name in self.columns]
            else:
                found.append(_name(item, item.name) if isinstance(item, exp.Column) else item)
        return found

    def _all(self, tests: Sequence[Shown | None]) -> Computed | None:
        """Return the condition that all of some hold; None where there are none."""
        there = [test for test in tests if test is not None]
        if not there:
            return None
        if len(there) > 1:
            return compute("and", there, self.scope.tables)
        one = there[0]  # a key that is true or false is compared, as in HAVING
        return one if isinstance(one, Computed) else compute("=", [one, Constant(True)], self.scope.tables)

    def _refuse_window(self) -> Shown:
        raise refuse("OVER around an answer", "it stands beside aggregates of it", _LATER)


def _name(tree: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def _adds_window(what: Shown, windows: list[Shown]) -> bool:
    """Say whether something looks at other rows by itself, not through a column of the answer."""
    if what in windows:
        return False
    if isinstance(what, Computed):
        return any(_adds_window(part, windows) for part in what.parts)
    return isinstance(what, Windowed)


def _is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return True
    return (
        isinstance(node, exp.Anonymous)
        and str(node.args.get("this")).upper() in AGGREGATES
        and not isinstance(node.parent, exp.Window | exp.Filter | exp.WithinGroup)
    )
