from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting import advanced, numeric, routes
from discreet.accounting.amplification import (
    FixedSampleLoss,
    PoissonLoss,
    amplified_epsilon,
    poisson,
    without_replacement,
)
from discreet.accounting.calibrate import gaussian_sigma
from discreet.accounting.composition import Composed, compose
from discreet.accounting.group import GroupLoss
from discreet.accounting.post import post_process
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    RenyiLoss,
    ZCDPLoss,
)
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.laplace import Laplace
from discreet.testing import unsafe_seeded

TENTH = Fraction(1, 10)


def test_nested_compositions_are_flattened_and_counts_multiply():
    inner = Composed(((PureLoss(TENTH), 3), (GaussianLoss(TENTH), 1)))
    outer = Composed(((inner, 4), (PureLoss(TENTH), 2)))
    assert dict(outer.parts) == {PureLoss(TENTH): 14, GaussianLoss(TENTH): 4}
    assert outer == Composed(((GaussianLoss(TENTH), 4), (PureLoss(TENTH), 14)))
    assert len({outer, Composed(((PureLoss(TENTH), 14), (GaussianLoss(TENTH), 4)))}) == 1


def test_the_empty_composition_costs_nothing():
    nothing = compose()
    assert nothing.epsilon(0) == 0
    assert nothing.delta(0) == 0
    assert Composed(((PureLoss(TENTH), 0),)) == nothing.loss


def test_guarantees_over_different_neighbours_do_not_compose():
    one = Guarantee(PureLoss(TENTH), AddRemove("row"))
    with pytest.raises(NeighboursMismatch):
        compose(one, Guarantee(PureLoss(TENTH), Replace("row")))
    with pytest.raises(NeighboursMismatch):
        compose(one, Guarantee(PureLoss(TENTH), AddRemove("person")))
    with pytest.raises(NeighboursMismatch):
        compose(one, PureLoss(TENTH))
    assert compose(one, one).guarantee == Guarantee(Composed(((PureLoss(TENTH), 2),)), AddRemove("row"))
    with pytest.raises(NeighboursMismatch):
        _ = compose(PureLoss(TENTH)).guarantee


@pytest.mark.parametrize("counts", [[1], [1, -1], [1, 1.5], [1, True]])
def test_bad_counts(counts):
    with pytest.raises(InvalidParameter):
        compose(PureLoss(TENTH), PureLoss(TENTH), counts=counts)


def test_views_add_up():
    both = Composed(((LaplaceLoss(TENTH), 3), (ApproxLoss(TENTH, Fraction(1, 1000)), 2)))
    assert both.zcdp() >= 3 * LaplaceLoss(TENTH).zcdp() + 2 * PureLoss(TENTH).zcdp()
    assert both.renyi(4) >= 3 * LaplaceLoss(TENTH).renyi(4) + 2 * PureLoss(TENTH).renyi(4)
    assert both.failure >= 0.002
    assert both.gaussian() is None
    assert both.unit == TENTH
    mu = Composed(((GaussianLoss(Fraction(3)), 1), (GaussianLoss(Fraction(4), Fraction(11, 10)), 2)))
    assert mu.gaussian() == (41, 9 + 32 * Fraction(11, 10))


def test_the_view_of_a_composition_as_a_loss_distribution():
    loss = Composed(((LaplaceLoss(TENTH), 3), (GaussianLoss(TENTH), 2)))
    for distribution in loss.pld(Fraction(1, 2000)):
        assert distribution.epsilon(1e-6) == pytest.approx(loss.epsilon(1e-6), rel=1e-3)
    assert Composed(((ZCDPLoss(TENTH), 2), (PureLoss(TENTH), 1))).pld(TENTH) is None


def test_a_single_loss_keeps_its_own_curve():
    for loss in (GaussianLoss(TENTH), LaplaceLoss(TENTH), RenyiLoss(((2.0, 0.1),))):
        assert compose(loss).epsilon(1e-3) == loss.epsilon(1e-3)
        assert compose(loss).delta(0.05) == loss.delta(0.05)


def test_delta_and_epsilon_agree():
    both = compose(LaplaceLoss(TENTH), GaussianLoss(TENTH), counts=[100, 50])
    epsilon = both.epsilon(1e-6)
    assert both.delta(epsilon) == pytest.approx(1e-6, rel=0.02)
    assert both.delta(epsilon) <= 1e-6 * 1.01


