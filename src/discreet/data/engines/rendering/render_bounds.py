"""The bounds a rendered query holds every unit to, read back from its tree: the last look before an engine.

Sensitivities are computed from bounds. So whatever wrote the tree, a bound that was counted on and that the
tree does not apply is an error here, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.readings import PLACE
from discreet.data.engines.rendering.render_expressions import column
from discreet.data.engines.rendering.render_ranges import find_selected, is_inside, list_sources, read_range
from discreet.data.engines.rendering.render_units import require_one_row
from discreet.data.plan.derived import UNITS
from discreet.data.plan.facts import Facts, SetFacts
from discreet.data.plan.measures import Measure
from discreet.data.plan.row_nodes import Field, Span

UNIT, FIRST, BOUNDED, TOTALS, GROUPED, RANKED = (
    "discreet_unit",
    "discreet_first",
    "discreet_bounded",
    "discreet_totals",
    "discreet_grouped",
    "discreet_ranked",
)


def require_bounds(tree: exp.Select, known: Facts, one: SetFacts, measures: tuple[Measure, ...]) -> None:
    """Raise unless a query applies every bound that the sensitivities of its measures rest on."""
    before = {cte.alias: cte.this for cte in tree.ctes}
    users = before.get(TOTALS)
    rows = tree if users is None else users
    read = rows
    if known.plan.units is not None:
        read = require_one_row(rows, before.get(UNITS), known)
    if known.rows_in_group(one.keys) < known.rows_per_unit:
        grouped = rows.args.get("group")
        apart = [column(Field(UNITS, key.name)) for key in getattr(known.plan.units, "keys", ())]
        if grouped is None or any(key not in grouped.expressions for key in apart):
            raise InternalError("a group holds several rows of one user")
    for name, shown, most in known.read:
        if _rows_of_one_user(name, shown, read, before) != most:
            raise InternalError(f"the rows of one user in {name} are not held to {most}")
    if known.caps_groups(one) and (users is None or _most(tree) != known.groups_per_unit):
        raise InternalError(f"the groups of one user are not held to {known.groups_per_unit}")
    for place, measure in enumerate(measures):
        if not is_inside(_each_row(measure, rows, place, len(one.keys)), _require_span(measure)):
            raise InternalError(f"the {measure.kind} of one row is not held to {_require_span(measure)}")
        if measure.group is not None and (
            users is None or not is_inside(_bound_added(find_selected(tree, f"m{place}")), measure.group)
        ):
            raise InternalError(f"the {measure.kind} of one unit is not held to {measure.group} in a group")
        if measure.kind == "units" and users is None and known.rows_per_unit > 1:
            raise InternalError("units are counted by their rows")
        if measure.kind == "distinct":
            _require_different(tree, known, one, rows, measure)


def _require_different(
    tree: exp.Select, known: Facts, one: SetFacts, rows: exp.Select, measure: Measure
) -> None:
    """Raise unless different values are counted, and no more of one unit than its sensitivity says."""
    counted = find_selected(tree, "m0")
    listed = counted.this.expressions if isinstance(counted.this, exp.Distinct) else []
    if not isinstance(counted, exp.Count) or len(listed) != 1:
        raise InternalError("values are counted more than once")
    if measure.width >= known.rows_per_unit:
        return
    value = listed[0] if rows is tree else find_selected(rows, f"k{len(one.keys)}")
    tests = rows.args.get("where")
    listed = (
        []
        if tests is None
        else list(tests.this.flatten() if isinstance(tests.this, exp.And) else [tests.this])
    )
    few = any(
        isinstance(test, exp.In) and test.this == value and len(test.expressions) <= measure.width
        for test in listed
    )
    if not few and not is_inside(read_range(value), measure.row):
        raise InternalError(f"the different values of one unit are not held to {measure.width}")


def _require_span(measure: Measure) -> Span:
    """Return between what each row must lie: a histogram's value, or what is added up."""
    return measure.row if measure.kind == "histogram" else measure.each_row


def _each_row(measure: Measure, rows: exp.Select, place: int, keys: int) -> Span | None:
    if measure.kind == "histogram":
        return read_range(find_selected(rows, f"k{keys}"))
    return _bound_added(find_selected(rows, f"m{place}"))


def _rows_of_one_user(name: str, shown: str, rows: exp.Select, before: Mapping[str, exp.Query]) -> int | None:
    """Return how many rows of one user a query reads of a private table; None where nothing bounds them."""
    named = [one.name for one in list_sources(rows) if one.alias_or_name == shown]
    bounded = before.get(named[0]) if len(named) == 1 else None
    if not isinstance(bounded, exp.Select) or [one.name for one in list_sources(bounded)] != [name]:
        return None
    return _most(bounded)


def _most(query: exp.Query) -> int | None:
    """Return up to which place, in the order of one user's rows or groups, a query keeps them."""
    tests = query.args.get("where")
    found = [] if tests is None else [one for one in tests.find_all(exp.LTE) if one.this.name == PLACE]
    last = read_range(found[0].expression) if len(found) == 1 else None
    return None if last is None else last[1]


def _bound_added(total: exp.Expr) -> Span | None:
    """Return between what one row adds to a total; None where nothing bounds it."""
    if isinstance(total, exp.Coalesce | exp.Cast):
        return _bound_added(total.this)
    if isinstance(total, exp.Count):
        return 0, 1
    return read_range(total.this) if isinstance(total, exp.Sum) else None
