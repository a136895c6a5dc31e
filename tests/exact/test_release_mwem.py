"""Two adaptive rounds of MWEM, exactly; and what a wrong sensitivity would lose."""

import dataclasses

import numpy as np
import pytest

from discreet import audit
from discreet.core.neighbours import Replace
from discreet.queries.conjunctions import Conjunctions
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.release import mwem, mwem_questions
from discreet.release.mwem import MWEM

BITS = Universe([("a", (0, 1)), ("b", (0, 1))])
TWO = Conjunctions(BITS, [{"a": [1]}, {"b": [1]}])


def one_row(cell):
    return Histogram.dense(BITS, np.bincount([cell], minlength=4))


PAIRS = [(one_row(0), one_row(3)), (one_row(1), one_row(2))]


def make():
    return MWEM(workload=TWO, epsilon=16, delta=0, neighbours=Replace("row"), rounds=2)


def test_two_adaptive_rounds_keep_the_promise():
    report = audit.exact(make(), PAIRS[:1])
    assert report.holds and report.tight, report


@pytest.mark.parametrize("halved", ["shift", "moved"])
def test_the_audit_sees_a_halved_sensitivity(halved, monkeypatch):
    """Noise for half the change: the same audit must find more than the claim."""
    mechanism = MWEM(workload=TWO, epsilon=8, delta=0, neighbours=Replace("row"), rounds=1)
    claimed = mechanism.loss.epsilon(0)
    plan = mechanism.plan
    wrong = type(plan.choosing)(
        sensitivity=1, epsilon=2 * plan.choosing.epsilon, size=2, neighbours=Replace("row")
    )
    louder = type(plan.measuring)(
        sensitivity=1, epsilon=2 * plan.measuring.epsilon, neighbours=Replace("row")
    )
    changed = {"choosing": wrong} if halved == "shift" else {"measuring": louder}
    monkeypatch.setattr(mwem, "plan", lambda *_: dataclasses.replace(plan, **changed))
    measured = audit.exact(mechanism, [*PAIRS, *_three_rows()]).worst.measured
    assert measured > claimed


def _three_rows():
    def rows(*cells):
        return Histogram.dense(BITS, np.bincount(cells, minlength=4))

    return [(rows(0, 0, 0), rows(0, 0, 3)), (rows(3, 3, 0), rows(3, 3, 3)), (rows(1, 1, 1), rows(1, 1, 2))]


def test_scores_of_neighbours_move_by_no_more_than_declared():
    asked = mwem_questions.questions(TWO, Replace("row"))
    said = np.array([1, 0])
    for left, right in PAIRS:
        moved = asked.scores(TWO.answers(left), said, 0.0) - asked.scores(TWO.answers(right), said, 0.0)
        assert np.abs(moved).max() <= asked.shift
