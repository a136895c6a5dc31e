"""The grey-box replay: what it accepts and what it objects to."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import AddRemove, Laplace, audit
from discreet.audit.replay_report import replay_run
from discreet.core.errors import InvalidParameter
from discreet.core.rng import Primitive
from discreet.noise import AddNoise, DiscreteLaplace, NoisyComparison
from discreet.testing import awkward_numbers, neighbouring_pairs, unsafe_seeded

COUNT = AddNoise(DiscreteLaplace(Fraction(2)), Fraction(1))


def problems(run, pair):
    return "; ".join(replay_run(run, pair, rng=unsafe_seeded(3)).problems)


def test_a_sound_count():
    report = audit.replay(Laplace(sensitivity=1, epsilon=1), (4, 5), rng=unsafe_seeded(0))
    assert report.holds
    assert report.distances == (1,)
    assert report.allowed == (1,)
    assert repr(report) == "replay of 1 steps: holds | 1 sensitivities used"


def test_a_step_that_moves_too_far():
    report = audit.replay(Laplace(sensitivity=1, epsilon=1), (4, 6), rng=unsafe_seeded(0))
    assert not report.holds
    assert report.total == 2
    assert "step 0 moved by 2, its sensitivity is 1" in repr(report)


def test_the_total_adds_up_over_adaptive_steps():
    def run(data, rng):
        first = rng.perform(COUNT, data)
        return rng.perform(COUNT, data) if first > 0 else rng.perform(COUNT, 0)

    totals = {replay_run(run, (0, 1), rng=unsafe_seeded(seed)).total for seed in range(20)}
    assert totals == {1, 2}


def test_other_parameters():
    def run(data, rng):
        return rng.perform(AddNoise(DiscreteLaplace(Fraction(1, data)), Fraction(1)), data)

    assert "other parameters" in problems(run, (1, 2))


def test_more_and_fewer_steps():
    def run(data, rng):
        return [rng.perform(COUNT, 0) for _ in range(data)]

    assert "more than 1 steps" in problems(run, (1, 2))
    assert "stopped after 1 of 2 steps" in problems(run, (2, 1))


def test_data_that_go_around_the_steps():
    assert "output differs" in problems(lambda data, rng: (rng.perform(COUNT, data), data), (1, 2))
    assert "output differs" in problems(lambda data, rng: (rng.perform(COUNT, data), 1 / data), (1, 0))


def test_raw_bits():
    assert "rng.perform" in problems(lambda data, rng: data + rng.bits(3), (1, 2))


@pytest.mark.parametrize("seed", range(20))
def test_randomness_of_its_own(seed):
    coin = np.random.default_rng(seed)  # noqa: TID251 - what must be found
    runs = {
        "no step": lambda data, rng: data ^ (coin.random() < 0.1),
        "after a step": lambda data, rng: (rng.perform(COUNT, data), coin.random()),
        "in a step": lambda data, rng: rng.perform(COUNT, int(coin.integers(1 << 40))),
        "more steps": lambda data, rng: [rng.perform(COUNT, 0) for _ in range(coin.integers(99))],
    }
    for name, run in runs.items():
        with pytest.raises(InvalidParameter, match=r"rng\.perform.*same random steps"):
            pytest.fail(f"{name}: {replay_run(run, (0, 0))}")


def test_no_random_step_is_said():
    assert repr(replay_run(lambda data, rng: 1, (0, 1))) == (
        "replay of 0 steps: holds | no random step: the output is a function of the data "
        "| 0 sensitivities used"
    )
    assert not replay_run(lambda data, rng: data, (0, 1)).holds


ONE_PAIR = r"pair must be .*data sets.*loop over pairs"


@pytest.mark.parametrize("pair", [[(0, 1), (1, 2)], [(0, 1)], (0, 1, 2), 5, ("a", "b")])
def test_data_without_an_answer_are_refused(pair):
    laplace = Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(InvalidParameter, match=ONE_PAIR):
        audit.replay(laplace, pair)
    with pytest.raises(InvalidParameter, match=ONE_PAIR):
        audit.epsilon_lower_bound(laplace, pair, samples=20, delta=0)
    with pytest.raises(InvalidParameter, match=ONE_PAIR):
        audit.precision_attack(laplace, pair, samples=20, delta=0)


def test_raising_by_chance_is_an_outcome():
    def run(data, rng):
        if rng.perform(COUNT, data) > 0:
            raise TimeoutError
        return "fine"

    assert all(replay_run(run, (0, 1), rng=unsafe_seeded(seed)).holds for seed in range(20))


def test_shapes_and_thresholds():
    step = NoisyComparison(DiscreteLaplace(Fraction(1)), Fraction(1))
    assert "cannot be compared" in problems(lambda data, rng: rng.perform(step, (data, data)), (1, 2))
    assert "another shape" in problems(lambda data, rng: rng.perform(COUNT, np.zeros(data, int)), (1, 2))


def test_a_mechanism_that_changes_its_input_later_is_recorded_as_it_was():
    def run(data, rng):
        values = np.array([data])
        noisy = rng.perform(COUNT, values)
        values += 100
        noisy += 0
        return noisy

    assert replay_run(run, (1, 2), rng=unsafe_seeded(1)).distances == (1,)


def test_nested_steps_belong_to_the_outer_one():
    @dataclass(frozen=True)
    class Outer(Primitive):
        sensitivity = Fraction(1)

        def sample(self, value, rng):
            return rng.perform(COUNT, value)

        def law(self, value):
            return COUNT.law(value)

        def distance(self, value, other):
            return COUNT.distance(value, other)

    assert len(replay_run(lambda data, rng: rng.perform(Outer(), data), (1, 2)).distances) == 1


@settings(deadline=None)
@given(pair=neighbouring_pairs(AddRemove("row"), (0, 1, 2), 4), seed=st.integers(0, 2**32))
def test_hypothesis_over_neighbours(pair, seed):
    mechanism = Laplace(sensitivity=1, epsilon=1, size=3)
    counts = [np.bincount(np.array(rows, dtype=int), minlength=3) for rows in pair]
    report = audit.replay(mechanism, tuple(counts), rng=unsafe_seeded(seed))
    assert report.holds
    assert report.total == 1


@settings(max_examples=200, deadline=None)
@given(value=awkward_numbers())
def test_awkward_numbers_never_stop_a_grid(value):
    # NaN, infinities and huge integers are data: an exception would tell that they are there.
    report = audit.replay(Laplace(sensitivity=1, epsilon=1, grid=0.5), (value, value))
    assert report.holds
    assert len(report.distances) == 1


@pytest.mark.parametrize("seed", range(3))
def test_frozen_answers_are_not_shared(seed):
    def run(data, rng):
        noisy = rng.perform(COUNT, np.array([data, 0]))
        noisy.sort()
        return noisy

    assert replay_run(run, (1, 2), rng=unsafe_seeded(seed)).holds


def test_what_the_mechanism_says_to_every_run_is_repeated():
    plain = Laplace(sensitivity=1, epsilon=1, neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match=r"from every run \(data must be .* Pass grid="):
        audit.precision_attack(plain, (0.0, 1.0), samples=20, delta=0)
