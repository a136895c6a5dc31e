"""How far scores move between neighbours, told apart in the type.

Selection compares scores with each other, so what counts is the *spread*: how far the difference of two
scores can move. In general one score goes up while the other goes down, and the spread is twice the
sensitivity. Where all scores move the same way, it is the sensitivity itself, and half the noise is enough.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import NeighboursMismatch
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, AddRemove, Edge, Neighbours, OneQuery, UserStream
from discreet.core.parameters import Exact, MaybeExact, Public, frozen, public
from discreet.core.rounding import shorten_down, up
from discreet.mechanisms.grid import Grid, require_units
from discreet.mechanisms.reading import MaybeNames, Wording, count_names, is_labelled, read_names


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Between neighbours every score moves by at most `value`, in any direction."""

    value: Fraction

    def __init__(self, value: checks.Number) -> None:
        object.__setattr__(self, "value", checks.positive(sensitivity=value))

    @classmethod
    def read(cls, **named: Any) -> Sensitivity:
        """Read a parameter: a plain number means scores that may move in any direction."""
        ((_, given),) = named.items()
        return given if isinstance(given, Sensitivity) else Sensitivity(given)

    def require(self, neighbours: Neighbours, grid: Grid) -> None:
        """Refuse what neighbours do not keep and what a grid cannot show.

        Raises
        ------
        NeighboursMismatch
            Where `Monotone` is claimed for a relation under which scores can move both ways at once.
        """
        if isinstance(self, Monotone) and not isinstance(neighbours, _ONE_WAY):
            raise NeighboursMismatch(
                f"scores are not monotone under {neighbours}: one score can rise while another falls. "
                f"Use sensitivity={float(self.value):.12g}"
            )
        self.shift(grid)

    def shift(self, grid: Grid) -> int:
        """Return how many units of the grid one rounded score moves at most."""
        units = grid.shift(self.value, 1)
        require_units(units, sensitivity=float(self.value))
        return units

    def spread(self, grid: Grid) -> int:
        """Return how many units the difference of two rounded scores moves at most."""
        return 2 * self.shift(grid)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float(self.value):.12g})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Monotone(Sensitivity):
    """Between neighbours all scores move the same way, each by at most `value`.

    True of counts when one person is added or removed, false when one is replaced. Rounding to a grid
    keeps order, so rounded scores move the same way too.
    """

    def spread(self, grid: Grid) -> int:
        """Return how many units the difference of two rounded scores moves at most."""
        return self.shift(grid)


SCORES = Wording(
    "one score",
    "{size} scores in the order of the candidates",
    shape_hint="Give every candidate a score",
    number_hint="Scores with labels need candidates=, the public names",
)

_ONE_WAY = (AddRemove, UserStream, Edge, OneQuery)
"""Relations where one of two neighbours contains the other. Elsewhere nothing is monotone."""


@lru_cache(maxsize=1024)
def rate_within(epsilon: Fraction, spread: int) -> Fraction:
    """Return the exponent of one grid unit for a choice that may cost epsilon: at most epsilon / spread."""
    return shorten_down(epsilon / spread, 12)


Scores = Public[checks.Number | Sensitivity, Sensitivity]
"""How far scores move, as a number or as a `Sensitivity`."""


@frozen
class Selection(Mechanism[Any, Any]):
    """What all selection mechanisms share: public candidates, private scores, one name out.

    Parameters
    ----------
    sensitivity
        `Sensitivity(value)` or `Monotone(value)`; a plain number means the former.
    epsilon
        The budget of one release.
    size, candidates
        How many candidates there are, or their names. Public, and never chosen by looking at the data.
        Scores that carry labels are put in the order of the names; a missing one counts as 0.
    grid
        The unit real scores are rounded to. Without it only integers are taken.
    neighbours
        The change the sensitivity was computed for.
    """

    sensitivity: Scores = public(Sensitivity.read)
    epsilon: Exact = public(checks.positive)
    size: Public[int | None, int] = public(checks.integer, 1, default=None)
    candidates: MaybeNames = public(read_names, default=None)
    grid: MaybeExact = public(checks.positive, default=None)
    neighbours: Neighbours = public(checks.instance, Neighbours, default=ROWS)
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        self._set(size=count_names(self.size, candidates=self.candidates))
        self.sensitivity.require(self.neighbours, Grid(self.grid))

    @property
    def spread(self) -> int:
        """How far the difference of two scores moves between neighbours, in grid units."""
        return self.sensitivity.spread(Grid(self.grid))

    @property
    def rate(self) -> Fraction:
        """The exponent of one grid unit, never above epsilon / spread."""
        return rate_within(self.epsilon, self.spread)

    def _units(self, scores: Any) -> NDArray[np.int64]:
        """Put the scores on the grid, labelled ones in the order of the candidates."""
        grid = Grid(self.grid)
        if self.candidates is not None and is_labelled(scores):
            return grid.by_label(scores, self.candidates, SCORES)
        return np.atleast_1d(np.asarray(grid.to_units(scores, self.size, SCORES)))

    def _name(self, place: int) -> Hashable:
        """Return what the candidate is called."""
        return place if self.candidates is None else self.candidates[place]

    def _behind(self, units: int) -> float:
        """Return the error that choosing a candidate this many grid units behind the best amounts to.

        Both scores were rounded, so the true ones may be one unit further apart.
        """
        grid = Grid(self.grid)
        return 0.0 if self.size == 1 else up(units * grid.step + 2 * grid.rounding)
