"""What statistical queries can do and what they cannot: simulation, dimension, parities."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import local
from discreet.core.errors import InvalidParameter, Refused
from discreet.local import client
from discreet.local.statistics import dimension
from discreet.local.statistics.parities import find_queries
from discreet.local.statistics.simulation import list_proposals
from discreet.mechanisms import PermuteAndFlip
from discreet.noise import coins
from discreet.queries import TableQuery, Universe
from discreet.testing import unsafe_seeded

F = Fraction
TWO = Universe([("value", (0, 1, 2))])
SHARES = np.array([0.5, 0.3, 0.2])


class Exact:
    """Answers exactly, or as far off as it may be, to either side in turn."""

    def __init__(self, universe, shares, *, off=0.0):
        self.universe, self.shares, self.off, self.asked = universe, shares, off, 0

    def answer(self, query, tolerance):
        self.asked += 1
        true = float((query.vector().reshape(-1) * self.shares).sum())
        return min(max(true + (-1) ** self.asked * self.off * float(tolerance), 0.0), 1.0)


SURVEYS = [
    local.DirectResponse(epsilon=1, domain=3),
    local.SubsetSelection(epsilon=2, domain=3),
    local.HadamardResponse(epsilon=1, domain=3),
    local.StatisticalQuery(epsilon=1, query=TableQuery(TWO, (0,), "f", table=[0, 0.25, 1])),
]


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda each: each.kind)
def test_proposals_that_are_kept_have_the_law_of_reports_exactly(survey):
    """Proposed with M / Z and kept with p / M: kept reports have the law p, one in Z proposals."""
    device = client.open_survey(survey.survey)
    drawn = list_proposals(device, list(TWO.records()))
    assert drawn.total <= survey.kernel.ratio
    for place in range(3):
        law = dict(survey.kernel.law(place))
        kept = {
            code: weight / drawn.total * drawn.keeping[code][place]
            for code, weight in enumerate(drawn.weights)
        }
        assert {code: p * drawn.total for code, p in kept.items() if p} == law
        assert sum(kept.values()) == 1 / drawn.total


@pytest.mark.parametrize(
    "survey",
    [
        local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1))]), width=1),
        local.ManyMeans(epsilon=1, lower=0, upper=1, steps=2, dimensions=1),
        local.StatisticalQuery(
            epsilon=1, query=TableQuery(Universe([("a", (0, 1))]), (0,), "a", table=[0, 1])
        ),
        local.DirectResponse(epsilon=1, domain=2),
    ],
    ids=lambda survey: survey.kind,
)
def test_a_record_of_one_attribute_is_read_as_the_survey_reads_it(survey):
    drawn = list_proposals(client.open_survey(survey.survey), [(0,), (1,)])
    assert any(chances[0] != chances[1] for chances in drawn.keeping)


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda each: each.kind)
def test_simulated_reports_are_those_of_a_sample(survey):
    """Chi-square against the mean table, at 1e-6; as many queries as there are reports, at most."""
    exact, draws = Exact(TWO, SHARES), 1500
    crowd = local.SimulatedCrowd(exact, tolerance=0.001, rng=unsafe_seeded(4))
    seen = Counter(crowd.ask(survey, person=person).code for person in range(draws))
    law = np.zeros(survey.kernel.size)
    for share, place in zip(SHARES, range(3), strict=True):
        for code, p in survey.kernel.law(place):
            law[code] += share * float(p)
    counts = np.array([seen[code] for code in range(law.size)])
    counts, means = counts[law > 0], draws * law[law > 0]
    assert counts.sum() == draws
    assert stats.chi2.sf(((counts - means) ** 2 / means).sum(), means.size - 1) > 1e-6
    assert exact.asked == crowd.queries <= survey.kernel.size
    drawn = list_proposals(client.open_survey(survey.survey), list(TWO.records()))
    assert crowd.distance == pytest.approx(draws * 0.001 * float(drawn.total), rel=1e-6)


@pytest.mark.parametrize("off", [-1.0, 0.5, 1.0])
def test_the_law_is_off_by_no_more_than_is_said(off):
    """All answers wrong by the tolerance: the law of a report, exactly, from what is asked."""
    survey, tolerance = local.SubsetSelection(epsilon=1, domain=3), 0.05
    drawn = list_proposals(client.open_survey(survey.survey), list(TWO.records()))
    exact = Exact(TWO, SHARES, off=off)
    kept = []
    for code, weight in enumerate(drawn.weights):
        table = np.array([float(each) for each in drawn.keeping[code]])
        kept.append(float(weight) * exact.answer(TableQuery(TWO, (0,), "f", table=table), tolerance))
    law, true = np.array(kept) / sum(kept), np.zeros(len(kept))
    for share, place in zip(SHARES, range(3), strict=True):
        for code, p in survey.kernel.law(place):
            true[code] += share * float(p)
    far = np.abs(law - true).sum() / 2
    assert 0 < far <= tolerance * float(drawn.total)


def test_who_is_asked_again_answers_for_the_same_record():
    """With no noise to speak of, both answers tell one record."""
    survey = local.DirectResponse(epsilon=30, domain=3)
    crowd = local.SimulatedCrowd(Exact(TWO, SHARES), tolerance=1e-6, rng=unsafe_seeded(4))
    pairs = [(crowd.ask(survey, person=p).code, crowd.ask(survey, person=p).code) for p in range(300)]
    assert all(first == second for first, second in pairs)
    assert {first for first, _ in pairs} == {0, 1, 2}


def test_two_reports_of_one_person_have_the_joint_law():
    survey = local.DirectResponse(epsilon=1, domain=3)
    crowd = local.SimulatedCrowd(Exact(TWO, SHARES), tolerance=1e-6, rng=unsafe_seeded(5))
    draws = 1500
    seen = Counter(tuple(crowd.ask(survey, person=p).code for _ in range(2)) for p in range(draws))
    tables = [dict(survey.kernel.law(place)) for place in range(3)]
    square = 0.0
    for pair in itertools.product(range(3), repeat=2):
        mean = draws * sum(s * float(t[pair[0]] * t[pair[1]]) for s, t in zip(SHARES, tables, strict=True))
        square += (seen[pair] - mean) ** 2 / mean
    assert stats.chi2.sf(square, 8) > 1e-6


def test_a_local_algorithm_runs_on_statistical_answers_of_local_reports():
    """There and back: an estimate from simulated reports, whose every bit came through LocalStatistics."""
    codes = np.repeat(np.arange(3), [10_000, 6_000, 4_000])[:, None]
    oracle = local.LocalStatistics(epsilon=4, universe=TWO, people=20_000, queries=3, risk=0.01)
    survey = local.DirectResponse(epsilon=1, domain=3)
    with oracle.open(codes, rng=unsafe_seeded(6)) as statistics:
        crowd = local.SimulatedCrowd(statistics, tolerance=0.03, rng=unsafe_seeded(7))
        found = survey.estimate(crowd.ask(survey, person=person) for person in range(2000))
    assert crowd.queries == 3 and np.abs(found.shares - SHARES).max() < 0.3


def test_what_is_too_large_to_list_is_refused():
    wide = Universe([("value", tuple(range(5000)))])
    with pytest.raises(InvalidParameter, match="4096 cells"):
        local.SimulatedCrowd(Exact(wide, np.ones(5000)), tolerance=0.1)
    crowd = local.SimulatedCrowd(Exact(TWO, SHARES), tolerance=0.1)
    with pytest.raises(InvalidParameter, match="4096 reports"):
        crowd.ask(local.OptimisedUnary(epsilon=1, domain=13), person=0)
    for tolerance in (0, 1, -1):
        with pytest.raises(InvalidParameter, match="tolerance"):
            local.SimulatedCrowd(Exact(TWO, SHARES), tolerance=tolerance)


def brute_dimension(rows, masses):
    """Definition 26, by all subsets."""
    best = 1
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(range(len(rows)), size) for size in range(2, len(rows) + 1)
    ):
        limit = F(1, len(chosen) ** 3)
        leans = (
            abs(sum((m if a == b else -m) for a, b, m in zip(rows[i], rows[j], masses, strict=True)))
            for i, j in itertools.combinations(chosen, 2)
        )
        if all(lean <= limit for lean in leans):
            best = max(best, len(chosen))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_dimension_is_that_of_the_definition(seed):
    rng = unsafe_seeded(seed)
    rows = coins.uniform_below(2, 7 * 6, rng).reshape(7, 6).tolist()
    parts = [int(each) + 1 for each in coins.uniform_below(5, 6, rng)]
    masses = [F(part, sum(parts)) for part in parts]
    assert local.statistical_dimension(rows, masses) == brute_dimension(rows, masses)
    assert local.statistical_dimension(rows) == brute_dimension(rows, [F(1, 6)] * 6)


def test_parities_are_all_alike_and_conjunctions_are_not():
    """[Roth10] Observation 35, and the class that is learned from statistical queries beside it."""
    points = np.arange(16)
    parities = [np.bitwise_count(points & s) % 2 for s in range(16)]
    assert local.statistical_dimension(parities) == 16
    assert local.statistical_dimension(parities[3:12]) == 9
    wide = [(points[:8] & s) == s for s in range(8)]
    listed = np.array(wide, dtype=int).tolist()
    assert local.statistical_dimension(wide) == brute_dimension(listed, [F(1, 8)] * 8) == 4
    twins = [points & 1, points & 1, 1 - (points & 1)]
    assert local.statistical_dimension(twins) == 1
    assert local.least_queries(16) == 2 and local.least_queries(1000) == 5 and local.least_queries(1001) == 6


def test_classes_that_are_none_are_refused():
    for wrong in ([], [[0, 2]], [0, 1], [[0.5, 1]], np.zeros((513, 2))):
        with pytest.raises(InvalidParameter, match="rows of 0 and 1"):
            local.statistical_dimension(wrong)
    for law in ([0.5, 0.4], [1], [-1, 2]):
        with pytest.raises(InvalidParameter, match="law"):
            local.statistical_dimension([[0, 1]], law)
    with pytest.raises(InvalidParameter, match="dimension"):
        local.least_queries(15)


def ask_at_random(statistics, count, tolerance, rng):
    """Ask queries of random weights, and check that every parity that is left fits all answers."""
    asked = []
    for _ in range(count):
        axes = tuple(sorted(set(coins.uniform_below(statistics.bits, 2, rng).tolist()) | {statistics.bits}))
        table = coins.uniform_below(2, 2 ** len(axes), rng).reshape((2,) * len(axes))
        query = TableQuery(statistics.universe, axes, "any", table=table)
        asked.append((query, statistics.answer(query, tolerance)))
    return asked


@pytest.mark.parametrize("tolerance", [F(1, 20), F(1, 5), F(1, 3)], ids=float)
def test_a_stubborn_oracle_keeps_its_tolerance_for_all_that_are_left(tolerance):
    statistics = local.StubbornStatistics(4)
    asked = ask_at_random(statistics, 12, tolerance, unsafe_seeded(3))
    points = np.arange(16)
    for places in itertools.chain.from_iterable(itertools.combinations(range(4), k) for k in range(5)):
        label = sum((points >> 3 - place) & 1 for place in places) % 2 if places else 0 * points
        right = []
        for query, told in asked:
            vector = query.vector().reshape(16, 2)
            right.append(abs(vector[points, label].mean() - told) <= float(tolerance) + 1e-12)
        assert all(right) == statistics.fits(places)
    assert statistics.left >= 1


def test_few_queries_leave_most_parities():
    statistics = local.StubbornStatistics(10)
    ask_at_random(statistics, 20, F(1, 10), unsafe_seeded(8))
    assert statistics.left >= 1024 - 20 * 25
    assert find_queries(10, F(1, 10)) == 41
    sharp = local.StubbornStatistics(3)
    for places in itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4)):
        table = np.indices((2,) * (len(places) + 1)).sum(axis=0) % 2
        sharp.answer(TableQuery(sharp.universe, (*places, 3), "odd", table=table), F(1, 10))
    assert sharp.left == 1, "whoever asks about every parity finds it"


def test_parities_are_learned_from_examples_that_a_curator_holds():
    """The exponential mechanism's kin over all parities: 200 examples, epsilon 1, 10 bits."""
    bits, hidden = 10, 0b1011001
    points = coins.uniform_below(1 << bits, 300, unsafe_seeded(1))
    labels = np.bitwise_count(points & hidden) & 1
    scores = [-int((np.bitwise_count(points & s) & 1 != labels).sum()) for s in range(1 << bits)]
    chosen = PermuteAndFlip(epsilon=1, sensitivity=1, candidates=range(1 << bits))
    assert chosen.release(scores, rng=unsafe_seeded(2)).value == hidden
    assert find_queries(bits, F(1, 100)) == 1, "queries that are finer than 1 / sqrt(parities) find it too"


