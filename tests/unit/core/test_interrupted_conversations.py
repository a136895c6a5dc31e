"""An interrupt before any line of a conversation leaves it open for no threshold more than was paid for."""

import numpy as np
import pytest
from tests.interrupts import everywhere, interrupted

from discreet.core.errors import ConversationClosed
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.noise import AddNoise
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.median import conversation as medians
from discreet.query_release.median.median_mechanism import MedianMechanism
from discreet.query_release.online import conversation as online
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.sparse import conversation as sparse
from discreet.sparse.plan import Form
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

FOUR = Universe([("cell", range(4))])
HERE = Histogram.dense(FOUR, np.array([100, 0, 0, 0]))


class Thresholds(Rng):
    """Counts the thresholds that are drawn: their noise is about no data."""

    unsafe = True

    def __init__(self):
        self.inner, self.drawn = unsafe_seeded(1), 0

    def random_bytes(self, count):
        return self.inner.random_bytes(count)

    def perform(self, primitive, value):
        if isinstance(primitive, AddNoise) and primitive.sensitivity == 0:
            self.drawn += 1
        return self.inner.perform(primitive, value)


def cells(place):
    return TableQuery(FOUR, (0,), f"cell {place}", table=[int(cell == place) for cell in range(4)])


CASES = {
    "sparse": (
        lambda: Sparse(
            sensitivity=1, epsilon=50, delta=0, threshold=0, positives=2, form=Form.REDRAWN, neighbours=ROW
        ),
        None,
        lambda place: lambda data: 10**6 + place,
        sparse,
    ),
    "weights": (
        lambda: MultiplicativeWeights(
            universe=FOUR, epsilon=100, delta=0, updates=1, neighbours=Replace("row"), rows=100
        ),
        HERE,
        cells,
        online,
    ),
    "median": (
        lambda: MedianMechanism(
            universe=FOUR,
            rows=100,
            epsilon=100,
            delta=0,
            updates=1,
            threshold=10,
            size=4,
            neighbours=Replace("row"),
        ),
        HERE,
        cells,
        medians,
    ),
}
ROW = AddRemove("row")
PAID = {"sparse": 2, "weights": 2, "median": 1}


@pytest.mark.parametrize("case", CASES)
def test_no_interrupt_buys_a_threshold(case):
    """It was counted, its threshold forgotten, and only then closed: one more was drawn in between."""
    build, data, question, module = CASES[case]

    def ask_all(conversation):
        for place in (0, 1, 2, 3, 0):
            conversation.ask(question(place))

    def attempt(at):
        rng = Thresholds()
        conversation = build().open(data, rng=rng)
        before = rng.drawn
        came = False
        try:
            # Not in a stranger's function: what is raised there counts as the value 0.
            names = ("_answer", "_bar", "_count", "_reply") if case == "sparse" else ()
            came = interrupted(lambda: ask_all(conversation), at, module, names=names)
            ask_all(conversation)
        except ConversationClosed:
            pass
        assert conversation.closed
        assert rng.drawn - before <= PAID[case]
        return came

    everywhere(attempt, least=20)
