"""Alarms on all neighbouring streams of up to eight steps: the law of all answers, written out.

The shipped code is led along every sequence of answers by a generator that decides each test, and notes what
was tested. Between two alarms one hidden noise was drawn, and each test drew its own: so a sequence has the
probability of its stretches, each a sum over the hidden noise, computed here from the formula of the noise.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.rng import Rng
from discreet.noise import NoisyComparison, OneSidedGeometric
from discreet.query_release.online.gate import NONE, FirstAbove
from discreet.streams import RealElements, StreamAlarm, UserCap

BITS = (0, 1)
SIGNED = RealElements(lower=-1, upper=1, grid=1)


class Led(Rng):
    """Answers tests as it was told, draws no hidden noise, and notes by how much each test fell short."""

    unsafe = True

    def __init__(self, told):
        self._told, self.stretches = iter(told), []

    def random_bytes(self, count):
        raise AssertionError("bits that no step accounts for")

    def perform(self, primitive, value):
        if isinstance(primitive, NoisyComparison):
            return self._test(*value)
        if isinstance(primitive, FirstAbove):
            return next((place for place, test in enumerate(value.T.tolist()) if self._test(*test)), NONE)
        assert value == 0, "the threshold is hidden before anything is known of the sums"
        self.stretches.append([])
        return 0

    def _test(self, total, bar):
        rings = next(self._told)
        self.stretches[-1].append((bar - total, rings))
        return rings


def lead(alarm, stream, answers, *, at_once):
    """Return the tests of each stretch that lead to some answers, and those given before it closes."""
    rng = Led(answers)
    conversation = alarm.open(rng=rng)
    if at_once:
        seen = tuple(conversation.push_many(stream).tolist())
    else:
        seen = ()
        while len(seen) < len(stream) and not conversation.closed:
            seen += (conversation.push(stream[len(seen)]),)
    assert seen == answers[: len(seen)]
    return tuple(map(tuple, rng.stretches)), seen


@functools.cache
def weigh(tests, hidden, fresh):
    """Return the probability of the answers of one stretch, for the scales of both noises."""
    noise = np.arange(math.ceil(60 * hidden) + 1)
    found = np.exp(-noise / hidden) * -math.expm1(-1 / hidden)
    for short, rings in tests:
        tail = np.exp(-np.maximum(short + noise, 0) / fresh)
        found = found * (tail if rings else 1 - tail)
    return float(found.sum())


def find_law(alarm, stream):
    """Return the probability of every sequence of answers, one by one and all at once."""
    plan, found = alarm._plan, {}
    assert isinstance(plan.threshold_noise, OneSidedGeometric)
    scales = float(plan.threshold_noise.scale), float(plan.query_noise.scale)
    for answers in itertools.product((False, True), repeat=len(stream)):
        stretches, seen = lead(alarm, stream, answers, at_once=False)
        if answers[len(seen) :] != (False,) * (len(stream) - len(seen)):
            continue  # closed: one of several that begin like this is enough
        assert lead(alarm, stream, answers, at_once=True) == (stretches, seen)
        found[seen] = math.prod(weigh(tests, *scales) for tests in stretches)
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    return found


def measure(alarm, pairs):
    """Return the largest logarithm of a ratio between neighbours."""
    law = functools.cache(lambda stream: find_law(alarm, stream))
    worst = 0.0
    for left, right in pairs:
        one, other = law(tuple(left)), law(tuple(right))
        assert one.keys() == other.keys()
        worst = max(worst, *(abs(math.log(one[seen] / other[seen])) for seen in one))
    return worst


def alarm(**given):
    return StreamAlarm(**{"epsilon": 1, "delta": 0, "neighbours": Event(), "threshold": 2, **given})


@pytest.mark.parametrize("more", [{}, {"threshold": 1}, {"width": 1}, {"width": 2}, {"alarms": 2}])
@pytest.mark.parametrize(
    "length", [1, 3, 4, *(pytest.param(long, marks=pytest.mark.soak) for long in (5, 6, 7, 8))]
)
def test_one_event_costs_what_is_claimed(length, more):
    found = measure(alarm(horizon=length, **more), Event().pairs(BITS, length))
    assert found <= 1 + 1e-9
    if not more and length >= 4:
        assert found > 0.999, "all of the budget is used"


def test_an_event_of_either_sign_that_comes_or_goes():
    given = {"neighbours": EventPresence(), "elements": SIGNED, "threshold": 1}
    assert measure(alarm(horizon=3, **given), EventPresence().pairs((-1, 1), 3)) <= 1 + 1e-9


@pytest.mark.parametrize("elements", [(0, 1), (-1, 1)])
def test_all_events_of_a_user(elements):
    given = {"neighbours": UserEvents(), "cap": UserCap(2), "threshold": 1, "elements": SIGNED}
    domain = [(user, element) for user in "ab" for element in elements]
    assert measure(alarm(horizon=3, **given), UserEvents().pairs(domain, 3)) <= 1 + 1e-9


def test_an_alarm_with_half_the_noise_is_caught():
    """The audit has teeth: the law at twice the budget breaks the claim."""
    loud = alarm(horizon=4, epsilon=Fraction(2))
    assert measure(loud, Event().pairs(BITS, 4)) > 1.9
