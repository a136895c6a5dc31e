"""The window counter: sums of the last steps, their variances, and what is refused."""

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.streams import Event, UserCap, UserEvents, Which
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


@pytest.mark.parametrize(
    ("given", "refusal", "words"),
    [
        ({"width": 0}, InvalidParameter, "width"),
        ({"width": 1 << 13}, InvalidParameter, "width"),
        ({"neighbours": UserEvents(), "cap": UserCap(2), "delta": 1e-6}, NeighboursMismatch, "delta=0"),
        ({"neighbours": UserEvents(), "cap": UserCap(2, Which.SPREAD)}, NeighboursMismatch, "first events"),
        ({"neighbours": UserEvents(), "cap": UserCap(8)}, InvalidParameter, "cap"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, refusal, words):
    with pytest.raises(refusal, match=words):
        counter(**given)


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
