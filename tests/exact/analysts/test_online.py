"""When a batch of badly answered queries is closed: at public ticks by AboveThreshold, or as it was printed.

All analysts see when the shared hypothesis changes. The printed online algorithm compares the size of the
batch with one noisy cutoff after every query. A change right after a *good* query then gives a hidden bad one
away.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.analysts.online_queries import OnlineQueries
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.promises import OneQueryToMany, QueriesAndData, SeenByOthers
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.tiny import BOTH, COIN, HEADS, TAILS, tiny_data
from discreet.audit.museum.analysts import BAD, GOOD, HIDDEN, Closing
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import OneQuery, Replace
from discreet.mechanisms.scores import Monotone
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.tiny import each_value

SIZE = 2  # the batch is meant to be closed once it has more than so many queries
WITHOUT = (BAD, BAD, GOOD, GOOD, BAD)
WITH = (BAD, BAD, GOOD, HIDDEN, GOOD, BAD)


def closing(epsilon):
    """Return what closes a batch: a question at every tick, with fresh noise, until the first positive."""
    return AboveThreshold(
        sensitivity=1, epsilon=epsilon, delta=0, threshold=SIZE + 1, neighbours=OneQueryToMany()
    )


def sizes(queries, *, hidden_at=None, every=1):
    """Return the size of the batch at each public tick; a hidden query comes before the others' next one."""
    found, size = [], 0
    for place, query in enumerate(queries):
        size += (query == BAD) + (place == hidden_at)
        if (place + 1) % every == 0:
            found.append(size)
    return tuple(found)


def all_pairs(count, every):
    return {
        (sizes(queries, every=every), sizes(queries, hidden_at=place, every=every))
        for queries in itertools.product((BAD, GOOD), repeat=count)
        for place in range(count)
    }


