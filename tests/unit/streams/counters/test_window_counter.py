"""The window counter: sums of the last steps, their variances, and what is refused."""

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.streams import Contribution, Event, RealElements, UserCap, UserEvents, Which, WholeElements
from discreet.streams.counters.window_counter import WindowCounter
from discreet.testing import unsafe_seeded


def counter(width=7, **given):
    return WindowCounter(
        **{"width": width, "epsilon": 1, "delta": 0, "neighbours": Event(), "horizon": 1000, **given}
    )


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("width", [1, 2, 7, 40])
@pytest.mark.parametrize("size", [1, 5, 200])
def test_answers_are_sums_of_the_last_steps(delta, width, size):
    stream = [place * 7 % 3 % 2 for place in range(200)]
    truth = [sum(stream[max(0, t - width) : t]) for t in range(1, 201)]
    conversation = counter(width, delta=delta).open(rng=NoNoise())
    if size == 1:
        assert [conversation.push(bit) for bit in stream] == pytest.approx(truth, abs=0.02)
    else:
        parts = [conversation.push_many(stream[start : start + size]) for start in range(0, 200, size)]
        assert np.concatenate(parts) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_seen_variance_is_the_stated_one_and_errors_are_kept(delta):
    mechanism, rng, runs = counter(15, delta=delta, horizon=45), unsafe_seeded(3), 1000
    seen = np.array([mechanism.open([0] * 45, rng=rng).ask(45) for _ in range(runs)])
    stated = np.array([mechanism.variance(step) for step in range(1, 46)])
    assert np.all(np.abs(seen.var(axis=0) / stated - 1) < 5 * np.sqrt(5 / runs))
    assert mechanism.mean_variance == pytest.approx(stated.mean(), rel=1e-6)
    assert np.mean(np.abs(seen).max(axis=1) > mechanism.error(0.05)) <= 0.05
    assert np.mean(np.abs(seen[:, 21]) > mechanism.error(0.05, step=22)) <= 0.05 + 4 * 0.007


def test_the_error_depends_on_the_width_alone():
    short, long = counter(30), counter(30, horizon=10**9)
    for step in (30, 47, 1000):
        assert short.variance(step) == long.variance(step)
    assert long.variance(10**9 - 5) == short.variance(25 + 10**9 % 30 + 30)


def test_rounding_is_that_of_the_elements_in_a_window():
    """A grid that is too coarse, and no noise to speak of: answers of a long stream are no further off."""
    grid = RealElements(lower=0, upper=8, grid=4)
    for later in (7, 700, 1 << 20):
        found = counter(width=7, elements=grid, epsilon=500, horizon=1 << 20)
        assert 14 <= found.error(0.05, step=later) <= 18
    found = counter(width=7, elements=grid, epsilon=500, horizon=60)
    stream = np.full(60, 5.99)
    off = found.open(stream).ask(60) - np.convolve(stream, np.ones(7))[:60]
    assert 13 < np.abs(off).max() <= found.error(0.05) <= 18


@pytest.mark.parametrize(
    ("given", "refusal", "words"),
    [
        ({"width": 0}, InvalidParameter, "width"),
        ({"width": 1 << 13}, InvalidParameter, "width"),
        ({"neighbours": UserEvents(), "cap": UserCap(2, Which.SPREAD)}, NeighboursMismatch, "first events"),
        ({"neighbours": UserEvents(), "cap": UserCap(8)}, InvalidParameter, "cap"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, refusal, words):
    with pytest.raises(refusal, match=words):
        counter(**given)


def test_rounding_of_a_users_events_is_counted_once_a_piece():
    users = counter(delta=1e-6, neighbours=UserEvents(), cap=UserCap(3))
    assert users.part.square_shift == users.part.encoding.square_shift(1, 3, 3)
    assert users.part.square_shift > users.part.encoding.square_shift(1, 3)
    assert users.part.guarantee.implies(epsilon=1, delta=1e-6)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("at", [0, 6, 7, 10, 21])
def test_a_checkpoint_goes_on_where_it_stood(delta, at):
    mechanism = counter(delta=delta)
    whole, begun = mechanism.open(rng=unsafe_seeded(5)), mechanism.open(rng=unsafe_seeded(5))
    rng = begun._rng
    before = [begun.push(1) for _ in range(at)]
    later = mechanism.restore(begun.checkpoint(), rng=rng)
    after = [later.push(1) for _ in range(30 - at)]
    assert before + after == [whole.push(1) for _ in range(30)]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("width", [1, 7, 150])
def test_pieces_that_were_taken_together_go_on_as_if_one_by_one(delta, width):
    """Then a checkpoint, at the end of a piece or inside the next one."""
    mechanism, stream = counter(width, delta=delta), [place * 5 % 7 % 2 for place in range(1000)]
    truth = [sum(stream[max(0, t - width) : t]) for t in range(1, 1001)]
    for first in (4 * width, 4 * width + width // 2):
        begun = mechanism.open(rng=NoNoise())
        answers = begun.push_many(stream[:3]).tolist() + begun.push_many(stream[3:first]).tolist()
        later = mechanism.restore(begun.checkpoint(), rng=NoNoise())
        answers += [later.push(stream[first]), *later.push_many(stream[first + 1 :])]
        assert answers == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_sums_that_barely_fit_are_taken_together_too(delta):
    """Pieces are filled up to whole blocks there: together they hold more steps than the stream."""
    most = (1 << 61) // 1001 if delta == 0 else 1 << 30
    mechanism = counter(31, delta=delta, elements=WholeElements(most), neighbours=Contribution(1))
    stream = [most] * 500 + [0] * 31 + [1] * 469  # sums so large lose units where they are written as floats
    answers = mechanism.open(rng=NoNoise()).push_many(stream)
    assert answers[499] == pytest.approx(31 * most)
    assert answers[-1] == pytest.approx(31, abs=0.1)
