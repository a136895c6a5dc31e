"""Counting queries, whose sensitivity follows from the neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NeighboursMismatch
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.reading import Wording

_ROWS_HINT = "Count first, for instance int((series > 40).sum())"

COUNT = Wording(
    "one count",
    integers="one count of an integer type",
    shape_hint=_ROWS_HINT,
    number_hint=_ROWS_HINT,
    integer_hint="Pass integers",
)


class Count(Geometric):
    """Release how many rows satisfy a condition.

    Privacy: (epsilon, 0): one row more, less or changed moves a count by at most one. [DR14] Theorem 3.6.
    Accuracy: error(beta) is the exact quantile of the noise. [DR14] Theorem 3.8 with one query.
    Time: O(1).

    Parameters
    ----------
    epsilon
        The budget of one release.
    neighbours
        `AddRemove` or `Replace`; the sensitivity follows from it.

    Examples
    --------
    >>> Count(epsilon=1, neighbours=AddRemove("person")).error(0.05)
    3.0
    """

    __slots__ = ()
    wording = COUNT

    def __init__(self, *, epsilon: checks.Number, neighbours: Neighbours) -> None:
        count_moved_cells(neighbours)
        super().__init__(sensitivity=1, epsilon=epsilon, neighbours=neighbours)


def count_moved_cells(neighbours: Neighbours) -> int:
    """Return how many cells of a histogram one change moves, each by one.

    Raises
    ------
    NeighboursMismatch
        For a relation that is not about the rows of a table.
    """
    checks.instance(Neighbours, neighbours=neighbours)
    if isinstance(neighbours, AddRemove | Replace):
        return 1 if isinstance(neighbours, AddRemove) else 2
    raise NeighboursMismatch(
        f"counts of rows are calibrated for AddRemove or Replace, not for {neighbours}: "
        f"use Laplace(...) with the sensitivity you have computed"
    )


def _tiny_counts() -> Iterator[Tiny]:
    for neighbours in (AddRemove("row"), Replace("row")):
        pairs = [(a, b) for a in range(4) for b in range(4) if abs(a - b) == 1]
        yield Tiny(Count(epsilon=1, neighbours=neighbours), pairs)


CARD = Card(
    title="Counting query",
    theorem="(epsilon, 0)-differential privacy; error at most the noise's exact quantile",
    reference="[DR14] Theorems 3.6 and 3.8",
    example=lambda: (Count(epsilon=0.5, neighbours=AddRemove("person")), 1234),
    tiny=_tiny_counts,
)
