"""The precision attack on every numeric mechanism, and on the float noise that must fall to it.

Every bound is wrong with probability at most 1e-9 for each of the 232 events and directions, so below 3e-7 a
pair; with the fixed seeds below a red run is a fact.
"""

import math
from fractions import Fraction

import pytest

from discreet import Laplace
from discreet.audit.museum.float_noise import FloatGaussian, FloatLaplace
from discreet.audit.precision import Bits, low_bit_events, precision_attack
from discreet.catalogue import catalogue
from discreet.core.mechanism import Mechanism
from discreet.testing import unsafe_seeded

SAMPLES = 2_000


def numeric():
    """Yield (mechanism, sensitivity, takes floats) for the additive mechanisms of the catalogue."""
    for card in catalogue():
        mechanism, data = card.example()
        sensitivity = getattr(mechanism, "sensitivity", getattr(mechanism, "l2_sensitivity", None))
        if isinstance(mechanism, Mechanism) and isinstance(data, int | float) and sensitivity is not None:
            yield pytest.param(
                mechanism, sensitivity, getattr(mechanism, "grid", None) is not None, id=card.name
            )
    for grid in ("1/1024", "1/10", "3"):
        mechanism = Laplace(sensitivity=2, epsilon=1, grid=Fraction(grid))
        yield pytest.param(mechanism, 2, True, id=f"laplace on a grid of {grid}")


def awkward_pairs(sensitivity, *, floats):
    """Yield the neighbours on which float noise is known to fall, for a mechanism of a sensitivity.

    With `floats` also the two zeros, and numbers as floats; without it, integers only.
    """
    delta, big, kind = Fraction(sensitivity), 1 << 53, float if floats else int
    if delta >= 1:
        yield kind(0), kind(1)
        yield kind(big), kind(big + 1)
    if floats or delta.denominator == 1:
        yield kind(0), kind(delta)
    if floats:
        yield -0.0, 0.0


def attack(mechanism, pair, seed, samples=SAMPLES):
    delta = 0 if math.isfinite(mechanism.loss.epsilon(0)) else 1e-2
    return precision_attack(mechanism, pair, samples=samples, delta=delta, rng=unsafe_seeded(seed))


@pytest.mark.parametrize(("mechanism", "sensitivity", "floats"), list(numeric()))
def test_shipped_mechanisms_stand(mechanism, sensitivity, floats):
    for seed, pair in enumerate(awkward_pairs(sensitivity, floats=floats)):
        report = attack(mechanism, pair, seed)
        assert report.holds, report


@pytest.mark.soak
@pytest.mark.parametrize(("mechanism", "sensitivity", "floats"), list(numeric()))
def test_shipped_mechanisms_stand_200_000_draws(mechanism, sensitivity, floats):
    for seed, pair in enumerate(awkward_pairs(sensitivity, floats=floats)):
        report = attack(mechanism, pair, seed, samples=200_000)
        assert report.holds, report


@pytest.mark.parametrize("broken", [FloatLaplace(1), FloatGaussian(1)], ids=["laplace", "gaussian"])
def test_float_noise_falls(broken):
    report = attack(broken, (0.0, 1.0), seed=0)
    assert not report.holds
    assert report.epsilon > 2.5
    assert repr(report).startswith("FALLS | claimed epsilon")


@pytest.mark.parametrize("broken", [FloatLaplace(1), FloatGaussian(1)], ids=["laplace", "gaussian"])
def test_equal_data_raise_no_alarm(broken):
    # A test that flags everything would prove nothing.
    assert attack(broken, (1.0, 1.0), seed=0).holds


def test_the_sign_of_zero_is_an_event():
    class SignedZero(FloatLaplace):
        def _draw(self, data, rng):
            return data

    assert not attack(SignedZero(1), (-0.0, 0.0), seed=0).holds


@pytest.mark.parametrize(
    ("outcome", "zeros", "places", "special"),
    [
        (1.0, 52, 0, ""),
        (3.0, 51, 0, ""),
        (0.5, 52, 1, ""),
        (1 + 2.0**-52, 0, 52, ""),
        (2**53 + 1, 0, 0, ""),
        (12, 2, 0, ""),
        (0.0, 53, 0, ""),
        ("-0.0", 53, 0, "negative zero"),
        ("nan", 53, 0, "not a finite number"),
        (math.inf, 53, 0, "not a finite number"),
    ],
)
def test_bits(outcome, zeros, places, special):
    assert Bits.of(outcome) == Bits(zeros, places, special)


def test_there_are_232_comparisons():
    assert 2 * len(list(low_bit_events())) == 232


def test_pairs_are_within_the_sensitivity():
    for sensitivity in (1, 2, 5):
        assert all(abs(a - b) <= sensitivity for a, b in awkward_pairs(sensitivity, floats=False))
    assert not list(awkward_pairs(0.5, floats=False))
    assert [type(a) for a, _ in awkward_pairs(1, floats=False)] == [int] * 3
    assert (-0.0, 0.0) in list(awkward_pairs(0.5, floats=True))
    assert all(abs(a - b) <= 0.5 for a, b in awkward_pairs(0.5, floats=True))
