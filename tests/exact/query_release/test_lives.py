"""Conversations with several lives: the joint law of everything all lives say, by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.exact.query_release.test_online import curve, delta, pairs

from discreet.audit.enumeration import Enumerator
from discreet.audit.exact_report import max_divergence
from discreet.core.errors import ConversationClosed
from discreet.core.neighbours import AddRemove, Replace
from discreet.noise import OneSidedGeometric
from discreet.queries.histogram import Histogram
from discreet.queries.query import ProductQuery
from discreet.queries.universe import Universe
from discreet.query_release.online.gate import TwoSidedLoss
from discreet.query_release.online.lives import Lives
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

BAR = 1
NINE = Universe([("a", range(9))])


class Notes(list):
    """A journal in memory."""

    def read(self):
        return tuple(self)


def table(*rows):
    return Histogram.from_records(NINE, np.array(rows).reshape(-1, 1))


def cell(place):
    return ProductQuery(NINE, (0,), "cell", masks=[np.arange(9) == place])


def live(mechanism, lives):
    """Return a run: in each life some cells are asked for; what all lives said is seen."""

    def run(data, rng):
        notes, said = Notes(), []
        for cells in lives:
            conversation = mechanism.open_kept(data, notes, rng=rng)
            for place in cells:
                try:
                    answer = conversation.ask(cell(place))
                except ConversationClosed:
                    said.append("closed")
                    break
                said.append((answer.kind, round(answer.value)))
        return tuple(said)

    return run


def once(updates, **more):
    """A mechanism without delta: its thresholds are drawn once in each life."""
    return MultiplicativeWeights(
        universe=NINE,
        epsilon=6,
        delta=0,
        updates=updates,
        neighbours=Replace("row"),
        rows=4,
        threshold=1,
        **more,
    )


@pytest.mark.parametrize(
    ("updates", "lives"),
    [
        (1, [[], [1, 0]]),  # a life that did not use the gate costs nothing
        (1, [[1], [0, 1]]),
        pytest.param(2, [[1], [0]], marks=pytest.mark.soak),
        pytest.param(2, [[1], [1, 0]], marks=pytest.mark.soak),
    ],
)
def test_all_lives_together_keep_the_guarantee_of_one(updates, lives):
    """The shipped conversation: what was written down is all that a later life has of an earlier one."""
    mechanism = once(updates)
    run, claim = live(mechanism, lives), float(mechanism.loss.epsilon(0))
    p, q = (Enumerator().distribution(run, data) for data in (table(0, 1, 1, 1), table(1, 1, 1, 1)))
    worst = max(max_divergence(p, q)[0], max_divergence(q, p)[0])
    assert worst <= claim * (1 + 1e-9)
    assert worst > claim * 0.99 or lives[0]


# The gate alone, integrated over its hidden thresholds, with an end of the process at any place.


def stream(thresholds, tests, steps, redrawn):
    """Probability of the results of one side's tests. Each step: a value, whether it fired, a new life."""
    masses, _ = curve(thresholds)
    _, tail = curve(tests)
    hidden = np.arange(len(masses))
    total, left = 1.0, masses
    for value, positive, born in steps:
        if born:
            total, left = total * left.sum(), masses
        fires = tail(BAR + hidden - value)
        left = left * (fires if positive else 1 - fires)
        if positive and redrawn:
            total, left = total * left.sum(), masses
    return total * left.sum()


def law(gaps, births, noises, most, redrawn, *, strikes, lost=()):
    """The law of everything that all lives say; `births` are the places where a new life begins.

    An alarm at a place that is `lost` is seen, is not written down, and ends its life.
    """
    thresholds, tests = noises
    found = {}
    for results in itertools.product((0, 1, 2), repeat=len(gaps)):
        alarms, lives, seen, above, below, new = 0, 0, [], [], [], [False, False]
        for place, (gap, result) in enumerate(zip(gaps, results, strict=True)):
            if place in births:
                lives, new = lives + 1, [True, True]
            if alarms + strikes(lives) >= most:
                seen.append("closed")
                continue
            seen.append(result)
            above.append((gap, result == 1, new[0]))
            new[0] = False
            if result != 1:
                below.append((-gap, result == 2, new[1]))
                new[1] = False
            if result and place in lost:
                lives, new = lives + 1, [True, True]
            elif result:
                alarms += 1
        # Of results that say nothing, since it is closed, one stands for all.
        found.setdefault(
            tuple(seen), stream(thresholds, tests, above, redrawn) * stream(thresholds, tests, below, redrawn)
        )
    return found


BIRTHS = [(), (1,), (2,), (1, 2), (0, 1)]


