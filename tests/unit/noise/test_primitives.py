"""Noise meets integers: nothing wraps, nothing is rounded, nothing but integers is let in."""

from __future__ import annotations

import copy
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.rng import Rng, SystemRng
from discreet.noise import (
    AddNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    NoisyComparison,
    OneSidedGeometric,
    samplers,
)
from discreet.testing import unsafe_seeded

F = Fraction
TOP = 2**62


class Fixed(Noise):
    """A noise that is always the same number, to see what is done with it."""

    def __init__(self, value: int) -> None:
        self.value = value

    def draw(self, rng: Rng) -> int:
        return self.value

    def draws(self, size: int, rng: Rng) -> np.ndarray:
        return np.full(size, self.value, dtype=np.int64 if abs(self.value) < TOP else object)

    def pmf(self, x: int) -> Fraction:
        return F(x == self.value)

    def tail(self, x: int) -> Fraction:
        return F(x <= self.value)

    def reach(self, beta: object) -> int:
        return abs(self.value)


RNG = unsafe_seeded(1)
LAWS = [DiscreteLaplace, OneSidedGeometric, DiscreteGaussian]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_a_parameter_must_be_a_positive_number(law: type, bad: object) -> None:
    with pytest.raises(InvalidParameter, match="finite and > 0"):
        law(bad)


@pytest.mark.parametrize("law", LAWS)
def test_a_parameter_is_read_as_the_decimal_it_was_written_as(law: type) -> None:
    assert law(0.1) == law(Decimal("0.1")) == law(F(1, 10))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("beta", [0, 1, -0.1, float("nan")])
def test_a_failure_probability_lies_between_zero_and_one(law: type, beta: float) -> None:
    with pytest.raises(InvalidParameter, match="beta"):
        law(1).reach(beta)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [-1, 1.5, True])
def test_a_sample_has_a_whole_number_of_draws(law: type, size: object) -> None:
    with pytest.raises(InvalidParameter, match="size"):
        law(1).sample(size, RNG)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [0, 1, samplers.FEW, samplers.FEW + 1, 20_000])
@pytest.mark.parametrize("parameter", [F(3), F(10**9)])
def test_samples_are_writable_arrays_of_the_size_asked_for(law: type, size: int, parameter: Fraction) -> None:
    drawn = law(parameter).sample(size, RNG)
    assert (drawn.dtype, drawn.shape, drawn.flags.writeable) == (np.int64, (size,), True)


@pytest.mark.parametrize("law", LAWS)
def test_a_huge_scale_goes_to_the_oracle_and_stays_exact(law: type) -> None:
    noise = law(F(2**200) if law is not DiscreteGaussian else F(2**400))
    drawn = noise.draws(40, RNG)
    assert drawn.dtype == object
    assert max(abs(x) for x in drawn) > 2**190
    assert len({x % 2**64 for x in drawn}) == 40  # the low bits are noise too
    cut = noise.sample(40, RNG)
    assert cut.dtype == np.int64
    assert set(np.abs(cut).tolist()) == {TOP}


def test_the_oracle_takes_over_just_where_words_end() -> None:
    assert isinstance(samplers.laplace_one(F(samplers.WORDS)), samplers.Oracle)
    assert isinstance(samplers.geometric_one(F(samplers.WORDS)), samplers.Oracle)
    assert isinstance(samplers.gaussian_one(F(samplers.WORDS) ** 2), samplers.Oracle)
    for law in LAWS:
        largest = F(samplers.WORDS - 1) if law is not DiscreteGaussian else F(samplers.WORDS - 1) ** 2
        drawn = law(largest).draws(1000, RNG)
        assert drawn.dtype == np.int64
        assert np.abs(drawn).max() > samplers.WORDS


def test_leading_parts_that_could_pass_the_limit_become_python_integers() -> None:
    small, large = np.array([1, -5]), np.array([1, -(2**23)])
    assert samplers.raise_by(small, 40).dtype == np.int64
    assert samplers.raise_by(large, 40).tolist() == [2**40, -(2**63)]
    assert samplers.raise_by(large, 40).dtype == object


def test_a_chunk_of_python_integers_makes_the_whole_array_one() -> None:
    class Growing(samplers.Many):
        calls = 0

        def chunk(self, size: int, rng: Rng) -> np.ndarray:
            self.calls += 1
            return np.full(
                size, 2**70 if self.calls == 2 else 7, dtype=object if self.calls == 2 else np.int64
            )

    drawn = samplers.in_chunks(Growing(), 40_000, RNG)
    assert drawn.dtype == object
    assert set(drawn.tolist()) == {7, 2**70}


def test_a_python_integer_is_exact_at_any_size() -> None:
    assert AddNoise(Fixed(-3), F(1)).sample(10**40, RNG) == 10**40 - 3
    assert AddNoise(Fixed(2**80), F(1)).sample(np.int64(2**63 - 1), RNG) == 2**80 + 2**63 - 1


