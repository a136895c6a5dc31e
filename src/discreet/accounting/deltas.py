"""How large a delta may be before somebody must say that it is meant."""

from __future__ import annotations

from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import InvalidParameter

MOST_DELTA = Fraction(1, 1000)
"""The largest delta of a budget that is taken for what its owner means."""


def read_delta(
    delta: checks.Number, *, large: bool = False, way_out: str = "Pass large_delta=True if it is meant"
) -> Fraction:
    """Return the delta of a budget; one that nobody can mean must be said to be meant.

    Whatever takes rows and a budget asks here. A mechanism does not: its delta is a number of its theorem.
    """
    value = checks.delta(delta=delta)
    checks.instance(bool, large_delta=large)
    if value > MOST_DELTA and not large:
        raise InvalidParameter(
            name="delta",
            rule=f"at most {float(MOST_DELTA):g}, and far below one over the number of people",
            value=delta,
            hint=f"With that probability anything may be published. {way_out}",
        )
    return value
