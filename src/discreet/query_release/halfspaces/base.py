"""What every release about points and halfspaces shares: public parameters, data and noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.base import about_rows, check_unit
from discreet.query_release.halfspaces.points import centred, points

Counts = TypeVar("Counts")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PointRelease(Mechanism[Histogram, Counts], Generic[Counts]):
    """Noisy counts of points in a universe of numbers, all in one joint release."""

    universe: Universe
    epsilon: Fraction
    delta: Fraction
    rows: int | None
    centre: tuple[Fraction, ...]
    neighbours: Neighbours
    measures: ClassVar[bool] = False

    def _set_points(
        self,
        *,
        universe: Universe,
        epsilon: checks.Number,
        delta: checks.Number,
        rows: int | None,
        centre: Sequence[checks.Number] | None,
        neighbours: Neighbours,
    ) -> None:
        checks.instance(Universe, universe=universe)
        self._set(
            universe=universe,
            epsilon=checks.positive(epsilon=epsilon),
            delta=checks.delta(delta=delta),
            rows=_public_rows(rows, about_rows(neighbours)),
            centre=centred(universe, centre),
            neighbours=neighbours,
        )
        points(universe, self.centre, np.zeros((0, len(universe.shape)), dtype=np.int64))  # numbers only

    @abstractmethod
    def __init__(self, *, epsilon: checks.Number, **public: Any) -> None: ...

    @property
    @abstractmethod
    def size(self) -> int:
        """How many counts are measured."""

    @abstractmethod
    def moved(self, norm: int) -> Fraction:
        """Return the L1 or L2 sensitivity of all counts together."""

    @property
    def noise(self) -> Gaussian | Laplace:
        """The step that meets the data: Laplace noise where delta is 0, else Gaussian noise."""
        shared: dict[str, Any] = {"epsilon": self.epsilon, "size": self.size, "neighbours": self.neighbours}
        if self.delta == 0:
            return Laplace(sensitivity=self.moved(1), **shared)
        return Gaussian(l2_sensitivity=self.moved(2), delta=self.delta, **shared)

    @property
    def loss(self) -> Loss:
        """The loss of the noise on all counts together."""
        return self.noise.loss

    def _points(self, data: Any) -> Histogram:
        """Return data that must be a histogram over the universe, of the public size if there is one."""
        if not isinstance(data, Histogram) or data.universe != self.universe:
            raise InvalidParameter(
                name="data",
                rule="a Histogram over the mechanism's universe",
                got=f"another {type(data).__name__}",
                hint="Make one with Histogram.from_records, or of plain vectors with Ball(...).histogram",
            )
        if self.rows is not None and data.total != self.rows:
            rule = "the public number of rows of the data"
            raise InvalidParameter(name="rows", rule=rule, value=self.rows)
        check_unit(data, self.neighbours)
        return data


def _public_rows(rows: int | None, neighbours: Neighbours) -> int | None:
    """Return the number of rows where it is public; refuse one where it is private."""
    if isinstance(neighbours, Replace):
        return checks.integer(1, rows=rows)
    if rows is not None:
        raise InvalidParameter(
            name="rows", rule="left out: their number is private under these neighbours", value=rows
        )
    return None
