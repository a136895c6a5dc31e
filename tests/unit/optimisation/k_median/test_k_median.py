"""k-median: public distances, swaps, three mechanisms and their bounds."""

import itertools
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import AddRemove, Event, Replace
from discreet.noise.laws import DiscreteLaplace
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.k_median.swaps import Swaps, local_optimum, spread_out
from discreet.optimisation.k_median.tiny import line
from discreet.testing import unsafe_seeded

PERSON = AddRemove("person")


def generator_of(seed):
    return np.random.default_rng(seed)  # noqa: TID251 - test data


def town(sites, seed, unit=0.01):
    return Metric.points(generator_of(seed).random((sites, 2)), unit=unit)


def brute_cost(metric, people, chosen):
    return sum(min(int(metric.distances[v, f]) for f in chosen) for v in people)


def best_cost(metric, people, k):
    sets = itertools.combinations(range(metric.sites), k)
    return float(min(brute_cost(metric, people, chosen) for chosen in sets) * metric.unit)


def test_distances_are_rounded_up_so_that_the_triangle_inequality_stays():
    metric = town(25, seed=3, unit=0.05)
    table = metric.distances.astype(np.int64)
    assert (table[:, None, :] <= table[:, :, None] + table[None, :, :]).all()
    points = generator_of(3).random((25, 2))
    nearest = np.round(np.linalg.norm(points[:, None] - points, axis=2) / 0.05)
    assert not (nearest[:, None, :] <= nearest[:, :, None] + nearest[None, :, :]).all(), (
        "rounding to nearest breaks it"
    )


def test_whole_multiples_of_the_unit_are_not_pushed_up():
    assert Metric([[0.3, 0.1 + 0.2]], unit=0.1).distances.tolist() == [[3, 3]]


def test_roads_from_every_kind_of_graph_are_the_same():
    roads = networkx.Graph()
    roads.add_nodes_from(range(4))
    roads.add_edge(0, 1, length=2)
    roads.add_edge(1, 2, length=2)
    roads.add_edge(0, 2, length=7)
    roads.add_edge(2, 3, length=1)
    rows = np.array([[0, 1, 2], [1, 2, 2], [0, 2, 7], [2, 3, 1]])
    matrix = sparse.coo_array((rows[:, 2], (rows[:, 0], rows[:, 1])), shape=(4, 4)).tocsr()
    metrics = [Metric.graph(graph, unit=1) for graph in (roads, rows, matrix)]
    assert metrics[0].distances.tolist() == [[0, 2, 4, 5], [2, 0, 2, 3], [4, 2, 0, 1], [5, 3, 1, 0]]
    assert metrics[0] == metrics[1] == metrics[2]
    assert len({hash(metric) for metric in metrics}) == 1
    few = Metric.graph(roads, unit=1, sites=[3])
    assert few.distances.tolist() == [[5], [3], [1], [0]]
    assert Metric.graph(networkx.path_graph(3), unit=1).distances[0].tolist() == [0, 1, 2]


def test_places_may_differ_from_sites():
    metric = Metric.points([[0, 0], [3, 4]], places=[[0, 0], [3, 4], [3, 0]], unit=1)
    assert metric.distances.tolist() == [[0, 5], [5, 0], [3, 4]]
    assert (metric.places, metric.sites, metric.diameter, metric.reach) == (3, 2, 5, 5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Metric([[1, -1]], unit=1),
        lambda: Metric([[1, math.nan]], unit=1),
        lambda: Metric([[1, math.inf]], unit=1),
        lambda: Metric([1, 2], unit=1),
        lambda: Metric(np.zeros((0, 3)), unit=1),
        lambda: Metric([["a"]], unit=1),
        lambda: Metric([[1]], unit=0),
        lambda: Metric([[1.0]], unit=1e-12),
        lambda: Metric.points([[0, 0]], places=[[0]], unit=1),
        lambda: Metric.graph(np.array([[0, 1, 1], [2, 3, 1]]), unit=1),
        lambda: Metric.graph("roads", unit=1),
        lambda: Metric.graph(sparse.csr_array((2, 3)), unit=1),
        lambda: Metric.graph(np.array([[0, 1, 1]]), unit=1, sites=[2]),
    ],
)
def test_what_is_no_metric_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def test_metrics_are_equal_by_value_and_cannot_be_changed():
    assert line(0, 1) == line(0, 1) != line(0, 2)
    assert Metric([[1]], unit=1) != Metric([[2]], unit=2) != "metric"
    assert Metric([[1, 2]], unit=1) != Metric([[1], [2]], unit=1)
    with pytest.raises(ValueError, match="read-only"):
        line(0, 1).distances[0, 0] = 5
    assert "2 places" in repr(line(0, 1))


