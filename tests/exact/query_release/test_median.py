"""Exact laws of whole median conversations, with cuts in between, and what must not pass the same audit."""

import pytest

from discreet import audit
from discreet.core.neighbours import AddRemove
from discreet.query_release.median.candidates import Polytope
from discreet.query_release.median.conversation import GatedConversation
from discreet.query_release.median.median_mechanism import MedianMechanism
from discreet.query_release.median.median_polytope import MedianPolytope
from discreet.query_release.median.tiny import TINY, ask_each, make_histograms

PUBLIC = {
    "universe": TINY,
    "rows": 4,
    "delta": 0,
    "updates": 2,
    "threshold": 1,
    "width": 0.5,
    "queries": 3,
    "neighbours": AddRemove("row"),
}
PAIR = make_histograms(TINY, [([3, 0], [4, 0])])
THREE = ask_each(TINY, [1, 0], [1, 1], [0, 1])


@pytest.fixture
def remembered(monkeypatch):
    """Cut one polytope in one way once: the audit meets the same transcripts thousands of times."""
    fresh, known = Polytope.cut, {}

    def cut(self, weights, answer, width):
        key = (self.slabs.seed(), weights.tobytes(), answer, width)
        if key not in known:
            known[key] = fresh(self, weights, answer, width)
        return known[key]

    monkeypatch.setattr(Polytope, "cut", cut)


def test_two_updates_over_small_databases_keep_the_claim():
    mechanism = MedianMechanism(epsilon=40, size=2, **PUBLIC)
    report = audit.exact(mechanism, PAIR, THREE)
    assert report.holds, report


@pytest.mark.usefixtures("remembered")
def test_two_updates_over_histograms_keep_the_claim():
    report = audit.exact(MedianPolytope(epsilon=40, **PUBLIC), PAIR, THREE)
    assert report.holds, report


def test_the_audited_conversations_cut_their_candidates():
    """Or the two audits above would not see what cuts do."""
    seen = audit.output_distribution(
        lambda data, rng: THREE(MedianMechanism(epsilon=40, size=2, **PUBLIC).open(data, rng=rng)), PAIR[0][1]
    )
    assert any([kind for kind, *_ in path[:-1]] == ["measured", "free", "free"] for path in seen)
    assert any(path[1:] == ("closed",) for path in seen), "some answers leave no candidate"


class FromTheData(GatedConversation):
    """Drops candidates by the true answer instead of the published one."""

    def _settle(self):
        if self._pending is not None:
            weights, _ = self._pending
            self._pending = weights, int(self._counts.reveal() @ weights)
        super()._settle()


class ReusedNoise(GatedConversation):
    """Publishes the compared value itself, without fresh noise."""

    def _answer_fresh(self, weights):
        answer = super()._answer_fresh(weights)
        if answer.kind == "measured":
            return self._make_answer(int(self._counts.reveal() @ weights), "measured")
        return answer


class Forgetful(GatedConversation):
    """Answers twice as many questions as were paid for."""

    def close(self, because=""):
        if self.measured > self._public.updates:
            super().close(because)


@pytest.mark.parametrize("broken", [FromTheData, ReusedNoise, Forgetful])
def test_the_same_audit_finds_what_is_broken(broken, monkeypatch):
    changed = {**PUBLIC, "updates": 1} if broken is Forgetful else PUBLIC
    mechanism = MedianMechanism(epsilon=40, size=2, **changed)

    def begin(self, data, rng):
        return broken(self, data, rng)

    monkeypatch.setattr(MedianMechanism, "_begin", begin)
    assert not audit.exact(mechanism, PAIR, THREE).holds
