"""Halfspaces: rows on one side of a hyperplane through the space of some numeric attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array, Integers, build, fix_array
from discreet.queries.query import Axes, LinearQuery, read_array, read_name
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Queries

_ABSENT = np.iinfo(np.int64).min // 128  # any sum of up to 64 terms with it stays below every threshold
_MOST = 1 << 54


class HalfspaceQuery(LinearQuery):
    """Counts the cells whose terms, one whole number an attribute, add up to at least a threshold."""

    __slots__ = ("terms", "threshold")

    def __init__(
        self, universe: Universe, axes: Axes, name: str, *, terms: Iterable[Integers], threshold: int
    ) -> None:
        super().__init__(universe, axes, name)
        listed = tuple(read_array(term, name) for term in terms)
        fits = [(term.dtype.kind, *term.shape) for term in listed] == [("i", size) for size in self.shape]
        # So small that 64 of them cannot wrap.
        if not fits or len(listed) > 64 or any(_ABSENT > term.min() or term.max() > _MOST for term in listed):
            rule = f"with a whole number up to {_MOST} for each value of at most 64 attributes"
            raise InvalidParameter(name=name, rule=rule, got="others")
        self.terms = tuple(fix_array(term.astype(np.int64)) for term in listed)
        self.threshold = int(threshold)

    def restate(self, universe: Universe) -> HalfspaceQuery:
        """Return the same query over a universe, made anew from its terms."""
        name = read_name(self.name)
        return HalfspaceQuery(universe, self.axes, name, terms=self.terms, threshold=self.threshold)

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        total = np.zeros((1,) * len(self.axes), dtype=np.int64)
        for place, term in enumerate(self.terms):
            total = total + term.reshape([-1 if p == place else 1 for p in range(len(self.axes))])
        return np.asarray(total >= self.threshold)

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        total = np.zeros(len(codes), dtype=np.int64)
        for axis, term in zip(self.axes, self.terms, strict=True):
            total += term[codes[:, axis]]
        return np.asarray(total >= self.threshold)

    def extent(self) -> tuple[Any, Any]:
        """Return the smallest and the largest weight of any cell."""
        low, high = (sum(int(end(term)) for term in self.terms) for end in (np.min, np.max))
        return int(low >= self.threshold), int(high >= self.threshold)


class Halfspaces(Queries):
    """Rows with <normal, values> >= threshold, computed in whole numbers: no rounding at the border.

    Attributes of a normal have numbers or booleans as values; a row that misses one of them (None) is on
    neither side.

    Parameters
    ----------
    halfspaces
        Pairs of a normal, a mapping from names to numbers, and a threshold. Floats are read as the
        decimals a person wrote.

    >>> universe = Universe([("age", range(100)), ("income", range(0, 200, 10))])
    >>> Halfspaces(universe, [({"age": 0.5, "income": 1}, 70)]).names
    ('1/2*age + 1*income >= 70',)
    """

    __slots__ = ()

    def __init__(
        self, universe: Universe, halfspaces: Iterable[tuple[Mapping[str, checks.Number], checks.Number]]
    ) -> None:
        super().__init__(universe, [_make_query(universe, *halfspace) for halfspace in halfspaces])

    @classmethod
    def of(cls, universe: Universe, queries: Sequence[LinearQuery]) -> Self:
        """Return halfspaces that are given as queries."""
        return build(cls, Queries.__init__, universe, queries)


def _make_query(
    universe: Universe, normal: Mapping[str, checks.Number], threshold: checks.Number
) -> HalfspaceQuery:
    slopes = {name: checks.exact(**{f"normal of {name}": slope}) for name, slope in normal.items()}
    axes = universe.axes(name for name, slope in slopes.items() if slope)
    border = checks.exact(threshold=threshold)
    products: list[list[Fraction | None]] = []
    for axis in axes:
        name, values = universe.attributes[axis]
        products.append([None if v is None else slopes[name] * read_numeric(name, v) for v in values])
    scale = math.lcm(border.denominator, *(p.denominator for ps in products for p in ps if p is not None))
    largest = sum(max((abs(p) for p in ps if p is not None), default=Fraction(0)) for ps in products)
    if max(largest, abs(border)) * scale > _MOST or len(axes) > 64:
        raise Refused(
            what="a halfspace",
            why="it has too many digits or attributes to be compared exactly",
            way_out="Round its numbers, or leave attributes out",
        )
    terms = [np.array([_ABSENT if p is None else int(p * scale) for p in ps]) for ps in products]
    name = " + ".join(f"{slopes[universe.names[axis]]}*{universe.names[axis]}" for axis in axes)
    name = f"{name or 0} >= {border}"
    return HalfspaceQuery(universe, axes, name, terms=terms, threshold=int(border * scale))


def read_numeric(name: str, value: Any) -> Fraction:
    """Return a value of an attribute that must have numbers, or booleans."""
    try:
        return Fraction(int(value)) if isinstance(value, bool) else checks.exact(**{name: value})
    except InvalidParameter:
        raise InvalidParameter(name=name, rule="an attribute whose values are numbers", value=value) from None
