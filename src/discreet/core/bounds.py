"""What is known of an error: a bound that promises something, or none."""

from __future__ import annotations

import math

from discreet.core import checks
from discreet.core.errors import NoBound
from discreet.core.mechanism import Promise

MORE = "Pay a larger epsilon, or ask for a larger beta"
"""The usual way out."""


def useful(bound: float, *, trivial: float, least: float = 0.0, what: str, way_out: str) -> float:
    """Return a bound that is below what is true without any release.

    Parameters
    ----------
    bound
        What the theorem gives.
    trivial
        The largest error that there can be at all.
    least
        The smallest there can be: 1 for ratios. Where it is the largest too, there is nothing to promise.
    what, way_out
        What has no bound otherwise, and what to do in its place.

    Raises
    ------
    NoBound
        Where the theorem says no more than that.
    """
    if bound < trivial or trivial <= least:
        return max(least, min(bound, trivial))
    why = f"the theorem gives {bound:.6g}, and no error is above {trivial:.6g} anyhow"
    raise NoBound(what=what, why=why, way_out=way_out)


def known_error(mechanism: Promise, beta: checks.Number) -> float:
    """Return error(beta), or infinity where there is none: for comparisons."""
    try:
        return mechanism.error(beta)
    except NoBound:
        return math.inf