LAPLACE_SAMPLE = PoissonLoss(LaplaceLoss(Fraction(3, 20000)), Fraction(23, 250))
MIXTURES = [
    [(ApproxLoss(Fraction(67, 100), Fraction(1, 10**18)), 2), (PoissonLoss(GaussianLoss(TENTH), TENTH), 2)],
    [(BoundedRangeLoss(Fraction(87, 500)), 2), (GaussianLoss(Fraction(129, 25000)), 2)],
    [(GaussianLoss(Fraction(16, 125)), 5), (LAPLACE_SAMPLE, 5)],
    [(PureLoss(Fraction(327, 100)), 30), (GaussianLoss(Fraction(147, 100)), 1)],
    [(PureLoss(Fraction(106, 25)), 5), (PoissonLoss(GaussianLoss(Fraction(11, 300)), Fraction(41, 100)), 5)],
    [(ApproxLoss(TENTH, Fraction(7, 10)), 1), (GaussianLoss(TENTH), 1), (LaplaceLoss(TENTH), 1)],
]


@pytest.mark.parametrize("delta", [Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**4)])
@pytest.mark.parametrize("parts", MIXTURES, ids=range(len(MIXTURES)))
def test_the_delta_at_an_epsilon_comes_back(parts, delta):
    """Each view has a grid of its own, so they are not inverse to the last digit; both are sound."""
    whole = Composed(tuple(parts))
    wanted = delta + whole.exact_failure()
    assert whole.delta(whole.epsilon(wanted)) <= wanted * Fraction(101, 100)


@pytest.mark.parametrize(
    "parts",
    [
        [(GaussianLoss(Fraction(16, 125)), 5), (LAPLACE_SAMPLE, 5)],
        [(PureLoss(Fraction(288)), 4793), (PureLoss(Fraction(55)), 42249), (PureLoss(Fraction(1, 173)), 102)],
        [(BoundedRangeLoss(Fraction(29)), 3), (BoundedRangeLoss(Fraction(88)), 69731)],
        [(DiscreteLaplaceLoss(5, Fraction(1, 22)), 2), (DiscreteLaplaceLoss(4, Fraction(1282)), 24)],
        [
            (LaplaceLoss(Fraction(1, 516)), 3),
            (PoissonLoss(GaussianLoss(Fraction(1, 18933)), Fraction(1, 38)), 9),
        ],
    ],
    ids=range(5),
)
def test_losses_of_very_different_sizes_are_planned_with_short_vectors(parts):
    """Rare losses that lie far away once made plans of eight million points, and ten seconds of them."""
    sources = numeric._sources(Composed(tuple(parts)).parts)
    assert max(len(one.masses) for source in sources for one in source.trial) <= 1 << 14
    step = numeric._plan(sources, 1e-9)
    for source in sources:
        for one in source.discretise(step):
            assert len(one.power(1).masses) <= 1 << 20


def test_the_route_is_named_and_is_the_smallest_of_the_table():
    both = compose(LaplaceLoss(TENTH), PureLoss(Fraction(1, 7)), counts=[100, 10])
    table = dict(both.table(1e-6))
    assert set(table) == {
        "alone",
        "basic",
        "advanced",
        "optimal",
        "optimal, mixed",
        "zCDP",
        "Rényi",
        "Gaussian",
        "PLD",
    }
    assert min(table.values()) == both.epsilon(1e-6) == table["PLD"]
    assert both.route(1e-6).startswith("PLD")
    assert "100 x" in str(both)
    assert compose(GaussianLoss(TENTH), counts=[5]).route(1e-6).startswith("Gaussian")
    assert compose(PureLoss(TENTH), counts=[2]).route(0).startswith("basic")


def test_losses_without_a_distribution_fall_back():
    mixed = compose(ZCDPLoss(Fraction(1, 100)), PureLoss(TENTH), counts=[3, 5])
    assert math.isfinite(mixed.epsilon(1e-6))
    assert mixed.route(1e-6).split(":")[0] in {"zCDP", "Rényi"}
    assert math.isinf(mixed.epsilon(0))


class OnlyACurve(PureLoss):
    """A loss that somebody wrote without a loss distribution."""

    def pld(self, step):
        return None


def test_worst_cases_help_where_there_is_no_distribution():
    parts = (OnlyACurve(TENTH), LaplaceLoss(Fraction(1, 7)))
    found = compose(*parts, counts=[50, 50])
    assert found.route(1e-6).startswith("optimal, mixed")
    assert found.epsilon(1e-6) < compose(*parts, counts=[50, 50]).loss.exact_epsilon()


