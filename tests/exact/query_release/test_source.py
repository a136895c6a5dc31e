"""Query release of the sources: exact enumerations beyond the tiny instances of the cards, with controls."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.core.neighbours import AddRemove, Replace
from discreet.noise import DiscreteLaplace
from discreet.noise.selection import FlippedChoice
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.explicit.small_database import SmallDatabase
from discreet.query_release.explicit.small_database_candidates import Listed
from discreet.query_release.population_count import PopulationCount

CELLS = Universe([("cell", range(3))])
FOUR = Universe([("cell", range(4))])


def every_predicate(universe):
    masks = itertools.product((False, True), repeat=universe.size)
    return Predicates(universe, [(["cell"], np.array(mask)) for mask in masks])


def histogram(universe, rows):
    return Histogram.dense(universe, np.bincount(rows, minlength=universe.size).astype(np.int64))


def pairs(universe, neighbours, size):
    """Return all pairs of neighbours, each once."""
    listed = {
        frozenset((tuple(sorted(a)), tuple(sorted(b))))
        for a, b in neighbours.pairs(range(universe.size), size)
    }
    return [
        tuple(histogram(universe, np.array(rows, dtype=np.int64)) for rows in pair)
        for pair in listed
        if len(pair) == 2
    ]


# Small databases -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("universe", "size", "rows"), [(CELLS, 3, 4), (FOUR, 2, 4), (CELLS, 2, 5)])
@pytest.mark.parametrize("choice", ["permute-and-flip", "exponential"])
def test_small_databases_on_all_pairs_of_rows(universe, size, rows, choice):
    mechanism = SmallDatabase(
        workload=every_predicate(universe),
        epsilon=1,
        rows=rows,
        size=size,
        neighbours=Replace("row"),
        choice=choice,
    )
    report = audit.exact(mechanism, pairs(universe, Replace("row"), rows))
    assert report.holds, report
    assert report.ratio > 0.3


def test_real_valued_queries_with_every_norm_up_to_four():
    """Three cells, three rows in a small database, one to four rows of data; the norm is paid for."""
    workload = Weighted(CELLS, [(["cell"], [0.0, 0.5, 1.0]), (["cell"], [1.0, 0.25, 0.0])])
    mechanism = SmallDatabase(
        workload=workload, epsilon=16, rows=4, size=3, grid=Fraction(1, 4), neighbours=AddRemove("row")
    )
    few = [pair for pair in pairs(CELLS, AddRemove("row"), 4) if min(side.total for side in pair) >= 1]
    report = audit.exact(mechanism, few[::18])
    assert report.holds, report
    assert report.ratio > 0.5


def test_a_public_list_of_candidates_is_as_private():
    listed = Listed(CELLS, [[0, 0], [0, 2], [2, 2], [1, 2]])
    mechanism = SmallDatabase(
        workload=every_predicate(CELLS), epsilon=2, rows=4, candidates=listed, neighbours=Replace("row")
    )
    report = audit.exact(mechanism, pairs(CELLS, Replace("row"), 4))
    assert report.holds, report


def test_half_the_sensitivity_would_be_caught():
    """The score is not monotone: with epsilon / Delta in place of epsilon / (2 Delta) the loss is doubled."""
    mechanism = SmallDatabase(
        workload=Weighted(CELLS, [(["cell"], [1, 0, 0])]),
        epsilon=1,
        rows=6,
        size=1,
        neighbours=Replace("row"),
    )
    worst = 0.0
    for left, right in pairs(CELLS, Replace("row"), 6):
        scores = [mechanism._scores(np.asarray(mechanism.whole.answers(side)), 6) for side in (left, right)]
        laws = [dict(FlippedChoice(2 * mechanism.choosing.rate, Fraction(2)).law(each)) for each in scores]
        worst = max(worst, *(abs(math.log(laws[0][k] / laws[1][k])) for k in laws[0]))
    assert worst == pytest.approx(2)


# Distributional privacy ------------------------------------------------------------------------------


def too_far(rows, ones, population, shift):
    """Return the probability that two samples, drawn without replacement, have counts further apart."""
    low, high = max(0, rows - (population - ones)), min(rows, ones)
    mass = {
        k: Fraction(math.comb(ones, k) * math.comb(population - ones, rows - k), math.comb(population, rows))
        for k in range(low, high + 1)
    }
    return sum((p * q for a, p in mass.items() for b, q in mass.items() if abs(a - b) > shift), Fraction(0))


@pytest.mark.parametrize("rows", [1, 2, 5, 12])
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
def test_every_population_keeps_the_promise(rows, beta):
    mechanism = PopulationCount(rows=rows, epsilon=1, missed=beta, neighbours=Replace("row"))
    worst = max(
        too_far(rows, ones, population, mechanism.shift)
        for population in (*range(rows, rows + 15), 200)
        for ones in range(0, population + 1, 1 if population < 50 else 10)
    )
    assert worst <= beta
    # Counts no further apart than the shift lose at most epsilon; one further loses more.
    noise = DiscreteLaplace(mechanism.scale)
    losses = [
        math.log(noise.pmf(-1) / noise.pmf(-1 - apart)) for apart in (mechanism.shift, mechanism.shift + 1)
    ]
    assert losses[0] <= 1 + 1e-9 < losses[1]


def test_half_the_noise_would_break_the_promise():
    mechanism = PopulationCount(rows=40, epsilon=1, missed=Fraction(1, 10), neighbours=Replace("row"))
    assert (
        too_far(40, 200, 400, mechanism.shift)
        <= Fraction(1, 10)
        < too_far(40, 200, 400, mechanism.shift // 2)
    )


SAMPLES = [frozenset(sample) for sample in itertools.combinations("abcd", 2)]
ALPHA = math.log(2)


def law(sample):
    """One sample says yes more often, one less often, and all others in between."""
    return {frozenset("ab"): Fraction(23, 1000), frozenset("ac"): Fraction(1, 100)}.get(
        sample, Fraction(15, 1000)
    )


def loses(left, right):
    pairs_ = ((law(left), law(right)), (1 - law(left), 1 - law(right)))
    return max(math.log(p / q) for p, q in pairs_)


def failing(population):
    """Return the probability that an ordered pair of samples of a population loses more than alpha."""
    drawn = [frozenset(sample) for sample in itertools.combinations(population, 2)]
    return Fraction(sum(loses(a, b) > ALPHA for a in drawn for b in drawn), len(drawn) ** 2)


def test_one_over_the_squared_number_of_samples_is_the_border():
    """n = 2: beta < 1 / (n + 1)^2 implies alpha-privacy, and beta equal to it does not.

    The law above loses more than alpha between the neighbours ab and ac, in this order alone. Over every
    population of the four people that has probability at most 1/9, reached by a, b, c.
    """
    populations = [p for size in (2, 3, 4) for p in itertools.combinations("abcd", size)]
    assert max(failing(population) for population in populations) == Fraction(1, 9) == failing("abc")
    assert loses(frozenset("ab"), frozenset("ac")) > ALPHA > loses(frozenset("ac"), frozenset("ab"))
