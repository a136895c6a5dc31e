"""When a batch of badly answered queries is closed: at public ticks by AboveThreshold, or as it was printed.

All analysts see when the shared hypothesis changes. The printed online algorithm compares the size of the
batch with one noisy cutoff after every query. A change right after a *good* query then gives a hidden bad one
away.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from discreet import audit
from discreet.analysts.online import OnlineQueries
from discreet.analysts.online_plan import OnlineSizes
from discreet.analysts.promises import Asked, OneQueryToMany, SeenByOthers
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.query_game import BOTH, COIN, HEADS, TAILS, tiny_data
from discreet.core.loss import PureLoss
from discreet.core.mechanism import Mechanism
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.queries.histogram import Histogram
from discreet.sparse.above_threshold import AboveThreshold, each_value

SIZE = 2  # the batch is meant to be closed once it has more than so many queries
BAD, GOOD, HIDDEN = "bad", "good", "hidden"
WITHOUT = (BAD, BAD, GOOD, GOOD, BAD)
WITH = (BAD, BAD, GOOD, HIDDEN, GOOD, BAD)


@dataclass(frozen=True, slots=True)
class Printed(Mechanism):
    """The batch is closed as soon as its size exceeds a cutoff whose noise is drawn once."""

    epsilon: Fraction
    neighbours = OneQueryToMany()

    @property
    def loss(self):
        return PureLoss(self.epsilon)

    def error(self, beta):
        return math.inf

    def _draw(self, data, rng):
        """Return after which of the others' queries they see the hypothesis change."""
        step = AddNoise(DiscreteLaplace(2 / self.epsilon), sensitivity=Fraction(0))
        cutoff = SIZE + int(rng.perform(step, 0))
        size = seen = 0
        for query in data:
            seen += query != HIDDEN
            size += query != GOOD
            if size > cutoff:
                return seen
        return None


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


@pytest.mark.parametrize(("epsilon", "every", "queries"), [(3, 1, 3), (3, 2, 4), (6, 1, 3)])
def test_closing_at_ticks_keeps_the_promise_on_every_sequence(epsilon, every, queries):
    """All sequences of the others' queries, and a hidden bad query at any time."""
    report = audit.exact(closing(epsilon), all_pairs(queries, every), each_value(queries // every))
    assert report.holds, report
    assert report.resolved > 1 - 1e-9
    assert max(finding.measured for finding in report.findings) > 0.3 * epsilon


def test_the_printed_rule_is_caught():
    report = audit.exact(Printed(Fraction(1)), [(WITHOUT, WITH)])
    assert not report.holds


def test_a_change_after_a_good_query_gives_a_hidden_one_away():
    """Without it that event has probability 0, with it (1 - exp(-epsilon / 2)) / 2 for the printed noise."""
    findings = audit.exact(Printed(Fraction(1)), [(WITHOUT, WITH)]).findings
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
    )


def books(caps, *firsts, second=()):
    """Return books that differ in what the first analyst asks at each of his places."""
    own = {caps.queries + place: query for place, query in enumerate(second)}
    return [QueryBook(COIN, caps, ("first", "second"), own | dict(enumerate(first))) for first in firsts]


def watched(mechanism, pairs, table, view=SeenByOthers):
    table = Histogram.dense(COIN, table)
    return audit.exact(
        view(mechanism, ("second",)), [(Asked(table, left), Asked(table, right)) for left, right in pairs]
    )


@pytest.mark.parametrize("table", [[0, 2], [1, 1]], ids=str)
def test_the_analysts_promise_on_every_pair_of_books_of_one_tick(table):
    caps = Caps(analysts=2, queries=1)
    mechanism = online(OnlineSizes(1, 2, 1, Fraction(1, 2), 1, 1), caps=caps, analyst_epsilon=12)
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
    mechanism = online(OnlineSizes(2, 1, 1, Fraction(1), 1, threshold), caps=caps, analyst_epsilon=30)
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
        return PureLoss(self.whole._budgets.closing(1).epsilon / 4)


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
    mechanism = online(sizes, caps=caps, epsilon=16, analyst_epsilon=400, rows=1, kind=Halved)
    assert not audit.exact(mechanism, tiny_data(book, 1)).holds


def test_the_owner_sees_more_than_the_others_are_promised():
    caps = Caps(analysts=2, queries=1)
    mechanism = online(OnlineSizes(1, 1, 1, Fraction(1, 2), 1, 1), caps=caps)
    left, right = books(caps, (None,), (HEADS,))
    table = Histogram.dense(COIN, [0, 2])
    everybody = SeenByOthers(mechanism, ("first", "second"))
    assert not audit.exact(everybody, [(Asked(table, left), Asked(table, right))]).holds
