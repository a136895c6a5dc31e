"""Repaired trees, refreshes of counters, local streams and secret storage."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import local as local_model
from discreet.core.loss import PureLoss
from discreet.core.neighbours import LocalReport
from discreet.core.rng import Rng
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.streams import (
    Event,
    LocalStream,
    PanPrivateCounter,
    PanPrivateTree,
    SecretStorage,
    SquareRootCounter,
    TreeCounter,
    UserCap,
    UserEvents,
    WindowCounter,
    open_masked,
)
from discreet.testing import unsafe_seeded


class Ones(Rng):
    """Adds one everywhere, and counts how often it was asked to."""

    def __init__(self):
        self.met = 0

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        self.met += np.size(value)
        return value + 1


def tree(horizon, **given):
    return PanPrivateTree(**{"horizon": horizon, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


@pytest.mark.parametrize("branching", [2, 3, 7])
@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 9, 30, 49])
def test_an_answer_of_a_tree_adds_up_what_its_digits_say(horizon, branching):
    counter = tree(horizon, branching=branching)
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    noisy = [counter.count_noises(t) + sum(stream[:t]) for t in range(1, horizon + 1)]
    one = counter.open(rng=Ones())
    assert [one.push(bit) for bit in stream] == noisy
    assert counter.open(rng=Ones()).push_many(stream).tolist() == noisy
    assert sum(count for count, _ in counter._error_laws()) == horizon
    assert one.closed and not any(one.state.reveal()["run"]["open"]), "at the horizon nothing is open"


def test_blocks_of_a_tree_are_noisy_from_their_first_moment_and_gone_at_their_end():
    counter = tree(8)
    conversation = counter.open(rng=Ones())
    assert conversation.state.reveal()["run"] == {"open": [0, 0, 0], "published": [0, 0, 0]}
    for taken in range(1, 8):
        conversation.push(0)
        expected = [0, *(int(taken % (1 << level) != 0) for level in (1, 2))]
        assert conversation.state.reveal()["run"]["open"] == expected


def test_scales_of_trees_follow_their_depth():
    assert tree(1024).noise == DiscreteLaplace(Fraction(10))
    assert tree(1024, branching=16).noise == DiscreteLaplace(Fraction(3))
    assert isinstance(tree(1024, delta=1e-6).noise, DiscreteGaussian)
    assert tree(1024, delta=1e-6).loss.epsilon(1e-6) <= 1
    flat, counter = (
        tree(1024, branching=16),
        PanPrivateCounter(horizon=1024, epsilon=1, delta=0, neighbours=Event()),
    )
    assert flat.mean_variance < counter.mean_variance / 4, "the page's claim"
    with pytest.raises(dp.errors.InvalidParameter, match="branching"):
        tree(9, branching=65)
    with pytest.raises(dp.errors.NeighboursMismatch, match="an intruder reads"):
        tree(8, neighbours=UserEvents(), cap=UserCap(2))


@pytest.mark.parametrize("kind", [PanPrivateCounter, PanPrivateTree])
def test_a_refresh_draws_noise_for_what_is_open_and_is_counted(kind):
    counter = kind(horizon=8, epsilon=1, delta=0, neighbours=Event(), looks=3)
    rng = Ones()
    conversation = counter.open(rng=rng)
    conversation.refresh()
    assert rng.met == 0, "nothing is here before the first step"
    conversation.push_many([1, 1, 1])
    before = rng.met
    conversation.refresh()
    opened = 3 if kind is PanPrivateCounter else 2  # after three steps blocks of two and four are open
    assert rng.met - before == opened
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        conversation.refresh()
    saved = conversation.checkpoint()
    later = counter.restore(saved, rng=rng)
    assert later.refreshes == 2
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        later.refresh()
    assert counter.error(0.05) > kind(horizon=8, epsilon=1, delta=0, neighbours=Event()).error(0.05)
    assert "3 moments" in counter.words
    later.close()
    with pytest.raises(dp.errors.InvalidParameter):
        later.refresh()


class Flip:
    """A randomizer of somebody else: it has an `encode` and says what it costs."""

    categories, neighbours, loss = 2, LocalReport(), PureLoss(Fraction(11, 10))

    def encode(self, value, *, rng):
        return RandomizedResponse.coin_flips().release(value, rng=rng).value


def local(randomizer, **given):
    parts = {"horizon": 100, "epsilon": 2, "neighbours": Event(), **given}
    return LocalStream(randomizer=randomizer, **parts)


def test_reports_of_what_says_nothing_of_itself_are_not_written_down():
    """It would not be known again, and the reports would be lost; or another one be taken for it."""
    conversation = local(Flip()).open(rng=unsafe_seeded(1))
    conversation.push(1)
    with pytest.raises(dp.errors.InvalidParameter, match="says all that it is"):
        conversation.checkpoint()
    conversation.push(0)
    assert conversation.steps == 2


def test_a_local_stream_keeps_reports_and_estimates_from_them():
    respond = RandomizedResponse(epsilon=2, categories=3)
    stream = local(None, horizon=20_000, categories=3)
    assert stream.reporter == respond
    assert stream.loss == respond.loss and "all moments" in stream.words
    elements = np.arange(20_000) % 2
    with stream.open(rng=unsafe_seeded(1)) as conversation:
        assert conversation.estimate() == {}
        conversation.push(1)
        conversation.push_many(elements[1:])
        state = conversation.state.reveal()
        assert sum(count for _, count in state["reports"]) == conversation.steps == 20_000
        assert np.abs(conversation.estimate() - [0.5, 0.5, 0]).max() <= stream.error(0.001)
        assert json.loads(json.dumps(state))
        with pytest.raises(dp.errors.InvalidParameter, match="steps left, 0"):
            conversation.push(1)
        state = conversation.state.reveal()
        assert state["asked"] == 2
        saved = conversation.checkpoint()
        assert stream.restore(saved).state.reveal() == state
        with pytest.raises(dp.errors.ConversationClosed, match="restored before"):
            stream.restore(saved)
    for act in (conversation.checkpoint, lambda: conversation.push(1)):
        with pytest.raises(dp.errors.ConversationClosed):
            act()


def test_another_randomizer_is_taken_by_what_it_says():
    stream = local(Flip())
    with stream.open([1, 0, 1], rng=unsafe_seeded(1)) as conversation:
        assert sum(conversation.ask(3).values()) == 3
    with pytest.raises(dp.errors.NoBound):
        stream.error(0.05)
    with pytest.raises(dp.errors.InvalidParameter, match="randomizer"):
        local(object())
    with pytest.raises(dp.errors.InvalidParameter, match="randomizer"):
        local(dp.Laplace(sensitivity=1, epsilon=1))
    with pytest.raises(dp.errors.InvalidParameter, match="epsilon"):
        local(RandomizedResponse(epsilon=3))
    with pytest.raises(dp.errors.NeighboursMismatch):
        local(Flip(), neighbours=UserEvents())


SURVEYS = [
    local_model.DirectResponse(epsilon=2, domain=6),
    local_model.HadamardResponse(epsilon=2, domain=6),
    local_model.LocalHashing(epsilon=2, domain=6),
    local_model.OptimisedUnary(epsilon=2, domain=6),
    local_model.ProjectiveResponse(epsilon=2, domain=6),
    local_model.SubsetSelection(epsilon=2, domain=6),
    local_model.SymmetricUnary(epsilon=2, domain=6),
]


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.kind)
def test_every_oracle_of_the_local_model_runs_on_a_stream(survey):
    stream = local(survey, horizon=4000)
    assert stream.loss == survey.loss
    with stream.open(rng=unsafe_seeded(1)) as conversation:
        assert conversation.estimate() is None
        conversation.push_many([3] * 3000)
        conversation.push_many(np.full(500, 1))
        for _ in range(500):
            conversation.push("nothing of the domain")  # as the first value
        state = conversation.state.reveal()["reports"]
        assert sum(count for _, count in state) == conversation.steps == 4000
        assert json.loads(json.dumps(state)) == [list(report) for report in state]
        later = stream.restore(conversation.checkpoint())
        assert later.state.reveal()["reports"] == state
        found = later.estimate()
        assert np.abs(found.counts - [500, 500, 0, 3000, 0, 0]).max() <= found.error(0.001)


def test_means_searches_and_distributions_of_the_local_model_run_on_a_stream():
    bounds = {"epsilon": 2, "lower": 0, "upper": 10}
    kinds = (local_model.SignMean, local_model.PiecewiseMean, local_model.HybridMean)
    for kind in kinds:
        with local(kind(**bounds), horizon=3000).open(rng=unsafe_seeded(2)) as conversation:
            conversation.push_many([4.0] * 3000)
            found = conversation.estimate()
            assert abs(found.value - 4) <= found.error(0.001)
    with local(local_model.SquareWave(**bounds), horizon=2000).open(rng=unsafe_seeded(2)) as conversation:
        conversation.push_many([4.0] * 2000)
        assert conversation.estimate() is not None
    search = local_model.PrefixSearch(epsilon=4, length=16)
    with local(search, horizon=3000, epsilon=4).open(rng=unsafe_seeded(2)) as conversation:
        conversation.push_many(["ok"] * 3000)
        assert conversation.estimate(share=0.5).texts == ["ok"]


def test_a_survey_that_needs_a_memo_or_costs_more_is_refused_when_the_stream_is_built():
    with pytest.raises(dp.errors.Refused, match="memo"):
        local(local_model.MemoisedUnary(epsilon=2, once=1, domain=6))
    with pytest.raises(dp.errors.InvalidParameter, match="epsilon must be at least what the"):
        local(SURVEYS[0], epsilon=1)
    with pytest.raises(dp.errors.NoBound, match="what it estimates"):
        local(SURVEYS[0]).error(0.05)


@pytest.mark.parametrize("odd", ["eve", None, math.nan, 10**400, -1, 2, object(), b"1", [], float("inf")])
def test_what_is_no_category_is_reported_as_the_first(odd):
    sure = local(RandomizedResponse(epsilon=900, categories=2), epsilon=900)
    with sure.open(rng=unsafe_seeded(1)) as conversation:
        conversation.push(odd)
        conversation.push_many([odd, odd])
        assert conversation.state.reveal()["reports"] == [(0, 3)]


def counter_of(horizon=20):
    return TreeCounter(horizon=horizon, epsilon=1, delta=0, neighbours=Event())


def test_a_masked_counter_answers_as_the_counter_does():
    plain, storage = counter_of().open(rng=unsafe_seeded(3)), SecretStorage()
    masked = open_masked(counter_of(), storage, rng=unsafe_seeded(3))

    class Same(Rng):
        """Noise from one generator, pads from another, so that both counters draw the same noise."""

        def __init__(self):
            self._noise, self._pads = unsafe_seeded(3), unsafe_seeded(4)

        def random_bytes(self, count):
            return self._pads.random_bytes(count)

        def perform(self, primitive, value):
            return primitive.sample(value, self._noise)

    masked._rng = Same()
    masked._mask(masked._unmask())
    assert [masked.push(1) for _ in range(20)] == [plain.push(1) for _ in range(20)]
    assert masked.closed
    assert "assuming that the secret storage is never seen" in masked.words


def test_a_masked_state_is_uniform_and_never_under_the_same_pad():
    """For every content and every state there is one pad: so the state says nothing without it."""
    storage = SecretStorage()
    masked = open_masked(counter_of(), storage, rng=unsafe_seeded(1))
    seen, pads = [], []
    for bit in (1, 0, 1):
        seen.append(bytes.fromhex(masked.state.reveal()["masked"]))
        pads.append(storage.fetch())
        plain = bytes(a ^ b for a, b in zip(seen[-1], pads[-1], strict=True))
        assert json.loads(plain)["taken"] == len(seen) - 1
        masked.push(bit)
    assert len(set(pads)) == 3 and len({len(each) for each in seen}) == 1
    assert sorted(vars(masked)) == sorted(vars(open_masked(counter_of(), SecretStorage())))
    held = [value for value in vars(masked).values() if isinstance(value, dict | list)]
    assert not held, "no state lies beside the masked one"
    assert repr(storage) == "SecretStorage(...)"


def test_secret_storage_of_somebody_else_and_users_are_refused():
    storage = SecretStorage()
    masked = open_masked(counter_of(), storage)
    storage.keep(b"")
    with pytest.raises(dp.errors.ConversationClosed, match="no pad"):
        masked.push(1)
    users = TreeCounter(horizon=9, epsilon=1, delta=0, neighbours=UserEvents(), cap=UserCap(2))
    with pytest.raises(dp.errors.NeighboursMismatch, match="grows"):
        open_masked(users, SecretStorage())


@pytest.mark.parametrize(
    "growing",
    [
        WindowCounter(width=40, epsilon=1, delta=0, neighbours=Event()),
        SquareRootCounter(horizon=100, epsilon=1, delta=1e-6, neighbours=Event()),
    ],
)
def test_a_pad_grows_with_the_steps_of_a_counter_that_keeps_them_and_with_nothing_else(growing):
    sizes = []
    for bit in (0, 1):
        masked = open_masked(growing, SecretStorage())
        sizes.append([])
        for _ in range(60):
            masked.push(bit)
            sizes[-1].append(len(masked.state.reveal()["masked"]))
    assert sizes[0] == sizes[1]
