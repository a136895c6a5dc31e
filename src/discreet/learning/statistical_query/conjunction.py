"""Conjunctions from shares: every value that goes with the second label is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Integers
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The second label where every attribute has an allowed value.

    Attributes
    ----------
    allowed
        Pairs of an attribute's place and its allowed codes, where some are not.
    asked
        How many queries it took.
    """

    allowed: tuple[tuple[int, tuple[int, ...]], ...]
    asked: int

    def predict(self, codes: Any) -> Integers:
        """Foretell the label of records given as rows of codes: 0 for its first value, else 1."""
        rows = np.asarray(codes)
        found = np.ones(len(rows), dtype=np.bool_)
        for axis, codes_allowed in self.allowed:
            found &= np.isin(rows[:, axis], codes_allowed)
        return found.astype(np.int64)


def learn_conjunction(oracle: StatisticalOracle, label: str, *, tolerance: checks.Number) -> Conjunction:
    """Learn a conjunction of allowed values, from one query for each value.

    A value is ruled out where its share with the second label is answered as at most the tolerance. Where a
    conjunction is right for every record, a value that it rules out has the share 0, and is ruled out here;
    any other that is has a share of at most twice the tolerance. So the rule errs on no more than twice the
    tolerance for each value.
    """
    means = Means(oracle, tolerance)
    place, allowed = means.find_label(label), []
    for axis in means.list_features(place):
        size = means.universe.shape[axis]
        shares = [means.share({axis: [code], place: [1]}) for code in range(size)]
        kept = tuple(code for code, share in enumerate(shares) if share > means.tolerance)
        if len(kept) < size:
            allowed.append((axis, kept))
    return Conjunction(tuple(allowed), means.asked)
