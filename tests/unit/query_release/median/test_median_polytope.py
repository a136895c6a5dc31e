"""The median mechanism over histograms: the chains, the centre they start from, and the answers."""

import math

import numpy as np
import pytest

from discreet.core.errors import ConversationClosed, InvalidParameter, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.noise import NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.fitting import hit_and_run
from discreet.query_release.fitting.hit_and_run import CHAINS, PublicCoins, Slabs, sample, walk
from discreet.query_release.median.candidates import Polytope
from discreet.query_release.median.conversation import EMPTY
from discreet.query_release.median.database_sample import sample_database
from discreet.query_release.median.median_polytope import MOST_CELLS, MedianPolytope
from discreet.testing import unsafe_seeded

SIXTY_FOUR = Universe([("cell", range(64))])


def query(weights, universe=SIXTY_FOUR):
    return TableQuery(universe, (0,), "q", table=weights)


def mechanism(**changed):
    given = {
        "universe": SIXTY_FOUR,
        "rows": 20_000,
        "epsilon": 1,
        "delta": 1e-9,
        "updates": 30,
        "threshold": 2000,
        "queries": 2000,
        "neighbours": Replace("row"),
    }
    return MedianPolytope(**{**given, **changed})


class Always(Rng):
    """Calls every guess wrong and measures what it is told."""

    unsafe = True

    def __init__(self, *values):
        self.values = list(values)

    def random_bytes(self, count):
        raise AssertionError("no raw bits")

    def perform(self, primitive, value):
        if isinstance(primitive, NoisyComparison):
            return True
        return self.values.pop(0) if primitive.sensitivity else 0


def test_public_coins_are_the_same_for_everybody_and_different_for_other_seeds():
    one, other = PublicCoins(b"a"), PublicCoins(b"a")
    assert one.random_bytes(100) == other.random_bytes(100)
    assert one.random_bytes(100) != PublicCoins(b"a").random_bytes(100), "a stream goes on"
    assert PublicCoins(b"b").random_bytes(100) != PublicCoins(b"a").random_bytes(100)
    assert len(PublicCoins(b"a").random_bytes(1 << 20)) == 1 << 20
    numbers = PublicCoins(b"a").uniforms(100, 100)
    assert 0 < numbers.min() and numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 6 / math.sqrt(12 * 10_000)


def test_cells_that_no_query_tells_apart_form_a_class():
    slabs = Slabs.simplex(4, 1.0).cut(np.array([1.0, 1, 0, 0]), 0, 1).cut(np.array([0.0, 0, 0.5, 0]), 0, 1)
    label, sizes, weights = slabs.classes
    assert label[0] == label[1] and len(set(label.tolist())) == 3
    assert sorted(sizes.tolist()) == [1, 1, 2]
    np.testing.assert_array_equal(weights[:, label], slabs.matrix)


def test_the_centre_is_inside_with_room_on_every_side():
    weights = np.array([1.0] * 16 + [0.0] * 48)
    slabs = Slabs.simplex(64, 1000.0).cut(weights, 800, 900)
    centre = slabs.centre
    assert centre.sum() == pytest.approx(1000) and centre.min() > 0
    assert 805 < (slabs.classes[2] @ centre).item() < 895
    np.testing.assert_allclose(Slabs.simplex(4, 8.0).centre, [8])


def test_contradicting_answers_leave_no_centre():
    half = np.array([1.0, 1, 0, 0])
    slabs = Slabs.simplex(4, 100.0).cut(half, 60, 70)
    assert slabs.cut(1 - half, 60, 70).centre is None
    assert slabs.cut(half, 70, 80).centre is None, "a polytope without inside counts as empty"
    assert Slabs.simplex(4, 100.0).cut(half, 150, 160).centre is None


def inside(slabs, points):
    answers = points @ slabs.matrix.T
    slack = 1e-6 * slabs.total
    return (
        (points >= 0).all()
        and np.allclose(points.sum(axis=1), slabs.total)
        and (answers >= slabs.low - slack).all()
        and (answers <= slabs.high + slack).all()
    )


def test_histograms_stay_inside_through_many_cuts():
    random = np.random.default_rng(1)  # noqa: TID251 - test data
    truth = 1000 * random.dirichlet([0.1] * 40)
    slabs, points = Slabs.simplex(40, 1000.0), None
    for _ in range(8):
        points = sample(slabs, points)
        assert points.shape == (CHAINS, 40) and inside(slabs, points)
        weights = np.where(random.random(40) < 0.5, 1.0, 0.25)
        answer = weights @ truth
        slabs = slabs.cut(weights, answer - 40, answer + 40)
    np.testing.assert_array_equal(sample(slabs, points), sample(slabs, points))


