"""The optimal composition of mechanisms known only by their (epsilon, delta).

Every (epsilon, delta)-private mechanism is a post-processing of one: reveal with probability delta, else
randomized response at epsilon. So composing these worst cases is exact [KOV15]. For equal parameters the
losses are binomial. For different ones the exact value is #P-hard [MV16]: the numerical route bounds it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.core import checks
from discreet.core.losses.pld import LossDistribution, Vector
from discreet.core.rounding import above, up

_MOST = 1 << 21
"""The largest count whose binomial law is spelled out."""


@lru_cache(maxsize=8)
def log_factorials(count: int) -> Vector:
    """Return the logarithms of 0!, 1!, ..., count!."""
    return np.array([math.lgamma(j + 1) for j in range(count + 1)])


@lru_cache(maxsize=8)
def compose_equal(*, epsilon: checks.Number, delta: checks.Number, count: int) -> LossDistribution:
    """Return the exact loss distribution of `count` worst (epsilon, delta) mechanisms [KOV15].

    Losses (2j - count) epsilon with the binomial probability of j responses in favour; masses are
    computed in logarithms and rounded up. Its `delta` and `epsilon` are the optimal composition theorem.
    """
    k = checks.integer(1, count=count)
    e, d = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    value = float(e)
    logs = log_factorials(k)
    j = np.arange(k + 1)
    # log of p = 1 / (1 + e^-e) and of 1 - p.
    log_p = -math.log1p(math.exp(-value))
    log_masses = logs[k] - logs - logs[::-1] + j * log_p + (k - j) * (log_p - value)
    error = 1e-14 * (float(logs[k]) + k * (value + 1) + 1)
    survive = math.exp(k * math.log1p(-float(d))) if d else 1.0
    masses = np.zeros(2 * k + 1)
    masses[::2] = np.exp(log_masses) * survive * math.exp(error) * (1 + 1e-12 + 1e-15 * k)
    lost = 1e-290 if float(np.min(log_masses)) < -700 else 0.0
    infinity = above(-math.expm1(k * math.log1p(-up(d))) * (1 + 1e-13)) if d else 0.0
    return LossDistribution(e, -k, masses, infinity + lost)


def is_spelled_out(count: int) -> bool:
    """Tell whether `compose_equal` is affordable for this many mechanisms."""
    return count <= _MOST
