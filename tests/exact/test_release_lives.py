"""Conversations with several lives: the joint law of everything all lives say, by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.exact.test_release_online import curve, delta, pairs

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
    """Return a run: in each life some cells are asked for; what all lives said is seen, and how each ended."""

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


# Every way to cut three questions into lives.
CUTS = [
    [[1, 0, 1]],
    [[1], [0, 1]],
    [[1, 0], [1]],
    [[1], [0], [1]],
    [[], [1, 0, 1]],
]


@pytest.mark.parametrize("lives", CUTS, ids=str)
def test_all_lives_together_keep_the_guarantee_of_one(lives):
    """The process ends after every step in turn; what was written down is all that the next one has."""
    mechanism = once(1)
    run, claim = live(mechanism, lives), float(mechanism.loss.epsilon(0))
    left, right = table(0, 1, 1, 1), table(1, 1, 1, 1)
    p, q = (Enumerator().distribution(run, data) for data in (left, right))
    for one, other in ((p, q), (q, p)):
        assert max_divergence(one, other)[0] <= claim * (1 + 1e-9)


def test_lives_that_are_not_counted_break_it(monkeypatch):
    """The audit has teeth: thresholds that are drawn anew for nothing are caught."""
    monkeypatch.setattr(Lives, "struck", lambda self, plan, sides: 0)
    mechanism = once(1)
    left, right = table(0, 1, 1, 1), table(1, 1, 1, 1)
    worst = 0.0
    for count in (2, 3, 4):
        run = live(mechanism, [[1]] * (count - 1) + [[0]])
        p, q = (Enumerator().distribution(run, data) for data in (left, right))
        worst = max(worst, max_divergence(p, q)[0], max_divergence(q, p)[0])
    assert worst > float(mechanism.loss.epsilon(0)) * 1.01