def spread(weights, slabs, repeats, monkeypatch):
    """Return many independent answers: other coins for each round."""
    rounds = []
    for number in range(repeats):
        monkeypatch.setattr(Slabs, "seed", lambda _, n=number: b"round" + bytes([n]))
        rounds.append(sample(slabs) @ weights)
    return np.concatenate(rounds)


def far_apart(one, other):
    """Return the distance of two empirical laws in units at which 6 has probability below 1e-30."""
    both = np.sort(np.concatenate([one, other]))
    gap = np.abs(
        np.searchsorted(np.sort(one), both, side="right") / one.size
        - np.searchsorted(np.sort(other), both, side="right") / other.size
    ).max()
    return gap * math.sqrt(one.size * other.size / (one.size + other.size))


@pytest.mark.parametrize(("low", "high", "cells"), [(0.5, 0.75, 3), (0.2, 0.9, 6), (0.55, 0.6, 4)])
def test_the_chains_have_the_law_of_rejection_sampling(low, high, cells, monkeypatch):
    """Uniform points of the simplex, kept where two queries allow them, against the chains.

    The statistic exceeds 3 with probability below 1e-7 (Kolmogorov); the wrong power is found every time.
    """
    random = np.random.default_rng(cells)  # noqa: TID251 - the reference
    first, second = np.zeros(cells), np.linspace(0, 1, cells)
    first[: cells - 1] = 1
    slabs = Slabs.simplex(cells, 1.0).cut(first, low, high).cut(second, 0.3, 0.7)
    flat = random.dirichlet([1] * cells, size=200_000)
    kept = flat[(slabs.matrix @ flat.T >= slabs.low[:, None]).all(0)]
    kept = kept[(slabs.matrix @ kept.T <= slabs.high[:, None]).all(0)]
    probe = np.arange(cells) % 2 + 0.1 * np.arange(cells)
    assert far_apart(spread(probe, slabs, 30, monkeypatch), kept @ probe) < 3


def test_the_law_test_finds_a_chain_that_forgets_the_sizes_of_classes(monkeypatch):
    weights = np.array([1.0] * 9 + [0.0] * 3)
    slabs = Slabs.simplex(12, 1.0).cut(weights, 0.1, 0.95)
    random = np.random.default_rng(1)  # noqa: TID251 - the reference
    flat = random.dirichlet([1] * 12, size=100_000) @ weights
    kept = flat[(flat >= 0.1) & (flat <= 0.95)]
    assert far_apart(spread(weights, slabs, 30, monkeypatch), kept) < 3
    label, sizes, columns = slabs.classes
    monkeypatch.setattr(Slabs, "classes", property(lambda _: (label, np.ones_like(sizes), columns)))
    assert far_apart(spread(weights, slabs, 30, monkeypatch), kept) > 6


def test_one_class_needs_no_walk(monkeypatch):
    start = np.full((CHAINS, 1), 5.0)
    assert walk(Slabs.simplex(3, 5.0), start, PublicCoins(b"")) is start
    monkeypatch.setattr(hit_and_run, "linprog", None)
    points = sample(Slabs.simplex(500, 1.0))
    # The share of half the cells has mean 1/2 and variance 1 / (4 * 501).
    assert abs(points[:, :250].sum(axis=1).mean() - 0.5) < 6 * math.sqrt(1 / (4 * 501 * CHAINS))


def test_chains_start_from_published_numbers_alone():
    """Two very different tables, the same answers: the same histograms, bit by bit."""
    seen = []
    for counts in ([20_000] + [0] * 63, [312] * 63 + [20_000 - 63 * 312]):
        conversation = mechanism().open(Histogram.dense(SIXTY_FOUR, counts), rng=Always(9_000, 15_000))
        conversation.ask(query([1] * 32 + [0] * 32))
        conversation.ask(query([1, 0] * 32))
        seen.append(conversation._candidates.samples)
    np.testing.assert_array_equal(*seen)


def test_a_contradiction_closes_it_and_the_last_histograms_still_answer():
    half = np.array([1] * 32 + [0] * 32)
    flat = Histogram.dense(SIXTY_FOUR, [312] * 63 + [20_000 - 63 * 312])
    conversation = mechanism().open(flat, rng=Always(15_000, 15_000))
    assert conversation.ask(query(half)).value == 15_000
    assert conversation.ask(query(1 - half)).value == 15_000
    with pytest.raises(ConversationClosed, match=EMPTY):
        conversation.ask(query([1, 0] * 32))
    stale = conversation.last(query([1] * 31 + [0] * 33))
    assert stale.kind == "stale" and 12_000 < stale.value < 17_000
    assert conversation.last(query(1 - half)).kind == "measured", "what was asked is on record"


