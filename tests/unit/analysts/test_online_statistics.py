"""Weights over all tables: which there are, what they learn, what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.analysts.any_queries import AskedStatistics
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.online_statistics import CARD, MOST_TABLES, OnlineStatistics, _list_tables
from discreet.analysts.promises import OneQueryToMany
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import Combined, Distance, HowMany, Ranked, Trusted
from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.testing import unsafe_seeded

THREE = Universe([("x", range(3))])
SHOPS = Marginals(THREE, [["x"]])
CAPS = Caps(analysts=2, queries=4)
LARGEST, SPREAD = Ranked(SHOPS, rank=1), Distance(SHOPS.subset([0]), SHOPS.subset([2]), norm=1)
QUICK = OnlineSizes(updates=4, samples=60, batch=1, rate=Fraction(20), positives=4, threshold=4)
LOUD = {
    "universe": THREE,
    "caps": CAPS,
    "rows": 20,
    "sensitivity": 1,
    "epsilon": 400,
    "delta": 0,
    "analyst_epsilon": 10**6,
    "analyst_delta": 0.01,
    "neighbours": Replace("row"),
    "sizes": QUICK,
}


def loud(**changed):
    return OnlineStatistics(**LOUD | changed)


def ask(mechanism, first, second=(), counts=(18, 2, 0)):
    book = mechanism.book({"first": first, "second": second})
    return AskedStatistics(Histogram.dense(THREE, counts), book)


def test_both_budgets_are_kept_and_the_promises_named():
    mechanism, _ = CARD.example()
    assert mechanism.guarantee.implies(epsilon=8, delta=1e-6)
    assert mechanism.analyst_guarantee.implies(epsilon=1, delta=1e-6)
    assert mechanism.analyst_guarantee.neighbours == OneQueryToMany()


@pytest.mark.parametrize(("cells", "rows"), [(1, 4), (2, 3), (3, 4), (4, 2)])
def test_every_table_is_listed_once(cells, rows):
    wanted = {t for t in itertools.product(range(rows + 1), repeat=cells) if sum(t) == rows}
    listed = [tuple(t) for t in _list_tables(cells, rows).tolist()]
    assert len(listed) == len(wanted) == math.comb(rows + cells - 1, rows) and set(listed) == wanted


def test_more_tables_than_can_be_listed_are_refused_and_the_baseline_is_named():
    with pytest.raises(Refused, match=r"20,000.*AnyQueries"):
        loud(rows=199)
    assert loud(rows=198).tables <= MOST_TABLES
    with pytest.raises(Refused, match="AnyQueries"):
        loud(universe=Universe([("x", range(40_000))]), rows=1000)


def test_what_cannot_be_useful_is_refused():
    with pytest.raises(Refused, match=r"takes about epsilon .*AnyQueries"):
        loud(sizes=None, epsilon=1, delta=1e-6, analyst_epsilon=1, analyst_delta=1e-6)


def test_gains_are_the_statistic_of_every_table_and_no_further_apart_than_the_rows():
    for statistic in (LARGEST, HowMany(SHOPS, at_least=7), Combined([(Fraction(1, 2), SPREAD)])):
        mechanism = loud(grid=Fraction(1, 2)) if isinstance(statistic, Combined) else loud()
        gains = mechanism._gains(statistic)
        for counts, gain in zip(_list_tables(3, 20)[::17], gains[::17], strict=True):
            table = Histogram.dense(THREE, counts)
            assert mechanism._true_answer(statistic, table) - gain == pytest.approx(
                mechanism._true_answer(statistic, Histogram.dense(THREE, _list_tables(3, 20)[gains.argmin()]))
            )
        assert 0 == gains.min() < gains.max() <= mechanism.span


def test_a_bad_statistic_gets_a_private_answer_and_teaches_the_tables():
    """All tables alike have a largest count of about 13 of 20; the data have 18."""
    mechanism = loud()
    data = ask(mechanism, [LARGEST] * 4)
    delivery = mechanism.release(data, rng=unsafe_seeded(3)).value
    answers = delivery.answers("first", data.book)
    assert all(abs(answer - 18) <= 2 for answer in answers.values())
    assert len(delivery.shared.transcript) >= 1
    assert abs(mechanism._answer_from(delivery.shared, LARGEST) - 18) <= 3
    assert delivery.shared.total == pytest.approx(20)


def test_a_good_statistic_is_answered_by_the_tables_and_teaches_nothing():
    mechanism = loud()
    delivery = mechanism.release(ask(mechanism, [LARGEST], counts=(13, 4, 3)), rng=unsafe_seeded(3)).value
    assert delivery.shared.transcript == () and len(delivery.shared.tables) == mechanism.tables


def test_one_book_serves_the_baseline_too():
    mechanism, data = CARD.example()
    for served in (mechanism, mechanism.baseline):
        delivery = served.release(data, rng=unsafe_seeded(5)).value
        assert delivery.answers("acme", data.book).keys() == {0, 1}
        assert delivery.answers("bolt", data.book).keys() == {3}
    assert mechanism.error(0.05) > mechanism.baseline.error(0.05)  # at such sizes noise alone is better


@pytest.mark.parametrize("odd", ["raises", "nan", "text"])
def test_a_function_that_fails_counts_as_its_lower_bound_and_stops_nobody(odd):
    def function(histogram):
        if histogram.counts().reshape(-1)[0] > 10:
            return {"nan": math.nan, "text": "18"}[odd]
        return 3

    broken = Trusted(
        function, universe=THREE, name="broken", sensitivity=1, neighbours=Replace("row"), lower=0, upper=20
    )
    mechanism = loud(grid=1, trusted=[broken])
    data = ask(mechanism, [broken], [LARGEST])
    delivery = mechanism.release(data, rng=unsafe_seeded(1)).value
    assert set(delivery.answers("first", data.book)) == {0}
    assert abs(delivery.answers("second", data.book)[4] - 18) <= 2


@pytest.mark.parametrize("size", [10**6, 10**300])
def test_a_false_promise_moves_no_weight_further_than_paid_for(size):
    """The analysts' promise does not rest on what the owner vouched for, nor on what fits into 64 bits."""
    wild = Trusted(
        lambda histogram: size * (int(histogram.counts().reshape(-1)[0]) - 10),
        universe=THREE,
        name="wild",
        sensitivity=1,
        neighbours=Replace("row"),
        lower=-20 * size,
        upper=20 * size,
    )
    gains = (mechanism := loud(grid=1, trusted=[wild]))._gains(wild)
    assert (gains.min(), gains.max()) == (0, mechanism.span)
    assert np.unique(gains).size == 2


