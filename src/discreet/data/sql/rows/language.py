"""All conditions and expressions that are known, entered where they find one another."""

from __future__ import annotations

from discreet.data.sql.rows.conditions import CONDITION_READERS
from discreet.data.sql.rows.expressions import EXPRESSION_READERS, FLAG_READERS, counted, numeric, summand
from discreet.data.sql.rows.translate import CONDITIONS, EXPRESSIONS, condition, operand

__all__ = ["condition", "counted", "numeric", "operand", "summand"]

CONDITIONS.update(CONDITION_READERS)
CONDITIONS.update(FLAG_READERS)
EXPRESSIONS.update(EXPRESSION_READERS)
