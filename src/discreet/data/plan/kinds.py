"""The names of what a question may compute: of a group, of a unit, and of released values."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "count",
    "count_units",
    "sum",
    "average",
    "variance_pop",
    "variance_samp",
    "deviation_pop",
    "deviation_samp",
    "quantile",
    "count_distinct",
    "minimum",
    "maximum",
    "mode",
    "covariance_pop",
    "covariance_samp",
    "correlation",
    "slope",
    "intercept",
    "determination",
]
UnitKind = Literal["count", "sum", "min", "max", "average", "distinct"]
Function = Literal[
    "+",
    "-",
    "*",
    "/",
    "%",
    "power",
    "abs",
    "sign",
    "sqrt",
    "ln",
    "exp",
    "floor",
    "ceil",
    "round",
    "trunc",
    "least",
    "greatest",
    "coalesce",
    "nullif",
    "case",
    "=",
    "<>",
    "<",
    "<=",
    "is null",
    "and",
    "or",
    "not",
]
"""What is computed from released values. All of it is total: what has no value is missing."""
WindowFunction = Literal[
    "sum",
    "average",
    "count",
    "min",
    "max",
    "rank",
    "dense_rank",
    "row_number",
    "lag",
    "lead",
    "first_value",
]
"""What is computed from the released values of several rows of an answer."""
