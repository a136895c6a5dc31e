"""A bound for shuffled reports on the back of an envelope, for any number of people."""

from __future__ import annotations

import math

from discreet.core import checks
from discreet.core.rounding import above, below, down, up


def shuffle_bound(*, local_epsilon: checks.Number, people: int, delta: checks.Number) -> float:
    """Return an epsilon of shuffled reports at a delta, in closed form; at most the local one.

    Privacy: an upper bound for any randomizer that is (local_epsilon, 0) for each report. It follows [FMT21],
    with smaller constants: docs/accounting.md has the proof. `shuffle` computes about 0.6 of it.
    Time: O(1).

    Parameters
    ----------
    local_epsilon
        What each report costs by itself.
    people
        How many report, once each, through one and the same randomizer.
    delta
        The delta to say it at.

    Examples
    --------
    >>> round(shuffle_bound(local_epsilon=1, people=100_000, delta=1e-6), 4)
    0.0264
    >>> shuffle_bound(local_epsilon=1, people=10, delta=1e-6)
    1.0
    """
    e, n = up(checks.positive(local_epsilon=local_epsilon)), checks.integer(1, people=people)
    missed = below(down(checks.probability(delta=delta)))
    log = above(math.log(2 / missed))
    clones = (n - 1) * math.exp(-e) if e < 700 else 0.0
    if clones <= 2 * log:
        return e
    sure = clones - math.sqrt(2 * log * clones)  # but for delta / 2 [Chernoff]
    if sure < 1:
        return e
    apart = math.tanh(e / 2) * (math.sqrt(2 * log * sure) + 1) / (sure + 1)
    return e if apart >= 1 else min(e, 2 * math.atanh(min(1.0, apart)) * (1 + 1e-12))
