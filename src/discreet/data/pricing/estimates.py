"""From noisy numbers to the aggregate that was asked for, with an interval: exact post-processing.

A *box* says between which whole numbers each measure of a group lies. An aggregate's interval is an enclosure
of its values over the box, cut to what the declared bounds allow. Everything is defined for every input:
where the noisy count leaves nothing to divide by, the estimate is the middle of the possible values and the
interval is all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.core.errors import InternalError
from discreet.core.rounding import down, up
from discreet.data.plan.after import root
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import Measure
from discreet.data.plan.row_nodes import Span

Range = tuple[Fraction, Fraction]
Number = int | float
_EXACT: tuple[Kind, ...] = ("count", "count_units", "count_distinct", "sum")


def estimate(kind: Kind, measures: Sequence[Measure], values: Sequence[Fraction]) -> Number:
    """Return the aggregate of a group from its noisy measures.

    Counts and sums are left as they are, below 0 too, so that they stay unbiased and can be added up.
    Averages and variances are cut to what is possible.
    """
    unit = measures[0].unit
    if kind in _EXACT:
        return plain(values[0] * unit, unit)
    possible = _possible(kind, measures[0])
    rows = values[-1]
    if rows < (2 if kind.endswith("_samp") else 1):
        found = (possible[0] + possible[1]) / 2
    elif kind == "average":
        found = measures[0].centre + values[0] / rows
    else:
        found = values[0] / rows - (values[1] / rows) ** 2
        found *= _correction(kind, rows)
    found = min(max(found, possible[0]), possible[1])
    return _scale(kind, found, unit, float)


def enclosure(kind: Kind, measures: Sequence[Measure], box: Sequence[Span]) -> tuple[Number, Number]:
    """Return an interval that holds the aggregate wherever the true measures lie in the box."""
    unit = measures[0].unit
    if kind in _EXACT:
        least, largest = box[0] if kind == "sum" else (max(0, box[0][0]), max(0, box[0][1]))
        if kind == "count_distinct":
            least, largest = (min(end, measures[0].width) for end in (least, largest))
        return plain(least * unit, unit, down), plain(largest * unit, unit, up)
    possible = _possible(kind, measures[0])
    fewest, most = max(2 if kind.endswith("_samp") else 1, box[-1][0]), box[-1][1]
    if most < fewest:
        found = possible
    elif kind == "average":
        low, high = _quotient(box[0], fewest, most)
        found = measures[0].centre + low, measures[0].centre + high
    else:
        found = _variance(kind, box, fewest, most)
    low, high = (min(max(end, possible[0]), possible[1]) for end in found)
    return _scale(kind, low, unit, down), _scale(kind, high, unit, up)


def enclose_mean(measure: Measure, deviation: Range | None) -> tuple[Number, Number]:
    """Return an interval of a mean from that of its distance to the centre; None stands for any."""
    least, most = _possible("average", measure)
    low, high = (least, most) if deviation is None else (measure.centre + end for end in deviation)
    low, high = (min(max(end, least), most) for end in (low, high))
    return _scale("average", low, measure.unit, down), _scale("average", high, measure.unit, up)


def plain(value: Fraction, unit: Fraction, rounded: Callable[[Fraction], float] = float) -> Number:
    """Return a number as an int where the column's steps are whole, else as a float."""
    return math.floor(value) if unit.denominator == 1 else rounded(value) + 0.0  # no negative zero


def _variance(kind: Kind, box: Sequence[Span], fewest: int, most: int) -> Range:
    """Enclose mean of squares minus square of mean, with the factor of a sample."""
    squares, mean = _quotient(box[0], fewest, most), _quotient(box[1], fewest, most)
    ends = [end * end for end in mean]
    smallest = Fraction(0) if mean[0] <= 0 <= mean[1] else min(ends)
    low, high = max(Fraction(0), squares[0] - max(ends)), max(Fraction(0), squares[1] - smallest)
    return low * _correction(kind, Fraction(most)), high * _correction(kind, Fraction(fewest))


def _quotient(total: Span, fewest: int, most: int) -> Range:
    low = Fraction(total[0], fewest if total[0] < 0 else most)
    high = Fraction(total[1], most if total[1] < 0 else fewest)
    return low, high


def _correction(kind: Kind, rows: Fraction) -> Fraction:
    return rows / (rows - 1) if kind.endswith("_samp") else Fraction(1)


def _possible(kind: Kind, measure: Measure) -> Range:
    """Return the values an aggregate can take, in steps (of a deviation: in squared steps)."""
    low, high = (Fraction(end) for end in measure.row)
    if kind == "average":
        return low, high
    if kind in ("variance_pop", "deviation_pop"):
        return Fraction(0), ((high - low) / 2) ** 2
    if kind in ("variance_samp", "deviation_samp"):
        return Fraction(0), (high - low) ** 2 / 2  # two rows at the two ends
    raise InternalError(f"{kind} is not estimated from a box")


def _scale(kind: Kind, steps: Fraction, unit: Fraction, rounded: Callable[[Fraction], float]) -> float:
    if kind == "average":
        value = steps * unit
    else:
        value = steps * unit * unit
        value = value if kind.startswith("variance") else root(value, upwards=rounded is up)
    return rounded(value) + 0.0  # no negative zero