def test_everything_is_covered():
    laws = OneSidedGeometric(Fraction(2)), OneSidedGeometric(Fraction(3))
    for births in BIRTHS:
        for redrawn in (False, True):
            total = sum(law((-1, 2, 0), births, laws, 3, redrawn, strikes=lambda lives: lives).values())
            assert total == pytest.approx(1, abs=1e-12)


def worst_ratio(thresholds, tests, most, strikes, births, *, lost=()):
    worst = 0.0
    for left, right in pairs(3):
        laws = (thresholds, tests)
        p, q = (law(g, births, laws, most, False, strikes=strikes, lost=lost) for g in (left, right))
        worst = max(worst, *(abs(math.log(p[t] / q[t])) for t in p))
    return worst


@pytest.mark.parametrize("births", BIRTHS, ids=str)
def test_thresholds_drawn_once_in_every_life_cost_what_is_struck_off(births):
    """Two sides, thresholds twice as narrow as tests: each life costs two alarms."""
    thresholds, tests, most = OneSidedGeometric(Fraction(3, 2)), OneSidedGeometric(Fraction(3)), 5
    claim = 2 / 3 + most / 3
    assert worst_ratio(thresholds, tests, most, lambda lives: 2 * lives, births) <= claim + 1e-9


def test_lives_that_are_not_counted_break_it():
    """The audit has teeth: thresholds that are drawn anew for nothing are caught."""
    thresholds, tests, most = OneSidedGeometric(Fraction(3, 2)), OneSidedGeometric(Fraction(3)), 1
    claim = 2 / 3 + most / 3
    assert worst_ratio(thresholds, tests, most, lambda lives: 0, (1, 2)) > claim + 0.2
    # Nor is one alarm enough where a threshold costs two.
    assert worst_ratio(thresholds, tests, 2, lambda lives: lives, (1,)) > 2 / 3 + 2 / 3 + 0.2


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1)], ids=str)
def test_an_alarm_that_was_not_written_down_is_paid_for_by_its_life(lost):
    thresholds, tests, most = OneSidedGeometric(Fraction(3, 2)), OneSidedGeometric(Fraction(3)), 4
    claim = 2 / 3 + most / 3
    assert worst_ratio(thresholds, tests, most, lambda lives: 3 * lives, (), lost=lost) <= claim + 1e-9
    redrawn = TwoSidedLoss(low=Fraction(1, 3), high=Fraction(1), count=most + 1)
    for left, right in pairs(3):
        laws = (thresholds, tests)
        p, q = (law(g, (), laws, most, True, strikes=lambda n: 2 * n, lost=lost) for g in (left, right))
        for epsilon in (0.0, 0.5, 1.0):
            assert max(delta(p, q, epsilon), delta(q, p, epsilon)) <= redrawn.delta(epsilon) + 1e-12


def test_an_alarm_that_nobody_pays_for_breaks_it():
    thresholds, tests, most = OneSidedGeometric(Fraction(3, 2)), OneSidedGeometric(Fraction(3)), 3
    claim = 2 / 3 + most / 3
    assert worst_ratio(thresholds, tests, most, lambda lives: 2 * lives, (), lost=(0,)) > claim + 0.2


@pytest.mark.parametrize("births", [(1,), (1, 2)], ids=str)
def test_redrawn_thresholds_stay_below_the_worst_mixture_in_all_lives(births):
    thresholds, tests, most = OneSidedGeometric(Fraction(1)), OneSidedGeometric(Fraction(2)), 4
    claim = TwoSidedLoss(low=Fraction(1, 2), high=Fraction(3, 2), count=most + 1)
    for left, right in pairs(3):
        p, q = (
            law(g, births, (thresholds, tests), most, True, strikes=lambda n: 2 * n) for g in (left, right)
        )
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            assert max(delta(p, q, epsilon), delta(q, p, epsilon)) <= claim.delta(epsilon) + 1e-12


def test_what_lives_cost_is_counted_by_the_plan():
    """The rule of the shipped code is the rule that is audited here."""
    mechanism = once(3)  # one side: an alarm is two shifts
    ratio = mechanism.plan.tests.scale / mechanism.plan.thresholds.scale
    for used in range(4):
        assert Lives(used=used).struck(mechanism.plan, mechanism.sides) == used + math.ceil(used * ratio / 2)
    both = MultiplicativeWeights(
        universe=NINE, epsilon=1, delta=1e-6, updates=20, neighbours=AddRemove("row"), rows=100
    )
    struck = [Lives(used=used).struck(both.plan, both.sides) for used in range(4)]
    ratio = both.plan.tests.scale / both.plan.thresholds.scale
    redrawn = both.plan.form.name == "REDRAWN"
    assert struck == [2 * used if redrawn else used + math.ceil(used * ratio) for used in range(4)]
