"""What the others learn of one analyst's query when they see a synopsis that was sampled in a game.

Changing what is hidden moves each round's distribution over actions by at most `sigma` in statistical
distance. So a round is *touched* with probability sigma, independently, and otherwise draws from what both
books have in common. A run without touched rounds is the same for both books. Each touched round shifts the
log-weights of the cells, in all rounds from it on, by at most rate each way; with m_t of them among the
first t rounds the draw of round t is an exponential choice whose log-likelihood ratio has range 2 rate m_t.
Given which rounds are touched, the run costs rho = sum_t (2 rate m_t)^2 / 8 in zCDP. The mixture over the
touched rounds is amplified by the part that both books share [BBG18].
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import special

from discreet.core import checks
from discreet.core.fixed import Floats
from discreet.core.loss import Loss
from discreet.core.parameters import Exact, checked, public
from discreet.core.rounding import above, down, up

_BINS, _COUNTS = 32, 96
_SLACK = 1e-9  # relative: far above the rounding errors of the special functions it covers
_LEFT_OUT = 1e-16  # the share of the touched runs whose count of touched rounds is not looked at
_MULTIPLES = np.geomspace(1 / 8, 8, 81)


@checked
class GameLoss(Loss):
    """The analyst's side of a sampled game.

    Attributes
    ----------
    rounds
        How many cells are drawn and published.
    sigma
        The statistical distance a round's distribution over actions moves by at most.
    rate
        What one action adds to the log-weight of the cells it counts.
    """

    rounds: int = public(checks.integer, 1)
    sigma: Exact = public(checks.non_negative)
    rate: Exact = public(checks.non_negative)

    @property
    def touched(self) -> float:
        """The probability that any round is touched, rounded up."""
        sigma = min(1.0, up(self.sigma))
        if sigma == 1:
            return 1.0
        return min(1.0, -math.expm1(self.rounds * math.log1p(-sigma)) * (1 + _SLACK))

    @property
    def pure(self) -> Fraction:
        """The largest log-likelihood ratio of any run: all rounds touched."""
        return self.rate * self.rounds * (self.rounds + 1)

    def delta(self, epsilon: checks.Number) -> float:
        """Return the mixture bound, never above the probability that a round is touched."""
        wanted = checks.non_negative(epsilon=epsilon)
        if wanted >= self.pure:
            return 0.0
        return mixture_delta(self.rounds, min(1.0, up(self.sigma)), up(self.rate), self.touched, down(wanted))

    def epsilon(self, delta: checks.Number) -> float:
        """Invert the curve; at delta 0 return the pure bound."""
        found = Loss.epsilon(self, delta)
        return min(found, up(self.pure))

    def zcdp(self) -> float:
        """Return the cost where every round is touched: the cap is not counted on."""
        t = self.rounds
        return up(self.rate * self.rate / 2 * t * (t + 1) * (2 * t + 1) / 6)

    def exact_epsilon(self) -> Fraction:
        """Return the pure bound."""
        return self.pure

    def __str__(self) -> str:
        return f"a game of {self.rounds} rounds, {float(self.sigma):.3g} of each touched"


@lru_cache(maxsize=4096)
def mixture_delta(rounds: int, sigma: float, rate: float, touched: float, epsilon: float) -> float:
    """Return delta at an epsilon: the mean, over the touched rounds, of delta at the amplified epsilon."""
    if touched == 0 or rate == 0:
        return 0.0
    if epsilon > 700:
        amplified = epsilon
    else:  # rounded down: a smaller epsilon has a larger delta
        amplified = math.log1p(math.expm1(epsilon) / touched) * (1 - 1e-12)
    counts, chances, rest = _touched_rounds(rounds, sigma)
    ends, shares = _latest(rounds, counts)
    rho = (rate * counts[:, None]) ** 2 / 2 * ends * (1 + 1e-12)
    deltas = zcdp_deltas(rho, amplified)
    total = float((chances[:, None] * shares * deltas).sum()) + rest
    return min(touched, 1.0, above(total * (1 + _SLACK)))


def zcdp_deltas(rho: Floats, epsilon: float) -> Floats:
    """Convert many rhos to deltas at one epsilon. Every order is sound, and one near the best is tried."""
    best = np.maximum(epsilon / np.maximum(rho, 1e-300) - 1, 1.0) / 2
    orders = 1 + best[..., None] * _MULTIPLES
    logs = (orders - 1) * (orders * rho[..., None] - epsilon + np.log1p(-1 / orders)) - np.log(orders)
    least = logs.min(axis=-1)
    # Never 0: a delta that underflows is no promise of 0.
    found: Floats = np.exp(np.clip(least + 1e-12 * np.abs(least), -700, 0)) * (1 + _SLACK)
    return found


@lru_cache(maxsize=256)
def _touched_rounds(rounds: int, sigma: float) -> tuple[Floats, Floats, float]:
    """Return how many rounds may be touched, upper bounds on the probabilities, and what is left out."""
    mean = rounds * sigma
    most = min(rounds, math.ceil(mean + 12 * math.sqrt(mean) + 40))
    counts = np.arange(1, most + 1, dtype=np.float64)
    chances = np.exp(_log_binomial(rounds, counts, sigma)) * (1 + _SLACK)
    rest = 0.0 if most == rounds else float(special.bdtrc(most, rounds, sigma)) * (1 + 1e-6)
    # The far end counts as delta 1 at once: its terms would cost more time than they are worth.
    tail = np.cumsum(chances[::-1])[::-1]
    kept = int(np.count_nonzero(tail > _LEFT_OUT * float(tail[0])))
    rest += float(tail[kept:].max(initial=0.0)) * (1 + _SLACK)
    # Several counts are taken for the largest of them: more touched rounds cost more.
    step = -(-kept // _COUNTS)
    starts = np.arange(0, kept, step)
    return counts[np.minimum(starts + step, kept) - 1], np.add.reduceat(chances[:kept], starts), rest


def _log_binomial(rounds: int, counts: Floats, sigma: float) -> Floats:
    logs = special.gammaln(rounds + 1) - special.gammaln(counts + 1) - special.gammaln(rounds - counts + 1)
    if sigma == 1:
        return np.where(counts == rounds, 0.0, -np.inf)
    found: Floats = logs + counts * math.log(sigma) + (rounds - counts) * math.log1p(-sigma)
    # Absolute errors of the logarithms are relative errors of the probabilities.
    return found + 1e-15 * (4 * special.gammaln(rounds + 1) + 1)


def _latest(rounds: int, counts: Floats) -> tuple[Floats, Floats]:
    """Return, for each count m, bins of the rounds from the first touched one on, and their shares.

    The touched rounds are a uniform set of m. Each has an effect on the rounds from it on, so all together
    sum m_t^2 <= m^2 r, where r counts the rounds from the first touched one on. r is taken at the upper end
    of its bin. Pr[r <= x] = C(x, m) / C(rounds, m).
    """
    edges = np.unique(np.ceil(np.linspace(0, rounds, _BINS + 1)))
    x, m = edges[None, :], counts[:, None]
    inside = x >= m
    logs = special.gammaln(np.where(inside, x, m) + 1) - special.gammaln(np.where(inside, x - m, 0) + 1)
    logs -= special.gammaln(rounds + 1) - special.gammaln(rounds - m + 1)
    below = np.where(inside, np.exp(np.minimum(logs, 0.0)), 0.0)
    below[:, -1] = 1.0
    # Moving probability up by what the logarithms may be off by keeps the bound one.
    doubt = 1e-14 * (float(special.gammaln(rounds + 1)) + 1)
    shares = np.maximum(np.diff(below, axis=1), 0.0) + 2 * doubt * below[:, 1:]
    return edges[1:][None, :], shares
