"""A synopsis whose weights are computed when they are first asked for."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from discreet.core.rng import SYSTEM, Rng
from discreet.queries.query import LinearQuery
from discreet.queries.workload import Workload
from discreet.query_release.synopses.synopsis import Synopsis, Weights
from discreet.query_release.synopses.synthetic import SyntheticTable

Array = NDArray[Any]


class WeightsLater(Synopsis):
    """Weights over a universe that are a function of the transcript, and take a while to compute."""

    @abstractmethod
    def _compute(self) -> Array:
        """Return the weights."""

    @cached_property
    def fitted(self) -> Weights:
        """The weights as a synopsis of their own."""
        return Weights(self.universe, self._compute(), transcript=self.transcript)

    @property
    def weights(self) -> Array:
        """The estimated count of every cell of the universe."""
        return self.fitted.weights

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.fitted.total

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query, for any workload over the universe."""
        return self.fitted.answers(workload)

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        return self.fitted.answer(query)

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows in proportion to the weights: every cell within one of its share."""
        return self.fitted.synthetic(rows, rng=rng)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: weights over {', '.join(self.universe.names)}>"
