"""Between what an expression lies whatever the columns hold: held there, and read back from a query."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.row_nodes import Span


def clamp(value: exp.Expr, span: Span) -> exp.Expr:
    """Return a value moved into a span; a missing value stays missing.

    LEAST and GREATEST would turn a missing value into a bound.
    """
    low, high = map(exp.Literal.number, span)
    return exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=value, expression=low), true=low.copy()),
            exp.If(this=exp.GT(this=value.copy(), expression=high), true=high.copy()),
        ],
        default=value.copy(),
    )


def hold(value: exp.Expr, span: Span) -> exp.Expr:
    """Return a value clamped into a span, or as it is where all it chooses from lies there.

    A clamp says its value three times, and a function of a column may be a thousand pieces long.
    """
    return value if is_inside(read_range(value), span) else clamp(value, span)


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
        return _read_clamp(value) or _read_choice(value)
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


def _read_choice(value: exp.Case) -> Span | None:
    """Return between what the numbers lie that a case chooses from; missing ones are never added up."""
    otherwise = value.args.get("default")
    chosen = [one.args["true"] for one in value.args["ifs"]] + ([] if otherwise is None else [otherwise])
    found = [read_range(one) for one in chosen if not isinstance(one, exp.Null)]
    ends = [one for one in found if one is not None]
    if not ends or len(ends) < len(found):
        return None
    return min(low for low, _ in ends), max(high for _, high in ends)


def is_inside(found: Span | None, span: Span) -> bool:
    """Say whether what was read lies in a span."""
    return found is not None and span[0] <= found[0] and found[1] <= span[1]
