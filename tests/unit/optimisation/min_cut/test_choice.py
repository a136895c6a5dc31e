"""The sampler of cuts: exact in law whether it lists many cuts, few or none."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.optimisation.min_cut import choice as min_cut_choice
from discreet.optimisation.min_cut.choice import CutChoice, ManyCuts, outside_log_mass
from discreet.optimisation.min_cut.trees import all_cut_costs, certified_minimum, packings
from discreet.testing import unsafe_seeded


def weights_of(size, seed, star=0):
    generator = np.random.default_rng(seed)  # noqa: TID251 - test data
    upper = np.triu(generator.integers(0, 4, size=(size, size)), 1)
    upper[0, 1:] += star
    return upper + upper.T


def p_value(counts, law, draws):
    expected = np.array([float(p) for p in law.values()]) * draws
    observed = np.array([counts.get(side, 0) for side in law])
    common = expected > 8
    rare = expected[~common].sum()
    if rare > 1:
        expected, observed = (
            np.append(expected[common], rare),
            np.append(observed[common], observed[~common].sum()),
        )
    return chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def z_score(counts, law, weights, draws):
    """Compare the mean cost, which is all that a sample says about the rate, with that of a law."""
    costs = np.array([int(weights[np.ix_(side, _others(side, len(weights)))].sum()) for side in law])
    p = np.array([float(q) for q in law.values()])
    mean = p @ costs
    spread = np.sqrt(p @ (costs - mean) ** 2 / draws)
    observed = np.array([counts.get(side, 0) for side in law]) @ costs / draws
    return abs(observed - mean) / spread


def _others(side, size):
    return [v for v in range(size) if v not in side]


@pytest.mark.parametrize(
    ("graph", "rate", "wanted"),
    [((8, 2, 0), Fraction(2, 5), 0.0), ((7, 4, 1), Fraction(3, 10), 4.0)],
    ids=["half the mass listed", "hardly any listed"],
)
def test_the_sampler_has_the_law_and_no_other(monkeypatch, graph, rate, wanted):
    """False alarms: 2e-6 a case. A rate that is off by a tenth is found with probability above 0.99."""
    monkeypatch.setattr(min_cut_choice, "_WANTED", wanted)
    weights, draws, rng = weights_of(*graph), 3000, unsafe_seeded(graph[1])
    cuts, counts = ManyCuts(weights, rate, *certified_minimum(weights)), {}
    for _ in range(draws):
        side = cuts.draw(rng)
        counts[side] = counts.get(side, 0) + 1
    laws = {factor: dict(CutChoice(rate * factor / 10, Fraction(1)).law(weights)) for factor in (9, 10, 11)}
    assert p_value(counts, laws[10], draws) > 1e-6
    assert z_score(counts, laws[10], weights, draws) < 4.9
    assert z_score(counts, laws[9], weights, draws) > 4.9
    assert z_score(counts, laws[11], weights, draws) > 4.9


def test_all_cuts_and_the_list_are_the_same_mechanism(monkeypatch):
    weights, choice = weights_of(6, 3), CutChoice(Fraction(2), Fraction(1))
    sides = {choice.sample(weights, unsafe_seeded(seed)) for seed in range(30)}
    monkeypatch.setattr(min_cut_choice, "SMALL", 1)
    assert sides & {choice.sample(weights, unsafe_seeded(seed)) for seed in range(30)}
    assert CutChoice(Fraction(2), Fraction(1), floor=1000).sample(weights, unsafe_seeded(1)) == ()


def test_a_graph_in_pieces_is_drawn_from_too(monkeypatch):
    monkeypatch.setattr(min_cut_choice, "SMALL", 1)
    weights = np.zeros((4, 4), dtype=np.int64)
    weights[0, 1] = weights[1, 0] = 3
    choice, rng = CutChoice(Fraction(1), Fraction(1)), unsafe_seeded(7)
    drawn = [choice.sample(weights, rng) for _ in range(200)]
    law = dict(choice.law(weights))
    assert set(drawn) <= set(law)
    free = sum(float(p) for side, p in law.items() if 1 not in side)
    assert abs(sum(1 not in side for side in drawn) / 200 - free) < 0.1


def test_below_the_floor_there_is_no_cut():
    weights = weights_of(5, 0, 3)
    least = int(all_cut_costs(weights).min())
    assert dict(CutChoice(Fraction(1), Fraction(1), floor=least + 1).law(weights)) == {(): 1}
    assert () not in dict(CutChoice(Fraction(1), Fraction(1), floor=least).law(weights))
    assert CutChoice(Fraction(1), Fraction(1), floor=least + 1).sample(weights, unsafe_seeded(1)) == ()


def test_the_distance_is_the_weight_that_changed():
    weights = weights_of(5, 0, 3)
    other = weights.copy()
    other[1, 2] += 6
    other[2, 1] += 6
    assert CutChoice(Fraction(1), Fraction(6)).distance(weights, other) == 6
    moved = all_cut_costs(other) - all_cut_costs(weights)
    assert moved.max() - moved.min() == 6


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
def test_the_mass_outside_the_list_is_bounded(rate):
    """On every graph tried, for every packing and every length of the list; and the bound is not idle."""
    closest = -np.inf
    for seed in range(40):
        weights = weights_of(7, seed, seed % 4)
        costs = all_cut_costs(weights)
        least = int(costs.min())
        for packing in packings(weights):
            for most in range(least - 1, least + 12):
                outside = np.exp(-rate * (costs[costs > most] - least)).sum()
                bound = outside_log_mass(7, Fraction(rate), packing.value, least, most)
                assert np.log(outside or 1e-300) <= bound
                closest = max(closest, np.log(outside or 1e-300) - bound)
            if len(packing.trees) >= 16 or packing.value == 0:
                break
    assert closest > -3


@pytest.mark.parametrize("size", [4, 5])
def test_lemma_16_few_cuts_are_near_the_smallest(size):
    """[Roth10]: at most n^(2 alpha) cuts cost no more than alpha times the smallest; cycles have the most."""
    closest = 0.0
    cycle = np.roll(np.eye(size, dtype=np.int64), 1, axis=0)
    for weights in [cycle + cycle.T, *(weights_of(size, seed, seed % 3) for seed in range(60))]:
        costs = all_cut_costs(weights)
        least = int(costs.min())
        for times in range(1, 2 * size) if least else ():
            near = int((2 * costs <= times * least).sum())
            assert near <= size**times
            closest = max(closest, near / size**times)
    assert closest > 0.2
