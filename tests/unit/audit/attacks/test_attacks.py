"""Attacks find what is published too well, fail on what is private, and their bounds hold."""

import itertools
import math

import numpy as np
import pytest
from scipy.linalg import hadamard

import discreet as dp
from discreet.audit.attacks import (
    SubsetCounts,
    WeightedHalves,
    find_median,
    largest_parity_gap,
    least_count_error,
    least_parity_error,
    least_people,
    random_subsets,
    reconstruct,
    reconstruct_shattered,
)
from discreet.core.errors import InvalidParameter
from discreet.queries import Histogram, Parities, Predicates, Prefixes, Universe, Weighted
from discreet.query_release import MWEM, Independent, RangeTree
from discreet.testing import unsafe_seeded

SOURCE = np.random.default_rng(5)  # noqa: TID251 - test data


def answer_with(mechanism, bits, rng):
    return lambda subset: mechanism.release(int(bits[subset].sum()), rng=rng).value


def test_exact_and_nearly_exact_sums_give_every_bit_away_and_private_ones_do_not():
    bits, rng = SOURCE.random(96) < 0.5, unsafe_seeded(1)
    subsets = random_subsets(96, 400, rng=rng)
    assert subsets.shape == (400, 96) and 0.47 < subsets.mean() < 0.53
    assert (reconstruct(lambda subset: int(bits[subset].sum()), subsets) == bits).all()
    loose = dp.Laplace(sensitivity=1, epsilon=1)  # for each question: 400 epsilon in all
    assert (reconstruct(answer_with(loose, bits, rng), subsets) == bits).mean() > 0.95
    private = dp.Laplace(sensitivity=1, epsilon=dp.Laplace(sensitivity=1, epsilon=1).epsilon / 400)
    assert (reconstruct(answer_with(private, bits, rng), subsets) == bits).mean() < 0.7


def test_a_planted_half_is_found_but_for_two_errors_of_its_members():
    """Halves of eight cells, and the worst answers within an error: each other half pretends to be it."""
    counts = SubsetCounts(8)
    for planted in counts.halves[::7]:
        exact = counts.matrix[:, list(planted)].sum(axis=1).astype(float)
        assert reconstruct_shattered(counts, exact) == planted
        for error in (0.5, 1.0):
            for other, half in enumerate(counts.halves):
                worst = exact - error
                worst[other] = exact[other] + error  # pretend that this is the one
                found = reconstruct_shattered(counts, worst)
                assert len(set(planted) - set(found)) <= 2 * error, half


def test_the_bound_on_counts_holds_for_a_private_release():
    """Expected largest error of independent noise on all halves, and of the best constant answer."""
    counts, epsilon = SubsetCounts(8), 0.5
    bound = least_count_error(8, epsilon=epsilon)
    assert bound == pytest.approx(8 / (4 * (1 + math.e)))
    assert bound < 2  # as answering 2 for every half, of which 0 to 4 are present, errs by 2 at most
    assert least_count_error(8, epsilon=epsilon, beta=0.1) < bound
    assert least_count_error(7, epsilon=epsilon) == least_count_error(6, epsilon=epsilon)
    assert least_count_error(1, epsilon=epsilon) == 0
    noisy = dp.Laplace(sensitivity=35, epsilon=epsilon, size=70)  # each person is in half of 70 halves
    exact = counts.matrix[:, [0, 1, 2, 3]].sum(axis=1)
    errors = [np.abs(noisy.release(exact, rng=unsafe_seeded(s)).value - exact).max() for s in range(20)]
    assert np.mean(errors) > bound


def shatter(levels, width):
    """Return queries that are `width` above the levels on their halves, and as far below elsewhere."""
    return np.array(levels) + width * (2 * SubsetCounts(len(levels)).matrix - 1)


