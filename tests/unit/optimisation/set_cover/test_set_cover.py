"""Set covers: public sets, private elements, an assignment for everybody."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

from discreet.core.bounds import read_error
from discreet.core.errors import InvalidParameter, NoBound
from discreet.optimisation import cover_elements
from discreet.optimisation.common.repeated_choices import sampled_rate, thesis_rate
from discreet.optimisation.hard_instances.random_subsets import theorem_60
from discreet.optimisation.set_cover.greedy import GRID, Greedy, Halving, SampledRun, run_law
from discreet.optimisation.set_cover.set_cover import SetCover
from discreet.optimisation.set_cover.set_cover_exhaustive import SetCoverExhaustive, sets_used
from discreet.optimisation.set_cover.set_cover_layered import SetCoverLayered, layers
from discreet.optimisation.set_cover.set_cover_sampled import SetCoverSampled
from discreet.optimisation.set_cover.set_cover_split import SetCoverSplit, split
from discreet.optimisation.set_cover.set_cover_weighted import SetCoverWeighted
from discreet.optimisation.set_cover.systems import Assignment, Part, SetSystem
from discreet.testing import unsafe_seeded

TOWN = {"north": ("ann", "bob", "cy"), "south": ("cy", "dee"), "east": ("dee",)}


def test_every_kind_of_family_reads_the_same():
    rows = np.array([[1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    for family in (rows, rows.astype(bool), sparse.csr_matrix(rows), [[0, 1, 2], [2, 3], [3]]):
        system = SetSystem.of(family)
        assert system.names == (0, 1, 2) and system.elements == (0, 1, 2, 3)
        assert system == SetSystem.of(rows) and hash(system) == hash(SetSystem.of(rows))
        assert system.sizes(np.array([True, False, True, True])).tolist() == [2, 2, 1]
        assert sorted(system.holders(np.array([2, 3])).tolist()) == [0, 1, 1, 2]
    assert SetSystem.of(TOWN) != SetSystem.of(rows)
    assert SetSystem.of([{2, 1}]) == SetSystem.of([{1, 2}])


def test_a_system_is_frozen_and_prints_no_element():
    system = SetSystem.of(TOWN)
    with pytest.raises(AttributeError):
        system.names = ()
    assert repr(system) == "<3 sets, 4 elements>" and SetSystem.of(system) == system
    for bad in ("abc", 3, [], {}, [[]], ["abc"], [3]):
        with pytest.raises(InvalidParameter):
            SetSystem.of(bad)


def test_private_elements_are_read_and_what_is_none_counts_nowhere():
    system = SetSystem.of(TOWN)
    assert system.read(["dee", "ann", "dee"]).tolist() == [True, False, False, True]
    flags = np.array([True, False, False, True])
    assert system.read(flags).tolist() == flags.tolist()
    for odd in ("zoe", None, 3, ["ann"], object(), math.nan, 10**400, {}, Decimal("sNaN")):
        assert system.read(["dee", odd, "ann"]).tolist() == flags.tolist()
    for bad in (None, 3, "ann", np.array([True]), np.array([["ann"]]), sparse.eye(4)):
        with pytest.raises(InvalidParameter, match="got something else"):
            system.read(bad)
    numbers = SetSystem.of([[0, 1, 2, 3]])
    for last in (7, 2**63, 0.5, math.nan, None):
        assert numbers.read(np.array([0, 3, last])).tolist() == flags.tolist()


def test_an_assignment_sends_everybody_to_the_first_set():
    system = SetSystem.of(TOWN)
    found = Assignment((Part(("east", "south", "north"), system),))
    assert [found.assignment(name) for name in ("ann", "cy", "dee")] == ["north", "south", "east"]
    assert found.permutation == ("east", "south", "north")
    assert found.cover(["cy", "dee"]) == {"south", "east"}
    assert found.instruction("cy") == "If you are cy, use south."
    with pytest.raises(InvalidParameter):
        found.assignment("zoe")
    lonely = SetSystem.of(np.array([[1, 0]]))
    with pytest.raises(InvalidParameter, match="at least one set"):
        Part((0,), lonely).first(1)


def test_the_front_door_covers_everyone():
    for costs in (None, (1, 2, 3)):
        found = cover_elements(TOWN, ["ann", "dee"], epsilon=1, costs=costs, rng=unsafe_seeded(2)).value
        assert sorted(found.permutation) == ["east", "north", "south"]
        assert found.assignment("ann") == "north"


def test_the_rate_is_exact_and_the_printed_one_far_smaller():
    many = SetCover(family=sparse.eye(5000, format="csr"), epsilon=1, delta=1e-6)
    printed = SetCover.as_printed(family=sparse.eye(5000, format="csr"), epsilon=1, delta=1e-6)
    assert float(many.rate) == pytest.approx(0.0917, abs=1e-4)
    assert float(printed.rate) == pytest.approx(0.03375, abs=1e-5)
    assert (
        many.loss.delta(1)
        <= 1e-6
        < SetCover(family=sparse.eye(5000, format="csr"), epsilon=1, delta=1.1e-6).loss.delta(1)
    )
    assert printed.loss.delta(1) < 1e-14
    assert thesis_rate(Fraction(1), Fraction(1, 10**6)) <= Fraction(1) / Fraction(2 * (1 + math.log(1e6)))


def test_the_sampled_rate_just_fits():
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5)):
        e, rate = float(epsilon), float(sampled_rate(epsilon))
        assert rate == pytest.approx(math.log1p(math.exp(e)), rel=1e-10)
        assert math.exp(-e) - math.expm1(-e) * math.exp(rate) <= math.exp(e) * (1 + 1e-15)


SYSTEM = SetSystem.of([[0, 1, 2], [2, 3], [3], []])
PLANS = {
    "greedy": Greedy(SYSTEM, Fraction(1, 2)),
    "halving": Halving(SYSTEM, Fraction(1, 2 * GRID), (4 * GRID, 8 * GRID, 5 * GRID, GRID), GRID, 2),
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("sampled", [False, True])
def test_the_sampler_follows_the_law(name, sampled):
    """Chi-square on 2,000 draws; false-alarm rate 1e-6 each, and a law off by three tenths is rejected."""
    plan, present, rng = PLANS[name], np.array([True, True, False, True]), unsafe_seeded(7)
    law = {}
    step = SampledRun(plan, Fraction(1))
    for order, chance in step.law(present) if sampled else run_law(plan, present):
        law[order] = law.get(order, 0) + chance
    assert abs(sum(law.values()) - 1) < Fraction(1, 10**20)
    counts = dict.fromkeys(law, 0)
    for _ in range(2000):
        counts[step.sample(present, rng) if sampled else plan.run(present, rng.perform)] += 1
    seen, expected = np.array(list(counts.values())), np.array([float(p) for p in law.values()])
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-6
    wrong = expected * np.where(np.arange(expected.size) % 2, 0.7, 1.3)
    assert stats.chisquare(seen, wrong * seen.sum() / wrong.sum()).pvalue < 1e-6


def longest_run(plan):
    """Count the choices of a run that halves as often as it can and then still takes every set."""
    choices = 0

    def perform(_, scores):
        nonlocal choices
        choices += 1
        return len(scores) - 1 if choices < plan.halvings else 0

    plan.run(np.ones(len(plan.system.elements), dtype=bool), perform)
    return choices


@pytest.mark.parametrize("kind", [SetCoverWeighted, SetCoverSplit])
def test_the_loss_is_about_every_choice_and_every_halving(kind):
    """Each of them looks at the elements; a loss of the choices alone passes the audit of tiny covers."""
    made = kind(family=[[0, 1, 2], [2, 3], [3]], costs=(1, 2, 4), epsilon=1, delta=1e-3)
    longest = max(longest_run(plan) for plan in made._plans())
    assert len(made.costs) < longest <= made.loss.rounds <= longest + 1


def planted(groups=20, size=25, noise=200, seed=0):
    """A partition into `groups` sets, hidden among small random ones."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    rows = [range(g * size, (g + 1) * size) for g in range(groups)]
    rows += [generator.choice(groups * size, 5, replace=False).tolist() for _ in range(noise)]
    return [list(row) for row in rows]


