"""Scales, forms, splits and errors: computed from public parameters only."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InternalError
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.noise import DiscreteGaussian, DiscreteLaplace, OneSidedGeometric
from discreet.sparse import accuracy
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.book import theorem_3_24, theorem_3_26, theorem_3_28
from discreet.sparse.calibration import make_plan, require
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import Form, NoiseKind, Rule, SparseSetting
from discreet.sparse.sparse import Sparse


def query_scale(**public):
    return float(Sparse(epsilon=1, noise=NoiseKind.LAPLACE, **public).plan.query_noise.scale)


def test_the_books_scales():
    above = AboveThreshold.as_printed(epsilon=1, sensitivity=3, threshold=0).plan
    assert (above.threshold_noise, above.query_noise) == (DiscreteLaplace(6), DiscreteLaplace(12))
    sparse = Sparse.as_printed(epsilon=2, delta=0, positives=5, sensitivity=1).plan
    assert (sparse.threshold_noise, sparse.query_noise) == (DiscreteLaplace(5), DiscreteLaplace(10))
    many = Sparse.as_printed(epsilon=2, delta=1e-6, positives=200, sensitivity=1).plan
    sigma = math.sqrt(32 * 200 * math.log(1e6)) / 2
    assert float(many.threshold_noise.scale) == pytest.approx(sigma, rel=1e-9)
    assert float(many.query_noise.scale) == pytest.approx(2 * sigma, rel=1e-9)
    numeric = NumericSparse.as_printed(epsilon=1, delta=1e-6, positives=200, sensitivity=1)
    root = math.sqrt(512)
    assert float(numeric.value_noise.scale) == pytest.approx(
        math.sqrt(32 * 200 * math.log(2e6)) * (root + 1) / 2, rel=1e-9
    )


@pytest.mark.parametrize(
    ("positives", "once", "redrawn", "monotone_once"),
    [(1, 3.3, 3.3, 2.0), (10, 22.7, 32.6, 12.2), (50, 104.6, 95.3, 53.7), (100, 205.8, 136.6, 104.6)],
)
def test_query_noise_is_never_above_the_known_table(positives, once, redrawn, monotone_once):
    """At (1, 1e-6), with the split of least variance; other splits may only put less on the queries."""
    public = {"delta": 1e-6, "positives": positives, "queries": 1}
    room = 1 + 0.05 / min(once, redrawn, monotone_once)  # the table is rounded
    assert query_scale(sensitivity=1, form=Form.ONCE, **public) <= once * room
    assert query_scale(sensitivity=1, form=Form.REDRAWN, **public) <= redrawn * room
    assert query_scale(sensitivity=Monotone(1), form=Form.ONCE, **public) <= monotone_once * room


@pytest.mark.parametrize("kind", [Sensitivity, Monotone])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_whole_budget_is_used_and_no_more(kind, delta):
    for positives in (1, 7, 60):
        mechanism = Sparse(sensitivity=kind(1), epsilon=1, delta=delta, positives=positives)
        assert mechanism.guarantee.implies(epsilon=1, delta=delta)
        assert not mechanism.guarantee.implies(epsilon=0.995, delta=delta)


def test_few_positive_answers_share_a_threshold_and_many_do_not():
    public = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6, "queries": 1000}
    assert Sparse(positives=10, **public).plan.form is Form.ONCE
    assert Sparse(positives=200, **public).plan.form is Form.REDRAWN
    assert Sparse(positives=200, **(public | {"delta": 0})).plan.form is Form.ONCE


def test_the_form_that_is_chosen_errs_least():
    public = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}
    for positives in (5, 40, 300):
        chosen = Sparse(positives=positives, **public).error(0.05)
        forced = [Sparse(positives=positives, form=form, **public).error(0.05) for form in Form]
        assert chosen == min(forced)


def test_exponential_noise_errs_less_than_laplace_and_monotone_less_than_general():
    for positives in (1, 10):
        public = {"epsilon": 1, "delta": 0, "positives": positives}
        one_sided = Sparse(sensitivity=1, **public).error(0.05)
        assert one_sided < Sparse(sensitivity=1, noise=NoiseKind.LAPLACE, **public).error(0.05)
        assert Sparse(sensitivity=Monotone(1), **public).error(0.05) < 0.7 * one_sided


def test_scale_follows_the_sensitivity_in_units():
    coarse, fine = (
        AboveThreshold(sensitivity=1, epsilon=1, delta=0, grid=grid, threshold=0) for grid in (1, 0.01)
    )
    assert fine.shift == 100 * coarse.shift
    assert float(fine.plan.query_noise.scale) == pytest.approx(100 * coarse.plan.query_noise.scale)
    assert fine.error(0.05) == pytest.approx(coarse.error(0.05), abs=1.6)


def test_a_plan_that_costs_too_much_is_refused():
    plan = AboveThreshold(sensitivity=1, epsilon=1, delta=0).plan
    with pytest.raises(InternalError, match="costs more"):
        require(plan.loss, Fraction(9, 10), Fraction(0))


def test_equal_settings_share_a_plan():
    setting = SparseSetting(1, False, 1, Fraction(1), Fraction(0), NoiseKind.LAPLACE, None, Rule.OPTIMAL, 10)
    assert make_plan(setting) is make_plan(setting)


@pytest.mark.parametrize("positives", [1, 5])
def test_gaussian_noise_grows_with_the_cap_on_questions(positives):
    def spread(queries):
        mechanism = Sparse(
            sensitivity=1,
            epsilon=1,
            delta=1e-6,
            positives=positives,
            noise=NoiseKind.GAUSSIAN,
            queries=queries,
        )
        assert mechanism.loss.delta(1) <= 1e-6
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-6)
        return math.sqrt(mechanism.plan.query_noise.variance)

    assert spread(10) < spread(1000) < 1.5 * spread(10)


def test_gaussian_noise_at_the_edges():
    public = {"sensitivity": 1, "noise": NoiseKind.GAUSSIAN, "queries": 10}
    little = AboveThreshold(epsilon=60, delta=0.01, **public)
    assert little.plan.query_noise.variance < 1
    assert little.loss.delta(60) <= 0.01
    with pytest.raises(ValueError, match="delta"):
        AboveThreshold(epsilon=1, delta=Fraction(1, 10**400), **public)
    for positives, exponent in ((1, 12), (1, 200), (3, 12), (3, 200)):
        tiny = Sparse(epsilon=1, delta=Fraction(1, 10**exponent), positives=positives, **public)
        assert tiny.guarantee.implies(epsilon=1, delta=tiny.delta)


def test_enormous_noise_and_a_delta_near_one_can_be_planned():
    assert Sparse(sensitivity=1, epsilon=1e-6, delta=0, positives=10).error(0.05) > 1e7
    loose = Sparse(sensitivity=1, epsilon=1, delta=0.999, positives=2)
    assert loose.loss.delta(1) <= 0.999
    assert loose.error(0.05) < 5
    assert AboveThreshold(sensitivity=1, epsilon=1, delta=0, grid=1e-9).error(0.05) < 40


def test_words_for_reprs():
    mechanism = Sparse(sensitivity=1, epsilon=1, delta=0, positives=3, form=Form.ONCE)
    assert "noise=NoiseKind.EXPONENTIAL, rule=Rule.OPTIMAL" in repr(mechanism)
    assert "positives=3, form=Form.ONCE" in repr(mechanism)
    gaussian = AboveThreshold(sensitivity=1, epsilon=1, delta=1e-6, noise=NoiseKind.GAUSSIAN, queries=10)
    assert gaussian.error(0.05) > AboveThreshold(sensitivity=1, epsilon=1, delta=0, queries=10).error(0.05)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("values", [None, NoiseKind.LAPLACE])
def test_numeric_sparse_divides_the_budget(delta, values):
    for positives in (1, 8):
        mechanism = NumericSparse(
            sensitivity=1, epsilon=1, delta=delta, positives=positives, values=values, queries=100
        )
        assert mechanism.guarantee.implies(epsilon=1, delta=delta)
        assert not mechanism.guarantee.implies(epsilon=0.99, delta=delta)
        book = theorem_3_28(queries=100, positives=positives, beta=0.05, epsilon=1, delta=delta)
        assert mechanism.error(0.05) < book / 2


def test_gaussian_values_win_where_there_are_several():
    public = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6, "positives": 8, "queries": 100}
    assert isinstance(NumericSparse(**public).value_noise, DiscreteGaussian)
    laplace = NumericSparse(values=NoiseKind.LAPLACE, **public)
    assert NumericSparse(**public).error(0.05) <= laplace.error(0.05)


def test_for_error_is_the_cheapest():
    public = {"sensitivity": 1, "delta": 0, "queries": 50}
    mechanism = AboveThreshold.for_error(alpha=40, beta=0.05, **public)
    assert mechanism.error(0.05) <= 40
    assert AboveThreshold(epsilon=mechanism.epsilon * Fraction(8, 10), **public).error(0.05) > 40
    numeric = NumericSparse.for_error(alpha=100, beta=0.05, positives=2, **public)
    assert numeric.error(0.05) <= 100


@pytest.mark.parametrize(
    "noise",
    [DiscreteLaplace(Fraction(7, 2)), OneSidedGeometric(Fraction(7, 2)), DiscreteGaussian(Fraction(20))],
    ids=str,
)
def test_float_tails_are_never_below_the_exact_ones(noise):
    points = np.arange(-30, 31)
    bounds, lower = accuracy.tail(noise, points.astype(float)), accuracy.below(noise, points.astype(float))
    for x, bound, under in zip(points.tolist(), bounds, lower, strict=True):
        exact = float(noise.tail(x))
        assert bound >= exact * (1 - 1e-12)
        assert under >= (1 - exact) - 1e-12
        if not isinstance(noise, DiscreteGaussian):
            assert bound == pytest.approx(exact, rel=1e-9)


def worst_case_failure(plan, alpha, queries, low):
    """Return the exact probability that some of equal values just beyond alpha is answered wrongly."""
    total = 0.0
    for t in plan.threshold_noise.window():
        bar = t + plan.offset
        positive = float(plan.query_noise.tail(bar + alpha + 1 if low else bar - alpha - 1))
        wrong = positive if low else 1 - positive
        total += float(plan.threshold_noise.pmf(t)) * (1 - (1 - wrong) ** queries)
    return total


@pytest.mark.parametrize("noise", [NoiseKind.EXPONENTIAL, NoiseKind.LAPLACE])
@pytest.mark.parametrize("queries", [1, 100])
def test_the_error_is_the_smallest_that_holds(noise, queries):
    mechanism = AboveThreshold(sensitivity=1, epsilon=1, delta=0, noise=noise, queries=queries)
    alpha = int(mechanism.error(0.05))
    plan = mechanism.plan
    sides = [worst_case_failure(plan, alpha, queries, low) for low in (True, False)]
    assert max(sides) <= 0.05
    nearer = [worst_case_failure(plan, math.floor(alpha * 0.85) - 1, queries, low) for low in (True, False)]
    assert max(nearer) > 0.05


def test_the_error_grows_with_questions_and_shrinks_with_beta():
    mechanism = Sparse(sensitivity=1, epsilon=1, delta=0, positives=3)
    assert mechanism.error(0.05, queries=10) < mechanism.error(0.05) == mechanism.error(0.05, queries=1000)
    assert mechanism.error(0.05) < mechanism.error(0.001)
    with pytest.raises(ValueError, match="queries"):
        mechanism.error(0.05, queries=0)
    with pytest.raises(ValueError, match="beta"):
        mechanism.error(1)


def test_the_formulas_of_the_book():
    assert theorem_3_24(queries=100, beta=0.05, epsilon=2) == pytest.approx(4 * math.log(4000))
    assert theorem_3_26(queries=10, positives=3, beta=0.1, epsilon=1, delta=0) == pytest.approx(
        24 * math.log(600)
    )
    assert theorem_3_26(queries=10, positives=3, beta=0.1, epsilon=1, delta=1e-5) == pytest.approx(
        math.sqrt(512 * 3 * math.log(1e5)) * math.log(600)
    )
    public = {"queries": 10, "positives": 3, "beta": 0.1, "epsilon": 1}
    assert theorem_3_28(**public, delta=0) == pytest.approx(27 * math.log(1200))
    factor = (math.sqrt(512) + 1) * math.sqrt(3 * math.log(2e5))
    assert theorem_3_28(**public, delta=1e-5, printed=True) == pytest.approx(factor * math.log(1200))
    assert theorem_3_28(**public, delta=1e-5) == pytest.approx(factor * math.sqrt(8) * math.log(60))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_our_errors_are_below_the_books(delta):
    for positives in (1, 10, 150):
        ours = Sparse(sensitivity=1, epsilon=1, delta=delta, positives=positives)
        book = theorem_3_26(queries=1000, positives=positives, beta=0.05, epsilon=1, delta=delta)
        assert ours.error(0.05) < book / 2