def test_real_valued_queries_give_a_planted_half_away_by_their_gap():
    """[Roth10] Lemmas 14 and 15: each other half pretends to be it, as far as the error lets it.

    Some queries weigh more than others, so the largest answer tells nothing by itself.
    """
    weights = shatter((0.3, 0.35, 0.4, 0.35, 0.3, 0.3), width=0.3)
    weights[::3] += 0.3
    queries = WeightedHalves(weights)
    assert queries.gap == pytest.approx(0.5)  # 2 width less the difference of the levels
    tight = 0
    for planted in queries.halves:
        exact = queries.matrix[:, list(planted)].sum(axis=1)
        assert reconstruct_shattered(queries, exact) == planted
        for other, half in enumerate(queries.halves):
            wrong = len(set(planted) - set(half))
            of_itself = queries.matrix[other, list(half)].sum()
            assert of_itself - exact[other] >= queries.gap * wrong - 1e-9
            worst = exact - 0.6
            worst[other] = exact[other] + 0.6
            found = reconstruct_shattered(queries, worst)
            tight = max(tight, len(set(planted) - set(found)))
            assert len(set(planted) - set(found)) <= 2 * 0.6 / queries.gap
    assert tight >= 1


def test_the_bound_for_real_valued_queries_is_below_what_our_release_errs_by():
    queries, epsilon = WeightedHalves(shatter((0.5,) * 8, width=0.25)), 0.2
    universe = Universe([("cell", range(8))])
    workload = Weighted(universe, [(["cell"], row) for row in queries.matrix])
    bound = least_count_error(8, epsilon=epsilon, width=0.25)
    assert 0 < bound < least_count_error(8, epsilon=epsilon) / 2  # half as wide, and levels may differ
    errors = []
    for seed, planted in enumerate(queries.halves[::4]):
        table = Histogram.dense(universe, np.bincount(planted, minlength=8))
        release = Independent(
            workload=workload, epsilon=epsilon, delta=0, neighbours=dp.AddRemove("row"), grid=0.05
        )
        answers = release.release(table, rng=unsafe_seeded(seed)).value.answers(workload)
        errors.append(np.abs(answers - queries.matrix[:, list(planted)].sum(axis=1)).max())
    assert np.mean(errors) > bound


