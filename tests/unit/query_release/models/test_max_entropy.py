"""Fitting a universe to noisy tables."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.parities import Parities
from discreet.queries.universe import Universe
from discreet.query_release.fitting import entropy_fit
from discreet.query_release.fitting.entropy_fit import LogLinear, NoisyTables, total_of
from discreet.query_release.models.max_entropy import MaxEntropy, widest_tables
from discreet.testing import unsafe_seeded

ROWS = AddRemove("row")
UNIVERSE = Universe([("a", range(4)), ("b", range(3)), ("c", range(2)), ("d", range(2))])
TRIPLES = Marginals.of_order(UNIVERSE, 3)


def population(rows=20_000):
    """Return a table with strong pairs, and combinations that never occur."""
    generator = np.random.default_rng(1)  # noqa: TID251
    a = generator.integers(0, 4, rows)
    b = np.where(generator.random(rows) < 0.7, a % 3, generator.integers(0, 3, rows))
    c = np.where(b == 2, 0, generator.integers(0, 2, rows))
    d = (generator.random(rows) < 0.2 + 0.5 * c).astype(int)
    return Histogram.from_records(UNIVERSE, np.stack([a, b, c, d], axis=1))


def make(**changed):
    given = {"workload": TRIPLES, "epsilon": 1, "delta": 1e-9, "neighbours": ROWS} | changed
    return MaxEntropy(**given)


def average_l1(workload, answers, truth):
    return np.add.reduceat(np.abs(answers - truth), workload.tables.offsets[:-1]).mean()


def test_the_fit_recovers_exact_tables():
    truth = TRIPLES.answers(population())
    noisy = NoisyTables(truth.astype(float), 1e-4, float(population().total))
    weights = LogLinear(TRIPLES).fit(noisy)
    assert np.abs(TRIPLES.answers(weights) - truth).max() < 2  # of 20,000 rows


@pytest.mark.parametrize(("epsilon", "gain"), [(0.05, 1.3), (1, 1.1)])
def test_the_fit_is_closer_than_what_was_measured(epsilon, gain):
    """Averages over three releases of 76 numbers, with fixed seeds."""
    truth = TRIPLES.answers(population())
    raw, fitted = [], []
    for seed in range(3):
        synopsis = make(epsilon=epsilon).release(population(), rng=unsafe_seeded(seed)).value
        raw.append(average_l1(TRIPLES, synopsis.values, truth))
        fitted.append(average_l1(TRIPLES, synopsis.answers(TRIPLES), truth))
    assert np.mean(fitted) * gain < np.mean(raw)


def test_it_measures_only_the_widest_tables():
    nested = Marginals(UNIVERSE, [["a"], ["a", "b"], [], ["c"], ["b"]])
    assert widest_tables(nested).sets == ((0, 1), (2,))
    queries = Conjunctions(UNIVERSE, [{"a": [0, 1], "c": [1]}, {"a": [2]}, {"d": [0]}])
    assert set(make(workload=queries).measured.sets) == {(0, 2), (3,)}
    assert make(workload=queries).noise.size == 4 * 2 + 2


def test_it_answers_other_queries_and_makes_rows():
    synopsis = make().release(population(), rng=unsafe_seeded(1)).value
    query = Conjunctions(UNIVERSE, [{"a": [0], "b": [0], "c": [1], "d": [1]}]).query(0)
    assert synopsis.answer(query) == pytest.approx(query.evaluate(synopsis.weights))
    assert synopsis.total == pytest.approx(20_000, rel=0.02)
    assert len(synopsis.synthetic(500, rng=unsafe_seeded(2))) == 500
    assert "a, b, c, d" in repr(synopsis)


def test_the_departure_is_what_the_fit_moved():
    mechanism = make()
    synopsis = mechanism.release(population(), rng=unsafe_seeded(3)).value
    assert synopsis.departure == np.abs(synopsis.answers(TRIPLES) - synopsis.values).max() > 0
    off = np.abs(synopsis.answers(TRIPLES) - TRIPLES.answers(population())).max()
    assert off <= synopsis.departure + mechanism.measured_error(1e-6)


def test_replaced_rows_keep_their_public_number():
    given = {"workload": Marginals.of_order(UNIVERSE, 1)}
    public = make(neighbours=Replace("row"), **given).release(population(), rng=unsafe_seeded(4)).value
    assert public.total == pytest.approx(20_000, rel=1e-9)
    hidden = make(**given).release(population(), rng=unsafe_seeded(4)).value
    assert hidden.total != pytest.approx(20_000, rel=1e-9)


def test_equal_transcripts_are_equal_and_deterministic():
    single = make(workload=Marginals.of_order(UNIVERSE, 1))
    one, two, other = (single.release(population(), rng=unsafe_seeded(s)).value for s in (5, 5, 6))
    assert one == two and hash(one) == hash(two) and one != other
    np.testing.assert_array_equal(one.weights, two.weights)


def test_the_noise_is_the_narrower_one():
    pure, few, many = make(delta=0), make(workload=Marginals(UNIVERSE, [["a"]])), make(delta=1e-3)
    assert isinstance(pure.noise, Laplace) and pure.loss.epsilon(0) <= 1
    assert isinstance(few.noise, Laplace)
    assert isinstance(many.noise, Gaussian) and many.loss.epsilon(1e-3) <= 1 < many.loss.epsilon(1e-9)
    assert pure.release(population(), rng=unsafe_seeded(1)).value.values.shape == (76,)


def test_an_empty_table_gives_a_synopsis_too():
    nobody = Histogram.dense(UNIVERSE, np.zeros(UNIVERSE.shape, dtype=int))
    synopsis = make(epsilon=5).release(nobody, rng=unsafe_seeded(1)).value
    assert synopsis.total >= 1 and (synopsis.weights >= 0).all()


def test_the_total_alone_gives_uniform_weights():
    total = make(workload=Marginals(UNIVERSE, [[]]))
    synopsis = total.release(population(), rng=unsafe_seeded(1)).value
    assert np.ptp(synopsis.weights) == 0 and synopsis.total == pytest.approx(20_000, rel=0.01)


def test_single_attributes_need_no_strength():
    mechanism = make(workload=Marginals.of_order(UNIVERSE, 1))
    synopsis = mechanism.release(population(), rng=unsafe_seeded(1)).value
    np.testing.assert_allclose(synopsis.marginal(["a"]), population().marginal(["a"]).counts(), atol=200)


def test_smaller_tables_know_the_total_better():
    tables = Marginals(UNIVERSE, [["a"], ["c"]])
    values = np.array([10, 10, 10, 10, 31, 31])
    assert total_of(tables, values) == pytest.approx((40 / 4 + 62 / 2) / (1 / 4 + 1 / 2))
    assert total_of(tables, -values) == 1


def test_strengths_are_walked_downhill_both_ways():
    for best in (0.1, 1.0, 10.0):
        found = entropy_fit._downhill(lambda s, best=best: abs(math.log(s / best)))
        assert found == pytest.approx(best)
    assert entropy_fit._downhill(lambda s: -s) < 1e3
    assert entropy_fit._downhill(lambda s: s) > 1e-3


def test_the_split_noise_looks_normal():
    draws = entropy_fit._like_noise(100_000)
    assert abs(draws.mean()) < 0.02 and abs(draws.std() - 1) < 0.02 and np.isfinite(draws).all()
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.02


def test_the_error_is_that_of_the_measurement():
    one, two = make(epsilon=1), make(epsilon=2)
    assert two.measured_error(0.05) < one.measured_error(0.05) < one.measured_error(0.01)
    assert one.measured_error(Fraction(1, 20)) == one.noise.error(Fraction(1, 20))
    with pytest.raises(NoBound, match="departure"):
        one.error(0.05)


def test_workloads_without_tables_are_refused():
    bits = Universe((f"b{i}", (0, 1)) for i in range(4))
    with pytest.raises(Refused, match="Parities"):
        make(workload=Parities.of_order(bits, 2))
    huge = Universe((f"b{i}", (0, 1)) for i in range(40))
    with pytest.raises(Refused, match="cells"):
        make(workload=Marginals.of_order(huge, 1))


def test_other_data_are_refused():
    with pytest.raises(InvalidParameter, match="Histogram"):
        make().release([1, 2, 3])
