"""The black-box audit of plain functions: other people's code, called and counted.

Every bound is wrong with probability at most 1e-6. The functions draw from seeded generators, so a red run is
a fact.
"""

import math
import random  # noqa: TID251 - a stranger has randomness of his own

import numpy as np
import pytest

from discreet import audit
from discreet.audit.empirical import OutputEvent
from discreet.core.errors import InvalidParameter


def laplace_sum(scale, seed):
    generator = np.random.default_rng(seed)  # noqa: TID251
    return lambda rows: sum(rows) + generator.laplace(0, scale)


def test_an_honest_function_stands():
    report = audit.black_box(laplace_sum(1, 1), [1, 0], [1, 1], epsilon=1, delta=0, samples=8_000)
    assert report.holds, report
    assert 0.6 < report.epsilon <= 1
    assert report.claimed == 1
    assert report.confidence == pytest.approx(0.999999)


@pytest.mark.parametrize("scale", [0.5, 0.7])
def test_too_little_noise_is_refuted(scale):
    """Power: a loss of 1 / 0.7 instead of 1 is refuted with probability above 0.999 by 16,000 samples."""
    report = audit.black_box(laplace_sum(scale, 2), [1, 0], [1, 1], epsilon=1, delta=0, samples=16_000)
    assert not report.holds
    assert 1 < report.epsilon <= 1 / scale
    assert "REFUTED" in repr(report)


def test_delta_is_taken_into_account():
    source = random.Random(3)

    def leaks_now_and_then(rows):
        return tuple(rows) if source.random() < 0.05 else "nothing"

    claims = {"epsilon": 0, "samples": 4_000}
    assert audit.black_box(leaks_now_and_then, [1], [2], delta=0.06, **claims).holds
    assert not audit.black_box(leaks_now_and_then, [1], [2], delta=0.01, **claims).holds


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: rows[0],
        np.array,
        lambda rows: {"first": rows[0]},
        lambda rows: 1 / (rows[0] - 1),
        str,
    ],
    ids=["number", "array", "mapping", "raises on one side", "text"],
)
def test_outputs_of_every_kind_are_told_apart(function):
    report = audit.black_box(function, [1], [2], epsilon=3, delta=0, samples=1_000)
    assert not report.holds
    assert report.epsilon > 3


def test_events_of_ones_own():
    large = OutputEvent("above 3", lambda outcome: outcome > 3)
    report = audit.black_box(
        laplace_sum(0.5, 4), [1, 0], [1, 1], epsilon=1, delta=0, samples=8_000, events=[large]
    )
    assert report.event == "above 3"
    assert not report.holds


def test_a_sparse_vector_that_never_stops_is_refuted():
    """One noisy threshold, no noise on the queries: twenty questions in a row tell the data apart."""
    generator = np.random.default_rng(5)  # noqa: TID251

    def broken(values):
        threshold = generator.laplace(0, 2)
        return tuple(value >= threshold for value in values)

    left, right = [0, 1] * 10, [1, 0] * 10
    report = audit.black_box(broken, left, right, epsilon=1, delta=0, samples=4_000)
    assert report.epsilon > 2


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("function", {"function": 3}),
        ("epsilon", {"epsilon": -1}),
        ("epsilon", {"epsilon": math.nan}),
        ("delta", {"delta": 1}),
        ("samples", {"samples": 1}),
        ("confidence", {"confidence": 1}),
    ],
)
def test_bad_parameters_are_refused_by_name(name, changed):
    given = {"function": sum, "left": [1], "right": [2], "epsilon": 1, "delta": 0, "samples": 10} | changed
    with pytest.raises(InvalidParameter, match=f"{name} must be"):
        audit.black_box(**given)


def test_a_function_that_always_raises_is_no_mechanism():
    with pytest.raises(InvalidParameter, match="ZeroDivisionError from every run"):
        audit.black_box(lambda rows: 1 / 0, [1], [2], epsilon=1, delta=0, samples=10)
