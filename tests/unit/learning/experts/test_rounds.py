"""Conversations with experts: turns, the door for losses, hostile rounds, and one law however rounds come."""

import math
from decimal import Decimal

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import ConversationClosed, InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove
from discreet.learning import (
    SIGNED,
    UNIT,
    ApproximateLeader,
    EndlessMajority,
    Event,
    EventPresence,
    ExpertsPlan,
    LazyMajority,
    WeightedMajority,
    plan_experts,
)
from discreet.learning.experts.losses import Losses
from discreet.testing import unsafe_seeded

HOSTILE = [(math.nan, math.inf, -math.inf), ("x", None, [1]), None, (1,), (0.3,) * 3]
KINDS = (WeightedMajority, LazyMajority, ApproximateLeader)


def make(kind, **changed):
    given = {"experts": 3, "horizon": 20, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return kind(**{**given, **changed})


def endless(**changed):
    given = {"experts": 3, "first": 4, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return EndlessMajority(**{**given, **changed})


def rounds(count=20, experts=3, seed=1):
    return np.random.default_rng(seed).random((count, experts))  # noqa: TID251


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_held_played_or_observed_one_by_one_are_the_same(kind):
    losses = rounds()
    held = make(kind).open(losses, rng=unsafe_seeded(3)).ask(20).tolist()
    played = make(kind).open(rng=unsafe_seeded(3)).play(losses).tolist()
    conversation, named = make(kind).open(rng=unsafe_seeded(3)), []
    for losses_of_round in losses.tolist():
        named.append(conversation.act())
        conversation.observe(losses_of_round)
    assert held == played == named
    assert conversation.closed and conversation.rounds == 20
    with pytest.raises(ConversationClosed):
        conversation.act()


def test_turns_are_kept():
    conversation = make(WeightedMajority).open()
    with pytest.raises(InvalidParameter, match="act"):
        conversation.observe([0, 0, 0])
    conversation.act()
    with pytest.raises(InvalidParameter, match="once a round"):
        conversation.act()
    with pytest.raises(InvalidParameter, match="once a round"):
        conversation.play(rounds(2))
    conversation.observe(None)
    with pytest.raises(InvalidParameter, match="as many rounds as are left, 19"):
        conversation.play(rounds(20))
    with pytest.raises(InvalidParameter, match="rounds held"):
        conversation.ask(1)
    with pytest.raises(AttributeError):
        conversation.rounds = 0  # or it would go on after its last round


@pytest.mark.parametrize("odd", ["abc", {1: 2}, 3.5, object(), [1, 2], np.zeros(4), np.zeros((3, 3)), "xyz"])
def test_what_is_no_vector_of_losses_is_refused_and_the_round_goes_on(odd):
    conversation = make(WeightedMajority).open()
    conversation.act()
    with pytest.raises(InvalidParameter, match="3 losses"):
        conversation.observe(odd)
    conversation.observe([0, 1, 0.5])
    assert conversation.act() in range(3)


def test_every_loss_has_a_meaning():
    nan, inf = math.nan, math.inf
    read = UNIT.read_round([nan, inf, -inf, None, "x", 10**400, Decimal("0.5"), True, np.float16(2)], 9)
    steps = UNIT.steps
    assert read.tolist() == [0, steps, 0, 0, 0, steps, steps // 2, steps, steps]
    assert SIGNED.read_round(np.array([-1, 0, 1, nan]), 4).tolist() == [0, steps // 2, steps, 0]
    held = UNIT.hold_rounds([(1, 0), None, (1,), "ab", np.zeros((2, 2)), np.array([0.5, 0.0])], 2)
    assert UNIT.read_rounds(held, 2).tolist() == [[steps, 0], *[[0, 0]] * 4, [steps // 2, 0]]
    assert UNIT.read_rounds((), 2).shape == (0, 2)


@pytest.mark.parametrize("given", [{"lower": 1, "upper": 1}, {"lower": 0, "upper": 1, "steps": 1 << 25}])
def test_ranges_that_cannot_be_are_refused(given):
    with pytest.raises(InvalidParameter):
        Losses(**given)


@pytest.mark.parametrize("neighbours", [Event(), EventPresence()])
@pytest.mark.parametrize("losses", [UNIT, SIGNED, Losses(-3, 5, 7)])
def test_the_spread_is_what_hostile_rounds_can_move(neighbours, losses):
    """All vectors at the ends, beyond them, missing: no difference of two experts moves further."""
    ends = [losses.read_round(given, 2) for given in ([-99, 99], [99, -99], [math.nan, 99], ["x", 0])]
    if isinstance(neighbours, EventPresence):
        moves = [end - losses.read_round(None, 2) for end in ends]
    else:
        moves = [a - b for a in ends for b in ends]
    assert max(abs(int(move[0] - move[1])) for move in moves) == losses.spread(neighbours)


def test_other_neighbours_are_refused():
    with pytest.raises(InvalidParameter, match="Event"):
        make(WeightedMajority, neighbours=AddRemove("row"))


@pytest.mark.parametrize("mechanism", [*(make(kind) for kind in KINDS), endless()])
@pytest.mark.parametrize(
    "hostile", [(math.nan, math.inf, -math.inf), ("x", None, [1]), None, (1,), (0.3,) * 3]
)
def test_hostile_rounds_take_the_same_steps(mechanism, hostile):
    """A replay against neighbours with NaN, out of bounds, missing or repeated losses."""
    left = rounds(8).tolist()
    for place in (0, 6):
        right = [*left[:place], hostile, *left[place + 1 :]]
        for pair in ((left, right), (right, left)):
            report = audit.replay(
                mechanism, pair, lambda talk: tuple(talk.ask(8).tolist()), rng=unsafe_seeded(place)
            )
            assert report.holds, report
    assert report.distances


def test_a_plan_is_sorted_and_leaves_out_what_has_no_bound():
    plan = plan_experts(1000, 100_000, 1, 1e-6, Event())
    assert type(plan.best) is LazyMajority
    assert [each.regret for each in plan.predictions] == sorted(each.regret for each in plan.predictions)
    assert {each.name for each in plan_experts(1000, 100_000, 1, 0, Event()).predictions} == {"LazyMajority"}
    assert type(plan_experts(10, 1000, 100, 1e-6, Event()).best) is WeightedMajority
    none = plan_experts(1000, 10, 0.1, 1e-6, Event())
    assert none == ExpertsPlan(()) and repr(none) == "no way to follow experts has a bound on its regret"
    with pytest.raises(NoBound):
        _ = none.best
