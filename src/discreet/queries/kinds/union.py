"""Several workloads as one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery, name_multiple, read_scale
from discreet.queries.universe import Codes
from discreet.queries.workload import Workload


class Union(Workload):
    """The queries of several workloads over one universe, one workload after the other.

    Parameters
    ----------
    parts
        The workloads.
    weights
        A positive number for each, by which its queries are multiplied; 1 where left out.

    Attributes
    ----------
    parts, weights
        What is multiplied by what: parts whose weights are -1, 0 and 1, so that no product is rounded. Any
        other part is multiplied when the union is made, and has weight 1.
    """

    __slots__ = ("_offsets", "_scales", "parts", "weights")
    parts: tuple[Workload, ...]
    weights: tuple[Fraction, ...]

    def __init__(self, parts: Sequence[Workload], weights: Sequence[checks.Number] | None = None) -> None:
        listed = tuple(parts)
        if not listed:
            raise InvalidParameter(name="parts", rule="a list of at least one workload", value=parts)
        for part in listed:
            checks.instance(Workload, parts=part)
            if part.universe != listed[0].universe:
                raise InvalidParameter(name="parts", rule="over one universe", value=part)
        super().__init__(listed[0].universe)
        given = [1] * len(listed) if weights is None else list(weights)
        if len(given) != len(listed):
            raise InvalidParameter(name="weights", rule=f"{len(listed)} numbers", value=len(given))
        folded = [_fold(part, checks.positive(weights=w)) for part, w in zip(listed, given, strict=True)]
        self.parts = tuple(part for part, _ in folded)
        self._scales = tuple(scale for _, scale in folded)
        self.weights = tuple(map(Fraction, self._scales))  # priced by the very numbers that answers get
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
        return query if self._scales[place] == 1 else query.multiply(self._scales[place])

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each query."""
        scaled = zip(self.parts, self._scales, strict=True)
        return tuple(name_multiple(name, scale) for part, scale in scaled for name in part.names)

    def multiply(self, scale: checks.Number) -> Union:
        """Return the same queries, with all of their weights times a positive number."""
        return Union(self.parts, [weight * checks.positive(scale=scale) for weight in self.weights])

    def _evaluate_each(self, data: Histogram | Array) -> Iterator[int]:
        for part, scale in zip(self.parts, self._scales, strict=True):
            yield from (int(scale) * int(query.evaluate(data)) for query in part)

    def _answers(self, data: Histogram | Array) -> Array:
        each = [part.answers(data) for part in self.parts]
        return np.concatenate([_scale_all(a, s) for a, s in zip(each, self._scales, strict=True)])

    def _adjoint(self, vector: Array) -> Array:
        shares = np.split(vector, self._offsets[1:-1])
        total = self.parts[0].adjoint(_scale_all(shares[0], self._scales[0]))
        for part, share, scale in zip(self.parts[1:], shares[1:], self._scales[1:], strict=True):
            total = total + part.adjoint(_scale_all(share, scale))
        return total

    def closed_form(self, *, replaced: bool, power: int) -> Fraction | None:
        """Return the sum over the parts, where all columns of all parts but one have the same norm."""
        if replaced or sum(not part.is_uniform for part in self.parts) > 1:
            return None
        forms = [part.closed_form(replaced=False, power=power) for part in self.parts]
        return _add_up(self.weights, forms, power)

    def bound_loosely(self, *, replaced: bool, power: int) -> Fraction:
        """Return the sum of the parts' bounds."""
        forms = [part.bound_loosely(replaced=replaced, power=power) for part in self.parts]
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
        return [reduce(_refine, labels) for labels in zip(*(p.classes() for p in self.parts), strict=True)]

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        rows = []
        for place, part in enumerate(self.parts):
            first, last = self._offsets[place : place + 2]
            low, high = max(start, first), min(stop, last)
            if low < high:
                rows.append(self._scales[place] * part.block(low - first, high - first, codes))
        return np.concatenate(rows)


def _fold(part: Workload, weight: Fraction) -> tuple[Workload, int | float]:
    """Return a workload and a number to multiply it by: one that rounds nothing."""
    if weight == 1:
        return part, 1
    units = part.is_integral and part.largest_weight <= 1
    return (part, read_scale(weight)) if units else (part.multiply(weight), 1)


def _scale_all(values: Array, scale: float) -> Array:
    return values if scale == 1 else np.asarray(scale * values)


def _refine(labels: Array, others: Array) -> Array:
    return np.unique(np.stack([labels, others]), axis=1, return_inverse=True)[1].reshape(-1)


def _add_up(weights: Sequence[Fraction], forms: list[Fraction | int | None], power: int) -> Fraction | None:
    total = Fraction(0)
    for weight, form in zip(weights, forms, strict=True):
        if form is None:
            return None
        total += weight**power * form
    return total
