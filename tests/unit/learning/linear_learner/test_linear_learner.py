"""Linear functions: the book's learner, the choice that beats it, and the plan."""

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove, Event, EventPresence, Replace
from discreet.learning import SIGNED, LinearLearner, VertexLearner, plan_linear
from discreet.testing import unsafe_seeded


def linear(**changed):
    given = {"size": 5, "rows": 500, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return LinearLearner(**{**given, **changed})


def vertex(**changed):
    given = {"size": 5, "rows": 500, "epsilon": 1, "neighbours": Replace("row")}
    return VertexLearner(**{**given, **changed})


def examples(rows=500, size=5, best=3):
    drawn = np.random.default_rng(1).uniform(-1, 1, (rows, size))  # noqa: TID251
    return np.clip(drawn - 0.6 * (np.arange(size) == best), -1, 1)


def test_weights_are_a_mixture_that_favours_the_best():
    released = linear(epsilon=30, rows=500).release(examples(), rng=unsafe_seeded(1)).value
    assert released.sum() == pytest.approx(1) and released.min() >= 0
    assert released.argmax() == 3


def test_theorem_11_6_fresh_examples_are_within_the_error():
    """Means of coordinates are known: 0 for all but one. Right at 0.2: 20 of 40 fail with less than 10^-5."""
    mechanism, means = linear(epsilon=30, rows=500), np.array([0, 0, 0, -0.5, 0])
    bound, late = mechanism.error(0.2), 0
    generator = np.random.default_rng(11)  # noqa: TID251
    for seed in range(40):
        drawn = generator.choice([-0.5, 0.5], (500, 5)) + means
        weights = mechanism.release(drawn, rng=unsafe_seeded(seed)).value
        late += weights @ means - means.min() > bound
    assert late <= 20 and bound < 0.4  # even weights miss by that


def test_the_choice_finds_the_best():
    assert vertex().release(examples(), rng=unsafe_seeded(1)).value == 3
    assert vertex(neighbours=Event()).release(examples().tolist(), rng=unsafe_seeded(1)).value == 3


def test_signed_numbers_need_half_the_rate():
    mechanism = linear()
    eta = float(mechanism.majority.rate) * SIGNED.steps / 2  # for one unit of loss
    assert eta == pytest.approx(math.sqrt(0.02435 / (2 * 499)), rel=1e-3)


def test_the_notes_of_the_choice():
    assert vertex(size=10, rows=10_000).excess(0.05) <= 4 * (math.log(10) + 3) / 10_000


@pytest.mark.parametrize("make", [linear, vertex])
@pytest.mark.parametrize("odd", [np.zeros((500, 4)), np.zeros(500), np.zeros((3, 5)), [], "x" * 500, None])
def test_tables_of_another_shape_are_refused(make, odd):
    with pytest.raises(InvalidParameter):
        make().release(odd)


def test_relations():
    with pytest.raises(InvalidParameter, match="public"):
        vertex(neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="public"):
        vertex(neighbours=EventPresence())
    with pytest.raises(InvalidParameter, match="Event"):
        linear(neighbours=Replace("row"))


def test_no_bound_where_nothing_is_learned():
    with pytest.raises(NoBound):
        linear(rows=10).error(0.05)
    with pytest.raises(NoBound):
        vertex(rows=10, epsilon=0.01).error(0.05)


def test_the_plan_takes_the_choice():
    for rows in (100, 10_000, 10**6):
        for epsilon in (0.1, 1, 10):
            plan = plan_linear(20, rows, epsilon, 1e-6, Event())
            assert type(plan.best) is VertexLearner
            assert len(plan.predictions) == 2
    assert len(plan_linear(20, 100, 1, 1e-6, Replace("row")).predictions) == 1
