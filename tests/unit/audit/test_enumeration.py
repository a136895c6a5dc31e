"""The enumerating Rng: every path, exact probabilities, nothing hidden."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.enumeration import Raised, frozen, output_distribution
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.rng import TAIL, Primitive
from discreet.noise import AddNoise, DiscreteLaplace, NoisyComparison


@dataclass(frozen=True)
class Die(Primitive):
    """Uniform on value, value + 1, ..., of `sides` sides; `mass` should be 1."""

    sides: int
    mass: Fraction = Fraction(1)

    def sample(self, value, rng):
        return value + rng.bits(8) % self.sides

    def law(self, value):
        yield from ((value + k, self.mass / self.sides) for k in range(self.sides))

    def distance(self, value, other):
        return Fraction(abs(value - other))

    sensitivity = Fraction(1)


def test_two_dice():
    found = output_distribution(lambda data, rng: rng.perform(Die(6), data) + rng.perform(Die(6), 1), 1)
    assert dict(found) == {total: Fraction(6 - abs(total - 7), 36) for total in range(2, 13)}
    assert (found.paths, found.left_out, found.error) == (36, 0, 0)


def test_steps_may_depend_on_earlier_answers():
    def run(data, rng):
        first = rng.perform(Die(2), data)
        return first if first == 0 else (first, rng.perform(Die(3), first))

    found = output_distribution(run, 0)
    assert found[0] == Fraction(1, 2)
    assert [found[1, k] for k in (1, 2, 3)] == [Fraction(1, 6)] * 3
    assert found.paths == 4


def test_no_random_step_is_one_path():
    assert dict(output_distribution(lambda data, rng: data, 7)) == {7: 1}


def test_infinite_laws_say_what_they_leave_out():
    step = AddNoise(DiscreteLaplace(Fraction(2)), Fraction(1))
    found = output_distribution(lambda data, rng: rng.perform(step, data), 10)
    assert 0 < found.left_out < TAIL * 2
    assert abs(1 - sum(found.values())) <= found.left_out
    q = math.exp(-0.5)
    for z in (-3, 0, 5):
        assert float(found[10 + z]) == pytest.approx((1 - q) / (1 + q) * q ** abs(z), rel=1e-14)


def test_arrays_come_back_as_arrays():
    step = AddNoise(DiscreteLaplace(Fraction(1, 3)), Fraction(1))

    def run(data, rng):
        noisy = rng.perform(step, data)
        assert isinstance(noisy, np.ndarray)
        assert noisy.shape == data.shape
        return noisy

    found = output_distribution(run, np.array([[1], [5]]))
    assert max(found, key=found.get) == ((1,), (5,))


def test_a_comparison_adds_up_to_one():
    step = NoisyComparison(DiscreteLaplace(Fraction(3)), Fraction(1))
    found = output_distribution(lambda data, rng: rng.perform(step, (data, 4)), 2)
    assert sum(found.values()) == 1
    assert float(found[True]) == pytest.approx(math.exp(-2 / 3) / (1 + math.exp(-1 / 3)), rel=1e-14)


@pytest.mark.parametrize(
    "draw", [lambda rng: rng.bits(1), lambda rng: rng.words(2), lambda rng: rng.random_bytes(1)]
)
def test_raw_bits_are_refused(draw):
    with pytest.raises(InvalidParameter, match=r"rng\.perform"):
        output_distribution(lambda data, rng: int(np.sum(draw(rng))), 0)


def test_a_swallowed_refusal_is_still_a_refusal():
    def run(data, rng):
        try:
            return rng.bits(1)
        except InvalidParameter:
            return 0

    with pytest.raises(InvalidParameter, match="raw bytes"):
        output_distribution(run, 0)


def test_the_limit_on_paths():
    def run(data, rng):
        return sum(rng.perform(Die(6), 0) for _ in range(4))

    assert output_distribution(run, 0, limit=6**4).paths == 6**4
    with pytest.raises(InvalidParameter, match="1295 paths"):
        output_distribution(run, 0, limit=6**4 - 1)


def test_hidden_state_is_found():
    calls = []

    def other_step(data, rng):
        calls.append(1)
        return rng.perform(Die(2 + len(calls) % 2), 0)

    def fewer_steps(data, rng):
        calls.append(1)
        return [rng.perform(Die(2), 0) for _ in range(3 - len(calls))]

    with pytest.raises(InternalError, match="hidden state"):
        output_distribution(other_step, 0)
    calls.clear()
    with pytest.raises(InternalError, match="hidden state"):
        output_distribution(fewer_steps, 0)


@pytest.mark.parametrize("mass", [Fraction(3, 2), Fraction(-1)])
def test_a_law_that_is_no_distribution_is_refused(mass):
    with pytest.raises(InternalError, match="not a distribution"):
        output_distribution(lambda data, rng: rng.perform(Die(2, mass), 0), 0)


def test_exceptions_are_outcomes():
    def run(data, rng):
        if rng.perform(Die(4), 0) == data:
            raise ZeroDivisionError("by data")
        return "fine"

    assert dict(output_distribution(run, 2)) == {
        "fine": Fraction(3, 4),
        Raised("ZeroDivisionError", "by data"): Fraction(1, 4),
    }


def test_many_rational_steps_are_marked_as_cut():
    found = output_distribution(
        lambda data, rng: [rng.perform(Die(1, Fraction(1, 10**9)), 0) for _ in range(3)], 0
    )
    assert found.error > 0


def test_frozen_tells_apart_what_an_observer_can():
    assert frozen(float("nan")) == frozen(np.float64("nan"))
    assert frozen(-0.0) != frozen(0.0)
    assert frozen([1, np.array([2.0])]) == (1, (2.0,))
    assert frozen({"a": [1]}) == frozen({"a": (1,)}) != frozen({"a": [2]})
    assert frozen({1, 2}) == frozenset({1, 2})
    with pytest.raises(InvalidParameter, match="hashable"):
        frozen(bytearray(b"x"))
