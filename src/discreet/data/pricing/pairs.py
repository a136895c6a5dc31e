"""Covariance, correlation and regression lines from noisy sums, with intervals: exact post-processing.

Every formula is written once, as what is computed from the measures of a group; its value and its interval
are the expression's own. Sums are around the middles of the declared ranges, which covariances do not see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.core.rounding import down, up
from discreet.data.plan.after import Exact, evaluate
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Computed, Constant, Shown
from discreet.data.plan.row_nodes import Field, Span
from discreet.data.pricing.computed import Enclosed, End, Possible, enclose

PAIRS: tuple[Kind, ...] = (
    "covariance_pop",
    "covariance_samp",
    "correlation",
    "slope",
    "intercept",
    "determination",
)
_PRODUCTS, _FIRST, _SECOND, _SQUARES, _OTHER_SQUARES, _ROWS = (
    Field("measures", name) for name in ("products", "first", "second", "squares", "other", "rows")
)


def estimate_pair(kind: Kind, measures: Sequence[Measure], values: Sequence[Fraction]) -> float:
    """Return what noisy sums say; where that is nothing, the middle of what is possible."""
    low, high = _possible(kind, measures)
    scaled = [value * _unit(measure) for value, measure in zip(values, measures, strict=True)]
    known = dict(zip(_names(measures), scaled, strict=True))
    found: Exact = None
    if known[_ROWS] >= _fewest(kind):
        found = evaluate(_formula(kind, measures), lambda leaf: known[leaf])  # type: ignore[index]
    if not isinstance(found, Fraction):
        exact = isinstance(low, Fraction) and isinstance(high, Fraction)
        return float((low + high) / 2) if exact else 0.0
    return _as_float(min(max(found, low), high))


def enclose_pair(kind: Kind, measures: Sequence[Measure], box: Sequence[Span]) -> tuple[float, float]:
    """Return an interval that holds the true value wherever the true measures lie in the box."""
    low, high = _possible(kind, measures)
    known: dict[Field, Possible] = {}
    for name, measure, ends in zip(_names(measures), measures, box, strict=True):
        unit, floor = _unit(measure), 0 if measure.kind == "squares" else min(ends)
        known[name] = Enclosed(max(floor, ends[0]) * unit, max(floor, ends[1]) * unit, step=unit)
    fewest, most = max(_fewest(kind), box[-1][0]), box[-1][1]
    if fewest <= most:
        known[_ROWS] = Enclosed(Fraction(fewest), Fraction(most), step=Fraction(1))
        found = enclose(_formula(kind, measures), lambda leaf: known[leaf])  # type: ignore[index]
        if isinstance(found, Enclosed) and not found.empty:
            low, high = (min(max(end, low), high) for end in (found.low, found.high))
    return down(low) + 0.0, up(high) + 0.0


def _formula(kind: Kind, measures: Sequence[Measure]) -> Shown:
    means = [_quotient(_FIRST, _ROWS), _quotient(_SECOND, _ROWS)]
    covariance = _minus(_quotient(_PRODUCTS, _ROWS), _times(*means))
    if kind == "covariance_pop":
        return covariance
    if kind == "covariance_samp":
        # rows / (rows - 1), with rows once: what occurs twice is taken to be two things.
        more = _quotient(_constant(1), _minus(_ROWS, _constant(1)))
        return _times(covariance, Computed("+", (_constant(1), more)))
    spread = _spread(_SQUARES, means[1])
    slope = _quotient(covariance, spread)
    if kind == "slope":
        return slope
    if kind == "intercept":
        middles = [_constant(measure.centre * measure.unit) for measure in measures[1:3]]
        first, second = (Computed("+", pair) for pair in zip(means, middles, strict=True))
        return _minus(first, _times(slope, second))
    root = Computed("sqrt", (_times(spread, _spread(_OTHER_SQUARES, means[0])),))
    correlation = _quotient(covariance, root)
    return correlation if kind == "correlation" else Computed("power", (correlation, _constant(2)))


def _spread(squares: Field, mean: Shown) -> Computed:
    """Return a variance: never below 0, and missing where noise leaves nothing of it."""
    found = _minus(_quotient(squares, _ROWS), Computed("power", (mean, _constant(2))))
    return Computed("nullif", (Computed("greatest", (found, _constant(0))), _constant(0)))


def _quotient(left: Shown, right: Shown) -> Computed:
    return Computed("/", (left, right))


def _minus(left: Shown, right: Shown) -> Computed:
    return Computed("-", (left, right))


def _times(left: Shown, right: Shown) -> Computed:
    return Computed("*", (left, right))


def _constant(value: Fraction | int) -> Constant:
    return Constant(Fraction(value))


def _names(measures: Sequence[Measure]) -> list[Field]:
    """Return what the formulas call the measures of a pair, in their order."""
    return [_PRODUCTS, _FIRST, _SECOND, *[_SQUARES, _OTHER_SQUARES][: len(measures) - 4], _ROWS]


def _fewest(kind: Kind) -> int:
    return 2 if kind == "covariance_samp" else 1


def _unit(measure: Measure) -> Fraction:
    return measure.unit**2 if measure.kind == "squares" else measure.unit


def _possible(kind: Kind, measures: Sequence[Measure]) -> tuple[End, End]:
    """Return what the declared ranges allow."""
    if kind in ("correlation", "determination"):
        return Fraction(-1 if kind == "correlation" else 0), Fraction(1)
    if kind in ("slope", "intercept"):
        return -math.inf, math.inf
    widths = [(measure.row[1] - measure.row[0]) * measure.unit for measure in measures[1:3]]
    most = widths[0] * widths[1] / (4 if kind == "covariance_pop" else 2)
    return -most, most


def _as_float(value: End) -> float:
    try:
        return float(value) + 0.0  # no negative zero
    except OverflowError:
        return math.inf if value > 0 else -math.inf
