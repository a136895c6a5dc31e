"""The curve of a sparse-vector conversation against brute force and against the losses it contains."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from discreet.accounting.composition import compose
from discreet.audit import output_distribution
from discreet.core.errors import InvalidParameter
from discreet.core.loss import GaussianLoss, PureLoss
from discreet.mechanisms.scores import Monotone
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.loss import SparseLoss
from discreet.sparse.tiny import each_value

HALF = Fraction(1, 2)


def pair(low, high):
    """Return the two-point pair with losses high and -low, in 60 digits."""
    low, high = mpmath.mpf(low.numerator) / low.denominator, mpmath.mpf(high.numerator) / high.denominator
    q = (1 - mpmath.exp(-low)) / (mpmath.exp(high) - mpmath.exp(-low))
    return (q * mpmath.exp(high), 1 - q * mpmath.exp(high)), (q, 1 - q)


def brute_delta(bits, epsilon):
    """Return the larger hockey-stick divergence of a product of two-point pairs, both ways round."""
    with mpmath.workdps(60):
        sides = []
        for flip in (False, True):
            total = mpmath.mpf(0)
            for outcome in product((0, 1), repeat=len(bits)):
                p = q = mpmath.mpf(1)
                for (left, right), place in zip((pair(*bit) for bit in bits), outcome, strict=True):
                    p, q = p * left[place], q * right[place]
                if flip:
                    p, q = q, p
                total += max(mpmath.mpf(0), p - mpmath.exp(epsilon) * q)
            sides.append(total)
        return max(sides)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("low", "high"), [(HALF, HALF), (Fraction(1, 10), Fraction(7, 10)), (2, 3)])
def test_the_curve_is_the_product_of_bits(low, high, count):
    low, high = Fraction(low), Fraction(high)
    loss = SparseLoss(low=low, high=high, count=count)
    for epsilon in (0.0, 0.3, 0.9, 1.7, float(count * high) * 0.99):
        exact = brute_delta([(low, high)] * count, epsilon)
        assert exact <= loss.delta(epsilon) <= exact * (1 + 1e-9) + 1e-15


def test_values_of_pure_loss_join_the_product():
    loss = SparseLoss(low=HALF, high=HALF, count=2, value=Fraction(1, 5), values=3)
    bits = [(HALF, HALF)] * 2 + [(Fraction(1, 5), Fraction(1, 5))] * 3
    for epsilon in (0.0, 0.5, 1.2):
        exact = brute_delta(bits, epsilon)
        assert exact <= loss.delta(epsilon) <= exact * (1 + 1e-9)
    assert loss.pure == Fraction(8, 5)


def test_gaussian_values_join_the_product():
    low, high, mu = Fraction(1, 5), Fraction(3, 5), Fraction(1, 2)
    loss = SparseLoss(low=low, high=high, count=1, mu=mu)
    (p, _), (q, _) = pair(low, high)
    x = np.linspace(-12, 13, 400_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    shifted = np.exp(-((x - float(mu)) ** 2) / 2) / math.sqrt(2 * math.pi)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        curves = []
        for left, right in ((float(p), float(q)), (float(q), float(p))):
            gaps = [
                np.maximum(a * shifted - math.exp(epsilon) * b * density, 0)
                for a, b in ((left, right), (1 - left, 1 - right))
            ]
            curves.append(sum(float(gap.sum() * (x[1] - x[0])) for gap in gaps))
        assert loss.delta(epsilon) == pytest.approx(max(curves), rel=1e-5)


def test_one_symmetric_bit_is_the_pure_loss():
    loss, pure = SparseLoss(low=Fraction(1), high=Fraction(1), count=1), PureLoss(1)
    for epsilon in (0, 0.25, 0.5, 0.99, 1, 2):
        assert loss.delta(epsilon) == pytest.approx(pure.delta(epsilon), rel=1e-9, abs=1e-15)
    for order in (1.001, 1.5, 2, 8, 100):
        assert loss.renyi(order) == pytest.approx(pure.renyi(order), rel=1e-6)
    assert loss.epsilon(0) == 1
    assert str(loss) == "epsilon 1"


def test_failure_mass_is_added_step_by_step():
    loss = SparseLoss(low=Fraction(1), high=Fraction(1), count=3, mass=Fraction(1, 100))
    assert loss.delta(3) == pytest.approx(1 - 0.99**3)
    assert loss.delta(1) == pytest.approx(
        1 - 0.99**3 * (1 - SparseLoss(low=Fraction(1), high=Fraction(1), count=3).delta(1))
    )
    assert loss.epsilon(0) == math.inf
    assert loss.failure == pytest.approx(0.03)
    assert "delta 0.03" in str(loss)


@pytest.mark.parametrize("order", [1.01, 1.5, 2, 5, 30])
@pytest.mark.parametrize(("low", "high"), [(Fraction(1, 10), Fraction(7, 10)), (Fraction(3), Fraction(4))])
def test_renyi_views_are_those_of_the_bits(low, high, order):
    loss = SparseLoss(low=low, high=high, count=4, value=HALF, values=2, mu=HALF)
    with mpmath.workdps(40):
        sides = []
        for left, right in (pair(low, high), pair(low, high)[::-1]):
            moment = sum(p**order * q ** (1 - mpmath.mpf(order)) for p, q in zip(left, right, strict=True))
            sides.append(mpmath.log(moment) / (order - 1))
        exact = 4 * max(sides)
    exact += 2 * PureLoss(HALF).renyi(order) + GaussianLoss(HALF).renyi(order)
    assert exact <= loss.renyi(order) <= exact * (1 + 1e-6) + 1e-9
    assert loss.renyi(order) <= order * loss.zcdp() * (1 + 1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        SparseLoss(low=HALF, high=HALF, count=4),
        SparseLoss(low=HALF, high=HALF, count=2, value=Fraction(1, 5), values=3),
        SparseLoss(low=HALF, high=HALF, count=2, mu=HALF, slack=Fraction(101, 100)),
        SparseLoss(low=HALF, high=HALF, count=2, mass=Fraction(1, 10**4)),
    ],
    ids=str,
)
def test_the_loss_distribution_is_just_above_the_curve(loss):
    pair = loss.pld(Fraction(1, 1000))
    for epsilon in (0.0, 0.2, 0.7, 1.1):
        claimed = loss.delta(epsilon)
        assert claimed * (1 - 1e-6) <= max(one.delta(epsilon) for one in pair) <= claimed * 1.01 + 1e-9


def test_a_rising_and_a_falling_conversation_compose_soundly():
    """Counts and negated counts have equal losses in opposite orders; their composition covers that."""
    mechanism = AboveThreshold(sensitivity=Monotone(1), epsilon=12, delta=0, threshold=0)

    def run(data, rng):
        return tuple(each_value(3)(mechanism.open(one, rng=rng)) for one in data)

    left = output_distribution(run, ((-1, 0, 0), (0, 0, 1)))
    right = output_distribution(run, ((0, 0, 1), (-1, 0, 0)))
    level = 7.2
    truth = sum(max(0.0, float(p) - math.exp(level) * float(right.get(o, 0))) for o, p in left.items())
    assert truth == pytest.approx(0.997468, abs=1e-6)
    assert truth <= compose(mechanism, mechanism).delta(level)


def test_the_order_of_a_renyi_view_is_checked():
    with pytest.raises(InvalidParameter, match="order"):
        SparseLoss(low=HALF, high=HALF, count=1).renyi(1)


@pytest.mark.parametrize("high", [Fraction(1, 10**9), Fraction(1, 1000), Fraction(1), Fraction(300)])
@pytest.mark.parametrize("count", [1, 50, 3000])
def test_extreme_parameters_stay_finite_and_ordered(high, count):
    loss = SparseLoss(low=high / 3, high=high, count=count)
    curve = [loss.delta(share * float(high) * count) for share in (0, 0.01, 0.5, 0.99, 1)]
    assert all(0 <= d <= 1 for d in curve)
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] == 0
    assert loss.epsilon(1e-9) <= loss.epsilon(0)
    assert 0 <= loss.zcdp() < math.inf


def test_values_with_next_to_no_noise_promise_nothing():
    assert SparseLoss(low=HALF, high=HALF, count=1, mu=Fraction(60), slack=Fraction(2)).delta(1) == 1


def test_composition_of_many_small_bits_is_far_below_their_sum():
    loss = SparseLoss(low=Fraction(1, 50), high=Fraction(1, 50), count=500)
    assert loss.epsilon(1e-6) < 0.3 * loss.epsilon(0)
    assert loss.delta(loss.epsilon(1e-6)) <= 1e-6


def test_the_books_words():
    assert str(SparseLoss(low=HALF, high=HALF, count=3, values=3, value=HALF)).startswith("3 x epsilon 0.5")
    assert "Gaussian loss mu 0.5" in str(SparseLoss(low=HALF, high=HALF, count=1, mu=HALF))
