"""A synopsis: what a release leaves behind, from which every answer is computed without the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from functools import cached_property

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.query_release.synopses.synthetic import SyntheticTable


class Synopsis(ABC):
    """Anything that answers linear queries over a universe. Public: it is made of released numbers only.

    Attributes
    ----------
    universe
        What the queries are over.
    transcript
        The released numbers and choices everything else is computed from; two synopses with the same one are
        equal. It is what an audit looks at.
    """

    universe: Universe
    transcript: Hashable

    @abstractmethod
    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query.

        Raises
        ------
        Refused
            Where this synopsis knows nothing about some of the queries.
        """

    @abstractmethod
    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return made-up rows that answer like this synopsis; as many as it thinks there are by default."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The estimated number of rows."""

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        return float(self.answers(Queries(self.universe, [query]))[0])

    def model_gaps(self, workload: Workload) -> Array:
        """Estimate the variance of every answer that releasing this synopsis' own rows again cannot show."""
        return np.zeros(len(workload))

    def marginal(self, names: Iterable[str]) -> Array:
        """Return the estimated table over some attributes, in the order of the universe."""
        listed = [names if isinstance(names, str) else list(names)]
        workload = Marginals(self.universe, listed)
        return workload.table(self.answers(workload), 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Synopsis):
            return NotImplemented
        return (type(self), self.universe, self.transcript) == (
            type(other),
            other.universe,
            other.transcript,
        )

    def __hash__(self) -> int:
        return hash((type(self), self.universe, self.transcript))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: about {self.total:.0f} rows over {', '.join(self.universe.names)}>"


class OfWeights(Synopsis):
    """A synopsis with a weight for every cell of a universe that fits in memory.

    Attributes
    ----------
    weights
        The estimated count of every cell.
    """

    weights: Array

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query, for any workload over the universe."""
        checks.instance(Workload, workload=workload)
        return np.asarray(workload.answers(self.weights), dtype=np.float64)

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        return float(checks.instance(LinearQuery, query=query).evaluate(self.weights))

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows in proportion to the weights: every cell within one of its share."""
        return SyntheticTable.in_proportion(self.universe, self.weights, rows, rng=rng)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def _read_weights(self, weights: Array) -> Array:
        self.universe.require_dense()
        array = np.asarray(weights, dtype=np.float64).reshape(self.universe.shape)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise InvalidParameter(name="weights", rule="finite and >= 0", got="others")
        array.flags.writeable = False
        return array


class Weights(OfWeights):
    """A histogram that may be published.

    Parameters
    ----------
    weights
        Non-negative numbers over the universe; their sum is the estimated number of rows.
    transcript
        The released numbers the weights were computed from.
    """

    def __init__(self, universe: Universe, weights: Array, *, transcript: Hashable) -> None:
        self.universe, self.transcript = universe, transcript
        self.weights = self._read_weights(weights)


class WeightsLater(OfWeights):
    """Weights that are a function of the transcript, and take a while to compute: when first asked for."""

    @abstractmethod
    def _compute(self) -> Array:
        """Return the weights."""

    @cached_property
    def weights(self) -> Array:  # type: ignore[override]
        """The estimated count of every cell of the universe."""
        return self._read_weights(self._compute())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: weights over {', '.join(self.universe.names)}>"
