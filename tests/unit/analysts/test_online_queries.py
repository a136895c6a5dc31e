"""Sizes, refusals and releases of the online mechanism."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.analysts.online_queries import CARD, OnlineQueries
from discreet.analysts.online_queries_plan import PLANNED_BETA, Budgets, OnlineSizes, candidates
from discreet.analysts.promises import OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.tiny import COIN, HEADS, TAILS
from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.sparse.plan import Form
from discreet.testing import unsafe_seeded

BUDGET = {
    "epsilon": 1,
    "delta": 1e-6,
    "analyst_epsilon": 1,
    "analyst_delta": 1e-6,
    "neighbours": Replace("row"),
}
CAPS = Caps(analysts=2, queries=4)
SMALL = OnlineSizes(updates=4, samples=40, batch=1, rate=Fraction(1), positives=4, threshold=20)


def loud(**more):
    given = {"epsilon": 100, "delta": 0, "analyst_epsilon": 400, "analyst_delta": 0.01, "sizes": SMALL}
    return OnlineQueries(universe=COIN, caps=CAPS, rows=100, **{"neighbours": Replace("row")} | given | more)


def ask(first, second=(), heads=100):
    book = book_of(COIN, CAPS, {"first": first, "second": second})
    return QueriesAndData(Histogram.dense(COIN, [100 - heads, heads]), book)


def test_both_budgets_are_kept_and_the_promises_named():
    mechanism, _ = CARD.example()
    assert mechanism.guarantee.implies(epsilon=1, delta=1e-6)
    assert mechanism.analyst_guarantee.implies(epsilon=1, delta=1e-6)
    assert mechanism.guarantee.neighbours == Replace("row")
    assert mechanism.analyst_guarantee.neighbours == OneQueryToMany()


@pytest.mark.parametrize("rows", [100, 5000])
def test_it_refuses_what_it_cannot_be_useful_for_and_names_the_way_out(rows):
    public = BUDGET | {"universe": COIN, "caps": Caps(analysts=4, queries=50)}
    with pytest.raises(Refused, match=r"takes about .* rows, or epsilon .*PrivateAnswers") as refused:
        OnlineQueries(rows=rows, **public)
    needed = float(refused.value.way_out.split()[3])
    assert needed > rows
    with pytest.raises(Refused):
        OnlineQueries(rows=int(0.9 * needed), **public)
    assert OnlineQueries(rows=int(1.1 * needed), **public).error(0.05) < 0.55 * needed


def test_the_sizes_keep_what_the_proof_needs():
    budgets = Budgets(1024, Caps(10, 10**6), Fraction(1), Fraction(1, 10**6), Fraction(1), Fraction(1, 10**6),
                      Replace("row"))  # fmt: skip
    for found in candidates(budgets):
        slack = budgets.closing.error(PLANNED_BETA / 3 / found.updates)
        largest, least = found.batch + slack + 10, found.batch - slack
        assert found.rate * Fraction(largest) <= 4 * found.gap
        assert found.updates * found.rate * Fraction(least) * found.gap / 2 >= math.log(1024) * (1 - 1e-12)
        bad = 2 * math.log(1024) / (found.rate * found.gap) + largest
        assert found.positives >= min(10**6, bad - 1)
        missed = 2 * 10**7 * found.updates * math.exp(-2 * found.samples * found.gap**2)
        assert missed <= PLANNED_BETA / 3
        sizes = found.sizes(10**9)
        assert sizes.threshold >= 2 * found.gap * 10**9 + Fraction(found.gate_error)
        assert found.rows_off(10**9) >= sizes.threshold + found.gate_error


def test_one_query_costs_half_its_budget_in_closings_and_the_samples_a_range_of_two_rates():
    assert loud()._budgets.closing.epsilon == loud().analyst_epsilon / 2
    sizes = OnlineSizes(updates=3, samples=5, batch=1, rate=Fraction(1, 7), positives=1, threshold=0)
    assert sizes.rho == 15 * (2 * Fraction(1, 7)) ** 2 / 8


def test_the_gates_draw_their_threshold_once():
    assert loud()._budgets.gate(2).plan.form is Form.ONCE


def test_bad_queries_get_private_answers_and_teach_the_hypothesis():
    release = loud().release(ask([HEADS] * 4, [TAILS] * 3), rng=unsafe_seeded(5))
    first, second = (
        dict((x.place, x.count) for x in release.value.leftovers(n)) for n in ("first", "second")
    )
    assert set(first) == {0, 1, 2, 3}
    assert set(second) == {4, 5, 6}
    assert abs(first[0] - 100) < 10  # the uniform guess, 50, is off by more than the threshold
    assert release.value.shared.transcript[0][0] == 0  # the first batch is closed at the first tick
    assert release.value.shared.answer(HEADS) > 70


def test_good_queries_are_answered_by_the_hypothesis_and_teach_nothing():
    release = loud(sizes=OnlineSizes(4, 40, 5, Fraction(1), 4, 20)).release(
        ask([HEADS], heads=52), rng=unsafe_seeded(6)
    )
    assert release.value.shared.transcript == ()
    assert release.value.answers("first", ask([HEADS]).book) == {0: 50.0}


def test_others_receive_the_same_when_an_unlearnt_query_changes():
    mechanism = loud(sizes=OnlineSizes(1, 1, 1000, Fraction(1, 10), 4, 20))
    seen = [
        mechanism.release(ask(first, [HEADS]), rng=unsafe_seeded(7)).value.shared
        for first in ([], [HEADS], [TAILS, HEADS])
    ]
    assert seen[0] == seen[1] == seen[2]


def test_after_the_last_positive_the_hypothesis_answers():
    sizes = OnlineSizes(1, 10, 1000, Fraction(1, 10), 1, 20)
    answers = loud(sizes=sizes).release(ask([HEADS] * 3), rng=unsafe_seeded(8)).value.leftovers("first")
    assert [answer.count for answer in answers[1:]] == [50.0, 50.0]
    assert answers[0].count != 50


def test_without_planned_sizes_nothing_is_promised():
    mechanism, _ = CARD.example()
    assert mechanism.error(0.05) < mechanism.rows / 2
    for other, beta in ((loud(), 0.05), (mechanism, 0.01)):  # thresholds are planned for 0.05
        with pytest.raises(NoBound, match=r"at least 0\.05"):
            other.error(beta)


def test_all_answers_of_the_example_are_within_the_error():
    mechanism, data = CARD.example()
    release = mechanism.release(data, rng=unsafe_seeded(9))
    for name in data.book.names:
        asked = data.book.list_asked(name)
        found = release.value.answers(name, data.book)
        off = [abs(found[place] - query.evaluate(data.histogram)) for place, query in asked.items()]
        assert max(off) <= mechanism.error(0.05)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidParameter, match="smaller rate"):
        loud(analyst_epsilon=1)
    with pytest.raises(NeighboursMismatch, match="Replace"):
        loud(neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="a QueriesAndData"):
        loud().release(np.zeros(2))
    with pytest.raises(InvalidParameter, match="these caps"):
        loud().release(
            QueriesAndData(Histogram.dense(COIN, [50, 50]), book_of(COIN, Caps(1, 4), {"first": []}))
        )
    with pytest.raises(InvalidParameter, match="number of rows"):
        loud().release(QueriesAndData(Histogram.dense(COIN, [50, 51]), ask([]).book))
    with pytest.raises(InvalidParameter, match="samples"):
        OnlineSizes(1, 0, 1, Fraction(1), 1, 0)
