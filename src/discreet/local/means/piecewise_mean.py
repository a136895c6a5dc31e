"""The mean from a place near the number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.local.means.base import LocalMean, ask_numbers


@frozen
class PiecewiseMean(LocalMean):
    """Report a place of a grid, likely one in a window around the number.

    Privacy: (epsilon, 0) for each report, towards everybody. [WXYZ19] Section III
    Accuracy: for large budgets; `HybridMean` is never worse.
    Time: O(people).

    The parameters are those of every `LocalMean`.

    Examples
    --------
    >>> survey = PiecewiseMean(epsilon=4, lower=0, upper=100, people=10_000)
    >>> survey.bits, round(survey.standard_error, 2)
    (9, 0.24)
    """

    kind: ClassVar[str] = "piecewise-mean"


def _tiny() -> Iterator[Tiny]:
    yield from ask_numbers(PiecewiseMean)


CARD = Card(
    title="A mean from places near the numbers",
    theorem="(epsilon, 0) for each report towards everybody; an unbiased mean on a grid",
    reference="[WXYZ19] Section III",
    example=lambda: (PiecewiseMean(epsilon=1, lower=0, upper=100, people=1000), 37),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
