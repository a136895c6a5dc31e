"""Bounds on weighted sums and lengths of noise, against noise that is drawn."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.query_release.linear.tails import gaussian_length, gaussian_tail, laplace_tail
from discreet.testing import unsafe_seeded


@pytest.mark.parametrize("coefficients", [[1.0] * 30, [1.0, 0.5, 0.25], [3.0, -1.0] * 5])
def test_weighted_sums_stay_within_their_tails(coefficients):
    """2,000 sums; at beta 0.05 the bound may fail a hundred times, and a third of it fails far more often."""
    weights = np.array(coefficients)
    square, largest, beta = float(weights @ weights), float(np.abs(weights).max()), Fraction(1, 20)
    for noise, bound in (
        (DiscreteLaplace(Fraction(7)), laplace_tail(Fraction(7), square, largest, 1, beta)),
        (DiscreteGaussian(Fraction(50)), gaussian_tail(Fraction(50), square, 1, beta)),
    ):
        drawn = noise.sample(2000 * len(weights), unsafe_seeded(10)).reshape(2000, -1) @ weights
        assert (np.abs(drawn) > bound).sum() <= 100
        assert (np.abs(drawn) > bound / 3).sum() > 200


def test_the_length_of_the_noise_is_bounded():
    """2,000 vectors of 50 noises; at beta 0.05 the bound may fail a hundred times; 0.8 of it fails often."""
    bound = gaussian_length(Fraction(50), 50, Fraction(1, 20))
    lengths = np.linalg.norm(
        DiscreteGaussian(Fraction(50)).sample(100_000, unsafe_seeded(11)).reshape(2000, 50), axis=1
    )
    assert (lengths > bound).sum() <= 100
    assert (lengths > 0.8 * bound).sum() > 200