def test_people_outside_every_place_count_nowhere():
    assert line(0, 1, 5).counts([0, 2, 2, 7, -1]).tolist() == [1, 0, 2]
    assert line(0, 1, 5).counts(()).tolist() == [0, 0, 0]
    for nobody in (2**63, 2**64, -(2**70), 0.5, math.nan, math.inf, None, True, "2", [0], object()):
        assert line(0, 1, 5).counts([0, 2, 2, nobody]).tolist() == [1, 0, 2], (
            "it decides nothing about others"
        )
        people = np.empty(4, dtype=object)
        people[:3], people[3] = (0, 2, 2), nobody
        assert line(0, 1, 5).counts(people).tolist() == [1, 0, 2]
    for array in ([0, 2, 2, 2**63], [0.0, 2.0, 2.0, np.nan], [0.0, 2.0, 2.0, 1.5]):
        assert line(0, 1, 5).counts(np.array(array)).tolist() == [1, 0, 2]
    mechanism = KMedian(metric=line(0, 1, 5), k=1, epsilon=1, delta=0, neighbours=AddRemove("person"))
    for person in (1, 2**63, None):
        assert len(mechanism.release([0, person]).value.sites) == 1
    for odd in ("01", None, object(), np.zeros((1, 1), dtype=int)):
        with pytest.raises(InvalidParameter):
            line(0, 1, 5).counts(odd)


def test_a_count_is_clipped_where_a_sum_could_leave_the_exact_floats():
    metric = Metric(np.full((1, 1), 2**29), unit=1)
    assert metric.counts(np.zeros(2**24 + 5, dtype=np.int8))[0] == 2**24
    assert metric.costs(metric.counts(np.zeros(3, dtype=np.int8)), [[0]])[0] == 3 * 2**29


@pytest.mark.parametrize("seed", range(4))
def test_all_swap_costs_at_once_are_the_costs_of_the_sets(seed):
    generator = generator_of(seed)
    metric = Metric(generator.integers(0, 50, (30, 9)), unit=1)
    people = generator.integers(0, 30, 80)
    k = seed + 1
    chosen = tuple(sorted(generator.choice(9, k, replace=False).tolist()))
    swaps = Swaps(metric, chosen)
    costs = swaps.costs(metric.counts(people))
    assert costs.size == k * (9 - k) + 1
    for place, cost in enumerate(costs.tolist()):
        result = swaps.result(place)
        assert len(set(result)) == k and len(set(result) & set(chosen)) >= k - 1
        assert cost == brute_cost(metric, people, result)
    assert swaps.result(costs.size - 1) == chosen


def test_blocks_of_rows_do_not_change_the_sums(monkeypatch):
    metric, people = town(40, seed=1), np.arange(40).repeat(3)
    whole = Swaps(metric, (1, 5, 9)).costs(metric.counts(people))
    monkeypatch.setattr("discreet.optimisation.k_median.metric._ROWS", 70)
    assert (Swaps(metric, (1, 5, 9)).costs(metric.counts(people)) == whole).all()


@pytest.mark.parametrize("seed", range(12))
def test_nobody_moves_a_swap_further_than_the_public_spread(seed):
    generator = generator_of(seed)
    metric = Metric(generator.integers(0, 30, (6, 6)), unit=1)
    k = 1 + seed % 4
    swaps = Swaps(metric, tuple(range(k)))
    candidates = [swaps.result(place) for place in range(k * (6 - k) + 1)]
    moved = [[brute_cost(metric, [v], chosen) for chosen in candidates] for v in range(6)]
    true = max(max(row) - min(row) for row in moved)
    assert true <= swaps.spread() <= metric.reach
    exhaustive = KMedianExhaustive(metric=metric, k=k, epsilon=1, neighbours=PERSON)
    every = [[brute_cost(metric, [v], s) for s in itertools.combinations(range(6), k)] for v in range(6)]
    assert max(max(row) - min(row) for row in every) == exhaustive.spread


def test_the_spread_is_often_far_below_the_diameter():
    metric = town(200, seed=5)
    assert Swaps(metric, spread_out(metric, 20)).spread() < 0.45 * metric.diameter


