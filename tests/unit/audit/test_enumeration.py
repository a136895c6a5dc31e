"""The enumerating Rng: every path, exact probabilities, nothing hidden."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.enumeration import output_distribution
from discreet.audit.runs import Raised, freeze
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


COUNT = AddNoise(DiscreteLaplace(Fraction(2)), Fraction(1))
COMPARE = NoisyComparison(DiscreteLaplace(Fraction(2)), Fraction(1))


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


def test_too_many_paths_are_refused_at_once():
    runs = []

    def run(data, rng):
        runs.append(1)
        return sum(rng.perform(Die(6), 0) for _ in range(30))

    with pytest.raises(InvalidParameter, match=r"200000 paths, got about 10\*\*23 paths"):
        output_distribution(run, 0)
    assert len(runs) < 50
    with pytest.raises(InvalidParameter, match="one step with more than 1000 outcomes"):
        output_distribution(lambda data, rng: rng.perform(COUNT, np.zeros(9, int)), 0, limit=1_000)


def test_a_long_first_path_alone_is_no_reason_to_refuse():
    # Stops at the first 1: one path of 60 steps, and 61 paths in all, although 2**60 could have been.
    def run(data, rng):
        return next((k for k in range(60) if rng.perform(Die(2), 0)), 60)

    assert output_distribution(run, 0).paths == 61


def test_hidden_state_is_found():
    calls = []

    def other_step(data, rng):
        calls.append(1)
        return rng.perform(Die(2 + len(calls) % 2), 0)

    def fewer_steps(data, rng):
        calls.append(1)
        return [rng.perform(Die(2), 0) for _ in range(3 - len(calls))]

    with pytest.raises(InvalidParameter, match="different outputs from the same random steps"):
        output_distribution(other_step, 0)
    calls.clear()
    with pytest.raises(InvalidParameter, match="different outputs from the same random steps"):
        output_distribution(fewer_steps, 0)


# A hidden coin that shows its rarer side with probability q is missed by 64 repeats with (1 - q)**64.
# The seeds are fixed, so a red run is a fact.
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("q", [0.1, 0.5])
def test_a_coin_that_goes_around_the_steps_is_found(seed, q):
    coin = np.random.default_rng(seed)  # noqa: TID251 - what must be found
    runs = {
        "no step": lambda data, rng: data ^ (coin.random() < q),
        "one outcome": lambda data, rng: rng.perform(Die(1), data) ^ (coin.random() < q),
        "after a step": lambda data, rng: (rng.perform(Die(6), 0), coin.random() < q),
        "in one branch": lambda data, rng: rng.perform(Die(2), 0) or coin.random() < q,
        "before a step": lambda data, rng: rng.perform(Die(2), data ^ (coin.random() < q)) > 5,
        "a comparison": lambda data, rng: rng.perform(COMPARE, (int(coin.random() < q), 1)),
        "how many steps": lambda data, rng: [rng.perform(Die(2), 0) for _ in range(1 + (coin.random() < q))],
    }
    for name, run in runs.items():
        with pytest.raises(InvalidParameter, match=r"all its randomness through rng\.perform"):
            pytest.fail(f"{name}: {output_distribution(run, 0)}")


def test_every_path_is_run_at_least_twice_and_few_paths_more_often():
    def runs(make):
        taken = []
        found = output_distribution(lambda data, rng: taken.append(make(rng)), 0)
        return found.paths, found.steps, Counter(taken)

    assert runs(lambda rng: 0) == (1, 0, {0: 65})
    paths, steps, taken = runs(lambda rng: rng.perform(Die(4), 0))
    assert (paths, steps, set(taken.values())) == (4, 1, {33})
    paths, steps, taken = runs(lambda rng: (rng.perform(Die(20), 0), rng.perform(Die(20), 0)))
    assert (paths, steps, set(taken.values())) == (400, 2, {2})


def test_inputs_that_equal_only_themselves_are_compared_by_their_laws():
    class Box:
        def __init__(self, biased):
            self.biased = biased

    class Open(Die):
        def law(self, value):
            heads = Fraction(1 + value.biased, 3)
            yield from ((0, 1 - heads), (1, heads))

    assert output_distribution(lambda data, rng: rng.perform(Open(2), Box(0)), 0)[1] == Fraction(1, 3)
    coin = np.random.default_rng(0)  # noqa: TID251 - what must be found
    with pytest.raises(InvalidParameter, match="same random steps"):
        output_distribution(lambda data, rng: rng.perform(Open(2), Box(coin.random() < 0.5)), 0)


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
    assert freeze(float("nan")) == freeze(np.float64("nan"))
    assert freeze(-0.0) != freeze(0.0)
    assert freeze([1, np.array([2.0])]) == (1, (2.0,))
    assert freeze({"a": [1]}) == freeze({"a": (1,)}) != freeze({"a": [2]})
    assert freeze({1, 2}) == frozenset({1, 2})
    with pytest.raises(InvalidParameter, match="hashable"):
        freeze(bytearray(b"x"))
