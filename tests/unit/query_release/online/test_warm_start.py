"""Warm starts: where the hypothesis begins, and which questions need no gate."""

import itertools

import numpy as np
import pytest

from discreet.core.errors import Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.boxes import Boxes
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.online.questions import read_question
from discreet.query_release.online.warm_start import Known, all_marginals, known_by, starting_weights
from discreet.query_release.synopses.synopsis import Weights
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(5)), ("b", range(3)), ("c", (0, 1)), ("d", range(4))])
GENERATOR = np.random.default_rng(8)  # noqa: TID251
COUNTS = GENERATOR.poisson(GENERATOR.gamma(0.5, 200, UNIVERSE.shape))
DATA = Histogram.dense(UNIVERSE, COUNTS)
SETS, WEIGHTS = all_marginals(UNIVERSE, 2)


PEOPLE = AddRemove("person")


def start(neighbours=PEOPLE, epsilon=1):
    return ResidualMarginals(
        workload=Marginals(UNIVERSE, SETS),
        epsilon=epsilon,
        delta=1e-9,
        neighbours=neighbours,
        weights=WEIGHTS,
    )


def boxes(count):
    for _ in range(count):
        axes = tuple(sorted(GENERATOR.choice(4, GENERATOR.integers(1, 3), replace=False).tolist()))
        masks = [GENERATOR.random(UNIVERSE.shape[axis]) < 0.6 for axis in axes]
        if all(mask.any() for mask in masks):
            yield ProductQuery(UNIVERSE, axes, "box", masks=masks)


@pytest.mark.parametrize("neighbours", [AddRemove("person"), Replace("person")], ids=["add", "replace"])
def test_estimates_and_spreads_are_those_of_the_synopsis(neighbours):
    mechanism = start(neighbours)
    synopsis = mechanism.release(DATA, rng=unsafe_seeded(1)).value
    known = Known(mechanism, synopsis, beta=0.05)
    for query in boxes(60):
        question = read_question(query, UNIVERSE, 1)
        assert known.estimate(question) == pytest.approx(synopsis.answer(query), abs=1e-6)
        factor = known.noise(Boxes.of_codes(question.codes[None], UNIVERSE))[0] / max(
            synopsis.standard_error(query), 1e-9
        )
        # Between the plain 95 % quantile and what 2^(5 + 4) boxes need; multipliers are rounded a little.
        if synopsis.standard_error(query) > 1e-6:
            assert 3.5 < factor < 7


def test_what_was_not_measured_is_not_known():
    known = known_by(start(), start().release(DATA, rng=unsafe_seeded(1)).value, beta=0.05)
    masks = [np.arange(UNIVERSE.shape[axis]) == 0 for axis in (0, 1, 3)]
    three = read_question(ProductQuery(UNIVERSE, (0, 1, 3), "three", masks=masks), UNIVERSE, 1)
    assert known.noise(Boxes.of_codes(three.codes[None], UNIVERSE))[0] == np.inf
    two = ProductQuery(UNIVERSE, (0, 1, 3), "two", masks=[*masks[:2], np.ones(4, dtype=bool)])
    assert known.noise(Boxes.of_codes(read_question(two, UNIVERSE, 1).codes[None], UNIVERSE))[0] < np.inf
    assert known_by(None, None, beta=0.05) is None


def test_all_boxes_at_once_stay_within_the_bound():
    """Every interval of every pair of attributes, in 100 releases; at most 5 % of them may have one outside.

    The bound is a union bound, so none is expected; a third of it must fail in nearly every release.
    """
    mechanism, outside, thirds = start(), 0, 0
    listed = [
        read_question(ProductQuery(UNIVERSE, axes, "box", masks=[low, high]), UNIVERSE, 1)
        for axes in itertools.combinations(range(4), 2)
        for low, high in itertools.product(*(intervals(UNIVERSE.shape[axis]) for axis in axes))
    ]
    codes = Boxes.of_codes(np.array([question.codes for question in listed]), UNIVERSE)
    real = np.array([true_count(question) for question in listed])
    for seed in range(100):
        known = Known(mechanism, mechanism.release(DATA, rng=unsafe_seeded(seed)).value, beta=0.05)
        off = np.abs(np.array([known.estimate(question) for question in listed]) - real)
        noise = known.noise(codes)
        outside += (off > noise).any()
        thirds += (off > noise / 3).any()
    assert outside <= 5
    assert thirds > 90


def intervals(size):
    codes = np.arange(size)
    return [(low <= codes) & (codes <= high) for low in range(size) for high in range(low, size)]


def true_count(question):
    others = tuple(axis for axis in range(4) if axis not in question.axes)
    return float((COUNTS.sum(axis=others) * question.units).sum())


def test_the_hypothesis_begins_near_the_truth():
    synopsis = start().release(DATA, rng=unsafe_seeded(2)).value
    weights = starting_weights(synopsis)
    assert (weights > 0).all() and weights.sum() == pytest.approx(max(synopsis.total, 1), rel=1e-6)
    for names in SETS:
        axes = UNIVERSE.axes(names)
        others = tuple(axis for axis in range(4) if axis not in axes)
        table, real = weights.sum(axis=others), COUNTS.sum(axis=others)
        assert np.abs(table - real).max() < 6 * synopsis.standard_errors(names).max()


def test_weights_of_another_synopsis_are_taken_and_others_refused():
    flat = Weights(UNIVERSE, np.zeros(UNIVERSE.shape), transcript=())
    assert (starting_weights(flat) > 0).all()

    class Odd:
        pass

    with pytest.raises(Refused, match="warm start"):
        starting_weights(Odd())


def test_known_questions_pass_by_the_gate():
    mechanism = MultiplicativeWeights(
        universe=UNIVERSE, epsilon=2, delta=1e-9, updates=5, neighbours=AddRemove("person"), start=start()
    )
    conversation = mechanism.open(DATA, rng=unsafe_seeded(3))
    answers = conversation.ask_many(Marginals(UNIVERSE, SETS))
    real = Marginals(UNIVERSE, SETS).answers(COUNTS)
    assert conversation.tested == 0 and set(answers.kinds) == {"free"}
    assert (np.abs(answers.values - real) <= answers.errors).all()
    assert (answers.errors <= mechanism.plan.bar).all()
    wild = TableQuery(UNIVERSE, (0, 1), "wild", table=GENERATOR.integers(0, 2, (5, 3)) > 0)
    conversation.ask(wild)
    assert conversation.tested == 1
