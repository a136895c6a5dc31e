"""What one round of multiplicative weights can ask: a whole table, or a single query."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import Refused
from discreet.core.neighbours import Neighbours, Replace
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.tables import Axes
from discreet.queries.workload import Workload
from discreet.query_release.fitting.weights import Hypothesis

Array = NDArray[Any]

_FAR = float(1 << 60)  # what is said beyond is cut off: floats must not leave 64 bits


class Residual(NamedTuple):
    """How far a measurement is clearly missed: a table over some axes to move along, its square and range."""

    axes: Axes
    direction: Array
    square: float
    width: float


class Questions(ABC):
    """The candidates of a round. Public; true answers are integers.

    Attributes
    ----------
    count
        How many candidates there are.
    shift
        How far one row moves a score, at most.
    moved, square
        How far one row moves the measured numbers, in the L1 norm and squared in the L2 norm.
    widest
        The most numbers that one candidate has.
    reach, width
        The largest size of a weight, and the largest difference of two weights of one query.
    """

    count: int
    shift: int
    moved: int
    square: int
    widest: int
    reach: int
    width: int

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def predict(self, hypothesis: Hypothesis) -> Array:
        """Return the hypothesis' answers, rounded to whole numbers so that scores are whole."""
        said = np.rint(np.clip(self.workload.answers(hypothesis.array), -_FAR, _FAR))
        return np.asarray(said, dtype=np.int64)

    @abstractmethod
    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return how wrong every candidate is, less what the noise (its mean size) would leave of it."""

    @abstractmethod
    def numbers(self, truth: Array, choice: int) -> Array:
        """Return the true answers of one candidate."""

    @abstractmethod
    def size(self, choice: int) -> int:
        """Return how many numbers a candidate has."""

    @abstractmethod
    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Compare a measurement with the hypothesis; differences count from `slack` on."""


class WholeTables(Questions):
    """Every table of some marginals is a candidate. Its score is its L1 distance."""

    def __init__(self, workload: Marginals, neighbours: Neighbours) -> None:
        super().__init__(workload)
        self._tables = workload.tables
        self.count = len(workload.sets)
        self._cells = np.diff(self._tables.offsets)
        self.widest = int(self._cells.max())
        # A row is in one cell of a table; a replaced row leaves one and enters another.
        self.shift = 2 if isinstance(neighbours, Replace) and self.widest > 1 else 1
        self.moved = self.square = self.shift
        self.reach = self.width = 1

    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return the L1 distances of the tables, less what the noise of a measurement would leave of them."""
        off = np.add.reduceat(np.abs(truth - said), self._tables.offsets[:-1])
        return np.asarray(off - np.rint(noise * self._cells).astype(np.int64))

    def numbers(self, truth: Array, choice: int) -> Array:
        """Return one true table, laid flat."""
        return truth[self._tables.offsets[choice] : self._tables.offsets[choice + 1]]

    def size(self, choice: int) -> int:
        """Return the cells of a table."""
        return int(self._cells[choice])

    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Return the table of differences."""
        axes = self._tables.wanted[choice]
        shape = [hypothesis.universe.shape[axis] for axis in axes]
        off = _beyond(noisy.reshape(shape) - hypothesis.table(axes), slack)
        return Residual(axes, off, float((off * off).sum()), float(off.max() - off.min()))


class SingleQueries(Questions):
    """Every query is a candidate. Its score is its error."""

    widest = 1

    def __init__(self, workload: Workload, neighbours: Neighbours) -> None:
        super().__init__(workload)
        if not workload.is_integral:
            raise Refused(
                what="a workload with weights that are not whole numbers",
                why="scores and measurements are exact integers",
                way_out="Multiply the weights by a public factor and round them",
            )
        self.count = len(workload)
        self.shift = max(1, math.floor(workload.sensitivity_bound(neighbours, norm=math.inf)))
        self.moved, self.square = self.shift, self.shift**2
        self.reach = math.ceil(workload.largest_weight)
        self.width = 1 if workload.is_predicates else max(int(high - low) for low, high in workload.extents())

    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return the errors."""
        del noise  # the same for all
        return np.asarray(np.abs(truth - said))

    def numbers(self, truth: Array, choice: int) -> Array:
        """Return one true answer."""
        return truth[choice : choice + 1]

    def size(self, choice: int) -> int:
        """Return 1."""
        del choice
        return 1

    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Return the query's weights times its difference."""
        query = self.workload.query(choice)
        table = np.asarray(query.table(), dtype=np.float64)
        off = float(_beyond(np.asarray(float(noisy[0]) - hypothesis.answer(query)), slack))
        return Residual(query.axes, off * table, off * off, abs(off) * float(table.max() - table.min()))


@lru_cache(maxsize=64)
def questions(workload: Workload, neighbours: Neighbours) -> Questions:
    """Return whole tables for marginals, single queries for anything else."""
    workload.universe.require_dense()
    if isinstance(workload, Marginals):
        return WholeTables(workload, neighbours)
    return SingleQueries(workload, neighbours)


def _beyond(differences: Array, slack: float) -> Array:
    """Return how far beyond a slack every difference is."""
    return np.asarray(np.sign(differences) * np.maximum(np.abs(differences) - slack, 0.0))
