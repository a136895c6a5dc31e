"""The endless counter: answers across the ends of its counters, variances, users, and what it refuses."""

import itertools

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.streams import Event, UserCap, UserEvents, Which, WideTreeCounter
from discreet.streams.counters.endless_counter import END, EndlessCounter
from discreet.testing import unsafe_seeded


def counter(**given):
    return EndlessCounter(**{"epsilon": 1, "delta": 0, "neighbours": Event(), "first": 2, **given})


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("size", [1, 3, 50, 300])
def test_answers_are_prefix_sums_however_they_are_pushed(delta, size):
    stream = [place * 7 % 3 % 2 for place in range(300)]
    truth = list(itertools.accumulate(stream))
    several = counter(delta=delta).open(rng=NoNoise())
    if size == 1:
        assert [several.push(bit) for bit in stream] == pytest.approx(truth, abs=0.02)
    else:
        parts = [several.push_many(stream[start : start + size]) for start in range(0, 300, size)]
        assert np.concatenate(parts) == pytest.approx(truth, abs=0.02)
    assert several.steps == 300 and not several.closed


def test_lengths_grow_and_noise_depends_on_the_step_alone():
    mechanism = counter()
    assert list(itertools.islice(mechanism.lengths(), 6)) == [2, 128, 8192, 524288, 1 << 22, 1 << 22]
    assert mechanism.horizon == END
    for step in (1, 2, 3, 130, 131, 10**6):
        assert mechanism.variance(step) == counter(horizon=step).variance(step)
    known = WideTreeCounter(horizon=1 << 14, epsilon=1, delta=0, neighbours=Event())
    assert counter(horizon=1 << 14, first=16).mean_variance < 2 * known.mean_variance


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_seen_variance_is_the_stated_one_and_errors_are_kept(delta):
    mechanism, rng, runs = counter(delta=delta, horizon=40), unsafe_seeded(3), 1200
    seen = np.array([mechanism.open([0] * 40, rng=rng).ask(40) for _ in range(runs)])
    stated = np.array([mechanism.variance(step) for step in range(1, 41)])
    assert np.all(np.abs(seen.var(axis=0) / stated - 1) < 5 * np.sqrt(5 / runs))
    assert stated.mean() <= mechanism.mean_variance * 1.001 <= stated.mean() * 1.01
    assert np.mean(np.abs(seen).max(axis=1) > mechanism.error(0.05)) <= 0.05
    assert np.mean(np.abs(seen[:, 29]) > mechanism.error(0.05, step=30)) <= 0.05 + 4 * 0.0063


def test_no_counter_is_shorter_than_the_events_of_a_user():
    """With k events calibrated for k, one of them in each of two counters costs no more than both in one."""
    mechanism = counter(neighbours=UserEvents(), cap=UserCap(5))
    lengths = list(itertools.islice(mechanism.lengths(), 3))
    assert lengths == [5, 320, 20480]
    for length in lengths:
        part = mechanism.make_part(length)
        each = len(part.lengths) * part.moved  # what one event moves
        assert 5 * each / part.noise.scale <= 1


@pytest.mark.parametrize(
    ("given", "refusal", "words"),
    [
        ({"neighbours": UserEvents(), "cap": UserCap(2), "delta": 1e-6}, NeighboursMismatch, "delta=0"),
        ({"neighbours": UserEvents(), "cap": UserCap(2, Which.SPREAD)}, InvalidParameter, "first events"),
        ({"first": 0}, InvalidParameter, "first"),
        ({"first": 1, "growth": 1}, InvalidParameter, "growth"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, refusal, words):
    with pytest.raises(refusal, match=words):
        counter(**given)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("at", [0, 2, 5, 131, 140])
def test_a_checkpoint_goes_on_where_it_stood(delta, at):
    mechanism = counter(delta=delta)
    whole, begun = mechanism.open(rng=unsafe_seeded(5)), mechanism.open(rng=unsafe_seeded(5))
    rng = begun._rng
    before = [begun.push(1) for _ in range(at)]
    later = mechanism.restore(begun.checkpoint(), rng=rng)
    after = [later.push(1) for _ in range(150 - at)]
    assert before + after == [whole.push(1) for _ in range(150)]