def test_a_polytope_is_cut_in_rows_whatever_the_grid():
    polytope = Polytope(Slabs.simplex(4, 100.0), 10)
    left = polytope.cut(np.array([10, 5, 0, 0]), 600, 50)
    answers = left.answers(np.array([10, 5, 0, 0]))
    assert 550 - 1e-3 <= answers.min() and answers.max() <= 650 + 1e-3
    assert polytope.cut(np.array([10, 5, 0, 0]), 2000, 50) is None


@pytest.mark.parametrize("shape", [0.05, 0.2])
def test_two_thousand_random_questions_on_64_cells(shape):
    """At most `updates` measured answers, and no error above threshold plus noise (miss: 1e-6)."""
    random = np.random.default_rng(int(100 * shape))  # noqa: TID251 - test data
    counts = random.multinomial(20_000, random.dirichlet([shape] * 64))
    given = mechanism()
    conversation = given.open(Histogram.dense(SIXTY_FOUR, counts), rng=unsafe_seeded(1))
    worst = 0.0
    for _ in range(2000):
        table = random.random(64) < 0.5
        answer = conversation.ask(query(table))
        worst = max(worst, abs(answer.value - counts[table].sum()))
    assert worst <= given.error(1e-6)
    assert not conversation.closed
    assert 0 < conversation.measured < given.updates


def test_real_weights_and_a_hidden_number_of_rows():
    random = np.random.default_rng(5)  # noqa: TID251 - test data
    given = mechanism(grid=0.001, neighbours=AddRemove("row"), rows=20_100)
    counts = random.multinomial(20_000, random.dirichlet([0.1] * 64))
    conversation = given.open(Histogram.dense(SIXTY_FOUR, counts), rng=unsafe_seeded(1))
    within = given.error(1e-6)
    for _ in range(300):
        weights = random.random(64) ** 3
        answer = conversation.ask(query(weights))
        assert abs(answer.value - counts @ weights) <= within
    assert not conversation.closed


def test_universes_are_bounded():
    with pytest.raises(Refused, match="multiplicative weights"):
        mechanism(universe=Universe([("x", range(MOST_CELLS + 1))]))
    with pytest.raises(InvalidParameter):
        mechanism(updates=0)


def test_the_preset_of_the_source_is_there_too():
    coin = Universe([("cell", (0, 1))])
    with pytest.raises(Refused, match="its theorem needs"):
        MedianPolytope.as_printed(universe=coin, rows=10**6, epsilon=1, accuracy=0.5, queries=10)
    preset = MedianPolytope.as_printed(universe=coin, rows=10**10, epsilon=1, accuracy=0.95, queries=2)
    assert preset.efficient and preset.constants.rows <= 10**10
    data = Histogram.dense(coin, [5 * 10**9, 5 * 10**9])
    answer = preset.open(data, rng=unsafe_seeded(2)).ask(query([1, 0], coin))
    assert answer.kind in ("free", "measured")


def test_sampled_databases_are_uniform_on_the_simplex_before_rows_are_drawn():
    """The share of a cell in uniform histograms over four cells has mean 1/4 and variance 3/80."""
    universe = Universe([("x", range(4))])
    drawn = [sample_database(universe, rows=4000, rng=unsafe_seeded(seed)) for seed in range(400)]
    shares = np.array([histogram.counts() for histogram in drawn]) / 4000
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(shares.mean(axis=0) - 0.25).max() < 5 * np.sqrt(3 / 80 / 400)
    assert 0.75 < shares.var() / (3 / 80) < 1.25


def count_measured(table, seed):
    """Ask 150 random predicates and return how many had to be measured."""
    conversation = mechanism(rows=int(table.total)).open(table, rng=unsafe_seeded(seed))
    masks = np.random.default_rng(seed).random((150, 64)) < 0.5  # noqa: TID251
    for mask in masks:
        conversation.ask(query(mask))
    return conversation.measured


def test_sampled_databases_need_few_updates_as_corollary_24_says():
    measured = [
        count_measured(sample_database(SIXTY_FOUR, rows=20_000, rng=unsafe_seeded(seed)), seed)
        for seed in range(4)
    ]
    assert np.mean(measured) < 5
    few = np.zeros(64, dtype=np.int64)
    few[:2] = 10_000  # no such database: all people in two cells
    assert count_measured(Histogram.dense(SIXTY_FOUR, few), 9) > 7


def test_databases_of_uniform_rows_need_few_updates_as_corollary_25_says():
    for seed in range(4):
        cells = np.random.default_rng(seed).integers(0, 64, 20_000)  # noqa: TID251
        table = Histogram.dense(SIXTY_FOUR, np.bincount(cells, minlength=64))
        assert count_measured(table, seed) <= 1