@pytest.mark.parametrize("width", [0.5, 0.4, 0.25, 0.1, 0.01])
def test_the_bound_takes_about_the_best_division_of_the_levels(width):
    """Theorem 27 divides them into 1 / width parts, and has a width squared: never more than ours."""
    for dimension in (10, 401, 5000):
        printed = width * (math.ceil(dimension * width) // 2 * 2) / (4 * (1 + math.exp(0.2)))
        best = max(
            (2 * width - (1 - 2 * width) / p)
            * (math.ceil(dimension / p) // 2 * 2)
            / (4 * (1 + math.exp(0.2)))
            for p in range(1, 300)
        )
        found = least_count_error(dimension, epsilon=0.1, width=width)
        assert printed * (1 - 1e-9) <= found <= best * (1 + 1e-9)
        assert found >= 0.75 * best  # whole cells: the best number of parts may be a little off


def test_the_mean_square_of_all_parity_gaps_is_what_parseval_says():
    columns, size = 6, 12
    for _ in range(20):
        rows = SOURCE.choice(64, size, replace=False)
        others = SOURCE.choice(64, size, replace=False)
        apart = len(set(rows.tolist()) ^ set(others.tolist()))
        gap = largest_parity_gap(rows, others, columns=columns)
        by_hand = max(
            abs(np.mean([parity(x & s) for x in rows]) - np.mean([parity(x & s) for x in others]))
            for s in range(64)
        )
        assert gap == pytest.approx(by_hand)
        assert gap >= math.sqrt(apart) / (2 * size) - 1e-12


def parity(value):
    return int(value).bit_count() % 2


def test_no_private_table_is_near_on_all_parities():
    people, columns = 20, 10
    bound = least_parity_error(people, columns, epsilon=0.5)
    assert 0.14 < bound < 1 / math.sqrt(2 * people)
    gaps = []
    for _ in range(10):
        rows = SOURCE.choice(2**columns, people, replace=False)
        free = SOURCE.choice(2**columns, people, replace=False)  # the most private table of all
        gaps.append(largest_parity_gap(rows, free, columns=columns))
    assert np.mean(gaps) >= bound
    assert least_parity_error(20, 10, epsilon=5) == 0  # nothing is proved there


def test_weights_come_nearer_to_all_parities_than_rows_and_no_nearer_than_is_said():
    """All cells alike, which tells nothing of anybody, and a few of the rows themselves, on average."""
    columns, people = 8, 12
    signs = hadamard(2**columns)
    for rows, epsilon in ((math.inf, 1e-9), (math.inf, 0.3), (3, 1e-9), (12, 1e-9)):
        bound = least_parity_error(people, columns, epsilon=epsilon, rows=rows)
        gaps = []
        for _ in range(20):
            table = (
                np.bincount(SOURCE.choice(2**columns, people, replace=False), minlength=2**columns) / people
            )
            if rows == math.inf:
                made = np.full(2**columns, 2.0**-columns)
            else:
                made = np.bincount(SOURCE.choice(2**columns, rows), minlength=2**columns) / rows
            mean = math.sqrt(np.square(signs @ (table - made)).mean()) / 2  # below the largest
            assert mean >= 0.9 * bound
            gaps.append(mean)
        assert np.mean(gaps) >= bound > 0.8 * np.mean(gaps) or epsilon > 0.1
    assert least_parity_error(12, 8, epsilon=0.1) == least_parity_error(12, 8, epsilon=0.1, rows=12)
    assert least_parity_error(12, 8, epsilon=0.1, rows=13) == least_parity_error(
        12, 8, epsilon=0.1, rows=math.inf
    )


def test_tables_that_a_mechanism_of_ours_makes_are_as_far_off_as_theorem_17_says():
    """MWEM measures parities and makes as many rows as there were; whatever it does, some parity is off."""
    columns, people = 8, 12
    universe = Universe([(f"b{place}", (0, 1)) for place in range(columns)])
    parities = Parities(
        universe, [[f"b{k}" for k in range(columns) if mask >> k & 1] for mask in range(2**columns)]
    )
    bound = least_parity_error(people, columns, epsilon=0.5)
    assert bound > 0.17
    gaps = []
    for seed in range(6):
        rows = SOURCE.choice(2**columns, people, replace=False)
        table = Histogram.dense(universe, np.bincount(rows, minlength=2**columns).reshape(universe.shape))
        maker = MWEM(
            workload=parities, epsilon=0.5, delta=1e-9, neighbours=dp.Replace("row"), rounds=3, rows=people
        )
        made = maker.release(table, rng=unsafe_seeded(seed)).value
        drawn = made.synthetic(people, rng=unsafe_seeded(seed)).histogram().counts().reshape(-1)
        gaps.append(largest_parity_gap(rows, np.repeat(np.arange(2**columns), drawn), columns=columns))
    assert np.mean(gaps) >= bound


def test_planted_halves_come_out_of_our_answers_only_where_the_budget_says_so():
    """Theorem 27 run on a release of ours: at a small epsilon it guesses, at a huge one it knows."""
    counts = SubsetCounts(8)
    universe = Universe([("cell", range(8))])
    halves = Predicates(universe, [(["cell"], row.astype(bool)) for row in counts.matrix])

    def find_members(epsilon):
        release = Independent(workload=halves, epsilon=epsilon, delta=0, neighbours=dp.AddRemove("row"))
        right = []
        for seed, planted in enumerate(counts.halves):
            table = Histogram.dense(universe, np.bincount(planted, minlength=8))
            answers = release.release(table, rng=unsafe_seeded(seed)).value.answers(halves)
            right.append(len({*reconstruct_shattered(counts, answers)} & {*planted}) / 4)
        return np.mean(right)

    most = math.exp(2 * 0.1) / (
        1 + math.exp(2 * 0.1)
    )  # of the members, by e^(2 epsilon) from those who are not
    assert find_members(0.1) <= most + 3 * 0.25 / math.sqrt(70)
    assert find_members(1000) == 1


def test_medians_need_more_people_the_finer_the_line_is():
    few, many = least_people(2**10, epsilon=1), least_people(2**64, epsilon=1)
    assert few == pytest.approx(math.log(2**10 * 0.95)) and many > 6 * few
    assert least_people(math.inf, epsilon=1) == math.inf
    assert least_people(1, epsilon=1) == 0
    assert least_people(10**400, epsilon=1) == pytest.approx(400 * math.log(10) + math.log(0.95))


def test_where_hardly_anything_is_private_nothing_is_claimed():
    assert least_count_error(12, epsilon=1000) == least_count_error(12, epsilon=1000, beta=0.1) == 0
    assert least_parity_error(20, 10, epsilon=1000) == 0
    assert least_parity_error(20, 5000, epsilon=0.1) == pytest.approx(1 / math.sqrt(40))


def test_theorem_8_our_own_medians_are_lost_as_the_line_gets_finer():
    """Corollary 9's reduction on a tree of ours: 40 people on one place among N, at epsilon 0.1."""

    def find_share(points, epsilon):
        line = Universe([("x", range(points))])
        tree = RangeTree(
            workload=Prefixes(line, ["x"]), epsilon=epsilon, delta=0, neighbours=dp.AddRemove("row")
        )
        found = 0
        for seed, place in enumerate(SOURCE.integers(0, points, 40)):
            table = Histogram.dense(line, 40 * (np.arange(points) == place))
            counts = tree.release(table, rng=unsafe_seeded(seed)).value.prefixes
            found += find_median(counts.__getitem__, points=points) == place
        return found / 40

    assert least_people(4096, epsilon=0.1) > 40 > least_people(4096, epsilon=1)
    most = math.exp(4) / (math.exp(4) + 4095)  # of any mechanism, on average over the places
    assert find_share(4096, 0.1) <= most + 4 * math.sqrt(most / 40) < find_share(4096, 1)
    assert find_share(4096, 100) == 1


def test_medians_are_found_by_search_over_intervals():
    for counts in ([3], [0, 0, 5], [5, 0, 0], [1, 1, 1, 1], [0, 2, 0, 1, 4]):
        rows = np.repeat(np.arange(len(counts)), counts)
        asked = []
        found = find_median(lambda k, c=counts, a=asked: a.append(k) or sum(c[: k + 1]), points=len(counts))
        assert found == rows[(len(rows) + 1) // 2 - 1]
        assert len(asked) <= 1 + math.ceil(math.log2(len(counts)))


def test_the_bound_on_medians_by_enumeration():
    """The best private choice of a point, when all people are on one of N: exactly where the bound says."""
    for points, people, epsilon in itertools.product((3, 10), (1, 2, 4), (0.3, 1)):
        weight = math.exp(epsilon * people)
        hit = weight / (weight + points - 1)  # the exponential mechanism; nothing is better towards nobody
        beta = 1 - hit
        assert people >= least_people(points, epsilon=epsilon, beta=beta) - 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SubsetCounts(7),
        lambda: SubsetCounts(22),
        lambda: reconstruct_shattered(SubsetCounts(4), [1, 2]),
        lambda: largest_parity_gap(np.array([0]), np.array([1]), columns=13),
        lambda: largest_parity_gap(np.array([0]), np.array([8]), columns=3),
        lambda: largest_parity_gap(np.array([], dtype=int), np.array([1]), columns=3),
        lambda: largest_parity_gap(np.array([0.5]), np.array([1]), columns=3),
        lambda: largest_parity_gap(np.array([0, 1]), np.array([[1]]), columns=3),
        lambda: largest_parity_gap([0], [None], columns=3),
        lambda: least_parity_error(40, 6, epsilon=1),
        lambda: least_parity_error(4, 6, epsilon=1, rows=0),
        lambda: least_people(0.5, epsilon=1),
        lambda: least_count_error(4, epsilon=math.nan),
        lambda: least_count_error(4, epsilon=1, beta=-0.1),
        lambda: least_count_error(4, epsilon=1, width=0.6),
        lambda: WeightedHalves(np.eye(3)),
        lambda: WeightedHalves(np.eye(4)),
        lambda: WeightedHalves(np.array([0.5, 0.2])),
        lambda: WeightedHalves(shatter((0.2, 0.5), width=0.3)),
        lambda: WeightedHalves(shatter((0.1, 0.9), width=0.1)),
        lambda: WeightedHalves(shatter((0.5, 0.5), width=0)),
        lambda: WeightedHalves(np.full((2, 2), np.nan)),
        lambda: find_median(float, points=0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        wrong()
