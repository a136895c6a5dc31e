"""Between what an expression of a rendered query lies, whatever the columns hold: read from its tree."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.row_nodes import Span


def find_selected(query: exp.Select, name: str) -> exp.Expr:
    """Return what a query selects under a name of ours."""
    (found,) = (one.unalias() for one in query.selects if one.alias_or_name == name)
    return found


def list_sources(query: exp.Select) -> list[exp.Expr]:
    """Return everything that a query reads: FROM and its joins."""
    return [query.args["from_"].this, *(join.this for join in query.args.get("joins") or [])]


def read_range(value: exp.Expr) -> Span | None:
    """Return between what a value lies whatever the columns hold; None where nothing bounds it."""
    if isinstance(value, exp.Paren | exp.Cast):
        return read_range(value.this)
    if isinstance(value, exp.Literal | exp.Neg):
        return (int(value.to_py()),) * 2
    if isinstance(value, exp.Case):
        return _read_clamp(value)
    if isinstance(value, exp.Sub):
        left, right = read_range(value.this), read_range(value.expression)
        return None if left is None or right is None else (left[0] - right[1], left[1] - right[0])
    if isinstance(value, exp.Mul) and value.this == value.expression:
        ends = read_range(value.this)
        return None if ends is None else (0, max(end * end for end in ends))
    return None


def _read_clamp(value: exp.Case) -> Span | None:
    """Return the ends of a clamp; None for any other case."""
    inner, ifs = value.args.get("default"), value.args["ifs"]
    if inner is None or len(ifs) != 2:
        return None
    ends = [one.args["true"] for one in ifs]
    for one, end, sign in zip(ifs, ends, (exp.LT, exp.GT), strict=True):
        if one.this != sign(this=inner.copy(), expression=end.copy()):
            return None
    low, high = (read_range(end) for end in ends)
    return None if low is None or high is None or low[0] > high[0] else (low[0], high[0])


def is_inside(found: Span | None, span: Span) -> bool:
    """Say whether what was read lies in a span."""
    return found is not None and span[0] <= found[0] and found[1] <= span[1]