def used(found, elements):
    return len(found.cover(elements))


def test_large_planted_sets_are_found_and_the_bounds_hold():
    """20 sets of 25 elements among 200 of 5. Everything is to be covered; 20 sets are enough."""
    family, everyone = planted(), range(500)
    pure = SetCoverSampled(family=family, epsilon=1).release(everyone, rng=unsafe_seeded(1)).value
    assert used(pure, everyone) < 40
    approx = SetCover(family=family, epsilon=4, delta=1e-3)
    found = approx.release(everyone, rng=unsafe_seeded(1)).value
    assert used(found, everyone) <= 20 * approx.error(0.05)
    assert used(found, everyone) < used(
        SetCover.as_printed(family=family, epsilon=4, delta=1e-3)
        .release(everyone, rng=unsafe_seeded(1))
        .value,
        everyone,
    )


def test_the_error_of_a_large_instance_is_the_formula():
    cover = SetCover(family=np.ones((10, 10)), epsilon=1, delta=1e-6)
    with pytest.raises(NoBound, match="no error is above 10 anyhow"):
        cover.error(0.05)
    wide = SetCover(family=sparse.eye(3000, format="csr"), epsilon=20, delta=1e-3)
    gap = (2 * math.log(3000) - math.log(0.05)) / float(wide.rate)
    assert wide.error(0.05) == pytest.approx(1 + 2 * math.log(3000) + 2 * gap)


