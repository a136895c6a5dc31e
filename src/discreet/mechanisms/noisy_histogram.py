"""Histograms of disjoint cells, whose sensitivity follows from the neighbours."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.mechanisms.count import count_moved_cells
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.laplace import laplace_step
from discreet.mechanisms.reading import Wording, count_names, is_labelled, read_names

_CELLS_HINT = "Count first, for instance series.value_counts().reindex(cells, fill_value=0).to_numpy()"

CELLS = Wording(
    "a list of one count",
    "{size} counts, one a cell",
    integers="counts of an integer type",
    shape_hint=_CELLS_HINT,
    number_hint=_CELLS_HINT,
    integer_hint="Pass integers",
)


@frozen
class NoisyHistogram(Geometric):
    """Release the counts of disjoint cells, as an array in the order of the cells.

    Privacy: (epsilon, 0), whatever the number of cells: a row is in one cell. [DR14] Theorem 3.6.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises. Bound: [DR14] Theorem 3.8.
    Time: O(size).

    Parameters
    ----------
    epsilon
        The budget of one release.
    size, cells
        How many cells there are, or their names. Public, and never read from the data. With names, counts may
        come with labels, such as a mapping or `series.value_counts()`: they are put in the order of the
        cells, a missing one counts as 0 and an undeclared one is dropped. Without names labelled counts are
        refused: in the order they come in, they would tell which value is the most frequent.
    neighbours
        `AddRemove` (one cell moves by one) or `Replace` (two cells do); the sensitivity follows from it.

    Examples
    --------
    >>> NoisyHistogram(epsilon=1, size=10_000, neighbours=AddRemove("person")).error(0.05)
    12.0
    >>> NoisyHistogram(epsilon=1, cells=("north", "south"), neighbours=AddRemove("person")).size
    2
    """

    cells: tuple[Hashable, ...] | None
    wording = CELLS

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        neighbours: Neighbours,
        size: int | None = None,
        cells: Iterable[Hashable] | None = None,
    ) -> None:
        moved = count_moved_cells(neighbours)
        names = None if cells is None else read_names(cells=cells)
        count = count_names(size, cells=names)
        Geometric.__init__(self, sensitivity=moved, epsilon=epsilon, size=count, neighbours=neighbours)
        self._set(cells=names)

    @property
    def loss(self) -> Loss:
        """The exact curve: as many cells as move, each by one, with independent noise."""
        return Composed(((DiscreteLaplaceLoss(1, self.scale), self.shift),))

    def _draw(self, data: Any, rng: Rng) -> Any:
        return rng.perform(laplace_step(self.shift, self.epsilon), self._counts(data))

    def _counts(self, data: Any) -> NDArray[np.int64]:
        if is_labelled(data):
            if self.cells is not None:
                return Grid(None).by_label(data, self.cells, CELLS)
            raise InvalidParameter(
                name="data",
                rule="without labels where no cells are declared",
                got=f"a {type(data).__name__}",
                hint="Pass cells=, the public names of the cells, and give it series.value_counts()",
            )
        counts = Grid(None).to_units(data, self.size, CELLS)
        if isinstance(counts, np.ndarray):
            return counts
        raise CELLS.wrong_shape(self.size)  # a plain number is no histogram, not even of one cell


def _tiny_histograms() -> Iterator[Tiny]:
    for neighbours, epsilon, rows in ((AddRemove("row"), 4, 2), (Replace("row"), 6, 2)):
        mechanism = NoisyHistogram(epsilon=epsilon, size=2, neighbours=neighbours)
        pairs = {
            (left, right)
            for a, b in neighbours.pairs((0, 1), rows)
            if (left := _cells(a)) != (right := _cells(b))
        }
        yield Tiny(mechanism, sorted(pairs))


def _cells(rows: Sequence[Any]) -> tuple[int, int]:
    return sum(row == 0 for row in rows), sum(row == 1 for row in rows)


def theorem_3_8(
    *, size: int, beta: checks.Number, sensitivity: checks.Number, epsilon: checks.Number
) -> float:
    """Bound the largest of `size` Laplace noises by log(size / beta) sensitivity / epsilon, rounded up.

    It is stated for continuous noise. Whole-number noise keeps it once it is rounded up to a whole number.
    """
    ratio = checks.integer(1, size=size) / checks.probability(beta=beta)
    scale = checks.positive(sensitivity=sensitivity) / checks.positive(epsilon=epsilon)
    return above(math.log(up(ratio)) * up(scale), steps=4)


CARD = Card(
    title="Histogram of disjoint cells",
    theorem="(epsilon, 0)-differential privacy, any number of cells; error about log(size / beta) / epsilon",
    reference="[DR14] Theorem 3.8 and Example 3.3",
    example=lambda: (
        NoisyHistogram(epsilon=0.5, size=4, neighbours=AddRemove("person")),
        np.array([100, 20, 3, 0]),
    ),
    tiny=_tiny_histograms,
)
