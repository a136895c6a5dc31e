"""Learning: what the source's theorems say, and what is true."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.core.loss import BoundedRangeLoss
from discreet.core.neighbours import Event
from discreet.learning import SIGNED, LinearLearner, WeightedMajority
from discreet.learning.experts.tiny import name_all

BOOK = {"epsilon": 1, "delta": 1e-6, "neighbours": Event()}


def compose_as_theorem_3_20(step: float, count: int, delta: float) -> float:
    return math.sqrt(2 * count * math.log(1 / delta)) * step + count * step * math.expm1(step)


def test_theorem_11_2_holds_with_a_fifth_of_the_rate():
    printed = WeightedMajority.as_printed(experts=10, horizon=400, **BOOK)
    assert printed.loss.epsilon(1e-6) < 0.2
    ours = WeightedMajority(experts=10, horizon=400, **BOOK)
    assert ours.rate > 4.6 * printed.rate and ours.loss.epsilon(1e-6) <= 1


def mean_regret_of_one_good_expert(eta: float, log_experts: float, rounds: int) -> float:
    """One expert never loses, all others always do: exact, for any number of experts."""
    seen = np.arange(rounds)
    return float(np.mean(1 / (1 + np.exp(eta * seen - log_experts))))


def test_theorem_11_3_with_the_logarithm_inside_the_root_is_false():
    log_experts, delta, rounds = math.log(1e10), math.exp(-2), 11_776
    eta = 1 / math.sqrt(32 * rounds * 2)
    found = mean_regret_of_one_good_expert(eta, log_experts, rounds)
    printed = math.sqrt(128 * math.log(1 / delta) * log_experts) / math.sqrt(rounds)
    outside = eta + math.sqrt(32 * math.log(1 / delta)) * log_experts / math.sqrt(rounds)
    assert printed < 0.71
    assert 0.95 < found <= outside


def test_theorem_11_5_the_proof_misses_its_claim():
    """Losses in [-1, 1] move scores by 2: a step is 4 eta-private, and Theorem 3.20 then gives 1.036."""
    eta = 1 / math.sqrt(32 * 400 * math.log(1e6))
    assert compose_as_theorem_3_20(4 * eta, 400, 1e-6) == pytest.approx(1.036, abs=1e-3)
    assert compose_as_theorem_3_20(2 * eta, 400, 1e-6) < 0.51  # of losses in [0, 1]: twice too careful


def test_theorem_11_5_holds_all_the_same():
    printed = LinearLearner.as_printed(size=10, rows=400, **BOOK)
    assert printed.loss.epsilon(1e-6) < 0.42


def test_one_step_of_the_linear_learner_costs_what_is_charged():
    """x = (1, -1) against (-1, 1): the second name's odds are exp(2 eta) against exp(-2 eta)."""
    learner = WeightedMajority(experts=2, horizon=2, epsilon=2, delta=0, neighbours=Event(), losses=SIGNED)
    eta = float(learner.rate) * SIGNED.steps / 2
    pair = ((1, -1), (0, 0)), ((-1, 1), (0, 0))
    report = audit.exact(learner, [pair], name_all(2))
    assert report.holds and 4 * eta == pytest.approx(2)
    assert report.measured == pytest.approx(2 * eta, rel=1e-3)  # 4 eta as experts become many


def test_footnote_3_rates_for_learning_alone_spend_without_end():
    """At eta_t = sqrt(ln k / t) the price grows by half ln k for each factor e of rounds."""

    def spent(rounds: int) -> float:
        return sum(BoundedRangeLoss(Fraction(2 * math.sqrt(2.3 / t))).zcdp() for t in range(10, rounds))

    assert spent(2700) - spent(1000) == pytest.approx(2.3 / 2 * math.log(2.7), rel=0.01)
