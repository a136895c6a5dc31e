"""Counters on all neighbouring streams of up to eight steps: what the noisy blocks move by, added up exactly.

A counter's answers are sums of noisy blocks, and each block's noise is independent. So the loss of a pair of
neighbours is the sum over blocks of how far the block moved, over the scale; the replay finds every block of
the shipped code, and nothing else may decide an answer.
"""

import functools
from fractions import Fraction

import pytest

from discreet import audit
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.streams.counters.tree_counter import TreeCounter
from discreet.streams.elements import RealElements, WholeElements
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap, Which
from discreet.testing import unsafe_seeded

WIDE = functools.partial(TreeCounter, branching=3)
COUNTERS = [TreeCounter, WIDE, functools.partial(TreeCounter, consistent=True)]
RANGE = RealElements(lower=-1, upper=Fraction(5, 2), grid=Fraction(1, 2))


def worst_losses(counter, pairs, length):
    """Return the largest L1 and squared L2 movement of all blocks together, in units."""
    found, square = Fraction(0), Fraction(0)
    for at_once in (False, True):
        for left, right in pairs:
            script = push_all(length, at_once=at_once)
            report = audit.replay(counter, (left, right), script, rng=unsafe_seeded(1))
            assert report.holds, (left, right, report)
            found = max(found, sum(report.distances))
            square = max(square, sum(distance**2 for distance in report.distances))
    return found, square


@pytest.mark.parametrize("kind", COUNTERS)
@pytest.mark.parametrize("horizon", range(1, 9))
def test_one_event_costs_what_is_claimed_and_no_less_is_paid(kind, horizon):
    pairs = [
        (left, right) for left, right in Event().pairs((0, 1), horizon) if left <= right and sum(left) <= 1
    ] + [((0,) * horizon, (0,) * place + (1,) + (0,) * (horizon - place - 1)) for place in range(horizon)]
    counter = kind(horizon=horizon, epsilon=1, delta=0, neighbours=Event())
    moved, _ = worst_losses(counter, pairs, horizon)
    assert moved == counter.total_shift
    assert moved / counter.noise.scale <= 1


@pytest.mark.parametrize("kind", COUNTERS[:2])
def test_all_pairs_of_all_streams(kind):
    for horizon in (3, 4, 5):
        counter = kind(horizon=horizon, epsilon=1, delta=0, neighbours=Event(), elements=WholeElements(1))
        moved, _ = worst_losses(counter, Event().pairs((0, 1), horizon), horizon)
        assert moved == counter.total_shift


@pytest.mark.parametrize("kind", COUNTERS)
def test_an_event_that_comes_or_goes(kind):
    counter = kind(horizon=3, epsilon=1, delta=0, neighbours=EventPresence(), elements=RANGE)
    moved, _ = worst_losses(counter, EventPresence().pairs((-9, 0.3, 2.5), 3), 3)
    assert moved == counter.total_shift == counter.levels * 5


@pytest.mark.parametrize("kind", COUNTERS[:2])
@pytest.mark.parametrize("which", list(Which))
def test_all_events_of_a_user(kind, which):
    counter = kind(horizon=4, epsilon=1, delta=0, neighbours=UserEvents(), cap=UserCap(2, which))
    pairs = list(UserEvents().pairs((("a", 1), ("b", 1)), 4))
    moved, _ = worst_losses(counter, pairs, 4)
    assert moved == counter.total_shift or (kind is WIDE and which is Which.SPREAD and moved == 3)
    gaussian = kind(
        horizon=4, epsilon=1, delta=Fraction(1, 1000), neighbours=UserEvents(), cap=UserCap(2, which)
    )
    _, square = worst_losses(gaussian, pairs[::3], 4)
    assert square <= gaussian.square_shift * (1 + Fraction(1, 10**9))  # distances are rounded up
