"""The square-root counter: its matrices, its noise, and how near the buffered counter comes."""

import math

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.mechanisms import Gaussian
from discreet.streams import (
    BufferedCounter,
    Contribution,
    Event,
    SquareRootCounter,
    UserCap,
    UserEvents,
    WholeElements,
)


def counter(horizon, **given):
    return SquareRootCounter(
        **{"horizon": horizon, "epsilon": 1, "delta": 1e-6, "neighbours": Event(), **given}
    )


@pytest.mark.parametrize("horizon", [1, 2, 7, 256, 257, 600])
@pytest.mark.parametrize("bands", [None, 1, 5, 300])
def test_answers_are_prefix_sums_however_they_are_pushed(horizon, bands):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    mechanism = counter(horizon, bands=bands)
    for size in (1, 100, horizon):
        several = mechanism.open(rng=NoNoise())
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts) == pytest.approx(np.cumsum(stream), abs=0.02)


@pytest.mark.parametrize("bands", [None, 1, 8, 64])
def test_noise_covers_what_neighbours_move_by_in_whole_numbers(bands):
    """As shipped: one event at any step, and the encoded numbers that noise is added to."""

    class Seen(NoNoise):
        def perform(self, primitive, value):
            self.value = value
            return value

    mechanism = counter(64, bands=bands, elements=WholeElements(3), fineness=50)
    stream = np.arange(64) % 4
    for step in range(64):
        changed, found = stream.copy(), []
        changed[step] = 3 - stream[step]
        for each in (stream, changed):
            rng = Seen()
            mechanism.open(rng=rng).push_many(each)
            found.append(rng.value)
        assert ((found[0] - found[1]) ** 2).sum() <= mechanism.square_shift
    root = mechanism.root
    matrix = np.array([[0.0] * j + root.encoder[: 64 - j].tolist() for j in range(64)], dtype=object)
    columns = np.array([[*row, *[0.0] * (64 - len(row))] for row in matrix], dtype=float)
    inverse = np.tril(np.ones((64, 64))) @ np.linalg.inv(columns.T)
    assert inverse[-1][::-1] == pytest.approx(root.decoder, abs=1e-9)
    assert root.norm == pytest.approx(np.linalg.norm(columns, axis=1).max())


def test_the_buffered_counter_is_within_half_a_hundredth_and_typically_below():
    for horizon in (100, 1 << 12):
        exact = counter(horizon)
        near = BufferedCounter(horizon=horizon, epsilon=1, delta=1e-6, neighbours=Event())
        assert 1 < near.variance(horizon) / exact.variance(horizon) < 1.011
        assert 0.97 < near.mean_variance / exact.mean_variance < 0.99
        squares = exact.root.square_norms[-1]
        sigma = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=1e-6).sigma
        assert math.sqrt(exact.variance(horizon)) == pytest.approx(sigma * squares, rel=2e-3)


def test_a_narrow_band_errs_more_and_users_cost_their_events():
    wide, narrow = counter(512), counter(512, bands=16)
    assert narrow.noise.variance < wide.noise.variance and narrow.variance(512) > 2 * wide.variance(512)
    users = counter(512, neighbours=UserEvents(), cap=UserCap(3))
    assert users.square_shift >= 8.9 * wide.square_shift


def test_what_it_refuses_and_how_it_goes_on():
    with pytest.raises(ValueError, match="horizon"):
        counter(1 << 17)
    with pytest.raises(ValueError, match="delta"):
        counter(8, delta=0)
    with pytest.raises(ValueError, match="elements"):
        counter(1 << 12, elements=WholeElements(1 << 40), neighbours=Contribution(1))
    mechanism = counter(8)
    first = mechanism.open(rng=NoNoise())
    begun = [first.push(1) for _ in range(3)]
    later = mechanism.restore(first.checkpoint(), rng=NoNoise())
    assert begun + later.push_many([1] * 5).tolist() == pytest.approx(list(range(1, 9)), abs=0.02)