def test_whoever_releases_parities_has_learned_to_twice_the_error_and_no_better():
    """[Roth10] Corollary 37's reduction: 2 alpha above the best, and a case where it is just that."""
    truths, alpha = [F(0), F(1, 2), F(1, 5)], F(1, 10)
    released = [truths[0] + alpha, truths[1], truths[2] - alpha]
    sets = [["a"], ["b"], ["a", "b"]]
    assert released[0] == released[2], "the best one looks no better than one that errs by 2 alpha"
    assert local.choose_parity(sets[::-1], [float(each) for each in released[::-1]]) == {"a", "b"}
    worst = max(
        truths[found]
        for signs in itertools.product((-1, 1), repeat=3)
        for found in [min(range(3), key=lambda k, signs=signs: (truths[k] + signs[k] * alpha, -k))]
    )
    assert worst == 2 * alpha
    for wrong in ([0.1], [0.1, 0.2, float("nan")]):
        with pytest.raises(InvalidParameter, match="disagreements"):
            local.choose_parity(sets, wrong)


def test_a_search_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(dimension, "_MOST_STEPS", 20)
    points = np.arange(16)
    with pytest.raises(Refused, match="steps"):
        local.statistical_dimension([np.bitwise_count(points & s) % 2 for s in range(16)])
