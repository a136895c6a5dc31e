"""Calls and clauses as dialects write them, turned into those that the language has: on the syntax tree.

What does not fit is left as it is, and refused or understood where it is read.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from discreet.data.sql.sources.unit_rows import names_aggregate
from discreet.data.sql.text import number

_SAME = {
    f"{kind}_{what}": f"DATE_{what}"
    for kind in ("DATETIME", "TIMESTAMP")
    for what in ("ADD", "DIFF", "SUB", "TRUNC")
} | dict.fromkeys(("FORMAT_DATETIME", "FORMAT_TIMESTAMP"), "FORMAT_DATE")
"""BigQuery's functions of moments: of days they are those of dates."""
_WEEKS = {"MONDAY": "ISOWEEK", "SUNDAY": "WEEK"}
MAX_COPIES = 4_096
"""Parts of expressions that buckets may copy in one question."""
_SIZES = ("CARDINALITY", "SIZE")
_BUCKETS = ("RANGE_BUCKET", "WIDTH_BUCKET")
_READ_DATES = {"TO_DATE": (0, 1), "PARSE_DATE": (1, 0), "STR_TO_DATE": (0, 1), "STRPTIME": (0, 1)}
"""Where the text of a date stands, and where its format."""
_MADE_DATES = ("DATE", "MAKE_DATE")
_FORMATS = {
    **dict.fromkeys(("%F", "%Y-%m-%d", "YYYY-MM-DD", "yyyy-MM-dd"), "%Y-%m-%d"),
    **dict.fromkeys(("%Y%m%d", "YYYYMMDD", "yyyyMMdd"), "%Y%m%d"),
}
_LISTS: dict[str, type[exp.Expression]] = {"ANY": exp.EQ, "SOME": exp.EQ, "ALL": exp.NEQ}


def unify_calls(tree: exp.Expression) -> None:
    """Rewrite the calls and clauses of a tree that have another spelling of ours."""
    left = MAX_COPIES
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # what is inside first, since buckets copy it
        name = str(call.args.get("this")).upper()
        listed = call.args.get("expressions") or []
        if name in _SAME:
            call.set("this", _SAME[name])
        elif name in ("COUNT", "GROUPING", "GROUPING_ID"):
            _write_count(call, name, listed)
        elif name in _SIZES and len(listed) == 1:
            _count_listed(call, listed[0])
        elif name == "WEEK" and len(listed) == 1 and _begins(listed[0]) and _takes_part(call.parent):
            call.replace(exp.Column(this=exp.to_identifier(_WEEKS[listed[0].name.upper()])))
        elif name in _READ_DATES or name in _MADE_DATES:
            _write_date(call, name, listed)
        elif name in _LISTS and isinstance(call.parent, _LISTS[name]) and len(listed) == 1:
            _list_values(call.parent, call, listed[0])
        elif name in _BUCKETS and left >= 0 and len(listed) == 2 and isinstance(listed[1], exp.Array):
            left -= sum(1 for _ in listed[0].walk()) * (1 + len(listed[1].expressions))
            if left >= 0:
                _write_buckets(call, listed[0], listed[1].expressions)
    _unify_clauses(tree)


def _unify_clauses(tree: exp.Expression) -> None:
    for bracket in list(tree.find_all(exp.Bracket)):
        _write_part(bracket)
    for one in tree.find_all(exp.In):
        unnested = one.args.get("unnest")
        if not isinstance(unnested, exp.Unnest) or unnested.args.get("offset"):
            continue
        listed = unnested.expressions
        if len(listed) == 1 and isinstance(listed[0], exp.Array):
            one.set("unnest", None)
            one.set("expressions", listed[0].expressions)
    for group in tree.find_all(exp.Group):
        select = group.parent
        if select is not tree and isinstance(select, exp.Select):
            _name_keys(group, select.expressions)
        if isinstance(select, exp.Select):
            _name_grouping(group, select)
        sets = group.args.get("grouping_sets") or []
        if len(sets) == 1 and group.args.get("expressions"):
            # Spark lists the keys before the sets that they make.
            group.set("expressions", sets)
            group.set("grouping_sets", None)


def _write_count(call: exp.Anonymous, name: str, listed: list[exp.Expression]) -> None:
    """Write DuckDB's COUNT(), and the GROUPING of several keys."""
    if name == "COUNT" and not listed:
        call.set("expressions", [exp.Star()])
    elif name != "COUNT" and len(listed) > 1:
        call.replace(_write_grouping(listed))


def _count_listed(call: exp.Anonymous, listed: exp.Expression) -> None:
    """Write the size of Spark's list of different values, which holds none that is missing, as a count."""
    if not isinstance(listed, exp.Anonymous) or str(listed.this).upper() != "COLLECT_SET":
        return
    if len(listed.expressions) == 1:
        what = exp.Distinct(expressions=[listed.expressions[0].copy()])
        call.replace(exp.Anonymous(this="COUNT", expressions=[what]))


