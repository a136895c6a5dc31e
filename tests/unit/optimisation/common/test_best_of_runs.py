"""The best of many runs: what a score may do to the data, and what its error is about."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove
from discreet.core.rng import Rng
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.optimisation.common.best_of_runs import BestOfRuns, Run
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.tiny import line
from discreet.testing import unsafe_seeded

PERSON = AddRemove("person")
METRIC = line(0, 10, 20)
BASE = KMedian(metric=METRIC, k=1, epsilon=1, delta=0, steps=1, neighbours=PERSON)


def best(score, **changed):
    public = {"base": BASE, "sensitivity": 20, "epsilon": 1, "stop": Fraction(1, 4)} | changed
    return BestOfRuns(score=score, **public)


class Scores(Rng):
    """Plays the first candidate and no noise, and notes what the scores were."""

    def __init__(self):
        self.seen = []

    def random_bytes(self, count):
        raise AssertionError("bits outside a primitive")

    def perform(self, primitive, value):
        kind = type(primitive).__name__
        if kind == "RunCount":
            return 2
        if kind == "AddNoise":
            self.seen.append(value)
            return value
        return 0


def raise_on(data, value):
    if 2 in data:
        raise RuntimeError(f"there is one at {data}")
    return 7


@pytest.mark.parametrize(
    "odd",
    [raise_on, lambda data, value: "text", lambda data, value: math.nan, lambda data, value: None],
    ids=["raises", "text", "nan", "none"],
)
def test_a_score_that_fails_counts_as_zero_and_tells_nothing(odd):
    rng = Scores()
    assert isinstance(best(odd).release([2], rng=rng).value, Run)
    assert rng.seen == [0, 0]


@pytest.mark.parametrize(
    "given", [3, 3.4, np.float64(2.6), Fraction(10, 3), np.int8(3), np.array([3])], ids=repr
)
def test_every_kind_of_number_is_the_nearest_whole_one(given):
    rng = Scores()
    best(lambda data, value: given).release([0], rng=rng)
    assert rng.seen == [3, 3]
    finer = Scores()
    best(lambda data, value: 0.26, grid=0.5).release([0], rng=finer)
    assert finer.seen == [1, 1]


def test_a_whole_sensitivity_holds_after_rounding():
    """Real scores that move by at most two move by at most two whole numbers; a fraction needs a grid."""
    places = [Fraction(k, 7) for k in range(-20, 21)]
    for a, b in itertools.product(places, repeat=2):
        if abs(a - b) <= 2:
            moved = []
            for each in (a, b):
                rng = Scores()
                best(lambda data, value, each=each: each, sensitivity=2).release([0], rng=rng)
                moved.append(rng.seen[0])
            assert abs(moved[0] - moved[1]) <= 2
    with pytest.raises(InvalidParameter, match="sensitivity must be whole where no grid is declared"):
        best(lambda data, value: 0, sensitivity=2.5)
    assert best(lambda data, value: 0, sensitivity=2.5, grid=0.5).loss.epsilon(0) > 0


def law_of_the_best(mechanism, sites, people):
    """Return the law of (sites, score) of the best run, from the law of one and the closed form."""
    base, meter = mechanism.base, mechanism.meter
    costs = [METRIC.cost(people, (site,)) for site in range(sites)]
    odds = [math.exp(-float(base.rate) * cost) for cost in costs]
    noise, reach = math.exp(-1 / float(meter.scale)), 400
    one = {
        (-int(cost) + z, site): odd / sum(odds) * (1 - noise) / (1 + noise) * noise ** abs(z)
        for site, (cost, odd) in enumerate(zip(costs, odds, strict=True))
        for z in range(-reach, reach + 1)
    }
    stop, better, best = float(mechanism.stop), 0.0, {}
    for outcome in sorted(one, reverse=True):  # ties go by what is printed, which is the site here
        q = one[outcome]
        top, bottom = stop + (1 - stop) * better, stop + (1 - stop) * (better + q)
        best[outcome] = stop * q / (top * bottom)
        better += q
    return best


def test_the_shipped_runs_have_the_law_that_the_claim_was_proved_for():
    """Exact on tiny data; the sampler by a chi-square test with a false-alarm rate of 1e-6."""
    base = KMedianExhaustive(metric=METRIC, k=1, epsilon=1, neighbours=PERSON)
    mechanism = best(
        lambda data, value: -int(METRIC.cost(data, value.sites)), base=base, epsilon=2, stop=Fraction(1, 8)
    )
    laws = {people: law_of_the_best(mechanism, 3, people) for people in [(), (0,), (0, 0), (0, 2), (0, 0, 2)]}
    assert all(sum(law.values()) == pytest.approx(1, abs=1e-9) for law in laws.values())
    worst = 0.0
    for one, other in itertools.permutations(laws, 2):
        if PERSON.distance(one, other) == 1:
            both = laws[one].keys() & laws[other].keys()
            worst = max(worst, *(math.log(laws[one][o] / laws[other][o]) for o in both))
    assert 0.3 * mechanism.loss.epsilon(0) < worst <= mechanism.loss.epsilon(0)

    people, draws, rng = (0, 0, 2), 800, unsafe_seeded(9)
    seen = Counter()
    for _ in range(draws):
        run = mechanism.release(people, rng=rng).value
        seen[run.value.sites[0], min(4, max(-4, (run.score + 20) // 10))] += 1
    wanted = Counter()
    for (score, site), p in laws[people].items():
        wanted[site, min(4, max(-4, (score + 20) // 10))] += p * draws
    cells = [cell for cell in wanted if wanted[cell] > 5]
    chi = sum((seen[cell] - wanted[cell]) ** 2 / wanted[cell] for cell in cells)
    assert len(cells) > 8
    assert stats.chi2.sf(chi, len(cells)) > 1e-6


def test_the_error_is_about_scores_in_the_unit_of_the_base():
    """With minus the cost as the score, misses are rarer than beta (false alarm 1e-9)."""
    people = (0,) * 40
    mechanism = best(lambda data, value: -int(METRIC.cost(data, value.sites)))
    base = KMedian(metric=METRIC, k=1, epsilon=1, delta=0, steps=1, neighbours=PERSON)
    costs = [METRIC.cost(people, (site,)) for site in range(3)]
    target = 5 * min(costs) + (1 - 1) ** base.steps * costs[1]
    alpha, rng = mechanism.error(0.1), unsafe_seeded(4)
    assert sum(cost > target + alpha for cost in costs) == 2, "two of three sites would miss it"
    draws = [mechanism.release(people, rng=rng).value.value for _ in range(200)]
    missed = sum(METRIC.cost(people, each.sites) > target + alpha for each in draws)
    assert missed <= 52  # binom(200, 0.1) exceeds it with probability below 1e-9


def test_the_error_knows_that_scores_without_a_grid_are_whole():
    """10.49 and 9.5 are both 10: the second is published as often as its name comes last."""
    base = Exponential(sensitivity=1, epsilon=0.01, size=2, grid=0.01)
    scores, changed = (10.49, 9.5), {"base": base, "sensitivity": 1, "epsilon": 200, "stop": 0.05}
    whole, fine = (best(lambda data, place: data[place], grid=grid, **changed) for grid in (None, 0.01))
    places = [whole.release(scores, rng=unsafe_seeded(seed)).value.value for seed in range(40)]
    assert places.count(1) > 20 and whole.error(0.2) >= 0.99
    places = [fine.release(scores, rng=unsafe_seeded(seed)).value.value for seed in range(40)]
    assert places.count(0) > 20 and fine.error(0.2) < 0.1


def test_a_score_must_be_a_function():
    with pytest.raises(InvalidParameter, match="score must be a function"):
        BestOfRuns(base=Laplace(sensitivity=1, epsilon=1), score=3, sensitivity=1, epsilon=1, stop=0.5)
