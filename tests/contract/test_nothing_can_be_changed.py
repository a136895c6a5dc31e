"""What the doors made stays as it is: every attribute, slot and closure, and whatever those hold, is walked.

Whatever is not known to be unchangeable fails, so that a new kind of cache, list or library object is seen.
"""

import dataclasses
import math
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.analysts.any_queries import AnyQueries
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.statistics import Distance, HowMany, Ranked
from discreet.core.fixed import Fixed, fix_array, is_fixed
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries import (
    Conjunctions,
    Disjunctions,
    Halfspaces,
    Histogram,
    Marginals,
    Matrix,
    Parities,
    Predicates,
    Prefixes,
    Queries,
    Ranges,
    Rectangles,
    TableQuery,
    Union,
    Universe,
    Weighted,
    Workload,
    written,
)
from discreet.queries.kinds.groups import Groups
from discreet.queries.kinds.halfspaces import HalfspaceQuery
from discreet.queries.kinds.matrix import SparseQuery
from discreet.queries.kinds.parities import ParityQuery
from discreet.queries.query import PredicateQuery, ProductQuery

SPACE = Universe([("a", (0, 1)), ("b", (0, 1, 2)), ("c", (0, 1))])
SINGLE = {
    ProductQuery: ProductQuery(SPACE, (0,), "p", masks=[np.array([True, False])]),
    TableQuery: TableQuery(SPACE, (1,), "t", table=[0.5, 1, -2]),
    ParityQuery: ParityQuery(SPACE, (0, 2), "odd"),
    SparseQuery: SparseQuery(SPACE, "s", cells=[0, 5], weights=[0.5, 1.0]),
    HalfspaceQuery: HalfspaceQuery(SPACE, (0,), "h", terms=[np.array([0, 2])], threshold=1),
}
KINDS = {
    Conjunctions: Conjunctions(SPACE, [{"a": [1], "b": [0, 2]}, {"b": [1]}]),
    Disjunctions: Disjunctions(SPACE, [{"a": [1], "b": [0, 2]}]),
    Groups: Groups(SPACE, axes=(0,), where=np.array([True, False]), groupings=[((1, (0, 2)), (2, (1,)))]),
    Halfspaces: Halfspaces(SPACE, [({"a": 1, "b": 0.5}, 1)]),
    Marginals: Marginals(SPACE, [["a", "b"], ["b", "c"], ["a"], []]),
    Matrix: Matrix(SPACE, sparse.csr_array(np.arange(24.0).reshape(2, 12))),
    Parities: Parities.of_order(SPACE.project(["a", "c"]), 1),
    Predicates: Predicates(SPACE, [(["b", "a"], lambda b, a: a < b)]),
    Prefixes: Prefixes(SPACE, ["b", "a"]),
    Queries: Queries(SPACE, list(SINGLE.values())),
    Ranges: Ranges.every(SPACE, ["b"]),
    Rectangles: Rectangles(SPACE, [{"a": (0, 1), "b": (1, 2)}, {}]),
    Union: Union([Marginals(SPACE, [["a"]]), Weighted(SPACE, [(["b"], [1, 0.5, 2])])], weights=[2, 0.5]),
    Weighted: Weighted(SPACE, [(["b"], [0, 1, 5])]),
}
_PLAIN = (bool, int, float, str, bytes, type(None), Fraction, range, type)


def find_mutable(root: Any) -> Iterator[str]:
    """Name everything that can be changed, by the way to it."""
    seen: dict[int, Any] = {}  # kept, so that no number is used again
    paths = [(root, type(root).__name__)]
    while paths:
        value, path = paths.pop()
        if id(value) in seen or type(value) in _PLAIN:
            continue
        seen[id(value)] = value
        inner = open_up(value)
        if inner is None:
            yield f"{path}: a {type(value).__name__}"
        else:
            paths += [(each, f"{path}{step}") for step, each in inner]


def open_up(value: Any) -> list[tuple[str, Any]] | None:
    """Return what something holds, by name; None where it can be changed, or might be."""
    kind = type(value)
    if kind is np.ndarray:
        return [] if is_fixed(value) else None
    if kind in (types.FunctionType, types.MethodType):
        function = getattr(value, "__func__", value)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        defaults = (function.__defaults__ or (), tuple((function.__kwdefaults__ or {}).values()))
        owner = [(".__self__", value.__self__)] if kind is types.MethodType else []
        return [
            *owner,
            *((f" closes over {name}", cell.cell_contents) for name, cell in cells),
            (" defaults", defaults),
        ]
    if kind is types.MappingProxyType:
        return [(f"[{pair[0]!r}]", pair) for pair in value.items()]
    if hasattr(value, "__dict__"):
        return None
    if issubclass(kind, tuple) or kind is frozenset:
        return [(f"[{place}]", each) for place, each in enumerate(value)]
    slots = [name for each in kind.__mro__ for name in slots_of(each)]
    if issubclass(kind, Fixed) or (dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen):
        return [(f".{name}", getattr(value, name)) for name in slots if hasattr(value, name)]
    return None


