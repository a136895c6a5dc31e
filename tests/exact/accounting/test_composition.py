"""Compositions against brute force, exact integer convolutions and dp_accounting."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import dp_accounting
import mpmath as mp
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as peer

from discreet.accounting.amplification import FixedSampleLoss, PoissonLoss
from discreet.accounting.composition import Composed, compose
from discreet.accounting.routes import ROUTES
from discreet.core.loss import ApproxLoss, DiscreteLaplaceLoss, GaussianLoss, LaplaceLoss, PureLoss
from discreet.core.losses import pld

TENTH = Fraction(1, 10)


# --- brute force -----------------------------------------------------------------------------------


def losses_of(loss):
    """Return {loss value: mass} of a finite loss, in 40 digits; infinity under None."""
    if isinstance(loss, PureLoss | ApproxLoss):
        mass = getattr(loss, "mass", Fraction(0))
        e, m = (
            mp.mpf(loss.value.numerator) / loss.value.denominator,
            mp.mpf(mass.numerator) / mass.denominator,
        )
        p = 1 / (1 + mp.exp(-e))
        return {loss.value: (1 - m) * p, -loss.value: (1 - m) * (1 - p), None: m}
    q = mp.exp(-mp.mpf(loss.scale.denominator) / loss.scale.numerator)
    found = {loss.value: 1 / (1 + q), -loss.value: q**loss.shift / (1 + q), None: mp.mpf(0)}
    for x in range(1, loss.shift):
        found[loss.value - 2 * x / loss.scale] = (1 - q) / (1 + q) * q**x
    return found


def brute_delta(losses, epsilon):
    total = mp.mpf(0)
    for combination in itertools.product(*(losses_of(loss).items() for loss in losses)):
        mass = mp.mpf(1)
        for _, m in combination:
            mass *= m
        if any(value is None for value, _ in combination):
            total += mass
            continue
        value = sum((v for v, _ in combination), Fraction(0))
        if value > epsilon:
            gap = epsilon - value
            total += mass * -mp.expm1(mp.mpf(gap.numerator) / gap.denominator)
    return total


SMALL = [
    [PureLoss(Fraction(1, 2))] * 6,
    [PureLoss(Fraction(1, 2)), PureLoss(Fraction(1, 3)), PureLoss(Fraction(2)), PureLoss(Fraction(1, 7))],
    [ApproxLoss(Fraction(1, 2), Fraction(1, 1000))] * 4,
    [ApproxLoss(Fraction(1, 2), Fraction(1, 1000)), PureLoss(Fraction(1)), ApproxLoss(Fraction(1, 5), TENTH)],
    [DiscreteLaplaceLoss(3, Fraction(5))] * 4,
    [DiscreteLaplaceLoss(2, Fraction(3)), DiscreteLaplaceLoss(1, Fraction(4)), PureLoss(Fraction(1, 3))],
]


@pytest.mark.parametrize("losses", SMALL, ids=lambda losses: f"{len(losses)} {losses[0]}")
def test_every_route_is_above_brute_force_and_the_best_is_close(losses):
    parts = Composed(tuple((loss, 1) for loss in losses))
    top = sum((loss.value for loss in losses), Fraction(0))
    with mp.workdps(40):
        for share in (Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)):
            epsilon = top * share
            truth = brute_delta(losses, epsilon)
            for route in ROUTES:
                assert route.delta(parts.parts, epsilon) >= truth, route.name
            assert parts.delta(epsilon) <= truth * mp.mpf("1.002") + mp.mpf("1e-12")


def test_the_check_above_can_fail():
    losses = [PureLoss(Fraction(1, 2))] * 6
    wrong = Composed(((PureLoss(Fraction(1, 2)), 5),))  # a run forgotten
    assert wrong.delta(0.5) < brute_delta(losses, Fraction(1, 2)) * 0.99


# --- the convolution -------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.02])
def test_fourier_error_is_on_the_safe_side(rate):
    rng = np.random.default_rng(1)  # noqa: TID251 - test data
    for size in (40, 300):
        a = rng.random(size) * np.exp(-(np.linspace(-12, 12, size) ** 2) / 2)
        b = rng.random(size) * np.exp(-(np.linspace(-9, 14, size) ** 2) / 2)
        exact = [
            sum(
                Fraction(a[j]) * Fraction(b[i - j]) for j in range(max(0, i - size + 1), min(i, size - 1) + 1)
            )
            for i in range(0, 2 * size - 1, 7)
        ]
        plain, bound = pld._fourier(a, b)
        direct = np.fft.irfft(np.fft.rfft(a, 1024) * np.fft.rfft(b, 1024), 1024)[: 2 * size - 1]
        for i, truth in zip(range(0, 2 * size - 1, 7), exact, strict=True):
            assert truth <= Fraction(plain[i]) <= truth + 3 * Fraction(bound)
        # Without the bound, entries fall below the truth: the bound is needed.
        assert any(Fraction(direct[7 * i]) < truth for i, truth in enumerate(exact))
        if rate:
            ta, ca = pld._tilt_masses(a, rate)
            tb, cb = pld._tilt_masses(b, rate)
            tilted = pld._fourier(ta, tb)[0] * np.exp(ca + cb - rate * np.arange(2 * size - 1)) * (1 + 1e-11)
            assert all(truth <= Fraction(tilted[7 * i]) for i, truth in enumerate(exact))


def test_the_direct_sum_is_on_the_safe_side():
    rng = np.random.default_rng(2)  # noqa: TID251 - test data
    a, b = rng.random(50) * 1e-200, rng.random(70)
    result, noise = pld._convolve(a, b, 0.0)
    assert noise == 0
    for i in range(0, 119, 5):
        truth = sum(Fraction(a[j]) * Fraction(b[i - j]) for j in range(max(0, i - 69), min(i, 49) + 1))
        assert truth <= Fraction(result[i]) <= truth * (1 + Fraction(1, 10**12))


# --- discretisation --------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [Fraction(1, 1000), Fraction(1, 77), Fraction(1, 3), Fraction(2)])
@pytest.mark.parametrize(
    "loss",
    [
        PureLoss(TENTH),
        ApproxLoss(Fraction(3), Fraction(1, 10**6)),
        LaplaceLoss(TENTH),
        LaplaceLoss(Fraction(5)),
        DiscreteLaplaceLoss(5, Fraction(10, 3)),
        DiscreteLaplaceLoss(5000, Fraction(10000)),
        DiscreteLaplaceLoss(300, Fraction(2)),
        PureLoss(Fraction(300)),
        LaplaceLoss(Fraction(300)),
        GaussianLoss(TENTH),
        GaussianLoss(Fraction(3)),
        PoissonLoss(GaussianLoss(Fraction(1)), Fraction(1, 50)),
        PoissonLoss(LaplaceLoss(Fraction(2)), Fraction(9, 10)),
        FixedSampleLoss(LaplaceLoss(Fraction(1)), Fraction(1, 3)),
        FixedSampleLoss(GaussianLoss(Fraction(2)), Fraction(1, 10)),
    ],
    ids=str,
)
def test_a_discretised_curve_is_above_the_exact_one(loss, step):
    reach = loss.epsilon(max(loss.failure, 1e-12))
    distribution, *_ = loss.pld(step)
    for share in np.linspace(0, 1, 23):
        epsilon = float(share * reach)
        claim, curve = distribution.delta(epsilon), loss.delta(epsilon)
        assert claim >= curve * (1 - 1e-12)
        if step == Fraction(1, 1000) and curve > 1e-9:
            assert claim <= curve * 1.02 + 1e-12
    assert loss.delta(distribution.epsilon(1e-3)) <= 1e-3 * (1 + 1e-12)


def test_negative_epsilons_are_covered_too():
    """Composition needs the curve below e^epsilon = 1 as well: there it is at least 1 - e^epsilon."""
    for loss in (
        GaussianLoss(Fraction(1)),
        PoissonLoss(GaussianLoss(Fraction(1)), Fraction(1, 50)),
        FixedSampleLoss(GaussianLoss(Fraction(1)), Fraction(1, 50)),
    ):
        distributions = loss.pld(Fraction(1, 100))
        assert len(distributions) in (1, 2)
        for distribution in distributions:
            for epsilon in np.linspace(-9, 0, 50):
                assert distribution.delta(float(epsilon)) >= -math.expm1(float(epsilon)) - 1e-15


def test_the_second_direction_of_poisson_sampling():
    """P against (1 - q) P + q Q, by integration over the real line."""
    q, mu = Fraction(1, 5), 1.0
    second = PoissonLoss(GaussianLoss(Fraction(1)), q).pld(Fraction(1, 2000))[1]
    x = np.linspace(-12, 12, 200_001)
    p = np.exp(-((x - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    other = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    mixture = (1 - float(q)) * p + float(q) * other
    for epsilon in (0.0, 0.05, 0.1, 0.2):
        truth = float(np.sum(np.maximum(0, p - math.exp(epsilon) * mixture)) * (x[1] - x[0]))
        assert truth - 1e-7 <= second.delta(epsilon) <= truth * 1.001 + 1e-6


# --- noise on the integers covered by a wider Gaussian -----------------------------------------------


def discrete_gaussian(sigma):
    reach = int(14 * sigma) + 12
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    return x, weights / weights.sum()


def hockey_stick(sigma, shifts, epsilon):
    x, p = discrete_gaussian(sigma)
    loss, mass = np.zeros(1), np.ones(1)
    for shift in shifts:
        step = ((x - shift) ** 2 - x**2) / (2 * sigma**2)
        loss, mass = np.add.outer(loss, step).ravel(), np.multiply.outer(mass, p).ravel()
    return float(np.sum(mass * -np.expm1(np.minimum(epsilon - loss, 0))))


SHIFTS = [(1,), (2,), (3,), (1, 1), (1, 2)]


@pytest.mark.parametrize("sigma", [0.6, 0.75, 1, 1.3, 2, 3.7])
def test_widened_gaussian_covers_discrete_noise(sigma):
    slack = 1 / (1 - 1 / (4 * Fraction(str(sigma)) ** 2)) ** 2
    violated = 0
    for shifts in SHIFTS:
        mu = math.hypot(*shifts) / sigma * (1 + 1e-15)
        wide, plain = GaussianLoss(Fraction(mu), slack), GaussianLoss(Fraction(mu))
        for epsilon in np.linspace(0, mu * mu / 2 + 5 * mu, 25):
            truth = hockey_stick(sigma, shifts, epsilon)
            if truth > 1e-11:
                assert truth <= wide.delta(float(epsilon)) * (1 + 1e-9)
                violated += truth > plain.delta(float(epsilon)) * (1 + 1e-9)
    assert violated, "the control, continuous noise, must fail somewhere"


def test_moving_one_integer_is_the_worst_way_to_spend_a_shift():
    """`DiscreteLaplaceLoss` covers every split of the shift among coordinates."""
    for scale, split in itertools.product((Fraction(1, 2), Fraction(2)), ((1, 1), (1, 2), (2, 2), (1, 1, 1))):
        whole = DiscreteLaplaceLoss(sum(split), scale)
        parts = [DiscreteLaplaceLoss(v, scale) for v in split]
        for share in (Fraction(0), Fraction(1, 3), Fraction(3, 4)):
            assert brute_delta(parts, whole.value * share) <= whole.delta(whole.value * share) * (1 + 1e-12)


# --- dp_accounting -----------------------------------------------------------------------------------


def peer_bracket(kind, parameter, count, delta, interval=1e-3):
    make = {"laplace": peer.from_laplace_mechanism, "gaussian": peer.from_gaussian_mechanism}[kind]
    return [
        make(parameter, value_discretization_interval=interval, pessimistic_estimate=pessimistic)
        .self_compose(count)
        .get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    ]


@pytest.mark.parametrize("count", [10, 1000])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_within_the_peers_bracket(kind, count):
    loss = {"laplace": LaplaceLoss(TENTH), "gaussian": GaussianLoss(TENTH)}[kind]
    low, high = peer_bracket(kind, 10, count, 1e-6)
    assert low * (1 - 1e-9) <= compose(loss, counts=[count]).epsilon(1e-6) <= high * 1.01


def test_mixture_within_the_peers_bracket():
    low, high = (
        peer.from_laplace_mechanism(10, value_discretization_interval=1e-3, pessimistic_estimate=p)
        .self_compose(1000)
        .compose(
            peer.from_gaussian_mechanism(
                10, value_discretization_interval=1e-3, pessimistic_estimate=p
            ).self_compose(1000)
        )
        .get_epsilon_for_delta(1e-6)
        for p in (False, True)
    )
    ours = compose(LaplaceLoss(TENTH), GaussianLoss(TENTH), counts=[1000, 1000]).epsilon(1e-6)
    assert low <= ours <= high * 1.01


@pytest.mark.parametrize(("rate", "sigma", "count"), [(0.01, 1.0, 1000), (0.001, 0.8, 3000), (0.5, 5.0, 10)])
def test_poisson_sampling_against_the_peer(rate, sigma, count):
    low, high = (
        peer.from_gaussian_mechanism(
            sigma, value_discretization_interval=1e-3, sampling_prob=rate, pessimistic_estimate=p
        )
        .self_compose(count)
        .get_epsilon_for_delta(1e-6)
        for p in (False, True)
    )
    loss = PoissonLoss(GaussianLoss(1 / Fraction(str(sigma))), Fraction(str(rate)))
    assert low * (1 - 1e-9) <= compose(loss, counts=[count]).epsilon(1e-6) <= high * 1.01


def test_counts_multiply_for_every_loss():
    """The peer's accountant forgets the count of one event; ours multiplies in one place."""
    for loss in (
        PureLoss(TENTH),
        LaplaceLoss(TENTH),
        GaussianLoss(TENTH),
        DiscreteLaplaceLoss(3, Fraction(10)),
    ):
        once = compose(*[loss] * 20).epsilon(1e-6)
        assert once == compose(loss, counts=[20]).epsilon(1e-6)
        assert once > 1.5 * compose(loss, counts=[10]).epsilon(1e-6) * 0.9


