"""The approximate leader: noise of one law at all rounds, what a round moves, and the bound."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.rng import Rng
from discreet.learning import ApproximateLeader, Event, Losses
from discreet.learning.experts.approximate_leader import LeaderFollower
from discreet.testing import unsafe_seeded


def leader(**changed):
    given = {"experts": 10, "horizon": 1000, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return ApproximateLeader(**{**given, **changed})


class Silent(Rng):
    """Adds no noise, and keeps what it was given."""

    unsafe = True

    def __init__(self):
        self.given = []

    def random_bytes(self, count):
        return bytes(count)

    def perform(self, primitive, value):
        self.given.append((primitive, np.array(value)))
        return 0 if value.ndim == 1 and not hasattr(primitive, "noise") else value


@pytest.mark.parametrize("horizon", [2, 3, 8, 9, 20])
def test_noisy_sums_are_those_of_all_rounds_so_far(horizon):
    mechanism = leader(horizon=horizon, losses=Losses(0, 1, 10), experts=3)
    follower, rng = LeaderFollower(mechanism), Silent()
    losses = np.random.default_rng(horizon).integers(0, 11, (horizon, 3))  # noqa: TID251
    for place in range(horizon):
        follower.choose(rng)
        assert follower._noisy.sum(axis=0).tolist() == losses[:place].sum(axis=0).tolist()
        if place < horizon - 1:
            follower.learn(losses[place])


@pytest.mark.parametrize("horizon", [2, 3, 8, 9, 20])
def test_a_round_moves_no_more_blocks_than_it_pays_for(horizon):
    mechanism = leader(horizon=horizon, losses=Losses(0, 1, 10), experts=3)
    moved = []
    for changed in range(horizon - 1):
        given = []
        for level in (0, 10):
            follower, rng = LeaderFollower(mechanism), Silent()
            for place in range(horizon):
                follower.choose(rng)
                follower.learn(np.full(3, level if place == changed else 5)) if place < horizon - 1 else None
            given.append([value for _, value in rng.given])
        moved.append(sum(int(((a - b) ** 2).sum()) for a, b in zip(*given, strict=True)))
    assert max(moved) <= mechanism.square_shift
    assert max(moved) > 0.6 * mechanism.square_shift or horizon < 8


def test_every_answer_carries_one_noise_of_each_level():
    """The mean square of the noise is the same at all rounds, with stand-ins and without."""
    mechanism = leader(horizon=8, experts=400, losses=Losses(0, 1, 1))
    follower, rng, found = LeaderFollower(mechanism), unsafe_seeded(2), []
    for place in range(8):
        follower.choose(rng)
        found.append(float(follower._noisy.sum(axis=0).var()))
        follower.learn(np.zeros(400, dtype=np.int64)) if place < 7 else None
    expected = mechanism.levels * float(mechanism.variance)
    assert found[1:] == pytest.approx([expected] * 7, rel=0.35)


def test_the_mean_regret_keeps_its_bound():
    mechanism = leader(horizon=1000, epsilon=20)
    losses = (np.arange(1000)[:, None] + np.arange(10)) % 2 * 0.9 + (np.arange(10) != 4) * 0.1
    found = []
    for seed in range(3):
        named = mechanism.open(losses, rng=unsafe_seeded(seed)).ask(1000)
        found.append(losses[np.arange(1000), named].mean() - losses.mean(axis=0).min())
    assert -0.01 < np.mean(found) <= mechanism.regret


def test_it_needs_delta_and_claims_no_more_than_an_expectation():
    with pytest.raises(InvalidParameter, match="LazyMajority"):
        leader(delta=0)
    with pytest.raises(NoBound, match="expectation"):
        leader().error(0.05)
