"""The capped projection and the exact draws from it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.analysts.games.bregman_choice import CappedChoice, Level, Sides, Teams
from discreet.analysts.games.scores import BitRows
from discreet.core.errors import InvalidParameter
from discreet.equilibrium.bregman import DOUBT, cap_project, exact_level, log_level
from discreet.testing import unsafe_seeded

logs = st.lists(st.floats(-300, 300), min_size=2, max_size=30)


@settings(max_examples=200, deadline=None)
@given(logs, st.data())
def test_it_sums_to_one_and_keeps_the_cap_and_the_order(weights, data):
    density = data.draw(st.floats(1, len(weights)))
    found = cap_project(np.array(weights), density)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found.max() <= (1 + 1e-12) / density
    assert (np.diff(found[np.argsort(weights)]) >= -1e-12).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 20), st.floats(0.01, 3), st.integers(0, 10_000))
def test_the_range_of_the_log_ratio_is_at_most_twice_the_change(size, kappa, seed):
    generator = np.random.default_rng(seed)  # noqa: TID251
    weights = generator.normal(0, 3, size)
    moved = weights + generator.uniform(-kappa, kappa, size)
    density = generator.uniform(1, size)
    ratio = np.log(cap_project(weights, density) / cap_project(moved, density))
    assert ratio.max() - ratio.min() <= 2 * kappa + 1e-9


def test_the_range_is_attained():
    # Half the weights rise and half fall; a cap that does not bind leaves the whole range.
    weights, moved = np.zeros(10), np.repeat([0.5, -0.5], 5)
    ratio = np.log(cap_project(weights, 1) / cap_project(moved, 1))
    assert ratio.max() - ratio.min() == pytest.approx(1.0)


@settings(max_examples=200, deadline=None)
@given(st.integers(3, 20), st.integers(0, 10_000))
def test_a_query_moves_it_by_two_over_the_density(size, seed):
    generator = np.random.default_rng(seed)  # noqa: TID251
    weights, added = generator.normal(0, 3, size), generator.normal(0, 3, 2)
    density = generator.uniform(1, size)
    without = np.append(cap_project(weights, density), [0, 0])
    with_it = cap_project(np.append(weights, added), density)
    assert np.abs(without - with_it).sum() / 2 <= 2 / density + 1e-9


def test_one_over_the_density_is_not_enough_for_a_query():
    # Two actions at the cap are added: the statistical distance is twice 1 / density. [HRU13] Lemma 3.9
    weights, density = np.zeros(100), 10
    without = np.append(cap_project(weights, density), [0, 0])
    with_it = cap_project(np.append(weights, [50.0, 50.0]), density)
    assert np.abs(without - with_it).sum() / 2 == pytest.approx(2 / density)


def test_capping_after_normalising_is_something_else():
    weights = np.array([5.0, 0.0, 0.0, 0.0])
    naive = np.minimum(np.exp(weights) / np.exp(weights).sum(), 1 / 2)
    assert cap_project(weights, 2)[0] == pytest.approx(1 / 2)
    assert naive.sum() < 0.6 < cap_project(weights, 2).sum()


def test_weights_far_apart_do_not_vanish():
    found = cap_project(np.array([0.0, 0.0, -900.0, -901.0]), 3)
    assert found[:2] == pytest.approx([1 / 3, 1 / 3])
    assert found[2] / found[3] == pytest.approx(math.e, rel=1e-9)


@pytest.mark.parametrize("density", [0, 0.5, 5, math.nan])
def test_it_refuses_densities_that_no_distribution_has(density):
    with pytest.raises(InvalidParameter, match="density"):
        cap_project(np.zeros(4), density)


@pytest.mark.parametrize("weights", [[math.nan, 0.0], [math.inf, 0.0], [[0.0]]])
def test_it_refuses_weights_that_are_none(weights):
    with pytest.raises(InvalidParameter, match="log_weights"):
        cap_project(np.array(weights), 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=2, max_size=12), st.data())
def test_the_exact_level_and_the_float_one_agree(masses, data):
    density = data.draw(st.integers(1, len(masses) - 1))
    level = exact_level(masses, [1] * len(masses), density)
    total = sum(min(Fraction(1), level * mass) for mass in masses)
    assert total == density
    found, doubt = log_level(lambda: [np.log(masses)], float(density))
    assert found == pytest.approx(math.log(level), abs=max(doubt, 1e-9))


def test_the_level_from_a_start_below_is_the_same():
    weights = np.random.default_rng(1).normal(0, 2, 500)  # noqa: TID251
    cold, _ = log_level(lambda: [weights], 60.0)
    for reach in (0.3, 1.0, math.inf):
        warm, _ = log_level(lambda: [weights[:200], weights[200:]], 60.0, start=cold - 0.3, reach=reach)
        assert warm == pytest.approx(cold, abs=1e-12)
    short, _ = log_level(lambda: [weights], 60.0, start=cold - 0.3, reach=0.1)
    assert short != pytest.approx(cold, abs=1e-4), "a reach that is too short is found out"


def test_whatever_is_right_at_the_cap_is_in_the_doubt():
    # Ten of twenty exactly at the cap, as the level is approached from right below.
    weights = np.concatenate([np.zeros(10), np.full(10, -3.0)])
    density = 10 + 10 * math.exp(-3)
    for start in (None, 0.0, -1e-9, -0.5):
        level, doubt = log_level(lambda: [weights], density, start=start, reach=1.0)
        assert abs(level) <= doubt and doubt >= 11 * DOUBT


@pytest.mark.parametrize("far", [900.0, 5000.0])
def test_actions_far_below_the_capped_ones_are_seen_in_the_end(far):
    # Two capped, then two clusters, each too light to be seen beside the one before.
    weights = np.concatenate([[0.0, 0.0], np.full(2, -far), np.full(100, -2 * far)])
    level, _ = log_level(lambda: [weights], 5.0)
    assert level == pytest.approx(2 * far - math.log(100), abs=1e-6)


# The exact choice ----------------------------------------


def all_logs(standing, rate):
    return np.concatenate(list(standing.logs(rate)))


def float_law(standing, choice):
    return cap_project(all_logs(standing, float(choice.rate)), choice.density)


@pytest.mark.parametrize(
    "standing", [Sides(np.array([3, -1, 4, 0])), Teams(np.array([[3, -1], [4, 0], [0, 0]]))]
)
@pytest.mark.parametrize("density", [1, 2])
def test_the_law_is_the_projection(standing, density):
    choice = CappedChoice(Fraction(1, 3), density, Fraction(2))
    law = dict(choice.law(standing))
    assert [float(law[g]) for g in range(standing.groups)] == pytest.approx(
        float_law(standing, choice), abs=1e-9
    )
    assert abs(sum(law.values()) - 1) < Fraction(1, 1 << 100)


@pytest.mark.parametrize(("stale", "draws"), [(False, 20_000), (True, 5_000)])
def test_draws_follow_the_law(stale, draws):
    # Chi-square with 11 degrees of freedom beyond 55 has probability 1e-7.
    standing = Sides(np.array([7, -2, 4, 1, 0, 5]))
    choice, rng = CappedChoice(Fraction(1, 2), 3, Fraction(2)), unsafe_seeded(3)
    law = float_law(standing, choice)
    level, _ = log_level(lambda: standing.logs(0.5), 3.0)
    counts = np.zeros(12)
    for _ in range(draws):
        if stale:  # an old level that is far off, within its slack
            standing.level, standing.moved = Level(level + 0.9, 1e-9), 2
        counts[choice.sample(standing, rng)] += 1
    assert ((counts - draws * law) ** 2 / (draws * law)).sum() < 55
    if not stale:
        for rate in (0.45, 0.55):  # 0.9 and 1.1 times the right one are found out
            wrong = draws * cap_project(all_logs(standing, rate), 3)
            assert ((counts - wrong) ** 2 / wrong).sum() > 55


def test_a_proposal_that_floats_cannot_decide_is_settled_exactly():
    standing = Sides(np.array([3, -1, 4, 0]))
    choice, rng = CappedChoice(Fraction(1, 2), 3, Fraction(2)), unsafe_seeded(4)
    chance = 3 * float(dict(choice.law(standing))[3])
    choice.sample(standing, rng)
    assert 0 < chance < 1
    dart = int(Fraction(3) * dict(choice.law(standing))[3] * (1 << 62))
    settled = [choice._settle(standing, 3, near, rng) for near in (dart - 1000, dart + 1000)]
    assert settled == [True, False]
    assert choice._settle(standing, 2, (1 << 62) - 1, rng), "an action at the cap is always accepted"


def test_distance_is_the_spread_of_the_change():
    choice = CappedChoice(Fraction(1), 1, Fraction(2))
    assert (
        choice.distance(Sides(np.array([1, 5])), Sides(np.array([2, 5]))) == 2
    )  # one side up, the other down
    assert choice.distance(Teams(np.array([[1], [5]])), Teams(np.array([[1], [3]]))) == 4


def test_standings_are_values():
    one, same, other = Sides(np.array([1, 2])), Sides(np.array([1, 2])), Teams(np.array([[1], [2]]))
    assert one == same and hash(one) == hash(same) and one != other
    moved = one.facing(BitRows(np.array([[0b10000000]], dtype=np.uint8), 2), np.array([5, 7]))
    assert moved == one and moved.after(0, -4, most=3) == Sides(np.array([2, 9])) != moved
    assert "2" not in repr(one).replace("groups", "").replace("4", "")


def test_a_density_of_all_actions_leaves_nothing_to_choose():
    assert cap_project(np.array([3.0, 0.0, -2.0]), 3) == pytest.approx(np.full(3, 1 / 3))
    assert exact_level([5, 2], [1, 1], 2) == Fraction(1, 2)


def test_weights_far_apart_are_seen_exactly_too():
    # The lightest side weighs e^-800 of the heaviest: more bits are taken until it shows.
    standing, rng = Sides(np.array([400, 1])), unsafe_seeded(5)
    choice = CappedChoice(Fraction(1), 3, Fraction(2))
    law = dict(choice.law(standing))
    assert law[0] == Fraction(1, 3) and abs(law[1] - Fraction(1, 3)) < Fraction(1, 10**9)
    assert float(law[2]) < 1e-100 < float(law[2]) * 1e300
    choice.sample(standing, rng)
    assert not choice._settle(standing, 2, 0, rng), "a dart of 62 zero bits is still far above e^-400"


def test_a_standing_equals_no_other_thing():
    assert Sides(np.array([1])) != "something else" and repr(Teams(np.array([[1]]))) == "<Teams: 1 groups>"
