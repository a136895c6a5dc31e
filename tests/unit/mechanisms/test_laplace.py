import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.exact_report import exact
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.loss import DiscreteLaplaceLoss, PureLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.laplace import CARD, Laplace, laplace_scale
from discreet.noise import DiscreteLaplace
from discreet.testing import unsafe_seeded

BAD = [0, -1, float("nan"), float("inf"), -float("inf"), True, "1", None, [1], np.nan]


@pytest.mark.parametrize("name", ["sensitivity", "epsilon", "grid"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_numbers_are_refused_by_name(name, bad):
    if name == "grid" and bad is None:
        return
    public = {"sensitivity": 1, "epsilon": 1, "grid": 1} | {name: bad}
    with pytest.raises(InvalidParameter, match=f"{name} must be (a number, )?finite and > 0"):
        Laplace(**public)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_bad_sizes_are_refused(bad):
    with pytest.raises(InvalidParameter, match="size must be an integer >= 1"):
        Laplace(sensitivity=1, epsilon=1, size=bad)


@pytest.mark.parametrize("bad", ["row", None, AddRemove])
def test_bad_neighbours_are_refused(bad):
    with pytest.raises(InvalidParameter, match="neighbours must be an instance of Neighbours"):
        Laplace(sensitivity=1, epsilon=1, neighbours=bad)


def test_no_privacy_parameter_has_a_default_and_all_are_keywords():
    with pytest.raises(TypeError):
        Laplace(sensitivity=1)
    with pytest.raises(TypeError):
        Laplace(epsilon=1)
    with pytest.raises(TypeError):
        Laplace(1, 1)


def test_a_sensitivity_below_one_unit_of_the_integers_is_refused():
    with pytest.raises(
        InvalidParameter, match=r"Pass grid=, for instance grid=0.01, to release real numbers"
    ):
        Laplace(sensitivity=0.5, epsilon=1)


@pytest.mark.parametrize("data", ["5", None, 5.5, True, [], np.array([1, 2]), np.array([[1]])])
def test_wrong_data_are_refused_without_showing_them(data):
    with pytest.raises(DiscreetError) as caught:
        Laplace(sensitivity=1, epsilon=1, size=1).release(data)
    assert "5.5" not in str(caught.value)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.1), (1, Fraction(1, 3)), (3, 0.7), (10, 1e-9)])
def test_the_scale_is_never_too_small_and_hardly_too_large(sensitivity, epsilon):
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
    wanted = mechanism.shift / mechanism.epsilon
    assert wanted <= mechanism.scale <= wanted * (1 + Fraction(1, 10**11))
    assert mechanism.loss.epsilon(0) <= float(mechanism.epsilon) * (1 + 1e-15)


def test_the_guarantee_says_what_and_for_whom():
    mechanism = Laplace(sensitivity=2, epsilon=0.5, neighbours=Replace("person"))
    assert str(mechanism.guarantee) == "epsilon 0.5 for changing one person"
    assert mechanism.loss == DiscreteLaplaceLoss(2, Fraction(4))
    assert Laplace(sensitivity=2, epsilon=0.5, size=3).loss == DiscreteLaplaceLoss(2, Fraction(4))


def loss_masses(shift, scale):
    """Return {loss in units of 1 / scale: probability} of one coordinate that moves by `shift`."""
    noise, masses = DiscreteLaplace(scale), {}
    for z in range(-60, 61 + shift):
        loss = abs(z - shift) - abs(z)
        masses[loss] = masses.get(loss, 0.0) + float(noise.pmf(z))
    return masses


def together(one, other):
    masses = {}
    for (a, p), (b, q) in itertools.product(one.items(), other.items()):
        masses[a + b] = masses.get(a + b, 0.0) + p * q
    return masses


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(2)])
@pytest.mark.parametrize(
    "parts", [(1, 1), (2, 1), (3, 1), (2, 2), (4, 3), (1, 1, 1), (2, 1, 1), (1, 1, 1, 1)]
)
def test_no_way_to_share_the_shift_out_loses_more_than_one_coordinate(scale, parts):
    shared = functools.reduce(together, (loss_masses(part, scale) for part in parts))
    claim = Laplace(sensitivity=sum(parts), epsilon=sum(parts) / scale, size=len(parts)).loss
    for epsilon in np.linspace(0, float(sum(parts) / scale), 23).tolist():
        delta = sum(p * max(0, 1 - math.exp(epsilon - loss / scale)) for loss, p in shared.items())
        assert delta <= claim.delta(epsilon) + 1e-12


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "size"), [(1, 1, 1), (1, 0.05, 1), (3, 0.5, 1), (1, 1, 50)]
)
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_error_is_the_exact_quantile(sensitivity, epsilon, size, beta):
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon, size=size)
    noise, alpha = DiscreteLaplace(mechanism.scale), int(mechanism.error(beta))
    inside = 1 - 2 * noise.tail(alpha + 1)
    assert inside**size >= 1 - Fraction(str(beta))
    assert (1 - 2 * noise.tail(alpha)) ** size < 1 - Fraction(str(beta))


