"""Smaller slips of the sources: a quantifier, a factor, a sum in the wrong place, a shared counter."""

import itertools
import math

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove


def test_definition_7_promises_all_databases_at_once_and_no_mechanism_does():
    """[Roth10]. Noise of scale 1 reaches 3 one time in 14, and on one of a hundred tables nearly surely."""
    missed = 2 * math.exp(-3) / (1 + math.exp(-1))
    assert missed < 1 / 13
    assert 1 - (1 - missed) ** 100 > 0.99


def test_theorem_27_planted_halves_are_two_steps_apart():
    """[Roth10]. Its proof compares halves that differ in a member: one leaves, one comes: e^(2 alpha)."""
    people = AddRemove("row")
    for one, other in itertools.combinations(itertools.combinations(range(4), 2), 2):
        apart = people.distance(one, other)
        assert apart >= 2 and apart == len(set(one) ^ set(other))


def test_claim_14_needs_a_small_alpha_not_a_large_one():
    """[Roth10] Claim 14 and Theorem 17 ask for alpha of at least something. At 8 a table can be kept.

    The exponential mechanism over all pairs of eight rows, scored by how many rows of the data they hold.
    """
    tables, alpha = list(itertools.combinations(range(8), 2)), 8

    def share_kept(exponent):
        weights = [math.exp(exponent * len({0, 1} & set(table))) for table in tables]
        return sum(w for w, t in zip(weights, tables, strict=True) if {0, 1} & set(t)) / sum(weights)

    # One row that is replaced moves the score by one, so alpha / 2 in the exponent is alpha-private.
    assert share_kept(alpha / 2) > 0.99, "half of the rows are in it nearly surely, not with less than 1/2"
    assert share_kept(0.05) < 1 / 2


def test_propositions_15_and_16_are_about_many_bits():
    """[Roth10], printed for one: a function of three bits is the sum of eight parities, and of no two."""
    points = np.array(list(itertools.product((-1, 1), repeat=3)))
    signs = np.array(
        [points[:, list(s)].prod(axis=1) for k in range(4) for s in itertools.combinations(range(3), k)]
    )
    values = np.random.default_rng(3).normal(size=8)  # noqa: TID251
    weights = signs @ values / 8
    assert weights @ signs == pytest.approx(values)
    assert (values**2).mean() == pytest.approx((weights**2).sum())
    assert np.count_nonzero(np.abs(weights) > 1e-3) > 2


def list_cuts(edges, slack):
    """Return the cuts of four vertices within `slack` of the smallest, each as the side of vertex 0."""
    sides = [frozenset({0, *rest}) for k in range(3) for rest in itertools.combinations((1, 2, 3), k)]
    costs = {side: sum((a in side) != (b in side) for a, b in edges) for side in sides}
    return {side for side, cost in costs.items() if cost <= min(costs.values()) + slack}


def test_section_7_3_a_list_of_near_minimum_cuts_tells_of_an_edge():
    """[Roth10], remark after Theorem 41: a cut that only one of two neighbours lists gives the edge away."""
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    without, with_edge = list_cuts(square[:-1], slack=0), list_cuts(square, slack=0)
    assert without - with_edge or with_edge - without
    assert any(not list_cuts(square, slack) <= list_cuts([*square, (0, 2)], slack) for slack in (0, 1))


def test_theorem_40_the_tail_has_a_factor_and_one_minus_is_too_much():
    """[Roth10]. (7.5) gives (e^(epsilon / 2) + 1) / n^2 at b = 8 ln n / epsilon, not 1 / n^2."""
    for epsilon, n in ((0.5, 10), (1.0, 50)):
        b = math.ceil(8 * math.log(n) / epsilon)
        summed = (math.exp(epsilon) - 1) * sum(
            math.exp(-epsilon * t / 2) * n**2 for t in range(b + 1, b + 5000)
        )
        assert 1 / n**2 < summed <= (math.exp(epsilon / 2) + 1) / n**2
        assert 1 - 1 / n**2 > 0.98  # which is printed twice as a bound on a failure


def test_section_13_1_the_sum_belongs_outside_of_the_square():
    """[DR14]. As printed every slope fits points at 1 and -1 alike."""
    x, y = np.array([1.0, -1.0]), np.array([1.0, -1.0])
    printed = [abs((slope * x - y).sum()) ** 2 for slope in (-5, 0, 1, 7)]
    meant = [((slope * x - y) ** 2).sum() for slope in (-5, 0, 1, 7)]
    assert len(set(printed)) == 1 and int(np.argmin(meant)) == 2


def test_figure_12_1_the_blocks_of_t_leave_the_last_step_out():
    """[DR14]. Steps are counted from 0, so t + 1 of them have happened at t."""
    for t in range(64):
        of_t = sum(1 << place for place in range(7) if t >> place & 1)
        of_next = sum(1 << place for place in range(7) if (t + 1) >> place & 1)
        assert of_t == t and of_next == t + 1


def test_algorithm_5_says_nothing_below_ten_to_the_twenty_rows():
    """[HRU13]. tau, a share of the rows, as printed: 1024 cells, 1000 queries, epsilon 1."""

    def tau(n, cells=1024, queries=1000, beta=0.05, delta=1e-6):
        logs = math.log(cells) ** 0.75 * (math.log(4 * queries / beta) * math.log(4 / delta)) ** 1.25
        return 80_000 * logs / n**0.4

    assert tau(10**6) > 10**5 and tau(10**20) > 1 > tau(10**21)


def answer_until(bad, limit):
    """Return how many of some queries Algorithm 5 answers before its counter r stops everybody."""
    answered = 0
    for query_is_bad in bad:
        if limit == 0:
            break
        answered += 1
        limit -= query_is_bad
    return answered


def test_algorithm_5_one_more_bad_query_stops_all_the_others():
    """[HRU13]. `while r < R` counts everybody's bad rounds, without noise: one more is seen."""
    others = [True, False, True, False, False]
    assert answer_until(others, 3) == len(others)
    hidden_first = answer_until([True, *others], 3) - 1
    assert hidden_first < len(others)
