"""What every mechanism that releases a workload shares: public parameters, and how data are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import LongRun
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.synopses.synopsis import Synopsis

Kind = TypeVar("Kind", bound=Workload)


def require_rows(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must differ in one row."""
    checks.instance(Neighbours, neighbours=neighbours)
    if isinstance(neighbours, AddRemove | Replace):
        return neighbours
    raise NeighboursMismatch(f"linear queries are calibrated for AddRemove or Replace, not for {neighbours}")


def write_as(kind: type[Kind], *, workload: Workload) -> Kind:
    """Return a workload written down, which must then be of a kind."""
    return checks.instance(kind, workload=write_workload(workload))  # type: ignore[no-any-return]


@frozen
class WorkloadRelease(LongRun[Histogram, Synopsis]):
    """A one-shot mechanism that turns a histogram into a synopsis that answers a workload well.

    Attributes
    ----------
    workload
        The queries that must be answered well. Public, and plain data: what was given is written down.
    epsilon, delta
        The budget of one release; delta may be 0 where the mechanism says so.
    neighbours
        `AddRemove`: the number of rows is private. `Replace`: it is public.
    """

    # What was given is gone once it is written down: no constructor can ask it anything.
    workload: Workload = public(write_workload)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(require_rows)

    @property
    def is_noise_alone(self) -> bool:
        """Whether the errors of its answers are noise alone, the same on all data."""
        return False

    @classmethod
    def _for_budget(cls, alpha: checks.Number, public: dict[str, Any]) -> Callable[[Fraction], Self]:
        """Write the workload down once, and not for every epsilon that is tried."""
        if "workload" in public:
            public = public | {"workload": write_workload(public["workload"])}
        return lambda epsilon: cls(epsilon=epsilon, **public)

    @property
    def words(self) -> str:
        """The pair in words."""
        pair = f"epsilon {float(self.epsilon):.6g}"
        if self.delta:
            pair += f" at delta {float(self.delta):.6g}"
        return f"{pair} for {self.neighbours}"

    def _histogram(self, data: Any, *, rows: int | None = None) -> Histogram:
        """Return the data as a histogram over the workload's universe; `rows` is their public number."""
        return read_histogram(data, self.workload.universe, neighbours=self.neighbours, rows=rows)


def most_apart(workload: Workload) -> Fraction:
    """Return how far apart a row can make two answers to one query: an error that needs no release."""
    return max(Fraction(max(high, 0)) - Fraction(min(low, 0)) for low, high in _plain(workload.extents()))


def _plain(extents: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    return ((np.asarray(low).item(), np.asarray(high).item()) for low, high in extents)


def check_unit(data: Histogram, neighbours: Neighbours) -> None:
    """Refuse to promise a unit of several rows what holds for one row."""
    if data.rows_per_unit > 1 and neighbours not in (AddRemove("row"), Replace("row")):
        raise NeighboursMismatch(
            f"one unit has up to {data.rows_per_unit} rows here, and the mechanism is calibrated for one; "
            "pass neighbours=AddRemove('row') and ask the table's per_unit what the guarantee means for one"
        )


def read_histogram(
    data: Any, universe: Universe, *, neighbours: Neighbours, rows: int | None = None
) -> Histogram:
    """Return data that must be a histogram over a universe, of a given size if one is public."""
    if not isinstance(data, Histogram):
        raise InvalidParameter(
            name="data",
            rule="a Histogram over the universe of the queries",
            got=f"a {type(data).__name__}",
            hint="Make one with Histogram.from_records(universe, codes)",
        )
    if data.universe != universe:
        raise InvalidParameter(name="data", rule="over the universe of the queries", got="another universe")
    check_unit(data, neighbours)
    if rows is not None and data.total != rows:
        raise InvalidParameter(name="rows", rule="the public number of rows of the data", value=rows)
    return data
