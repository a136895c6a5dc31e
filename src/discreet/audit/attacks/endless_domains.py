"""Why bounds must be declared: on the real line no private mechanism answers intervals or medians.

[Roth10] Theorem 8 and Corollary 9, with numbers. Put all n people on one of N points. A median, or all
interval counts within less than half of them, tells which point it is; so the answers to these N data sets
lie apart. What is said about nobody at all gives each of them e^(-epsilon n) times its chance, and has
only one unit of chance to give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.core import checks
from discreet.core.rounding import below, down


def least_people(points: float, *, epsilon: checks.Number, beta: checks.Number = 0.05) -> float:
    """Return how few people make a private median, or all private intervals, meaningless on some data.

    With fewer people than this, every epsilon-private mechanism misses the median's point, or half of all
    people in some interval, with probability above beta on one of the data sets. It grows without end with
    the number of points: on a continuous line no number of people is enough.

    Parameters
    ----------
    points
        How many points the line has: 2^53 for floats in one binade, math.inf for the real line.
    epsilon
        The privacy of adding or removing one person.
    beta
        How often the mechanism may fail.
    """
    e, works = checks.positive(epsilon=epsilon), 1 - checks.probability(beta=beta)
    if points == math.inf:
        return math.inf
    count = checks.at_least(1, points=points)  # it may be beyond all floats, and its logarithm is not
    told = math.log(count.numerator) - math.log(count.denominator) + math.log(works)
    return max(0.0, below(down(Fraction(told) / e), steps=8))


def find_median(answer: Callable[[int], float], *, points: int) -> int:
    """Return a median's place by binary search on answers to intervals: the reduction of Corollary 9.

    Whoever answers all intervals has answered this, so it cannot be easier.

    Parameters
    ----------
    answer
        About how many people stand at the places from 0 to a given one.
    points
        How many places there are.
    """
    low, high = 0, checks.integer(1, points=points) - 1
    middle_of_all = answer(high) / 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if answer(middle) >= middle_of_all else (middle + 1, high)
    return low
