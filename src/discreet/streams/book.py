"""The tail bounds of [DR14] section 12.3 as formulas, for readers and for comparison.

`error` of the counters gives smaller numbers for the noise that is really drawn. Corollary 12.4 is printed
upside down and is not here: see docs/errata.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.core import checks
from discreet.core.rounding import above, up


def lemma_12_2(*, scales: Iterable[checks.Number], beyond: checks.Number) -> float:
    """Bound P[Y > beyond] for a sum Y of independent Laplace noises: exp(-beyond^2 / (8 nu^2)).

    It holds for 0 < beyond < 2 sqrt(2) nu^2 / max(scales) and any nu of at least the root of the sum of
    squared scales. Here nu is as small as it may be for `beyond`.
    """
    spread, largest = _read(scales)
    at = float(checks.positive(beyond=beyond))
    nu = max(spread, above(math.sqrt(at * largest / (2 * math.sqrt(2))), 8))
    return min(1.0, above(math.exp(-(at**2) / (8 * nu**2)), 8))


def corollary_12_3(*, scales: Iterable[checks.Number], beta: checks.Number) -> float:
    """Return alpha with P[|Y| > alpha] <= beta: nu sqrt(8 ln(2 / beta)).

    Where nu is the root of the sum of squared scales, or max(scales) sqrt(ln(2 / beta)) where that is more.
    """
    spread, largest = _read(scales)
    rare = math.log(2 / checks.probability(beta=beta))
    return above(max(spread, above(largest * math.sqrt(rare), 8)) * math.sqrt(8 * rare), 8)


def _read(scales: Iterable[checks.Number]) -> tuple[float, float]:
    read = [up(checks.positive(scales=scale)) for scale in scales]
    checks.at_least(1, scales=len(read))
    return above(math.sqrt(math.fsum(scale * scale for scale in read)), 8), max(read)
