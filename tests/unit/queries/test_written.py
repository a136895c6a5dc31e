"""The door for queries: everything becomes plain data there, and stays it."""

import math
import threading

import numpy as np
import pytest
from scipy import sparse

from discreet import queries as package
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import is_fixed
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
    Union,
    Universe,
    Weighted,
    Workload,
    vc_dimension,
)
from discreet.queries.kinds.halfspaces import HalfspaceQuery
from discreet.queries.kinds.matrix import SparseQuery
from discreet.queries.kinds.parities import ParityQuery
from discreet.queries.query import LinearQuery, PredicateQuery, ProductQuery, TableQuery
from discreet.queries.written import write_query, write_workload

ROW, SWAP = AddRemove("row"), Replace("row")
TWO = Universe([("a", (0, 1)), ("b", (0, 1, 2))])
BITS = Universe([("p", (0, 1)), ("q", (0, 1))])
COUNTS = np.array([3, 1, 4, 1, 5, 9])

KINDS = {
    Conjunctions: lambda: Conjunctions(TWO, [{"a": [1], "b": [0, 2]}, {"b": [1]}]),
    Disjunctions: lambda: Disjunctions(TWO, [{"a": [1], "b": [0, 2]}, {"b": [1]}]),
    Halfspaces: lambda: Halfspaces(TWO, [({"a": 1, "b": 0.5}, 1), ({"b": -1}, 0)]),
    Marginals: lambda: Marginals(TWO, [["a", "b"], ["b"], []]),
    Matrix: lambda: Matrix(TWO, sparse.csr_array([[0, 1.5, 0, 2, 0, 0], [1, 0, 0, 0, 0, 1]])),
    Parities: lambda: Parities.of_order(BITS, 1),
    Predicates: lambda: Predicates(TWO, [(["b", "a"], lambda b, a: a < b), ([], np.array(True))]),
    Prefixes: lambda: Prefixes(TWO, ["b", "a"]),
    Queries: lambda: Queries(TWO, [SparseQuery(TWO, "s", cells=[1, 4], weights=[2, -1])]),
    Ranges: lambda: Ranges.every(TWO, ["b"]),
    Rectangles: lambda: Rectangles(TWO, [{"a": (0, 1), "b": (1, 2)}, {"b": (0, 0)}, {}]),
    Union: lambda: Union([Marginals(TWO, [["a"]]), Weighted(TWO, [(["b"], [1, 0.5, 2])])], weights=[2, 0.5]),
    Weighted: lambda: Weighted(TWO, [(["b"], [0, 1, 5]), (["b", "a"], np.arange(6.0).reshape(3, 2) / 4)]),
}


def test_every_public_kind_of_workload_has_a_case():
    kinds = [getattr(package, name) for name in package.__all__]
    found = {each for each in kinds if isinstance(each, type) and issubclass(each, Workload)}
    assert found - {Workload} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_written_down_asks_the_same(kind):
    workload = KINDS[kind]()
    fixed = write_workload(workload)
    counts = COUNTS[: workload.universe.size]
    assert fixed is not workload and write_workload(workload) is fixed is write_workload(fixed)
    assert fixed.answers(counts).tolist() == workload.answers(counts).tolist()
    assert fixed.answers(counts).dtype == workload.answers(counts).dtype
    assert fixed.adjoint(np.arange(len(fixed))).tolist() == workload.adjoint(np.arange(len(fixed))).tolist()
    assert fixed.names == workload.names
    if fixed.is_predicates:
        assert vc_dimension(fixed) == vc_dimension(workload)
    for norm in (1, 2, math.inf):
        for neighbours in (ROW, SWAP):
            assert fixed.sensitivity(neighbours, norm=norm) == workload.sensitivity(neighbours, norm=norm)
    for mine, theirs in zip(fixed, workload, strict=True):
        assert write_query(theirs).vector().tolist() == mine.vector().tolist()
    equal = Universe(workload.universe.attributes)
    assert write_workload(workload, equal).universe is equal, "over the very universe that is asked about"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_of_a_written_workload_can_be_changed(kind):
    fixed = write_workload(KINDS[kind]())
    for query in (fixed, fixed.query(0)):
        assert not hasattr(query, "__dict__")
        for name in ("answers", "evaluate", "table", "universe", "sets", "axes", "new", "__class__"):
            with pytest.raises(AttributeError, match="cannot be changed"):
                setattr(query, name, print)
            with pytest.raises(AttributeError, match="cannot be changed"):
                delattr(query, name)
    held = [getattr(fixed.query(0), slot, ()) for slot in ("_table", "_weights", "_cells", "masks", "terms")]
    for part in held:
        assert all(map(is_fixed, part if isinstance(part, tuple) else (part,)))


