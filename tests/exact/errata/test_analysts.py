"""What does not hold as printed in [HRU13], with the numbers. The games themselves are in tests/museum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.analysts.games.loss import GameLoss
from discreet.audit.museum.printed_games import PrintedConstants, inverted_eta, per_cell_losses
from discreet.equilibrium.bregman import cap_project


def moved(one, other):
    """Return the statistical distance of two distributions."""
    return float(np.abs(np.asarray(one) - np.asarray(other)).sum() / 2)


def test_lemma_2_8_the_gap_is_too_small_for_one_query():
    # In units of 1 / epsilon': query noise of scale 4, at half the printed gap, errs on one query alone.
    queries, beta = 1000, 0.05
    assert stats.laplace(scale=4).sf(math.log(queries / beta) / 2) == pytest.approx(0.145, abs=1e-3)
    printed = math.log(queries / beta)
    needed = 8 * (math.log(queries) + math.log(2 / beta))  # [DR14] Theorem 3.24, one positive answer
    assert 2 * needed / printed > 16, "both sides need that much"


def test_lemma_2_9_the_printed_epsilon_does_not_depend_on_the_steps():
    def printed(step, rounds, delta):
        return math.sqrt(8 * rounds * math.log(1 / delta)) + 2 * step**2 * rounds

    assert printed(0.0, 100, 1e-6) > 100, "a hundred steps that tell nothing cost more than 100"


def test_definition_2_11_is_empty_beyond_the_number_of_actions():
    weights = np.ones(10)
    assert np.minimum(1, 1e9 * weights).sum() < 12, "no c makes ten capped weights sum to twelve"
    with pytest.raises(ValueError, match="density"):
        cap_project(np.zeros(10), 12)


def test_uniform_play_below_the_density_is_not_covered_by_lemma_3_9():
    # Falling back on the uniform distribution where there are too few actions moves by more than 2 / s.
    s = 100
    few, more = np.array([1 / 2, 1 / 2, 0, 0]), np.full(4, 1 / 4)
    assert moved(few, more) == 1 / 2 > 2 / s
    # All places of the public caps take part instead, and a query takes the place of an empty one.
    empty, taken = np.zeros(200), np.append(np.zeros(198), [40.0, -40.0])
    assert moved(cap_project(empty, s), cap_project(taken, s)) <= 2 / s


def test_theorem_3_7_a_query_is_two_actions():
    weights, s = np.zeros(100), 10
    without = np.append(cap_project(weights, s), [0, 0])
    with_it = cap_project(np.append(weights, [40.0, 40.0]), s)
    assert moved(without, with_it) == pytest.approx(2 / s)
    # With s = 12 T, the T rounds together are touched more often than the 1/12 that Lemma 3.8 asks for.
    assert GameLoss(1000, Fraction(2, 12_000), Fraction(1)).touched > 1.8 / 12


def test_in_the_game_a_query_is_little_more_than_one_action():
    """A query and its complement have opposite scores, so one of them is light.

    With s below the number of places, c <= s / |A|, and both together have mass (1 + c^2) / s at most.
    """
    generator, closest = np.random.default_rng(1), 0.0  # noqa: TID251
    for _ in range(3000):
        places = int(generator.integers(2, 12))
        s = int(generator.integers(1, places))
        scores = generator.normal(size=places) * generator.choice([0.01, 0.3, 1, 3, 10])
        played = cap_project(np.append(scores, -scores), s)
        largest, bound = (played[:places] + played[places:]).max(), (1 + (s / 2 / places) ** 2) / s
        assert largest <= bound * (1 + 1e-9)
        closest = max(closest, largest / bound)
    assert closest > 0.98


def test_theorem_3_3_the_proof_never_reaches_its_own_target():
    for rows, actions in ((1000, 400_000), (10**6, 10**9)):
        printed = PrintedConstants.of(rows=rows, cells=2, actions=actions, epsilon=1, delta=1e-5)
        step = 2 * printed.eta * printed.rounds / rows
        bound = step * math.sqrt(4 * printed.rounds * math.log(3e5)) + 4 * step**2 * printed.rounds
        assert bound > 2 * math.log(actions) > 25, "and a third was wanted"


def test_claim_3_5_the_data_cancel_in_the_data_players_weights():
    table = np.random.default_rng(1).integers(0, 2, (5, 8))  # noqa: TID251
    picked = [0, 3, 3, 1]
    weights = []
    for answers in (np.full(5, 0.2), np.full(5, 0.9)):
        logs = -0.3 * sum((1 + answers[q] - table[q]) / 2 for q in picked)
        weights.append(np.exp(logs) / np.exp(logs).sum())
    assert weights[0] == pytest.approx(weights[1])


def test_algorithm_3_has_too_few_actions_for_its_own_density():
    for rows in (10**3, 10**4, 10**6):
        actions = 100 * rows
        assert (
            PrintedConstants.of(rows=rows, cells=2, actions=actions, epsilon=1, delta=1e-6).density > actions
        )


def test_algorithm_4_asks_for_more_analysts_than_there_ever_are():
    for analysts in (10, 10**4, 10**9):
        rounds = 100 ** (2 / 3) * max(math.log(2), analysts)
        assert 12 * rounds > analysts, "T grows with m itself, where ln m was meant"


def test_algorithm_4_the_rate_is_upside_down():
    rate = inverted_eta(rounds=1000, epsilon=1, delta=1e-6)
    assert rate > 50, "each round multiplies weights by up to e^50"
    assert rate * 1 / (2 * math.sqrt(1000 * math.log(1e6))) == pytest.approx(1 / 4)


def test_algorithm_4_the_value_of_the_per_cell_game_is_not_one_half():
    losses = per_cell_losses(np.array([0.6]), np.array([[0.0, 1.0]]))
    assert losses == pytest.approx([0.8, 0.7])
    assert losses @ [0.4, 0.6] == pytest.approx(0.74), "what the data themselves lose"


def test_lemma_3_8_far_outputs_tell_more_than_it_says():
    """Randomized response on one element, which the other book has with probability sigma: 50 outputs of it.

    The outputs that exceed the printed bound, three times, are likelier than the delta' that it allows for.
    """
    rounds, epsilon, sigma, allowed = 50, 0.5, 1e-6, 9.3e-7
    chance = 1 / (1 + math.exp(epsilon))  # of a yes where the element is not there
    assert stats.binom(rounds, chance).sf(35) > allowed
    printed = epsilon * rounds * sigma * math.sqrt(2 * rounds * math.log(1 / allowed))
    printed += 30 * epsilon**2 * rounds * sigma * rounds
    assert epsilon <= 1 / 2 and rounds * sigma <= 1 / 12, "what it asks for"
    assert math.log1p(sigma * math.expm1(epsilon * (2 * 36 - rounds))) > 2.9 * printed
    # At the same place the mixture says enough: all rounds touched, or none.
    reached = sum(
        stats.binom(rounds, chance).pmf(k) * max(0, sigma * math.expm1(epsilon * (2 * k - rounds)) - printed)
        for k in range(36, rounds + 1)
    )
    assert 0 < reached <= GameLoss(rounds, Fraction(1, 10**6), Fraction(1, 2)).delta(math.log1p(printed))


def test_theorem_3_7_without_lemma_3_8_gives_larger_rates():
    # T = 1000, s = 12 T at (1, 1e-6): 0.0116 by Lemma 3.8 with two actions, above 0.0155 by the mixture.
    assert GameLoss(1000, Fraction(2, 12_000), Fraction(155, 20_000)).delta(1) <= 1e-6
