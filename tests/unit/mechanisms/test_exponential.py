"""The exponential mechanism, and the types that tell monotone scores from general ones."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import output_distribution
from discreet.audit.exact_report import exact
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import BoundedRangeLoss
from discreet.core.neighbours import (
    AddRemove,
    Bidder,
    Edge,
    Event,
    LocalReport,
    OneQuery,
    Replace,
    UserStream,
)
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.mechanisms.tiny import score_pairs
from discreet.noise.selection import ExponentialChoice
from discreet.testing import unsafe_seeded


def make(**changes):
    return Exponential(**{"sensitivity": 1, "epsilon": 1, "size": 3} | changes)


class TestSensitivity:
    def test_the_kinds_are_different_values(self):
        assert Monotone(1) != Sensitivity(1)
        assert Sensitivity(0.5) == Sensitivity(Fraction(1, 2))
        assert repr(Monotone(0.5)) == "Monotone(0.5)"

    def test_a_plain_number_means_any_direction(self):
        assert make(sensitivity=1) == make(sensitivity=Sensitivity(1))
        assert make(sensitivity=1).rate == Fraction(1, 2)
        assert make(sensitivity=Monotone(1)).rate == 1

    @pytest.mark.parametrize(
        ("sensitivity", "unit", "spread"),
        [
            (Sensitivity(1), None, 2),
            (Monotone(1), None, 1),
            (Sensitivity(1), Fraction(3, 10), 8),
            (Monotone(1), Fraction(3, 10), 4),
            (Sensitivity(Fraction(5, 2)), None, 4),
        ],
    )
    def test_the_spread_covers_what_rounding_adds(self, sensitivity, unit, spread):
        assert sensitivity.spread(Grid(unit)) == spread

    @given(
        st.lists(st.fractions(-20, 20, max_denominator=64), min_size=2, max_size=2),
        st.lists(st.fractions(-1, 1, max_denominator=64), min_size=2, max_size=2),
        st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7, 5)]),
    )
    def test_rounded_scores_stay_within_the_spread(self, scores, moves, unit):
        grid = Grid(unit)
        before = [grid.to_units(s, 1) for s in scores]
        after = [grid.to_units(s + m, 1) for s, m in zip(scores, moves, strict=True)]
        changed = [b - a for a, b in zip(before, after, strict=True)]
        one_way = all(m >= 0 for m in moves)
        assert max(changed) - min(changed) <= Sensitivity(1).spread(grid)
        if one_way:
            assert max(changed) - min(changed) <= Monotone(1).spread(grid)
            assert min(changed) >= 0

    @pytest.mark.parametrize("one_way", [AddRemove("person"), UserStream(), Edge(), OneQuery()])
    def test_monotone_scores_need_neighbours_that_contain_each_other(self, one_way):
        assert make(sensitivity=Monotone(1), neighbours=one_way).guarantee.neighbours == one_way

    @pytest.mark.parametrize("both_ways", [Replace("row"), Event(), Bidder(), LocalReport()])
    def test_monotone_scores_elsewhere_are_refused(self, both_ways):
        with pytest.raises(NeighboursMismatch, match="one score can rise while another falls"):
            make(sensitivity=Monotone(1), neighbours=both_ways)
        assert make(sensitivity=Sensitivity(1), neighbours=both_ways).rate == Fraction(1, 2)

    @pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", None])
    def test_a_sensitivity_must_be_a_positive_number(self, bad):
        for kind in (Sensitivity, Monotone):
            with pytest.raises(InvalidParameter, match="sensitivity"):
                kind(bad)


def test_the_loss_is_a_bounded_range_of_epsilon_in_both_calibrations():
    assert make(epsilon=Fraction(1, 2)).loss == BoundedRangeLoss(Fraction(1, 2))
    assert make(epsilon=Fraction(1, 2), sensitivity=Monotone(3)).loss == BoundedRangeLoss(Fraction(1, 2))


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1, 3.3333, Fraction(1, 7)])
@pytest.mark.parametrize("sensitivity", [Sensitivity(3), Monotone(7)])
def test_the_loss_never_exceeds_the_budget(epsilon, sensitivity):
    mechanism = make(epsilon=epsilon, sensitivity=sensitivity)
    assert mechanism.loss.range_ <= mechanism.epsilon
    assert mechanism.loss.range_ >= mechanism.epsilon * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
def test_the_error_is_exact_on_the_worst_scores(size, beta):
    mechanism = make(size=size, epsilon=Fraction(1, 3))
    alpha = int(mechanism.error(beta))
    rate = float(mechanism.rate)

    def beyond(gap):
        others = (size - 1) * math.exp(-rate * gap)
        return others / (1 + others)

    assert beyond(alpha + 1) <= beta * (1 + 1e-9)
    assert alpha == 0 or beyond(alpha) > beta * (1 - 1e-9)


def test_the_error_is_within_the_books():
    for size, beta in itertools.product((1, 2, 100, 10**6), (0.5, 0.05, 1e-6)):
        mechanism = make(size=size)
        assert mechanism.error(beta) <= (math.log(size) + math.log(1 / beta)) / float(mechanism.rate)


@pytest.mark.parametrize("best", [1, 4, 9])
def test_theorem_3_11_many_best_answers_are_missed_less_often(best):
    """Ten candidates, the others far behind by any gap: beyond 2 (log(10 / best) + t) with e^-t at most."""
    mechanism, reached = make(size=10), 0.0
    for gap in range(1, 12):
        scores = np.array([0] * best + [-gap] * (10 - best))
        law = dict(ExponentialChoice(mechanism.rate, Fraction(2)).law(scores))
        missed = float(sum(law[place] for place in range(best, 10)))
        t = gap / 2 - math.log(10 / best)  # at one best answer e^-t would be `best` times as large
        assert missed <= math.exp(-t)
        reached = max(reached, missed / math.exp(-t))
    assert reached > 0.09


def test_corollary_3_12_with_its_numbers():
    # |R| = 100, sensitivity 1, epsilon 1, t = 3: beyond 2 (log 100 + 3) with probability at most e^-3.
    assert make(size=100).error(math.exp(-3)) <= 2 * (math.log(100) + 3)


def test_the_error_with_a_base_is_for_the_worst_candidate():
    mechanism = make(size=3, base=(1, 2, 7), epsilon=2)
    alpha = int(mechanism.error(0.05))
    scores = np.array([alpha + 1, 0, 0])
    law = dict(ExponentialChoice(mechanism.rate, Fraction(2), mechanism.base).law(scores))
    assert law[1] + law[2] <= Fraction(1, 20)
    law = dict(ExponentialChoice(mechanism.rate, Fraction(2), mechanism.base).law(scores - [1, 0, 0]))
    assert law[1] + law[2] > Fraction(1, 20)


def test_the_error_counts_the_rounding_of_two_scores():
    assert make(size=1, grid=0.5).error(0.05) == 0
    # The same exponent a score: error in units of the grid, plus one unit.
    coarse, whole = make(grid=1), make()
    assert coarse.error(0.05) == whole.error(0.05) + 1


def test_for_error_is_the_cheapest():
    mechanism = Exponential.for_error(alpha=10, beta=0.05, sensitivity=Monotone(1), size=100)
    assert mechanism.error(0.05) <= 10
    cheaper = make(sensitivity=Monotone(1), size=100, epsilon=mechanism.epsilon * Fraction(99, 100))
    assert cheaper.error(0.05) > 10


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 20])
def test_for_rho_costs_rho_and_hardly_less(rho):
    mechanism = Exponential.for_rho(rho, sensitivity=1, size=3)
    assert mechanism.loss.zcdp() <= rho
    assert mechanism.loss.zcdp() >= rho * (1 - 1e-6)
    assert float(mechanism.epsilon) >= math.sqrt(8 * rho) * (1 - 1e-6)


def test_names_are_released_and_numbers_carry_no_interval():
    rng = unsafe_seeded(1)
    named = Exponential(sensitivity=1, epsilon=50, candidates=["a", "b", "c"])
    assert named.release([0, 100, 0], rng=rng).value == "b"
    release = make(epsilon=50).release([0, 100, 0], rng=rng)
    assert release.value == 1
    assert "±" not in repr(release)
    with pytest.raises(InvalidParameter, match="interval"):
        release.interval(0.95)


def test_scores_may_be_real_on_a_grid_and_never_raise_for_their_values():
    mechanism = make(grid=0.5, epsilon=1000)
    rng = unsafe_seeded(2)
    for strange in ([math.nan, 1.0, 0.0], [math.inf, -math.inf, 0.0], [1e300, -1e300, 5e-324]):
        assert mechanism.release(strange, rng=rng).value in (0, 1, 2)
    assert mechanism.release([math.nan, 1.0, 0.0], rng=rng).value == 1
    assert mechanism.release(np.array([math.inf, -math.inf, 0.0]), rng=rng).value == 0


def test_real_scores_without_a_grid_are_refused():
    with pytest.raises(InvalidParameter, match="Pass grid="):
        make().release([0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"size": 0}, "size"),
        ({"size": None}, "size"),
        ({"candidates": ("a",)}, "size"),
        ({"size": None, "candidates": ()}, "candidates"),
        ({"size": None, "candidates": ("a", "a")}, "candidates"),
        ({"base": (1, 2)}, "base"),
        ({"base": (1, 2, 0)}, "base"),
        ({"base": (1, 2, math.inf)}, "base"),
        ({"base": (1, 2, 1 << 1001)}, "base"),
        ({"sensitivity": 0.5}, "sensitivity"),
        ({"grid": 0}, "grid"),
        ({"neighbours": "rows"}, "neighbours"),
    ],
)
def test_bad_parameters_are_named(changes, named):
    with pytest.raises(InvalidParameter) as caught:
        make(**changes)
    assert caught.value.name == named


@pytest.mark.parametrize("data", [[1, 2], 5, np.zeros((3, 1), dtype=int), "abc"])
def test_data_of_another_shape_are_refused(data):
    with pytest.raises(InvalidParameter):
        make().release(data)


@pytest.mark.parametrize("base", [None, (1, 2, 7)])
def test_names_have_the_weight_of_the_definition_and_no_pair_loses_more_than_epsilon(base):
    """base * e^(epsilon score / 2), on all scores of three candidates, as the shipped code draws them."""
    mechanism = make(epsilon=2, base=base)
    for scores in itertools.product((0, 1, 3), repeat=3):
        found = output_distribution(lambda data, rng: mechanism.release(data, rng=rng).value, scores)
        weights = np.array(base or (1, 1, 1)) * np.exp(np.array(scores, dtype=float))
        assert [float(found[k]) for k in range(3)] == pytest.approx(weights / weights.sum(), rel=1e-9)
    report = exact(mechanism, score_pairs(Sensitivity(1), [(0, 2, 2), (5, 0, 1), (0, 0, 0), (1, 1, 9)]))
    assert report.holds and report.ratio > 0.8


def test_the_base_is_taken_up_to_a_factor():
    assert make(base=(1, 2, 3)) == make(base=(10, 20, 30))


def test_the_monotone_calibration_breaks_on_general_scores():
    report = exact(make(sensitivity=Monotone(1)), score_pairs(Sensitivity(1), [(0, 9, 9)]))
    assert not report.holds
    assert report.measured > 1.9