SINGLE = [
    ProductQuery(TWO, (0, 1), "p", masks=[np.array([True, False]), np.array([True, True, False])]),
    ProductQuery(TWO, (), "none", masks=[], complement=True),
    TableQuery(TWO, (1,), "t", table=[0.5, 1, -2]),
    PredicateQuery(TWO, (0, 1), "f", holds=lambda a, b: a == b),
    PredicateQuery(TWO, (), "all", holds=lambda: np.ones(1, dtype=bool)),
    SparseQuery(TWO, "s", cells=[0, 5], weights=[0.5, 1.0]),
    ParityQuery(TWO, (0,), "odd"),
    HalfspaceQuery(TWO, (0, 1), "h", terms=[np.array([0, 2]), np.array([0, 1, 2])], threshold=3),
]


@pytest.mark.parametrize("query", SINGLE, ids=lambda query: query.name)
def test_what_is_written_counts_the_same(query):
    fixed = write_query(query)
    assert fixed.vector().tolist() == query.vector().tolist()
    assert fixed.evaluate(COUNTS) == query.evaluate(COUNTS)
    assert fixed.extent() == query.extent()
    assert all(type(end) in (int, float) for end in fixed.extent()), "they are subtracted"
    assert fixed.is_predicate == set(np.unique(fixed.vector()).tolist()).issubset({0, 1})


# What is not kept -----------------------------------------------------------------------------------------


def test_an_array_that_changes_later_changes_no_query():
    mask, table = np.array([True, False]), np.array([0.0, 1.0, 0.5])
    made = [ProductQuery(TWO, (0,), "p", masks=[mask]), TableQuery(TWO, (1,), "t", table=table)]
    before = [query.vector().tolist() for query in made]
    mask[:], table[:] = True, 1e9
    assert [query.vector().tolist() for query in made] == before
    with pytest.raises(ValueError, match="WRITEABLE"):
        made[0].masks[0].flags.writeable = True
    with pytest.raises(ValueError, match="WRITEABLE"):
        made[1].table().flags.writeable = True


def test_a_function_is_asked_once_about_everything_and_never_again():
    seen = []

    def odd(a, b):
        seen.append(list(zip(a.tolist(), b.tolist(), strict=True)))
        return (a + b) % 2 == len(seen) % 2

    workload = Predicates(TWO, [(["a", "b"], odd)])
    everything = [(a, b) for a in range(2) for b in range(3)]
    assert seen == [everything]
    data = Histogram.sparse(TWO, [[0, 1]], [7])
    assert workload.answers(data).tolist() == write_workload(workload).answers(data).tolist()
    assert seen == [everything]


WIDE = Universe([("x", range(600)), ("y", range(600)), ("z", range(600))])


