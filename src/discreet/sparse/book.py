"""The accuracy theorems of [DR14] section 3.6 as formulas, for readers and for comparison.

`error` of the mechanisms gives smaller numbers for the noise that is really drawn. All three need that
fewer than c of the first k - 1 values reach T - alpha: the book asks for at most c of all k in Theorems
3.26 and 3.28, and then the conversation may rightly close before the last question.
"""

from __future__ import annotations

import math

from discreet.core import checks
from discreet.core.rounding import above


def theorem_3_24(*, queries: int, beta: checks.Number, epsilon: checks.Number) -> float:
    """Return alpha of AboveThreshold: 8 (ln k + ln(2 / beta)) / epsilon."""
    return theorem_3_26(queries=queries, positives=1, beta=beta, epsilon=epsilon, delta=0)


def theorem_3_26(
    *, queries: int, positives: int, beta: checks.Number, epsilon: checks.Number, delta: checks.Number
) -> float:
    """Return alpha of Sparse: (ln k + ln(2 c / beta)) (8 c or sqrt(512 c ln(1 / delta))) / epsilon."""
    k, c = checks.integer(1, queries=queries), checks.integer(1, positives=positives)
    b, e = checks.probability(beta=beta), checks.positive(epsilon=epsilon)
    d = checks.delta(delta=delta)
    factor = 8.0 * c if d == 0 else math.sqrt(512 * c * -math.log(d))
    return above((math.log(k) + math.log(2 * c / b)) * factor / float(e), 8)


def theorem_3_28(
    *,
    queries: int,
    positives: int,
    beta: checks.Number,
    epsilon: checks.Number,
    delta: checks.Number,
    printed: bool = False,
) -> float:
    """Return alpha of NumericSparse.

    For delta > 0 the printed formula forgets that the released values carry sqrt(8) times the noise it
    counts with; `printed` returns it all the same.
    """
    k, c = checks.integer(1, queries=queries), checks.integer(1, positives=positives)
    b, e = checks.probability(beta=beta), checks.positive(epsilon=epsilon)
    d = checks.delta(delta=delta)
    tests = math.log(k) + math.log(4 * c / b)
    if d == 0:
        return above(9 * c * tests / float(e), 8)
    values = 0.0 if printed else math.sqrt(8) * math.log(2 * c / b)
    factor = (math.sqrt(512) + 1) * math.sqrt(c * math.log(2 / d))
    return above(factor * max(tests, values) / float(e), 8)
