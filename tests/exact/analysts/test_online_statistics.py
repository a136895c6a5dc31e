"""Both promises of statistics online, enumerated on the shipped code: two tables of one row, three of two."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import pytest

from discreet import audit
from discreet.analysts.any_queries import AskedStatistics
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.online_statistics import OnlineStatistics
from discreet.analysts.promises import SeenByOthers
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import HowMany, Ranked
from discreet.analysts.tiny import COIN
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.core.neighbours import Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals

SIDES = Marginals(COIN, [["x"]])
LARGEST, KINDS = Ranked(SIDES, rank=1), HowMany(SIDES, at_least=1)
TAILS, HEADS = (Ranked(SIDES.subset([side]), rank=1) for side in (0, 1))
TWO = Caps(analysts=2, queries=1)
SURE = 10**4  # so large an epsilon for people that gates hardly err: their noise hides no question


def online(
    sizes,
    *,
    caps=TWO,
    epsilon=SURE,
    analyst_epsilon=32,
    rows=2,
    kind=OnlineStatistics,
):
    return kind(
        universe=COIN,
        caps=caps,
        rows=rows,
        sensitivity=1,
        epsilon=epsilon,
        delta=0,
        analyst_epsilon=analyst_epsilon,
        analyst_delta=0.01,
        sizes=sizes,
        neighbours=Replace("row"),
    )


def watched(mechanism, table, pairs, view=SeenByOthers):
    histogram = Histogram.dense(COIN, table)
    listed = [tuple(AskedStatistics(histogram, mechanism.book(asked)) for asked in pair) for pair in pairs]
    return audit.exact(view(mechanism, ("second",)), listed)


def everything(second):
    asked = [{"first": own, "second": second} for own in ([], [LARGEST], [KINDS], [HEADS])]
    return itertools.combinations(asked, 2)


@pytest.mark.parametrize(("table", "second"), [([0, 2], [HEADS]), ([1, 1], [])], ids=str)
def test_others_learn_no_more_of_a_statistic_than_promised(table, second):
    mechanism = online(OnlineSizes(1, 2, 1, Fraction(1, 2), 1, 1))
    report = watched(mechanism, table, everything(second))
    assert report.holds, report
    assert report.resolved > 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Understated(SeenByOthers):
    """Claims a part of what the samples cost, and nothing for closings."""

    part: Fraction = Fraction(1, 4)

    @property
    def loss(self):
        return ZCDPLoss(self.whole.sizes.rho * self.part)


def test_a_part_of_the_claim_to_analysts_is_caught():
    mechanism = online(OnlineSizes(1, 2, 1, Fraction(2), 1, 1), analyst_epsilon=80)
    pairs = [tuple({"first": own, "second": []} for own in ([], [HEADS]))]
    assert watched(mechanism, [0, 2], pairs).holds
    assert not watched(mechanism, [0, 2], pairs, Understated).holds


class Halved(OnlineStatistics):
    """Claims half of what its gate costs."""

    __slots__ = ()

    @property
    def loss(self):
        return PureLoss(self.epsilon / 2)


def test_half_of_the_claim_for_people_is_caught():
    sizes, caps = OnlineSizes(1, 1, 1, Fraction(2), 1, 0), Caps(analysts=1, queries=2)
    mechanism = online(sizes, caps=caps, epsilon=32, analyst_epsilon=400, rows=1, kind=Halved)
    book = mechanism.book({"first": [HEADS, TAILS]})
    pair = tuple(AskedStatistics(Histogram.dense(COIN, table), book) for table in ([1, 0], [0, 1]))
    assert not audit.exact(mechanism, [pair]).holds
