"""Sums of decaying powers: nearly the square root of summation, inverted exactly."""

import hashlib
from fractions import Fraction

import numpy as np
import pytest

from discreet.streams.exponential_sums import (
    RATE_BITS,
    WEIGHT_BITS,
    invert,
    make_encoder,
    make_perturbed_encoder,
)


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
    squares = np.cumsum(root(horizon) ** 2)
    assert 1 <= error / squares[-1] < 1.007
    assert len(encoder.rates) <= 2.7 + power / 3
    if power <= 12:
        norms = invert(encoder, one).square_norms(np.arange(1, horizon + 1))
        assert 0.96 < encoder.square_norm(horizon) * norms.mean() / (squares[-1] * squares.mean()) < 1


@pytest.mark.parametrize("decay", [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
@pytest.mark.parametrize("horizon", [10, 1000])
def test_sums_that_forget_err_hardly_more_than_their_root(horizon, decay):
    encoder = make_encoder(horizon, decay)
    error = (encoder.square_norm(horizon) * float(invert(encoder, decay).square_norms(horizon))) ** 0.5
    assert 1 <= error / float((root(horizon, float(decay)) ** 2).sum()) < (1.001 if horizon > 10 else 1.006)


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


def test_every_machine_and_every_release_has_the_same_coefficients():
    """Numpy's exponential differs in the last digit with the instructions of the processor."""
    found = [make_encoder(1 << power, Fraction(1)) for power in (0, 8, 14, 20, 30)]
    found += [make_encoder(365, Fraction(9, 10)), *(make_perturbed_encoder(1 << power) for power in (14, 26))]
    digits = "".join(repr(each) for each in found)
    assert hashlib.sha256(digits.encode()).hexdigest()[:16] == "080aaf9e3361a8d8"
