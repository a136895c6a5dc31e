"""Decision lists from shares: again and again the test that is nearly always right about the most records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Integers
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle


@dataclass(frozen=True, slots=True)
class DecisionList:
    """Tests "attribute has this code" in order, each with a label, and a label for the rest.

    Attributes
    ----------
    tests
        Triples of an attribute's place, a code and a label.
    otherwise
        The label where no test holds.
    asked
        How many queries it took.
    """

    tests: tuple[tuple[int, int, int], ...]
    otherwise: int
    asked: int

    def predict(self, codes: Any) -> Integers:
        """Foretell the label of records given as rows of codes: 0 for its first value, else 1."""
        rows = np.asarray(codes)
        found = np.full(len(rows), self.otherwise, dtype=np.int64)
        for axis, code, label in reversed(self.tests):
            found[rows[:, axis] == code] = label
        return found


def learn_decision_list(
    oracle: StatisticalOracle, label: str, *, length: int, tolerance: checks.Number
) -> DecisionList:
    """Learn a decision list of at most `length` tests.

    Each is the test that is right about the most of the records that no earlier one holds for, less those
    that it is wrong about, counted three times: a wrong one is lost for good, a right one may come later. It
    ends where no test is worth more than the tolerance.
    """
    means = Means(oracle, tolerance)
    place, most = means.find_label(label), checks.integer(1, length=length)
    open_codes = {axis: list(range(means.universe.shape[axis])) for axis in means.list_features(place)}
    tests: list[tuple[int, int, int]] = []
    while len(tests) < most:
        best = max(_weigh_tests(means, place, open_codes), default=(0.0, 0, 0, 0))
        if best[0] <= means.tolerance:
            break
        tests.append(best[1:])
        open_codes[best[1]].remove(best[2])
    rest = [means.share({**_narrowed(means, open_codes), place: [y]}) for y in (0, 1)]
    return DecisionList(tuple(tests), int(rest[1] > rest[0]), means.asked)


def _weigh_tests(
    means: Means, place: int, open_codes: dict[int, list[int]]
) -> list[tuple[float, int, int, int]]:
    found, held = [], _narrowed(means, open_codes)
    for axis, codes in open_codes.items():
        for code in codes if len(codes) > 1 else []:
            shares = [means.share({**held, axis: [code], place: [y]}) for y in (0, 1)]
            found += [(shares[y] - 3 * shares[1 - y], axis, code, y) for y in (0, 1)]
    return found


def _narrowed(means: Means, open_codes: dict[int, list[int]]) -> dict[int, list[int]]:
    """Return the codes of attributes that some test was about: others hold for every record."""
    shape = means.universe.shape
    return {axis: codes for axis, codes in open_codes.items() if len(codes) < shape[axis]}
