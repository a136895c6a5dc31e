"""The wide tree counter: its blocks, its noise, its errors, and how far below the plain tree's they are."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter
from discreet.core.rng import Rng
from discreet.streams import Event, RealElements, TreeCounter, UserCap, UserEvents, WholeElements, plan
from discreet.streams.counters.wide_tree_counter import WideTreeCounter, choose_radices
from discreet.streams.weighted_sums import WeightedSum
from discreet.testing import unsafe_seeded


def counter(horizon, **given):
    return WideTreeCounter(**{"horizon": horizon, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


class OneNoise(Rng):
    """Adds 1 to the draw of one number, and 0 to all others."""

    unsafe = True

    def __init__(self, chosen):
        self.chosen, self.met = chosen, 0

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        drawn = np.arange(self.met, self.met + np.size(value)) == self.chosen
        self.met += np.size(value)
        return value + drawn.astype(np.int64) if isinstance(value, np.ndarray) else value + int(drawn[0])


SHAPES = [(1, None), (7, None), (8, (2,)), (9, (3,)), (11, (2, 3)), (30, (3, 2, 2)), (100, None), (400, None)]


@pytest.mark.parametrize(("horizon", "radices"), SHAPES)
def test_answers_are_prefix_sums_however_they_are_pushed(horizon, radices):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    truth = list(itertools.accumulate(stream))
    mechanism = counter(horizon, radices=radices)
    single = mechanism.open(rng=NoNoise())
    assert [single.push(bit) for bit in stream] == truth
    for size in (1, 2, 3, 7, horizon):
        several = mechanism.open(rng=NoNoise())
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts).tolist() == truth
        assert several.closed


def read_weights(mechanism, size):
    """Return how the answers of all steps hang on every noise, the steps taken `size` at a time."""
    horizon, rows = mechanism.horizon, []
    for chosen in itertools.count():
        rng = OneNoise(chosen)
        conversation = mechanism.open(rng=rng)
        if size == 1:
            rows.append([conversation.push(0) for _ in range(horizon)])
        else:
            cuts = range(0, horizon, size)
            parts = [conversation.push_many([0] * min(size, horizon - start)) for start in cuts]
            rows.append(np.concatenate(parts).tolist())
        if chosen >= rng.met:
            return np.array(rows[:-1]).T
    raise AssertionError


@pytest.mark.parametrize(("horizon", "radices"), [case for case in SHAPES if case[0] <= 100])
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_the_weights_of_all_noises_are_those_that_the_variance_counts(horizon, radices, size):
    mechanism = counter(horizon, radices=radices)
    weights = read_weights(mechanism, size)
    seen = np.square(weights).sum(axis=1)
    steps = np.arange(1, horizon + 1)
    assert seen == pytest.approx(mechanism.count_noises(steps))
    one = mechanism.variance(1) / mechanism.count_noises(1)
    assert mechanism.mean_variance == pytest.approx(seen.mean() * one)
    for step in (1, horizon // 2 + 1, horizon):
        assert mechanism.variance(step) == pytest.approx(seen[step - 1] * one)
        law = mechanism._error_law(step)
        ours = sorted(w for n, w in zip(law.times, law.weights, strict=True) for _ in range(n) if w)
        assert ours == pytest.approx(sorted(w for w in weights[step - 1] if abs(w) > 1e-12))
        between = mechanism.law_between(step // 3, step)
        earlier = weights[step // 3 - 1] if step >= 3 else 0
        assert between.variance == pytest.approx(np.square(weights[step - 1] - earlier).sum() * one)
    groups = list(mechanism._error_laws())
    assert sum(count for count, _ in groups) == horizon
    bounds = np.repeat([law.variance for _, law in groups], [count for count, _ in groups])
    assert np.all(seen * one <= bounds * (1 + 1e-6))


def test_moments_of_no_step_exceed_those_of_its_group():
    mechanism = counter(60, radices=(4, 3))
    groups = list(mechanism._error_laws())
    laws = [law for count, law in groups for _ in range(count)]
    for step in range(1, 61):
        own = mechanism._error_law(step)._chernoff
        assert np.all(own.logs <= laws[step - 1].logs + 1e-9)


@pytest.mark.parametrize(("horizon", "ratio"), [(1 << 14, 0.335), (1 << 20, 0.318)])
def test_a_third_of_the_plain_trees_deviation(horizon, ratio):
    wide, plain = counter(horizon), TreeCounter(horizon=horizon, epsilon=1, delta=0, neighbours=Event())
    assert math.sqrt(wide.mean_variance / plain.mean_variance) <= ratio
    largest = max(law.variance for _, law in wide._error_laws())
    assert math.sqrt(largest / max(law.variance for _, law in plain._error_laws())) <= ratio
    assert wide.error(0.05) < plain.error(0.05) / 2


def test_it_errs_less_than_signed_digits():
    """[APST25]: t is written with digits from -(k - 1) / 2 to (k - 1) / 2, one noise for each unit of one."""

    def mean_of_signed_digits(horizon, k):
        sizes, ones = 0, np.zeros(horizon)
        left = np.arange(1, horizon + 1)
        while left.any():
            digits = (left + k // 2) % k - k // 2
            left, ones, sizes = (left - digits) // k, ones + np.abs(digits), sizes + 1
        return ones.mean() * sizes**2

    for horizon in (1000, 1 << 14):
        best = min(mean_of_signed_digits(horizon, k) for k in range(3, 99, 2))
        mechanism = counter(horizon)
        wide = mechanism.count_noises(np.arange(1, horizon + 1)).mean() * len(mechanism.lengths) ** 2
        assert wide < 0.75 * best


def test_seen_variance_is_the_stated_one():
    mechanism, rng = counter(24, radices=(4,)), unsafe_seeded(3)
    seen = np.array([mechanism.open([0] * 24, rng=rng).ask(24) for _ in range(2000)])
    stated = np.array([mechanism.variance(step) for step in range(1, 25)])
    # Kurtosis of a Laplace sum is at most 6: the standard error of a variance is at most sqrt(5 / n) of it.
    assert np.all(np.abs(seen.var(axis=0) / stated - 1) < 5 * np.sqrt(5 / 2000))
    worst = np.abs(seen).max(axis=1)
    assert np.mean(worst > mechanism.error(0.05)) <= 0.05
    for step in (7, 24):
        missed = np.mean(np.abs(seen[:, step - 1]) > mechanism.error(0.05, step=step))
        assert 0.03 < missed + 4 * (0.05 * 0.95 / 2000) ** 0.5 and missed < 0.05 + 4 * 0.005


@pytest.mark.parametrize("weights", [((3, 1.0),), ((2, 0.5), (4, -0.25)), ((1, 1.0), (9, 0.1))])
@pytest.mark.parametrize("scale", [0.7, 6.0])
def test_the_tail_of_a_weighted_sum_is_bounded_and_not_by_much(weights, scale):
    times, values = zip(*weights, strict=True)
    parts, rate = 20, math.exp(-1 / scale)
    one = 2 * rate / (1 - rate) ** 2
    law = np.ones(1)
    for count, weight in weights:
        reach = math.ceil(40 * scale)
        single = np.zeros(2 * reach * round(abs(weight) * parts) + 1)
        single[:: round(abs(weight) * parts)] = rate ** np.abs(np.arange(-reach, reach + 1))
        for _ in range(count):
            law = np.convolve(law, single / single.sum())
    at = np.abs(np.arange(law.size) - law.size // 2) / parts
    found = WeightedSum((one,) * len(times), times, values)
    spread = math.sqrt(found.variance)
    assert found.variance == pytest.approx(law @ at**2, rel=1e-6)
    for sigmas in (0.3, 1.0, 2.0, 3.5, 6.0):
        exact, near = law[at > sigmas * spread].sum(), law[at > (sigmas - 0.1) * spread].sum()
        bound = found.beyond(sigmas * spread)
        assert exact - 1e-12 <= bound
        assert bound <= near * 1.001 + 1e-9 or sigmas > 5


def test_radices_are_chosen_once_and_may_be_given():
    assert choose_radices(1 << 14) == (15, 15, 15) and choose_radices(3) == ()
    assert counter(100, radices=[5, 4]).lengths == (1, 5, 20)
    assert counter(10**9).lengths[-1] <= 10**9
    with pytest.raises(InvalidParameter, match="radices"):
        counter(100, radices=[5, 1])


@pytest.mark.parametrize(
    ("given", "name"),
    [({"delta": 1e-6}, "delta"), ({"epsilon": 1e-15}, "epsilon"), ({"horizon": 0}, "horizon")],
)
def test_what_cannot_be_counted_is_refused_by_name(given, name):
    with pytest.raises(InvalidParameter, match=name):
        counter(**{"horizon": 100, **given})


def test_large_elements_are_added_without_a_float_between():
    mechanism = counter(4000, elements=WholeElements(1 << 45), radices=(9, 9, 9))
    assert mechanism._start()._kind is object
    large = mechanism.open(rng=NoNoise())
    assert large.push_many([1 << 45] * 20).tolist() == [(1 << 45) * n for n in range(1, 21)]
    real = counter(9, elements=RealElements(lower=-2, upper=2, grid=0.5), radices=(3,)).open(rng=NoNoise())
    assert real.push_many([-7, 0.6, 2]).tolist() == [-2, -1.5, 0.5]


def test_a_user_costs_all_events_that_count():
    assert counter(64, neighbours=UserEvents(), cap=UserCap(4), radices=(8,)).total_shift == 8


@pytest.mark.parametrize("at", [0, 1, 5, 6, 17, 24])
def test_a_checkpoint_goes_on_with_the_noises_that_were_drawn(at):
    mechanism = counter(30, radices=(3, 2))
    whole = mechanism.open(rng=unsafe_seeded(5))
    begun = mechanism.open(rng=unsafe_seeded(5))
    rng = begun._rng
    before = [begun.push(1) for _ in range(at)]
    later = mechanism.restore(begun.checkpoint(), rng=rng)
    after = [later.push(1) for _ in range(30 - at)]
    assert before + after == [whole.push(1) for _ in range(30)]


def test_the_plan_takes_it_for_pure_privacy():
    assert type(plan(1000, 1, 0, Event()).best) is WideTreeCounter


def test_blocks_longer_than_any_stream_are_refused():
    with pytest.raises(InvalidParameter, match="radices"):
        counter(4, radices=(3,) * 41)  # a product that 64 bits do not hold


def test_sums_of_very_many_noises_stay_within_their_words():
    """A million blocks side by side: their noises come to a thousand times one of them."""
    wide = {"horizon": 1 << 22, "epsilon": Fraction(1, 1 << 44), "radices": (2, 2), "neighbours": Event()}
    assert WideTreeCounter(delta=0, **wide)._start()._kind is object
    few = WideTreeCounter(delta=0, **{**wide, "horizon": 4})
    assert few._start()._kind is np.int64
