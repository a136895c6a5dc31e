"""How many rows there are, as answers say that were released: to judge by them costs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Plan
from discreet.data.plan.row_nodes import TRUE
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.usefulness import RowsKnown

_BETA = 0.05


def expect_rows(answers: Iterable[Answer], question: Plan) -> RowsKnown | None:
    """Return how many rows a question is about at most, where some answer has counted the whole table.

    None where none has, or where rows of several tables meet. The latest answer is believed, up to its upper
    end at 95 %: the noise of a cheap count must not make a useful question look useless.
    """
    if question.joins or question.units is not None or question.branches:
        return None
    found = None
    for answer in answers:
        counted = answer.plan.question
        whole = counted.where == TRUE and not counted.joins and counted.units is None and not counted.branches
        if whole and counted.table == question.table and counted.sets == ((),):
            found = _read_count(answer) or found
    return found


def _read_count(answer: Answer) -> RowsKnown | None:
    (block,) = answer.blocks
    counted = block.measured.get(Measure("rows"))
    if counted is None:
        return None
    _, most = counted.box(0, _BETA)
    rows = max(Fraction(most), Fraction(1))
    return RowsKnown(rows, rows)
