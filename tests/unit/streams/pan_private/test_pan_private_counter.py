"""The pan-private counter: its blocks, what it keeps, what it forgets, its errors."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.core.rng import Rng
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.streams import Event, EventPresence, PanPrivateCounter, StreamCheckpoint, UserCap, UserEvents
from discreet.testing import unsafe_seeded


class Ones(Rng):
    """Adds one everywhere, and counts how often it was asked to."""

    unsafe = True

    def __init__(self):
        self.met = 0

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        self.met += np.size(value)
        return value + 1


def counter(horizon, **given):
    return PanPrivateCounter(**{"horizon": horizon, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


def kept(conversation):
    return conversation.state.reveal()["run"]["kept"]


@pytest.mark.parametrize("horizon", [*range(1, 18), 64, 100])
def test_answers_are_prefix_sums_with_one_noise_of_the_total_and_one_a_level(horizon):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    mechanism, rng = counter(horizon), Ones()
    noisy = [total + 1 + mechanism.levels for total in itertools.accumulate(stream)]
    single = mechanism.open(rng=rng)
    assert [single.push(bit) for bit in stream] == noisy
    assert rng.met == 1 + sum(-(-horizon >> level) for level in range(mechanism.levels)), "one noise a block"
    for size in (1, 2, 3, 7, horizon):
        several, drawn = mechanism.open(rng=Ones()), 0
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts).tolist() == noisy
        assert kept(several) == kept(single)
        assert several._rng.met - drawn == rng.met
        assert several.closed and single.closed


@pytest.mark.parametrize("at_once", [False, True])
def test_noise_is_there_while_its_block_is_open_and_at_no_other_time(at_once):
    horizon, rng = 13, Ones()
    conversation = counter(horizon).open(rng=rng)
    assert kept(conversation) == [0] * 5  # nothing is drawn before the first step
    for taken in range(1, horizon):
        conversation.push_many([0]) if at_once else conversation.push(0)
        open_blocks = [int(taken % (1 << level) != 0) for level in range(4)]
        assert kept(conversation) == [1, *open_blocks]
    conversation.push(0)
    assert kept(conversation) == [1, 0, 0, 0, 0], "at the horizon every block has ended"


def test_the_state_is_all_there_is_and_holds_no_generator():
    conversation = counter(100).open(rng=unsafe_seeded(1))
    conversation.push_many([1] * 37)
    state = conversation.state.reveal()
    assert sorted(state) == ["asked", "refreshes", "run", "taken", "users"]
    assert state["users"] == [] and len(state["run"]["kept"]) == 8
    assert json.loads(json.dumps(state)) == state
    held = {name: value for name, value in vars(conversation._run).items() if name != "_kept"}
    assert not any(isinstance(value, np.ndarray | list | dict) for value in held.values())


def test_a_checkpoint_is_the_state_and_goes_on_the_same(tmp_path):
    mechanism, stream = counter(100), [1, 0] * 50
    whole = mechanism.open(rng=Ones()).push_many(stream).tolist()
    first = mechanism.open(rng=Ones())
    answers = first.push_many(stream[:37]).tolist()
    state = first.state.reveal()
    first.checkpoint().write(tmp_path / "kept")
    assert json.loads((tmp_path / "kept").read_text())["parts"] == state
    later = mechanism.restore(StreamCheckpoint.read(tmp_path / "kept"), rng=Ones())
    assert answers + later.push_many(stream[37:]).tolist() == whole


def test_scales_are_those_of_the_theorem_and_smaller_where_a_horizon_allows():
    assert counter(1024).noise == DiscreteLaplace(Fraction(11))  # 1 + log2 T
    assert counter(1000).noise == DiscreteLaplace(Fraction(10))  # rounded up, without the one
    assert counter(1).noise == DiscreteLaplace(Fraction(1))
    gaussian = counter(1024, delta=1e-6)
    assert isinstance(gaussian.noise, DiscreteGaussian)
    assert gaussian.square_shift == 11
    assert gaussian.loss.epsilon(1e-6) <= 1


def test_the_guarantee_says_what_it_covers():
    assert counter(8).words == (
        "epsilon 1 for changing one event of the stream, for all answers and the state at one moment together"
    )


def test_users_are_refused_since_a_book_about_them_would_be_read():
    with pytest.raises(dp.errors.NeighboursMismatch, match="an intruder reads"):
        counter(8, neighbours=UserEvents(), cap=UserCap(2))
    with pytest.raises(dp.errors.InvalidParameter, match="cap"):
        counter(8, cap=UserCap(2))
    assert counter(8, neighbours=EventPresence()).moved == 1


def test_noise_that_words_cannot_hold_is_refused():
    with pytest.raises(dp.errors.InvalidParameter, match="epsilon"):
        counter(8, epsilon=Fraction(1, 1 << 60))


def test_errors_are_the_same_at_every_step():
    mechanism = counter(1000)
    assert mechanism.error(0.05, step=1) == mechanism.error(0.05, step=1000) < mechanism.error(0.05)
    assert mechanism.variance(1) == pytest.approx(11 * 2 * 10**2, rel=0.01)
    answers = mechanism.open(rng=unsafe_seeded(3)).push_many(np.zeros(1000, dtype=np.int64))
    assert np.abs(answers).max() <= mechanism.error(1e-9)