def slots_of(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return tuple(name for name in ((found,) if isinstance(found, str) else found) if name != "__weakref__")


def use(workload: Workload) -> Workload:
    """Ask everything, so that every cache is filled."""
    size = workload.universe.size
    codes = workload.universe.unravel(np.arange(size))
    for data in (
        np.ones(size, dtype=np.int64),
        Histogram.sparse(workload.universe, codes, np.ones(size, int)),
    ):
        workload.answers(data)
        for query in workload:
            query.evaluate(data)
    workload.adjoint(np.ones(len(workload)))
    assert workload.names and workload.largest_weight and workload.is_integral in (True, False)
    for neighbours in (AddRemove("row"), Replace("row")):
        workload.sensitivity(neighbours, norm=1)
        workload.square_sensitivity(neighbours)
    return workload


def test_every_kind_that_the_door_admits_has_a_case():
    assert set(KINDS) == {*written._STRUCTURED, *written._COMPOUND}
    assert set(SINGLE) == set(written._QUERIES)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_of_a_written_workload_is_mutable(kind):
    assert list(find_mutable(use(written.write_workload(KINDS[kind])))) == []


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
def test_nothing_of_a_written_query_is_mutable(kind):
    fixed = written.write_query(SINGLE[kind])
    fixed.evaluate(np.ones(SPACE.size, dtype=np.int64))
    assert list(find_mutable(fixed)) == []


def test_nothing_of_a_predicate_that_is_listed_is_mutable():
    assert (
        list(find_mutable(written.write_query(PredicateQuery(SPACE, (0,), "f", holds=lambda a: a == 1))))
        == []
    )


def test_nothing_of_a_query_book_is_mutable():
    asked = {"one": KINDS[Marginals], "two": [SINGLE[ProductQuery]]}
    book = book_of(SPACE, Caps(analysts=3, queries=64), asked)
    for each in (book, book.without(0), QueryBook(SPACE, book.caps, ["x"], {0: SINGLE[HalfspaceQuery]})):
        assert list(find_mutable(each)) == []


def test_nothing_of_a_book_of_statistics_is_mutable():
    mode = AnyQueries(
        universe=SPACE,
        caps=Caps(analysts=2, queries=3),
        sensitivity=2,
        epsilon=1,
        delta=0,
        neighbours=Replace("row"),
    )
    counts = Conjunctions(SPACE, [{"a": [1]}])
    asked = [
        Ranked(counts, rank=1),
        HowMany(counts, at_least=2),
        Distance(counts, Conjunctions(SPACE, [{"a": [0]}]), norm=math.inf),
    ]
    book = mode.book({"one": asked[:2], "two": [asked[2]]})
    assert list(find_mutable(book._asked)) == []


def test_a_matrix_was_written_to_after_it_was_checked():
    """Its weights lay in memory of SciPy's: one assignment made each row count for a million."""
    fixed = use(written.write_workload(Matrix(SPACE, np.eye(SPACE.size, dtype=np.int64))))
    for array in (each for each in reach(fixed) if isinstance(each, np.ndarray)):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 10**6
    assert fixed.answers(np.ones(SPACE.size, dtype=np.int64)).max() == 1


def reach(value: Any) -> list[Any]:
    found, left = [], [value]
    while left:
        each = left.pop()
        found.append(each)
        left += [inner for _, inner in (open_up(each) or []) if type(each) not in _PLAIN]
    return found


class _Held(Fixed):
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def test_the_walk_sees_what_can_be_changed():
    closed = [1]
    shapes = [
        [1],
        {"a": 1},
        {1},
        np.zeros(2),
        fix_array(np.zeros(2)).copy(),
        types.MappingProxyType({"a": [1]}),
        (1, (2, [3])),
        lambda: closed,
        lambda given=closed: given,
        types.SimpleNamespace(a=1),
        sparse.csr_array(np.eye(2)),
        bytearray(b"a"),
        closed.append,
    ]
    for shape in shapes:
        assert list(find_mutable(_Held(shape))), shape
    assert not list(find_mutable(_Held((1, "a", fix_array(np.zeros(2)), types.MappingProxyType({1: 2})))))


def assert_sealed(value: Fixed) -> None:
    """Nothing can be assigned, not even where a cache is still empty: what is put there would be believed."""
    for each in type(value).__mro__:
        for name in slots_of(each):
            with pytest.raises(AttributeError):
                setattr(value, name, None)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_slot_of_a_workload_is_for_callers_to_fill(kind):
    assert_sealed(KINDS[kind])
    assert_sealed(written.write_workload(KINDS[kind]))


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
def test_no_slot_of_a_query_is_for_callers_to_fill(kind):
    assert_sealed(SINGLE[kind])
    assert_sealed(written.write_query(SINGLE[kind], SPACE))


def test_no_slot_of_a_histogram_or_a_book_is_for_callers_to_fill():
    assert_sealed(Histogram.dense(SPACE, np.ones(SPACE.size, dtype=np.int64)))
    assert_sealed(book_of(SPACE, Caps(analysts=1, queries=1), {"ann": [SINGLE[ProductQuery]]}))
