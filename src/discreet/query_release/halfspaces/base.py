"""What every release about points and halfspaces shares: public parameters, data and noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.base import check_unit, require_rows
from discreet.query_release.halfspaces.points import find_centre, points

Counts = TypeVar("Counts")


class PointCounts:
    """Released counts of points. Public; two with the same parameters and numbers are equal.

    Attributes
    ----------
    transcript
        The released numbers.
    """

    transcript: tuple[int, ...]

    @property
    @abstractmethod
    def _identity(self) -> tuple[Any, ...]:
        """Return all that tells one from another."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PointCounts):
            return NotImplemented
        return type(self) is type(other) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@frozen
class PointRelease(Mechanism[Histogram, Counts], Generic[Counts]):
    """Noisy counts of points in a universe of numbers, all in one joint release."""

    universe: Universe = public(checks.instance, Universe)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    rows: int | None = public(checks.integer, 1, default=None)
    centre: Public[Sequence[checks.Number] | None, tuple[Fraction, ...]] = public(
        checks.each, checks.exact, default=None
    )
    neighbours: Neighbours = public(require_rows)
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        if isinstance(self.neighbours, Replace):
            checks.integer(1, rows=self.rows)
        elif self.rows is not None:
            rule = "left out: their number is private under these neighbours"
            raise InvalidParameter(name="rows", rule=rule, value=self.rows)
        self._set(centre=find_centre(self.universe, self.centre))
        no_rows = np.zeros((0, len(self.universe.shape)), dtype=np.int64)
        points(self.universe, self.centre, no_rows)  # numbers only

    @property
    @abstractmethod
    def size(self) -> int:
        """How many counts are measured."""

    @abstractmethod
    def sensitivity(self, norm: int) -> Fraction:
        """Return the L1 or L2 sensitivity of all counts together."""

    def _require_both_sides(self) -> None:
        if self.sensitivity(1) < 1:
            names = self.universe.names
            raise InvalidParameter(name="universe", rule="one with points on both sides", value=names)

    @property
    def noise(self) -> Gaussian | Laplace:
        """The step that meets the data: Laplace noise where delta is 0, else Gaussian noise."""
        shared: dict[str, Any] = {"epsilon": self.epsilon, "size": self.size, "neighbours": self.neighbours}
        if self.delta == 0:
            return Laplace(sensitivity=self.sensitivity(1), **shared)
        return Gaussian(l2_sensitivity=self.sensitivity(2), delta=self.delta, **shared)

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