@pytest.mark.parametrize("huge", [PureLoss(Fraction(10**5)), LaplaceLoss(Fraction(10**5))])
def test_huge_and_tiny_losses_together(huge):
    both = compose(huge, LaplaceLoss(Fraction(1, 1000)), counts=[1, 1000])
    assert 10**5 - 1 <= both.epsilon(1e-6) <= 10**5 + 1


def test_failure_mass_is_never_undercut():
    loss = ApproxLoss(TENTH, Fraction(1, 10**6))
    total = compose(loss, counts=[10])
    assert math.isinf(total.epsilon(9e-6))
    assert math.isfinite(total.epsilon(2e-5))
    assert total.delta(100) >= 1e-5 * (1 - 1e-5)


def test_exponential_mechanisms_compose_by_bounded_range():
    """rho = r^2 / 8 a step: four times less than what pure privacy alone would give."""
    bounded = compose(BoundedRangeLoss(TENTH), counts=[1000]).epsilon(1e-6)
    pure = compose(PureLoss(TENTH), counts=[1000]).epsilon(1e-6)
    assert bounded < 0.55 * pure


def test_basic_and_advanced():
    assert advanced.basic_composition([(TENTH, 0), (Fraction(1, 5), Fraction(1, 100))]) == (
        Fraction(3, 10),
        Fraction(1, 100),
    )
    epsilon, delta = advanced.advanced_composition(epsilon=0.1, count=1000, slack=1e-6, delta=1e-9)
    assert epsilon == pytest.approx(27.140, abs=1e-3)
    assert delta == pytest.approx(2e-6)
    assert advanced.advanced_sum([(Fraction(0), 5)], TENTH) == 0


def test_gaussian_composition():
    three, four = GaussianLoss(Fraction(3)), GaussianLoss(Fraction(4))
    assert Composed(((three, 1), (four, 1))).gaussian() == (25, 25)
    loss = GaussianLoss(1 / gaussian_sigma(epsilon=1, delta=1e-6))
    assert loss.delta(1) <= 1e-6
    assert loss.epsilon(1e-6) == pytest.approx(1, rel=1e-6)


# --- groups ------------------------------------------------------------------------------------------


def test_group_privacy():
    assert GroupLoss(PureLoss(TENTH), 5).epsilon(0) == pytest.approx(0.5)
    assert GroupLoss(ZCDPLoss(TENTH), 5).zcdp() == pytest.approx(2.5)
    assert GroupLoss(GaussianLoss(TENTH), 5).epsilon(1e-6) == GaussianLoss(Fraction(1, 2)).epsilon(1e-6)
    approx = GroupLoss(ApproxLoss(TENTH, Fraction(1, 10**6)), 3)
    assert approx.delta(0.3) == pytest.approx(1e-6 * (1 + math.exp(0.1) + math.exp(0.2)), rel=1e-9)
    assert approx.failure == pytest.approx(approx.delta(0.3))
    assert approx.pld(TENTH)[0].epsilon(1e-4) <= 0.31
    assert math.isinf(approx.zcdp())
    assert GroupLoss(RenyiLoss(((8.0, 0.01),)), 4).renyi(2) == pytest.approx(0.09)
    assert GroupLoss(LaplaceLoss(TENTH), 1).renyi(3) >= LaplaceLoss(TENTH).renyi(3)
    assert GroupLoss(ZCDPLoss(TENTH), 2).pld(TENTH) is None
    assert GroupLoss(GaussianLoss(TENTH, Fraction(2)), 2).gaussian() is None
    assert "3 at once" in str(approx)


def test_group_curve_is_above_the_exact_one_of_noise():
    for size in (2, 3):
        group = GroupLoss(DiscreteLaplaceLoss(1, Fraction(5)), size)
        exact = DiscreteLaplaceLoss(size, Fraction(5))
        for epsilon in (0, 0.1, 0.3):
            assert group.delta(epsilon) >= exact.delta(epsilon)


# --- amplification -----------------------------------------------------------------------------------


def test_amplification_needs_the_right_neighbours():
    added = Guarantee(LaplaceLoss(TENTH), AddRemove("row"))
    replaced = Guarantee(LaplaceLoss(TENTH), Replace("row"))
    assert poisson(added, rate=0.1) == Guarantee(PoissonLoss(LaplaceLoss(TENTH), TENTH), AddRemove("row"))
    expected = Guarantee(FixedSampleLoss(LaplaceLoss(TENTH), TENTH), Replace("row"))
    assert without_replacement(replaced, size=10, population=100) == expected
    with pytest.raises(NeighboursMismatch):
        poisson(replaced, rate=0.1)
    with pytest.raises(NeighboursMismatch):
        without_replacement(added, size=10, population=100)
    with pytest.raises(InvalidParameter):
        without_replacement(replaced, size=101, population=100)
    for rate in (0, 1.5, -1, math.nan):
        with pytest.raises(InvalidParameter):
            poisson(added, rate=rate)


