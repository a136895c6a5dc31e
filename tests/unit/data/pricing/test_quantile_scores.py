"""Quantiles are scored by arrays: the same runs as one by one, and the same choices from the same bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.pricing.quantiles import KeptRows, QuantileChoices, SortedRows, runs
from discreet.mechanisms.grid import LIMIT
from discreet.noise.oracle import uniform_below
from discreet.noise.selection import ExponentialChoice
from discreet.testing import unsafe_seeded


def one_by_one(histogram, point, span, shift):
    """The runs of equal score as the page defines them, in Python's own numbers."""
    counts = dict.fromkeys(span, 0)
    for v, count in histogram.items():
        inside = min(max(v, span[0]), span[1])
        counts[inside] = counts.get(inside, 0) + count
    b, rows = point.denominator, sum(counts.values())
    rank = point.numerator * rows + shift
    found, below, start = [], 0, span[0]
    for v in sorted(counts):
        if start < v:
            found.append((start, v - 1, -min(LIMIT, abs(rank - b * below))))
        at_most = below + counts[v]
        too_low = rank - b * at_most if v < span[1] else 0
        too_high = b * below - rank if v > span[0] else 0
        found.append((v, v, -min(LIMIT, max(0, too_low, too_high))))
        below, start = at_most, v + 1
    return found


@st.composite
def cases(draw):
    low, width = draw(st.sampled_from([0, -7, 10**17, -(10**18)])), draw(st.sampled_from([0, 1, 2, 9, 1000]))
    values = st.integers(low - 3, low + width + 3)
    counts = st.one_of(st.integers(0, 9), st.sampled_from([10**6, 10**13, 10**18, 10**20]))
    bottom = draw(st.sampled_from([1, 2, 4, 10, 999_983]))
    shift = draw(st.sampled_from([0, 3, -7, 10**9, 10**18, -(10**30), 10**30]))
    point = Fraction(draw(st.integers(0, bottom)), bottom)
    return draw(st.dictionaries(values, counts, max_size=12)), point, (low, low + width), shift


@given(case=cases())
@settings(max_examples=400, deadline=None)
def test_runs_are_those_of_the_definition(case):
    assert runs(*case) == one_by_one(*case)


@given(
    case=cases(), rate=st.fractions(Fraction(1, 10**7), 50, max_denominator=10**7), seed=st.integers(0, 99)
)
@settings(max_examples=200, deadline=None)
def test_the_same_bits_choose_the_same_values(case, rate, seed):
    """Whatever was proved of choices one by one holds of these: they are the same function of the bits."""
    histogram, point, span, shift = case
    found, rng = one_by_one(*case), unsafe_seeded(seed)
    base = tuple(Fraction(last - first + 1) for first, last, _ in found)
    scores = np.array([score for *_, score in found], dtype=np.int64)
    expected = []
    for _ in range(2):
        first, last, _score = found[ExponentialChoice(rate, Fraction(1), base).sample(scores, rng)]
        expected.append(first + uniform_below(last - first + 1, rng))
    step = QuantileChoices(point, span, rate, Fraction(1), shift)
    kept = KeptRows(histogram)
    assert list(step.sample((kept, histogram), unsafe_seeded(seed))) == expected


def test_rows_are_sorted_once_and_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptRows({3: 2, 5: 4711})
    known = kept.sort((0, 9))
    assert kept.sort((0, 9)) is known and kept.sort((0, 4)) is not known
    assert "4711" not in repr(known)
    sorts = []
    monkeypatch.setattr(SortedRows, "of", lambda *given: sorts.append(given) or known)
    fresh = KeptRows({1: 1})
    for point in range(5):
        QuantileChoices(Fraction(point, 5), (0, 9), Fraction(1), Fraction(1)).sample(
            (fresh,), unsafe_seeded(1)
        )
    assert len(sorts) == 1