def test_the_start_is_spread_out_and_public():
    assert spread_out(line(0, 1, 10, 11, 20), 3) == (0, 2, 4)
    assert spread_out(line(0, 4, 9), 3) == (0, 1, 2)
    same = Metric(np.zeros((3, 3)), unit=1)
    assert len(set(spread_out(same, 2))) == 2


def test_a_local_optimum_has_no_better_swap():
    metric, people = town(60, seed=2), generator_of(2).integers(0, 60, 500)
    counts = metric.counts(people)
    found = local_optimum(metric, counts, spread_out(metric, 4))
    costs = Swaps(metric, found).costs(counts)
    assert costs.min() == costs[-1] < metric.costs(counts, [spread_out(metric, 4)])[0]


def test_everybody_finds_the_nearest_site():
    mechanism = KMedianExhaustive(metric=line(0, 1, 10, 11), k=2, epsilon=100, neighbours=PERSON)
    medians = mechanism.release((0, 0, 2, 2, 2), rng=unsafe_seeded(1)).value
    assert medians.sites == (0, 2)
    assert [medians.nearest(place) for place in range(4)] == [0, 0, 2, 2]
    assert medians.assignment() == {0: 0, 1: 0, 2: 2, 3: 2}
    assert "metric" not in repr(medians)
    with pytest.raises(InvalidParameter):
        medians.nearest(4)


def mechanisms(metric, k, epsilon):
    public = {"metric": metric, "k": k, "neighbours": PERSON}
    return [
        KMedian(epsilon=epsilon, delta=0, **public),
        KMedian(epsilon=epsilon, delta=1e-6, **public),
        KMedianExhaustive(epsilon=epsilon, **public),
        KMedianHistogram(epsilon=epsilon, **public),
    ]


@pytest.mark.parametrize("place", range(4))
def test_planted_clusters_are_found(place):
    metric = line(0, 1, 2, 50, 51, 52, 98, 99, 100)
    people = np.repeat([1, 4, 7], 4000)
    mechanism = mechanisms(metric, 3, 2)[place]
    assert mechanism.release(people, rng=unsafe_seeded(7)).value.sites == (1, 4, 7)


@pytest.mark.parametrize("place", range(4))
def test_the_accuracy_theorem_holds(place):
    """At beta 0.2 a right bound fails more than 20 times in 40 with probability below 1e-5."""
    metric = town(12, seed=4, unit=0.1)
    people = np.repeat([0, 5], 300)
    mechanism = mechanisms(metric, 2, 1)[place]
    optimum = best_cost(metric, people, 2)
    start = metric.cost(people, spread_out(metric, 2))
    factor = 1 if isinstance(mechanism, KMedianExhaustive) else 5
    left = (1 - 1 / 2) ** mechanism.steps * start if isinstance(mechanism, KMedian) else 0
    bound = factor * optimum + left + mechanism.error(0.2)
    everywhere = [metric.cost(people, sites) for sites in itertools.combinations(range(12), 2)]
    assert bound < np.median(everywhere), "sites that nobody looked for would miss it"
    costs = [
        metric.cost(people, mechanism.release(people, rng=unsafe_seeded(s)).value.sites) for s in range(40)
    ]
    assert sum(cost > bound for cost in costs) <= 20


def test_the_bound_of_the_exhaustive_search_is_that_of_the_exponential_mechanism():
    mechanism = KMedianExhaustive(metric=line(0, 5, 6, 9), k=2, epsilon=1, neighbours=PERSON)
    assert mechanism.spread == 6
    wanted = mechanism.spread * math.log(5 * 0.95 / 0.05)
    assert wanted - 1 <= mechanism.error(0.05) <= wanted + 1


