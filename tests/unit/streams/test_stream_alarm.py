"""The stream alarm: when it rings, what its noise is, what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import ConversationClosed, NeighboursMismatch
from discreet.core.rng import Rng
from discreet.noise import OneSidedGeometric
from discreet.query_release.online.gate import NONE, FirstAbove
from discreet.streams import Event, EventPresence, RealElements, StreamAlarm, UserCap, UserEvents
from discreet.testing import unsafe_seeded


class NoNoise(Rng):
    """Compares as if there was no noise, and counts the hidden thresholds that are drawn."""

    unsafe = True
    drawn = 0

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        if isinstance(primitive, FirstAbove):
            above = np.flatnonzero(value[0] >= value[1])
            return int(above[0]) if above.size else NONE
        if isinstance(value, tuple):
            return value[0] >= value[1]
        self.drawn += 1
        return value


def alarm(**given):
    return StreamAlarm(
        **{"horizon": 500, "epsilon": 1, "delta": 0, "neighbours": Event(), "threshold": 10, **given}
    )


def expect(stream, threshold, width=None, alarms=None):
    """Say by the definition when it rings."""
    rang, first, rung = [], 0, 0
    for place in range(len(stream)):
        begin = first if width is None else max(first, place + 1 - width)
        rings = sum(stream[begin : place + 1]) >= threshold * (rung + 1)
        rang.append(rings)
        if rings and alarms is None:
            first = place + 1
        elif rings:
            rung += 1
            if rung == alarms:
                break
    return rang


@pytest.mark.parametrize(
    "more", [{}, {"width": 1}, {"width": 7}, {"width": 12}, {"alarms": 1}, {"alarms": 5}]
)
def test_it_rings_when_sums_reach_the_threshold_however_they_are_pushed(more):
    stream = [(place * 7 % 5) % 3 % 2 for place in range(500)]
    threshold = 1 if more.get("width") == 1 else 4 if "width" in more else 10
    # Without noise, all that is left of one-sided noise is the offset that makes up for its mean.
    mechanism = alarm(threshold=threshold - alarm(threshold=threshold, **more)._plan.offset, **more)
    truth = expect(stream, threshold, **more)
    rng = NoNoise()
    single = mechanism.open(rng=rng)
    seen = [single.push(bit) for bit in itertools.takewhile(lambda _: not single.closed, stream)]
    assert seen == truth
    assert any(seen) and not all(seen)
    assert rng.drawn == sum(seen) + (not single.closed or not seen[-1]), "a threshold for every stretch"
    for size in (1, 3, 64, 500):
        several, found = mechanism.open(rng=NoNoise()), []
        for start in range(0, 500, size):
            if several.closed:
                break
            found += several.push_many(stream[start : start + size]).tolist()
        assert found == seen
        assert several.state.reveal()["run"] == single.state.reveal()["run"]


def test_both_scales_use_the_whole_budget_where_sums_only_part():
    one = alarm()
    assert one.only_rises and one._plan.threshold_noise == one._plan.query_noise == OneSidedGeometric(1)
    assert alarm(alarms=3)._plan.query_noise == OneSidedGeometric(3)
    users = alarm(neighbours=UserEvents(), cap=UserCap(4))
    assert users._plan.query_noise == OneSidedGeometric(4)
    for other in (
        alarm(width=2),
        alarm(neighbours=UserEvents(), cap=UserCap(1), elements=RealElements(lower=-1, upper=1, grid=1)),
    ):
        plan = other._plan
        factor = 1 if other.width else 2
        assert not other.only_rises
        assert 1 / plan.threshold_noise.scale + factor / plan.query_noise.scale == pytest.approx(1)
        assert other.error(0.05) > one.error(0.05)


def test_all_alarms_cost_what_the_first_does_and_counted_ones_each_cost_theirs():
    assert alarm().loss.epsilon(0) <= 1 and alarm(alarms=4).loss.epsilon(0) <= 1
    assert alarm(alarms=4).loss.count == 4 * alarm().loss.count
    assert alarm(alarms=4).error(0.05) > 3 * alarm().error(0.05)


def test_errors_are_known_and_include_rounding():
    coarse = alarm(elements=RealElements(lower=0, upper=1, grid=Fraction(1, 4)))
    fine = alarm(elements=RealElements(lower=0, upper=1, grid=Fraction(1, 1000)))
    assert coarse.error(0.05) > 500 / 8 > fine.error(0.05) > alarm(horizon=5).error(0.05) - 1
    assert alarm(horizon=10**6).error(0.05) < 2 * alarm().error(0.05) < 3 * math.log(500 / 0.05) * 2


def test_it_goes_on_where_it_was_written_down():
    mechanism = alarm(width=5, threshold=5)
    whole = mechanism.open(rng=NoNoise())
    stream = [1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1] * 4
    seen = whole.push_many(stream).tolist()
    first = mechanism.open(rng=NoNoise())
    begun = first.push_many(stream[:9]).tolist()
    later = mechanism.restore(first.checkpoint(), rng=NoNoise())
    assert begun + later.push_many(stream[9:]).tolist() == seen
    rung = alarm(alarms=2, threshold=1).open(rng=NoNoise())
    rung.push(1)
    assert rung.push_many([1, 1, 1]).tolist() == [True], "behind the last alarm nothing is answered"
    with pytest.raises(ConversationClosed, match="all 2 alarms"):
        rung.push(1)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="delta must be 0"):
        alarm(delta=1e-6)
    with pytest.raises(ValueError, match="width"):
        alarm(width=3, alarms=2)
    with pytest.raises(ValueError, match="threshold"):
        alarm(threshold=2**61)
    with pytest.raises(ValueError, match="epsilon"):
        alarm(epsilon=Fraction(1, 2**50))
    signed = RealElements(lower=-1, upper=1, grid=1)
    with pytest.raises(NeighboursMismatch, match="both signs"):
        alarm(neighbours=UserEvents(), cap=UserCap(2), elements=signed, alarms=2)


def test_nothing_of_an_element_raises_and_alarms_are_plain():
    door = alarm(neighbours=EventPresence(), threshold=2).open(rng=unsafe_seeded(1))
    for element in (None, float("nan"), "x", 10**30, -5, object()):
        assert type(door.push(element)) is bool