def test_without_planned_sizes_nothing_is_promised():
    with pytest.raises(NoBound):
        loud().error(0.05)
    planned, _ = CARD.example()
    with pytest.raises(NoBound):
        planned.error(0.01)


def test_what_does_not_fit_is_refused():
    mechanism = loud()
    with pytest.raises(InvalidParameter, match="number of rows"):
        mechanism.release(ask(mechanism, [LARGEST], counts=(18, 3, 0)))
    with pytest.raises(InvalidParameter, match="another's"):
        mechanism.release(ask(loud(epsilon=300), [LARGEST]))
    with pytest.raises(Refused, match="public limit"):
        mechanism.book({"first": [SPREAD]})  # a changed row moves it by two
    with pytest.raises(InvalidParameter, match="rate"):
        loud(analyst_epsilon=1)
    with pytest.raises(NeighboursMismatch):
        loud(neighbours=AddRemove("row"))
    loud(sensitivity=2**62 // (20 * CAPS.places))
    with pytest.raises(InvalidParameter, match="coarser grid"):  # sums of all gains would leave 64 bits
        loud(sensitivity=2**62 // (20 * CAPS.places) + 1)


def test_gates_have_the_noise_of_a_statistics_sensitivity():
    mechanism = loud(sensitivity=2, grid=1, epsilon=2)
    assert mechanism.shift == 2 and mechanism.span == 40
    assert mechanism._budgets.gate(4).error(0.05) > 1.9 * loud(epsilon=2)._budgets.gate(4).error(0.05)


def test_tables_are_drawn_no_more_often_than_was_paid_for():
    mechanism = loud(sizes=OnlineSizes(1, 60, 1, Fraction(20), 4, 2))
    data = ask(mechanism, [LARGEST, Ranked(SHOPS, rank=3), HowMany(SHOPS, at_least=1), LARGEST])
    counts = [len(mechanism.release(data, rng=unsafe_seeded(s)).value.shared.transcript) for s in range(4)]
    assert max(counts) == 1
