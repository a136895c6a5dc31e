"""The published hypothesis: a workload is answered together as its questions would be one by one."""

import copy
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Replace
from discreet.curator.hypotheses.published import Published
from discreet.curator.hypotheses.shared import measure_small_tables
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.online.boxes import read_workload
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(5)), ("b", range(4)), ("c", range(3)), ("d", (0, 1))])
TABLE = Histogram.dense(UNIVERSE, 5 + np.arange(120) * 7 % 40)
HIDDEN = Replace("row")
ODD = (["a", "b"], lambda a, b: (a + b) % 2 == 1)
ASKED = {
    "known boxes": Marginals.of_order(UNIVERSE, 3),
    "unknown boxes": Marginals.of_order(UNIVERSE, 4),
    "few": Marginals.of_order(UNIVERSE, 1),
    "no boxes": Predicates(UNIVERSE, [ODD] * 70),
}


def published(mechanism):
    released = mechanism.release(TABLE, rng=unsafe_seeded(5))
    return Published(mechanism, released.value, mechanism.guarantee)


@pytest.fixture(scope="module")
def measured():
    return published(measure_small_tables(UNIVERSE, Fraction(1), Fraction(1, 10**6), HIDDEN))


@pytest.fixture(scope="module")
def learnt():
    return published(MWEM(workload=ASKED["few"], epsilon=1, delta=0, neighbours=HIDDEN, rounds=2))


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("kind", ["measured", "learnt"])
def test_together_is_one_by_one(name, kind, request):
    hypothesis, workload = request.getfixturevalue(kind), ASKED[name]
    together = list(hypothesis.ask_many(workload))
    alone = [hypothesis.ask(query) for query in workload]
    assert [answer.kind for answer in together] == [answer.kind for answer in alone]
    for field in ("value", "error"):
        left, right = ([getattr(one, field) for one in side] for side in (together, alone))
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


def test_only_measured_boxes_come_with_an_error(measured, learnt):
    kinds = {
        name: {answer.kind for answer in measured.ask_many(workload)} for name, workload in ASKED.items()
    }
    assert kinds == {
        "known boxes": {"free"},
        "unknown boxes": {"stale"},
        "few": {"free"},
        "no boxes": {"stale"},
    }
    assert {answer.kind for answer in learnt.ask_many(ASKED["few"])} == {"stale"}


def test_stated_errors_hold(measured):
    """At 95 % confidence over all boxes together; a tenth of each is too little."""
    workload = ASKED["known boxes"]
    answers = measured.ask_many(workload)
    off = np.abs(np.array([answer.value for answer in answers]) - workload.answers(TABLE))
    errors = np.array([answer.error for answer in answers])
    assert (off <= errors).all()
    assert not (off <= errors / 10).all()


def test_an_error_is_how_far_the_hypothesis_is_from_the_estimate_and_that_from_the_truth(measured):
    """The hypothesis is made worse, and says so: nobody is told the noise alone."""
    workload = ASKED["known boxes"]
    worse = copy.copy(measured)
    worse._known = copy.copy(measured._known)
    worse._known.weights = Hypothesis(UNIVERSE, float(UNIVERSE.size), np.ones(UNIVERSE.shape))
    reading = read_workload(workload)
    far = np.abs(workload.answers(np.ones(UNIVERSE.shape)) - workload.answers(measured._known.array))
    least = far + measured._known.noise(reading.boxes)
    assert far.max() > 100
    together = worse.ask_many(workload).errors
    alone = np.array([worse.ask(query).error for query in workload])
    for errors in (together, alone):
        assert (errors >= least * (1 - 1e-12)).all()
        assert (errors <= least + 0.01).all()


def test_what_cannot_be_asked_is_refused_together_too(measured):
    heavy = TableQuery(UNIVERSE, (3,), "heavy", table=np.array([0.5, 2.0]))
    for workload in (Queries(UNIVERSE, [heavy] * 70), Marginals(Universe([("z", (0, 1))]), [["z"]])):
        with pytest.raises(InvalidParameter, match="query"):
            measured.ask_many(workload)
