"""What the book's composition statements really give, each with its counterexample or its exact value."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from discreet.accounting import advanced, calibrate, optimal
from discreet.accounting.composition import compose
from discreet.accounting.filters import make_filter
from discreet.audit import output_distribution
from discreet.core.errors import InvalidParameter
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.mechanisms import Laplace

DELTA = math.exp(-32)


def optimum(epsilon, count):
    return optimal.compose_equal(epsilon=epsilon, delta=0, count=count)


def test_example_3_7_gives_813_by_its_own_theorem():
    """Theorem 3.20 at 1/801 exceeds 1, so it justifies 1/813 only."""
    at_801, total = advanced.advanced_composition(epsilon=Fraction(1, 801), count=10_000, slack=DELTA)
    assert at_801 == pytest.approx(1.0143, abs=1e-4)
    assert total == pytest.approx(DELTA)
    assert advanced.advanced_composition(epsilon=Fraction(1, 813), count=10_000, slack=DELTA)[0] <= 1
    assert advanced.advanced_composition(epsilon=Fraction(1, 812), count=10_000, slack=DELTA)[0] > 1


def test_example_3_7_is_private_at_801_and_not_the_limit():
    assert optimum(Fraction(1, 801), 10_000).delta(1) == pytest.approx(1.380e-17, rel=1e-3)
    largest = calibrate.per_step_epsilon(count=10_000, epsilon=1, delta=DELTA)
    assert float(1 / largest) == pytest.approx(715.5, abs=0.05)
    assert optimum(largest, 10_000).delta(1) <= DELTA
    assert optimum(largest * Fraction(1001, 1000), 10_000).delta(1) > DELTA


def test_example_3_7_one_account_lets_bob_into_ten_thousand_data_bases():
    """The budget of `People`: adaptively, and what it lets through is within it by the optimal theorem."""
    account, step = (
        make_filter(epsilon=1, delta=DELTA, neighbours=AddRemove("bob")),
        PureLoss(Fraction(1, 801)),
    )
    places = 0
    while account.try_spend(step):
        places += 1
    assert places == 11_582
    assert optimum(Fraction(1, 801), places).delta(1) <= DELTA < optimum(Fraction(1, 801), 13_000).delta(1)


def test_the_optimum_by_sixty_digits():
    with mp.workdps(60):
        e, k = mp.mpf(1) / 801, 10_000
        p = 1 / (1 + mp.exp(-e))
        truth, j = mp.mpf(0), (k + 801) // 2 + 1
        mass = mp.binomial(k, j) * p**j * (1 - p) ** (k - j)
        while j <= k and mass > mp.mpf("1e-60"):
            truth += mass * -mp.expm1(1 - (2 * j - k) * e)
            mass *= mp.mpf(k - j) / (j + 1) * p / (1 - p)
            j += 1
        claim = mp.mpf(optimum(Fraction(1, 801), k).delta(1))
        assert truth <= claim <= truth * (1 + mp.mpf("1e-6"))


def test_every_route_lies_between_the_optimum_and_theorem_3_20():
    composition = compose(PureLoss(Fraction(1, 801)), counts=[10_000])
    exact = optimum(Fraction(1, 801), 10_000).epsilon(DELTA)
    upper = advanced.advanced_composition(epsilon=Fraction(1, 801), count=10_000, slack=DELTA)[0]
    assert exact <= composition.epsilon(DELTA) * (1 + 1e-12)
    assert composition.epsilon(DELTA) <= upper


def test_corollary_3_21_fails_near_one():
    """At epsilon' = 0.99, one step and delta' = 0.999 the printed step is not private enough."""
    epsilon, slack = 0.99, 0.999
    step = epsilon / (2 * math.sqrt(2 * math.log(1 / slack)))
    truth = PureLoss(Fraction(step)).delta(epsilon)
    assert truth > slack
    assert truth == pytest.approx(0.99994, abs=1e-5)
    with pytest.raises(InvalidParameter, match="1/2"):
        advanced.corollary(epsilon=epsilon, count=1, slack=slack)


@pytest.mark.parametrize("count", [1, 3, 30, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("slack", [0.5, 0.1, 1e-3, 1e-9])
def test_corollary_3_21_holds_as_restricted(epsilon, count, slack):
    step = advanced.corollary(epsilon=epsilon, count=count, slack=slack)
    assert optimum(step, count).delta(Fraction(str(epsilon))) <= slack


def test_mean_loss_bound_of_lemma_3_18_is_twice_too_large():
    """The mean loss is at most epsilon tanh(epsilon / 2), that of randomized response."""
    generator = np.random.default_rng(5)  # noqa: TID251
    for epsilon in (1e-3, 1e-2, 1.0):
        likely = 1 / (1 + math.exp(-epsilon))
        answers = likely * epsilon + (1 - likely) * -epsilon
        assert answers == pytest.approx(epsilon * math.tanh(epsilon / 2))
        assert answers < epsilon * math.expm1(epsilon) / 2  # half of what is printed
        for _ in range(200):
            moved = generator.uniform(-epsilon, epsilon, 6) / 2  # so that no ratio passes e^epsilon
            one = generator.dirichlet(np.ones(6))
            other = one * np.exp(moved) / (one @ np.exp(moved))
            assert one @ np.log(one / other) <= answers + 1e-15


HALF_MORE = Fraction(3, 2)
"""e^epsilon, rational, so that everything below is exact."""


def excess(one, other, ratio):
    """Return delta: how much likelier the worst event is on the one than `ratio` times on the other."""
    return sum(max(p - ratio * q, Fraction(0)) for p, q in zip(one, other, strict=True))


def find_close_laws(one, other, ratio):
    """Return two laws near these that are within the ratio everywhere: the proof of Lemma 3.17 (2)."""
    ones, others = [], []
    for p, q in zip(one, other, strict=True):
        high, low = (p + q) * ratio / (1 + ratio), (p + q) / (1 + ratio)
        ones.append(high if p > ratio * q else low if q > ratio * p else p)
        others.append(low if p > ratio * q else high if q > ratio * p else q)
    missing = 1 - sum(ones)  # what the others have too much; laws move towards each other where that helps
    light, heavy = (ones, others) if missing > 0 else (others, ones)
    room = sum(max(b - a, Fraction(0)) for a, b in zip(light, heavy, strict=True))
    part = abs(missing) / room if room else Fraction(0)
    for place, (a, b) in enumerate(zip(light, heavy, strict=True)):
        light[place], heavy[place] = a + part * max(b - a, 0), b - part * max(b - a, 0)
    return ones, others


def draw_law(generator, size):
    parts = [Fraction(int(part)) for part in generator.integers(0, 30, size)]
    parts[0] += not any(parts)
    return [part / sum(parts) for part in parts]


def test_lemma_3_17_laws_that_are_nearly_close_have_close_laws_near():
    """(2), for any two laws: both move by delta / (e^epsilon + 1) at most, and no further than is needed."""
    generator, reached = np.random.default_rng(6), Fraction(0)  # noqa: TID251
    for _ in range(300):
        one, other = draw_law(generator, 5), draw_law(generator, 5)
        delta = max(excess(one, other, HALF_MORE), excess(other, one, HALF_MORE))
        near, by = find_close_laws(one, other, HALF_MORE)
        assert sum(near) == sum(by) == 1
        assert excess(near, by, HALF_MORE) == excess(by, near, HALF_MORE) == 0
        moved = max(excess(one, near, 1), excess(other, by, 1))
        assert moved <= delta / (1 + HALF_MORE)
        reached = max(reached, moved * (1 + HALF_MORE) / delta if delta else Fraction(0))
    assert reached == 1


def test_theorem_3_20_going_back_costs_more_than_k_delta():
    """Its proof takes k delta; both sides have moved, and the second is multiplied by e^epsilon'."""
    epsilon, count = 0.1, 100
    whole = advanced.advanced_composition(epsilon=epsilon, count=count, slack=1e-6)[0]
    assert (1 + math.exp(whole)) / (1 + math.exp(epsilon)) > 100


