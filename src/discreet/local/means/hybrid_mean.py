"""The mean from signs and places, mixed so that the largest variance is least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.local.means.base import LocalMean, ask_numbers


@frozen
class HybridMean(LocalMean):
    """Report a sign or a place, whichever a coin says: the mixture with the least variance for every budget.

    Privacy: (epsilon, 0) for each report, towards everybody. [WXYZ19] Section III
    Accuracy: the least of the three; flat over all numbers where both are mixed.
    Time: O(people).

    The parameters are those of every `LocalMean`.

    Examples
    --------
    >>> survey = HybridMean(epsilon=2, lower=0, upper=100, people=10_000)
    >>> survey.bits, round(survey.standard_error, 2)
    (9, 0.51)
    """

    kind: ClassVar[str] = "hybrid-mean"


def _tiny() -> Iterator[Tiny]:
    yield from ask_numbers(HybridMean)


CARD = Card(
    title="A mean from signs and places, mixed",
    theorem="(epsilon, 0) for each report towards everybody; an unbiased mean on a grid",
    reference="[WXYZ19] Section III",
    example=lambda: (HybridMean(epsilon=1, lower=0, upper=100, people=1000), 37),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