@pytest.mark.parametrize(("epsilon", "every", "queries"), [(6, 1, 3), (6, 2, 4)])
def test_closing_at_ticks_keeps_the_promise_on_every_sequence(epsilon, every, queries):
    """All sequences of the others' queries, and a hidden bad query at any time."""
    report = audit.exact(closing(epsilon), all_pairs(queries, every), each_value(queries // every))
    assert report.holds, report
    assert report.resolved > 1 - 1e-9
    assert max(finding.measured for finding in report.findings) > 0.3 * epsilon


def test_the_printed_rule_is_caught():
    report = audit.exact(Closing(Fraction(1)), [(WITHOUT, WITH)])
    assert not report.holds


def test_a_change_after_a_good_query_gives_a_hidden_one_away():
    """Without it that event has probability 0, with it (1 - exp(-epsilon / 2)) / 2 for the printed noise."""
    findings = audit.exact(Closing(Fraction(1)), [(WITHOUT, WITH)]).findings
    worst = max(findings, key=lambda finding: finding.measured)
    assert (worst.view, worst.outcome) == ("epsilon", 3)  # right after the third of the others', a good one
    assert worst.measured > 20  # infinite but for the error of the enumeration
    assert any(finding.view == "delta" and finding.measured > 0.19 for finding in findings)
    printed = (1 - math.exp(-1 / 2)) / 2
    assert printed == pytest.approx(0.197, abs=5e-4)
    # On the integers the noise must be 0: even more likely.
    step = math.exp(-1 / 2)
    assert (1 - step) / (1 + step) == pytest.approx(0.245, abs=5e-4)


def test_at_ticks_the_same_event_is_possible_either_way():
    """The hidden query comes before the fourth of the others, which is good."""
    pair = [(sizes(WITHOUT), sizes(WITHOUT, hidden_at=3))]
    report = audit.exact(closing(1), pair, each_value(5))
    assert report.holds
    assert all(finding.measured < math.inf for finding in report.findings)


def test_a_quarter_of_the_noise_is_caught():
    """The same rule, made for four times the loss, fails the same check."""
    report = audit.exact(closing(6), all_pairs(3, 1), each_value(3))
    claimed = closing(Fraction(3, 2)).loss.epsilon(0)
    assert max(finding.measured for finding in report.findings if finding.view == "epsilon") > claimed


# One batch after the other ----------------------------------------


@dataclass(frozen=True, slots=True)
class Closings(Mechanism):
    """Batch after batch, for the numbers of bad queries at each tick. Shows the closing ticks."""

    epsilon: Fraction
    part: Fraction = Fraction(1)
    neighbours = OneQuery()

    @property
    def loss(self):
        return PureLoss(self.epsilon * self.part)

    def error(self, beta):
        return math.inf

    def _draw(self, data, rng):
        closing = AboveThreshold(
            sensitivity=Monotone(1), epsilon=self.epsilon, delta=0, threshold=1, neighbours=OneQuery()
        )
        batch, seen = [], []
        talk = closing.open(batch, rng=rng)
        for tick, bad in enumerate(data):
            batch.extend([BAD] * bad)
            if talk.ask(len):
                seen.append(tick)
                batch = []
                talk = closing.open(batch, rng=rng)
        return tuple(seen)


def crowded(*, out):
    """List numbers of bad queries at three ticks with one more at some tick, and one less later if `out`."""
    for base in itertools.product((0, 1), repeat=3):
        for more, less in itertools.combinations(range(3), 2) if out else ((k, None) for k in range(3)):
            moved = [n + (k == more) - (k == less) for k, n in enumerate(base)]
            if min(moved) >= 0:
                yield base, tuple(moved)


def test_all_closings_together_cost_one_epsilon_and_not_less():
    """A query that crowds out another one touches two closings: one from each side."""
    pairs = [*crowded(out=True), *crowded(out=False)]
    report = audit.exact(Closings(Fraction(32)), pairs)
    assert report.holds, report
    assert report.resolved > 1 - 1e-6
    pair = [((0, 0, 1), (1, 0, 0))]
    assert not audit.exact(Closings(Fraction(32), Fraction(9, 10)), pair).holds


def test_without_crowding_out_they_cost_the_larger_side():
    """The noises of threshold and question cost 16 each here; only one of them is moved."""
    assert audit.exact(Closings(Fraction(32), Fraction(1, 2)), crowded(out=False)).holds


# The whole mechanism ----------------------------------------

PROMISE = OneQueryToMany()
SURE = 10**4  # so large an epsilon for people that gates hardly err: their noise hides no query


def online(sizes, *, caps, epsilon=SURE, analyst_epsilon=6, rows=2, kind=OnlineQueries):
    return kind(
        universe=COIN,
        caps=caps,
        rows=rows,
        epsilon=epsilon,
        delta=0,
        analyst_epsilon=analyst_epsilon,
        analyst_delta=0.01,
        sizes=sizes,
        neighbours=Replace("row"),
    )


def books(caps, *firsts, second=()):
    """Return books that differ in what the first analyst asks at each of his places."""
    own = {caps.queries + place: query for place, query in enumerate(second)}
    return [QueryBook(COIN, caps, ("first", "second"), own | dict(enumerate(first))) for first in firsts]


def watched(mechanism, pairs, table, view=SeenByOthers):
    table = Histogram.dense(COIN, table)
    return audit.exact(
        view(mechanism, ("second",)),
        [(QueriesAndData(table, left), QueriesAndData(table, right)) for left, right in pairs],
    )


@pytest.mark.parametrize("table", [[0, 2], [1, 1]], ids=str)
def test_the_analysts_promise_on_every_pair_of_books_of_one_tick(table):
    caps = Caps(analysts=2, queries=1)
    mechanism = online(OnlineSizes(1, 2, 1, Fraction(1, 2), 1, 1), caps=caps, analyst_epsilon=32)
    every = (None, HEADS, TAILS, BOTH)
    for second in (None, HEADS):
        found = books(caps, *([query] for query in every), second=[second])
        report = watched(mechanism, itertools.combinations(found, 2), table)
        assert report.holds, report
        assert report.resolved > 1 - 1e-9


@pytest.mark.parametrize(("table", "threshold"), [([0, 2], 1), ([1, 1], 0)], ids=str)
def test_the_analysts_promise_where_one_query_crowds_out_another(table, threshold):
    """Two ticks, two updates, one positive answer: the first query takes the place of the second."""
    caps = Caps(analysts=2, queries=2)
    mechanism = online(OnlineSizes(2, 1, 1, Fraction(1), 1, threshold), caps=caps, analyst_epsilon=40)
    found = books(caps, *itertools.product((None, HEADS), repeat=2))
    pairs = [pair for pair in itertools.combinations(found, 2) if PROMISE.distance(*pair) == 1]
    assert len(pairs) == 4
    report = watched(mechanism, pairs, table)
    assert report.holds, report
    assert report.resolved > 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Understated(SeenByOthers):
    """Claims a quarter of what one closing costs, and nothing for the samples."""

    @property
    def loss(self):
        return PureLoss(self.whole._budgets.closing.epsilon / 4)


def test_a_quarter_of_the_claim_to_analysts_is_caught():
    caps = Caps(analysts=2, queries=1)
    mechanism = online(OnlineSizes(1, 3, 1, Fraction(3, 2), 1, 1), caps=caps, analyst_epsilon=30)
    pair = [tuple(books(caps, (None,), (HEADS,)))]
    assert watched(mechanism, pair, [0, 2]).holds
    assert not watched(mechanism, pair, [0, 2], Understated).holds


class Halved(OnlineQueries):
    """Claims half of what its gate costs."""

    __slots__ = ()

    @property
    def loss(self):
        return PureLoss(self.epsilon / 2)


def test_half_of_the_claim_for_people_is_caught():
    caps = Caps(analysts=1, queries=2)
    sizes = OnlineSizes(1, 1, 1, Fraction(2), 1, 0)
    book = book_of(COIN, caps, {"first": [HEADS, TAILS]})
    mechanism = online(sizes, caps=caps, epsilon=32, analyst_epsilon=400, rows=1, kind=Halved)
    assert not audit.exact(mechanism, tiny_data(book, 1)).holds


@pytest.mark.parametrize(
    ("epsilon", "part"), [(88, 0.4), pytest.param(64, 0.6, marks=pytest.mark.soak)], ids=str
)
def test_two_gates_that_take_turns_cost_what_both_cost(epsilon, part):
    """The second analyst is asked after the hypothesis has learnt what the first one's gate said.

    One gate costs half of the claim. At 88 the enumeration is quick but does not resolve the rarest outcomes.
    """
    caps = Caps(analysts=2, queries=2)
    book = QueryBook(COIN, caps, ("first", "second"), {0: HEADS, 3: HEADS})
    sizes = OnlineSizes(1, 1, 1, Fraction(2), 1, 1)
    mechanism = online(sizes, caps=caps, epsilon=epsilon, analyst_epsilon=400, rows=1)
    report = audit.exact(mechanism, tiny_data(book, 1))
    assert report.holds, report
    assert max(f.measured for f in report.findings if f.view == "epsilon") >= part * epsilon


LINE = Universe([("x", (0, 1, 2))])
ZERO, ONE = Predicates(LINE, [(["x"], np.array(mask, dtype=bool)) for mask in ([1, 0, 0], [0, 1, 0])])


@dataclass(frozen=True, slots=True)
class SamplesOnly(SeenByOthers):
    """Claims a part of what the samples cost, and nothing for closings."""

    part: Fraction = Fraction(1)

    @property
    def loss(self):
        return ZCDPLoss(self.whole.sizes.rho * self.part)


def test_a_replaced_query_moves_samples_by_a_range_of_two_rates():
    """Both are bad in the same direction: batches are alike in size, and log-weights move both ways."""
    caps = Caps(analysts=2, queries=1)
    mechanism = OnlineQueries(
        universe=LINE, caps=caps, rows=4, epsilon=SURE, delta=0, analyst_epsilon=80, analyst_delta=0.01,
        sizes=OnlineSizes(1, 2, 1, Fraction(2), 1, 1), neighbours=Replace("row"),
    )  # fmt: skip
    table = Histogram.dense(LINE, [2, 2, 0])
    pair = [
        tuple(QueriesAndData(table, QueryBook(LINE, caps, ("first", "second"), {0: q})) for q in (ZERO, ONE))
    ]
    assert audit.exact(SamplesOnly(mechanism, ("second",)), pair).holds
    assert not audit.exact(SamplesOnly(mechanism, ("second",), Fraction(1, 4)), pair).holds


def test_the_owner_sees_more_than_the_others_are_promised():
    caps = Caps(analysts=2, queries=1)
    mechanism = online(OnlineSizes(1, 1, 1, Fraction(1, 2), 1, 1), caps=caps)
    left, right = books(caps, (None,), (HEADS,))
    table = Histogram.dense(COIN, [0, 2])
    everybody = SeenByOthers(mechanism, ("first", "second"))
    assert not audit.exact(everybody, [(QueriesAndData(table, left), QueriesAndData(table, right))]).holds