@pytest.mark.parametrize("kind", [PoissonLoss, FixedSampleLoss])
def test_amplified_views(kind):
    rate = Fraction(1, 20)
    loss = kind(PureLoss(Fraction(1)), rate)
    pure = math.log1p(0.05 * math.expm1(1))
    assert loss.epsilon(0) == pytest.approx(pure, rel=1e-9)
    assert loss.zcdp() == pytest.approx(pure * math.tanh(pure / 2), rel=1e-9)
    assert loss.renyi(2) <= loss.zcdp() * 2
    assert loss.delta(0) == pytest.approx(0.05 * math.tanh(0.5), rel=1e-9)
    failing = kind(ApproxLoss(Fraction(1), Fraction(1, 1000)), rate)
    assert failing.failure == pytest.approx(5e-5)
    assert math.isinf(kind(GaussianLoss(TENTH), rate).zcdp())
    assert kind(ZCDPLoss(TENTH), rate).pld(TENTH) is None
    assert kind(PureLoss(TENTH), Fraction(1)).delta(0.05) == pytest.approx(PureLoss(TENTH).delta(0.05))
    assert "sample" in str(loss) or "share" in str(loss)


def test_amplified_epsilon_far_out():
    assert amplified_epsilon(1000.0, Fraction(1, 100)) == pytest.approx(1000 - math.log(100))
    assert PoissonLoss(PureLoss(Fraction(1000)), Fraction(1, 100)).delta(990) > 0
    assert PoissonLoss(PureLoss(Fraction(1000)), Fraction(1, 100)).delta(996) == 0


def test_rate_one_changes_nothing():
    pair = PoissonLoss(LaplaceLoss(TENTH), Fraction(1)).pld(Fraction(1, 100))
    assert pair[0].epsilon(1e-3) == LaplaceLoss(TENTH).pld(Fraction(1, 100))[0].epsilon(1e-3)


def test_sampling_without_replacement_costs_less_than_no_sampling_and_more_than_nothing():
    sampled = compose(FixedSampleLoss(GaussianLoss(Fraction(1)), TENTH), counts=[50]).epsilon(1e-6)
    assert 0 < sampled < 0.5 * compose(GaussianLoss(Fraction(1)), counts=[50]).epsilon(1e-6)


def test_mechanisms_and_releases_compose_by_their_guarantees():
    mechanism = Laplace(sensitivity=1, epsilon=0.5)
    release = mechanism.release(10, rng=unsafe_seeded(1))
    total = compose(mechanism, release)
    assert total == compose(mechanism.guarantee, counts=[2])
    assert total.epsilon(0) == 1
    with pytest.raises(NeighboursMismatch):
        compose(mechanism, PureLoss(TENTH))
    with pytest.raises(InvalidParameter):
        compose("0.5")


def test_post_processing_is_free():
    release = Laplace(sensitivity=1, epsilon=0.5).release(10, rng=unsafe_seeded(1))
    rounded = post_process(release, lambda value: max(0, value))
    assert rounded.value == max(0, release.value)
    assert rounded.guarantee == release.guarantee
    assert rounded.unsafe_seeded


def test_both_directions_are_composed_where_they_differ():
    sampled = PoissonLoss(GaussianLoss(Fraction(1)), TENTH)
    pair = Composed(((sampled, 3), (LaplaceLoss(TENTH), 2))).pld(Fraction(1, 500))
    assert pair[0] is not pair[1]
    both = compose(sampled, LaplaceLoss(TENTH), counts=[3, 2]).epsilon(1e-6)
    assert max(d.epsilon(1e-6) for d in pair) == pytest.approx(both, rel=1e-2)
    assert FixedSampleLoss(sampled, TENTH).pld(TENTH) is None  # no mirror image


