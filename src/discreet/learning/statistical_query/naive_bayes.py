"""Naive Bayes from shares: how often the second label comes with each value of each attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Floats, Integers
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayes:
    """Adds up, attribute by attribute, how much a value speaks for the second label.

    Attributes
    ----------
    intercept
        The log odds of the second label.
    evidence
        Pairs of an attribute's place and what each of its values adds to the log odds.
    asked
        How many queries it took.
    """

    intercept: float
    evidence: tuple[tuple[int, Floats], ...]
    asked: int

    def log_odds(self, codes: Any) -> Floats:
        """Return the log odds of the second label for records given as rows of codes."""
        rows = np.asarray(codes)
        return self.intercept + sum(
            (table[rows[:, axis]] for axis, table in self.evidence), np.zeros(len(rows))
        )

    def predict(self, codes: Any) -> Integers:
        """Foretell the label: 0 for its first value, else 1."""
        return (self.log_odds(codes) > 0).astype(np.int64)


def learn_naive_bayes(oracle: StatisticalOracle, label: str, *, tolerance: checks.Number) -> NaiveBayes:
    """Learn naive Bayes from one query about the label, and two about each value of each attribute.

    Shares below the tolerance are told from nothing by no one, so they count as the tolerance.
    """
    means = Means(oracle, tolerance)
    place, least = means.find_label(label), float(means.tolerance)
    second = min(max(means.share({place: [1]}), least), 1 - least)
    evidence = []
    for axis in means.list_features(place):
        codes = range(means.universe.shape[axis])
        shares = np.array([[means.share({axis: [code], place: [y]}) for code in codes] for y in (0, 1)])
        shares = np.maximum(shares, least)
        shares /= shares.sum(axis=1, keepdims=True)
        evidence.append((axis, np.log(shares[1] / shares[0])))
    return NaiveBayes(float(np.log(second / (1 - second))), tuple(evidence), means.asked)
