"""The exact audit: output distributions of all neighbouring pairs against every view of the claimed loss.

All numbers are certified from below: an infinite law leaves a little probability out, and wherever it
could lie, the true divergence is at least what is reported. So ``holds`` is False only for a proved
violation, and ``resolved`` says how much of the output is known well enough for one to be seen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.enumeration import PATHS, REPEATS, Distribution, Enumerator, output_distribution
from discreet.audit.runs import NO_STEP, freeze, list_pairs, make_runner, require_answers
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive, Mechanism
from discreet.core.rounding import above, down, exp_up, log_down, up
from discreet.core.search import narrow

__all__ = ["ExactReport", "Finding", "divergences", "exact", "output_distribution"]

ORDERS = (1.001, 1.5, 2.0, 4.0, 8.0)
"""The Rényi orders at which a claim is checked."""
DELTAS = (1e-2, 1e-4, 1e-6)
"""The deltas at which the epsilon of an approximate claim is compared."""
TIGHT = 0.8
"""The part of the claim that a tight mechanism must reach on some pair."""

Claim = tuple[str, float, float]
"""A view, where it is taken, and the number that the loss claims there."""

_ROUNDING = 1e-13  # far above the float errors of a sum of at most 200,000 positive terms
_LARGEST_EXPONENT = 700.0  # floats end at e^709
_RESOLVED = Fraction(1, 1 << 20)  # the relative error below which a probability counts as known


@dataclass(frozen=True, slots=True)
class Finding:
    """One view of the claim against what was measured.

    `view` is "epsilon" (at `at` = delta), "delta" (at `at` = epsilon) or "renyi" (at `at` = order).
    `measured` never exceeds the true divergence of the pair.
    """

    view: str
    at: float
    claimed: float
    measured: float
    left: Any = None
    right: Any = None
    outcome: Hashable = None

    @property
    def holds(self) -> bool:
        """Whether no violation is proved."""
        return self.measured <= self.claimed

    @property
    def where(self) -> str:
        """The view and where it was taken, in words."""
        unit = {"epsilon": "delta", "delta": "epsilon", "renyi": "order"}[self.view]
        return f"{self.view} at {unit} {self.at:g}"

    @property
    def ratio(self) -> float:
        """The measured part of the claim."""
        if self.claimed == 0:
            return math.inf if self.measured > 0 else 1.0
        return self.measured / self.claimed


@dataclass(frozen=True, slots=True, repr=False)
class ExactReport:
    """What the exact audit found.

    Attributes
    ----------
    mechanism
        Its description.
    findings
        The worst pair for every view of the claimed loss.
    pairs, paths
        How many ordered pairs and how many paths were enumerated.
    steps
        The most random steps on one path. Without any, the output is a function of the data, and the
        claim stands only where it is the same for both data sets of every pair.
    resolved
        The smallest probability, over all data sets, of the outcomes whose ratio is known to 1e-6.
    """

    mechanism: str
    findings: tuple[Finding, ...]
    pairs: int
    paths: int
    steps: int
    resolved: float

    @property
    def holds(self) -> bool:
        """Whether every view of the claim stands on every pair."""
        return all(finding.holds for finding in self.findings)

    @property
    def worst(self) -> Finding:
        """The headline: a violation if there is one, in epsilon if possible, else the tightest finding."""
        broken = [finding for finding in self.findings if not finding.holds]
        shown = broken or self.findings
        epsilon = [finding for finding in shown if finding.view == "epsilon"]
        renyi = [finding for finding in shown if finding.view == "renyi"]
        pure = any(finding.at == 0 for finding in epsilon)
        # A loss without a pure epsilon may be tight in either unit.
        candidates = (epsilon if pure or broken else epsilon + renyi) or renyi or shown
        return max(candidates, key=lambda finding: finding.ratio)

    @property
    def claimed(self) -> float:
        """The claim of the headline."""
        return self.worst.claimed

    @property
    def measured(self) -> float:
        """The certified lower bound of the headline."""
        return self.worst.measured

    @property
    def ratio(self) -> float:
        """How much of the claim is really used."""
        return self.worst.ratio

    @property
    def tight(self) -> bool:
        """Whether some pair reaches 0.8 of the claim."""
        return self.ratio >= TIGHT

    def __repr__(self) -> str:
        worst, verdict = self.worst, "holds" if self.holds else "BROKEN"
        verdict += "" if self.steps else f" | {NO_STEP}"
        return (
            f"{self.mechanism}: {verdict} | {worst.where}: claimed {worst.claimed:.6g}, "
            f"exact {worst.measured:.6g}, ratio {worst.ratio:.4f} | {self.pairs} pairs, {self.paths} paths | "
            f"worst {worst.left!r} vs {worst.right!r}, outcome {worst.outcome!r}"
        )


def exact(
    mechanism: Mechanism[Any, Any] | Interactive[Any, Any],
    pairs: Iterable[tuple[Any, Any]],
    script: Callable[[Conversation[Any]], Hashable] | None = None,
    *,
    limit: int = PATHS,
) -> ExactReport:
    """Enumerate the outputs on all pairs, both ways round, and compare them with the mechanism's own claim.

    Parameters
    ----------
    mechanism
        One-shot or interactive.
    pairs
        Pairs of neighbouring data. That they are neighbours is the caller's to see to.
    script
        For an interactive mechanism: asks its questions and returns the transcript.
    limit
        The largest number of paths a data set.
    """
    run = make_runner(mechanism, script)
    asked = {frozenset(map(_identity, pair)): pair for pair in list_pairs(pairs)}
    data = {_identity(side): side for pair in asked.values() for side in pair}
    enumerator = Enumerator(limit=limit, repeats=math.ceil(REPEATS / len(data)))
    known = {key: enumerator.distribution(run, side) for key, side in data.items()}
    require_answers(itertools.chain.from_iterable(known.values()), name="pairs")
    worst: dict[Claim, Finding] = {}
    claimed, resolved = list_claims(mechanism.loss), Fraction(1)
    for left, right in itertools.chain.from_iterable(map(itertools.permutations, asked.values())):
        p, q = known[_identity(left)], known[_identity(right)]
        resolved = min(resolved, _find_resolution(p, q))
        for claim, measured, outcome in divergences(p, q, claimed):
            if claim not in worst or measured > worst[claim].measured:
                worst[claim] = Finding(*claim, measured, left, right, outcome)
    paths = sum(distribution.paths for distribution in known.values())
    steps = max(distribution.steps for distribution in known.values())
    return ExactReport(repr(mechanism), tuple(worst.values()), 2 * len(asked), paths, steps, down(resolved))


def list_claims(loss: Loss) -> tuple[Claim, ...]:
    """Return (view, at, claimed) for every view the loss has a number for."""
    pure = loss.epsilon(0)
    found: list[Claim] = [("epsilon", 0.0, pure)]
    if math.isinf(pure):
        found = [("epsilon", delta, loss.epsilon(delta)) for delta in {loss.failure, *DELTAS} - {0.0}]
        known = {claimed for _, _, claimed in found if math.isfinite(claimed)}
        found += [("delta", epsilon, loss.delta(epsilon)) for epsilon in {0.0, 0.5, 1.0, 2.0} | known]
    else:
        found += [("delta", pure * k / 4, loss.delta(pure * k / 4)) for k in range(4)]
    if loss.failure == 0:
        rho = loss.zcdp()  # claims a line of its own, so the lower of the two is tested
        found += [("renyi", order, min(loss.renyi(order), above(order * rho))) for order in ORDERS]
    return tuple(claim for claim in found if math.isfinite(claim[2]))


def divergences(
    p: Distribution, q: Distribution, claimed: Iterable[Claim]
) -> Iterator[tuple[Claim, float, Hashable]]:
    """Yield every claim with a lower bound on the true number and, for a pure epsilon, the worst outcome."""
    sides = _Sides(p, q)
    for claim in claimed:
        view, at, most = claim
        if view == "renyi":
            yield claim, sides.renyi(at), None
        elif view == "delta":
            yield claim, sides.delta(at), None
        elif at == 0:
            yield claim, *max_divergence(p, q)
        else:
            yield claim, sides.epsilon(at, beyond=most), None


def max_divergence(p: Distribution, q: Distribution) -> tuple[float, Hashable]:
    """Return a certified lower bound on max ln(p / q), and the outcome that attains it."""
    margin, zero = q.left_out + q.error, Fraction(0)
    bounds = {outcome: (mass - p.error, q.get(outcome, zero) + margin) for outcome, mass in p.items()}
    for outcome, (_, high) in bounds.items():
        if high == 0:
            return math.inf, outcome
    # Floats tell which few outcomes may be the largest; those are compared exactly.
    rough = {outcome: float(low) / float(high) for outcome, (low, high) in bounds.items()}
    close = max(rough.values()) * (1 - 1e-9)
    where = max(
        (outcome for outcome, ratio in rough.items() if ratio >= close),
        key=lambda outcome: bounds[outcome][0] / bounds[outcome][1],
    )
    low, high = bounds[where]
    return max(0.0, log_down(down(low / high))), where


class _Sides:
    """Two distributions as float arrays over their common outcomes."""

    def __init__(self, p: Distribution, q: Distribution) -> None:
        outcomes = list(dict.fromkeys(itertools.chain(p, q)))
        self._p, self._q = (np.array([float(side.get(o, Fraction(0))) for o in outcomes]) for side in (p, q))
        self._error_p, self._lost_q = up(p.error), up(q.left_out + q.error)

    def delta(self, epsilon: float) -> float:
        """Return a lower bound on the sum of (p - e^epsilon q) where that is positive."""
        if epsilon > _LARGEST_EXPONENT:
            return 0.0
        factor = exp_up(epsilon)
        excess = self._p - factor * self._q
        inside = excess > 0
        # What q left out may lie wholly inside the event; what p left out could only add to it.
        safety = self._error_p + factor * self._lost_q + _ROUNDING * float(self._p[inside].sum())
        return max(0.0, float(excess[inside].sum()) - safety)

    def epsilon(self, delta: float, *, beyond: float) -> float:
        """Return a lower bound on the smallest epsilon at a delta, searched up to twice the claim and 10."""
        if self.delta(0.0) <= delta:
            return 0.0
        high = 2 * beyond + 10
        if self.delta(high) > delta:
            return high
        return narrow(lambda epsilon: self.delta(epsilon) <= delta, 0.0, high, steps=50)[0]

    def renyi(self, order: float) -> float:
        """Return a lower bound on the Rényi divergence D_order(p || q)."""
        p = np.maximum(0.0, self._p - self._error_p)
        q = self._q + self._lost_q
        inside = (p > 0) & (q > 0)
        if bool(np.any((p > 0) & (q == 0))):
            return math.inf
        logs = order * np.log(p[inside]) + (1 - order) * np.log(q[inside])
        top = float(logs.max())
        total = float(np.exp(logs - top).sum()) * (1 - _ROUNDING * order)
        return max(0.0, (top + math.log(total)) / (order - 1))


def _find_resolution(p: Distribution, q: Distribution) -> Fraction:
    """Return p's mass on outcomes whose probabilities are known to a relative 2**-20 on both sides."""
    lost = max(p.left_out + p.error, q.left_out + q.error)
    if lost == 0:
        return Fraction(1)
    small = lost / _RESOLVED
    zero = Fraction(0)
    return sum((mass for outcome, mass in p.items() if min(mass, q.get(outcome, zero)) >= small), zero)


def _identity(data: Any) -> Hashable:
    """Return a key for a data set that tells 1 from 1.0 and 0.0 from -0.0."""
    if hasattr(data, "entries"):  # a histogram, whose class comes with scipy, lets nobody compare it
        return data.universe, freeze(data.entries())
    return repr(data) if isinstance(data, int | float | str) else freeze(data)