def test_routes_that_do_not_apply_say_so():
    concentrated = Composed(((ZCDPLoss(TENTH), 2),)).parts
    pure = Composed(((PureLoss(TENTH), 2),)).parts
    renyi = Composed(((RenyiLoss(((2.0, 0.1),)), 2),)).parts
    failing = Composed(((ApproxLoss(TENTH, Fraction(1, 2)), 3),)).parts
    for route in routes.ROUTES:
        for parts in (concentrated, pure, renyi, failing):
            assert route.epsilon(parts, Fraction(0)) >= 0
            assert 0 <= route.delta(parts, Fraction(1)) <= 1
    assert math.isinf(routes.BASIC.epsilon(failing, Fraction(9, 10)))
    assert math.isinf(routes.ADVANCED.epsilon(pure, Fraction(0)))
    assert math.isinf(routes.NUMERIC.epsilon(concentrated, Fraction(1, 100)))
    assert math.isinf(routes.NUMERIC.epsilon(pure, Fraction(1, 10**250)))
    assert routes.NUMERIC.epsilon((), Fraction(1, 100)) == 0
    assert math.isinf(routes.OPTIMAL.epsilon(Composed(((PureLoss(TENTH), 10**7),)).parts, TENTH))
    assert compose(PureLoss(TENTH), counts=[10**7]).epsilon(1e-6) < 10**6


def test_zero_losses_compose_to_nothing():
    for zero in (PureLoss(Fraction(0)), GaussianLoss(Fraction(0)), LaplaceLoss(Fraction(0))):
        assert compose(zero, counts=[100]).epsilon(1e-9) == 0


def test_extremes_of_the_named_theorems():
    assert math.isinf(advanced.advanced_sum([(Fraction(1000), 1)], TENTH))
    assert advanced.advanced_slack([(Fraction(0), 5)], 0.1) == 0
    assert advanced.advanced_slack([(Fraction(1), 5)], 0.1) == 1
    with pytest.raises(InvalidParameter, match="below 1"):
        advanced.corollary(epsilon=1, count=1, slack=0.1)


def test_groups_without_a_promise():
    certain = GroupLoss(ApproxLoss(Fraction(300), TENTH), 3)
    assert certain.failure == 1
    assert certain.delta(1) == 1
    assert certain.pld(TENTH) is None
    assert GroupLoss(PureLoss(TENTH), 2).pld(TENTH)[0].epsilon(1e-9) <= 0.2 + 1e-9
    assert GroupLoss(GaussianLoss(TENTH), 2).pld(TENTH)[0].epsilon(1e-6) > 0
    assert GroupLoss(PureLoss(Fraction(400)), 3).delta(1199) <= 1


def test_composing_says_what_went_wrong():
    one = Laplace(sensitivity=1, epsilon=0.5)
    for items in ([[one, one]], [(one, one)], [one, {one}]):
        with pytest.raises(
            InvalidParameter, match=r"^items must be .*Pass them one by one: compose\(\*items\)$"
        ):
            compose(*items)
    wanted = "items must be mechanisms, releases, guarantees or losses, got 0.5"
    with pytest.raises(InvalidParameter, match=f"^{wanted}$"):
        compose(one, 0.5)
    with pytest.raises(NeighboursMismatch, match=r"Build both with the same neighbours=$"):
        compose(one, Laplace(sensitivity=1, epsilon=0.5, neighbours=Replace("row")))


def test_one_count_for_one_item():
    one = Laplace(sensitivity=1, epsilon=0.5)
    assert compose(one, counts=365) == compose(one, counts=[365])
    assert compose(counts=[]) == compose()
    for items, counts in (((one, one), 365), ((one,), [1, 2]), ((), 3)):
        with pytest.raises(
            InvalidParameter, match=rf"counts must be as many numbers as items \({len(items)}\)"
        ):
            compose(*items, counts=counts)
    for bad in (-1, 1.5, True, "3"):
        with pytest.raises(InvalidParameter, match="counts must be an integer >= 0"):
            compose(one, counts=bad)


def test_compositions_read_well():
    assert str(compose()) == "nothing (epsilon 0)"
    half, other = Laplace(sensitivity=1, epsilon=0.5), Laplace(sensitivity=2, epsilon=0.5)
    assert half.loss != other.loss
    many = compose(
        Laplace(sensitivity=1, epsilon=0.1),
        half,
        other,
        half,
        Guarantee(PureLoss(Fraction(1)), AddRemove("row")),
        counts=[1, 2, 1, 1, 1],
    )
    expected = "epsilon 3.1 (4 x (epsilon 0.5) + epsilon 0.1 + epsilon 1) for adding or removing one row"
    assert str(many) == expected
    assert repr(many) == f"Composition({expected})"
    assert "Fraction" not in repr(many.guarantee)
