"""The median mechanism over small databases: what it answers, refuses, and says when it ends."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.bounds import read_error
from discreet.core.errors import ConversationClosed, InvalidParameter, NeighboursMismatch, NoBound, Refused
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import AddRemove, Edge, Replace
from discreet.core.rng import Rng
from discreet.noise import NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.query import PredicateQuery, ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.median.candidates import Family, family_size, small_databases
from discreet.query_release.median.conversation import EMPTY
from discreet.query_release.median.median_mechanism import CARD, MedianMechanism
from discreet.query_release.median.median_thesis import Constants, MedianThesis, Steps
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.testing import unsafe_seeded

FOUR = Universe([("cell", range(4))])
PUBLIC = {
    "universe": FOUR,
    "rows": 100,
    "epsilon": 1,
    "delta": 0,
    "updates": 3,
    "threshold": 30,
    "size": 4,
    "neighbours": Replace("row"),
}


class Scripted(Rng):
    """Answers gates and measurements as a test wishes."""

    unsafe = True

    def __init__(self, gates, values=()):
        self.gates, self.values, self.met = list(gates), list(values), []

    def random_bytes(self, count):
        raise AssertionError("no raw bits")

    def perform(self, primitive, value):
        self.met.append((primitive, value))
        if isinstance(primitive, NoisyComparison):
            return self.gates.pop(0)
        if primitive.sensitivity == 0:
            return 0
        return self.values.pop(0)


def query(*weights, universe=FOUR):
    return TableQuery(universe, (0,), "q", table=list(weights))


def data(*counts, universe=FOUR):
    return Histogram.dense(universe, list(counts))


def test_small_databases_are_all_listed():
    for cells, size in ((1, 3), (2, 5), (3, 4), (4, 3)):
        listed = {
            tuple(chosen.count(cell) for cell in range(cells))
            for chosen in itertools.combinations_with_replacement(range(cells), size)
        }
        table = small_databases(cells, size)
        assert {tuple(int(x) for x in row) for row in table} == listed
        assert len(table) == len(listed) == family_size(cells, size)


def test_a_family_too_large_to_list_is_refused_with_a_way_out():
    with pytest.raises(Refused, match="MedianPolytope"):
        MedianMechanism(**{**PUBLIC, "universe": Universe([("x", range(64))]), "size": 6})


def test_answers_of_a_family_are_scaled_and_cut():
    family = Family(small_databases(2, 2), size=2, rows=10)
    weights = np.array([1, 0])
    assert sorted(family.answers(weights).tolist()) == [0, 5, 10]
    assert len(family.cut(weights, 6, 1)) == 1
    assert family.cut(weights, 100, 1) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"updates": 0},
        {"threshold": 0},
        {"width": -1},
        {"size": 0},
        {"grid": 0.3},
        {"grid": 0},
        {"queries": 0},
        {"rows": 1 << 60},
        {"universe": "cells"},
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InvalidParameter):
        MedianMechanism(**{**PUBLIC, **wrong})


def test_other_neighbours_are_refused():
    with pytest.raises(NeighboursMismatch):
        MedianMechanism(**{**PUBLIC, "neighbours": Edge()})


def test_the_number_of_rows_is_checked_only_where_it_is_public():
    with pytest.raises(InvalidParameter, match="rows"):
        MedianMechanism(**PUBLIC).open(data(1, 2, 3, 4))
    hidden = MedianMechanism(**{**PUBLIC, "neighbours": AddRemove("row")})
    assert not hidden.open(data(1, 2, 3, 4)).closed


def test_data_must_be_a_histogram_over_the_universe():
    mechanism = MedianMechanism(**PUBLIC)
    for odd in ([25] * 4, None, Histogram.dense(Universe([("x", (0, 1))]), [50, 50])):
        with pytest.raises(InvalidParameter, match="data"):
            mechanism.open(odd)


def test_queries_need_weights_between_0_and_1_and_a_grid_for_fractions():
    conversation = MedianMechanism(**PUBLIC).open(data(25, 25, 25, 25))
    for bad in (query(2, 0, 0, 0), query(-1, 0, 0, 0), query(0.5, 0, 0, 0), "q"):
        with pytest.raises(InvalidParameter, match="query"):
            conversation.ask(bad)
    elsewhere = Universe([("y", range(4))])
    with pytest.raises(InvalidParameter, match="universe"):
        conversation.ask(query(1, 0, 0, 0, universe=elsewhere))
    with pytest.raises(InvalidParameter, match="query alone"):
        conversation.ask(query(1, 0, 0, 0), threshold=3)
    assert conversation.asked == conversation.measured == 0


def test_a_good_guess_is_the_median_and_a_bad_one_is_measured():
    rng = Scripted([False, True], [90])
    conversation = MedianMechanism(**PUBLIC).open(data(90, 4, 3, 3), rng=rng)
    free = conversation.ask(query(1, 0, 0, 0))
    answers = Family(small_databases(4, 4), size=4, rows=100).answers(np.array([1, 0, 0, 0]))
    assert (free.kind, free.value) == ("free", sorted(answers)[(len(answers) - 1) // 2])
    measured = conversation.ask(query(1, 1, 0, 0))
    assert (measured.kind, measured.value) == ("measured", 90)
    assert conversation.measured == 1
    values = [value for primitive, value in rng.met if isinstance(primitive, NoisyComparison)]
    assert [value for value, _ in values] == [90 - 25, abs(94 - 50)]
    assert conversation.last(query(1, 1, 1, 0)).value >= 75, "the cut left only large first halves"


def test_repeated_questions_get_the_first_answer_at_no_cost():
    rng = Scripted([True, False], [80])
    conversation = MedianMechanism(**PUBLIC).open(data(90, 4, 3, 3), rng=rng)
    first = conversation.ask(query(1, 0, 0, 0))
    steps = len(rng.met)
    again = [
        conversation.ask(query(1.0, 0.0, 0.0, 0.0)),
        conversation.ask(PredicateQuery(FOUR, (0,), "p", holds=lambda x: x == 0)),
        conversation.ask(ProductQuery(FOUR, (0,), "m", masks=[np.array([1, 0, 0, 0], dtype=bool)])),
    ]
    assert all(answer is first for answer in again)
    assert len(rng.met) == steps and conversation.measured == 1
    assert conversation.ask(query(0, 1, 0, 0)).kind == "free", "another question is a new one"


def test_it_closes_after_the_last_measured_answer_and_can_go_on_stale():
    rng = Scripted([True] * 3, [80, 10, 5])
    conversation = MedianMechanism(**PUBLIC).open(data(90, 4, 3, 3), rng=rng)
    for place in range(3):
        assert not conversation.closed
        conversation.ask(query(*np.eye(4)[place]))
    assert conversation.closed
    with pytest.raises(ConversationClosed, match="all 3 measured answers have been given") as problem:
        conversation.ask(query(0, 0, 0, 1))
    assert "80" not in str(problem.value) and "90" not in str(problem.value)
    stale = conversation.last(query(1, 1, 1, 0))
    assert (stale.kind, stale.error) == ("stale", math.inf)
    assert conversation.last(query(1, 0, 0, 0)).value == 80, "what was asked before is on record"
    assert len(rng.met) == 3 * 2 + 1, "stale answers draw nothing"


def test_contradicting_measurements_close_it_and_say_why():
    rng = Scripted([True, True], [100, 100])
    conversation = MedianMechanism(**PUBLIC).open(data(25, 25, 25, 25), rng=rng)
    conversation.ask(query(1, 0, 0, 0))
    answer = conversation.ask(query(0, 1, 0, 0))
    assert (answer.kind, answer.value) == ("measured", 100), "what was paid for is given"
    with pytest.raises(ConversationClosed, match=EMPTY):
        conversation.ask(query(0, 0, 1, 0))
    assert conversation.last(query(1, 0, 0, 0)).value == 100
    assert conversation.last(query(0, 0, 1, 1)).value <= 25, "the last family that was not empty answers"


def test_loss_error_and_width_follow_the_gate():
    mechanism = MedianMechanism(**PUBLIC)
    assert mechanism.guarantee.implies(epsilon=1, delta=0)
    assert mechanism.width == Fraction(15)
    assert read_error(mechanism, 0.05) == math.inf, "there are 100 rows"
    assert mechanism.error(0.5) == pytest.approx(30 + mechanism.gate.error(0.5))
    assert mechanism.measured_error(0.05) <= mechanism.gate.error(0.05)
    rounded = MedianMechanism(**PUBLIC, grid=0.01)
    assert rounded.error(0.5) >= 30 + 100 * 0.005
    answer = mechanism.open(data(25, 25, 25, 25), rng=Scripted([False])).ask(query(1, 1, 0, 0))
    assert answer == OnlineAnswer(50.0, math.inf, "free")


def test_for_error_is_the_way_back():
    public = {key: value for key, value in PUBLIC.items() if key not in ("epsilon", "threshold")}
    public = {**public, "rows": 10_000, "updates": 1}
    mechanism = MedianMechanism.for_error(alpha=500, beta=0.05, **public)
    assert mechanism.threshold == 400
    assert 490 <= mechanism.error(0.05) <= 500
    assert MedianMechanism(epsilon=1, **{k: v for k, v in PUBLIC.items() if k != "epsilon"}).epsilon == 1


@pytest.mark.parametrize("seed", range(4))
def test_every_update_halves_and_all_answers_are_close(seed):
    """Where the class says that halvings suffice, they do: questions that try to be hard, on random data."""
    random = np.random.default_rng(seed)  # noqa: TID251 - test data
    rows = 100_000
    mechanism = MedianMechanism(
        universe=FOUR, rows=rows, epsilon=1, delta=1e-9, updates=14, threshold=7000, size=40, grid=0.01,
        neighbours=Replace("row"),
    )  # fmt: skip
    alpha = mechanism.gate.error(1e-6)
    assert alpha + mechanism.nearest <= mechanism.width
    assert mechanism.width + 2 * alpha + 1 < mechanism.threshold
    assert mechanism.halvings <= mechanism.updates
    counts = random.multinomial(rows, random.dirichlet([0.3] * 4))
    conversation = mechanism.open(data(*counts), rng=unsafe_seeded(seed))
    sizes, within = [len(conversation._candidates)], mechanism.error(1e-6)
    for _ in range(100):
        # The question on which the guesses and the truth differ most, among a few.
        tables = [random.random(4).round() for _ in range(2)] + [random.random(4).round(2)]
        table = max(tables, key=lambda t: abs(counts @ t - conversation.last(query(*t)).value))
        answer = conversation.ask(query(*table))
        assert abs(answer.value - counts @ table) <= within
        sizes.append(len(conversation._candidates))
    halved = [after for before, after in itertools.pairwise(sizes) if after < before]
    assert len(halved) == conversation.measured <= mechanism.halvings
    assert conversation.measured > 0
    assert all(2 * after <= before for before, after in itertools.pairwise(sizes) if after < before)


@pytest.mark.parametrize("seed", range(3))
def test_real_weights_on_a_grid(seed):
    random = np.random.default_rng(seed)  # noqa: TID251 - test data
    mechanism = MedianMechanism(
        universe=FOUR, rows=50_000, epsilon=1, delta=1e-9, updates=10, threshold=6000, size=40, grid=0.001,
        neighbours=AddRemove("row"),
    )  # fmt: skip
    counts = random.multinomial(50_000, random.dirichlet([0.3] * 4))
    conversation = mechanism.open(data(*counts), rng=unsafe_seeded(seed))
    within = mechanism.error(1e-6)
    for _ in range(60):
        weights = random.random(4)
        answer = conversation.ask(query(*weights))
        assert abs(answer.value - weights @ counts) <= within
    assert not conversation.closed


def test_nearest_is_true_of_every_database():
    random = np.random.default_rng(1)  # noqa: TID251 - test data
    mechanism = MedianMechanism(**PUBLIC)
    family = mechanism.candidates()
    for _ in range(50):
        counts = random.multinomial(100, random.dirichlet([0.5] * 4))
        tables = [np.array(bits) for bits in itertools.product((0, 1), repeat=4)]
        worst = np.max([np.abs(family.answers(t) - counts @ t) for t in tables], axis=0)
        assert worst.min() <= mechanism.nearest


# The constants of the source --------------------------------------------------------------------


def constants(**changed):
    given = {"cells": 1024, "queries": 1000, "accuracy": Fraction(1, 10), "epsilon": Fraction(1)}
    return Constants.of(**{**given, "efficient": False, **changed})


def test_the_constants_of_the_source():
    wanted = constants()
    assert wanted.size == pytest.approx(2.545e8, rel=1e-3)
    assert float(wanted.step) == pytest.approx(7.87e-13, rel=1e-2)
    assert wanted.rows == pytest.approx(2.9e16, rel=2e-2)
    assert constants(cells=16, queries=100, accuracy=Fraction(1, 5)).rows == pytest.approx(3.1e14, rel=2e-2)
    double = constants(efficient=True)
    assert (double.size, double.hard) == (wanted.size, pytest.approx(2 * wanted.hard, abs=1))
    assert float(wanted.step / double.step) == pytest.approx(2)
    assert constants(accuracy=Fraction(999, 1000)).size > 10**6, "the size does not fall to 0"


def test_the_preset_refuses_too_few_rows_and_says_how_many_it_needs():
    needed = Constants.of(
        cells=4, queries=10, accuracy=Fraction(1, 2), epsilon=Fraction(1), efficient=False
    ).rows
    with pytest.raises(Refused, match=str(needed)):
        MedianMechanism.as_printed(universe=FOUR, rows=10**6, epsilon=1, accuracy=0.5, queries=10)
    with pytest.raises(Refused, match="floats"):
        MedianMechanism.as_printed(universe=FOUR, rows=10**14, epsilon=1, accuracy=0.5, queries=10)
    with pytest.raises(Refused, match="family"):
        MedianMechanism.as_printed(universe=FOUR, rows=2 * 10**12, epsilon=1, accuracy=0.5, queries=10)


COIN = Universe([("cell", (0, 1))])


def test_the_preset_runs_where_its_theorem_holds():
    mechanism = MedianMechanism.as_printed(universe=COIN, rows=4 * 10**9, epsilon=1, accuracy=0.95, queries=2)
    assert isinstance(mechanism, MedianThesis)
    assert mechanism.constants.rows <= mechanism.rows
    assert isinstance(mechanism.loss, PureLoss) and mechanism.loss.epsilon(0) <= 0.5
    with pytest.raises(NoBound, match="Theorem 19"):  # Lemma 3 says nothing for so few queries
        mechanism.error(0.05)
    conversation = mechanism.open(Histogram.dense(COIN, [3 * 10**9, 10**9]), rng=Scripted([True, False], [7]))
    answers = [conversation.ask(query(*w, universe=COIN)) for w in ([1, 0], [0, 1])]
    assert [answer.kind for answer in answers] == ["free", "measured"]
    assert answers[0].value == pytest.approx(2 * 10**9, rel=1e-3)
    with pytest.raises(ConversationClosed, match="all 2 questions"):
        conversation.ask(query(1, 1, universe=COIN))


def test_the_preset_with_many_questions_is_as_accurate_as_its_theorem_says():
    mechanism = MedianMechanism.as_printed(
        universe=COIN, rows=8 * 10**11, epsilon=2, accuracy=0.95, queries=1000
    )
    assert mechanism.error(0.05) == pytest.approx(0.95 * mechanism.rows)
    counts = [7 * 10**11, 10**11]
    conversation = mechanism.open(Histogram.dense(COIN, counts), rng=unsafe_seeded(1))
    answer = conversation.ask(query(1, 0, universe=COIN))
    assert abs(answer.value - counts[0]) <= answer.error


def test_the_preset_with_more_questions_than_bad_ones_has_a_failure_probability():
    many = MedianThesis(
        universe=COIN, rows=10**12, epsilon=100, accuracy=0.99, queries=10**10, efficient=True
    )
    assert many.queries > 9 * many.constants.hard
    assert many.loss == ApproxLoss(Fraction(100), Fraction(1, 10**300))


def test_the_closeness_moves_by_half_of_what_is_paid_for():
    """Lemma 7 allows 2 / (accuracy rows); 1 / (accuracy rows) and the rounding are all there is."""
    mechanism = MedianMechanism.as_printed(universe=COIN, rows=4 * 10**9, epsilon=1, accuracy=0.95, queries=2)
    met = []
    for counts in ([3 * 10**9, 10**9], [3 * 10**9 + 1, 10**9 - 1], [10**6, 4 * 10**9 - 10**6]):
        rng = Scripted([True])
        mechanism.open(Histogram.dense(COIN, counts), rng=rng).ask(query(1, 0, universe=COIN))
        met.append(rng.met[-1])
    (step, one), (_, other), (_, far) = met
    assert 0 < step.distance(one, other) <= step.sensitivity / 2 + 1
    assert step.distance(one, far) > step.sensitivity


def test_the_threshold_of_the_preset():
    law = dict(Steps(3).law(None))
    assert law == {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 8), 3: Fraction(1, 8)}
    rng = unsafe_seeded(1)
    draws = np.bincount([Steps(3).sample(None, rng) for _ in range(4000)], minlength=4)
    # Each count is binomial; 6 standard deviations are exceeded with probability below 1e-8.
    for number, p in law.items():
        assert abs(draws[number] - 4000 * p) <= 6 * math.sqrt(4000 * p * (1 - p))


def test_the_card_example_answers():
    mechanism, histogram = CARD.example()
    conversation = mechanism.open(histogram, rng=unsafe_seeded(1))
    answer = conversation.ask(TableQuery(mechanism.universe, (1,), "smokers", table=[0, 1]))
    assert abs(answer.value - 2400) <= answer.error


class Weightless(TableQuery):
    """Weights that are no numbers, in a query that says they are."""

    is_integral = True

    def table(self):
        return np.array([np.nan, 0, 0, 1])


@pytest.mark.parametrize("grid", [None, Fraction(1, 4)])
def test_weights_that_are_no_numbers_do_not_pass(grid):
    mechanism = MedianMechanism(
        universe=FOUR,
        rows=8,
        epsilon=1,
        delta=0,
        updates=2,
        threshold=2,
        size=3,
        grid=grid,
        neighbours=AddRemove("row"),
    )
    conversation = mechanism.open(Histogram.dense(FOUR, [2, 2, 2, 2]))
    for ask in (conversation.ask, conversation.last):
        with pytest.raises(InvalidParameter, match="finite"):
            ask(Weightless(FOUR, (0,), "weightless", table=[0, 0, 0, 1]))
    assert conversation.asked == 0


@pytest.mark.parametrize(("epsilon", "queries"), [(10_000, 2), (1000, 5), (4, 2)])
def test_thresholds_rise_whatever_the_budget(epsilon, queries):
    """ln(2 queries / epsilon) falls below zero for large budgets, and thresholds would fall with it."""
    known = {"cells": 2, "queries": queries, "accuracy": Fraction(9, 10), "efficient": False}
    constants = Constants.of(epsilon=Fraction(epsilon), **known)
    assert constants.rows > 0
    assert constants.gap(constants.rows) > 0
    assert constants.steps(constants.rows) >= 1
    law = dict(Steps(constants.steps(constants.rows)).law(None))
    assert sum(law.values()) == 1
    with pytest.raises(Refused, match="needs"):
        MedianMechanism.as_printed(universe=COIN, rows=1, epsilon=epsilon, accuracy=0.9, queries=queries)
