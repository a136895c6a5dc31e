"""Median conversations on neighbouring tables: the same steps, no statistic moved by more than a row."""

import copy

import numpy as np
import pytest

from discreet import audit
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.median.candidates import Polytope
from discreet.query_release.median.conversation import GatedConversation
from discreet.query_release.median.median_mechanism import MedianMechanism
from discreet.query_release.median.median_polytope import MedianPolytope
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("cell", range(16))])
RANDOM = np.random.default_rng(7)  # noqa: TID251 - test data
COUNTS = RANDOM.multinomial(2000, RANDOM.dirichlet([0.3] * 16))
TABLES = [*(RANDOM.random((12, 16)) < 0.5), *RANDOM.random((12, 16)).round(2)]


def script(conversation):
    """Ask until it closes; then the last candidates are part of what is seen."""
    answers = []
    for table in TABLES:
        if not conversation.closed:
            answers.append(conversation.ask(TableQuery(UNIVERSE, (0,), "q", table=table)))
    answers += [conversation.last(TableQuery(UNIVERSE, (0,), "q", table=table)) for table in TABLES]
    return (tuple(answers), conversation.closed, conversation.measured)


def histogram(change):
    return Histogram.dense(UNIVERSE, COUNTS + np.array(change))


ADDED = (histogram([0] * 16), histogram([1] + [0] * 15))
REPLACED = (histogram([0] * 16), histogram([1] + [0] * 10 + [-1] + [0] * 4))
PUBLIC = {
    "universe": UNIVERSE,
    "rows": 2000,
    "epsilon": 3,
    "delta": 1e-6,
    "updates": 4,
    "threshold": 300,
    "grid": 0.01,
    "queries": 24,
}


@pytest.mark.parametrize("kind", [MedianMechanism, MedianPolytope])
@pytest.mark.parametrize(("neighbours", "pair"), [(AddRemove("row"), ADDED), (Replace("row"), REPLACED)])
def test_no_statistic_moves_by_more_than_a_row(kind, neighbours, pair):
    small = {"size": 3, "width": 1200} if kind is MedianMechanism else {}
    mechanism = kind(**PUBLIC, **small, neighbours=neighbours)
    for seed in range(2):
        for left, right in (pair, pair[::-1]):
            report = audit.replay(mechanism, (left, right), script, rng=unsafe_seeded(seed))
            assert report.holds, report
            assert 0 < max(report.distances) <= 100, "one row is a hundred units"
            assert len(report.distances) > 6


def test_a_chain_started_from_the_data_is_found(monkeypatch):
    class Peeking(GatedConversation):
        """Keeps the data among the histograms."""

        def _settle(self):
            super()._settle()
            if isinstance(self._candidates, Polytope):
                self._candidates = copy.copy(self._candidates)
                self._candidates.samples = np.tile(self._counts.reveal(), (3, 1))

    def begin(self, data, rng):
        return Peeking(self, data, rng)

    monkeypatch.setattr(MedianPolytope, "_begin", begin)
    mechanism = MedianPolytope(**PUBLIC, neighbours=AddRemove("row"))
    assert not audit.replay(mechanism, ADDED, script, rng=unsafe_seeded(1)).holds
