"""Many linear queries in structured form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Fixed, fix_array, keep
from discreet.core.neighbours import Neighbours
from discreet.queries import sensitivity
from discreet.queries.histogram import MOST, Histogram
from discreet.queries.query import LinearQuery, as_data, as_numbers, weigh
from discreet.queries.tables import Axes, TableLayout
from discreet.queries.universe import Codes, Universe


class Workload(Fixed, ABC):
    """Linear queries over one universe. Public and free of data.

    Whole counts and whole weights give whole answers, exactly; anything else gives floats. Rounding can
    move a float answer by more than the sensitivity says, so noise is added on a grid, never to floats.
    """

    __slots__ = ("_largest_weight", "universe")
    universe: Universe
    way_out: ClassVar[str] = (
        "Make one of discreet.queries, such as Marginals.of_order(universe, 2); `release` and `plan` "
        "also take marginals(table, order=2)"
    )

    def __init__(self, universe: Universe) -> None:
        self.universe = checks.instance(Universe, universe=universe)

    @abstractmethod
    def __len__(self) -> int:
        """Count the queries."""

    @abstractmethod
    def _query(self, index: int) -> LinearQuery:
        """Make one query; the index is in range."""

    @abstractmethod
    def _answers(self, data: Histogram | Array) -> Array:
        """Answer on a sparse histogram or an array over the universe."""

    @abstractmethod
    def _adjoint(self, vector: Array) -> Array:
        """Return the transpose applied to 64-bit numbers, one a query."""

    @property
    def is_predicates(self) -> bool:
        """Whether every weight of every query is 0 or 1."""
        return True

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return self.is_predicates

    def query(self, index: int) -> LinearQuery:
        """Return one query."""
        return self._query(checks.index(len(self), index=index))

    def __iter__(self) -> Iterator[LinearQuery]:
        return (self._query(index) for index in range(len(self)))

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each query."""
        return tuple(query.name for query in self)

    def subset(self, indices: Iterable[int]) -> Queries:
        """Return some of the queries as a workload of their own, in the order given."""
        return Queries(self.universe, [self.query(index) for index in indices])

    def answers(self, data: Any) -> Array:
        """Return the true answers on a histogram or an array over the universe, one a query."""
        given = as_data(self.universe, data)
        if self._might_wrap(given.entries()[1] if isinstance(given, Histogram) else given):
            # One by one in numbers of any size, then cut off: whether it raises must not depend on the data.
            exact = [min(max(answer, -MOST), MOST) for answer in self._evaluate_each(given)]
            return np.array(exact, dtype=np.int64)
        return self._answers(given)

    def _evaluate_each(self, data: Histogram | Array) -> Iterator[int]:
        """Yield the answers of queries with whole weights, in numbers of any size."""
        return (int(query.evaluate(data)) for query in self)

    def multiply(self, scale: checks.Number) -> Workload:
        """Return the same queries, with all of their weights times a positive number."""
        return Queries(self.universe, [query.multiply(scale) for query in self])

    def adjoint(self, vector: Any) -> Array:
        """Return, for each cell of the universe, the sum of its weights times the queries' numbers.

        This is the transpose of `answers`: the inner product of `answers(x)` and y is that of x and
        `adjoint(y)`.
        """
        self.universe.require_dense()
        numbers = np.asarray(vector)
        if numbers.dtype.kind not in "biuf" or numbers.shape != (len(self),):
            rule = f"an array of {len(self)} numbers"
            raise InvalidParameter(name="vector", rule=rule, value=(numbers.dtype, numbers.shape))
        if self._might_wrap(numbers):
            raise InvalidParameter(name="vector", rule="integers whose sums fit 62 bits", value="larger ones")
        return self._adjoint(as_numbers(numbers))

    @property
    def largest_weight(self) -> Fraction:
        """The largest size of a weight."""
        return keep(self, "_largest_weight", lambda: sensitivity.largest_weight(self))

    def _might_wrap(self, numbers: Array) -> bool:
        """Tell whether weighted sums of whole numbers might wrap; sums without weights are known to fit."""
        if self.is_predicates or not self.is_integral or numbers.dtype.kind == "f":
            return False
        return self.largest_weight > 1 and float(self.largest_weight) * float(np.abs(numbers).sum()) > MOST

    def sensitivity(self, neighbours: Neighbours, *, norm: float) -> Fraction:
        """Return how far the answers of neighbours can be apart, in the L1, L2 or maximum norm.

        Exact where the weights are whole numbers; rounded up in the last digits where they are floats.
        The root that norm 2 asks for is rounded up; `square_sensitivity` is its square.

        Parameters
        ----------
        neighbours
            Which change of one row is hidden. A unit of several rows multiplies the result by their number.
        norm
            1, 2 or math.inf.

        Raises
        ------
        Refused
            When the queries have too little structure to find the exact value in a reasonable time.
            `sensitivity_bound` still answers.
        """
        return sensitivity.find_exact(self, neighbours, norm)

    def square_sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Return the square of the L2 sensitivity."""
        return sensitivity.find_square(self, neighbours)

    def sensitivity_bound(self, neighbours: Neighbours, *, norm: float) -> Fraction:
        """Return the sensitivity, or a number above it where the exact one takes too long to find."""
        return sensitivity.find_bound(self, neighbours, norm)

    # What subclasses with structure know better --------------------------------------------------

    def closed_form(self, *, replaced: bool, power: int) -> Fraction | int | None:
        """Return the largest sum over queries of |change| ** power (1 or 2), where there is a formula."""
        del replaced, power
        return None

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the smallest and largest weight of each query; repeats may be left out."""
        return (query.extent() for query in self)

    @property
    def is_uniform(self) -> bool:
        """Whether all columns are known to have the same norm."""
        return False

    def bound_loosely(self, *, replaced: bool, power: int) -> Fraction:
        """Return a bound on what `closed_form` returns that is quick to find."""
        return sensitivity.bound_loosely(self, replaced, power)

    def classes(self) -> list[Array]:
        """Return a label for each value of each attribute; no query tells values of one label apart."""
        used = {axis for query in self for axis in query.axes}
        return [
            np.arange(n) if axis in used else np.zeros(n, int) for axis, n in enumerate(self.universe.shape)
        ]

    def cells(self, most: int) -> Codes | None:
        """Return cells that meet every possible column, as rows of codes; None if there are too many."""
        return sensitivity.combine(self.classes(), most)

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        return np.stack([self._query(index).at(codes) for index in range(start, stop)])

    def __deepcopy__(self, memo: object) -> Self:
        return self  # it never changes, and a mechanism that holds it must equal its copy

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} queries over {', '.join(self.universe.names)}>"


