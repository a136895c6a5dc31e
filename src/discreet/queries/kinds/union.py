"""Several workloads as one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.queries.histogram import Histogram
from discreet.queries.query import LARGEST, Array, LinearQuery, as_number
from discreet.queries.universe import Codes
from discreet.queries.workload import Workload


class ScaledQuery(LinearQuery):
    """A query with all of its weights multiplied by one number."""

    __slots__ = ("of", "scale")

    def __init__(self, query: LinearQuery, scale: float) -> None:
        super().__init__(query.universe, query.axes, f"{scale} * ({query.name})")
        self.of, self.scale = query, scale

    @property
    def is_predicate(self) -> bool:
        """Whether every weight is 0 or 1."""
        return False

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return isinstance(self.scale, int) and self.of.is_integral

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        return np.asarray(self.scale * self.of.table())

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        return np.asarray(self.scale * self.of.at(codes))

    def extent(self) -> tuple[Any, Any]:
        """Return the smallest and the largest weight of any cell."""
        low, high = self.of.extent()
        return self.scale * low, self.scale * high

    def _on_array(self, data: Array) -> int | float:
        return as_number(self.scale * self.of.evaluate(data))


class Union(Workload):
    """The queries of several workloads over one universe, one workload after the other.

    Parameters
    ----------
    parts
        The workloads.
    weights
        A positive number for each, by which its queries are multiplied; 1 where left out.
    """

    __slots__ = ("_offsets", "_scales", "parts", "weights")

    def __init__(self, parts: Sequence[Workload], weights: Sequence[checks.Number] | None = None) -> None:
        listed = tuple(parts)
        if not listed:
            raise InvalidParameter(name="parts", rule="a list of at least one workload", value=parts)
        for part in listed:
            checks.instance(Workload, parts=part)
            if part.universe != listed[0].universe:
                raise InvalidParameter(name="parts", rule="over one universe", value=part)
        super().__init__(listed[0].universe)
        self.parts = listed
        given = [1] * len(self.parts) if weights is None else list(weights)
        if len(given) != len(self.parts):
            raise InvalidParameter(name="weights", rule=f"{len(self.parts)} numbers", value=len(given))
        self.weights = tuple(checks.positive(weights=weight) for weight in given)
        self._scales = tuple(_plain(w, part) for w, part in zip(self.weights, self.parts, strict=True))
        self._offsets = (0, *accumulate(len(part) for part in self.parts))

    def __len__(self) -> int:
        return self._offsets[-1]

    @property
    def is_predicates(self) -> bool:
        """Whether every weight of every query is 0 or 1."""
        return all(w == 1 and p.is_predicates for w, p in zip(self.weights, self.parts, strict=True))

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return all(
            isinstance(s, int) and p.is_integral for s, p in zip(self._scales, self.parts, strict=True)
        )

    def _query(self, index: int) -> LinearQuery:
        place = bisect_right(self._offsets, index) - 1
        query = self.parts[place].query(index - self._offsets[place])
        return query if self._scales[place] == 1 else ScaledQuery(query, self._scales[place])

    def _answers(self, data: Histogram | Array) -> Array:
        each = [part.answers(data) for part in self.parts]
        return np.concatenate([_scaled(a, s) for a, s in zip(each, self._scales, strict=True)])

    def _adjoint(self, vector: Array) -> Array:
        shares = np.split(vector, self._offsets[1:-1])
        total = self.parts[0].adjoint(_scaled(shares[0], self._scales[0]))
        for part, share, scale in zip(self.parts[1:], shares[1:], self._scales[1:], strict=True):
            total = total + part.adjoint(_scaled(share, scale))
        return total

    def closed_form(self, *, replaced: bool, power: int) -> Fraction | None:
        """Return the sum over the parts, where all columns of all parts but one have the same norm."""
        if replaced or sum(not part.is_uniform for part in self.parts) > 1:
            return None
        forms = [part.closed_form(replaced=False, power=power) for part in self.parts]
        return _total(self.weights, forms, power)

    def loose(self, *, replaced: bool, power: int) -> Fraction:
        """Return the sum of the parts' bounds."""
        forms = [part.loose(replaced=replaced, power=power) for part in self.parts]
        return sum((w**power * form for w, form in zip(self.weights, forms, strict=True)), Fraction(0))

    @property
    def is_uniform(self) -> bool:
        """Whether all columns have the same norm."""
        return all(part.is_uniform for part in self.parts)

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents of all parts."""
        return {
            (scale * low, scale * high)
            for part, scale in zip(self.parts, self._scales, strict=True)
            for low, high in part.extents()
        }

    def classes(self) -> list[Array]:
        """Return labels that tell values apart where some part does."""
        return [reduce(_refined, labels) for labels in zip(*(p.classes() for p in self.parts), strict=True)]

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        rows = []
        for place, part in enumerate(self.parts):
            first, last = self._offsets[place : place + 2]
            low, high = max(start, first), min(stop, last)
            if low < high:
                rows.append(self._scales[place] * part.block(low - first, high - first, codes))
        return np.concatenate(rows)


def _plain(weight: Fraction, part: Workload) -> int | float:
    """Return a weight as a number to multiply by: a whole one if its products stay small enough."""
    whole = weight.denominator == 1 and weight * part.largest_weight <= LARGEST
    return int(weight) if whole else float(weight)


def _scaled(values: Array, scale: float) -> Array:
    return values if scale == 1 else np.asarray(scale * values)


def _refined(labels: Array, others: Array) -> Array:
    return np.unique(np.stack([labels, others]), axis=1, return_inverse=True)[1].reshape(-1)


def _total(weights: Sequence[Fraction], forms: list[Fraction | int | None], power: int) -> Fraction | None:
    total = Fraction(0)
    for weight, form in zip(weights, forms, strict=True):
        if form is None:
            return None
        total += weight**power * form
    return total
