"""Two adaptive rounds of MWEM, exactly; and what a wrong sensitivity would lose."""

import dataclasses

import numpy as np
import pytest

from discreet import audit
from discreet.core.loss import PureLoss
from discreet.core.neighbours import Replace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.universe import Universe
from discreet.query_release.explicit import mwem, mwem_plan
from discreet.query_release.explicit.mwem import MWEM

BITS = Universe([("a", (0, 1)), ("b", (0, 1))])
TWO = Conjunctions(BITS, [{"a": [1]}, {"b": [1]}])


def one_row(cell):
    return Histogram.dense(BITS, np.bincount([cell], minlength=4))


PAIRS = [(one_row(0), one_row(3)), (one_row(1), one_row(2))]


def make():
    return MWEM(workload=TWO, epsilon=20, delta=0, neighbours=Replace("row"), rounds=2)


def test_two_adaptive_rounds_keep_the_promise():
    report = audit.exact(make(), PAIRS[:1])
    assert report.holds and report.tight, report


def rows(**counts):
    return Histogram.dense(BITS, np.array([counts.get(cell, 0) for cell in ("none", "b", "a", "both")]))


FAR = (rows(a=5, none=5), rows(a=4, b=1, none=5))
"""The first query is right and becomes wrong, the second is far off and becomes less so."""


def test_choice_and_measurement_are_both_used_up():
    mechanism = MWEM(workload=TWO, epsilon=8, delta=0, neighbours=Replace("row"), rounds=1)
    report = audit.exact(mechanism, [FAR])
    assert report.holds and report.worst.measured > 0.98 * 8, report


@pytest.mark.parametrize("halved", ["choosing", "measuring"])
def test_the_audit_sees_a_halved_sensitivity(halved, monkeypatch):
    """Noise for half the change: the same audit must find more than the claim."""
    mechanism = MWEM(workload=TWO, epsilon=8, delta=0, neighbours=Replace("row"), rounds=1)
    claimed, plan, replaced = mechanism.loss.epsilon(0), mechanism.plan, Replace("row")
    if halved == "choosing":
        wrong = Exponential(sensitivity=1, epsilon=2 * plan.choosing.epsilon, size=2, neighbours=replaced)
    else:
        wrong = Laplace(sensitivity=1, epsilon=2 * plan.measuring.epsilon, neighbours=replaced)
    monkeypatch.setattr(mwem, "plan", lambda *_: dataclasses.replace(plan, **{halved: wrong}))
    monkeypatch.setattr(MWEM, "loss", property(lambda _: PureLoss(claimed)))
    report = audit.exact(mechanism, [FAR])
    assert not report.holds and report.worst.measured > 1.2 * claimed


def test_scores_of_neighbours_move_by_no_more_than_declared():
    asked = mwem_plan.questions(TWO, Replace("row"))
    said = np.array([1, 0])
    for left, right in PAIRS:
        moved = asked.scores(TWO.answers(left), said, 0.0) - asked.scores(TWO.answers(right), said, 0.0)
        assert np.abs(moved).max() <= asked.shift
