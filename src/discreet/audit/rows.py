"""One line for every instance of a card: claimed epsilon, what was really found, and the ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.audit.empirical import epsilon_lower_bound
from discreet.audit.exact import exact
from discreet.core.card import Card, Tiny
from discreet.core.rng import SYSTEM, Rng


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one audit of one instance.

    Attributes
    ----------
    mechanism
        The instance, in words.
    method
        "exact", or "samples" for a black-box lower bound.
    view
        What was compared, such as "epsilon at delta 0".
    claimed, measured, ratio
        The claim, the certified lower bound on the truth, and their quotient.
    holds
        Whether the claim stands.
    """

    mechanism: str
    method: str
    view: str
    claimed: float
    measured: float
    ratio: float
    holds: bool


def audit_card(card: Card, *, samples: int = 0, rng: Rng = SYSTEM) -> tuple[Row, ...]:
    """Audit every tiny instance of a card exactly, and from samples too where `samples` are given."""
    return tuple(row for tiny in card.tiny() for row in _rows(tiny, samples, rng))


def _rows(tiny: Tiny, samples: int, rng: Rng) -> Iterator[Row]:
    report = exact(tiny.mechanism, tiny.pairs, tiny.script)
    worst, name = report.worst, repr(tiny.mechanism)
    at = {"epsilon": "delta", "delta": "epsilon", "renyi": "order"}[worst.view]
    view = f"{worst.view} at {at} {worst.at:g}"
    yield Row(name, "exact", view, worst.claimed, worst.measured, worst.ratio, report.holds)
    if not samples:
        return
    loss = tiny.mechanism.loss
    delta = 0.0 if math.isfinite(loss.epsilon(0)) else max(loss.failure, 1e-3)
    sampled = epsilon_lower_bound(
        tiny.mechanism,
        (worst.left, worst.right),
        samples=samples,
        delta=delta,
        script=tiny.script,
        rng=rng,
    )
    view = f"epsilon at delta {delta:g}"
    yield Row(name, "samples", view, sampled.claimed, sampled.epsilon, sampled.ratio, sampled.holds)
