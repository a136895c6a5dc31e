"""How many people statistical queries need: for the noise, and for being a sample."""

from __future__ import annotations

import math

from discreet.core import checks
from discreet.core.neighbours import Replace
from discreet.core.rounding import above, down
from discreet.core.search import first_integer
from discreet.mechanisms.geometric import Geometric


def count_people(
    queries: int, tolerance: checks.Number, *, epsilon: checks.Number, risk: checks.Number
) -> int:
    """Return how many independent records let a curator answer so many queries about the law they come from.

    Each answer is within the tolerance of the law's mean, all of them but for the risk. That takes about
    max(m log m / (epsilon alpha), log m / alpha^2) people: the noise of m answers on one budget, and the
    sample's own error, by Hoeffding's inequality. [DR14] section 11.1

    Parameters
    ----------
    queries
        How many queries there are, of weights 0 and 1, chosen in advance.
    tolerance
        What each answer may be off by.
    epsilon
        The budget of all answers together.
    risk
        The probability that any answer is off by more.

    Examples
    --------
    >>> count_people(100, 0.05, epsilon=1, risk=0.05), count_people(1000, 0.05, epsilon=1, risk=0.05)
    (23012, 234974)
    """
    many, wanted = checks.integer(1, queries=queries), down(checks.probability(tolerance=tolerance))
    each = checks.probability(risk=risk) / (2 * many)
    noise = Geometric(
        sensitivity=1, epsilon=checks.positive(epsilon=epsilon) / many, neighbours=Replace("person")
    ).error(each)
    sample = math.sqrt(-math.log(down(each / 2)) / 2)
    return first_integer(lambda n: above(noise / n + sample / math.sqrt(n), 8) <= wanted, low=0)
