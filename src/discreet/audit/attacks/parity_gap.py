"""Why no private table answers all parities well: [Roth10] Theorem 17, with its constants.

Two tables of n different rows that share few of them disagree on some parity. By Parseval's identity the
mean over all 2^d parities of (share of odd rows here - share there)^2 is exactly the number of rows that are
in one table only, over (2 n)^2; so some parity is off by sqrt(rows in one only) / (2 n). And a table that was
made privately from n random rows hits few of them.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.linalg import hadamard

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.core.rounding import below, exp_up, up

MOST_COLUMNS = 12
_CHANGES = 2  # somebody is added and somebody is removed


def largest_parity_gap(rows: Integers, others: Integers, *, columns: int) -> float:
    """Return the largest difference between the shares of odd rows of two tables, over all parities.

    Parameters
    ----------
    rows, others
        The rows of the tables as numbers below 2^columns, each read as its binary digits.
    columns
        How many columns there are; at most 12.
    """
    width = checks.integer(1, MOST_COLUMNS, columns=columns)
    for name, given in (("rows", rows), ("others", others)):
        listed = np.asarray(given)
        known = listed.ndim == 1 and listed.dtype.kind in "iu" and listed.size > 0
        if not known or listed.min() < 0 or listed.max() >= 1 << width:
            rule = f"a list of whole numbers below 2^{width}, at least one"
            raise InvalidParameter(name=name, rule=rule, got="others")
    signs = hadamard(1 << width)
    return float(np.abs(signs @ (_shares(rows, width) - _shares(others, width))).max() / 2)


def _shares(rows: Integers, width: int) -> Floats:
    return np.bincount(rows, minlength=1 << width) / len(rows)


def least_parity_error(
    people: int, columns: int, *, epsilon: checks.Number, rows: float | None = None
) -> float:
    """Return what every private synthetic table errs by on some parity, on average over random data.

    A table made from n random different rows of 2^d gives each of them at most e^(2 epsilon) times the share
    that it gives to a row that is not there, 1 / (2^d - n) on average; so an expected share s of at most
    e^(2 epsilon) n / (2^d - n) is on them. The mean square over all parities is a quarter of the squared
    distance of the shares. With m <= n rows that is at least (1/n + 1/m - 2 s/n) / 4, and the root of it is
    concave in s; with any weights it is at least (1 - s)^2 / (4 n).

    Parameters
    ----------
    people, columns
        How many random rows there are, of how many columns of two values.
    epsilon
        The privacy of adding or removing one row.
    rows
        How many rows the synthetic table has: as many where left out, math.inf where it has weights.
    """
    n = checks.integer(1, people=people)
    cells = 2 ** checks.integer(1, columns=columns)
    if 2 * n > cells:
        raise InvalidParameter(
            name="people", rule=f"at most half of the {cells} different rows", value=people
        )
    share = exp_up(up(_CHANGES * checks.positive(epsilon=epsilon))) * up(Fraction(n, cells - n))
    made = n if rows is None else rows if rows == math.inf else checks.at_least(1, rows=rows)
    squares = 1 / n + (1 / float(made) if made <= n else 0)
    return max(0.0, below((1 - share) * math.sqrt(squares) / 2, steps=8))
