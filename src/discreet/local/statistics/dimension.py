"""The statistical query dimension: how many functions of a class look alike to whoever sees means alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused

MOST_FUNCTIONS = 512
_MOST_STEPS = 200_000


def statistical_dimension(functions: Any, law: Any = None) -> int:
    """Return the largest d such that d functions agree nearly half of the time, any two of them.

    [Roth10] Definition 26: for any two of them, the probability that they agree is within 1 / d**3 of that
    that they do not. It is found by search, in exact arithmetic.

    Parameters
    ----------
    functions
        A row of 0 and 1 for each function: its values on all points.
    law
        The probability of each point, exactly; all the same where left out.

    Raises
    ------
    Refused
        When the search would take too long.

    Examples
    --------
    >>> points = np.arange(8)
    >>> parities = [np.bitwise_count(points & s) % 2 for s in range(8)]
    >>> conjunctions = [(points & s) == s for s in range(8)]
    >>> statistical_dimension(parities), statistical_dimension(conjunctions)
    (8, 4)
    """
    rows = np.array(functions)
    if rows.ndim != 2 or not 1 <= len(rows) <= MOST_FUNCTIONS or not np.isin(rows, (0, 1)).all():
        rule = f"from 1 to {MOST_FUNCTIONS} rows of 0 and 1"
        raise InvalidParameter(name="functions", rule=rule, got="something else")
    masses = [1] * rows.shape[1] if law is None else _read_law(law, rows.shape[1])
    total = sum(masses)
    whole: Any = np.int64 if total < 1 << 62 else object
    signs = 1 - 2 * rows.astype(whole)
    leans = np.abs((signs * np.array(masses, dtype=whole)) @ signs.T).astype(object)
    budget, dimension = [_MOST_STEPS], 1
    while dimension < len(rows):
        wanted = dimension + 1
        near = leans * wanted**3 <= total
        links = [sum(1 << j for j in range(len(rows)) if near[i, j] and i != j) for i in range(len(rows))]
        if not _has_clique(links, (1 << len(rows)) - 1, wanted, budget):
            break
        dimension = wanted
    return dimension


def least_queries(dimension: int) -> int:
    """Return how many queries of tolerance dimension**(-1/3) any learner needs: [Roth10] Theorem 34.

    It is about learning to an error below 1/2 - 1 / dimension**3, and needs a dimension of at least 16.
    """
    d = checks.integer(16, dimension=dimension)
    return next(k for k in range(1, d + 1) if (2 * k) ** 3 >= d)


def _has_clique(links: list[int], among: int, wanted: int, budget: list[int]) -> bool:
    """Tell whether so many functions are all linked: the first is in, or it is out."""
    while among.bit_count() >= wanted:
        if wanted <= 1:
            return True
        budget[0] -= 1
        if budget[0] < 0:
            raise Refused(
                what="this class",
                why=f"the search for its dimension takes more than {_MOST_STEPS} steps",
                way_out="Ask for fewer functions",
            )
        first = among.bit_length() - 1
        among ^= 1 << first
        if _has_clique(links, among & links[first], wanted - 1, budget):
            return True
    return False


def _read_law(law: Any, points: int) -> list[int]:
    """Return probabilities as whole numbers in proportion."""
    exact = [checks.non_negative(law=each) for each in law]
    if len(exact) != points or sum(exact, start=Fraction(0)) != 1:
        raise InvalidParameter(name="law", rule=f"{points} probabilities that add up to 1", got="others")
    scale = math.lcm(*(each.denominator for each in exact))
    return [int(each * scale) for each in exact]
