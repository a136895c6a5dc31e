"""Calls and clauses as dialects write them, turned into those that the language has: on the syntax tree.

What does not fit is left as it is, and refused or understood where it is read.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

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
_BUCKETS = ("RANGE_BUCKET", "WIDTH_BUCKET")


def unify_calls(tree: exp.Expression) -> None:
    """Rewrite the calls and clauses of a tree that have another spelling of ours."""
    left = MAX_COPIES
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # what is inside first, since buckets copy it
        name = str(call.args.get("this")).upper()
        listed = call.args.get("expressions") or []
        if name in _SAME:
            call.set("this", _SAME[name])
        elif name == "WEEK" and len(listed) == 1 and _begins(listed[0]) and _takes_part(call.parent):
            call.replace(exp.Column(this=exp.to_identifier(_WEEKS[listed[0].name.upper()])))
        elif name in _BUCKETS and left >= 0 and len(listed) == 2 and isinstance(listed[1], exp.Array):
            left -= sum(1 for _ in listed[0].walk()) * (1 + len(listed[1].expressions))
            if left >= 0:
                _write_buckets(call, listed[0], listed[1].expressions)
    for group in tree.find_all(exp.Group):
        sets = group.args.get("grouping_sets") or []
        if len(sets) == 1 and group.args.get("expressions"):
            # Spark lists the keys before the sets that they make.
            group.set("expressions", sets)
            group.set("grouping_sets", None)


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
