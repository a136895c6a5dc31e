"""Full transcripts of private multiplicative weights, replayed on neighbouring tables."""

import numpy as np
import pytest

from discreet import audit
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(3)), ("b", range(4)), ("c", (0, 1))])
PAIRS = Marginals.of_order(UNIVERSE, 2)
EVERY = Marginals(UNIVERSE, [["a", "b", "c"]])
GENERATOR = np.random.default_rng(3)  # noqa: TID251
COUNTS = GENERATOR.integers(0, 60, UNIVERSE.shape)
ODD = Predicates(
    UNIVERSE, [(["a", "b", "c"], GENERATOR.integers(0, 2, UNIVERSE.shape) > 0) for _ in range(12)]
)


def neighbours_of(neighbours):
    more = COUNTS.copy()
    more[1, 2, 0] += 1
    if isinstance(neighbours, Replace):
        more[0, 0, 1] -= 1
    return Histogram.dense(UNIVERSE, COUNTS), Histogram.dense(UNIVERSE, more)


def mechanism(neighbours, *, warm, delta):
    start = None
    if warm:
        start = ResidualMarginals(workload=PAIRS, epsilon=2, delta=delta, neighbours=neighbours)
    return MultiplicativeWeights(
        universe=UNIVERSE,
        epsilon=6,
        delta=delta,
        updates=6,
        neighbours=neighbours,
        rows=int(COUNTS.sum()) if isinstance(neighbours, Replace) else None,
        start=start,
        queries=40,
    )


def script(conversation):
    """Ask in turn and in batches, and return all that was said with every bit of the last hypothesis."""
    said = []
    for query in ODD:
        answer = conversation.last(query) if conversation.closed else conversation.ask(query)
        said.append((answer.value, answer.error, answer.kind))
    if not conversation.closed:
        batch = conversation.ask_many(EVERY)
        said.append((tuple(batch.values), tuple(batch.errors), tuple(batch.kinds)))
    return tuple(said), conversation.measured, conversation.synopsis.weights.tobytes()


@pytest.mark.parametrize("neighbours", [AddRemove("person"), Replace("person")], ids=["add", "replace"])
@pytest.mark.parametrize(("warm", "delta"), [(False, 0), (False, 1e-6), (True, 1e-6)])
def test_neighbours_take_the_same_steps_to_the_same_hypothesis(neighbours, warm, delta):
    used = measured = 0
    left, right = neighbours_of(neighbours)
    for seed in range(4):
        for pair in ((left, right), (right, left)):
            report = audit.replay(
                mechanism(neighbours, warm=warm, delta=delta), pair, script, rng=unsafe_seeded(seed)
            )
            assert report.holds, report
            used += report.total
            measured += len(report.distances)
    assert used > 8, "no statistic moved"
    assert measured > 8 * 3, "too few steps to mean anything"


def test_a_statistic_that_moves_too_far_is_found():
    """Two rows more move counts by two: the same replay must say so."""
    more = COUNTS.copy()
    more[1, 2, 0] += 2
    pair = Histogram.dense(UNIVERSE, COUNTS), Histogram.dense(UNIVERSE, more)
    reports = [
        audit.replay(
            mechanism(AddRemove("person"), warm=False, delta=0), pair, script, rng=unsafe_seeded(seed)
        )
        for seed in range(4)
    ]
    assert not any(report.holds for report in reports)
