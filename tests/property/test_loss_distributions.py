"""Loss distributions of every magnitude: no overflow, and never below the exact curve."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.accounting.amplification import FixedSampleLoss, PoissonLoss
from discreet.accounting.composition import Composed
from discreet.core.errors import InvalidParameter
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
)
from discreet.core.losses.pld import LossDistribution, from_floats, from_points, promise_nothing

MICRO = Fraction(1, 10**6)


def pure(value: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the curve of randomized response."""
    v, e = _exact(value), _exact(epsilon)
    return max(mpmath.mpf(0), (1 - mpmath.exp(e - v)) / (1 + mpmath.exp(-v)))


def approx(value: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the curve of randomized response that fails once in a million."""
    return _exact(MICRO) + _exact(1 - MICRO) * pure(value, epsilon)


def laplace(value: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the curve of continuous Laplace noise."""
    return max(mpmath.mpf(0), 1 - mpmath.exp((_exact(epsilon) - _exact(value)) / 2))


def gaussian(mu: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the curve of Gaussian noise."""
    m, e = _exact(mu), _exact(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


KINDS = {
    "pure": (PureLoss, pure),
    "approximate": (lambda value: ApproxLoss(value, MICRO), approx),
    "laplace": (LaplaceLoss, laplace),
    "one step": (lambda value: DiscreteLaplaceLoss(1, 1 / value), pure),
    "gaussian": (GaussianLoss, gaussian),
}

powers = st.integers(-11, 40).map(lambda k: Fraction(10) ** k)
values = st.builds(lambda digit, power: digit * power, st.integers(1, 9), powers)


def _exact(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def _sound(found: LossDistribution, true: mpmath.mpf, epsilon: Fraction) -> None:
    assert np.isfinite(found.masses).all()
    assert (found.masses >= 0).all()
    assert 0 <= found.delta(epsilon) <= 1
    # The wide comparison is exact: the float was rounded up.
    assert mpmath.mpf(found.delta(epsilon)) >= true


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50, deadline=None)
@given(
    value=values,
    steps=st.one_of(st.integers(-30, 3), st.integers(8, 45)),
    share=st.fractions(0, 2, max_denominator=64),
)
@example(value=Fraction(200), steps=21, share=Fraction(1, 2))
@example(value=Fraction(800), steps=2, share=Fraction(0))
@example(value=Fraction(1, 10**9), steps=-9, share=Fraction(1, 2))
@example(value=Fraction(10**40), steps=0, share=Fraction(1))
def test_no_magnitude_overflows_or_promises_too_much(kind, value, steps, share):
    """The step goes from a 10^-45th of the loss to 10^30 times it."""
    make, curve = KINDS[kind]
    with mpmath.workdps(100):
        for epsilon in (share * value, share * value * value):
            found = make(value).pld(value / Fraction(10) ** steps)[0]
            _sound(found, curve(value, epsilon), epsilon)
            twice = found.compose(found)
            # Two runs reveal at least what one does.
            _sound(twice, curve(value, epsilon), epsilon)
            assert twice.epsilon(MICRO) >= 0


def test_a_curve_that_is_a_little_too_low_is_caught():
    found = PureLoss(Fraction(200)).pld(Fraction(1, 10**25))[0]
    scaled = LossDistribution(found.step, found.low, found.masses * (1 - 1e-9), found.infinity)
    epsilon = Fraction(199)
    with mpmath.workdps(100), pytest.raises(AssertionError):
        _sound(scaled, pure(Fraction(200), epsilon), epsilon)


@settings(max_examples=60, deadline=None)
@given(losses=st.lists(values, min_size=1, max_size=4), signs=st.integers(0, 15), steps=st.integers(-40, 40))
def test_far_apart_losses_are_lifted(losses, signs, steps):
    """Points and floats give distributions above the masses they were made of, on a grid of any step."""
    step = losses[0] / Fraction(10) ** steps
    if not Fraction(1, 10**290) < step < 10**149:
        return
    placed = [loss * (1 if signs >> i & 1 else -1) for i, loss in enumerate(losses)]
    masses = np.full(len(placed), 1 / len(placed))
    floats = np.array([float(loss) for loss in placed])
    made = [from_points(step, zip(placed, masses.tolist(), strict=True)), from_floats(step, floats, masses)]
    for found in made:
        assert len(found.masses) <= (1 << 23) + 2
        for epsilon in (Fraction(0), losses[0] / 2, losses[-1]):
            with mpmath.workdps(60):
                true = sum(
                    (
                        (1 - mpmath.exp(min(_exact(epsilon - loss), mpmath.mpf(0)))) / len(placed)
                        for loss in placed
                    ),
                    mpmath.mpf(0),
                )
                assert found.delta(epsilon) >= true * (1 - mpmath.mpf(10) ** -15)


def test_losses_beyond_floats_are_infinite():
    step = Fraction(1, 10**299)
    for found in (
        from_points(step, [(Fraction(10**9), 0.25), (step, 0.75)]),
        from_floats(step, np.array([1e9, 1e-299]), np.array([0.25, 0.75])),
    ):
        assert 0.25 <= found.infinity <= 0.25 * (1 + 1e-11)
    only = from_points(step, [(Fraction(10**9), 0.25)])
    assert only.delta(0) == promise_nothing(step).delta(1000) == 1
    with pytest.raises(InvalidParameter, match="step"):
        from_floats(Fraction(1, 10**310), np.ones(1), np.ones(1))


def test_masses_beyond_floats_promise_nothing():
    wide = GaussianLoss(Fraction(1000), Fraction(2))
    assert wide.pld(Fraction(1))[0].delta(10**6) == 1
    heavy = LossDistribution(Fraction(1), 0, np.full(3, 1e60), 0.0)
    assert heavy.compose(heavy).delta(100) == 1
    assert promise_nothing(Fraction(1)).power(1000).infinity == 1


def test_noise_on_a_fine_grid_is_covered_by_noise_on_a_coarse_one():
    """Its losses are listed for a million integers at most, at a price of a few millionths."""
    fine = DiscreteLaplaceLoss(10**15 + 1, Fraction(10**15))
    found = fine.pld(Fraction(1, 4096))[0]
    for epsilon in (0.0, 0.3, 0.9):
        assert fine.delta(epsilon) * (1 - 1e-9) <= found.delta(epsilon) <= fine.delta(epsilon) * 1.001


@settings(max_examples=10, deadline=None)
@given(
    parts=st.lists(
        st.tuples(
            st.sampled_from([*KINDS, "range", "poisson", "fixed"]),
            st.sampled_from(["1e-12", "1e-9", "0.1", "30", "200", "800", "1e6", "1e12", "1e15"]),
            st.sampled_from([1, 2, 5]),
        ),
        min_size=1,
        max_size=3,
    )
)
@example(parts=[("pure", "200", 1), ("pure", "1e-9", 5)])
@example(parts=[("range", "1e6", 1000)])
@example(parts=[("poisson", "1e15", 1), ("one step", "0.1", 5)])
@example(parts=[("poisson", "1e12", 1)])
def test_compositions_of_any_magnitudes_have_an_epsilon(parts):
    """It is at least that of every part, and at most the sum where there is one."""
    losses: list[tuple[Loss, int]] = [(_make(kind, Fraction(value)), count) for kind, value, count in parts]
    found = Composed(tuple(losses)).epsilon(2e-6 * len(parts) * 5)
    assert found >= 0
    exact = [loss.exact_epsilon() for loss, _ in losses]
    if all(value is not None for value in exact):
        total = sum((value * count for value, (_, count) in zip(exact, losses, strict=True)), Fraction(0))
        assert found <= total * (1 + Fraction(1, 10**9))
    for kind, value, _ in parts:
        if kind == "pure" and float(value) >= 30:
            assert found >= float(value) * (1 - 1e-4)
    assert not math.isnan(found)


def _make(kind: str, value: Fraction) -> Loss:
    if kind == "range":
        return BoundedRangeLoss(value)
    if kind == "poisson":
        return PoissonLoss(PureLoss(value), Fraction(1, 10))
    if kind == "fixed":
        return FixedSampleLoss(PureLoss(value), Fraction(1, 10))
    return KINDS[kind][0](value)