def test_events_agree_with_the_peers_accountant():
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(10.0), 50))
    ours = compose(LaplaceLoss(TENTH), counts=[50]).epsilon(1e-6)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)


def test_tiny_deltas_keep_their_accuracy():
    for delta in (1e-9, 1e-12, 1e-20):
        exact = GaussianLoss(Fraction(2)).epsilon(delta)
        pair = GaussianLoss(TENTH).pld(Fraction(1, 256))
        tilt = exact / 4 + 0.5
        assert exact <= pair[0].power(400, tilt=tilt, spare=delta * 1e-4).epsilon(delta) <= exact * 1.001


def compose_different(mechanisms, counts, step):
    """Round every epsilon up to a multiple of `step` and add the loss distributions up [MV16]."""
    total = pld.from_points(step, [(Fraction(0), 1.0)])
    for (epsilon, delta), count in zip(mechanisms, counts, strict=True):
        loss = ApproxLoss(math.ceil(epsilon / step) * step, delta)
        total = total.compose(loss.pld(step)[0].power(count, spare=1e-20), spare=1e-20)
    return total


def test_optimal_theorem_for_different_parameters():
    """Rounding epsilons up costs at most what it adds; brute force is the truth."""
    mechanisms = [
        (Fraction(1, 3), Fraction(0)),
        (Fraction(1, 7), Fraction(1, 10**4)),
        (Fraction(1, 2), Fraction(0)),
    ]
    counts, step = [2, 2, 1], Fraction(1, 1000)
    found = compose_different(mechanisms, counts, step)
    losses = [ApproxLoss(e, d) for (e, d), c in zip(mechanisms, counts, strict=True) for _ in range(c)]
    for epsilon in (Fraction(1, 5), Fraction(3, 5), Fraction(1)):
        claim = found.delta(epsilon)
        assert brute_delta(losses, epsilon) <= claim
        assert claim <= brute_delta(losses, epsilon - step * sum(counts)) * (1 + 1e-9)


