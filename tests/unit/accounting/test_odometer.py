from __future__ import annotations

import math
import os
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.calibrate import gaussian_sigma
from discreet.accounting.failing import FailingLoss
from discreet.accounting.odometer import Odometer
from discreet.core.errors import DiscreetError, NeighboursMismatch
from discreet.core.loss import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss, RenyiLoss, ZCDPLoss
from discreet.core.losses import normal
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.laplace import Laplace

TENTH = Fraction(1, 10)
COUNT = Laplace(sensitivity=1, epsilon=0.1)


def test_odometer_grows_and_stays_above_pure_truth_and_below_the_sum():
    odometer = Odometer(delta=1e-6)
    last = 0.0
    for k in range(1, 1000):
        odometer.record(LaplaceLoss(TENTH))
        assert odometer.epsilon >= last
        last = odometer.epsilon
        assert last <= k * 0.1 + 1e-5
    rho = 999 * LaplaceLoss(TENTH).zcdp()
    best = rho + 2 * math.sqrt(rho * math.log(1e6))  # the bound at one time known in advance
    assert best <= last <= 1.3 * best
    assert odometer.failure == pytest.approx(1e-6)
    odometer.record(ApproxLoss(TENTH, Fraction(1, 10**6)))
    assert odometer.failure >= 1e-6 + 1e-6 / 0.01
    odometer.record(RenyiLoss(((2.0, 0.1),)))
    assert math.isinf(odometer.epsilon)
    assert "probability" in repr(odometer)


def test_odometer_bound_holds_at_every_time_on_simulated_losses():
    """Realised losses of randomized response: 300 runs of 400 steps, checked at every step.

    The bound fails in a run with probability at most delta = 1e-3, so 300 sound runs show more than 4
    failures with probability below 1e-5. A bound at a quarter of the size must fail.
    """
    rng = np.random.default_rng(3)  # noqa: TID251 - test data
    epsilon, steps = 0.2, 400
    odometer, bounds = Odometer(delta=1e-3), []
    for _ in range(steps):
        odometer.record(PureLoss(Fraction(1, 5)))
        bounds.append(odometer.epsilon)
    p = 1 / (1 + math.exp(-epsilon))
    signs = np.where(rng.random((300, steps)) < p, epsilon, -epsilon)
    realised = np.cumsum(signs, axis=1)
    assert np.sum(np.any(realised > np.array(bounds), axis=1)) <= 4
    assert np.sum(np.any(realised > np.array(bounds) / 4, axis=1)) > 4


def test_the_delta_is_shared_among_all_orders():
    """Gaussian losses whose rho doubles again and again: every order is the best one at some time.

    4000 runs, seeded. Each exceeds the bound at some time with probability at most 0.01, so a sound odometer
    shows more than 80 such runs with probability below 1e-8. Were the whole delta given to each of the 31
    orders, one run in fifteen would exceed it: at most 80 of 4000 with probability below 1e-60.
    """
    delta, runs = 0.01, 4000
    rng = np.random.default_rng(8)  # noqa: TID251 - test data
    odometer = Odometer(delta=delta)
    realised, exceeded, greedy = np.zeros(runs), np.zeros(runs, bool), np.zeros(runs, bool)
    rho = Fraction(0)
    for doubling in range(-36, 22):
        for step in (Fraction(1), Fraction(141, 100)):
            rise = Fraction(2) ** doubling * step - rho
            rho += rise
            odometer.record(ZCDPLoss(rise))
            realised += float(rise) + math.sqrt(2 * float(rise)) * rng.standard_normal(runs)
            exceeded |= realised > odometer.epsilon
            orders = (2.0**power for power in range(-10, 21))
            greedy |= realised > min((1 + x) * float(rho) - math.log(delta) / x for x in orders)
    assert exceeded.sum() <= 80
    assert greedy.sum() > 80, "the test would not see the mistake"


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.01), (1, 1e-6), (0.1, 1e-4), (4, 1e-9)])
def test_a_pair_does_not_bound_the_realised_loss_and_the_odometer_knows(epsilon, delta):
    """Gaussian noise bought at a pair: its loss is normal, and exceeds epsilon far more often than delta."""
    mu = 1 / float(gaussian_sigma(epsilon=epsilon, delta=delta))

    def tail(loss):
        return normal.cdf((mu * mu / 2 - loss) / mu)

    assert tail(epsilon) > 3 * delta
    odometer = Odometer(delta=1e-12)
    odometer.record(ApproxLoss(Fraction(str(epsilon)), Fraction(str(delta))))
    assert tail(odometer.epsilon) <= odometer.failure
    assert odometer.epsilon <= 1.1 * epsilon * (1 + 1e-12)
    noise = Odometer(delta=delta)
    noise.record(GaussianLoss(Fraction(mu)))  # its own loss says more, and needs no failure mass
    assert noise.failure == pytest.approx(delta)
    assert tail(noise.epsilon) <= delta


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize(
    "above", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20), Fraction(1, 2), Fraction(5)]
)
def test_the_worst_pairs_of_every_width_stay_below_the_reading(above, count):
    """A loss of epsilon + above with probability p is (epsilon, p (1 - e^-above))-private."""
    epsilon, mass = Fraction(1, 2), 1e-3
    chance = mass / -math.expm1(-float(above))
    odometer = Odometer(delta=1e-12)
    for _ in range(count):
        odometer.record(ApproxLoss(epsilon, Fraction(mass)))
    sure, jump = float(count * epsilon), float(above)
    # All other losses are epsilon at most: so many jumps lift the total above the reading.
    needed = math.floor((odometer.epsilon - sure) / jump) + 1
    p = min(1.0, chance)
    exceeded = sum(math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(needed, count + 1))
    assert exceeded <= odometer.failure


def test_failing_noise_is_widened_too():
    odometer = Odometer(delta=1e-6)
    odometer.record(FailingLoss(GaussianLoss(Fraction(1)), Fraction(1, 10**6)))
    plain = Odometer(delta=1e-6)
    plain.record(GaussianLoss(Fraction(1)))
    assert odometer.epsilon == pytest.approx(plain.epsilon + 0.1, abs=1e-9)
    assert odometer.failure == pytest.approx(1e-6 + 1e-6 / -math.expm1(-0.1), rel=1e-9)
    for _ in range(3):
        odometer.record(ApproxLoss(Fraction(0), Fraction(1, 2)))
    assert odometer.failure == 1


def test_threads_lose_no_record():
    odometer = Odometer(delta=1e-6)

    def analyst():
        for _ in range(200):
            odometer.record(PureLoss(Fraction(1, 10**6)))

    threads = [threading.Thread(target=analyst) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert odometer._reading.pure == Fraction(1600, 10**6)


def test_a_forked_odometer_refuses_even_where_its_lock_was_taken():
    odometer = Odometer(delta=1e-6)
    reader, writer = os.pipe()
    with odometer._lock:
        child = os.fork()
        if child == 0:
            try:
                odometer.record(PureLoss(TENTH))
                os.write(writer, b"spent")
            except DiscreetError:
                os.write(writer, b"refused")
            finally:
                os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 8) == b"refused"


def test_an_odometer_keeps_to_one_relation():
    odometer = Odometer(delta=1e-6)
    odometer.record(COUNT)
    with pytest.raises(NeighboursMismatch):
        odometer.record(Laplace(sensitivity=1, epsilon=0.1, neighbours=Replace("row")))
    assert odometer.epsilon == pytest.approx(0.1)
    with pytest.raises(NeighboursMismatch):
        Odometer(delta=1e-6, neighbours=AddRemove("person")).record(COUNT)
