"""Claims of the sparse-vector mechanisms: answers beside a threshold."""

from __future__ import annotations

from typing import Any

from tests.statistical.claims.harness import Case

import discreet as dp
from discreet.core.rng import Rng

QUESTIONS = 60


def _wrong_by(mechanism: Any, values: list[float], threshold: float) -> Any:
    """How far the worst answer of a conversation is on the wrong side, or off as a number."""

    def off(rng: Rng) -> float:
        worst = 0.0
        with mechanism.open(values, rng=rng) as talk:
            for place, value in enumerate(values):
                if talk.closed:
                    break
                said = talk.ask(lambda rows, place=place: rows[place])
                if said is None or said is False:
                    worst = max(worst, value - threshold)
                else:
                    worst = max(worst, threshold - value)
                    if said is not True:
                        worst = max(worst, abs(float(said) - value))
        return worst

    return off


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    found: dict[str, list[Case]] = {}
    for name, make in (
        ("above-threshold", dp.AboveThreshold),
        ("sparse", lambda **given: dp.Sparse(positives=3, **given)),
        ("numeric-sparse", lambda **given: dp.NumericSparse(positives=3, **given)),
    ):
        for delta in (0, 1e-6):
            for signed in (dp.Monotone(1), 1):
                mechanism = make(sensitivity=signed, epsilon=1, delta=delta, threshold=100, queries=QUESTIONS)
                alpha = int(mechanism.error(0.1))
                for label, values in (
                    ("just below", [100 - alpha - 1] * QUESTIONS),
                    ("just above", [100 + alpha + 1] * QUESTIONS),
                    ("both", [100 - alpha - 1] * (QUESTIONS - 1) + [100 + alpha + 1]),
                ):
                    kind = f"delta {delta}, {'monotone' if signed != 1 else 'signed'}, {label}"
                    case = Case(kind, mechanism.error, _wrong_by(mechanism, values, 100), 120)
                    found.setdefault(name, []).append(case)
        fine = make(sensitivity=0.5, epsilon=1, delta=0, threshold=10.1, grid=0.25, queries=QUESTIONS)
        halves = [10.1 - fine.error(0.1) - 0.124] * QUESTIONS
        found[name].append(Case("off the grid", fine.error, _wrong_by(fine, halves, 10.1), 120))
    return found