# --- subsampling by enumeration ------------------------------------------------------------------------


def bernoulli_delta(a, b, count, epsilon):
    """Hockey-stick of `count` Bernoulli(a) draws against Bernoulli(b) ones."""
    total = 0.0
    for ones in range(count + 1):
        ways = math.comb(count, ones)
        p, q = a**ones * (1 - a) ** (count - ones), b**ones * (1 - b) ** (count - ones)
        total += ways * max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize("kind", [PoissonLoss, FixedSampleLoss])
@pytest.mark.parametrize("count", [1, 5, 40])
def test_randomized_response_on_a_sample(kind, count):
    """The sample holds the person or not; randomized response tells. Both orders of the neighbours.

    Removing: (1 - q)(1 - p) + q p against 1 - p. Changing the record of the one sampled row gives the
    same two laws and, with the two bits exchanged, their mirror images.
    """
    epsilon, rate = Fraction(1), Fraction(1, 4)
    p = 1 / (1 + math.exp(-1))
    with_person, without = 0.75 * (1 - p) + 0.25 * p, 1 - p
    whole = compose(kind(PureLoss(epsilon), rate), counts=[count])
    for level in (0.0, 0.1, 0.3, 0.7):
        truth = max(
            bernoulli_delta(with_person, without, count, level),
            bernoulli_delta(without, with_person, count, level),
        )
        claim = whole.delta(level)
        assert claim >= truth * (1 - 1e-9)
        if kind is PoissonLoss and truth > 1e-9:
            assert claim <= truth * 1.02
    smaller = compose(kind(PureLoss(epsilon), Fraction(1, 5)), counts=[count])
    assert smaller.delta(0.1) < bernoulli_delta(with_person, without, count, 0.1), "a wrong rate must fail"