class Tabled(Workload):
    """Queries that are answered from marginal tables, which are made together."""

    __slots__ = ("_tables", "sets")
    sets: tuple[Axes, ...]
    """The sets of axes whose tables are needed, each once."""

    @property
    def tables(self) -> TableLayout:
        """How the tables are made."""
        return keep(self, "_tables", lambda: TableLayout(self.universe.shape, self.sets))

    def from_tables(self, table: Callable[[Axes], Array]) -> Array:
        """Answer from tables, true or estimated: one over each of `sets`."""
        return self._from_tables(np.concatenate([np.ravel(table(axes)) for axes in self.sets]))

    @abstractmethod
    def _from_tables(self, vector: Array) -> Array:
        """Answer from the tables, laid end to end."""

    @abstractmethod
    def _to_tables(self, vector: Array) -> Array:
        """Return the transpose of `_from_tables`."""

    def _answers(self, data: Histogram | Array) -> Array:
        return self._from_tables(self.tables.of_data(data))

    def _adjoint(self, vector: Array) -> Array:
        return self.tables.adjoint(self._to_tables(vector))


def require_sets(sets: Sequence[Axes]) -> tuple[Axes, ...]:
    """Return sets of attributes, of which there must be one, and none twice."""
    if not sets or len(set(sets)) < len(sets):
        rule = "a list of at least one set of attributes, each once"
        raise InvalidParameter(name="sets", rule=rule, value=sets)
    return tuple(sets)


def locate(groups: Sequence[Array]) -> Array:
    """Return group and place in it of every query, given the numbers of the queries in each group."""
    numbers = np.concatenate(groups)
    if numbers.dtype.kind not in "iu" or not np.array_equal(np.sort(numbers), np.arange(len(numbers))):
        raise InvalidParameter(name="queries", rule="numbered from 0, each once", got="others")
    where = np.empty((len(numbers), 2), dtype=np.int64)
    for place, group in enumerate(groups):
        where[group, 0] = place
        where[group, 1] = np.arange(len(group))
    return fix_array(where)


class Queries(Tabled):
    """A list of single queries, each over its own attributes."""

    __slots__ = ("_is_integral", "_is_predicates", "_places", "_queries")

    def __init__(self, universe: Universe, queries: Sequence[LinearQuery]) -> None:
        super().__init__(universe)
        self._queries = tuple(queries)
        if not self._queries:
            raise InvalidParameter(name="queries", rule="a list of at least one query", value=queries)
        for query in self._queries:
            checks.instance(LinearQuery, queries=query)
            if query.universe != universe:
                raise InvalidParameter(name="queries", rule="over one universe", value=query)
        self.sets = tuple(dict.fromkeys(query.axes for query in self._queries))
        places = {axes: place for place, axes in enumerate(self.sets)}
        self._places = tuple(places[query.axes] for query in self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def _query(self, index: int) -> LinearQuery:
        return self._queries[index]

    @property
    def is_predicates(self) -> bool:
        """Whether every weight of every query is 0 or 1."""
        return keep(self, "_is_predicates", lambda: all(query.is_predicate for query in self._queries))

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return keep(self, "_is_integral", lambda: all(query.is_integral for query in self._queries))

    def _from_tables(self, vector: Array) -> Array:
        found = [
            weigh(self.tables.part(vector, place), query.table())
            for place, query in zip(self._places, self._queries, strict=True)
        ]
        whole = vector.dtype.kind == "i" and self.is_integral
        return np.array(found, dtype=np.int64 if whole else np.float64)

    def _to_tables(self, vector: Array) -> Array:
        whole = vector.dtype.kind == "i" and self.is_integral
        result = np.zeros(self.tables.offsets[-1], dtype=np.int64 if whole else np.float64)
        for number, place, query in zip(vector, self._places, self._queries, strict=True):
            part = self.tables.part(result, place)
            part += number * query.table()
        return result
