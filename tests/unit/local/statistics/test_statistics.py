"""Statistical queries: tables, tolerances, people who answer once, and budgets that stop in time."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.local import client
from discreet.local.collecting import open_collector
from discreet.local.frames import read_rows
from discreet.local.laws.answers import AnswerKernel
from discreet.local.laws.records import RecordWeights
from discreet.local.statistics.oracle import weigh_records
from discreet.noise import coins
from discreet.queries import Parities, TableQuery, Universe
from discreet.testing import unsafe_seeded

F = Fraction
PEOPLE = Universe([("smokes", (0, 1)), ("city", ("north", "south", None)), ("ill", (False, True))])
BOTH = TableQuery(PEOPLE, (0, 2), "smokes and ill", table=[[0, 0], [0, 1]])
FAR = TableQuery(PEOPLE, (1,), "how far", table=[0, 0.25, 1])


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3)], ids=float)
@pytest.mark.parametrize("weights", [(0, 1, 4), (4, 0), (2, 2), (1, 3)])
def test_the_whole_table_keeps_the_claim_and_has_no_bias(weights, epsilon):
    kernel = AnswerKernel.make(len(weights), epsilon, weights, 4)
    tables = [dict(kernel.law(place)) for place in range(len(weights))]
    assert all(sum(table.values()) == 1 and set(table) == {0, 1} for table in tables)
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio and at_most_exp(worst, epsilon)
    if {0, 4} <= set(weights):
        assert worst == kernel.sign.odds, "tight where some weight is 0 and another 1"
    for weight, table in zip(weights, tables, strict=True):
        assert F(1, 2) + (table[1] - F(1, 2)) / kernel.contrast == F(weight, 4)


@pytest.mark.parametrize("query", [BOTH, FAR])
def test_a_device_draws_from_the_same_table(query):
    survey = local.StatisticalQuery(epsilon=2, query=query)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and device.header == survey.header
    for record in PEOPLE.records():
        place = survey.values.read(record)
        weight = F(survey.values.weights[place], survey.values.steps)
        assert weight == F(float(query.at(np.array([PEOPLE.unravel([PEOPLE.cell(record)])[0]]))[0]))
        law = walk(lambda below, record=record: device.encode(record, below=below).code)
        assert law == dict(survey.kernel.law(place))


def test_columns_are_drawn_from_the_same_table():
    """Chi-square against the table, at 1e-6 a case."""
    survey, draws = local.StatisticalQuery(epsilon=1, query=FAR), 20_000
    for city, place in (("north", 0), ("south", 1), (None, 2)):
        batch = survey.encode_many([(0, city, True)] * draws, rng=unsafe_seeded(3))
        seen, chance = int(batch.payload.sum()), float(dict(survey.kernel.law(place))[1])
        assert stats.binomtest(seen, draws, chance).pvalue > 1e-6


def test_records_are_read_by_order_by_name_or_as_codes():
    values = local.StatisticalQuery(epsilon=1, query=BOTH).values
    assert values.read((1, "south", True)) == values.read([1, "south", True]) == 3
    assert values.read({"ill": True, "smokes": 1}) == 3 and values.read({"smokes": np.int64(1)}) == 2
    assert values.read({"smokes": 1.0}) == 2  # a column of whole numbers of which one is missing
    odd = [None, 3, "x", [], (1,), ("a", "b", []), [[1], {}, {1}], {"smokes": 1.5}, object()]
    assert [values.read(each) for each in odd] == [0, 0, 0, 0, 2, 0, 0, 0, 0]
    survey = local.StatisticalQuery(epsilon=200, query=BOTH)
    codes = np.array([[1, 0, 1], [1, 9, 1], [1, 0, 7], [-1, 0, 1], [0, 2, 1]])
    assert survey.encode_many(codes).payload[:, 0].tolist() == [1, 1, 0, 0, 0]
    assert [survey.encode(tuple(row)).code for row in ([1, None, True], [0, None, True])] == [1, 0]
    for wrong in (codes.astype(float), codes[:, :2], codes[None], "abc"):
        with pytest.raises(InvalidParameter, match="data"):
            survey.encode_many(wrong)


def test_queries_beyond_0_and_1_are_refused():
    for table in ([0, 1.5], [-0.25, 1], [0, 2]):
        with pytest.raises(InvalidParameter, match="weights from 0 to 1"):
            local.StatisticalQuery(epsilon=1, query=TableQuery(PEOPLE, (0,), "odd", table=table))
    two = Universe([("a", (0, 1))])
    with pytest.raises(InvalidParameter, match="how often it is odd"):
        local.StatisticalQuery(epsilon=1, query=Parities(two, [["a"]]).query(0))
    for wrong in (None, "x", lambda record: 1, FAR.table()):
        with pytest.raises(InvalidParameter, match="query"):
            local.StatisticalQuery(epsilon=1, query=wrong)
    odd = Universe([("a", (0.5, 1.5))])
    with pytest.raises(InvalidParameter, match="texts, whole numbers"):
        local.StatisticalQuery(epsilon=1, query=TableQuery(odd, (0,), "a", table=[0, 1]))
    wide = Universe([(f"a{k}", (0, 1)) for k in range(21)])
    with pytest.raises(Refused, match="fewer attributes"):
        weigh_records(TableQuery(wide, tuple(range(21)), "all", table=np.zeros(1 << 21, dtype=bool)))


def test_an_error_and_the_people_it_takes_are_each_others_inverse():
    for query, tolerance in ((BOTH, F(1, 50)), (FAR, F(1, 50)), (BOTH, F(1, 3))):
        survey = local.StatisticalQuery(epsilon=1, query=query)
        people = survey.people_for(tolerance, 0.05)
        assert local.StatisticalQuery(epsilon=1, query=query, people=people).error(0.05) <= tolerance
        fewer = local.StatisticalQuery(epsilon=1, query=query, people=people - 2)
        assert fewer.error(0.05) > tolerance
    with pytest.raises(InvalidParameter, match="rounded by"):
        local.StatisticalQuery(epsilon=1, query=FAR).people_for(F(1, 1 << 17), 0.05)


def test_the_error_holds_and_is_not_much_too_large():
    """Exact binomial tails of the bits, whatever the share: at most beta, and at least an eighth of it."""
    people, beta = 400, 0.1
    survey = local.StatisticalQuery(epsilon=1, query=BOTH, people=people)
    off = survey.error(beta) * float(survey.answers.contrast) * people
    misses = []
    for share in np.linspace(0, 1, 11):
        chance = 0.5 + (share - 0.5) * float(survey.answers.contrast)
        mean = people * chance
        law = stats.binom(people, chance)
        misses.append(law.cdf(np.ceil(mean - off) - 1) + law.sf(np.floor(mean + off)))
    assert beta / 8 < max(misses) <= beta


def test_answers_keep_their_tolerance_and_nobody_is_asked_twice():
    rng = unsafe_seeded(5)
    codes = np.stack([coins.uniform_below(size, 60_000, rng) for size in PEOPLE.shape], axis=1)
    codes[:, 2] &= codes[:, 0]
    truths = [float(query.at(codes).mean()) for query in (BOTH, FAR)]
    oracle = local.LocalStatistics(epsilon=2, universe=PEOPLE, people=60_000, queries=3, risk=1e-6)
    with oracle.open(codes, rng=unsafe_seeded(2)) as statistics:
        for query, truth in zip((BOTH, FAR), truths, strict=True):
            assert abs(statistics.answer(query, 0.03) - truth) <= 0.03
        asked = oracle.people_for(BOTH, 0.03) + oracle.people_for(FAR, 0.03)
        assert statistics.left == 60_000 - asked
        with pytest.raises(BudgetExceeded, match="who have not answered"):
            statistics.answer(BOTH, 0.01)
        assert statistics.left == 60_000 - asked, "a refusal asks nobody"
        statistics.answer(BOTH, 0.05)
        with pytest.raises(BudgetExceeded, match="none of 3"):
            statistics.answer(BOTH, 0.5)


def test_who_answers_is_a_random_part_of_all_people():
    """Sorted records: the first half smokes. 40 answers by a fifth of all are 1/2 in the mean."""
    codes = np.zeros((500, 3), dtype=np.int64)
    codes[:250, 0] = 1
    smokes = TableQuery(PEOPLE, (0,), "smokes", table=[0, 1])
    oracle = local.LocalStatistics(epsilon=50, universe=PEOPLE, people=500, queries=1, risk=0.5)
    assert oracle.people_for(smokes, 0.1) < 100
    answers = [oracle.open(codes, rng=unsafe_seeded(seed)).answer(smokes, 0.1) for seed in range(40)]
    assert len(set(answers)) > 5 and abs(np.mean(answers) - 0.5) < 0.04


def test_a_curator_pays_what_the_tolerance_takes():
    codes = np.zeros((1000, 3), dtype=np.int64)
    codes[:300, [0, 2]] = 1
    oracle = local.CentralStatistics(epsilon=1, universe=PEOPLE, people=1000, queries=9, risk=1e-6)
    with oracle.open(codes, rng=unsafe_seeded(2)) as statistics:
        assert abs(statistics.answer(BOTH, 0.05) - 0.3) <= 0.05
        price = oracle.price(BOTH, 0.05)
        assert statistics.left == 1 - price and 0 < price < F(1, 2)
        assert abs(statistics.answer(FAR, 0.06)) <= 0.06
        with pytest.raises(BudgetExceeded, match="answers"):
            statistics.answer(BOTH, 0.005)
        with pytest.raises(InvalidParameter, match="one person"):
            statistics.answer(BOTH, 0.0005)
    few = local.StatisticalQuery(epsilon=1, query=BOTH).people_for(0.05, oracle.risk_each)
    assert few > 10 * 1000 * price, "people who trust nobody have to be many more"


def test_a_price_is_the_least_for_its_tolerance():
    oracle = local.CentralStatistics(epsilon=1, universe=PEOPLE, people=100, queries=1, risk=0.05)
    epsilon = float(oracle.price(BOTH, 0.1))
    ratio = np.exp(-epsilon)
    assert 2 * ratio**11 / (1 + ratio) <= 0.05 < 2 * ratio ** (11 * 0.999) / (1 + ratio)


@pytest.mark.parametrize("kind", [local.LocalStatistics, local.CentralStatistics])
def test_both_oracles_refuse_alike(kind):
    oracle = kind(epsilon=3, universe=PEOPLE, people=2, queries=2, risk=0.5)
    with pytest.raises(NoBound, match="tolerance"):
        oracle.error(0.05)
    for wrong in (
        [(0, "north", True)],
        "ab",
        {0: 1, 1: 2},
        None,
        np.zeros((2, 2), dtype=int),
        np.zeros((2, 3)),
    ):
        with pytest.raises(InvalidParameter, match="data"):
            oracle.open(wrong)
    with oracle.open([(1, "south", True), [None, {}]]) as statistics:
        assert statistics.universe == PEOPLE
        for tolerance in (0, 1, -0.1, None, "x", float("nan")):
            with pytest.raises(InvalidParameter, match="tolerance"):
                statistics.answer(BOTH, tolerance)
        with pytest.raises(InvalidParameter, match="tolerance"):
            statistics.ask(BOTH)
        other = Universe([("a", (0, 1))])
        with pytest.raises(InvalidParameter, match="another"):
            statistics.answer(TableQuery(other, (0,), "a", table=[0, 1]), 0.9)
        assert "south" not in repr(statistics) and statistics.asked == 0


@pytest.mark.parametrize(
    "change",
    [
        {"axes": [2, 0]},
        {"axes": [0, 3]},
        {"axes": [0.0, 2]},
        {"weights": [0, 0, 0]},
        {"weights": [0, 0, 0, 2]},
        {"weights": [0, 0, 0, True]},
        {"steps": 0},
        {"steps": 1 << 20},
        {"attributes": []},
        {"attributes": [["a", []]]},
        {"attributes": [["a", [0, 0]], ["b", [1]], ["c", [0, 1]]]},
        {"attributes": [["a", [0, [1]]], ["b", [1]], ["c", [0, 1]]]},
        {"more": 1},
    ],
)
def test_a_survey_that_was_tampered_with_is_refused(change):
    survey = json.loads(local.StatisticalQuery(epsilon=1, query=BOTH).survey)
    with pytest.raises(Refused):
        client.open_survey(json.dumps({**survey, "domain": {**survey["domain"], **change}}))


def test_a_collector_reads_the_query_from_the_survey():
    survey = local.StatisticalQuery(epsilon=1, query=FAR)
    assert open_collector(survey.survey) == survey
    lines = [survey.encode((0, "south", True)).to_json() for _ in range(5)]
    assert open_collector(survey.survey).estimate(lines).survey.people == 5
    other = local.StatisticalQuery(epsilon=1, query=BOTH)
    with pytest.raises(Refused, match="domain"):
        other.estimate(lines)


def test_the_oracle_of_the_local_model_asks_queries_too():
    survey = local.StatisticalQuery(epsilon=100, query=BOTH)
    with local.LocalOracle(epsilon=100, people=2).open([(1, "north", True), (1, "north", False)]) as people:
        assert [people.ask(survey, person=p).code for p in (0, 1)] == [1, 0]
        assert people.left(0) == 0
        with pytest.raises(BudgetExceeded):
            people.ask(survey, person=0)


def test_estimates_have_no_bias_and_stray_as_said():
    survey = local.StatisticalQuery(epsilon=1, query=BOTH)
    records = [(1, None, True)] * 300 + [(0, None, True)] * 700
    found = [survey.estimate(survey.encode_many(records, rng=unsafe_seeded(k))) for k in range(60)]
    values = np.array([each.value for each in found])
    deviation = found[0].standard_error
    assert abs(values.mean() - 0.3) < 4 * deviation / 60**0.5
    assert 0.7 * deviation < values.std() < 1.25 * deviation
    assert Counter(each.survey.people for each in found) == {1000: 60}
    assert "1000 reports" in repr(found[0])


@pytest.mark.parametrize("kind", [local.LocalStatistics, local.CentralStatistics])
def test_each_answer_has_its_share_of_the_risk(kind):
    named = {"epsilon": 3, "universe": PEOPLE, "people": 1000}
    four, one = kind(queries=4, risk=0.4, **named), kind(queries=1, risk=0.1, **named)
    ask = "people_for" if kind is local.LocalStatistics else "price"
    assert getattr(four, ask)(BOTH, 0.1) == getattr(one, ask)(BOTH, 0.1)
    assert getattr(four, ask)(BOTH, 0.1) > getattr(kind(queries=1, risk=0.4, **named), ask)(BOTH, 0.1)


class Loud(list):
    """A list whose every way of being read raises."""

    def __iter__(self):
        raise RuntimeError("the data decide")

    __getitem__ = __len__ = __iter__


class LoudRecord(dict):
    """A record whose lookup raises."""

    def get(self, *_):
        raise RuntimeError("the data decide")


class Liar:
    """Something that raises where it is asked for its class."""

    @property
    def __class__(self):
        raise RuntimeError("the data decide")


def test_what_lies_about_its_class_is_no_record():
    values = local.StatisticalQuery(epsilon=1, query=BOTH).values
    assert values.read(Liar()) == values.read([]) and values.read([Liar(), "south", True]) == 1
    assert local.ManyMeans(epsilon=1, lower=0, upper=4, steps=4, dimensions=2).values.read_each(Liar()) == [
        2,
        2,
    ]
    for kind in (local.LocalStatistics, local.CentralStatistics):
        kind(epsilon=3, universe=PEOPLE, people=1, queries=1, risk=0.5).open([Liar()]).close()
    with local.LocalOracle(epsilon=2, people=1).open([Liar()]) as people:
        people.ask(local.StatisticalQuery(epsilon=1, query=BOTH), person=0)
        people.ask(local.DirectResponse(epsilon=1, domain=3), person=0)


def test_records_may_be_arrays():
    rows = [(1, "south", True), (0, "north", False), (1, "north", True)]
    attributes = (("smokes", (0, 1)), ("where", ("north", "south")), ("ill", (False, True)))
    for kind in (list, lambda row: np.array(row, dtype=object)):
        assert read_rows(attributes, [kind(row) for row in rows]).tolist() == [
            [1, 1, 1],
            [0, 0, 0],
            [1, 0, 1],
        ]


def test_records_of_strange_classes_are_read_as_plain_ones():
    values = local.StatisticalQuery(epsilon=1, query=BOTH).values
    assert values.read(Loud([1, "south", True])) == values.read(LoudRecord(smokes=1, ill=True)) == 3
    vectors = local.ManyMeans(epsilon=1, lower=0, upper=4, steps=4, dimensions=2).values
    assert vectors.read_each(Loud([1, 3])) == [1, 3]


@pytest.mark.parametrize("several", [np.array([1, 2]), np.array([]), np.ones((1, 1, 2))])
def test_an_array_inside_a_record_is_no_value_and_refuses_nothing(several):
    """The budget of a local oracle is spent before the record is read."""
    survey = local.StatisticalQuery(epsilon=1, query=BOTH)
    bits = local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1)), ("b", (0, 1))]), width=1)
    vectors = local.ManyMeans(epsilon=1, lower=0, upper=4, steps=4, dimensions=2)
    assert survey.values.read([several, None, True]) == 1 and survey.values.read({"ill": several}) == 0
    assert bits.values.read([several, 1]) == 2
    assert vectors.values.read_each([several, np.array(3)]) == [2, 3]
    assert len(vectors.encode_many([[several, 1], (1, 2)])) == 2
    with local.LocalOracle(epsilon=3, people=1).open([[several, 1]]) as people:
        for asked in (survey, bits, vectors):
            people.ask(asked, person=0)
    for kind in (local.LocalStatistics, local.CentralStatistics):
        kind(epsilon=3, universe=PEOPLE, people=1, queries=1, risk=0.5).open([[several]]).close()


def test_values_that_cannot_be_told_apart_are_refused_before_any_record_is_read():
    """0.0 and 0 are one key: what was looked up for the one was found for the other."""
    odd = Universe([("a", (0.0, 1.0))])
    for kind in (local.LocalStatistics, local.CentralStatistics):
        with pytest.raises(InvalidParameter, match="texts, whole numbers"):
            kind(epsilon=3, universe=odd, people=1, queries=1, risk=0.5)
    with pytest.raises(InvalidParameter, match="texts, whole numbers"):
        local.FourierMarginals(epsilon=1, universe=odd, width=1)


def test_nobody_sets_how_many_people_are_left():
    oracle = local.LocalStatistics(epsilon=3, universe=PEOPLE, people=2, queries=2, risk=0.5)
    with oracle.open([(0, None, True)] * 2) as statistics, pytest.raises(AttributeError):
        statistics.left = 2


def test_a_list_of_weights_that_somebody_made_is_checked_like_any_other():
    """Weights above 1 would move a curator's sum further than its noise is made for."""
    large = RecordWeights((("smokes", (0, 1)),), (0,), (0, 1000), 1)
    with pytest.raises(Refused, match="weights"):
        local.StatisticalQuery(epsilon=1, query=large)
    for kind in (local.CentralStatistics, local.LocalStatistics):
        oracle = kind(epsilon=3, universe=Universe(large.attributes), people=2, queries=1, risk=0.5)
        with oracle.open([(0,), (1,)]) as statistics, pytest.raises(InvalidParameter, match="query"):
            statistics.answer(large, 0.9)


class Sly(TableQuery):
    """Weights that are right when they are looked at first."""

    def table(self):
        return super().table() * 1000


def test_a_query_of_a_strangers_class_has_its_weights_read_once():
    oracle = local.CentralStatistics(epsilon=3, universe=PEOPLE, people=2, queries=1, risk=0.5)
    with oracle.open([(0, None, True)] * 2) as statistics, pytest.raises(InvalidParameter, match="0 to 1"):
        statistics.answer(Sly(PEOPLE, (0,), "sly", table=[0, 1]), 0.9)
