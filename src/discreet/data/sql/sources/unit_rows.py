"""Subqueries that group by the privacy unit: one row for each unit, with values of all its rows.

Each aggregate becomes a column of the relation of units, and everything around it stays an expression: so
`MAX(age) - MIN(age)` is arithmetic on two values of a unit, and HAVING is a condition on them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.canonical import conjunction, is_there
from discreet.data.plan.derived import UNITS, declare_units, list_rows, name_value
from discreet.data.plan.kinds import UnitKind
from discreet.data.plan.narrowing import narrow
from discreet.data.plan.nodes import Units
from discreet.data.plan.row_nodes import TRUE, Condition, Field, Polynomial, UnitValue
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.schema.columns import Decimal, Identifier, Integer, Text
from discreet.data.schema.schema import Schema, User
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.conditions import understand
from discreet.data.sql.rows.language import condition, counted, summand
from discreet.data.sql.selected.calls import number_or_day
from discreet.data.sql.selected.choices import chooses_no_number, read_choice
from discreet.data.sql.selected.combinations import combine, count_steps, list_columns
from discreet.data.sql.selected.counted import count_where, is_zero_or_one, keep
from discreet.data.sql.sources.joins import read_from
from discreet.data.sql.sources.names import Listed, Meaning, strip_alias
from discreet.data.sql.text import refuse

_COUNT_IF = ("COUNTIF", "COUNT_IF")
_KINDS: dict[str, UnitKind] = {"SUM": "sum", "AVG": "average", "MIN": "min", "MAX": "max"}
_TRUTHS: dict[str, UnitKind] = {
    **dict.fromkeys(("BOOL_OR", "LOGICAL_OR", "SOME"), "max"),
    **dict.fromkeys(("BOOL_AND", "LOGICAL_AND", "EVERY"), "min"),
}
"""Whether a condition holds in some row of a unit, or in all: the largest of 0 and 1, or the smallest."""
AGGREGATES = frozenset(
    """
    COUNT SUM AVG MIN MAX MEDIAN MODE ANY_VALUE COUNTIF COUNT_IF ARRAY_AGG STRING_AGG LISTAGG GROUP_CONCAT
    COLLECT_LIST COLLECT_SET VARIANCE VAR VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP CORR COVAR_POP
    COVAR_SAMP REGR_SLOPE REGR_INTERCEPT REGR_R2 QUANTILE QUANTILE_CONT QUANTILE_DISC PERCENTILE
    PERCENTILE_CONT PERCENTILE_DISC APPROX_QUANTILE APPROX_QUANTILES APPROX_COUNT_DISTINCT LOGICAL_AND
    LOGICAL_OR BOOL_AND BOOL_OR EVERY SOME FIRST LAST FIRST_VALUE LAST_VALUE MIN_BY MAX_BY ARG_MIN ARG_MAX
    """.split()
)
"""Calls that are about several rows, whether the language has them or not."""


@dataclass(frozen=True, slots=True)
class UnitRows:
    """A subquery with one row for each unit, translated.

    `tables` are the declared ones and the relation of units; `outputs` and `having` are over that relation.
    """

    units: Units
    tables: PlanTables
    outputs: Listed
    having: exp.Expression | None


class ReadsAnswer(Refused):
    """A subquery has aggregates over several units: it is a question of its own, whose answer is read."""


def names_aggregate(node: exp.Expression) -> bool:
    """Say whether a node is an aggregate of rows."""
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return True
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES


def read_units(
    rows: exp.Select,
    shown: Sequence[exp.Expression],
    keys: Sequence[exp.Expression],
    having: exp.Expression | None,
    unread: Sequence[exp.Expression],
    *,
    tables: PlanTables,
    max_rows: Callable[[Schema], int | None],
    today: datetime.date | None,
) -> UnitRows:
    """Translate a subquery with one row for each unit.

    Parameters
    ----------
    rows
        FROM, the joins and WHERE, over declared tables.
    shown, keys, having, unread
        What is selected, grouped by and tested, over the same, and what subqueries there select for nothing.
    tables, max_rows, today
        What is declared, how many rows of one unit of a table the request asks to count, and the day.
    """
    source, joined, filtered = take(rows, "from_", "joins", "where")
    scope, joins, where = read_from(source, joined or [], tables, today)
    unit, others = _require_unit(keys, shown, scope)
    if filtered is not None:
        where = conjunction([where, condition(take(filtered, "this")[0], scope)], scope.tables)
    # A value is computed of the rows that count, and of no others.
    scope = replace(scope, known=narrow(scope.known, where, scope.tables))
    for node in unread:
        understand(node, scope)
    kept = list_rows(scope.main.name, joins, max_rows(scope.main), tables)
    reader = _ValueReader(scope, unit, others, {})
    listed: Listed = []
    for item in shown:
        name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else None
        listed.append((name, Meaning.of(name or "", reader.swap(strip_alias(item)))))
    tested = None if having is None else reader.swap(having)
    values = tuple(sorted(reader.values, key=repr))
    units = Units(scope.main.name, joins, where, values, others)
    return UnitRows(units, tables.extend(declare_units(units, scope.tables, kept)), listed, tested)


def _require_unit(
    keys: Sequence[exp.Expression], shown: Sequence[exp.Expression], scope: Scope
) -> tuple[Field, tuple[Field, ...]]:
    """Return the privacy unit, by which the subquery must group, and the columns beside it."""
    main = scope.main
    if not isinstance(main.unit, User):
        why = f"a unit of {main.name} is one row"
        raise ReadsAnswer(what="GROUP BY in a subquery", why=why, way_out="Ask of the rows themselves")
    unit = Field(main.name, main.unit.column)
    fields = [_read_key(key, shown, scope) for key in keys]
    if unit in fields:
        others = {field for field in fields if field is not None and field != unit}
        if None in fields or any(
            one.table != main.name or not is_declared(scope.column(one)) for one in others
        ):
            why = f"beside the unit it groups by declared columns of {main.name}"
            way_out = (
                f"GROUP BY {unit.name} and such columns, with their table first in FROM; what all units have "
                f"on average of a computed key is SUM(x) / COUNT(DISTINCT {unit.name}) with GROUP BY that "
                "key, without a subquery"
            )
            raise refuse("GROUP BY in a subquery", why, way_out)
        return unit, tuple(sorted(others))
    why = "only the privacy unit is grouped by there"
    way_out = f"GROUP BY {unit.name}, or ask the inner query on its own and compute the rest from its answer"
    raise ReadsAnswer(what="GROUP BY in a subquery", why=why, way_out=way_out)


def _read_key(key: exp.Expression, shown: Sequence[exp.Expression], scope: Scope) -> Field | None:
    """Return the column that a key names, or whose place it says; None for anything else."""
    while isinstance(key, exp.Paren):
        (key,) = take(key, "this")
    if isinstance(key, exp.Literal):
        text, is_string = take(key, "this", "is_string")
        place = int(text) if not is_string and str(text).isdecimal() else 0
        if not 1 <= place <= len(shown):
            raise refuse(f"GROUP BY {text}", "nothing is selected at this place", "Name the key")
        return _read_key(strip_alias(shown[place - 1]), (), scope)
    return scope.field(key) if isinstance(key, exp.Column) else None


@dataclass(frozen=True, slots=True)
class _ValueReader:
    """Finds the aggregates of expressions, and puts columns of the relation of units in their place."""

    scope: Scope
    unit: Field
    keys: tuple[Field, ...]
    values: dict[UnitValue, str]

    def swap(self, node: exp.Expression) -> exp.Expression:
        """Return an expression over the relation of units."""
        return node.copy().transform(self._swap_one, copy=False)

    def _swap_one(self, node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column):
            field = self.scope.field(node)
            if field not in (self.unit, *self.keys):
                way_out = f"Aggregate it, for instance MAX({field.name}), or GROUP BY it too"
                raise refuse(field.name, "a unit may have several of it", way_out)
            return _column(field.name)
        if isinstance(node, exp.Window):
            raise refuse("OVER in a subquery", "it looks at the rows of others", f"GROUP BY {self.unit.name}")
        if not names_aggregate(node):
            return node
        return self._value(node)

    def _value(self, node: exp.Expression) -> exp.Expression:
        """Translate one aggregate of a unit's rows, or of those that meet a condition."""
        kept: Condition = TRUE
        if isinstance(node, exp.Filter):
            node, filtered = take(node, "this", "expression")
            kept = condition(take(filtered, "this")[0], self.scope)
        if not isinstance(node, exp.Anonymous):
            raise _refuse_kind(type(node).__name__.upper())
        name, arguments = take(node, "this", "expressions")
        name = str(name).upper()
        if name not in ("COUNT", *_COUNT_IF, *_KINDS, *_TRUTHS):
            raise _refuse_kind(name)
        if len(arguments or []) != 1 or isinstance(arguments[0], exp.Kwarg):
            raise refuse(f"{name} in a subquery", "it takes one number", f"Write {name}(x)")
        (what,) = arguments
        if name in _COUNT_IF:
            kept = conjunction([kept, condition(what, self.scope)], self.scope.tables)
            return self._keep(UnitValue("count", count_where(kept, self.scope)))
        if isinstance(what, exp.Distinct):
            if name != "COUNT":
                way_out = f"Write {name}(x), or COUNT(DISTINCT x)"
                raise refuse(f"{name}(DISTINCT ...)", "only COUNT takes DISTINCT", way_out)
            return self._distinct(take(what, "expressions")[0], kept)
        if name == "COUNT":
            return self._keep(UnitValue("count", self._counted(what, kept)))
        number = keep(self._number(name, what), kept, self.scope)
        if not number.fields:
            raise refuse(name, "it is computed of a constant", "Use a column")
        if name not in _TRUTHS:
            return self._keep(UnitValue(_KINDS[name], number))
        found = self._keep(UnitValue(_TRUTHS[name], number))
        return exp.Paren(this=exp.EQ(this=found, expression=exp.Literal.number(1)))

    def _keep(self, value: UnitValue) -> exp.Expression:
        """Return the column of the relation of units that holds a value."""
        return _column(self.values.setdefault(value, name_value(value, self.scope.main)))

    def _counted(self, what: exp.Expression, kept: Condition) -> Polynomial | None:
        """Return a number that is there in the rows that are counted; None where that is all of them."""
        tables = self.scope.tables
        if isinstance(what, exp.Star):
            take(what)
            return count_where(kept, self.scope)
        if chooses_no_number(what, self.scope):
            test, (what,) = read_choice(what, self.scope)
            kept = conjunction([kept, test], tables)
        field = self.scope.field(what) if isinstance(what, exp.Column) else None
        if field == self.unit:
            return count_where(kept, self.scope)
        if field is not None and not isinstance(self.scope.column(field), Integer | Decimal):
            if not isinstance(self.scope.column(field), Identifier | Text):
                _require_declared(field, self.scope, "COUNT")
            return count_where(conjunction([kept, is_there(field, tables)], tables), self.scope)
        present = counted(what, self.scope)
        if not isinstance(present, Polynomial):
            return count_where(conjunction([kept, present], tables), self.scope)
        number = keep(present, kept, self.scope)
        # What is never missing is counted in all rows.
        return number if tables.nullable(number) else None

    def _distinct(self, columns: list[exp.Expression], kept: Condition) -> exp.Expression:
        """Count the different values that a unit's rows have of declared columns, or computed from them."""
        columns = list_columns(columns)
        fields = [self.scope.field(one) for one in columns if isinstance(one, exp.Column)]
        if self.unit in fields:
            raise _refuse_kind("COUNT(DISTINCT ...)")
        for field in fields:
            _require_declared(field, self.scope, "COUNT(DISTINCT ...)")
        number = combine("COUNT(DISTINCT ...) in a subquery", columns, self.scope)
        kept_number = count_steps(keep(number, kept, self.scope), self.scope.tables)
        return self._keep(UnitValue("distinct", kept_number))

    def _number(self, name: str, what: exp.Expression) -> Polynomial:
        if name in ("MIN", "MAX"):
            return number_or_day(what, self.scope)
        number = summand(what, self.scope)
        if name in _TRUTHS and not is_zero_or_one(number, self.scope):
            raise refuse(name, "it takes a condition", f"Write {name}(x > 3)")
        return number


def _require_declared(field: Field, scope: Scope, what: str) -> None:
    if not is_declared(scope.column(field)):
        why = f"the values of {field.name} are not declared"
        raise refuse(f"{what} in a subquery", why, "Write COUNT(*), or name a declared column")


def _column(name: str) -> exp.Expression:
    return exp.column(name, table=UNITS, quoted=True)


def _refuse_kind(name: str) -> Refused:
    way_out = "Use COUNT, SUM, AVG, MIN, MAX or BOOL_OR there, of all rows or with FILTER (WHERE ...)"
    return refuse(f"{name} in a subquery", "it is not known of the rows of one unit", way_out)
