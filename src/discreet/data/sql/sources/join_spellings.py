"""Joins as older SQL writes them, turned into those that the language has: on the syntax tree, before names.

`FROM a, b WHERE a.key = b.key` is a join on that key. `a LEFT JOIN b ON ... WHERE b.key IS NULL` asks for the
rows of a without a partner, which is NOT EXISTS; Spark writes that LEFT ANTI JOIN, and EXISTS LEFT SEMI JOIN.
What ON of an inner join says beside its key is a condition on the rows, as in WHERE. A join with a subquery
that has one row for each key, and that is read by conditions of its own alone, is EXISTS. A subquery of one
row of totals that is joined to all rows is read by (SELECT ...) wherever one of its columns stands.
Nothing else is looked at: what does not fit is left as it is, and refused or understood where joins are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeGuard

from sqlglot import exp

from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Dimension
from discreet.data.sql.sources.unit_rows import names_aggregate

_OF_ONE = ("ANY_VALUE", "AVG", "FIRST", "MAX", "MIN")
"""Aggregates that are the value itself where all rows have the same."""


def unify_joins(tree: exp.Select | exp.SetOperation, tables: PlanTables) -> None:
    """Rewrite the joins of all SELECTs of a tree."""
    defined = _list_definitions(tree)
    for select in list(tree.find_all(exp.Select)):
        where, source = select.args.get("where"), select.args.get("from_")
        if source is None or not select.args.get("joins"):
            continue
        reads, tests = _Reads.of(select), [] if where is None else _part(where.this)
        before = [source.this.alias_or_name.lower()]
        kept = []
        for join in select.args["joins"]:
            name = join.this.alias_or_name.lower()
            _name_key(join, name, before, tests)
            _part_key(join, name, before, tests, tables)
            asked = _ask_for_partner(join, name, before, tables)
            asked = asked or _ask_for_none(join, name, before, tests, reads, tables)
            asked = asked or _ask_for_one(join, name, before, tests, reads, defined)
            if asked is None and _read_totals(join, name, tests, select, defined):
                continue
            if asked is None:
                kept.append(join)
                before.append(name)
            else:
                tests.append(asked)
        select.set("joins", kept or None)
        select.set("where", exp.Where(this=_conjoin(tests)) if tests else None)


@dataclass(slots=True)
class _Reads:
    """What a SELECT names, outside of WITH and of what it reads FROM, before its joins are rewritten.

    Listed once: a question may have as many joins as words.
    """

    named: dict[str, list[exp.Column]]
    bare: set[str]
    stars: bool
    tests: dict[int, tuple[exp.Expression, set[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, select: exp.Select) -> _Reads:
        """List the columns of a SELECT by the names before them."""
        clauses = ("where", "group", "having", "qualify", "order")
        parts = [*select.expressions, *map(select.args.get, clauses)]
        parts += [join.args.get("on") for join in select.args.get("joins") or []]
        named: dict[str, list[exp.Column]] = {}
        for part in parts:
            for one in [] if part is None else part.find_all(exp.Column):
                named.setdefault(one.table.lower(), []).append(one)
        stars = any(isinstance(one, exp.Star) or isinstance(one.this, exp.Star) for one in select.expressions)
        return cls(named, {one.name.lower() for one in named.get("", [])}, stars)

    def list_tables(self, test: exp.Expression) -> set[str]:
        """Return the names before the columns of a condition."""
        if id(test) not in self.tests:
            self.tests[id(test)] = test, {one.table.lower() for one in test.find_all(exp.Column)}
        return self.tests[id(test)][1]

    def go_beyond(self, name: str, known: list[exp.Expression]) -> bool:
        """Say whether something of a table is read beside what is known, or all columns are."""
        inside = {id(node) for part in known for node in part.walk()}
        return self.stars or any(id(one) not in inside for one in self.named.get(name, []))


def _part(test: exp.Expression) -> list[exp.Expression]:
    """Return the conditions that are joined by AND."""
    rest, found = [test], []
    while rest:
        one = rest.pop()
        if isinstance(one, exp.And):
            rest += [one.expression, one.this]
        elif isinstance(one, exp.Paren):
            rest.append(one.this)  # a tree needs no brackets
        else:
            found.append(one)
    return found


def _conjoin(tests: list[exp.Expression]) -> exp.Expression:
    found, *rest = tests
    for test in rest:
        found = exp.And(this=found, expression=test)
    return found


def _name_key(join: exp.Join, name: str, before: list[str], tests: list[exp.Expression]) -> None:
    """Give a join without a condition the equality of WHERE that compares its table with one before it."""
    if any(value for key, value in join.args.items() if key not in ("this", "kind")):
        return
    if (join.args.get("kind") or "CROSS") != "CROSS":
        return
    for test in tests:
        if isinstance(test, exp.EQ) and _is_pair(test, name, before):
            tests.remove(test)
            join.set("kind", None)
            join.set("on", test)
            return


def _part_key(
    join: exp.Join, name: str, before: list[str], tests: list[exp.Expression], tables: PlanTables
) -> None:
    """Leave an inner join the equality that is its key, and say the rest of ON in WHERE."""
    on, kind = join.args.get("on"), join.args.get("kind")
    if not isinstance(on, exp.And | exp.Paren) or kind not in (None, "", "INNER"):
        return
    if any(value for key, value in join.args.items() if key not in ("this", "kind", "on")):
        return
    parts = _part(on)
    pairs = [test for test in parts if isinstance(test, exp.EQ) and _is_pair(test, name, before)]
    if not pairs:
        return
    public = (one for schema in tables.schemas for one in schema.dimensions)
    keys = {str(one.unit.column).lower() for one in tables.schemas} | {one.key.lower() for one in public}
    # Two tables of one unit may have more in common than it.
    own = next(
        (one for one in pairs if {one.this.name.lower(), one.expression.name.lower()} <= keys), pairs[0]
    )
    join.set("on", own)
    tests += [test for test in parts if test is not own]


def _is_pair(test: exp.EQ, name: str, before: list[str]) -> bool:
    ends = (test.this, test.expression)
    if not all(isinstance(end, exp.Column) for end in ends):
        return False
    left, right = (end.table.lower() for end in ends)
    return (left == name and right in before) or (right == name and left in before)


def _ask_for_partner(
    join: exp.Join, name: str, before: list[str], tables: PlanTables
) -> exp.Expression | None:
    """Return the condition that a semi or anti join with a private table asks for; None for other joins."""
    kind = join.args.get("kind")
    if kind not in ("SEMI", "ANTI") or join.args.get("side") not in (None, "", "LEFT"):
        return None
    if isinstance(join.this, exp.Table) and isinstance(tables.relation(join.this.name), Dimension):
        return None
    if not isinstance(join.this, exp.Table | exp.Subquery) or not name:
        return None
    on = _read_on(join, name, before)
    if on is None:
        return None
    found = _exists(join, on)
    return exp.Not(this=found) if kind == "ANTI" else found


def _read_on(join: exp.Join, name: str, before: list[str]) -> exp.Expression | None:
    """Return what rows of a table must fulfil to be partners; None where it is not one condition."""
    on, using = join.args.get("on"), join.args.get("using") or []
    if any(value for key, value in join.args.items() if key not in ("this", "side", "kind", "on", "using")):
        return None  # ASOF, say: it is refused where joins are read
    if on is None and len(using) == 1 and len(before) == 1:
        ends = [exp.Column(this=using[0].copy(), table=exp.to_identifier(one)) for one in (before[0], name)]
        on = exp.EQ(this=ends[0], expression=ends[1])
    return on


def _exists(join: exp.Join, on: exp.Expression) -> exp.Exists:
    inner = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=join.this.copy()),
        where=exp.Where(this=on.copy()),
    )
    return exp.Exists(this=inner)


def _ask_for_none(  # noqa: PLR0917
    join: exp.Join,
    name: str,
    before: list[str],
    tests: list[exp.Expression],
    reads: _Reads,
    tables: PlanTables,
) -> exp.Expression | None:
    """Return the condition that a left join with a private table asks for; None where it asks for more."""
    if join.args.get("side") != "LEFT" or join.args.get("kind") not in (None, "", "OUTER"):
        return None
    if not isinstance(join.this, exp.Table | exp.Subquery) or not name:
        return None
    if isinstance(join.this, exp.Table) and isinstance(tables.relation(join.this.name), Dimension):
        return None
    on = _read_on(join, name, before)
    if on is None:
        return None
    equal = [end for test in _part(on) if isinstance(test, exp.EQ) for end in (test.this, test.expression)]
    keys = {end.name.lower() for end in equal if isinstance(end, exp.Column) and end.table.lower() == name}
    gone = next((test for test in tests if _is_missing(test, name, keys)), None)
    if gone is None:
        return None
    if reads.go_beyond(name, [join, gone]):
        return None
    tests.remove(gone)
    return exp.Not(this=_exists(join, on))


def _list_definitions(tree: exp.Expression) -> dict[str, exp.Expression]:
    """Return what WITH defines, by names that are given once."""
    found: dict[str, list[exp.Expression]] = {}
    for one in tree.find_all(exp.CTE):
        found.setdefault(one.alias.lower(), []).append(one.this)
    return {name: listed[0] for name, listed in found.items() if len(listed) == 1}


def _ask_for_one(  # noqa: PLR0917
    join: exp.Join,
    name: str,
    before: list[str],
    tests: list[exp.Expression],
    reads: _Reads,
    defined: dict[str, exp.Expression],
) -> exp.Expression | None:
    """Return the condition that an inner join asks for: one row for each key, and nothing of it is shown."""
    if join.args.get("side") or join.args.get("kind") not in (None, "", "INNER") or not name:
        return None
    inner = join.this.this if isinstance(join.this, exp.Subquery) else defined.get(join.this.name.lower())
    on = _read_on(join, name, before)
    while isinstance(on, exp.Paren):
        on = on.this
    if not isinstance(inner, exp.Select) or not isinstance(on, exp.EQ) or not _is_pair(on, name, before):
        return None
    own = next(end.name.lower() for end in (on.this, on.expression) if end.table.lower() == name)
    shown = {item.alias_or_name.lower() for item in inner.expressions} - {own}
    if shown & reads.bare or own not in _list_only_key(inner):
        return None
    about = [test for test in tests if reads.list_tables(test) == {name}]
    if reads.go_beyond(name, [join, *about]):
        return None
    gone = set(map(id, about))
    tests[:] = [test for test in tests if id(test) not in gone]
    return _exists(join, _conjoin([on, *about]))


def _read_totals(
    join: exp.Join,
    name: str,
    tests: list[exp.Expression],
    select: exp.Select,
    defined: dict[str, exp.Expression],
) -> bool:
    """Read the columns of one row of totals, which is joined to all rows, by subqueries of their own."""
    if any(value for key, value in join.args.items() if key not in ("this", "kind")):
        return False
    inner = join.this.this if isinstance(join.this, exp.Subquery) else defined.get(join.this.name.lower())
    if (join.args.get("kind") or "CROSS") != "CROSS" or not name or not _is_one_row(inner):
        return False
    shown = {item.alias_or_name.lower() for item in inner.expressions}
    group = select.args.get("group")
    if group is not None:
        # All rows have the same of it, so that it parts no group.
        keys = [key for key in group.expressions if not _is_of(key, name, shown)]
        group.set("expressions", keys)
        select.set("group", group if any(group.args.values()) else None)
    clauses = [select.args.get(key) for key in ("having", "qualify", "order")]
    parts = [*select.expressions, *tests, *(clause for clause in clauses if clause is not None)]
    for node in [one for part in parts for one in part.find_all(exp.Column)]:
        if not _is_of(node, name, shown):
            continue
        value = exp.Select(expressions=[exp.Column(this=node.this.copy())])
        value.set("from_", exp.From(this=join.this.copy()))
        call = node.parent
        is_plain = isinstance(call, exp.Anonymous) and str(call.this).upper() in _OF_ONE
        (call if is_plain and len(call.expressions) == 1 else node).replace(exp.Subquery(this=value))
    return True


def _is_of(node: exp.Expression, name: str, shown: set[str]) -> bool:
    """Say whether a node is a column of a subquery, with its name or without."""
    if not isinstance(node, exp.Column):
        return False
    return node.table.lower() == name or (not node.table and node.name.lower() in shown)


def _is_one_row(inner: exp.Expression | None) -> TypeGuard[exp.Select]:
    """Say whether a subquery is nothing but aggregates of all of its rows, each under a name."""
    clauses = ("group", "having", "qualify")
    if not isinstance(inner, exp.Select) or any(inner.args.get(key) for key in clauses):
        return False
    return all(
        item.alias_or_name and any(map(names_aggregate, item.find_all(exp.Expression)))
        for item in inner.expressions
    )


def _list_only_key(inner: exp.Select) -> set[str]:
    """Return the names of the one column that tells the rows of a subquery apart, if there is one."""
    group, listed = inner.args.get("group"), inner.expressions
    if group is None:
        keys = listed if inner.args.get("distinct") is not None and len(listed) == 1 else []
    else:
        keys = group.expressions
    if len(keys) != 1:
        return set()
    (key,) = keys
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdecimal():
        key = listed[int(key.this) - 1] if 1 <= int(key.this) <= len(listed) else key
    key = key.this if isinstance(key, exp.Alias) else key
    if not isinstance(key, exp.Column):
        return set()
    shown = [item for item in listed if item.unalias() == key or item.alias_or_name == key.name]
    return {item.alias_or_name.lower() for item in shown}


def _is_missing(test: exp.Expression, name: str, keys: set[str]) -> bool:
    """Say whether a condition is that a key of the joined table, which no partner lacks, is missing."""
    if not isinstance(test, exp.Is) or not isinstance(test.expression, exp.Null):
        return False
    one = test.this
    return isinstance(one, exp.Column) and one.table.lower() == name and one.name.lower() in keys
