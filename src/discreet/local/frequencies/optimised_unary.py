"""Optimised unary encoding: a bit for each value, and the budget spent where most bits are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.local.frequencies.unary_reports import UnaryOracle
from discreet.local.tiny import ask_all


@frozen
class OptimisedUnary(UnaryOracle):
    """Report a bit for each value: one's own by a fair coin, the others with probability 1 / (e^epsilon + 1).

    Privacy: (epsilon, 0) for each report, towards everybody. [WBLJ17] Section 4.
    Accuracy: variance 4 e^epsilon / (e^epsilon - 1)^2 a person, which no protocol beats by much.
    Time: O(people * values / 8).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = OptimisedUnary(epsilon=2, domain=64, people=10_000)
    >>> survey.bits, round(survey.mean_square ** 0.5)
    (64, 86)
    """

    kind: ClassVar[str] = "optimised-unary"


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(OptimisedUnary, ((2, Fraction(1)), (4, Fraction(1, 2)), (3, Fraction(5))))


CARD = Card(
    title="Optimised unary encoding",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts; nearly the least variance",
    reference="[WBLJ17] Section 4",
    example=lambda: (OptimisedUnary(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
