"""Statements of [DR14] section 12.3 that do not hold, and those that do."""

import math

import numpy as np
import pytest

from discreet.core.neighbours import Event
from discreet.streams import TreeCounter, WideTreeCounter
from discreet.streams.book import corollary_12_3, lemma_12_2
from discreet.testing import unsafe_seeded


def laplace_sum_tail(times, at):
    """Return P[Y > at] for a sum of Laplace noises of scale 1, by sums on a fine grid."""
    grid = np.linspace(-60, 60, 240_001)
    density = np.exp(-np.abs(grid)) / 2
    step = grid[1] - grid[0]
    law = density.copy()
    for _ in range(times - 1):
        size = 1 << (2 * grid.size).bit_length()
        full = np.fft.irfft(np.fft.rfft(law, size) * np.fft.rfft(density, size), size) * step
        law = full[grid.size // 2 : grid.size // 2 + grid.size]
    return float(law[grid > at].sum() * step)


@pytest.mark.parametrize("times", [1, 4, 9])
def test_lemma_12_2_holds(times):
    for share in (0.1, 0.4, 0.7, 0.99, 1.5, 3):
        at = share * 2 * math.sqrt(2) * times
        assert laplace_sum_tail(times, at) <= lemma_12_2(scales=[1] * times, beyond=at) + 1e-9
        if share < 1:
            assert lemma_12_2(scales=[1] * times, beyond=at) == pytest.approx(
                math.exp(-(at**2) / (8 * times))
            )


def test_corollary_12_3_holds_and_the_exact_error_is_smaller():
    for times in (1, 4, 9):
        for beta in (0.5, 0.1, 1e-3):
            at = corollary_12_3(scales=[1] * times, beta=beta)
            assert 2 * laplace_sum_tail(times, at) <= beta
    counter = TreeCounter(horizon=1024, epsilon=1, delta=0, neighbours=Event())
    for step, beta in ((512, 0.05), (1023, 0.05), (1023, 1e-6)):
        book = corollary_12_3(scales=[counter.levels] * step.bit_count(), beta=beta)
        assert counter.error(beta, step=step) <= book


def test_the_bounds_of_the_book_refuse_what_is_none():
    for given in ({"scales": []}, {"scales": [0]}, {"scales": [1], "beta": 2}):
        with pytest.raises(ValueError, match=r"scales|beta"):
            corollary_12_3(**{"beta": 0.1, **given})


def test_corollary_12_4_is_upside_down():
    """For lambda below alpha sqrt(k) b the tail is larger than printed, not smaller."""
    alpha = 2.5
    assert alpha < 2 * math.sqrt(2)
    assert laplace_sum_tail(1, 0.0) == pytest.approx(0.5, abs=1e-3)
    assert laplace_sum_tail(1, 0.0) > math.exp(-(alpha**2) / 8)
    assert laplace_sum_tail(1, alpha) < math.exp(-(alpha**2) / 8), "from there on it holds"


def test_the_largest_error_grows_with_the_square_of_the_logarithm():
    """Not with its power 5/3: the quotient by that nearly doubles from 2^4 to 2^16 steps."""
    rng, seen = unsafe_seeded(12), {}
    for levels, runs in ((4, 400), (16, 12)):
        counter = TreeCounter(horizon=1 << levels, epsilon=1, delta=0, neighbours=Event())
        nothing = np.zeros(1 << levels, dtype=np.int64)
        largest = [np.abs(counter.open(rng=rng).push_many(nothing)).max() for _ in range(runs)]
        seen[levels] = float(np.mean(largest))
    assert seen[16] / seen[4] / 4 ** (5 / 3) > 1.6
    assert seen[16] / seen[4] / 4**2 < 1.4


def find_phases(output, phases, k):
    """Return the phases that an output matches as printed: below k / 2 before it, no longer at its end."""
    at = [0.0, *output]
    return [i for i in range(phases) if at[i * k] < k / 2 <= at[(i + 1) * k]]


def test_theorem_12_6_matches_of_its_proof_are_not_disjoint():
    k, phases = 4, 3
    up_and_down = [4.0] * 4 + [0.0] * 4 + [4.0] * 4
    assert find_phases(up_and_down, phases, k) == [0, 2]
    assert find_phases(up_and_down, phases, k)[:1] == [0], "the first crossing is one"


def test_theorem_12_6_an_error_of_k_matches_nothing():
    k, phases = 4, 3
    truth = np.cumsum([0] * 4 + [1] * 4 + [0] * 4)
    silent = np.zeros(12)
    assert np.abs(silent - truth).max() <= k and find_phases(silent, phases, k) == []
    close = np.where(truth >= k, truth - (k / 2 - 0.1), truth + 0.4 * (truth > 0))
    assert np.abs(close - truth).max() < k / 2 and find_phases(close, phases, k) == [1]


def test_theorem_12_6_the_printed_power_is_another():
    """Two inputs differ in 2 k = log2(T) / 2 events: e^(-2 k) is T^-0.72, not T^(-1/2)."""
    for levels in (20, 40, 80):
        assert math.exp(-levels / 2) == pytest.approx((2.0**levels) ** (-1 / (2 * math.log(2))))
        assert math.exp(-levels / 2) < (2.0**levels) ** -0.7


def find_lower_bound(horizon, epsilon):
    """Return k / 2 for the largest k at which first crossings in all phases would sum to more than 1."""
    fits = [k for k in range(1, 200) if horizon // k * (2 / 3) * math.exp(-2 * k * epsilon) > 1]
    return max(fits, default=0) / 2


def test_theorem_12_6_as_repaired_is_below_every_counter():
    bounds = [find_lower_bound(1 << levels, 1) for levels in (10, 20, 30)]
    assert bounds[0] >= 1 and np.all(np.diff(bounds) >= 1), "it grows with log T"
    counter = WideTreeCounter(horizon=1 << 14, epsilon=1, delta=0, neighbours=Event())
    rng, nothing = unsafe_seeded(3), np.zeros(1 << 14, dtype=np.int64)
    largest = [np.abs(counter.open(rng=rng).push_many(nothing)).max() for _ in range(12)]
    assert np.quantile(largest, 2 / 3) > find_lower_bound(1 << 14, 1)