def _write_grouping(keys: list[exp.Expression]) -> exp.Expression:
    """Write which of several keys a row is a total over as a number: one binary digit for each."""
    digits = [
        exp.Mul(
            this=exp.Anonymous(this="GROUPING", expressions=[key.copy()]),
            expression=exp.Literal.number(2**place),
        )
        for place, key in enumerate(reversed(keys))
    ]
    found: exp.Expression = digits.pop()
    while digits:
        found = exp.Add(this=found, expression=digits.pop())
    return exp.Paren(this=found)


def _name_grouping(group: exp.Group, select: exp.Select) -> None:
    """Give GROUPING_ID() of a SELECT the keys of its GROUP BY, as Spark means it."""
    calls = [one for part in select.expressions for one in part.find_all(exp.Anonymous)]
    keys = [key for one in group.expressions for key in (one.expressions or [one])]
    for call in calls:
        if str(call.this).upper() != "GROUPING_ID" or call.expressions:
            continue
        if keys and all(isinstance(key, exp.Column) for key in keys):
            call.replace(_write_grouping(keys))


def _write_part(node: exp.Bracket) -> None:
    """Write DuckDB's x[1:3], the characters of a text from one place to another, as SUBSTR."""
    places = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(places, exp.Slice) or places.args.get("step") is not None:
        return
    ends = places.this, places.expression
    said = [int(end.this) for end in ends if isinstance(end, exp.Literal) and str(end.this).isdecimal()]
    if len(said) != 2 or not 1 <= said[0] <= said[1]:
        return
    numbers = [exp.Literal.number(said[0]), exp.Literal.number(said[1] - said[0] + 1)]
    node.replace(exp.Anonymous(this="SUBSTR", expressions=[node.this.copy(), *numbers]))


def _name_keys(group: exp.Group, listed: list[exp.Expression]) -> None:
    """Write GROUP BY ALL of a subquery as the places of what is selected there and holds no aggregate."""
    if group.args.get("all") is not True or group.expressions:
        return
    places = [
        place
        for place, item in enumerate(listed)
        if not any(map(names_aggregate, item.find_all(exp.Expression)))
    ]
    group.set("all", None)
    group.set("expressions", [exp.Literal.number(place + 1) for place in places])


def _write_date(call: exp.Anonymous, name: str, listed: list[exp.Expression]) -> None:
    """Write a date that is made of its parts, or read in a format, as one in quotes."""
    said = [str(one.this) for one in listed if isinstance(one, exp.Literal)]
    if len(said) != len(listed) or len(said) != (3 if name in _MADE_DATES else 2):
        return
    try:
        if name in _MADE_DATES:
            found = datetime.date(*map(int, said))
        else:
            text, pattern = (said[place] for place in _READ_DATES[name])
            found = datetime.datetime.strptime(text, _FORMATS[pattern]).date()
    except (KeyError, ValueError, OverflowError):
        return
    call.replace(exp.Anonymous(this="DATE", expressions=[exp.Literal.string(found.isoformat())]))


def _list_values(compared: exp.Expression, call: exp.Anonymous, array: exp.Expression) -> None:
    """Write x = ANY(ARRAY[...]) as IN, and x <> ALL(ARRAY[...]) as NOT IN."""
    if isinstance(array, exp.Array) and compared.args.get("expression") is call:
        found = exp.In(this=compared.this.copy(), expressions=array.expressions)
        compared.replace(found if isinstance(compared, exp.EQ) else exp.Not(this=found))


def _begins(node: exp.Expression) -> bool:
    """Say whether a word is the day with which a week begins, in WEEK(MONDAY)."""
    return isinstance(node, exp.Column) and not node.table and node.name.upper() in _WEEKS


def _takes_part(node: exp.Expr | None) -> bool:
    """Say whether a call takes a part of a date: elsewhere such a word is a column."""
    name = str(node.args.get("this")).upper() if isinstance(node, exp.Anonymous) else ""
    return _SAME.get(name, name) in ("DATE_DIFF", "DATE_TRUNC")


def _write_buckets(call: exp.Anonymous, value: exp.Expression, bounds: list[exp.Expression]) -> None:
    """Write how many of some rising bounds a number reaches as a choice."""
    if not bounds or not all(map(_is_number, bounds)):
        return
    ends = [_read(one) for one in bounds]
    if any(low >= high for low, high in pairwise(ends)):
        return
    ifs = [
        exp.If(
            this=exp.LT(this=exp.Paren(this=value.copy()), expression=bound.copy()),
            true=exp.Literal.number(place),
        )
        for place, bound in enumerate(bounds)
    ]
    last = exp.GTE(this=exp.Paren(this=value.copy()), expression=bounds[-1].copy())
    ifs.append(exp.If(this=last, true=exp.Literal.number(len(bounds))))  # what is missing is in no bucket
    call.replace(exp.Case(ifs=ifs))


def _is_number(node: exp.Expression) -> bool:
    one = node.this if isinstance(node, exp.Neg) else node
    return isinstance(one, exp.Literal) and not one.is_string


def _read(node: exp.Expression) -> Fraction:
    sign, one = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    return sign * number(str(one.this), "a bound")