def worst_pair(delta, ratio):
    """Return the two laws that every (epsilon, delta)-private pair is made of [KOV15]."""
    rest = (1 - delta) / (1 + ratio)
    return [delta, rest * ratio, rest, Fraction(0)], [Fraction(0), rest, rest * ratio, delta]


def test_theorem_b_1_two_adaptive_steps_cost_twice_both():
    """The second step is made of its worst pair by a rule of its own for each first answer."""
    delta, generator = Fraction(1, 20), np.random.default_rng(7)  # noqa: TID251
    one, other = worst_pair(delta, HALF_MORE)

    def lose(draw_rules):
        laws = [[], []]
        for firsts in zip(one, other, strict=True):
            columns = list(
                zip(*draw_rules(), strict=True)
            )  # what each outcome of the worst pair is turned into
            for law, first, second in zip(laws, firsts, (one, other), strict=True):
                law += [first * sum(p * c for p, c in zip(second, column, strict=True)) for column in columns]
        return max(excess(*laws, HALF_MORE**2), excess(*laws[::-1], HALF_MORE**2))

    plain = [[Fraction(int(k == place)) for k in range(4)] for place in range(4)]
    assert lose(lambda: plain) == 1 - (1 - delta) ** 2  # of twice delta: all but its square is needed
    for _ in range(60):
        assert lose(lambda: [draw_law(generator, 3) for _ in range(4)]) <= 2 * delta


def test_theorem_b_1_the_positive_part_of_its_proof_is_no_measure():
    """(P(C) - e^epsilon P'(C))+ of a union is not the sum of the parts': one of them may be below zero."""
    one, other = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    apart = [max(p - HALF_MORE * q, 0) for p, q in zip(one, other, strict=True)]
    together = max(sum(one) - HALF_MORE * sum(other), 0)
    assert sum(apart) == Fraction(3, 8) and together == 0


def make_runner(epsilon):
    mechanism = Laplace(sensitivity=1, epsilon=epsilon)
    return lambda data, rng: mechanism.release(data, rng=rng).value


def test_theorem_3_14_two_losses_add_up_and_may_reach_the_sum():
    """Counts of one row at epsilon 1 and at 1/2: the two answers together lose 3/2."""
    losses = []
    for epsilon in (Fraction(1), Fraction(1, 2)):
        there, gone = (output_distribution(make_runner(epsilon), count) for count in (1, 0))
        losses.append([math.log(there[z] / gone[z]) for z in range(-4, 6)])
    joint = [first + second for first, second in itertools.product(*losses)]  # the noises are independent
    whole, delta = advanced.basic_composition([(Fraction(1), 0), (Fraction(1, 2), 0)])
    assert (whole, delta) == (Fraction(3, 2), 0)
    assert max(map(abs, joint)) == pytest.approx(float(whole))