def test_weighted_covers_prefer_cheap_sets():
    """Every element is in a cheap set of ten and in a dear one of ten; dear ones cost 50 times as much."""
    groups = [list(range(10 * g, 10 * g + 10)) for g in range(20)]
    family, costs = groups + groups, [1] * 20 + [50] * 20
    price = dict(enumerate(costs))
    for made in (
        SetCoverWeighted(family=family, costs=costs, epsilon=8, delta=1e-2),
        SetCoverSplit(family=family, costs=costs, epsilon=8, delta=1e-2),
        SetCoverSampled(family=family, costs=costs, epsilon=1),
    ):
        found = made.release(range(200), rng=unsafe_seeded(4)).value
        total = sum(price[name] for name in found.cover(range(200)))
        assert total <= 20 * read_error(made, 0.05)
        assert total < 20 * 25, "half of the dear sets would cost this much"


def test_weighted_bounds_are_planned_for_one_beta():
    made = SetCoverWeighted(
        family=sparse.eye(400, format="csr"), costs=range(1, 401), epsilon=5, delta=1e-2, beta=0.1
    )
    with pytest.raises(NoBound, match=r"planned with 0\.1"):
        made.error(0.01)
    assert made.error(0.1) < 400 * 401 / 2 and made.error(0.5) == made.error(0.1)
    printed = SetCoverWeighted.as_printed(
        family=sparse.eye(400, format="csr"), costs=range(1, 401), epsilon=5, delta=1e-2, beta=0.1
    )
    assert printed.error(0.1) > made.error(0.1)
    assert printed.loss.delta(5) < made.loss.delta(5) <= 1e-2


def test_costs_far_apart_need_the_split():
    family = np.eye(3, dtype=bool)
    with pytest.raises(InvalidParameter, match="SetCoverSplit"):
        SetCoverWeighted(family=family, costs=(1, 1, 2**60), epsilon=1, delta=0.1).error(0.1)
    made = SetCoverSplit(family=family, costs=(1, 1, 2**200), epsilon=1, delta=0.1)
    found = made.release([0, 2], rng=unsafe_seeded(1)).value
    assert [found.assignment(e) for e in range(3)] == [0, 1, 2]
    with pytest.raises(InvalidParameter):
        found.assignment(7)
    assert read_error(made, 0.01) >= read_error(made, 0.1) >= 1


def test_the_split_keeps_every_element_once_and_spreads_costs_by_n_squared():
    generator = np.random.default_rng(3)  # noqa: TID251
    family = [generator.choice(12, 4, replace=False).tolist() for _ in range(40)]
    costs = tuple(Fraction(10) ** int(k) for k in generator.integers(0, 12, 40))
    system = SetSystem.of(family)
    parts = split(system, costs)
    seen = [element for part, _ in parts for element in part.elements]
    assert sorted(seen) == sorted(system.elements) and len(parts) == 2
    n = len(system.elements)
    assert all(max(prices) <= min(prices) * n**2 for _, prices in parts)


