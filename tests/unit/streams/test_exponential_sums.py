"""Sums of decaying powers: nearly the square root of summation, inverted exactly."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.streams.exponential_sums import RATE_BITS, WEIGHT_BITS, invert, make_encoder


def coefficients(encoder, count):
    rates, weights = np.ldexp(encoder.rates, -RATE_BITS), np.ldexp(encoder.weights, -WEIGHT_BITS)
    return rates ** np.arange(count)[:, None] @ weights


def root(count, decay=1.0):
    """The exact square root of summation: binomial(2 t, t) / 4^t, decayed."""
    steps = np.arange(1, count)
    return np.cumprod([1.0, *(decay * (2 * steps - 1) / (2 * steps))])


@pytest.mark.parametrize("decay", [Fraction(1), Fraction(99, 100), Fraction(1, 10)])
@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 100, 1000])
def test_decoding_undoes_encoding_and_adds_up(horizon, decay):
    encoder = make_encoder(horizon, decay)
    both = np.convolve(coefficients(encoder, horizon), invert(encoder, decay).coefficients(horizon))
    assert np.allclose(both[:horizon], float(decay) ** np.arange(horizon), atol=1e-12)


@pytest.mark.parametrize("power", range(1, 21))
def test_the_largest_error_is_nearly_that_of_the_exact_root(power):
    horizon, one = 1 << power, Fraction(1)
    encoder = make_encoder(horizon, one)
    error = (encoder.square_norm(horizon) * float(invert(encoder, one).square_norms(horizon))) ** 0.5
    exact = float((root(horizon) ** 2).sum())
    assert 1 <= error / exact < 1.0007
    assert len(encoder.rates) <= 5 + power / 3


@pytest.mark.parametrize("decay", [Fraction(1), Fraction(4, 5)])
def test_norms_bound_those_that_are_added_up(decay):
    encoder = make_encoder(50, decay)
    c = coefficients(encoder, 50)
    assert encoder.square_norm(50) == pytest.approx(float((c**2).sum()), rel=1e-8)
    assert encoder.square_norm(50) >= float((c**2).sum())
    b = invert(encoder, decay).coefficients(50)
    norms = invert(encoder, decay).square_norms(np.arange(1, 51))
    assert norms == pytest.approx(np.cumsum(b**2), rel=1e-9)
    rng = np.random.default_rng(5)  # noqa: TID251
    for events in (2, 3, 10):
        copies = np.zeros((50, 50))
        for start in range(50):
            copies[start, start:] = c[: 50 - start]
        most = max(
            float((copies[sorted(rng.choice(50, events, replace=False))].sum(axis=0) ** 2).sum())
            for _ in range(300)
        )
        together = float((copies[:events].sum(axis=0) ** 2).sum())
        assert most <= together <= encoder.square_norm(50, events)


def test_powers_are_rounded_to_the_unit():
    encoder = make_encoder(30, Fraction(1))
    for k, row in enumerate(encoder.powers(9, 20)):
        for power, rate in zip(row, encoder.rates, strict=True):
            assert abs(power - Fraction(rate, 1 << RATE_BITS) ** k * (1 << 20)) <= Fraction(51, 100)
