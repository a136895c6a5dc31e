"""A workload together with the table it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload


@runtime_checkable
class Countable(Protocol):
    """A private table that can count itself, such as `discreet.data.Table`."""

    @property
    def neighbours(self) -> Neighbours:
        """Which change of the table is hidden."""

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one unit count."""

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of the declared values of some columns; public."""

    def histogram(self, columns: Iterable[str] | None = None) -> Histogram:
        """Count the rows; private."""


Plan_co = TypeVar("Plan_co", covariant=True)


@runtime_checkable
class PlansQuestions(Protocol[Plan_co]):
    """What answers questions by SQL, and can say what wanted errors would cost: a table, or a session."""

    def plan_within(self, questions: Iterable[str], **wanted: Any) -> Plan_co:
        """Split a budget over several questions so that all meet their wanted errors."""


@runtime_checkable
class PlansCounts(Protocol[Plan_co]):
    """A table whose rows can be counted as time goes on, such as `discreet.data.Table`."""

    def plan_counts(self, *, epsilon: checks.Number, delta: checks.Number) -> Plan_co:
        """Say how near the rows so far can be counted, every day of the time column."""


class TableWorkload(NamedTuple):
    """What is to be released: a table or a histogram, and the queries about it. Nothing is read yet."""

    data: Countable | Histogram
    workload: Workload

    def __repr__(self) -> str:
        return f"TableWorkload({self.workload!r} of {self.data!r})"


@overload
def marginals(of: Universe, *, order: int, columns: Iterable[str] | None = None) -> Marginals: ...
@overload
def marginals(
    of: Countable | Histogram, *, order: int, columns: Iterable[str] | None = None
) -> TableWorkload: ...
def marginals(of: Any, *, order: int, columns: Iterable[str] | None = None) -> Marginals | TableWorkload:
    """Ask for every table over `order` attributes.

    Parameters
    ----------
    of
        A table, a histogram or a universe. Only declared values are looked at.
    order
        How many attributes each table is over.
    columns
        The attributes to combine; all with declared values where left out.

    Returns
    -------
    For a universe the workload alone, else the workload and the data to release it from.
    """
    if isinstance(of, Universe):
        return Marginals.of_order(of if columns is None else of.project(columns), order)
    if isinstance(of, Histogram):
        counted = of if columns is None else of.marginal(columns)
        return TableWorkload(counted, Marginals.of_order(counted.universe, order))
    return TableWorkload(read_countable(of), Marginals.of_order(of.universe(columns), order))


def read_countable(data: object) -> Countable:
    """Return data that must be a table which can count itself."""
    if isinstance(data, Countable):
        return data
    raise InvalidParameter(
        name="data",
        rule="a Table, a Histogram or a Universe",
        got=f"a {type(data).__name__}",
        hint="Of a session pass its universe()" if hasattr(type(data), "universe") else "",
    )


def read_asked(wanted: Workload | TableWorkload | tuple[Any, Workload], data: Any) -> TableWorkload:
    """Return the data and the queries, given together or apart."""
    if isinstance(wanted, tuple):
        if data is not None or len(wanted) != len(TableWorkload._fields):
            raise InvalidParameter(
                name="wanted", rule="(data, workload), or a workload and data", got="something else"
            )
        data, workload = wanted
    else:
        workload = wanted
    fixed = write_workload(workload)
    return TableWorkload(data if isinstance(data, Histogram) else read_countable(data), fixed)
