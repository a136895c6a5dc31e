"""What is public of a congestion game: the ways people can take, their costs, and what a player may be."""

from __future__ import annotations

import hashlib
import itertools
import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Bools, Fixed, Floats, Integers, fix_array
from discreet.core.rounding import above
from discreet.games.common.reports import read_kinds
from discreet.games.equilibria.latencies import Latencies

MOST_ROUTES = 1 << 11
_DEAREST = 1e100


class Ways(Fixed):
    """Types, and the ways that are open to each. A way uses resources, which cost more the more use them.

    Attributes
    ----------
    types
        What a player may be, by name.
    latencies
        What each resource costs at which share of users.
    """

    __slots__ = ("_digest", "latencies", "types")

    types: tuple[Hashable, ...]
    latencies: Latencies
    _digest: bytes

    @property
    @abstractmethod
    def square_shift(self) -> int:
        """The square of how far one report moves the numbers of users in L2, at most."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest sum of slopes along a way, rounded up."""

    @abstractmethod
    def respond(self, costs: Floats) -> Any:
        """Return the cheapest way of every type where resources cost so much; the first of equals."""

    @abstractmethod
    def count_users(self, answers: Any, people: Integers) -> Integers:
        """Return how many use each resource, where so many of each type take their cheapest way."""

    @abstractmethod
    def name(self, answers: Any, kind: int) -> Hashable:
        """Return what the cheapest way of a type is called."""

    @abstractmethod
    def uses(self, way: Any) -> Sequence[int]:
        """Return the resources that a way uses."""

    def price(self, costs: Floats, kind: int, way: Any) -> float:
        """Return what a way costs a type where resources cost so much."""
        return float(costs[list(self.uses(way))].sum()) + self._own_cost(kind, way)

    @abstractmethod
    def cheapest(self, costs: Floats) -> Floats:
        """Return what the cheapest way of every type costs."""

    @property
    def span(self) -> float:
        """How much more the cheapest way may cost a type if everybody uses everything than if nobody does."""
        full, empty = self.latencies.costs(np.ones(len(self.latencies))), self.latencies.table[:, 0]
        return above(float((self.cheapest(full) - self.cheapest(empty)).max()), 64)

    @property
    @abstractmethod
    def worst(self) -> float:
        """How much more some way may cost a type at all than another one."""

    def _own_cost(self, kind: int, way: Any) -> float:
        del kind, way
        return 0.0

    def _seal_with(self, *parts: Any) -> None:
        text = repr((type(self).__name__, self.types, *parts)).encode()
        table = self.latencies.table
        digest = hashlib.blake2b(text, digest_size=16)
        digest.update(repr(table.shape).encode() + table.tobytes())
        self._digest = digest.digest()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __deepcopy__(self, memo: object) -> Ways:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.types)} types, {len(self.latencies)} resources>"


class Routes(Ways):
    """A list of routes, and what each costs each type by itself: time slots, hospitals, a few roads.

    Parameters
    ----------
    latencies
        For each resource coefficients of 1, of the share of all players that use it, its square, ...; >= 0.
    routes
        Which resources each route uses, by their numbers. By default one resource each.
    types
        What a player may be.
    costs
        For each type what each route costs by itself; None where the type cannot take it.
    """

    __slots__ = ("_incidence", "_own", "routes")

    def __init__(
        self,
        *,
        latencies: Iterable[Iterable[checks.Number]],
        types: Iterable[Hashable],
        costs: Iterable[Iterable[checks.Number | None]],
        routes: Iterable[Iterable[int]] | None = None,
    ) -> None:
        self.latencies = Latencies.read(latencies=latencies)
        self.types = read_kinds(types=types)
        size = len(self.latencies)
        self.routes: tuple[tuple[int, ...], ...] = _read_routes(
            size, [[one] for one in range(size)] if routes is None else routes
        )
        self._incidence: Bools = fix_array(_mark(self.routes, size))
        self._own: Floats = fix_array(_read_costs(costs, (len(self.types), len(self.routes))))
        self._seal_with(self.routes, self._own.tobytes())

    @property
    def square_shift(self) -> int:
        """Return the most resources that one of two routes uses and the other does not; or that one uses."""
        table = self._incidence.astype(np.int64)
        sizes = table.sum(axis=1)
        return max(1, int((sizes[:, None] + sizes - 2 * (table @ table.T)).max()), int(sizes.max()))

    @property
    def steepest(self) -> float:
        """Return the largest sum of slopes along a route."""
        return above(float((self._incidence @ self.latencies.slopes).max()), len(self.latencies) + 4)

    def respond(self, costs: Floats) -> Integers:
        """Return the number of the cheapest route of every type."""
        return np.asarray((self._own + self._incidence @ costs).argmin(axis=1))

    def cheapest(self, costs: Floats) -> Floats:
        """Return what the cheapest route of every type costs."""
        return np.asarray((self._own + self._incidence @ costs).min(axis=1))

    def count_users(self, answers: Integers, people: Integers) -> Integers:
        """Return how many use each resource."""
        takers = np.zeros(len(self.routes), dtype=np.int64)
        np.add.at(takers, answers, people)
        return np.asarray(takers @ self._incidence.astype(np.int64))

    def name(self, answers: Integers, kind: int) -> int:
        """Return the number of a route."""
        return int(answers[kind])

    def uses(self, way: int) -> tuple[int, ...]:
        """Return the resources of a route."""
        return self.routes[way]

    @property
    def worst(self) -> float:
        """Return the most that a route costs with everybody on it, less the least that one costs alone."""
        full = self._incidence @ self.latencies.costs(np.ones(len(self.latencies)))
        empty = self._incidence @ self.latencies.table[:, 0]
        open_ = np.isfinite(self._own)
        most = np.where(open_, self._own + full, -math.inf).max(axis=1)
        return above(float((most - (self._own + empty).min(axis=1)).max()), 64)

    def _own_cost(self, kind: int, way: Any) -> float:
        return float(self._own[kind, way])


def _read_routes(size: int, given: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    routes = []
    for route in checks.several(routes=given):
        used = tuple(sorted(checks.index(size, routes=one) for one in checks.several(routes=route)))
        if len(set(used)) < len(used):
            raise InvalidParameter(name="routes", rule="lists of different resources", value=used)
        routes.append(used)
    if not 1 <= len(routes) <= MOST_ROUTES:
        raise InvalidParameter(name="routes", rule=f"at least 1 and at most {MOST_ROUTES}", value=len(routes))
    return tuple(routes)


def _mark(routes: Sequence[Sequence[int]], size: int) -> Bools:
    table = np.zeros((len(routes), size), dtype=bool)
    for place, used in enumerate(routes):
        table[place, list(used)] = True
    return table


def _read_costs(given: Iterable[Iterable[checks.Number | None]], shape: tuple[int, int]) -> Floats:
    rows = [checks.several(costs=row) for row in checks.several(costs=given)]
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise InvalidParameter(name="costs", rule=f"{shape[0]} rows of {shape[1]} costs", got="others")
    for cost in itertools.chain.from_iterable(rows):
        if cost is not None and checks.non_negative(costs=cost) > _DEAREST:
            raise InvalidParameter(name="costs", rule=f"at most {_DEAREST:g}", value=cost)
    table = np.array([[math.inf if cost is None else float(cost) for cost in row] for row in rows])
    if not bool(np.isfinite(table).any(axis=1).all()):
        raise InvalidParameter(name="costs", rule="such that each type can take some route", got="others")
    return table
