"""Distributional privacy: calibration, errors, and the mirrored count that separates it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.query_release.population_count import PopulationCount, SamplePromise, mirrored_mod, separation
from discreet.testing import unsafe_seeded

SWAP = Replace("row")


def test_the_noise_is_that_of_two_samples():
    mechanism = PopulationCount(rows=10_000, epsilon=1, missed=1e-9, neighbours=SWAP)
    exact = math.sqrt(10_000 * math.log(2e9))
    assert mechanism.shift == math.ceil(exact) - 1
    assert mechanism.shift < 0.7 * math.sqrt(2 * 10_000 * math.log(4e9))  # two samples apart, each bounded
    assert mechanism.loss.epsilon(0) == pytest.approx(1 / mechanism.shift)
    assert mechanism.promise == SamplePromise(Fraction(1), Fraction(1, 10**9), 10_000)
    assert "10000 rows" in str(mechanism.promise)


@pytest.mark.parametrize(("rows", "beta"), [(1, 0.5), (5, 1e-12), (3, 0.9)])
def test_small_samples_are_never_further_apart_than_their_size(rows, beta):
    assert 1 <= PopulationCount(rows=rows, epsilon=1, missed=beta, neighbours=SWAP).shift <= rows


@pytest.mark.parametrize(("beta", "implied"), [("1/121", False), ("1/122", True), ("1/100", False)])
def test_when_it_implies_differential_privacy(beta, implied):
    assert SamplePromise(Fraction(1), Fraction(beta), 10).implies_privacy is implied


def test_counts_are_answered_within_both_errors():
    """Sampling and noise together; seeded, 400 samples of half a million coins."""
    mechanism = PopulationCount(rows=2000, epsilon=2, missed=1e-6, neighbours=SWAP)
    generator, rng = np.random.default_rng(1), unsafe_seeded(1)  # noqa: TID251
    counts = generator.hypergeometric(150_000, 350_000, 2000, size=400)
    answers = np.array([mechanism.release(int(count), rng=rng).value for count in counts])
    assert (np.abs(answers - counts) > mechanism.error(0.1)).sum() <= 40 + 6 * 6
    assert (np.abs(answers - counts) > mechanism.error(0.1) / 2).sum() > 76
    assert (np.abs(answers - 600) > mechanism.population_error(0.1)).sum() <= 40


def test_a_count_outside_the_sample_is_cut_off():
    mechanism = PopulationCount(rows=3, epsilon=10**6, missed=0.1, neighbours=SWAP)
    assert mechanism.release(10**9, rng=unsafe_seeded(2)).value == 3
    assert mechanism.release(-5, rng=unsafe_seeded(2)).value == 0
    with pytest.raises(DiscreetError):
        mechanism.release(0.5)
    with pytest.raises(InvalidParameter, match="with counts="):
        mechanism.release([1, 2])


def test_several_counts_share_the_probability_and_add_up_their_shifts():
    one = PopulationCount(rows=2000, epsilon=1, missed=Fraction(1, 4000), neighbours=SWAP)
    four = PopulationCount(rows=2000, epsilon=1, missed=Fraction(1, 1000), neighbours=SWAP, counts=4)
    assert four.shift == one.shift and four.scale == 4 * one.scale
    answers = np.array([four.release([0, 500, 2000, 9999], rng=unsafe_seeded(s)).value for s in range(100)])
    off = np.abs(answers - [0, 500, 2000, 2000])
    assert 2 < (off.max(axis=1) > four.error(0.1)).sum() <= 25
    assert four.loss.epsilon(0) == pytest.approx(4 / float(four.scale), rel=1e-9)
    with pytest.raises(DiscreetError):
        four.release([1, 2, 3])


def test_parameters_are_checked():
    for changes in (
        {"rows": 0},
        {"missed": 0},
        {"missed": 1},
        {"epsilon": -1},
        {"neighbours": AddRemove("row")},
    ):
        with pytest.raises(InvalidParameter):
            PopulationCount(**{"rows": 5, "epsilon": 1, "missed": 0.1, "neighbours": SWAP} | changes)


def test_the_mirrored_count_moves_a_step_at_a_time():
    for modulus in range(1, 9):
        walk = [mirrored_mod(value, modulus) for value in range(50)]
        assert set(walk) == set(range(modulus))
        assert max(abs(a - b) for a, b in itertools.pairwise(walk)) <= 1
        assert walk[: 2 * modulus] == [*range(modulus), *reversed(range(modulus))]


def test_two_samples_differ_with_constant_probability():
    """Theorem 13: however many rows, the mirrored counts are 1 / epsilon apart with probability over 1/5."""
    for rows in (200, 1000):
        assert separation(rows=rows, modulus=4, gap=2) > Fraction(1, 5)
    assert separation(rows=2000, modulus=20, gap=10) > Fraction(1, 5)
    assert separation(rows=1, modulus=5, gap=1) == Fraction(1, 2)
    assert separation(rows=3, modulus=1, gap=1) == 0


@pytest.mark.parametrize("given", [7, [7], np.array([7]), np.array(7), np.int8(7), (7,)], ids=repr)
def test_a_count_is_read_alike_however_it_comes(given):
    mechanism = PopulationCount(rows=10, epsilon=10**6, missed=0.1, neighbours=SWAP)
    assert mechanism.release(given).value == 7


@pytest.mark.parametrize(
    "given",
    [
        {"rows": 10**400},
        {"missed": Fraction(1, 10**400)},
        {"epsilon": Fraction(1, 10**300)},
        {"epsilon": 10**9},
        {"rows": 1},
    ],
    ids=repr,
)
def test_parameters_beyond_the_range_of_floats_are_served(given):
    mechanism = PopulationCount(**{"rows": 50, "epsilon": 1, "missed": 0.1, "neighbours": SWAP} | given)
    # 2 exp(-x^2 / rows) <= beta at x = shift + 1, or two samples cannot be further apart.
    reached, log = (
        mechanism.shift + 1,
        math.log(2 * mechanism.missed.denominator) - math.log(mechanism.missed.numerator),
    )
    assert Fraction(reached) ** 2 >= mechanism.rows * Fraction(log) or mechanism.shift == mechanism.rows
    assert mechanism.population_error(0.05) >= mechanism.error(0.05) >= 0
    assert isinstance(mechanism.release(1).value, int)


def test_an_error_is_bought_apart_from_the_probability_over_samples():
    public = {"rows": 1000, "neighbours": SWAP}
    bought = PopulationCount.for_error(alpha=300, beta=0.05, missed=1e-6, **public)
    assert bought.missed == Fraction(1, 10**6)
    assert bought.error(0.05) <= 300
    assert PopulationCount(epsilon=bought.epsilon * Fraction(49, 50), missed=1e-6, **public).error(0.05) > 300