def test_a_function_of_many_cells_never_learns_which_are_taken():
    """Above 2**18 cells it used to be asked about one record at a time."""
    seen = set()

    def nosy(x, y):
        seen.add((len(x), int(x[0]), int(y[0])))
        return x == y

    query = PredicateQuery(WIDE, (0, 1), "nosy", holds=nosy)
    data = Histogram.sparse(WIDE, [[7, 7, 1], [8, 9, 1]], [3, 4])
    assert query.evaluate(data) == write_query(query).evaluate(data) == 3
    blocks = 1 << 18
    assert seen == {(blocks, 0, 0), (600 * 600 - blocks, blocks // 600, blocks % 600)}


def test_a_function_of_too_many_cells_is_refused_by_name():
    with pytest.raises(Refused, match=r"predicate 0 of x, y, z.*Conjunctions"):
        Predicates(WIDE, [(["x", "y", "z"], lambda x, y, z: x == y)])
    query = PredicateQuery(WIDE, (0, 1, 2), "cube", holds=lambda x, y, z: x == y)
    for ask in (write_query, lambda q: q.evaluate(Histogram.sparse(WIDE, [[0, 0, 0]], [1]))):
        with pytest.raises(Refused, match=r"cube.*216000000 cells"):
            ask(query)


class Endless(Workload):
    """A workload that says it is short and goes on."""

    def __len__(self):
        return 1

    def __iter__(self):
        while True:
            yield self._query(0)

    def _query(self, index):
        return TableQuery(WIDE, (0, 1), "big", table=np.ones((600, 600), dtype=bool))

    def _answers(self, data):
        raise AssertionError

    _adjoint = _answers


def test_what_has_no_end_is_refused_by_name():
    with pytest.raises(Refused, match="unknown kind Endless"):
        write_workload(Endless(WIDE))


# What is refused --------------------------------------------------------------------------------------------


class Lying(TableQuery):
    """Weights that are none, whatever it says of itself."""

    is_predicate = is_integral = True

    def __init__(self, weights):
        super().__init__(TWO, (0,), "lying", table=[0, 1])
        self.weights = weights

    def table(self):
        return self.weights


_WIDE = np.longdouble("1e400")
BAD = [math.nan, math.inf, -math.inf, 1e400, None, "1", 1j, _WIDE, object(), [1, 2], 2**64, 2**60]


@pytest.mark.parametrize(
    "weight", BAD, ids=lambda weight: f"{weight:.3}" if isinstance(weight, float) else str(type(weight))
)
def test_weights_that_are_no_numbers_are_refused(weight):
    if not isinstance(weight, list):
        with pytest.raises(InvalidParameter):
            TableQuery(TWO, (0,), "t", table=[0, weight])
    with pytest.raises(InvalidParameter):
        write_query(Lying(np.array([0, weight], dtype=object)))


_HALF = [True, False]
MASKS = ([_HALF, [True]], [_HALF], [], [[1, 0], [1, 0, 0]], ["ab", "abc"], [None, None], [[[True]], []])


@pytest.mark.parametrize("masks", MASKS, ids=repr)
def test_bad_masks_are_refused_in_our_words(masks):
    with pytest.raises(InvalidParameter, match="both"):
        ProductQuery(TWO, (0, 1), "both", masks=masks)


def test_bad_tables_axes_and_cells_are_refused_in_our_words():
    ragged = [[True, False], [True]]
    for act in (
        lambda: Predicates(TWO, [(["a"], ragged)]),
        lambda: Predicates(TWO, [(["a", "b"], np.ones((3, 2), dtype=bool))]),
        lambda: Predicates(TWO, [(["a"], lambda a: ragged)]),
        lambda: Predicates(TWO, [("a", np.array([True, False]))]),
        lambda: Weighted(TWO, [(["a"], ragged)]),
        lambda: Weighted(TWO, [(["a"], [1, 2, 3])]),
        lambda: TableQuery(TWO, (0,), "t", table=ragged),
        lambda: TableQuery(TWO, (1, 0), "t", table=np.ones((3, 2))),
        lambda: TableQuery(TWO, (0, 0), "t", table=np.ones((2, 2))),
        lambda: TableQuery(TWO, (2,), "t", table=[1]),
        lambda: TableQuery(TWO, "a", "t", table=[1]),
        lambda: SparseQuery(TWO, "s", cells=[4, 1], weights=[1, 1]),
        lambda: SparseQuery(TWO, "s", cells=[6], weights=[1]),
        lambda: SparseQuery(TWO, "s", cells=[1], weights=[math.nan]),
        lambda: ParityQuery(TWO, (1,), "three"),
        lambda: HalfspaceQuery(TWO, (0,), "h", terms=[np.array([0, 2**62])], threshold=1),
        lambda: Matrix(TWO, ragged),
        lambda: Matrix(TWO, [[1, math.nan, 0, 0, 0, 0]]),
        lambda: write_query("query"),
        lambda: write_workload("workload"),
        lambda: write_query(TableQuery(TWO, (0,), "t", table=[0, 1]), BITS),
    ):
        with pytest.raises(InvalidParameter):
            act()


def test_claims_to_be_all_of_something_are_checked():
    """Closed forms rest on them: a list of one interval is not all intervals."""
    one = Ranges(TWO, "b", [(0, 2)] * 3)
    object.__setattr__(one, "is_every", True)
    assert one.sensitivity(ROW, norm=1) == 4, "the lie"
    assert write_workload(one).sensitivity(ROW, norm=1) == 3
    some = Parities(BITS, [["p"]])
    object.__setattr__(some, "_order", 1)
    assert write_workload(some).sensitivity(SWAP, norm=1) == 2
    honest = write_workload(Ranges.every(TWO, ["b"]))
    assert honest.is_every


def test_a_universe_with_other_sizes_than_its_attributes_is_refused():
    forged = Universe([("a", (0, 1))])
    query = TableQuery(forged, (0,), "t", table=[0, 1])
    object.__setattr__(forged, "shape", (3,))
    with pytest.raises(InvalidParameter, match="universe"):
        write_query(query)

    class Larger(Universe):
        pass

    with pytest.raises(InvalidParameter, match="universe"):
        write_workload(Marginals(Larger([("a", (0, 1))]), [["a"]]))


def test_threads_that_write_the_same_down_find_the_same():
    workload, found, start = Marginals(TWO, [["a"], ["b"]]), [], threading.Barrier(4)

    def write():
        start.wait()
        found.append(write_workload(workload).answers(COUNTS).tolist())

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [workload.answers(COUNTS).tolist()] * 4


def test_a_subclass_of_ones_own_keeps_its_freedom_and_is_listed():
    class Counting(LinearQuery):
        def __init__(self):
            super().__init__(TWO, (0,), "counting")
            self.calls = 0

        def table(self):
            self.calls += 1
            return [0, 1]

        def at(self, codes):
            raise AssertionError

    query = Counting()
    fixed = write_query(query)
    assert type(fixed) is TableQuery and query.calls == 1
    assert fixed.evaluate(Histogram.dense(TWO, COUNTS)) == 15 and query.calls == 1
