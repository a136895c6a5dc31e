"""Exact output distributions of k-median and public projects on everything small, and exact lower bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.audit.enumeration import Enumerator
from discreet.audit.exact_report import divergences
from discreet.audit.runs import make_runner
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss, PureLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rounding import exp_fraction
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.scores import Monotone
from discreet.optimisation.common.best_of_runs import BestOfRuns, Run, RunCount
from discreet.optimisation.common.repeated_choices import SequentialLoss
from discreet.optimisation.hard_instances import planted as facility
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.k_median.tiny import line
from discreet.optimisation.public_projects.public_projects import PublicProjects
from discreet.optimisation.public_projects.public_projects_sampled import PublicProjectsSampled
from discreet.testing import unsafe_seeded

PERSON, AGENT = AddRemove("person"), AddRemove("agent")
SUBSETS = [tuple(s) for size in range(1, 4) for s in itertools.combinations(range(3), size)]


def law(mechanism, data):
    """One of hundreds: every path of each runs twice, together more often than one audit repeats."""
    return Enumerator(repeats=1).distribution(make_runner(mechanism), data)


def random_metrics(count, seed):
    """Arbitrary distances: privacy needs no triangle inequality."""
    generator = np.random.default_rng(seed)  # noqa: TID251 - test data
    return [Metric(generator.integers(0, 7, (3, 4)), unit=1) for _ in range(count)]


@pytest.mark.parametrize("metric", [*random_metrics(4, seed=1), line(0, 1, 3, 7)])
@pytest.mark.parametrize(("k", "neighbours"), [(1, PERSON), (2, PERSON), (3, PERSON), (2, Replace("person"))])
def test_one_swap_on_all_small_demands(metric, k, neighbours):
    mechanism = KMedian(metric=metric, k=k, epsilon=3, delta=0, steps=1, neighbours=neighbours)
    report = audit.exact(mechanism, neighbours.pairs(range(metric.places), 2))
    assert report.holds, report
    assert report.ratio > 0.2


def test_two_swaps_on_all_small_demands():
    for delta in (0, 0.01):
        mechanism = KMedian(metric=line(0, 2, 3), k=2, epsilon=3, delta=delta, steps=2, neighbours=PERSON)
        report = audit.exact(mechanism, PERSON.pairs(range(3), 2))
        assert report.holds, report


class HalfTheSpread(KMedian):
    """Calibrated to half of what one person can move: must be caught."""

    __slots__ = ()

    @property
    def loss(self):
        return BoundedRangeLoss(self.range_ / 2)


def test_a_spread_that_is_too_small_is_caught():
    mechanism = HalfTheSpread(metric=line(0, 6, 7), k=1, epsilon=2, delta=0, steps=1, neighbours=PERSON)
    assert not audit.exact(mechanism, PERSON.pairs(range(3), 3)).holds


def test_monotone_costs_are_claimed_for_adding_and_removing_only():
    """Replacing a person under the calibration for adding or removing one breaks the claim."""
    mechanism = KMedianExhaustive(metric=line(0, 9), k=1, epsilon=1, neighbours=PERSON)
    assert audit.exact(mechanism, PERSON.pairs(range(2), 4)).holds
    assert not audit.exact(mechanism, Replace("person").pairs(range(2), 4)).holds


def all_wishes(neighbours_of, most):
    return list(neighbours_of.pairs([(), *SUBSETS], most))


@pytest.mark.parametrize(("k", "range_"), [(1, 1), (2, 1), (3, 1), (2, Fraction(1, 3)), (2, 3)])
def test_public_projects_on_all_small_wishes(k, range_):
    mechanism = PublicProjects(resources=3, k=k, epsilon=range_ * k, delta=0, neighbours=AGENT)
    assert mechanism.range_ == range_
    report = audit.exact(mechanism, all_wishes(AGENT, 3))
    assert report.holds, report


def test_fractional_agents_stay_below_the_loss_too():
    """Monotone functions with values in quarters, not all submodular, added to a small crowd."""
    generator = np.random.default_rng(5)  # noqa: TID251 - test data

    def monotone():
        table = {}
        for size in range(4):
            for items in map(frozenset, itertools.combinations(range(3), size)):
                below = max((table[items - {i}] for i in items), default=0.0)
                table[items] = min(1.0, below + generator.integers(0, 3) / 4)
        return lambda items: table[frozenset(items)]

    mechanism = PublicProjects(resources=3, k=2, epsilon=3, delta=0, grid=Fraction(1, 4), neighbours=AGENT)
    claimed = [("delta", e, mechanism.loss.delta(e)) for e in (0.0, 0.3, 0.8, 1.5, 2.5)]
    for _ in range(25):
        crowd, agent = [monotone() for _ in range(3)], monotone()
        p, q = law(mechanism, crowd), law(mechanism, [*crowd, agent])
        for one, other in ((p, q), (q, p)):
            for claim, measured, _ in divergences(one, other, claimed):
                assert measured <= claim[2]


class NobodyCountsAtAll(PublicProjects):
    """A loss with nine tenths of the exponent: must be caught."""

    __slots__ = ()

    @property
    def loss(self):
        return SequentialLoss(self.range_ * 9 / 10, self.k)


def test_a_wrong_exponent_is_caught():
    mechanism = NobodyCountsAtAll(resources=3, k=2, epsilon=4, delta=0, neighbours=AGENT)
    crowd = ((0,),) * 6
    assert not audit.exact(mechanism, [(crowd, (*crowd, (0,)))]).holds


@pytest.mark.parametrize(
    ("range_", "rounds", "epsilon"), [(0.2, 5, 0.4), (0.5, 3, 0.5), (0.1, 20, 0.5), (1, 2, 1)]
)
def test_the_loss_is_reached_by_one_wish_among_many_items(range_, rounds, epsilon):
    """A wish for an item that a crowd of t others wants, among many that nobody wants, is never granted."""
    c, items = math.exp(range_), 2000

    def divergence(crowd):
        others = np.arange(items, items - rounds, -1.0)
        weight = math.exp(range_ * crowd)
        without, with_it = others / (others + weight), others / (others + c * weight)
        return without.prod() - math.exp(epsilon) * with_it.prod()

    best = max(divergence(crowd) for crowd in range(150))
    claimed = SequentialLoss(Fraction(str(range_)), rounds).delta(epsilon)
    assert 0.8 * claimed < best <= claimed


@pytest.mark.parametrize("seed", range(3))
def test_no_adaptive_adversary_beats_the_loss(seed):
    """Random trees of gains: at every node a law over gains that leaves what is left of the budget.

    The divergence of a tree is summed up over its leaves, exactly as the proof bounds it.
    """
    generator = np.random.default_rng(seed)  # noqa: TID251 - test data
    range_, rounds = 0.8, 3
    loss = SequentialLoss(Fraction(4, 5), rounds)

    def leaves(depth, budget, p, q):
        if depth == 0:
            return [(p, q)]
        gains = budget * generator.choice([0, 1, generator.random()], 3)
        chances = generator.dirichlet(np.full(3, 0.7))
        tilted = chances * np.exp(range_ * gains)
        tilted /= tilted.sum()
        found = []
        for gain, a, b in zip(gains, chances, tilted, strict=True):
            found += leaves(depth - 1, budget - gain, p * a, q * b)
        return found

    ratios = []
    for _ in range(400):
        p, q = np.array(leaves(rounds, 1.0, 1.0, 1.0)).T
        for epsilon in (0.0, 0.3, 0.7, 1.2):
            factor, claimed = math.exp(epsilon), loss.delta(epsilon)
            for one, other in ((p, q), (q, p)):
                measured = np.maximum(0, one - factor * other).sum()
                assert measured <= claimed + 1e-12
                ratios.append(measured / claimed if claimed else 0)
    assert max(ratios) > 0.9, "the search comes close, so it could have found a violation"


def test_the_secret_sample_on_all_small_wishes():
    for epsilon in (0.1, 1, 3):
        mechanism = PublicProjectsSampled(resources=3, k=2, epsilon=epsilon, neighbours=AGENT)
        report = audit.exact(mechanism, all_wishes(AGENT, 2))
        assert report.holds, report


class SampledTooOften(PublicProjectsSampled):
    """Twice the exponent for the same sample: must be caught."""

    __slots__ = ()

    @property
    def range_(self):
        return 2 * PublicProjectsSampled.range_.fget(self)


def test_a_doubled_exponent_on_the_sample_is_caught():
    mechanism = SampledTooOften(resources=3, k=2, epsilon=1, neighbours=AGENT)
    assert not audit.exact(mechanism, all_wishes(AGENT, 2)).holds


@pytest.mark.parametrize("kind", [PublicProjects, PublicProjectsSampled])
def test_no_lie_gains_more_than_the_stated_truthfulness(kind):
    more = {"delta": 0} if kind is PublicProjects else {}
    mechanism = kind(resources=3, k=2, epsilon=2, neighbours=AGENT, **more)
    largest = 0.0
    for others in itertools.combinations_with_replacement(SUBSETS, 2):
        laws = {wish: law(mechanism, (*others, wish)) for wish in SUBSETS}
        for truth in SUBSETS:
            worth = {
                lie: float(sum(p for order, p in found.items() if set(order) & set(truth)))
                for lie, found in laws.items()
            }
            largest = max(largest, *(worth[lie] - worth[truth] for lie in SUBSETS))
    assert 0 <= largest <= mechanism.truthfulness


def geometric_best(base, stop):
    """The law of the best of a geometric number of runs, from the law of one, as the sum that defines it."""
    counts = np.arange(1, 6000)
    chances = stop * (1 - stop) ** (counts - 1.0)
    best, below = {}, 0.0
    for outcome in sorted(base):
        upto = below + float(base[outcome])
        best[outcome] = float((chances * (upto**counts - below**counts)).sum())
        below = upto
    return best


def test_the_best_of_many_runs_costs_three_and_not_two():
    """One run moves by epsilon 1: a middling outcome becomes likelier while the good one becomes rarer."""
    for good, middling in ((0.3, 0.01), (0.05, 0.02), (0.6, 0.001)):
        one = {2: good, 1: middling, 0: 1 - good - middling}
        other = {2: good / math.e, 1: middling * math.e}
        other[0] = 1 - sum(other.values())
        assert abs(math.log(one[0] / other[0])) <= 1
        best, moved = geometric_best(one, 1 / 50), geometric_best(other, 1 / 50)
        found = max(abs(math.log(best[outcome] / moved[outcome])) for outcome in one)
        assert found <= 3
        if good == 0.3:
            assert found > 2.6


def test_the_best_of_runs_of_bounded_range_costs_only_two():
    """A single exponential choice cannot raise one outcome and lower another by epsilon each."""
    base = Exponential(sensitivity=Monotone(1), epsilon=1, size=3)
    for scores in itertools.product((0, 6), repeat=3):
        for move in itertools.product((0, 1), repeat=3):
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            one, other = (geometric_best(law(base, s), 1 / 50) for s in (scores, moved))
            assert max(abs(math.log(one[outcome] / other[outcome])) for outcome in one) <= 2


def test_the_number_of_runs_is_geometric_and_meets_no_data():
    step = RunCount(Fraction(1, 4))
    found = dict(step.law(None))
    assert found[1] == Fraction(1, 4) and found[3] == Fraction(9, 64)
    assert step.distance(None, None) == 0 == step.sensitivity
    rng = unsafe_seeded(3)
    drawn = [step.sample(None, rng) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(4, abs=0.35)  # five standard errors


def test_the_best_of_many_runs_finds_better_sites():
    metric = line(0, 1, 40, 41, 90)
    people = (0,) * 30 + (2,) * 30 + (4,) * 30

    def worth(places, medians):
        return -int(metric.cost(places, medians.sites))

    base = KMedian(metric=metric, k=3, epsilon=0.5, delta=0, steps=2, neighbours=PERSON)
    many = BestOfRuns(base=base, score=worth, sensitivity=metric.diameter, epsilon=0.5, stop=Fraction(1, 10))
    assert many.guarantee.neighbours == PERSON
    assert many.loss == PureLoss(3 * (Fraction(base.loss.epsilon(0)) + Fraction(many.meter.loss.epsilon(0))))
    assert many.loss.epsilon(0) == pytest.approx(3)
    alone = [worth(people, base.release(people, rng=unsafe_seeded(s)).value) for s in range(60)]
    best = [many.release(people, rng=unsafe_seeded(s)).value for s in range(60)]
    assert all(isinstance(run, Run) for run in best)
    assert np.mean([worth(people, run.value) for run in best]) > np.mean(alone)
    assert many.error(0.01) < base.error(0.01) + 2 * many.meter.error(0.00001)
    assert many.error(0.01) > base.error(0.2)


def test_many_runs_need_a_pure_base():
    base = KMedian(metric=line(0, 1), k=1, epsilon=1, delta=0, neighbours=PERSON)
    good = {"base": base, "score": lambda data, value: 0, "sensitivity": 1, "epsilon": 1, "stop": 0.1}
    for bad in ({"stop": 0}, {"stop": 1}, {"epsilon": 0}, {"sensitivity": -1}, {"base": 3}):
        with pytest.raises(InvalidParameter):
            BestOfRuns(**good | bad)


@pytest.mark.parametrize("epsilon", [0.3, 1])
def test_the_lower_bound_of_theorem_47_holds_and_is_not_idle(epsilon):
    """The exact expected cost of the exhaustive search, averaged over planted sets, by symmetry over one."""
    instance = facility.theorem_47(size=7, k=2, epsilon=epsilon, rng=unsafe_seeded(1))
    mechanism = KMedianExhaustive(metric=instance.metric, k=2, epsilon=epsilon, neighbours=PERSON)
    found = law(mechanism, tuple(instance.people.tolist()))
    planted = set(instance.planted)
    cost = sum(float(p) * instance.copies * len(planted - set(m.sites)) for m, p in found.items())
    assert cost >= instance.least_loss > 0
    assert cost < 6 * instance.least_loss
    fewer = facility.Planted(7, instance.planted, instance.copies + 5, epsilon)
    assert fewer.least_loss <= instance.least_loss
    assert facility.theorem_47(size=10, k=9, epsilon=50).least_loss == 0


def test_the_lower_bound_of_theorem_66_holds_for_public_projects():
    instance = facility.theorem_47(size=6, k=2, epsilon=1, rng=unsafe_seeded(2))
    for kind, more in ((PublicProjects, {"delta": 0}), (PublicProjectsSampled, {})):
        mechanism = kind(resources=6, k=2, epsilon=1, neighbours=AGENT, **more)
        found = law(mechanism, instance.wishes)
        gained = sum(
            float(p) * instance.copies * len(set(instance.planted) & set(o)) for o, p in found.items()
        )
        assert instance.k * instance.copies - gained >= instance.least_loss


def test_the_bound_beats_the_printed_constant():
    """The source has k ln(n/k) / (20 epsilon)."""
    for size, k, epsilon in ((10_000, 10, 0.1), (1000, 100, 0.5)):
        instance = facility.theorem_47(size=size, k=k, epsilon=epsilon, rng=unsafe_seeded(3))
        assert instance.least_loss > 3 * k * math.log(size / k) / (20 * epsilon)


@pytest.mark.parametrize("side", [10, 30, 100])
def test_nobody_publishes_good_facilities(side):
    """All independent private decisions, at the corners of what privacy allows, cost at least the bound."""
    instance = facility.corollary_48(side=side, epsilon=1, rng=unsafe_seeded(4))
    bound = facility.facility_ratio(instance)
    assert bound > side / 8
    grown = float(1 / exp_fraction(Fraction(1)))
    corners = [(0, 0), (1, 1), (1 / (1 + grown), grown / (1 + grown))]
    for empty, wanted in corners:
        opened = (instance.size - instance.k) * empty + instance.k * wanted
        assert opened / side + instance.k * (1 - wanted) >= bound
    assert facility.facility_cost(instance, instance.planted) == pytest.approx(1)
    assert facility.facility_cost(instance, ()) == side
    assert facility.facility_cost(instance, range(instance.size)) == pytest.approx(side)


def test_hard_instances_refuse_what_makes_no_sense():
    for bad in ({"k": 0}, {"k": 5}, {"epsilon": 0}, {"size": 1}):
        with pytest.raises(InvalidParameter):
            facility.theorem_47(**{"size": 5, "k": 2, "epsilon": 1, **bad})
    with pytest.raises(InvalidParameter):
        facility.corollary_48(side=1, epsilon=1)
