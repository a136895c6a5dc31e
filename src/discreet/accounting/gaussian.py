"""Gaussian differential privacy: mu adds up in squares, and one curve says everything [DRS22]."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.accounting.calibrate import gaussian_sigma
from discreet.core import checks
from discreet.core.loss import GaussianLoss, gaussian_delta
from discreet.core.losses.base import smallest_epsilon
from discreet.core.rounding import down, up


def compose_mu(mus: Iterable[checks.Number]) -> float:
    """Return the mu of the composition: the root of the sum of squares, rounded up."""
    total = sum((checks.non_negative(mu=mu) ** 2 for mu in checks.several(mus=mus)), Fraction(0))
    root = up(Fraction(math.isqrt(math.ceil(total * 10**36)) + 1, 10**18)) if total else 0.0
    return root


def delta_of(*, mu: checks.Number, epsilon: checks.Number) -> float:
    """Return the delta of mu-GDP at an epsilon."""
    return GaussianLoss(checks.non_negative(mu=mu)).delta(epsilon)


def epsilon_of(*, mu: checks.Number, delta: checks.Number) -> float:
    """Return the epsilon of mu-GDP at a delta."""
    square = checks.non_negative(mu=mu) ** 2
    d = down(checks.delta(delta=delta))
    return smallest_epsilon(lambda e: gaussian_delta(square, square, Fraction(e)), d)


def mu_for(*, epsilon: checks.Number, delta: checks.Number) -> Fraction:
    """Return the largest mu, rounded down, whose mu-GDP implies (epsilon, delta)."""
    return 1 / gaussian_sigma(epsilon=epsilon, delta=delta)
