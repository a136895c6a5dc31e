"""Symmetric unary encoding: a bit for each value, all bits lie as often. Basic RAPPOR."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.local.frequencies.unary_reports import UnaryOracle
from discreet.local.tiny import ask_all


@frozen
class SymmetricUnary(UnaryOracle):
    """Report a bit for each value, each turned with probability 1 / (e^(epsilon / 2) + 1).

    Privacy: (epsilon, 0) for each report, towards everybody: two values differ in two bits. [EPK14]
    Accuracy: variance e^(epsilon / 2) / (e^(epsilon / 2) - 1)^2 a person, about; `OptimisedUnary` has less.
    Time: O(people * values / 8).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = SymmetricUnary(epsilon=2, domain=64, people=10_000)
    >>> survey.bits, round(survey.mean_square ** 0.5)
    (64, 96)
    """

    kind: ClassVar[str] = "symmetric-unary"


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(SymmetricUnary, ((2, Fraction(1)), (4, Fraction(1, 2)), (3, Fraction(5))))


CARD = Card(
    title="Symmetric unary encoding, known as basic RAPPOR",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts",
    reference="[EPK14] Section 3",
    example=lambda: (SymmetricUnary(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
