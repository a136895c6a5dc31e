"""The mean from one bit a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.local.means.base import LocalMean, ask_numbers


@frozen
class SignMean(LocalMean):
    """Report one bit that leans towards the side the number lies on.

    Privacy: (epsilon, 0) for each report, towards everybody. [DJW18]
    Accuracy: the best there is for small budgets, below epsilon 0.6; above, `HybridMean`.
    Time: O(people).

    The parameters are those of every `LocalMean`.

    Examples
    --------
    >>> survey = SignMean(epsilon=1, lower=0, upper=100, people=10_000)
    >>> survey.bits, round(survey.standard_error, 2)
    (1, 1.08)
    """

    kind: ClassVar[str] = "sign-mean"


def _tiny() -> Iterator[Tiny]:
    yield from ask_numbers(SignMean)


CARD = Card(
    title="A mean from one bit a person",
    theorem="(epsilon, 0) for each report towards everybody; an unbiased mean on a grid",
    reference="[DJW18] Section 4",
    example=lambda: (SignMean(epsilon=1, lower=0, upper=100, people=1000), 37),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
