"""Streams encoded in whole numbers: never further from the exact ones than the guarantee counts."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.streams.encoding import BLOCK, STRAY, Decoding, Encoding
from discreet.streams.exponential_sums import RATE_BITS, WEIGHT_BITS, invert, make_encoder

CASES = [(1, 1, 50), (5, 1, 1), (300, 7, 100), (400, 10**5, 3), (300, 10**12, 1)]


def encode(encoding, stream, size):
    buffers = encoding.begin()
    if size == 1:
        return np.array([encoding.take_one(buffers, int(x)) for x in stream]), buffers
    parts = [encoding.take(buffers, stream[k : k + size]) for k in range(0, len(stream), size)]
    return np.concatenate(parts), buffers


@pytest.mark.parametrize(("horizon", "largest", "fineness"), CASES)
@pytest.mark.parametrize("size", [1, 3, BLOCK, BLOCK + 1, 1000])
def test_encoded_numbers_are_within_the_stray_of_the_exact_ones(horizon, largest, fineness, size):
    encoder = make_encoder(horizon, Fraction(1))
    encoding = Encoding(encoder, horizon, largest, fineness)
    stream = np.random.default_rng(horizon).integers(-largest, largest + 1, horizon)  # noqa: TID251
    seen, _ = encode(encoding, stream, size)
    exact = [Fraction(0)] * len(encoder.rates)
    for number, x in zip(seen, stream.tolist(), strict=True):
        exact = [s * Fraction(r, 1 << RATE_BITS) + x for s, r in zip(exact, encoder.rates, strict=True)]
        exact = [Fraction(round(s * (1 << 200)), 1 << 200) for s in exact]  # short enough to go on with
        wanted = sum(Fraction(w, 1 << WEIGHT_BITS) * s for w, s in zip(encoder.weights, exact, strict=True))
        assert abs(int(number) - fineness * wanted) <= STRAY


def test_the_bound_on_floats_is_above_what_they_do():
    encoding = Encoding(make_encoder(400, Fraction(1)), 400, 10**5, 3)
    assert encoding.float_error < float(STRAY) / 6
    assert Encoding(make_encoder(400, Fraction(1)), 400, 1 << 48, 3).float_error > 1


@pytest.mark.parametrize("events", [1, 3])
def test_neighbours_are_as_near_as_the_shift_says(events):
    encoding = Encoding(make_encoder(40, Fraction(1)), 40, 2, 50)
    rng, furthest = np.random.default_rng(8), 0  # noqa: TID251
    for _ in range(300):
        left = rng.integers(0, 3, 40)
        right = left.copy()
        start = 0 if rng.random() < 0.5 else int(rng.integers(0, 40 - events))
        right[start : start + events] = 2 - left[start : start + events]
        sizes = rng.choice([1, 7, 40], 2)
        a, _ = encode(encoding, left, int(sizes[0]))
        b, _ = encode(encoding, right, int(sizes[1]))
        furthest = max(furthest, int(((a - b) ** 2).sum()))
    bound = encoding.square_shift(2, events)
    assert furthest <= bound
    assert furthest > bound / 2, "a bound that is far off would hide a fault"


@pytest.mark.parametrize("size", [1, 3, BLOCK, 1000])
def test_decoding_gives_running_sums_back(size):
    decay = Fraction(9, 10)
    encoder = make_encoder(700, decay)
    encoding, decoding = Encoding(encoder, 700, 3, 1 << 16), Decoding(invert(encoder, decay), 1 << 16)
    stream = np.random.default_rng(2).integers(0, 4, 700)  # noqa: TID251
    numbers, _ = encode(encoding, stream, 1000)
    buffers = decoding.begin()
    if size == 1:
        answers = [decoding.take_one(buffers, int(x)) for x in numbers]
    else:
        answers = np.concatenate([decoding.take(buffers, numbers[k : k + size]) for k in range(0, 700, size)])
    truth, total = [], 0.0
    for x in stream.tolist():
        total = 0.9 * total + x
        truth.append(total)
    assert np.allclose(answers, truth, atol=1e-3)
    assert math.isfinite(sum(buffers))


def test_rounding_moves_neighbours_further_apart_and_the_shift_counts_it():
    encoding = Encoding(make_encoder(40, Fraction(1)), 40, 2, 1)
    rng, furthest = np.random.default_rng(0), 0  # noqa: TID251
    for _ in range(300):
        left = rng.integers(0, 3, 40)
        right = left.copy()
        left[0], right[0] = 0, 2
        moved = encode(encoding, right, 1000)[0] - encode(encoding, left, 1000)[0]
        furthest = max(furthest, int((moved**2).sum()))
    without_rounding = 4 * encoding.encoder.square_norm(40)
    assert 2 * without_rounding < furthest <= encoding.square_shift(2, 1)


@pytest.mark.parametrize("streams", [2, 4])
def test_events_in_several_streams_move_no_further_than_in_one_but_for_rounding(streams):
    """Four events, one or two in each stream, so coarsely encoded that rounding is most of what they move."""
    encoding = Encoding(make_encoder(40, Fraction(1)), 40, 2, 1)
    rng, furthest = np.random.default_rng(streams), 0  # noqa: TID251
    for _ in range(100):
        moved = 0
        for _ in range(streams):
            left = rng.integers(0, 3, 40)
            right = left.copy()
            left[: 4 // streams], right[: 4 // streams] = 0, 2
            apart = encode(encoding, right, 1000)[0] - encode(encoding, left, 1000)[0]
            moved += int((apart**2).sum())
        furthest = max(furthest, moved)
    assert encoding.square_shift(2, 4) < encoding.square_shift(2, 4, streams)
    assert furthest <= encoding.square_shift(2, 4, streams)
    exact = encoding.encoder.square_norm
    for parts in ((4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)):
        assert sum(exact(40, part) for part in parts) <= exact(40, 4) * (1 + 1e-12)
    if streams == 4:
        assert furthest > 4 * (4 * exact(40)), "events that do not overlap move further by rounding alone"
