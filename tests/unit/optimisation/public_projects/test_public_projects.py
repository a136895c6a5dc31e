"""Public projects: what agents say, the loss of choices in which nobody counts twice, two mechanisms."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.loss import BoundedRangeLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.optimisation.common.repeated_choices import SequentialLoss, sequential_range
from discreet.optimisation.public_projects.agents import read_agents
from discreet.optimisation.public_projects.public_projects import PublicProjects
from discreet.optimisation.public_projects.public_projects_sampled import PublicProjectsSampled, SampledGreedy
from discreet.testing import unsafe_seeded

AGENT = AddRemove("agent")
ONE = Fraction(1)


def wishes_of(agents, items, share, seed):
    return np.random.default_rng(seed).random((agents, items)) < share  # noqa: TID251 - test data


def covered(table, chosen):
    return int(table[:, list(chosen)].any(axis=1).sum())


def make(kind=PublicProjects, **changes):
    given = {"resources": 6, "k": 2, "epsilon": 1, "neighbours": AGENT, **changes}
    return kind(**({"delta": 0} if kind is PublicProjects else {}) | given)


@pytest.mark.parametrize(
    ("rounds", "golden"), [(2, 0.5081), (3, 0.3503), (5, 0.2328), (10, 0.1550), (20, 0.1212), (100, 0.0972)]
)
def test_calibration_against_an_independent_search(rounds, golden):
    assert float(sequential_range(ONE, Fraction(1, 10**6), rounds)) == pytest.approx(golden, abs=6e-5)


def test_endless_rounds_have_a_limit():
    wide = sequential_range(ONE, Fraction(1, 10**6), 10**6)
    assert float(wide) == pytest.approx(0.0916, abs=5e-5)
    c = math.exp(wide)
    limit = -math.expm1(-float(wide)) * math.exp(-(1 + float(wide)) / (c - 1))
    assert SequentialLoss(wide, 10**6).delta(1) == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0, 0.1, 0.5, 0.9, 0.999])
def test_one_round_is_a_choice_of_bounded_range(epsilon):
    one, other = SequentialLoss(ONE, 1), BoundedRangeLoss(ONE)
    assert one.delta(epsilon) == pytest.approx(other.delta(epsilon), rel=1e-9, abs=1e-12)
    assert one.delta(epsilon) >= other.delta(epsilon) * (1 - 1e-12)
    assert one.zcdp() == pytest.approx(other.zcdp())


def test_the_views_of_the_loss_agree():
    loss = SequentialLoss(Fraction(1, 5), 7)
    assert loss.epsilon(0) == pytest.approx(1.4) and loss.delta(1.4) == 0 and loss.delta(1.39) > 0
    assert loss.exact_epsilon() == Fraction(7, 5) and loss.failure == 0
    for delta in (1e-2, 1e-5):
        assert loss.delta(loss.epsilon(delta)) <= delta
        assert loss.delta(loss.epsilon(delta) * 0.999) > delta
    deltas = [loss.delta(Fraction(k, 50)) for k in range(71)]
    assert deltas == sorted(deltas, reverse=True)
    assert loss.renyi(1.5) <= 1.5 * loss.zcdp()
    assert loss.renyi(1e6) == pytest.approx(1.4)
    assert "7 rounds" in str(loss)


def test_the_divergence_of_endless_rounds_is_used_where_it_is_smaller():
    many = SequentialLoss(Fraction(1, 10), 10**5)
    c = math.exp(0.1)
    wanted = (-math.log(2 - c) - 0.1) / 1
    assert many.renyi(2) == pytest.approx(wanted, rel=1e-6)
    assert many.renyi(2) < many.zcdp()
    assert many.renyi(c / (c - 1) + 1) == pytest.approx(min(many.zcdp() * (c / (c - 1) + 1), 10**4))


def test_a_range_beyond_all_floats_promises_nothing_below_its_pure_loss():
    loss = SequentialLoss(Fraction(1000), 2)
    assert loss.delta(1) == 1.0 and loss.delta(2000) == 0.0
    assert loss.renyi(2) <= 2000


@pytest.mark.parametrize("bad", [{"range_": 0}, {"range_": -1}, {"range_": math.nan}, {"rounds": 0}])
def test_a_loss_refuses_what_makes_no_sense(bad):
    with pytest.raises(InvalidParameter):
        SequentialLoss(**{"range_": ONE, "rounds": 1, **bad})


def test_every_way_to_say_the_same_wishes_gives_the_same_gains():
    table = wishes_of(40, 6, 0.3, seed=1)
    sets = [tuple(np.flatnonzero(row)) for row in table]
    repeated = [(*row, *row, 77, -1) for row in sets]
    functions = [lambda items, row=frozenset(row): int(bool(items & row)) for row in sets]
    twice = sparse.coo_array(
        (np.ones(2 * table.sum()), np.tile(np.array(np.nonzero(table)), 2)), shape=table.shape
    )
    ways = [
        table,
        table.astype(int) * 5,
        sparse.csr_array(table),
        sparse.coo_matrix(table),
        twice.tocsr(),
        sets,
    ]
    states = [read_agents(way, 6, ONE).begin() for way in (*ways, repeated, functions)]
    chosen = []
    for item in (2, 5, 0):
        wanted = [
            covered(table, [*chosen, j]) - covered(table, chosen) if chosen else table[:, j].sum()
            for j in range(6)
        ]
        for state in states:
            assert state.gains().tolist() == wanted
            state.take(item)
        chosen.append(item)


def test_an_agent_gets_one_unit_in_all_whatever_its_function_says():
    odd = [
        lambda items: 10 * len(items),
        lambda items: -len(items),
        lambda items: math.nan,
        lambda items: 1 / 0,
        lambda items: 1.0 if len(items) == 1 else 0.0,
    ]
    state = read_agents(odd, 3, Fraction(1, 4)).begin()
    assert state.gains().tolist() == [8, 8, 8]
    state.take(1)
    assert state.gains().tolist() == [0, 0, 0], "what an agent got is never taken back"
    fractional = read_agents([lambda items: min(1.0, 0.4 * len(items))], 3, Fraction(1, 10)).begin()
    for gain in (4, 4, 2):
        assert set(fractional.gains().tolist()) >= {gain}
        fractional.take({4: 0, 2: 2}[gain] if gain == 2 else len(fractional._chosen))


def test_odd_data_are_refused():
    for odd in (object(), None, "text", np.ones(3), np.ones((2, 5))):
        with pytest.raises(InvalidParameter):
            read_agents(odd, 6, ONE)
    with pytest.raises(InvalidParameter, match="grid"):
        read_agents(np.ones((2, 6)), 6, Fraction(1, 2))


def test_no_refusal_tells_how_many_agents_there_are():
    """Who takes part is hidden, and an error is an answer that nobody paid for."""
    for table in (np.ones, lambda shape: sparse.csr_array(np.ones(shape))):
        with pytest.raises(InvalidParameter) as few:
            read_agents(table((2, 5)), 6, ONE)
        with pytest.raises(InvalidParameter, match="pass 6 columns") as many:
            read_agents(table((991, 5)), 6, ONE)
        assert str(few.value) == str(many.value)


def test_an_agent_without_end_keeps_nobody_waiting():
    assert gains([(0,), itertools.cycle([0, 2]), itertools.count(), range(1, 10**18)]) == [3, 2, 3]


def gains(agents, unit=ONE):
    return read_agents(agents, 3, unit).begin().gains().tolist()


def test_no_entry_of_a_table_decides_how_others_are_read():
    crowd = [[1, 0, 0], [1, 0, 1]]
    for odd in (math.nan, None, "x", object(), [0]):
        array = np.empty((3, 3), dtype=object)
        array[:2], array[2, 0], array[2, 1], array[2, 2] = crowd, odd, 0, False
        assert gains(array) == gains(np.array(crowd)) == [2, 0, 1]
    assert gains(np.array([*crowd, [math.nan, 0, 0]])) == [2, 0, 1]
    assert gains(sparse.csr_array(np.array([*crowd, [math.nan, 0, 0]]))) == [2, 0, 1]
    assert read_agents([(0,), (), None, (9,)], 3, ONE).count == 1, "who wants nothing is not sampled either"
    assert read_agents(np.array([*crowd, [0, 0, 0]]), 3, ONE).count == 2


def test_no_agent_decides_whether_there_is_an_answer():
    """Whatever one agent is, the others count as they would without, and what he wants is wanted in vain."""
    crowd = [(0,), (0, 2)]
    for odd in (1, None, ("a",), (math.inf,), (7,), object(), 1.5, (x for x in [None])):
        assert gains([*crowd, odd]) == gains(crowd) == [2, 0, 1]
    half = Fraction(1, 2)
    assert gains([], half) == [0, 0, 0]
    assert gains(crowd, half) == [4, 0, 2]
    assert gains([*crowd, lambda items: len(items & {1}) / 2], half) == [4, 1, 2]
    mechanism = PublicProjects(
        resources=3, k=1, epsilon=1, delta=0, neighbours=AddRemove("agent"), grid=Fraction(1, 4)
    )
    for agents in ([], [lambda items: 0.25 * len(items)], [(0,)], [None]):
        assert len(mechanism.release(agents).value) == 1
    mixed, other = read_agents([*crowd, len], 3, ONE), read_agents([(2, 0), len], 3, ONE)
    assert mixed.distance(other) == 1


def test_agents_are_counted_where_they_differ():
    one, other = read_agents([(0,), (0, 1), (2,)], 3, ONE), read_agents([(1, 0), (0,)], 3, ONE)
    assert one.distance(other) == other.distance(one) == 1
    f, g = (lambda items: 0), (lambda items: 1)
    assert read_agents([f, g], 3, ONE).distance(read_agents([g], 3, ONE)) == 1
    assert read_agents([f, g], 3, ONE).keep(np.array([False, True])).rows() == (g,)
    assert one.count == 3


@pytest.mark.parametrize("kind", [PublicProjects, PublicProjectsSampled])
def test_planted_groups_are_found(kind):
    wishes = [(item,) for item in (1, 4, 5) for _ in range(400)]
    value = make(kind, k=3, epsilon=2).release(wishes, rng=unsafe_seeded(3)).value
    assert sorted(value) == [1, 4, 5]


@pytest.mark.parametrize("kind", [PublicProjects, PublicProjectsSampled])
def test_functions_are_maximised_too(kind):
    """Agents whose two items together are worth more than either; values on a grid of tenths."""
    agents = [lambda items: 0.5 * (1 in items) + 0.5 * (3 in items)] * 300
    mechanism = make(kind, resources=5, epsilon=1, grid=Fraction(1, 10))
    assert sorted(mechanism.release(agents, rng=unsafe_seeded(4)).value) == [1, 3]


def test_a_bar_changes_nothing():
    for kind in (PublicProjects, PublicProjectsSampled):
        plain, table = make(kind), wishes_of(30, 6, 0.3, seed=2)
        with_bar = plain.release(table, rng=unsafe_seeded(5), progress=True)
        assert with_bar.value == plain.release(table, rng=unsafe_seeded(5)).value


@pytest.mark.parametrize(
    "mechanism",
    [
        make(epsilon=0.5, resources=10, k=3),
        make(epsilon=0.5, delta=1e-6, resources=10, k=3),
        make(PublicProjectsSampled, epsilon=0.5, resources=10, k=3),
    ],
    ids=["pure", "delta", "sampled"],
)
def test_the_accuracy_theorem_holds(mechanism):
    """At beta 0.2 a right bound fails more than 20 times in 40 with probability below 1e-5."""
    table = wishes_of(2000, 10, 0.15, seed=6)
    table[:, :3] = False
    optimum = max(covered(table, chosen) for chosen in itertools.combinations(range(10), 3))
    factor = getattr(mechanism, "ratio", 1 - 1 / math.e)
    bound = factor * optimum - mechanism.error(0.2)
    values = [covered(table, mechanism.release(table, rng=unsafe_seeded(s)).value) for s in range(40)]
    assert bound > 0 or isinstance(mechanism, PublicProjectsSampled)
    assert sum(value < bound for value in values) <= 20


@pytest.mark.parametrize("kind", [PublicProjects, PublicProjectsSampled])
def test_values_that_are_rounded_have_no_bound(kind):
    """Half a thousand agents of whom each wants an item by a quarter of a unit look as if none did."""
    fine = make(kind, grid=Fraction(1, 4))
    with pytest.raises(NoBound, match="rounded_error"):
        fine.error(0.05)
    assert fine.rounded_error(0.05) > 0
    assert make(kind).rounded_error(0.05) == make(kind).error(0.05)


def test_the_bound_shrinks_with_the_budget():
    assert make(epsilon=1).error(0.05) < make(epsilon=0.5).error(0.05)
    assert make(PublicProjectsSampled).error(0.05) < make(PublicProjectsSampled, epsilon=0.1).error(0.05)
    assert make(delta=1e-6, k=6, resources=60).error(0.05) < make(k=6, resources=60).error(0.05)


def test_the_printed_exponent_is_29_times_smaller():
    public = {"resources": 10**5, "k": 5000, "epsilon": 1, "delta": 1e-6}
    tight, printed = make(**public), make(**public, calibration="thesis")
    assert float(printed.range_) == pytest.approx(1 / (8 * math.e * math.log(2e6)), rel=1e-9)
    assert tight.range_ > 28 * printed.range_
    assert printed.guarantee.implies(epsilon=1, delta=1e-6)
    assert tight.guarantee.implies(epsilon=1, delta=1e-6)
    assert not tight.guarantee.implies(epsilon=0.99, delta=1e-6)


def test_the_sample_share_and_the_exponent_use_up_epsilon_exactly():
    for epsilon in (0.01, 0.1, 1, 5, 40):
        mechanism = make(PublicProjectsSampled, epsilon=epsilon)
        share, grown = mechanism.share, math.exp(mechanism.range_)
        assert share <= -math.expm1(-epsilon) + 1e-16
        assert math.log1p(share * (grown - 1)) == pytest.approx(epsilon, rel=1e-9)
        assert epsilon == 40 or -math.log1p(-share) == pytest.approx(epsilon, rel=1e-9)


def test_truthfulness_is_far_below_the_printed_bound():
    mechanism = make(resources=100, k=10, epsilon=0.5, delta=1e-6)
    assert 0 < mechanism.truthfulness < 0.1 * (2 * 0.5 + 1e-6)
    assert make(PublicProjectsSampled, epsilon=0.1).truthfulness < 0.05
    assert make(epsilon=100).truthfulness == 1.0


def test_bad_parameters_are_refused():
    for kind in (PublicProjects, PublicProjectsSampled):
        for bad in ({"k": 0}, {"k": 7}, {"resources": 0}, {"grid": 2}, {"grid": 0.3}, {"grid": 0}):
            with pytest.raises(InvalidParameter):
                make(kind, **bad)
        with pytest.raises(NeighboursMismatch):
            make(kind, neighbours=Replace("agent"))
    for delta in (0, 0.6):
        with pytest.raises(InvalidParameter, match="delta"):
            make(delta=delta, calibration="thesis")


def test_the_sampler_on_a_secret_sample_has_its_law():
    """12,000 draws; a false alarm has probability 1e-6, an exponent or a share off by a tenth is found."""
    draws, agents = 12_000, read_agents([(0,)] * 4 + [(1,)] * 2, 3, ONE)
    step = SampledGreedy(2, ONE, ONE, int(0.9 * 2**64))
    rng = unsafe_seeded(11)
    seen = Counter(step.sample(agents, rng) for _ in range(draws))

    def p_value(tested):
        law = dict(tested.law(agents))
        assert sum(law.values()) == pytest.approx(1)
        expected = [float(law[order]) * draws for order in sorted(law)]
        return stats.chisquare([seen[order] for order in sorted(law)], expected, sum_check=False).pvalue

    assert p_value(step) > 1e-6
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert p_value(SampledGreedy(2, factor, ONE, step.kept)) < 1e-6
        assert p_value(SampledGreedy(2, ONE, ONE, int(factor * step.kept))) < 1e-6


WANTED = ((0,), (0, 1), (2,), (2, 3))


def chance_of(order, sample):
    """Return the probability of an order of choices on one sample, by its definition."""
    chance = 1.0
    for place, item in enumerate(order):
        open_ = [wanted for wanted in sample if not set(wanted) & set(order[:place])]
        left = [other for other in range(4) if other not in order[:place]]
        weights = {other: math.exp(0.5 * sum(other in wanted for wanted in open_)) for other in left}
        chance *= weights[item] / sum(weights.values())
    return chance


@pytest.mark.parametrize("unit", [ONE, Fraction(1, 2)])
def test_the_law_on_a_secret_sample_is_that_of_its_definition(unit):
    """The law runs the code that draws: both would be wrong together. Here it is written down again."""
    data = WANTED if unit == 1 else [lambda s, w=w: float(bool(s & set(w))) for w in WANTED]
    law = dict(SampledGreedy(2, Fraction(1, 2), unit, 3 << 62).law(read_agents(data, 4, unit)))
    assert set(law) == set(itertools.permutations(range(4), 2))
    samples = [s for size in range(5) for s in itertools.combinations(WANTED, size)]
    for order, found in law.items():
        chances = [0.75 ** len(s) * 0.25 ** (4 - len(s)) * chance_of(order, s) for s in samples]
        assert float(found) == pytest.approx(sum(chances), rel=1e-12)


def test_no_grid_is_so_fine_that_ten_agents_are_too_many():
    """Values of 10^18 units left 64 bits, and the error came with the tenth agent."""
    with pytest.raises(InvalidParameter, match="at most 1,000,000,000"):
        make(grid=Fraction(1, 10**18))
    finest = make(resources=3, k=1, grid=Fraction(1, 10**9))
    assert len(finest.release([lambda items: float(bool(items))] * 40, rng=unsafe_seeded(1)).value) == 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["array", "sparse"])
def test_a_table_of_another_width_is_refused_without_its_length(kind):
    mechanism, words = make(resources=4, k=2), set()
    for agents in (3, 5003):
        with pytest.raises(InvalidParameter, match="table of agents by items") as refused:
            mechanism.release(kind(np.zeros((agents, 5))))
        words.add(str(refused.value))
    assert len(words) == 1
