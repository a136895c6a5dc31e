"""Parities: the class that is easily learned from examples, and not from statistical queries."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats
from discreet.local.frequencies.hadamard_response import transform
from discreet.local.statistics.oracle import read_slack, weigh_records
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe

LONGEST = 16
"""Bits of examples: there are two to the power of it parities, all of which are kept in mind."""


class StubbornStatistics:
    """A statistical oracle that gives away as little of a hidden parity as its tolerance allows.

    Points are uniform strings of bits, labels are the parity of a hidden set of them. Each query is answered
    as if labels were coins, as long as some parity is left for which that is within the tolerance. The answer
    is off for a parity by half a Fourier coefficient of the query; the squares of all of these add up to at
    most 1, so that fewer than 1 / (4 tolerance**2) parities are ruled out by a query with weights 0 and 1.
    Whoever asks k of them leaves more than 2**bits - k / (4 tolerance**2) parities that fit all answers:
    [Roth10] Theorem 36 with constants.

    Parameters
    ----------
    bits
        The length of the strings.

    Examples
    --------
    >>> from discreet.queries import TableQuery
    >>> statistics = StubbornStatistics(10)
    >>> for place in range(10):
    ...     query = TableQuery(statistics.universe, (place, 10), "both", table=[[0, 0], [0, 1]])
    ...     shares = statistics.answer(query, 0.1)
    >>> shares, statistics.left >= 1024 - 10 * 25
    (0.25, True)
    """

    def __init__(self, bits: int) -> None:
        self.bits = checks.integer(1, LONGEST, bits=bits)
        names = [f"x{place}" for place in range(self.bits)]
        self._universe = Universe([(name, (0, 1)) for name in (*names, "label")])
        self._open = np.ones(1 << self.bits, dtype=np.bool_)

    @property
    def universe(self) -> Universe:
        """Strings of bits, and a label."""
        return self._universe

    @property
    def left(self) -> int:
        """How many parities fit all answers so far."""
        return int(self._open.sum())

    def fits(self, places: Iterable[int]) -> bool:
        """Tell whether the parity of these bits fits all answers."""
        return bool(self._open[sum(1 << self.bits - 1 - place for place in places)])

    def answer(self, query: LinearQuery, tolerance: checks.Number) -> float:
        """Return a mean that is right to within the tolerance for every parity that is left."""
        weights = weigh_records(query, self._universe)
        slack = read_slack(weights, tolerance)
        shape = [2 if axis in weights.axes else 1 for axis in range(self.bits + 1)]
        table = np.broadcast_to(
            np.array(weights.weights, dtype=np.int64).reshape(shape), (2,) * (self.bits + 1)
        )
        flat = table.reshape(-1, 2)
        lean = transform(flat[:, 1][None] - flat[:, 0][None])[0]  # twice what labels add, times all points
        scale = 2 * len(flat) * weights.steps
        near = np.abs(lean) <= math.floor(slack * scale)
        told = Fraction(int(flat.sum()), scale)
        if not (self._open & near).any():
            chosen = int(np.flatnonzero(self._open)[0])
            told -= Fraction(int(lean[chosen]), scale)
            near = np.abs(lean - lean[chosen]) <= math.floor(slack * scale)
        self._open &= near
        return float(told)


def find_queries(bits: int, tolerance: checks.Number) -> int:
    """Return how many queries of a tolerance it takes, at least, before one parity alone is left.

    >>> find_queries(20, 0.01)
    420
    """
    slack = checks.probability(tolerance=tolerance)
    others = (1 << checks.integer(1, bits=bits)) - 1
    return math.ceil(others * 4 * slack**2)


def choose_parity(sets: Iterable[Iterable[str]], disagreements: Iterable[float]) -> frozenset[str]:
    """Return the set of attributes whose parity a release says to disagree least with the label.

    [Roth10] Corollary 37: whoever releases, for all sets, how often the parity of the set and the label is
    odd, each to within alpha, has learned. The parity that is chosen errs by at most 2 alpha more than the
    best one; the thesis has alpha, which is too little where the best one looks alpha worse than it is, and
    another alpha better.

    Parameters
    ----------
    sets
        The attributes of each parity, without the label.
    disagreements
        What was released for each: the share of people whose parity is not their label.
    """
    listed = [frozenset(each) for each in sets]
    shares: Floats = np.array(list(disagreements), dtype=np.float64)
    if not listed or shares.shape != (len(listed),) or not bool(np.isfinite(shares).all()):
        raise InvalidParameter(name="disagreements", rule="one finite number for each set", got="others")
    return listed[int(np.argmin(shares))]
