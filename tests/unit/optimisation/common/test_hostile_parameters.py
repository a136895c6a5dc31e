"""Public parameters at the ends of their range: refused by name, when the mechanism is made, or served."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import DiscreetError, InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove, Replace
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.k_median.tiny import line
from discreet.optimisation.min_cut.min_cut import MOST_WEIGHTS, MinCut
from discreet.optimisation.min_cut.min_cut_exhaustive import MinCutExhaustive
from discreet.optimisation.public_projects.public_projects import PublicProjects
from discreet.optimisation.set_cover.set_cover import SetCover
from discreet.optimisation.set_cover.set_cover_exhaustive import SetCoverExhaustive
from discreet.optimisation.set_cover.set_cover_layered import SetCoverLayered
from discreet.optimisation.set_cover.set_cover_sampled import SetCoverSampled
from discreet.optimisation.set_cover.set_cover_split import SetCoverSplit
from discreet.optimisation.set_cover.set_cover_weighted import SetCoverWeighted
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover
from discreet.optimisation.vertex_cover.vertex_cover_sampled import VertexCoverSampled
from discreet.optimisation.vertex_cover.vertex_cover_size import VertexCoverSize
from discreet.optimisation.vertex_cover.vertex_cover_weighted import VertexCoverWeighted
from discreet.testing import unsafe_seeded

PERSON = AddRemove("person")
EPSILONS = (Fraction(1, 10**12), Fraction(1, 1000), 1, 30, 710, 10**6)
DELTAS = (0, Fraction(1, 10**400), 1e-300, 1e-9, 0.999999)
FAR = (1, Fraction(10) ** 40, 1)
FAMILIES = {
    "one": [[0]],
    "an empty set": [[0], [], [0]],
    "equal sets": [[0], [0], [0]],
    "an element in no set": np.array([[1, 0], [0, 0], [0, 0]]),
    "ordinary": [[0, 1], [1, 2], [2]],
}


def graphs(size):
    everybody = list(itertools.combinations(range(size), 2))
    yield from ([], everybody, [(0, v) for v in range(1, size)], np.zeros((0, 2), dtype=np.int64))
    yield from ([(0, 0)], everybody[:1] * 3, [(v, v + 1) for v in range(0, size - 1, 2)])


def elements(family):
    last = family.shape[1] if isinstance(family, np.ndarray) else 1 + max(e for some in family for e in some)
    yield from ([], list(range(last)), [0], [0, 0, 0], set(range(last)), np.zeros(last, dtype=bool))


def bound(mechanism, beta):
    """Return the error that is proved; infinity where nothing useful is."""
    try:
        return mechanism.error(beta)
    except NoBound:
        return math.inf


def served(make, data):
    """Make the mechanism or be refused; then no loss, no error and no data may raise."""
    try:
        mechanism = make()
    except DiscreetError:
        return 0
    assert 0 <= bound(mechanism, 0.05) <= bound(mechanism, 1e-300)
    assert mechanism.loss.epsilon(0) >= 0
    repr((mechanism, mechanism.guarantee))
    some = [mechanism.release(each, rng=unsafe_seeded(1)) for each in data]
    return len(some)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_covers_of_odd_graphs(size):
    data = list(graphs(size))
    many = 0
    for epsilon, kind in itertools.product(
        EPSILONS, (VertexCover, VertexCover.as_printed, VertexCoverSampled, VertexCoverSize)
    ):
        many += served(lambda k=kind, e=epsilon: k(vertices=size, epsilon=e), data)
    for epsilon, kind, weights in itertools.product(
        EPSILONS[1:4],
        (VertexCoverSampled, VertexCoverWeighted, VertexCoverWeighted.as_printed),
        ([1] * size, [1000**v for v in range(size)], [Fraction(1, 3**v) for v in range(size)]),
    ):
        many += served(lambda k=kind, e=epsilon, w=weights: k(vertices=size, epsilon=e, weights=w), data)
    assert many >= 4 * len(EPSILONS) * len(data)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_cuts_of_odd_graphs(size):
    data = list(graphs(size))
    many = 0
    for epsilon, delta in itertools.product((Fraction(1, 10**12), 0.1, 30, 710, 10**4), DELTAS):
        many += served(lambda e=epsilon, d=delta: MinCut(vertices=size, epsilon=e, delta=d), data)
    for epsilon in EPSILONS:
        many += served(lambda e=epsilon: MinCutExhaustive(vertices=size, epsilon=e), data)
    assert many >= (3 * len(DELTAS) + len(EPSILONS)) * len(data)


@pytest.mark.parametrize("family", FAMILIES)
def test_covers_by_odd_systems(family):
    sets = FAMILIES[family]
    data, count, many = list(elements(sets)), len(sets), 0
    for epsilon in EPSILONS:
        many += served(lambda e=epsilon: SetCoverExhaustive(family=sets, epsilon=e), data)
        many += served(lambda e=epsilon: SetCoverSampled(family=sets, epsilon=e), data)
        for delta, kind in itertools.product(DELTAS[2:], (SetCover, SetCover.as_printed)):
            many += served(lambda e=epsilon, d=delta, k=kind: k(family=sets, epsilon=e, delta=d), data)
        for costs in ([1] * count, list(FAR)[:count], [Fraction(1, 7**s) for s in range(count)]):
            paid = {"family": sets, "costs": costs, "epsilon": epsilon}
            many += served(lambda p=paid: SetCoverSampled(**p), data)
            many += served(lambda p=paid: SetCoverLayered(**p), data)
            for delta, kind in itertools.product(
                DELTAS[2:4], (SetCoverWeighted, SetCoverWeighted.as_printed, SetCoverSplit)
            ):
                many += served(lambda p=paid, d=delta, k=kind: k(delta=d, **p), data)
    assert many >= 8 * len(EPSILONS) * len(data)


METRICS = {
    "one site": Metric([[0]], unit=1),
    "no distance": Metric(np.zeros((3, 3), dtype=np.int64), unit=1),
    "two ends": line(0, 5),
    "far": Metric([[0, 2**20], [2**20, 0]], unit=1),
    "one place": Metric([[1, 2, 3]], unit=1),
}


@pytest.mark.parametrize("metric", METRICS)
def test_medians_of_odd_crowds(metric):
    town, many = METRICS[metric], 0
    data = [[], np.zeros(0, dtype=np.int64), [0], [5, -1, 10**9], [0] * 3000, (0, 1, 1, 0)]
    for k, epsilon, neighbours in itertools.product(
        range(1, town.sites + 1), (Fraction(1, 10**12), 1, 10**6), (PERSON, Replace("person"))
    ):
        shared = {"metric": town, "k": k, "epsilon": epsilon, "neighbours": neighbours}
        for delta, calibration in itertools.product((0, 1e-9, 0.999999), ("tight", "thesis")):
            many += served(
                lambda s=shared, d=delta, c=calibration: KMedian(**s, delta=d, calibration=c), data
            )
        for kind in (KMedian.as_printed, KMedianExhaustive, KMedianHistogram):
            many += served(lambda s=shared, m=kind: m(**s), data)
    assert many >= 54 * len(data)


@pytest.mark.parametrize("resources", [1, 3])
def test_projects_of_odd_agents(resources):
    data = [[], [(0,)], [()], [(0, 0)]]
    many = 0
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        many += served(
            lambda e=epsilon, d=delta: PublicProjects(
                resources=resources, k=resources, epsilon=e, delta=d, neighbours=PERSON
            ),
            data,
        )
    assert many >= len(EPSILONS) * 3 * len(data)


def test_a_printed_search_where_all_sites_are_open():
    found = KMedian.as_printed(metric=line(0, 4), k=2, epsilon=1, neighbours=PERSON).release([0, 1])
    assert found.value.sites == (0, 1)


def test_a_star_with_too_many_weights_is_refused_before_any_data_are_read():
    with pytest.raises(InvalidParameter, match=r"epsilon must be such that at most 16,777,216"):
        MinCut(vertices=5, epsilon=1e-9, delta=0)
    assert MinCut(vertices=5, epsilon=1e-4, delta=0)._plan.last <= MOST_WEIGHTS


@pytest.mark.parametrize(("epsilon", "delta"), [(710, 1e-9), (1e5, 0.1), (1, Fraction(1, 10**400))])
def test_fail_stays_paid_for_beyond_the_range_of_floats(epsilon, delta):
    mechanism = MinCut(vertices=4, epsilon=epsilon, delta=delta)
    plan, paid = mechanism._plan, float(epsilon)
    paid_for = math.log(Fraction(delta).numerator) - math.log(Fraction(delta).denominator) - paid
    depth = plan.target - plan.floor
    assert depth * plan.raising >= -paid_for  # the probability of being that deep is below delta / e^epsilon
    assert not mechanism.release([(0, 1)]).value.failed


def test_costs_that_64_bits_hold_for_some_data_only_are_refused():
    # With all sets in use an order costs more than 2^63, else less: a difference no error may tell.
    family, costs = [[0], [1], [2]], (2**62, 2**62, 1)
    with pytest.raises(InvalidParameter, match=r"costs must be within a factor of 2\^60 together"):
        SetCoverLayered(family=family, costs=costs, epsilon=1)
    for kind in (SetCoverWeighted, SetCoverSampled):
        budget = {"epsilon": 1} if kind is SetCoverSampled else {"epsilon": 1, "delta": 1e-6}
        with pytest.raises(InvalidParameter, match=r"costs must be within a factor of 2\^50"):
            kind(family=family, costs=costs, **budget)
    assert SetCoverLayered(family=family, costs=(2**58, 2**58, 1), epsilon=1).release([0, 1, 2])
    assert SetCoverSplit(family=family, costs=costs, epsilon=1, delta=1e-6).release([0, 1, 2])


def test_a_layered_cover_keeps_nothing_of_the_elements():
    module = __import__("discreet.optimisation.set_cover.set_cover_layered", fromlist=["CARD"])
    assert not [name for name, each in vars(module).items() if hasattr(each, "cache_info")]


def test_many_weight_classes_are_planned_at_once():
    weights = [Fraction(2) ** k for k in range(60)]
    mechanism = VertexCoverWeighted(vertices=60, weights=weights, epsilon=1)
    assert mechanism.release([(0, 59)]).value.which_end(0, 59) in (0, 59)


def test_the_printed_algorithms_are_presets():
    cut = MinCut.as_printed(vertices=9, epsilon=2)
    assert cut == MinCut(vertices=9, epsilon=2, delta=0, calibration="thesis")
    public = {"resources": 5, "k": 2, "epsilon": 1, "delta": 0.1, "neighbours": PERSON}
    assert PublicProjects.as_printed(**public) == PublicProjects(**public, calibration="thesis")