def test_the_error_on_a_grid_counts_the_rounding():
    mechanism = Laplace(sensitivity=1, epsilon=1, grid=0.5)
    assert mechanism.shift == 2
    assert mechanism.error(0.05) == 0.5 * DiscreteLaplace(Fraction(2)).reach(0.05) + 0.25


def test_error_bound_holds_on_releases():
    """4000 releases at beta 0.1: more than 490 misses has probability 2e-6 where the bound holds."""
    mechanism, rng = Laplace(sensitivity=1, epsilon=1, grid=0.1, size=3), unsafe_seeded(1)
    truth = np.array([0.05, -3.14, 1000.0])
    misses = sum(
        np.abs(mechanism.release(truth, rng=rng).value - truth).max() > mechanism.error(0.1)
        for _ in range(4000)
    )
    assert 250 < misses <= 490


def test_releases_lie_on_the_grid():
    mechanism, rng = Laplace(sensitivity=1, epsilon=1, grid=0.25), unsafe_seeded(2)
    for value in (0.1, 3, Fraction(1, 3), np.float32(0.1), float("nan"), 1e300):
        released = mechanism.release(value, rng=rng).value
        assert isinstance(released, float)
        assert released * 4 == round(released * 4)


def test_integers_stay_integers_at_any_size():
    released = Laplace(sensitivity=1, epsilon=1).release(10**30, rng=unsafe_seeded(3))
    assert isinstance(released.value, int)
    assert abs(released.value - 10**30) < 100
    assert released.unsafe_seeded


def test_the_interval_is_the_error_either_way():
    released = Laplace(sensitivity=1, epsilon=1).release(1234, rng=unsafe_seeded(3))
    assert released.interval(0.95) == (released.value - 3.0, released.value + 3.0)


def test_budget_and_error_are_two_ways_in():
    mechanism = Laplace.for_error(alpha=10, beta=0.05, sensitivity=1)
    assert mechanism == Laplace(epsilon=mechanism.epsilon, sensitivity=1)
    assert mechanism.error(0.05) <= 10
    assert Laplace(sensitivity=1, epsilon=mechanism.epsilon * Fraction(98, 100)).error(0.05) > 10


def test_mechanisms_are_frozen_values():
    mechanism = Laplace(sensitivity=1, epsilon=0.5)
    assert {mechanism} == {Laplace(sensitivity=1, epsilon=Fraction(1, 2))}
    with pytest.raises(AttributeError):
        mechanism.epsilon = 7
    assert "epsilon=0.5" in repr(mechanism)


@pytest.mark.parametrize("tiny", list(CARD.tiny()), ids=lambda tiny: repr(tiny.mechanism))
def test_exact_loss_is_the_claim(tiny):
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds, report
    assert report.ratio > 0.999


def test_a_scale_a_tenth_too_small_is_caught():
    """Negative control: the same audit on the noise of a larger epsilon."""

    class TooSmall(Laplace):
        __slots__ = ()

        @property
        def loss(self):
            return PureLoss(self.epsilon * Fraction(9, 10))

    assert not exact(TooSmall(sensitivity=1, epsilon=1), [(0, 1)]).holds


def test_one_coordinates_sensitivity_would_be_caught_on_two():
    """Two counts that both move need sensitivity 2; a claim for 1 is refuted."""
    assert not exact(Laplace(sensitivity=1, epsilon=4, size=2), [((0, 0), (1, 1))]).holds
    assert exact(Laplace(sensitivity=2, epsilon=4, size=2), [((0, 0), (1, 1))]).holds


def test_scales_are_cached_by_value():
    assert laplace_scale(1, Fraction(1, 3)) == 3
    assert math.isclose(float(laplace_scale(2, Fraction(3))), 2 / 3)
