"""The most frequent value: the law of its choice, exactly, and what one row can do to it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from discreet.audit.empirical import proportion_bounds
from discreet.data.pricing.modes import ModeChoices
from discreet.testing import unsafe_seeded

STEP = ModeChoices(3, Fraction(1, 2), Fraction(2))


def law(*histograms: dict[int, int]) -> dict[tuple[int, ...], Fraction]:
    return dict(STEP.law(histograms))


def test_the_law_is_that_of_the_exponential_mechanism() -> None:
    found = law({0: 4, 2: 1})
    assert sum(found.values()) == 1
    weights = [math.exp(rows / 2) for rows in (4, 0, 1)]
    for (place,), probability in found.items():
        assert float(probability) == pytest.approx(weights[place] / sum(weights))


def test_one_unit_moves_the_joint_law_within_its_range() -> None:
    """All tables of two groups with up to two rows a value, and all neighbours two rows away."""
    rows = list(itertools.product(range(3), repeat=3))
    tables = [dict(enumerate(counts)) for counts in rows]
    reached = 0.0
    for one, other in itertools.product(tables, tables):
        distance = STEP.distance((one,), (other,))
        if not 0 < distance <= STEP.sensitivity:
            continue
        moved = [math.log(law(one)[place] / law(other)[place]) for place in law(one)]
        assert max(moved) - min(moved) <= float(STEP.rate * STEP.sensitivity) + 1e-9
        reached = max(reached, max(moved) - min(moved))
    assert reached == pytest.approx(float(STEP.rate * STEP.sensitivity)), "less would be wrong"


@pytest.mark.parametrize("histogram", [{0: 3, 2: 1}, {}, {1: 2}, {0: 1, 1: 1, 2: 1}, {0: 2, 7: 50, -1: 50}])
def test_draws_follow_the_law(histogram: dict[int, int]) -> None:
    """False-alarm rate 1e-8 a value. Places that are not declared are never chosen."""
    rng, runs = unsafe_seeded(4), 4_000
    drawn = Counter(STEP.sample((histogram,), rng)[0] for _ in range(runs))
    declared = {place: count for place, count in histogram.items() if place in range(3)}
    for (place,), probability in law(declared).items():
        low, high = proportion_bounds(drawn[place], runs, alpha=1e-8)
        assert low <= float(probability) <= high
    assert sum(drawn[place] for place in range(3)) == runs
