"""Learning players, and the games they solve, against linear programming."""

import math

import numpy as np
import pytest
from scipy import optimize

from discreet.core.errors import InvalidParameter
from discreet.equilibrium.players import DenseWeights, WeightsPlayer
from discreet.equilibrium.zero_sum import find_best_capped, solve


def lp_value(matrix, density=1):
    """Return min over rows of max over capped columns, by linear programming.

    The best capped column against gains g is the optimum of max c.g, c <= 1/s, sum c = 1; its dual is
    min t + sum(u) / s with t + u_j >= g_j, u >= 0.
    """
    rows, columns = matrix.shape
    cost = np.concatenate([np.zeros(rows), [1], np.full(columns, 1 / density)])
    inequality = np.hstack([matrix.T, -np.ones((columns, 1)), -np.eye(columns)])
    equality = np.concatenate([np.ones(rows), [0], np.zeros(columns)])[None, :]
    bounds = [(0, None)] * rows + [(None, None)] + [(0, None)] * columns
    return optimize.linprog(cost, inequality, np.zeros(columns), equality, [1], bounds).fun


@pytest.mark.parametrize("density", [1, 2.5, 6])
@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_linear_programming(seed, density):
    matrix = np.random.default_rng(seed).uniform(0, 1, (7, 9))  # noqa: TID251
    value = lp_value(matrix, density)
    found = solve(matrix, rounds=4000, density=density)
    assert found.lower - 1e-9 <= value <= found.upper + 1e-9
    assert found.upper - found.lower <= found.regret < 0.08
    assert abs(found.value - value) < 0.02
    assert found.column.max() <= 1 / density + 1e-9
    assert found.row.sum() == pytest.approx(1) and found.column.sum() == pytest.approx(1)


def test_a_cap_takes_value_from_the_column_player():
    matrix = np.random.default_rng(9).uniform(0, 1, (5, 8))  # noqa: TID251
    values = [solve(matrix, rounds=2000, density=density).value for density in (1, 4, 8)]
    assert values[0] > values[1] + 0.02 > values[2] + 0.04


def test_matching_pennies():
    found = solve(np.eye(2), rounds=1000)
    assert found.value == pytest.approx(1 / 2, abs=1e-3)


@pytest.mark.parametrize("payoff", [[[2.0]], [[-0.1]], [[math.nan]], [0.5], np.zeros((0, 2))])
def test_a_game_pays_between_0_and_1(payoff):
    with pytest.raises(InvalidParameter, match="payoff"):
        solve(np.array(payoff), rounds=1)


def test_best_capped_spreads_over_the_best():
    gains = np.array([0.1, 0.9, 0.5])
    assert find_best_capped(gains, 1) == pytest.approx(0.9)
    assert find_best_capped(gains, 2) == pytest.approx(0.7)
    assert find_best_capped(gains, 1.5) == pytest.approx((0.9 + 0.25) / 1.5)


@pytest.mark.parametrize("density", [None, 5])
def test_regret_is_within_its_bound_and_needs_learning(density):
    # An adversary who always charges what is played most.
    rounds, actions = 2000, 20
    if density is None:
        player = WeightsPlayer(actions=actions, rate=1)
    else:
        player = DenseWeights(actions=actions, rate=1, density=density)
    player.rate = player.best_rate(rounds=rounds, spread=player.spread)
    paid, losses = 0.0, np.zeros(actions)
    for _ in range(rounds):
        strategy = player.strategy()
        charged = (strategy >= np.quantile(strategy, 0.5)).astype(float)
        paid += strategy @ charged
        losses += charged
        player.update(charged)
    best = 1 - find_best_capped(1 - losses / rounds, density or 1)
    assert paid / rounds - best <= player.regret(rounds)
    assert player.regret(rounds) == pytest.approx(math.sqrt(player.spread / (2 * rounds)))


def test_weights_are_logarithms_and_never_vanish():
    player = WeightsPlayer(actions=2, rate=1)
    for _ in range(2000):
        player.update(np.array([1.0, 0.0]))
    assert player.log_weights.tolist() == [-2000.0, 0.0]
    for _ in range(2000):
        player.update(np.array([0.0, 1.0]))
    assert player.strategy() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("losses", [[0.5], [2.0, 0.0], [math.nan, 0.0]])
def test_losses_lie_between_0_and_1(losses):
    with pytest.raises(InvalidParameter, match="losses"):
        WeightsPlayer(actions=2, rate=1).update(np.array(losses))


def test_dense_weights_need_enough_actions():
    with pytest.raises(InvalidParameter, match="density"):
        DenseWeights(actions=2, rate=1, density=3)


@pytest.mark.parametrize("density", [1, 3, 8])
def test_claim_3_2_query_release_is_worth_one_half(density):
    """[HRU13]: as each query is there with its complement, the data answer every pair as well as none."""
    source = np.random.default_rng(12)  # noqa: TID251
    queries = source.integers(0, 2, (4, 6))  # over six cells
    queries = np.vstack([queries, 1 - queries])
    shares = source.dirichlet(np.ones(6))
    payoff = (1 + (queries @ shares)[None, :] - queries.T) / 2
    assert lp_value(payoff, density) == pytest.approx(1 / 2)
    assert shares @ payoff == pytest.approx(np.full(8, 1 / 2))  # and to play the data is a best strategy
    found = solve(payoff, rounds=4000, density=density)
    assert found.lower - 1e-9 <= 1 / 2 <= found.upper + 1e-9