def test_the_exhaustive_cover_counts_sets_and_is_right_when_sure():
    system = SetSystem.of([[0, 1, 2], [0], [1], [2]])
    counts = sets_used(system, np.array([True, True, True]))
    assert counts.min() == 1 and counts.max() == 3 and counts.size == 24
    made = SetCoverExhaustive(family=system, epsilon=60)
    assert made.release([0, 1, 2], rng=unsafe_seeded(1)).value.cover([0, 1, 2]) == {0}
    assert made.error(0.05) == 0
    with pytest.raises(NoBound, match="no error is above 3 anyhow"):
        SetCoverExhaustive(family=system, epsilon=1).error(0.05)
    with pytest.raises(NoBound, match="SetCoverWeighted"):
        SetCoverSampled(family=system, epsilon=1).error(0.05)
    assert SetCoverSampled(family=[[0]], epsilon=1).error(0.05) == 1
    assert sets_used(SetSystem.of(np.array([[1, 0]])), np.array([True, True])).tolist() == [1]
    with pytest.raises(InvalidParameter):
        SetCoverExhaustive(family=np.eye(9), epsilon=1)


def test_the_layered_cover_finds_the_cheap_way():
    family, costs = ([0, 1, 2], [0], [1], [2]), (2, 1, 1, 1)
    assert layers(tuple(map(Fraction, costs))) == (0, 1, 1, 1)
    made = SetCoverLayered(family=family, costs=costs, epsilon=200)
    assert made.release([0, 1, 2], rng=unsafe_seeded(1)).value.cover([0, 1, 2]) == {0}
    assert made.release([1], rng=unsafe_seeded(1)).value.cover([1]) == {2}
    assert made.error(0.05) < 5
    with pytest.raises(NoBound, match="no error is above 5 anyhow"):
        SetCoverLayered(family=family, costs=costs, epsilon=0.1).error(0.05)
    with pytest.raises(InvalidParameter):
        SetCoverLayered(family=np.eye(7), costs=[1] * 7, epsilon=1)


def test_random_subsets_are_hard():
    """One set a copy would do; both algorithms use more than any private one must, which is more."""
    hard = theorem_60(sets=1024, universe=128, epsilon=0.1, copies=2, rng=unsafe_seeded(1))
    assert hard.optimum == 2 and len(hard.elements) == 40 and hard.elements[:20] in hard.family
    assert 3.5 < hard.bound < 4.5
    for made in (
        SetCover(family=hard.family, epsilon=0.1, delta=1e-6),
        SetCoverSampled(family=hard.family, epsilon=0.1),
    ):
        value = made.release(hard.elements, rng=unsafe_seeded(2)).value
        assert used(value, hard.elements) > hard.bound
    with pytest.raises(InvalidParameter, match="Draw more sets"):
        theorem_60(sets=64, universe=64, epsilon=0.1)


def test_the_bound_of_theorem_60_holds_for_every_assignment():
    """Tiny: every assignment of elements to sets serves few sets well, as its proof counts."""
    family = ((0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5))  # two share one element
    options = [[place for place, some in enumerate(family) if element in some] for element in range(6)]
    for chosen in itertools.product(*options):
        served = [len({chosen[element] for element in some}) for some in family]
        for j in (1, 2):
            assert sum(count <= j for count in served) <= 6 / (3 - (j - 1) * 1)


def test_costs_are_refused_under_their_own_name():
    for costs in ((1, -1, 1), (1, 2), "123"):
        for kind, more in ((SetCoverSampled, {}), (SetCoverWeighted, {"delta": 1e-6}), (SetCoverLayered, {})):
            with pytest.raises(InvalidParameter, match=r"^costs must be"):
                kind(family=TOWN, costs=costs, epsilon=1, **more)


def test_a_cover_bought_by_its_error_is_planned_for_the_beta_that_was_asked_for():
    public = {
        "family": [[e, e + 1] for e in range(40)],
        "costs": [1 + e % 5 for e in range(40)],
        "delta": 1e-6,
    }
    bought = SetCoverWeighted.for_error(alpha=100, beta=0.001, **public)
    assert bought.beta == Fraction(1, 1000) and bought.error(0.001) <= 100
