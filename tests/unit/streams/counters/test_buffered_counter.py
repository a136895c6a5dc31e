"""The buffered counter: answers, variances, what it refuses, and how it goes on from a checkpoint."""

import hashlib
import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.rng import Rng
from discreet.streams import (
    BufferedCounter,
    Event,
    EventPresence,
    RealElements,
    StreamCheckpoint,
    UserCap,
    UserEvents,
    WholeElements,
)
from discreet.testing import unsafe_seeded


class NoNoise(Rng):
    """Adds nothing."""

    unsafe = True

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        return value


def counter(horizon=100, **given):
    return BufferedCounter(
        **{"horizon": horizon, "epsilon": 1, "delta": 1e-6, "neighbours": Event(), **given}
    )


@pytest.mark.parametrize("horizon", [1, 2, 5, 128, 129, 1000])
def test_without_noise_answers_are_running_sums_however_they_are_pushed(horizon):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    truth = np.cumsum(stream)
    single = counter(horizon).open(rng=NoNoise())
    assert [single.push(bit) for bit in stream] == pytest.approx(truth, abs=0.01)
    for size in (3, 200, horizon):
        several = counter(horizon).open(rng=NoNoise())
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts) == pytest.approx(truth, abs=0.01)


def test_with_a_decay_old_elements_fade():
    fading = counter(6, decay=0.5).open([8, 0, 0, 4, 0, 0], rng=NoNoise())
    assert fading.ask(6) == pytest.approx([1, 0.5, 0.25, 1.125, 0.5625, 0.28125], abs=0.01)
    real = counter(3, elements=RealElements(lower=-2, upper=2, grid=0.5)).open([-7, 0.6, 2], rng=NoNoise())
    assert real.ask(3) == pytest.approx([-2, -1.5, 0.5], abs=0.01)


@pytest.mark.filterwarnings("error")
def test_a_decay_after_which_nothing_is_left_is_refused():
    assert counter(6, decay=1e-12).variance(6) == pytest.approx(counter(1).variance(1), rel=0.01)
    for decay in (0, -1, 1.01, 1e-18, Fraction(1, 10**400), Fraction(1, 10**5000)):
        with pytest.raises(InvalidParameter, match="decay must be from 1e-12"):
            counter(6, decay=decay)


def test_a_decay_that_is_next_to_none_is_none():
    for digits in (40, 60, 400):
        slow = counter(64, decay=1 - Fraction(1, 10**digits))
        assert slow.variance(64) == pytest.approx(counter(64).variance(64), rel=1e-9)


@pytest.fixture(scope="module")
def noises():
    """Answers of 2,000 conversations about nothing."""
    mechanism, rng = counter(64), unsafe_seeded(11)
    return np.array([mechanism.open([0] * 64, rng=rng).ask(64) for _ in range(2000)])


def test_seen_variance_is_the_stated_one(noises):
    stated = np.array([counter(64).variance(step) for step in range(1, 65)])
    assert np.all(np.abs(noises.var(axis=0) / stated - 1) < 5 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("beta", [0.3, 0.05, 0.01])
def test_one_steps_error_is_the_quantile_of_its_noise(noises, beta):
    alpha, seen = counter(64).error(beta, step=64), np.abs(noises[:, -1])
    spread = (beta * (1 - beta) / 2000) ** 0.5
    assert np.mean(seen > alpha) <= beta + 5 * spread
    assert np.mean(seen > alpha - 2) >= beta - 5 * spread, "errors are whole units, rounded up"


def test_users_and_presence_cost_what_their_events_can_move():
    event, present = (
        counter(elements=WholeElements(9), neighbours=relation) for relation in (Event(), EventPresence())
    )
    assert event.variance(50) == pytest.approx(present.variance(50))
    users = [counter(neighbours=UserEvents(), cap=UserCap(k)) for k in (1, 2, 4)]
    spreads = [mechanism.variance(100) ** 0.5 for mechanism in users]
    assert 1.3 < spreads[1] / spreads[0] < 2 and 1.3 < spreads[2] / spreads[1] < 2


def test_rounding_is_forgotten_like_the_elements():
    """With decay 1/2 an answer adds up two elements at most, however long the stream is."""
    grid = RealElements(lower=0, upper=8, grid=4)
    coarse = counter(3000, elements=grid, decay=0.5, epsilon=300)
    fine = counter(3000, elements=RealElements(lower=0, upper=8, grid=0.001), decay=0.5, epsilon=300)
    assert coarse.error(0.05) < fine.error(0.05) + 2 * 2 + 8  # and an answer is a whole number of units
    off = coarse.open(np.full(3000, 5.99)).ask(3000) - 5.99 * (2 - 0.5 ** np.arange(3000))
    assert 3.9 < np.abs(off).max() <= coarse.error(0.05)


def test_less_fineness_costs_noise_and_no_guarantee():
    fine, coarse = counter(), counter(fineness=2)
    assert coarse.variance(100) > 1.2 * fine.variance(100)
    for mechanism in (fine, coarse):
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-6)
        assert not mechanism.guarantee.implies(epsilon=0.99, delta=1e-6)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"delta": 0}, "delta"),
        ({"decay": 0}, "decay"),
        ({"decay": 1.5}, "decay"),
        ({"fineness": 0}, "fineness"),
        ({"horizon": 1 << 12, "elements": WholeElements(1 << 45), "fineness": 1}, "elements"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, name):
    with pytest.raises(InvalidParameter, match=name):
        counter(**given)


def test_a_checkpoint_goes_on_where_it_stood():
    mechanism = counter(300)
    first = mechanism.open(rng=NoNoise())
    first.push_many([1, 0, 1] * 50)
    second = mechanism.restore(first.checkpoint(), rng=NoNoise())
    assert second.push(1) == pytest.approx(101, abs=0.01)
    assert second.push_many([1] * 149)[-1] == pytest.approx(250, abs=0.01)


def bend(file, name):
    """Change what a checkpoint says of the buffers, as another release might."""
    told = json.loads(file.read_text())
    run = told["parts"]["run"]
    run[name] = [run[name][0] - 1, *run[name][1:]] if isinstance(run[name], list) else run[name] + 1
    del told["digest"]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps({**told, "digest": digest}))


@pytest.mark.parametrize("name", ["rates", "weights", "fine", "bits"])
def test_a_checkpoint_of_other_coefficients_is_refused_and_kept(name, tmp_path):
    mechanism, file = counter(300), tmp_path / "kept"
    with mechanism.open() as begun:
        begun.push(1)
        begun.checkpoint().write(file)
    bend(file, name)
    taken = StreamCheckpoint.read(file)
    for _ in range(2):
        with pytest.raises(InvalidParameter, match="the same coefficients"):
            mechanism.restore(taken)
    taken.write(file)  # nothing was answered: it still goes on, where it was made
    assert file.exists()


@pytest.mark.parametrize("given", [{"horizon": 3}, {"horizon": 700}, {"horizon": 300, "decay": 0.9}])
def test_the_mean_variance_is_that_of_all_answers(given):
    mechanism = counter(**given)
    steps = [mechanism.variance(step) for step in range(1, mechanism.horizon + 1)]
    assert np.mean(steps) <= mechanism.mean_variance * (1 + 1e-8) <= np.mean(steps) * 1.002
