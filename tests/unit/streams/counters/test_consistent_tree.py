"""Consistent estimates of a tree's blocks: least variance, closed form, however elements are pushed."""

import itertools

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.streams import Event, TreeCounter, WholeElements
from discreet.streams.counters.consistent_tree import share_of
from discreet.testing import unsafe_seeded


def counter(horizon, **given):
    return TreeCounter(
        **{"horizon": horizon, "epsilon": 1, "delta": 0, "neighbours": Event(), "consistent": True, **given}
    )


class Told(NoNoise):
    """Adds given noise, block by block in the order of steps and levels."""

    def __init__(self, noise):
        self.noise = noise

    def perform(self, primitive, value):
        assert not isinstance(value, np.ndarray)
        return value + self.noise.pop(0)


def list_blocks(horizon, levels):
    """Return all blocks (first, last + 1) in the order in which they end, small ones first."""
    return [
        (end - (1 << level), end)
        for end in range(1, horizon + 1)
        for level in range(levels)
        if end % (1 << level) == 0
    ]


@pytest.mark.parametrize("horizon", [*range(1, 34), 64, 100])
def test_answers_are_prefix_sums_however_they_are_pushed(horizon):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    mechanism, rng = counter(horizon), NoNoise()
    single = mechanism.open(rng=rng)
    assert [single.push(bit) for bit in stream] == pytest.approx(np.cumsum(stream))
    assert rng.met == len(list_blocks(horizon, mechanism.levels)), "every block is measured once"
    for size in (1, 2, 3, 7, horizon):
        several = mechanism.open(rng=NoNoise())
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts) == pytest.approx(np.cumsum(stream))
        assert several.state.reveal()["run"] == single.state.reveal()["run"]


@pytest.mark.parametrize("horizon", [2, 5, 8, 13, 16])
def test_no_unbiased_estimate_of_a_block_from_below_errs_less(horizon):
    """Least squares over the blocks inside the blocks of the binary digits, solved as matrices."""
    mechanism = counter(horizon)
    blocks = list_blocks(horizon, mechanism.levels)
    rows = np.array(
        [[first <= step < last for step in range(horizon)] for first, last in blocks], dtype=float
    )
    noises = np.eye(len(blocks), dtype=int)
    answers = np.zeros((len(blocks), horizon))
    for place, noise in enumerate(noises):
        conversation = mechanism.open(rng=Told(noise.tolist()))
        answers[place] = [conversation.push(0) for _ in range(horizon)]
    one = mechanism.variance(1)
    for step in range(1, horizon + 1):
        ends = list(itertools.accumulate([1 << level for level in mechanism.list_levels(step)]))
        least = 0.0
        for begin, end in itertools.pairwise([0, *ends]):
            inside = [place for place, (first, last) in enumerate(blocks) if begin <= first and last <= end]
            design = rows[np.ix_(inside, range(begin, end))]
            least += np.ones(end - begin) @ np.linalg.solve(design.T @ design, np.ones(end - begin))
        weights = answers[:, step - 1]
        assert (weights**2).sum() == pytest.approx(least)
        assert mechanism.variance(step) == pytest.approx(least * one)
        assert rows.T @ weights == pytest.approx((np.arange(horizon) < step).astype(float)), "unbiased"


def test_a_share_falls_to_a_half():
    assert [str(share_of(level)) for level in range(4)] == ["1", "2/3", "4/7", "8/15"]


@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 11, 64, 100])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_errors_and_mean_variances(horizon, delta):
    mechanism, plain = counter(horizon, delta=delta), counter(horizon, delta=delta, consistent=False)
    variances = [mechanism.variance(step) for step in range(1, horizon + 1)]
    assert mechanism.mean_variance == pytest.approx(np.mean(variances))
    laws = list(mechanism._error_laws())
    assert sum(count for count, _ in laws) == horizon
    assert max(law.variance for _, law in laws) >= max(variances) * (1 - 1e-9)
    assert mechanism.mean_variance <= plain.mean_variance * (1 + 1e-9)
    assert max(mechanism.error(0.05, step=step) for step in (1, horizon)) <= mechanism.error(0.05)


def test_the_noise_is_that_of_the_plain_tree_and_errs_by_three_quarters():
    fine, plain = counter(1 << 14, delta=1e-9), counter(1 << 14, delta=1e-9, consistent=False)
    assert fine.noise == plain.noise and fine.loss == plain.loss
    assert (fine.mean_variance / plain.mean_variance) ** 0.5 < 0.75


def test_seen_variance_is_the_stated_one_and_large_elements_do_not_wrap():
    mechanism, rng = counter(16), unsafe_seeded(3)
    seen = np.array([mechanism.open([0] * 16, rng=rng).ask(16) for _ in range(2000)])
    stated = np.array([mechanism.variance(step) for step in range(1, 17)])
    assert np.all(np.abs(seen.var(axis=0) / stated - 1) < 5 * np.sqrt(5 / 2000))
    huge = counter(1000, elements=WholeElements(1 << 50))
    answers = huge.open(rng=NoNoise()).push_many(np.full(1000, 1 << 50))
    assert answers == pytest.approx(np.arange(1, 1001) * 2.0**50)
