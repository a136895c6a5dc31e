"""Exact choices: laws against brute force, and the samplers' decisions bit by bit at the edge."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.rng import TAIL, Rng
from discreet.core.rounding import exp_bounds, exp_fraction
from discreet.noise import DiscreteLaplace
from discreet.noise.selection import (
    ExponentialChoice,
    FlippedChoice,
    NoisyArgmax,
    NoisyArgmaxGap,
    PeeledChoices,
    _Board,
    exponential_weights,
)
from discreet.testing import unsafe_seeded

HALF = Fraction(1, 2)


class Script(Rng):
    """Hands out chosen integers, each as many bytes as are asked for."""

    unsafe = True

    def __init__(self, *chunks: tuple[int, int]) -> None:
        self.chunks = list(chunks)

    def random_bytes(self, count: int) -> bytes:
        value, size = self.chunks.pop(0)
        assert size == count, f"asked for {count} bytes, the script has {size}"
        return value.to_bytes(size, "little")


def scores(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("primitive", "given_scores", "wanted"),
    [
        (ExponentialChoice, (0, 1), (0.3775, 0.6225)),
        (FlippedChoice, (0, 1), (0.3033, 0.6967)),
        (ExponentialChoice, (0, 2, 3), (0.1220, 0.3315, 0.5465)),
        (FlippedChoice, (0, 2, 3), (0.0890, 0.2807, 0.6303)),
    ],
)
def test_the_laws_are_the_known_ones(primitive, given_scores, wanted):
    law = dict(primitive(HALF, Fraction(2)).law(scores(*given_scores)))
    assert [float(p) for p in law.values()] == pytest.approx(wanted, abs=5e-5)
    assert abs(sum(law.values()) - 1) < Fraction(1, 2**100)


def test_the_flipped_law_is_that_of_a_random_order():
    values = scores(0, 3, 1, 3)
    coins = exponential_weights(values, HALF)
    wanted = [Fraction(0)] * 4
    for order in itertools.permutations(range(4)):
        none_yet = Fraction(1, math.factorial(4))
        for place in order:
            wanted[place] += none_yet * coins[place]
            none_yet *= 1 - coins[place]
    law = dict(FlippedChoice(HALF, Fraction(2)).law(values))
    for place in range(4):
        assert abs(law[place] - wanted[place]) < Fraction(1, 2**100)


def test_the_noisy_law_is_that_of_all_noises():
    noise = DiscreteLaplace(Fraction(1, 2))
    values, wanted = (0, 2, 1), [Fraction(0)] * 3
    window = [(z, noise.pmf(z)) for z in range(-16, 17)]
    for draw in itertools.product(window, repeat=3):
        sums = [score + z for score, (z, _) in zip(values, draw, strict=True)]
        winners = [place for place in range(3) if sums[place] == max(sums)]
        for place in winners:
            wanted[place] += math.prod((p for _, p in draw), start=Fraction(1)) / len(winners)
    law = dict(NoisyArgmax(noise, Fraction(2)).law(scores(*values)))
    for place in range(3):
        assert abs(law[place] - wanted[place]) < 1e-12
    assert 1 - TAIL <= sum(law.values()) <= 1 + Fraction(1, 2**90)


def test_the_gap_law_is_that_of_all_noises_and_orders():
    noise = DiscreteLaplace(Fraction(1, 2))
    values, wanted = (0, 1, 1), Counter()
    window = [(z, float(noise.pmf(z))) for z in range(-9, 10)]
    for draw in itertools.product(window, repeat=3):
        sums = [score + z for score, (z, _) in zip(values, draw, strict=True)]
        mass = math.prod(p for _, p in draw) / 6
        for order in itertools.permutations(range(3)):
            winner = max(range(3), key=lambda i, order=order, sums=sums: (sums[i], -order[i]))
            needed = max(sums[j] + (order[j] < order[winner]) for j in range(3) if j != winner)
            wanted[winner, sums[winner] - needed] += mass
    law = dict(NoisyArgmaxGap(noise, Fraction(2)).law(scores(*values)))
    for outcome, mass in wanted.items():
        assert float(law[outcome]) == pytest.approx(mass, abs=1e-7)
    assert 1 - TAIL <= sum(law.values()) <= 1 + Fraction(1, 2**90)
    index_only = dict(NoisyArgmax(noise, Fraction(2)).law(scores(*values)))
    for place in range(3):
        marginal = sum(p for (winner, _), p in law.items() if winner == place)
        assert abs(marginal - index_only[place]) < TAIL


def test_peeling_is_the_exponential_mechanism_on_the_rest():
    values, base = scores(5, 0, 3), (Fraction(1, 3), Fraction(2), Fraction(1))
    law = dict(PeeledChoices(HALF, Fraction(2), 3, base).law(values))
    first = dict(ExponentialChoice(HALF, Fraction(2), base).law(values))
    rest = dict(ExponentialChoice(HALF, Fraction(2), base[:2]).law(values[:2]))
    assert len(law) == 6
    assert abs(law[2, 0, 1] - first[2] * rest[0]) < Fraction(1, 2**100)


def test_peeling_stays_accurate_when_the_rest_is_hopeless():
    law = dict(PeeledChoices(Fraction(1), Fraction(1), 2).law(scores(1000, 1, 0)))
    assert float(law[0, 1]) == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-12)


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_coin_is_decided_exactly_at_its_probability(offset):
    # 104 bits of the uniform number: the true chance of heads, one unit less or more.
    low, high = exp_bounds(HALF, 104)
    bits = low - 1 if offset < 0 else high + 1
    first, next_, last = bits >> 96, bits >> 64 & (1 << 32) - 1, bits & (1 << 64) - 1
    # The best candidate's byte is 0, which settles it; then one choice among the heads.
    words = (first | 0 << 8, 2)
    heads = 2 if offset < 0 else 1
    rng = Script(words, (next_, 4), (last, 8), *([(0, 1)] if heads == 2 else []))
    chosen = FlippedChoice(HALF, Fraction(2)).sample(scores(0, 1), rng)
    assert chosen == (0 if offset < 0 else 1)
    assert not rng.chunks


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_dart_is_decided_exactly_at_the_edge(offset):
    board = _Board(scores(0, 1), HALF, None, ())
    low, high = exp_bounds(HALF, 40 + 64)
    bits = low - 1 if offset < 0 else high + 1
    size = (int(board._ends[-1]) - 1).bit_length()
    bytes_ = (size + 7) // 8
    dart = (bits >> 64) << (8 * bytes_ - size)
    rng = Script((dart, bytes_), (bits & (1 << 64) - 1, 8))
    assert board.throw(rng) == (0 if offset < 0 else None)
    assert not rng.chunks


def test_a_dart_still_in_doubt_draws_more_bits():
    board = _Board(scores(0, 1), HALF, None, ())
    low, high = exp_bounds(HALF, 40 + 128)
    size = (int(board._ends[-1]) - 1).bit_length()
    for bits, hit in ((low - 1, 0), (high + 1, None)):
        # 64 bits agree with the true width to the last one; 64 more decide.
        bytes_ = (size + 7) // 8
        dart = (bits >> 128) << (8 * bytes_ - size)
        rng = Script((dart, bytes_), (bits >> 64 & (1 << 64) - 1, 8), (bits & (1 << 64) - 1, 8))
        assert board.throw(rng) == hit
        assert not rng.chunks


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6),
    st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6),
    st.sampled_from([None, "skewed"]),
)
def test_every_bar_covers_its_true_width(values, rate, kind):
    base = None if kind is None else tuple(Fraction(3) ** (40 * i - 100) for i in range(len(values)))
    board = _Board(scores(*values), rate, base, ())
    bars = np.diff(board._ends, prepend=0)
    for place, score in enumerate(values):
        weight = Fraction(1) if base is None else base[place]
        exponent = rate * (max(values) - score)
        low, high = exp_bounds(exponent, max(0, board._scale) + 400)
        true = Fraction(high, 1 << (max(0, board._scale) + 400)) * weight * Fraction(2) ** board._scale
        assert int(bars[place]) >= true
        assert float(board._widths[place]) * (1 - 2.0**-30) <= float(Fraction(low, high) * true) + 1e-6
    assert board._ends[-1] < 2**62


@pytest.mark.parametrize("gap", [1, 2**62, 2**63])
def test_gaps_beyond_63_bits_do_not_wrap(gap):
    values = scores(-(gap // 2), gap - gap // 2 if gap < 2**63 else 2**62)
    rng = unsafe_seeded(5)
    for primitive in (ExponentialChoice(Fraction(40), Fraction(1)), FlippedChoice(Fraction(40), Fraction(1))):
        assert {primitive.sample(values, rng) for _ in range(50)} == {1}


def test_a_rate_beyond_all_floats_is_no_overflow():
    rate = Fraction(10) ** 400
    for primitive in (ExponentialChoice(rate, Fraction(1)), FlippedChoice(rate, Fraction(1))):
        assert primitive.sample(scores(0, 2**62, 2**62 - 1), unsafe_seeded(1)) == 1


def test_a_base_of_any_size_is_taken_as_it_is():
    rng = unsafe_seeded(2)
    for factor in (Fraction(1, 2**900), Fraction(1), Fraction(2**900)):
        base = (factor, factor * 3)
        primitive = ExponentialChoice(Fraction(1, 100), Fraction(1), base)
        share = sum(primitive.sample(scores(0, 0), rng) for _ in range(1500)) / 1500
        assert abs(share - 0.75) < 0.067  # six standard deviations
    lopsided = ExponentialChoice(Fraction(1), Fraction(1), (Fraction(1, 2**900), Fraction(1)))
    assert {lopsided.sample(scores(5, 0), rng) for _ in range(100)} == {1}
    assert {lopsided.sample(scores(2000, 0), rng) for _ in range(100)} == {0}


def test_all_tied_candidates_and_a_single_one():
    rng = unsafe_seeded(3)
    tied = np.zeros(1000, dtype=np.int64)
    assert len({FlippedChoice(HALF, Fraction(1)).sample(tied, rng) for _ in range(200)}) > 150
    assert len({ExponentialChoice(HALF, Fraction(1)).sample(tied, rng) for _ in range(200)}) > 150
    for primitive in (FlippedChoice(HALF, Fraction(1)), ExponentialChoice(HALF, Fraction(1))):
        assert primitive.sample(scores(7), rng) == 0
    assert sorted(PeeledChoices(HALF, Fraction(1), 9).sample(tied[:9], rng)) == list(range(9))


def test_peeling_makes_a_new_board_when_the_taken_fill_it():
    values = scores(0, 10**6, 2 * 10**6, 3 * 10**6)
    assert PeeledChoices(Fraction(1), Fraction(1), 4).sample(values, unsafe_seeded(4)) == (3, 2, 1, 0)


def test_the_distance_is_the_spread_of_the_change():
    primitive = FlippedChoice(HALF, Fraction(2))
    assert primitive.distance(scores(1, 2, 3), scores(2, 3, 4)) == 0
    assert primitive.distance(scores(1, 2, 3), scores(2, 1, 3)) == 2
    assert primitive.distance(scores(1, 2, 3), scores(2, 2, 4)) == 1


def test_the_weights_are_exact_enough_for_an_audit():
    assert exponential_weights(scores(0, 3), HALF) == [
        exp_fraction(Fraction(3, 2)),
        exp_fraction(Fraction(0)),
    ]
