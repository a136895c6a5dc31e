"""One box by itself, which is what most questions are: answered from what was released, in a few steps.

The same numbers as a workload of this one box has, but for the rounding of sums. All of it is public:
whatever needs a look at the data is not answered here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from discreet.core.fixed import Array, Floats, Integers
from discreet.queries.query import Axes
from discreet.query_release.synopses.online_answer import FREE, OnlineAnswer, OnlineAnswers


class OneBox:
    """One box by itself, by its codes: what most questions are, read without a look at any cell.

    Parameters
    ----------
    shape
        That of the universe.
    codes
        The codes of each attribute that it narrows, ascending, by place.
    """

    def __init__(self, shape: Axes, codes: Mapping[int, Integers]) -> None:
        self.axes: Axes = tuple(sorted(axis for axis in codes if len(codes[axis]) < shape[axis]))
        listed = [codes[axis] for axis in self.axes]
        self.is_empty = any(not len(one) for one in listed)
        sizes = [len(codes[axis]) if axis in codes else size for axis, size in enumerate(shape)]
        self.sizes = np.array([sizes], dtype=np.float64)
        runs = [len(one) > 0 and int(one[-1] - one[0]) + 1 == len(one) for one in listed]
        self.runs = np.array([all(runs)])
        self._chosen: Any = np.ix_(*listed) if not all(runs) else None
        if self._chosen is None:
            self._chosen = tuple(slice(int(one[0]), int(one[-1]) + 1) for one in listed)

    def add_up(self, table: Array) -> float:
        """Return the sum of a table over its attributes within the box."""
        return float(table[self._chosen].sum())


class KnownBoxes(Protocol):
    """What knows boxes: what was measured."""

    def look_at(self, box: OneBox) -> tuple[float, float, float, float] | None:
        """Return answer, estimate, deviation and the bound on its noise; None where nothing tells it."""

    def own_errors(self, said: Floats, deviations: Floats) -> Floats:
        """Return how far answers may be off, each by itself."""


def settle_box(
    box: OneBox, known: KnownBoxes | None, *, scale: int | None, most: float, bar: float
) -> OnlineAnswers | None:
    """Answer a box where what is known tells it well enough; None where it does not.

    Parameters
    ----------
    box, known
        What is asked, and what is known.
    scale
        How many units a row has, of which answers are whole numbers; None where they are not rounded.
    most, bar
        The most units that are counted, and the error in units up to which no look at the data is needed.
    """
    if box.is_empty:
        return OnlineAnswers.of([OnlineAnswer(0.0, 0.0, FREE)])
    found = None if known is None else known.look_at(box)
    if found is None or known is None:
        return None
    said, estimate, deviation, noise = found
    units = said if scale is None else float(round(min(said * scale, most)))
    by = scale or 1
    error = add_errors(abs(units - estimate * by), noise, by)
    if not error <= bar:
        return None
    values, errors = np.array([units / by]), np.array([error / by])
    owns = np.minimum(known.own_errors(values, np.array([deviation])), errors)
    return OnlineAnswers(values, errors, np.array([FREE]), owns)


def add_errors(off: Any, noise: Any, scale: int) -> Any:
    """Return how far a hypothesis may be off, in units: from the estimate, and that from the truth.

    Rounded up to 1 / 1024 of a unit, far beyond the last digits: these depend on where numbers lie in
    memory, and the same question has the same answer.
    """
    return np.ceil((off + noise * scale) * 1024) / 1024