def test_the_bound_of_the_histogram_covers_the_noise_it_sums_up():
    """The weighted noise of 50 places passes the bound for beta 0.05 about 5 times in 100 or less."""
    mechanism = KMedianHistogram(metric=line(*range(50)), k=3, epsilon=1, neighbours=PERSON)
    noise = DiscreteLaplace(mechanism.histogram.scale).sample(50 * 2000, unsafe_seeded(8)).reshape(2000, 50)
    total = np.where(noise > 0, 5 * noise, -noise).sum(axis=1) * 49
    share = (total > mechanism.error(0.05)).mean()
    assert share <= 0.05
    assert (total > mechanism.error(0.05) / 2).mean() > 0.05, "the bound is not idle"


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps"), [(1, 0, 10), (1, 1e-6, 40), (0.1, 1e-9, 3), (3, 0.01, 1)]
)
def test_the_loss_meets_the_budget_and_uses_it(epsilon, delta, steps):
    mechanism = KMedian(
        metric=line(0, 1, 2), k=1, epsilon=epsilon, delta=delta, steps=steps, neighbours=PERSON
    )
    assert mechanism.guarantee.implies(epsilon=epsilon, delta=delta)
    assert mechanism.loss.epsilon(delta) > 0.9 * epsilon
    assert mechanism.range_ >= Fraction(99, 100) * Fraction(str(epsilon)) / steps


def test_a_delta_buys_larger_steps_and_the_printed_calibration_is_looser():
    public = {"metric": town(30, seed=6), "k": 5, "epsilon": 1, "neighbours": PERSON, "steps": 40}
    pure, tight = KMedian(delta=0, **public), KMedian(delta=1e-6, **public)
    printed = KMedian(delta=0, calibration="thesis", **public)
    assert tight.range_ > 2.5 * pure.range_
    assert pure.range_ > 2 * printed.range_
    assert printed.loss.epsilon(0) == pytest.approx(0.5)
    assert tight.error(0.05) < pure.error(0.05) < printed.error(0.05) / 2


def test_theorem_46_takes_its_number_of_steps():
    mechanism = KMedian.as_printed(metric=town(30, seed=6), k=2, epsilon=1, neighbours=PERSON)
    assert mechanism.steps == math.ceil(12 * math.log(30))
    assert mechanism.choices == mechanism.steps + 1
    replaced = KMedian.as_printed(metric=town(30, seed=6), k=2, epsilon=1, neighbours=Replace("person"))
    assert replaced.loss.epsilon(0) == pytest.approx(1)


def test_replacing_a_person_costs_twice_the_noise():
    public = {"metric": town(30, seed=6), "k": 2, "epsilon": 1}
    for kind, more in ((KMedian, {"delta": 0}), (KMedianExhaustive, {}), (KMedianHistogram, {})):
        one = kind(neighbours=PERSON, **public, **more)
        other = kind(neighbours=Replace("person"), **public, **more)
        assert other.error(0.05) > 1.8 * one.error(0.05)


def test_bad_parameters_are_refused():
    metric = line(0, 1, 2)
    for bad in ({"k": 0}, {"k": 4}, {"k": True}, {"steps": 0}, {"calibration": "loose"}, {"metric": [[1]]}):
        with pytest.raises(InvalidParameter):
            KMedian(**{"metric": metric, "k": 1, "epsilon": 1, "delta": 0, "neighbours": PERSON, **bad})
    for kind, more in ((KMedian, {"delta": 0}), (KMedianExhaustive, {}), (KMedianHistogram, {})):
        with pytest.raises(NeighboursMismatch):
            kind(metric=metric, k=1, epsilon=1, neighbours=Event(), **more)
    with pytest.raises(InvalidParameter, match="2,000,000 sets"):
        KMedianExhaustive(metric=town(100, seed=1), k=5, epsilon=1, neighbours=PERSON)


def test_all_sites_may_be_open():
    for mechanism in mechanisms(line(0, 3, 7), 3, 1):
        assert mechanism.release((0, 1), rng=unsafe_seeded(1)).value.sites == (0, 1, 2)
        assert mechanism.error(0.05) >= 0


def test_a_bar_changes_nothing():
    mechanism = KMedian(metric=line(0, 3, 7), k=1, epsilon=1, delta=0, neighbours=PERSON)
    plain = mechanism.release((0, 1, 1), rng=unsafe_seeded(5))
    assert mechanism.release((0, 1, 1), rng=unsafe_seeded(5), progress=True).value == plain.value


def test_people_who_are_listed_otherwise_are_told_how():
    pandas = pytest.importorskip("pandas")
    line = Metric.points([[0], [1], [2]], unit=1)
    mechanism = KMedian(metric=line, k=1, epsilon=1, delta=0, neighbours=AddRemove("person"))
    for people in (pandas.DataFrame({"x": [0], "y": [1]}), np.zeros((3, 2)), "here"):
        with pytest.raises(InvalidParameter, match=r"an array of their numbers, or names.*no coordinates"):
            mechanism.release(people)
