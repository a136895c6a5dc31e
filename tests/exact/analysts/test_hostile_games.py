"""Games and statistics under attack: old levels, a query that changes altogether, hostile writers."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet import audit
from discreet.analysts.any_queries import AnyQueries, AskedStatistics
from discreet.analysts.games.bregman_choice import CappedChoice, Sides
from discreet.analysts.games.calibration import GameSizes
from discreet.analysts.games.scores import BitRows
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import Distance, HowMany, Ranked, Trusted, largest_move
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.equilibrium.bregman import DOUBT, cap_project
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.union import Union
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries

COIN = Universe([("x", (0, 1))])
ROWS, ADDED = Replace("row"), AddRemove("row")


# Games ----------------------------------------


def true_log_level(scores, rate, density):
    """Return log c by its definition, in more digits than the weights are apart by."""
    with mpmath.workdps(60 + int(rate * 2 * max(map(abs, scores)))):
        step = mpmath.mpf(rate.numerator) / rate.denominator
        weights = sorted((mpmath.exp(step * s) for score in scores for s in (score, -score)), reverse=True)
        for capped, weight in enumerate(weights):
            level = (density - capped) / mpmath.fsum(weights[capped:])
            if level * weight < 1:
                return mpmath.log(level)
    raise AssertionError("density is the number of actions")


def test_an_old_level_is_never_further_off_than_it_says():
    """Random walks, looked at now and then. Without counting the moves the same check fails."""
    generator, forgotten = np.random.default_rng(12), 0  # noqa: TID251
    for _ in range(120):
        places, rows = int(generator.integers(2, 9)), int(generator.choice([1, 1000]))
        rate = Fraction(float(generator.choice([1e-4, 0.05, 0.5, 3])) / rows).limit_denominator(10**9)
        matrix = generator.integers(0, 2, (3, places)).astype(np.uint8)
        answers, scores = generator.integers(0, rows + 1, places), [0] * places
        standing = Sides(np.zeros(places, dtype=np.int64)).facing(
            BitRows(np.packbits(matrix, axis=1), places), answers
        )
        density = int(generator.choice([1, 2 * places - 1, generator.integers(1, 2 * places)]))
        choice = CappedChoice(rate, density, Fraction(0))
        for _ in range(5):
            if generator.random() < 0.6 or standing.level is None:
                choice._refresh(standing)
            for cell in generator.integers(0, 3, generator.choice([1, 5, 40])).tolist():
                standing = standing.after(cell, -rows, most=rows)
                moves = (answers - rows * matrix[cell].astype(np.int64)).tolist()
                scores = [score + move for score, move in zip(scores, moves, strict=True)]
            off = abs(true_log_level(scores, rate, density) - standing.level.log)
            assert off <= standing.level.slack + standing.moved * float(rate) * (1 + DOUBT) + DOUBT
            forgotten += off > standing.level.slack
    assert forgotten > 100


def test_one_query_for_another_moves_the_strategy_by_no_more_than_sigma():
    """The old query and the new one are different actions: nothing of them is common to both books."""
    generator, closest = np.random.default_rng(13), 0.0  # noqa: TID251
    for _ in range(3000):
        places = int(generator.integers(2, 12))
        density = int(generator.choice([1, places - 1, generator.integers(1, 2 * places)]))
        edge = math.log(2 * places / density)  # where a query's side just reaches the cap
        scores = generator.choice([-1, 0, 0, 1], places - 1) * float(generator.choice([0.1, edge, 50]))
        laws = []
        for own in generator.choice([0, edge, 1, 50], 2):
            both = np.append(scores, own)
            law = cap_project(np.append(both, -both), density).reshape(2, places)
            laws.append((law[:, :-1], law[:, -1].sum()))
        (left, old), (right, _) = laws
        moved = float(np.maximum(left - right, 0).sum() + old)
        sigma = float(
            GameSizes(rows=1, cells=2, groups=2 * places, members=1, changed=2, draws=1).sigma(density)
        )
        assert moved <= sigma + 1e-9
        closest = max(closest, moved / sigma)
    assert closest > 0.999


# Statistics ----------------------------------------


class Modest(Marginals):
    """Claims to move by nothing, and multiplies its answers by a thousand."""

    def sensitivity_bound(self, neighbours, *, norm):
        return Fraction(0)

    def answers(self, data):
        return 1000 * super().answers(data)


class Grown(TableQuery):
    """Weighs a thousand times as much as before once it was checked."""

    is_predicate = is_integral = True
    holds = False

    def table(self):
        return np.array([0, 1000 if self.holds else 1])


class Fickle:
    """A predicate that holds nowhere as long as sensitivities are computed, and everywhere later."""

    def __init__(self):
        self.holds = False

    def __call__(self, codes):
        return np.full(len(codes), self.holds)


def public(**given):
    return AnyQueries(
        **{
            "universe": COIN,
            "caps": Caps(analysts=1, queries=1),
            "sensitivity": 1,
            "epsilon": 4,
            "delta": 0,
            "neighbours": ROWS,
        }
        | given
    )


def holds(mode, statistic):
    book = mode.book({"first": [statistic]})
    tables = [AskedStatistics(Histogram.dense(COIN, [k, 2 - k]), book) for k in range(3)]
    pairs = [(tables[0], tables[1]), (tables[1], tables[2])]
    return audit.exact(mode, pairs).holds


def test_a_workload_of_another_kind_cannot_claim_a_sensitivity():
    statistic = Ranked(Modest(COIN, [["x"]]), rank=1)
    assert largest_move(statistic, ROWS, rows=2) <= statistic.sensitivity(ROWS) == 1
    assert holds(public(), statistic)


def grown():
    query = Grown(COIN, (0,), "grown", table=[0, 1])
    return query, Ranked(Queries(COIN, [query]), rank=1)


def nowhere(others, made):
    changing = Fickle()
    return changing, made(Predicates(COIN, [(["x"], changing), *others]))


EVERYBODY = (["x"], np.array([True, True]))
NOBODY = Predicates(COIN, [(["x"], np.array([False, False]))])
FICKLE = {
    "a query": (grown, 1000),
    "how many": (lambda: nowhere([EVERYBODY], lambda groups: HowMany(groups, at_least=1)), 2),
    "ranked": (lambda: nowhere([], lambda groups: Ranked(groups, rank=1)), 1),
    "a gap": (lambda: nowhere([], lambda groups: Distance(groups, NOBODY, norm=1)), 1),
}


@pytest.mark.parametrize("name", FICKLE)
def test_what_was_checked_cannot_change_its_mind(name):
    """It would move further later on than it was taken for, but nothing asks it again."""
    make, later = FICKLE[name]
    changing, statistic = make()
    paid = statistic.sensitivity(ADDED)
    changing.holds = True
    assert largest_move(statistic, ADDED, rows=3) <= paid == statistic.sensitivity(ADDED) < later


def test_the_count_of_all_rows_has_no_attributes():
    total, sides = Marginals(COIN, [[]]), Marginals(COIN, [["x"]])
    table = Histogram.dense(COIN, [3, 4])
    doubled = Ranked(Union([total, sides], [2, 3]), rank=1)
    assert (doubled.value(table), doubled.sensitivity(ADDED)) == (14, 3)
    assert Distance(total, sides.subset([0]), norm=1).value(table) == 4
    assert Distance(total, total, norm=1).sensitivity(ADDED) == 0


class Alike:
    """A function that says it equals every other."""

    def __call__(self, histogram):
        return 1000 * int(histogram.counts()[0])

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def trusted(function):
    return Trusted(function, universe=COIN, name="f", sensitivity=1, neighbours=ROWS, lower=0, upper=10_000)


def heads(histogram):
    return int(histogram.counts()[0])


def test_a_book_that_vouches_for_another_function_is_another_mechanism_s():
    """Whoever writes a function may also write what it equals."""
    right, wrong = trusted(heads), trusted(Alike())
    mine, theirs = (public(grid=1, trusted=[one]) for one in (right, wrong))
    assert mine == theirs, "the attack"
    table = Histogram.dense(COIN, [3, 4])
    with pytest.raises(InvalidParameter, match="a book of this mechanism"):
        mine.release(AskedStatistics(table, theirs.book({"first": [wrong]})))
    again = public(grid=1, trusted=[right])
    assert mine.release(AskedStatistics(table, again.book({"first": [right]}))), "an equal one will do"
