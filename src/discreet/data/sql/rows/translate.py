"""Where conditions and expressions meet: either may hold the other, and each kind of node has one function.

`language` enters the functions of `conditions` and `expressions` here; what has none is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.data.plan.row_nodes import Condition
from discreet.data.sql.nodes import Scope, refuse_unknown
from discreet.data.sql.rows.operands import Operand, Truth, as_truth
from discreet.data.sql.text import refuse

MAX_TRUTHS = 500
ConditionReader = Callable[[exp.Expression, Scope, bool], Condition]
ExpressionReader = Callable[[exp.Expression, Scope], Operand]
CONDITIONS: dict[type[exp.Expression], ConditionReader] = {}
EXPRESSIONS: dict[type[exp.Expression], ExpressionReader] = {}


def condition(node: exp.Expression, scope: Scope, negated: bool = False) -> Condition:
    """Translate a condition, or its negation."""
    kind = type(node)
    if kind in CONDITIONS:
        return CONDITIONS[kind](node, scope, negated)
    truth = as_truth(operand(node, scope), scope.tables) if kind in EXPRESSIONS else None
    if truth is None:
        raise refuse_unknown(node, "a condition")
    return truth.fails if negated else truth.holds


def operand(node: exp.Expression, scope: Scope) -> Operand:
    """Translate what may stand beside a comparison sign."""
    kind = type(node)
    if kind in EXPRESSIONS:
        return EXPRESSIONS[kind](node, scope)
    if kind in CONDITIONS:
        # Both are translated, and so is everything within, each time: so there are not many.
        scope.work.truths += 1
        if scope.work.truths > MAX_TRUTHS:
            why = f"conditions stand for values in more than {MAX_TRUTHS} places"
            raise refuse("an expression", why, "Use AND, OR and NOT, or ask less at once")
        return Truth(condition(node, scope), condition(node, scope, negated=True))
    raise refuse_unknown(node, "an expression")