def test_arrays_never_wrap() -> None:
    """Values are clamped to 2**62 before, the sum to 64 bits after: both monotone, neither wraps."""
    edge = np.array([-(2**63), -TOP - 1, -TOP, 0, TOP, TOP + 1, 2**63 - 1])
    clamped = [-TOP, -TOP, -TOP, 0, TOP, TOP, TOP]
    for noise in (0, 1, TOP - 1, 1 - TOP):
        assert AddNoise(Fixed(noise), F(1)).sample(edge, RNG).tolist() == [v + noise for v in clamped]
    for noise in (2**63, -(2**70)):
        got = AddNoise(Fixed(noise), F(1)).sample(edge, RNG)
        assert got.dtype == np.int64
        assert got.tolist() == [min(max(v + noise, 1 - 2**63), 2**63 - 1) for v in clamped]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.uint64, np.bool_, object])
def test_every_integer_type_is_widened_first(kind: type) -> None:
    value = np.array([0, 1, 1], dtype=kind)
    got = AddNoise(Fixed(-1000), F(1)).sample(value, RNG)
    assert got.dtype == np.int64
    assert got.tolist() == [-1000, -999, -999]
    assert value.tolist() == [0, 1, 1]


def test_unsigned_and_python_integers_are_clamped_too() -> None:
    assert AddNoise(Fixed(5), F(1)).sample(np.array([2**64 - 1], dtype=np.uint64), RNG).tolist() == [TOP + 5]
    assert AddNoise(Fixed(5), F(1)).sample(np.array([-(10**30)], dtype=object), RNG).tolist() == [5 - TOP]


def test_shapes_are_kept_and_the_data_left_alone() -> None:
    value = np.arange(24).reshape(2, 3, 4)
    got = AddNoise(Fixed(10), F(1)).sample(value, RNG)
    assert np.array_equal(got, value + 10)
    assert np.array_equal(value.ravel(), np.arange(24))
    assert AddNoise(Fixed(10), F(1)).sample(np.array(4), RNG).shape == ()
    assert AddNoise(DiscreteLaplace(F(3)), F(1)).sample(value, RNG).shape == (2, 3, 4)


@pytest.mark.parametrize(
    "bad", [1.5, "3", None, np.float64(2), np.array([1.0]), np.array([1.5], dtype=object)]
)
def test_nothing_but_integers_gets_noise(bad: object) -> None:
    with pytest.raises(InvalidParameter, match="an integer or an array of integers") as caught:
        AddNoise(Fixed(1), F(1)).sample(bad, RNG)
    assert "1.5" not in str(caught.value)


def test_the_law_of_an_array_is_over_the_clamped_values() -> None:
    noise = DiscreteLaplace(F(1, 20))
    outcomes = dict(AddNoise(noise, F(1)).law(np.array([2**63 - 1, 4])))
    assert outcomes[(TOP, 4)] == noise.pmf(0) ** 2
    assert sum(outcomes.values()) > 1 - 3 * F(1, 2**60)


def test_distances() -> None:
    one, two = AddNoise(Fixed(0), F(1)), AddNoise(Fixed(0), F(1), norm=2)
    assert one.distance(10**30, 10**30 - 4) == 4
    assert one.distance(np.array([1, 5]), np.array([4, 1])) == 7
    assert two.distance(np.array([1, 5]), np.array([4, 1])) == 5
    root = two.distance(np.array([0, 0]), np.array([1, 1]))
    assert 2 < root**2 < 2 + F(1, 2**38)


def test_comparisons() -> None:
    compare = NoisyComparison(Fixed(2), F(1))
    assert [compare.sample((v, 5), RNG) for v in (2, 3, 4)] == [False, True, True]
    assert dict(compare.law((3, 5))) == {True: 1, False: 0}
    assert compare.distance((3, 5), (7, 5)) == 4
    with pytest.raises(NeighboursMismatch):
        compare.distance((3, 5), (3, 6))
    with pytest.raises(InvalidParameter):
        compare.sample((2.5, 5), RNG)


def test_windows_and_values() -> None:
    assert OneSidedGeometric(F(1)).window()[0] == 0
    assert OneSidedGeometric(F(1)).pmf(-1) == 0
    assert OneSidedGeometric(F(1)).tail(-1) == 1
    laplace = DiscreteLaplace(F(2)).window()
    assert laplace[0] == -laplace[-1]
    law = DiscreteGaussian(F(9, 4))
    assert copy.deepcopy(law) == law
    assert hash(copy.copy(law)) == hash(law)
    assert repr(law) == "DiscreteGaussian(variance=Fraction(9, 4))"


def test_a_step_says_its_sensitivity_or_is_refused() -> None:
    with pytest.raises(TypeError, match="sensitivity"):
        AddNoise(DiscreteLaplace(Fraction(1)))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="sensitivity"):
        NoisyComparison(DiscreteLaplace(Fraction(1)))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (AddNoise(DiscreteLaplace(Fraction(1)), sensitivity=Fraction(1)), 2.0),
        (NoisyComparison(DiscreteLaplace(Fraction(1)), sensitivity=Fraction(1)), (2.5, 1)),
    ],
)
def test_the_law_of_a_step_refuses_what_its_sampler_refuses(step: Any, value: Any) -> None:
    with pytest.raises(InvalidParameter, match="integer"):
        step.sample(value, SystemRng())
    with pytest.raises(InvalidParameter, match="integer"):
        list(step.law(value))
