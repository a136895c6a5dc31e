"""Every frequency oracle: its exact table, its scores, its estimates, and the columns that it takes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import stats

from discreet import local
from discreet.core.errors import InvalidParameter
from discreet.core.rounding import exp_bounds
from discreet.local.frequencies.bits import put_bits, sum_columns, toss_rows
from discreet.local.frequencies.hadamard_response import transform
from discreet.local.laws.odds import FINE, bound_odds
from discreet.testing import unsafe_seeded

F = Fraction
ORACLES = [
    local.DirectResponse,
    local.SymmetricUnary,
    local.OptimisedUnary,
    local.LocalHashing,
    local.HadamardResponse,
    local.SubsetSelection,
    local.ProjectiveResponse,
]
SIZES = [(2, F(1)), (3, F(1, 2)), (5, F(2)), (7, F(4)), (8, F(1)), (6, F(1, 10))]
every_oracle = pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)
every_size = pytest.mark.parametrize(("size", "epsilon"), SIZES)


def at_most_exp(ratio, epsilon, bits=400):
    """Tell whether ratio <= e^epsilon, by certified bounds."""
    _, high = exp_bounds(epsilon, bits)
    return ratio * high <= 1 << bits


@every_oracle
@every_size
def test_the_whole_table_keeps_the_claim_and_reaches_it(kind, size, epsilon):
    kernel = kind(epsilon=epsilon, domain=size).kernel
    tables = [dict(kernel.law(value)) for value in range(size)]
    assert all(sum(table.values()) == 1 and min(table.values()) > 0 for table in tables)
    assert all(0 <= report < kernel.size for report in tables[0])
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio
    assert at_most_exp(worst, epsilon)
    assert not at_most_exp(worst + F(8, 1 << FINE) * math.ceil(worst), epsilon), "less than it may be"


@pytest.mark.parametrize("epsilon", [F(1, 10**8), F(1, 3), F(1), F(10), F(100), F(1000)])
def test_odds_are_below_the_exponential_by_less_than_a_unit(epsilon):
    odds = bound_odds(epsilon)
    bits = 4000
    assert at_most_exp(odds, epsilon, bits)
    assert not at_most_exp(odds + F(1, 1 << FINE), epsilon, bits)


@every_oracle
@every_size
def test_scores_are_what_the_table_says(kind, size, epsilon):
    oracle = kind(epsilon=epsilon, domain=size)
    kernel, scores = oracle.kernel, oracle.scores
    tables = [dict(kernel.law(value)) for value in range(size)]
    sums = {
        report: oracle._sum_scores(np.frombuffer(report.to_bytes(kernel.width, "little"), np.uint8)[None])
        for report in tables[0]
    }
    variances = []
    for held, asked in itertools.product(range(size), repeat=2):
        law = [(int(sums[report][asked]), p) for report, p in tables[held].items()]
        mean = sum(score * p for score, p in law)
        variance = sum(score**2 * p for score, p in law) - mean**2
        assert mean == (scores.holder if held == asked else scores.other)
        if held == asked:
            assert variance == scores.holder_variance
        else:
            assert variance <= scores.other_variance
            variances.append(variance)
    assert max(variances) == scores.other_variance or kind is local.HadamardResponse
    assert sum(variances) / len(variances) <= scores.mean_other


@every_oracle
def test_one_by_one_and_all_at_once_are_estimated_alike(kind):
    oracle = kind(epsilon=2, domain=["bus", "car", "bicycle", "train", "foot"])
    people = [["car", "bus", "foot", "car"][k % 4] for k in range(400)]
    rng = unsafe_seeded(1)
    batch = oracle.encode_many(people, rng=rng)
    lines = [report.to_json() for report in batch]
    found = oracle.estimate(batch)
    assert found.people == len(found.oracle.values.names) * 80
    for other in (lines, iter(batch), batch.to_bytes()):
        assert np.array_equal(oracle.estimate(other).counts, found.counts)
    truth = np.array([100, 200, 0, 0, 100])
    low, high = found.intervals(0.999999)
    assert np.all((low <= truth) & (truth <= high))
    single = oracle.estimate(oracle.encode(person, rng=rng) for person in people)
    assert np.abs(single.counts - truth).max() <= single.error(1e-6)
    assert "UNSAFE" in repr(batch) and "car" in repr(found)
    assert found.top(1)[0][1] == found.counts.max()


@every_oracle
def test_the_predicted_mean_square_is_the_seen_one(kind):
    """60 runs of 40 values: relative deviation of the mean about 3 %; 12 % is four of them."""
    oracle = kind(epsilon=F(3, 2), domain=40, people=2000)
    values = np.minimum(np.arange(2000) % 100, 39)
    truth = np.bincount(values, minlength=40)
    rng = unsafe_seeded(3)
    seen = [
        ((oracle.estimate(oracle.encode_many(values, rng=rng)).counts - truth) ** 2).mean() for _ in range(60)
    ]
    assert np.mean(seen) == pytest.approx(oracle.mean_square, rel=0.12)
    spread = oracle.estimate(oracle.encode_many(values, rng=rng)).standard_errors
    told = np.sqrt((spread**2).mean()) / math.sqrt(oracle.mean_square)
    assert 0.88 < told < (1.5 if kind is local.HadamardResponse else 1.12)  # it states the largest variance


@every_oracle
def test_columns_of_all_kinds_say_the_same(kind):
    oracle = kind(epsilon=1, domain=4)
    numbers = [3, 0, 1, 2, 2, 1]
    columns = [
        numbers,
        tuple(numbers),
        np.array(numbers, dtype=np.int8),
        np.array(numbers, dtype=np.float32),
        np.array(numbers, dtype=object),
        pandas.Series(numbers),
        polars.Series(numbers),
        pyarrow.array(numbers),
        pyarrow.chunked_array([numbers[:2], numbers[2:]], type=pyarrow.uint8()),
        pyarrow.array(numbers, type=pyarrow.float32()),
        [np.int64(n) for n in numbers],
    ]
    expected = oracle.encode_many(numbers, rng=unsafe_seeded(5)).payload
    for column in columns:
        assert np.array_equal(oracle.encode_many(column, rng=unsafe_seeded(5)).payload, expected)
    named = kind(epsilon=1, domain=["a", "b", "c", "d"])
    texts = ["abcd"[n] for n in numbers]
    for column in (texts, np.array(texts), pandas.Series(texts), polars.Series(texts), pyarrow.array(texts)):
        assert np.array_equal(named.encode_many(column, rng=unsafe_seeded(5)).payload, expected)
    holes = pyarrow.array([3, None, 1, 2, 2, 1])
    assert np.array_equal(oracle.encode_many(holes, rng=unsafe_seeded(5)).payload, expected)


ODD = [None, 4, -1, 1.5, math.nan, "eve", 10**30, b"a", object()]


def test_whatever_is_no_value_counts_as_the_first():
    oracle = local.DirectResponse(epsilon=200, domain=4)
    assert oracle.encode_many(ODD, rng=unsafe_seeded(1)).payload.sum() == 0
    assert oracle.encode_many(np.array([4.0, np.nan, 0.5, -1]), rng=unsafe_seeded(1)).payload.sum() == 0
    assert oracle.encode_many(pandas.array([None, 7], dtype="Int64"), rng=unsafe_seeded(1)).payload.sum() == 0
    assert all(oracle.encode(odd).code == 0 for odd in ODD)
    assert oracle.encode(np.int8(3)).code == 3
    for column in ([True, False], np.array([True, False]), pandas.Series([True, False], dtype="boolean")):
        assert oracle.encode_many(column).payload.ravel().tolist() == [1, 0]
    named = local.DirectResponse(epsilon=200, domain=["a", 7])
    assert [named.encode(x).code for x in ("a", 7, "7", ("a",)[0], np.str_("a"))] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("column", ["abc", None, 3, {"a": 1}, np.zeros((2, 2), dtype=int), {1, 2}])
def test_what_is_no_column_is_refused_for_its_type(column):
    with pytest.raises(InvalidParameter, match="a column of values"):
        local.DirectResponse(epsilon=1, domain=4).encode_many(column)


@pytest.mark.parametrize("value", [[1], (1,), {1: 1}, {1}, np.array([1]), range(3)])
def test_a_container_is_no_value(value):
    with pytest.raises(InvalidParameter, match="Use encode_many"):
        local.DirectResponse(epsilon=1, domain=4).encode(value)


@pytest.mark.parametrize(
    "domain", [1, 0, -3, 1 << 60, True, 2.0, "ab", ["a"], ["a", "a"], [1, 2.0], [None, 1], {"a": 1, "b": 2}]
)
def test_a_domain_that_is_none_is_refused(domain):
    with pytest.raises(InvalidParameter, match="domain"):
        local.DirectResponse(epsilon=1, domain=domain)


@pytest.mark.parametrize("kind", [k for k in ORACLES if k is not local.DirectResponse])
def test_a_domain_that_is_too_large_for_a_collector_is_refused(kind):
    with pytest.raises(InvalidParameter, match="small enough"):
        kind(epsilon=1, domain=1 << 40)


def test_a_budget_that_says_nothing_is_refused():
    with pytest.raises(InvalidParameter, match="epsilon"):
        local.DirectResponse(epsilon=F(1, 10**12), domain=4)


def test_consistent_counts_add_up_and_are_never_further_away():
    oracle = local.OptimisedUnary(epsilon=1, domain=50)
    values = np.arange(600) % 3
    found = oracle.estimate(oracle.encode_many(values, rng=unsafe_seeded(6)))
    tidy, truth = found.consistent(), np.bincount(values, minlength=50)
    assert tidy.min() == 0 and tidy.sum() == pytest.approx(600)
    assert np.linalg.norm(tidy - truth) < np.linalg.norm(found.counts - truth)
    assert found.shares.sum() == pytest.approx(found.counts.sum() / 600)


def test_subset_selection_has_the_least_variance_and_geometry_nearly():
    for epsilon in (F(1, 2), F(1), F(2), F(4)):
        squares = {kind: kind(epsilon=epsilon, domain=1024, people=1000).mean_square for kind in ORACLES}
        least = squares[local.SubsetSelection]
        assert min(squares.values()) == least
        assert squares[local.ProjectiveResponse] <= 1.03 * least
        odds = math.exp(epsilon)
        assert least == pytest.approx(4000 * odds / (odds - 1) ** 2, rel=0.05)


def test_the_members_of_a_subset_are_the_best_number():
    for size, epsilon in ((10, F(1)), (40, F(1, 2)), (25, F(3)), (9, F(6))):
        kernel = local.SubsetSelection(epsilon=epsilon, domain=size).kernel
        all_sizes = (type(kernel)(size, kernel.odds, members) for members in range(1, size))
        assert kernel.mean_variance() == min(each.mean_variance() for each in all_sizes)


def test_bits_are_put_and_counted():
    rows = np.zeros((700, 3), dtype=np.uint8)
    places = np.arange(700) % 19
    put_bits(rows, places, np.ones(700, dtype=bool))
    assert np.array_equal(sum_columns(rows, 19), np.bincount(places, minlength=19))
    put_bits(rows, places, np.arange(700) % 2 == 0)
    assert np.array_equal(sum_columns(rows, 19), np.bincount(places[::2], minlength=19))


@pytest.mark.parametrize(
    ("rows", "count"), [(1, 1), (14, 9), (15, 64), (16, 65), (3826, 130), (7651, 8), (40, 300_000)]
)
def test_bits_are_added_up_as_one_by_one(rows, count):
    words = unsafe_seeded(rows).words(rows * count, np.uint8).reshape(rows, count)
    for bits in (words & 1, np.ones_like(words)):
        packed = np.packbits(bits, axis=1, bitorder="little")
        assert np.array_equal(sum_columns(packed, count), bits.sum(axis=0))


@pytest.mark.parametrize("chance", [F(3, 8), F(1, 2), F(9, 10)])
def test_eight_coins_have_their_law(chance):
    """Chi-square against the law of a byte; a fresh seed fails with probability below 1e-6 a case."""
    draws = 100_000
    seen = np.bincount(toss_rows(chance, draws, 8, unsafe_seeded(7)).reshape(-1), minlength=256)
    law = np.array(
        [float(chance ** (ones := byte.bit_count()) * (1 - chance) ** (8 - ones)) for byte in range(256)]
    )
    common = law * draws >= 5
    squares = (seen - law * draws)[common] ** 2 / (law * draws)[common]
    assert stats.chi2.sf(squares.sum(), common.sum()) > 1e-6


def test_the_transform_is_that_of_the_matrix():
    column, row = np.meshgrid(np.arange(8), np.arange(8))
    matrix = 1 - 2 * (np.bitwise_count(row & column).astype(np.int64) & 1)
    rows = np.arange(16).reshape(2, 8)
    assert np.array_equal(transform(rows), rows @ matrix)


def test_every_set_of_a_large_draw_has_its_size():
    oracle = local.SubsetSelection(epsilon=1, domain=101)
    payload = oracle.encode_many(np.arange(3000) % 101, rng=unsafe_seeded(8)).payload
    assert set(np.bitwise_count(payload).sum(axis=1).tolist()) == {oracle.kernel.members}


def test_two_values_that_stray_each_for_itself_pay_for_both():
    """A unary report tells of two values by two coins: one event each, and the bound is for both."""
    unary, mirrored = (kind(epsilon=1, domain=2, people=30) for kind in ORACLES[1::-1])
    alone = local.OptimisedUnary(epsilon=1, domain=2, people=30)
    assert mirrored._mirrored and not unary._mirrored
    scores = alone.scores
    chance = _tail(scores, 30, float(alone.error(0.05) * scores.contrast))
    assert 1 - (1 - chance) ** 2 <= 0.05


def _tail(scores, people, far):
    """Return the largest probability that one value's sum strays by more, over all numbers of holders."""
    worst = 0.0
    for holders in range(people + 1):
        law = np.array([1.0])
        for k in range(people):
            p = float(scores.holder if k < holders else scores.other)
            law = np.convolve(law, [1 - p, p])
        mean = holders * float(scores.holder) + (people - holders) * float(scores.other)
        worst = max(worst, law[np.abs(np.arange(people + 1) - mean) > far + 1e-9].sum())
    return worst
