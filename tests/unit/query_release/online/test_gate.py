"""The gate: its primitive, its plans, and thresholds that grow without end."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.noise import OneSidedGeometric
from discreet.query_release.online.gate import (
    NEAR,
    NONE,
    WASTED,
    FirstAbove,
    GateSetting,
    TwoSidedLoss,
    plan_gate,
)
from discreet.sparse.plan import Form
from discreet.testing import unsafe_seeded


def setting(**changed):
    public = {
        "sides": 2,
        "shift": 1,
        "updates": 20,
        "extra": 0,
        "epsilon": Fraction(1),
        "delta": Fraction(1, 10**9),
        "square": Fraction(0),
        "spread": Fraction(0),
        "queries": 1000,
        "bar": None,
    }
    return GateSetting(**{**public, **changed})


class TestFirstAbove:
    STEP = FirstAbove(OneSidedGeometric(Fraction(2)), sensitivity=Fraction(1))

    def test_its_law_is_that_of_tests_one_after_another(self):
        tests = np.array([[0, 1, -2], [2, 3, 1]])
        law = dict(self.STEP.law(tests))
        tails = [float(OneSidedGeometric(Fraction(2)).tail(gap)) for gap in (2, 2, 3)]
        assert float(law[0]) == pytest.approx(tails[0])
        assert float(law[1]) == pytest.approx((1 - tails[0]) * tails[1])
        assert float(law[NONE]) == pytest.approx(math.prod(1 - t for t in tails))
        assert sum(law.values()) == 1

    def test_it_draws_from_its_law(self):
        # False alarm below 1e-8: 6 standard deviations of 20,000 draws; a scale off by a tenth is 10 away.
        tests = np.array([[0] * 5, [4] * 5])
        rng, draws = unsafe_seeded(11), 20_000
        found = sum(self.STEP.sample(tests, rng) == NONE for _ in range(draws)) / draws

        def none(scale):
            return (1 - math.exp(-4 / scale)) ** 5

        spread = math.sqrt(0.25 / draws)
        assert abs(found - none(2.0)) < 6 * spread
        assert abs(found - none(1.8)) > 6 * spread and abs(found - none(2.2)) > 6 * spread

    def test_a_certain_alarm_ends_it(self):
        tests = np.array([[0, 9, 9], [10**6, 9, 9]])
        assert self.STEP.sample(tests, unsafe_seeded(1)) == 1
        assert max(dict(self.STEP.law(tests))) == 1

    def test_distance_is_the_largest_move_and_bars_are_public(self):
        one, other = np.array([[0, 5], [2, 2]]), np.array([[1, 3], [2, 2]])
        assert self.STEP.distance(one, other) == 2
        with pytest.raises(NeighboursMismatch):
            self.STEP.distance(one, np.array([[0, 5], [2, 3]]))


class TestPlan:
    @pytest.mark.parametrize("sides", [1, 2])
    @pytest.mark.parametrize("delta", [0, Fraction(1, 10**9)])
    def test_the_loss_fits_the_budget_and_hardly_less_noise_would(self, sides, delta):
        plan = plan_gate(setting(sides=sides, delta=delta))
        used = plan.loss.epsilon(delta)
        assert 0.99 < used <= 1 + 1e-9

    def test_tests_on_both_sides_need_much_less_noise(self):
        one, two = (plan_gate(setting(sides=sides, delta=Fraction(0))) for sides in (1, 2))
        assert two.tests.scale < one.tests.scale * Fraction(7, 10)

    def test_many_updates_compose_and_few_do_not(self):
        assert plan_gate(setting(updates=5)).form is Form.ONCE
        assert plan_gate(setting(updates=200, delta=Fraction(1, 10**5))).form is Form.REDRAWN

    def test_what_was_spent_before_counts(self):
        square = Fraction(1, 100)
        plan = plan_gate(setting(square=square, spread=square))
        assert plan.loss.mu**2 >= square
        assert plan.loss.delta(1) <= 1e-9 * (1 + 1e-9)
        assert plan.tests.scale > plan_gate(setting()).tests.scale

    def test_the_planned_threshold_wastes_few_updates(self):
        plan = plan_gate(setting())
        scale, hidden = float(plan.tests.scale), float(plan.thresholds.scale)
        alarms = 2 * 1000 * math.exp(-(1 - float(NEAR)) * plan.bar / scale) * scale / (scale + hidden)
        assert alarms <= float(WASTED) * 20 * (1 + 1e-6)
        assert alarms > float(WASTED) * 20 * 0.9

    def test_all_questions_after_the_planned_ones_alarm_no_more_than_those(self):
        plan = plan_gate(setting())
        bars = plan.raise_bars(0, 2_000_000, queries=1000)
        assert (bars[:1000] == plan.bar).all() and (np.diff(bars) >= 0).all()
        odds = np.exp(-(bars - plan.bar) / float(plan.tests.scale))
        assert odds[1000:].sum() <= odds[:1000].sum()
        assert (bars[500:1500] == plan.raise_bars(500, 1000, queries=1000)).all()
        # Growing half as fast would not do.
        slow = np.exp(-(bars - plan.bar) / 2 / float(plan.tests.scale))
        assert slow[1000:].sum() > slow[:1000].sum()


class TestTwoSidedLoss:
    def test_losses_must_share_a_unit(self):
        with pytest.raises(InvalidParameter):
            TwoSidedLoss(low=Fraction(1, 10), high=Fraction(1013, 1000), count=3).delta(0)

    def test_values_add_up(self):
        plain = TwoSidedLoss(low=Fraction(1, 10), high=Fraction(2, 10), count=3)
        valued = TwoSidedLoss(
            low=Fraction(1, 10), high=Fraction(2, 10), count=3, value=Fraction(1, 10), values=2
        )
        assert valued.delta(Fraction(1, 2)) > plain.delta(Fraction(1, 2))
        assert valued.pure == Fraction(8, 10) and valued.delta(Fraction(8, 10)) == 0
        assert valued.epsilon(0) == pytest.approx(0.8)
