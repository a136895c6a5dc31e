"""What workloads refuse, sizes beyond the property tests, and sensitivities known from theory."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.neighbours import AddRemove, Edge, Replace, UserStream
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
)
from discreet.queries import sensitivity as search
from discreet.queries.kinds.parities import transform
from discreet.queries.query import PredicateQuery, ProductQuery

ROW, SWAP = AddRemove("row"), Replace("row")
RANDOM = np.random.default_rng  # noqa: TID251  # test data


def bits(count):
    return Universe((f"b{i}", (0, 1)) for i in range(count))


PLANE = Universe([("x", range(4)), ("y", range(3))])
BITS = bits(3)
COUNTS = np.arange(12)


def test_all_three_way_marginals_of_many_attributes_are_exact_both_ways():
    universe = bits(14)
    workload = Marginals.of_order(universe, 3)
    x = RANDOM(1).integers(0, 9, universe.shape)
    found = workload.answers(Histogram.dense(universe, x))
    for place, axes in enumerate(itertools.combinations(range(14), 3)):
        others = tuple(a for a in range(14) if a not in axes)
        assert (workload.table(found, place) == x.sum(axis=others)).all()
    y = RANDOM(2).integers(-9, 9, len(workload))
    assert int((workload.adjoint(y) * x).sum()) == int(found @ y)
    codes, counts = Histogram.dense(universe, x).entries()
    assert (workload.answers(Histogram.sparse(universe, codes, counts)) == found).all()
    assert workload.query(11).name == "b0=0, b1=1, b3=1"
    assert workload.query(11).evaluate(x) == found[11]


def test_marginals_of_a_universe_of_ten_to_the_thirty_cells():
    wide = Universe((f"q{i}", range(10)) for i in range(30))
    rows = RANDOM(3).integers(0, 10, (500, 30))
    workload = Marginals.of_order(wide, 2)
    found = workload.answers(Histogram.from_records(wide, rows))
    for place, (i, j) in enumerate(itertools.combinations(range(30), 2)):
        expected = np.bincount(10 * rows[:, i] + rows[:, j], minlength=100)
        assert (workload.table(found, place).ravel() == expected).all()
    assert workload.sensitivity(ROW, norm=1) == 435
    assert workload.square_sensitivity(SWAP) == 870
    with pytest.raises(Refused):
        workload.adjoint(found)
    with pytest.raises(Refused):
        workload.answers(rows)


def test_parities_of_more_attributes_than_a_table_can_hold():
    wide = bits(50)
    rows = RANDOM(4).integers(0, 2, (300, 50))
    workload = Parities.of_order(wide, 2)
    found = workload.answers(Histogram.from_records(wide, rows))
    expected = [((-1) ** (rows[:, i] + rows[:, j])).sum() for i, j in itertools.combinations(range(50), 2)]
    assert found.tolist() == expected
    assert workload.sensitivity(SWAP, norm=1) == 2 * 25 * 25
    listed = Parities(wide, [[f"b{i}"] for i in range(40)])
    with pytest.raises(Refused, match="sensitivity_bound"):
        listed.sensitivity(SWAP, norm=1)
    assert listed.sensitivity_bound(SWAP, norm=1) == 80
    assert listed.sensitivity_bound(SWAP, norm=2) ** 2 >= 160


def test_parities_of_large_sets_of_many_attributes_are_counted_row_by_row():
    wide = bits(50)
    rows = RANDOM(4).integers(0, 2, (300, 50))
    sets = [range(0, 50, 2), range(40), range(50)]
    workload = Parities(wide, [[f"b{i}" for i in each] for each in sets])
    found = workload.answers(Histogram.from_records(wide, rows))
    assert found.tolist() == [int(((-1) ** rows[:, list(each)].sum(axis=1)).sum()) for each in sets]


def test_the_transform_is_its_own_inverse_but_for_the_size():
    x = RANDOM(5).integers(-9, 9, 64)
    assert (transform(transform(x.copy())) == 64 * x).all()


def test_a_million_conjunctions_are_answered_at_once():
    universe = Universe([(name, range(8)) for name in "abcde"])
    codes = RANDOM(6).integers(0, 8, (200_000, 3))
    workload = Conjunctions.from_codes(universe, (0, 2, 4), codes)
    x = RANDOM(7).integers(0, 5, universe.shape)
    assert (workload.answers(x) == x.sum(axis=(1, 3))[tuple(codes.T)]).all()


def test_sums_too_large_for_floats_stay_exact():
    universe = Universe([("a", range(3)), ("b", range(3))])
    x = np.full((3, 3), 2**57 + 1)
    workload = Conjunctions(universe, [{"a": [0, 1], "b": [0, 2]}])
    assert workload.answers(x).tolist() == [4 * (2**57 + 1)]
    assert workload.adjoint([2**60 + 1]).max() == 2**60 + 1


def test_weights_of_any_size_have_a_sensitivity_that_is_not_too_small():
    line = Universe([("t", range(3))])
    for weights in ([1e-200, 3e-200, 0.0], [1e200, -1e200, 0.0], [5e-324, 0.0, 0.0], [2**52 + 1, 2**52, 0]):
        workload = Weighted(line, [(["t"], weights), (["t"], weights[::-1])])
        columns = [(Fraction(a), Fraction(b)) for a, b in zip(weights, weights[::-1], strict=True)]
        true = max(a * a + b * b for a, b in columns)
        assert true <= workload.square_sensitivity(ROW) <= true * (1 + Fraction(1, 10**12))
        pairs = [(x[0] - y[0], x[1] - y[1]) for x in columns for y in columns]
        true = max(a * a + b * b for a, b in pairs)
        assert true <= workload.square_sensitivity(SWAP) <= true * (1 + Fraction(1, 10**12))
        true = max(abs(a) + abs(b) for a, b in pairs)
        assert true <= workload.sensitivity(SWAP, norm=1) <= true * (1 + Fraction(1, 10**12))


def test_squares_too_small_for_floats_are_not_taken_for_nothing():
    line = Universe([("t", range(2))])
    workload = Weighted(line, [(["t"], [0.5, 0.5]), (["t"], [1e-200, 0.0])])
    assert Fraction(1e-200) ** 2 <= workload.square_sensitivity(SWAP) < Fraction(1, 10**200)


def test_large_whole_weights_do_not_wrap():
    line = Universe([("t", range(3))])
    workload = Weighted(line, [(["t"], [2**50, 1, -(2**50)])])
    assert workload.answers([1000, 0, 1]).tolist() == [999 * 2**50]
    assert workload.query(0).evaluate([2**20, 0, 0]) == 2**70
    assert workload.answers([2**13, 0, 1]).tolist() == [2**62 - 1]  # data are cut off, never refused
    with pytest.raises(InvalidParameter, match="62 bits"):
        workload.adjoint([2**13])
    assert not Union([workload], [100]).is_integral
    for make in (lambda: Weighted(line, [(["t"], [2**54, 0, 0])]), lambda: Matrix(line, [[2**54, 0, 0]])):
        with pytest.raises(InvalidParameter, match="whole numbers up to"):
            make()


def test_definition_9_an_interval_counts_the_rows_inside_with_both_ends():
    line = Universe([("t", range(6))])
    rows = Histogram.dense(line, [1, 0, 2, 0, 0, 4])
    workload = Ranges(line, "t", [(0, 5), (2, 2), (1, 4), (5, 5), (3, 4)])
    assert workload.answers(rows).tolist() == [7, 2, 2, 4, 0]
    assert Ranges(line, "t", [(1, 4)]).sensitivity(ROW, norm=1) == 1


def test_sensitivities_known_from_theory():
    line = Universe([("t", range(16))])
    assert Prefixes(line, ["t"]).sensitivity(ROW, norm=1) == 16
    assert Prefixes(line, ["t"]).sensitivity(SWAP, norm=1) == 15
    assert Ranges.every(line, ["t"]).sensitivity(ROW, norm=1) == 72
    assert Ranges.every(line, ["t"]).sensitivity(SWAP, norm=1) == 72
    assert Marginals.of_order(bits(20), 3).square_sensitivity(SWAP) == 2 * 1140
    assert Parities.every(bits(10)).sensitivity(SWAP, norm=1) == 1024
    assert Conjunctions.monotone(bits(40), 2).sensitivity(SWAP, norm=1) == 780
    assert Disjunctions.monotone(bits(40), 2).sensitivity(ROW, norm=1) == 780
    root = Marginals.of_order(bits(3), 1).sensitivity(ROW, norm=2)
    assert 3 <= root**2 < 3 + Fraction(1, 10**15)
    assert Marginals(BITS, [["b0"], ["b1"], ["b2"], []]).sensitivity(ROW, norm=2) == 2


def test_clauses_that_never_or_always_hold_do_not_count():
    clauses = [{}, {"x": []}, {"x": range(4)}, {"x": [1, 2]}, {"x": [1], "y": [0, 1]}]
    both = Conjunctions(PLANE, clauses)
    assert both.sensitivity(ROW, norm=1) == 4
    assert both.sensitivity(SWAP, norm=1) == 2
    either = Disjunctions(PLANE, clauses)
    assert either.sensitivity(ROW, norm=1) == 3
    assert either.sensitivity(SWAP, norm=1) == 2
    assert Conjunctions(PLANE, [{"x": []}]).sensitivity(ROW, norm=math.inf) == 0
    assert Disjunctions(PLANE, [{"x": []}]).sensitivity(ROW, norm=math.inf) == 0


def test_boxes_in_the_plane_by_formula_and_by_search():
    workload = Rectangles.every(PLANE, ["x", "y"])
    listed = Rectangles(PLANE, [dict(zip("xy", b, strict=True)) for b in _boxes()])
    assert len(workload) == len(listed) == 60
    for neighbours in (ROW, SWAP):
        assert workload.sensitivity(neighbours, norm=1) == listed.sensitivity(neighbours, norm=1)
    huge = Universe([("x", range(300)), ("y", range(300))])
    small = Rectangles.every(Universe([("x", range(60)), ("y", range(3))]), ["x", "y"])
    assert small.sensitivity(SWAP, norm=1) >= small.sensitivity(ROW, norm=1)
    assert Rectangles(huge, [{"x": (0, 5)}, {"x": (4, 9), "y": (1, 1)}]).sensitivity(SWAP, norm=1) == 2


def _boxes():
    pairs = [list(itertools.combinations_with_replacement(range(n), 2)) for n in (4, 3)]
    return itertools.product(*pairs)


def test_where_the_search_is_too_long_a_bound_remains(monkeypatch):
    rng = RANDOM(8)
    universe = Universe([("x", range(30))])
    masks = [(["x"], rng.integers(0, 2, 30).astype(bool)) for _ in range(6)]
    reals = [(["x"], rng.normal(size=30)) for _ in range(3)]
    workloads = [
        Predicates(universe, masks),
        Weighted(universe, reals),
        Matrix(universe, [r for _, r in reals]),
    ]
    workloads.append(Union([workloads[0], workloads[1]], [1, 2]))
    true = {(w, n, k): w.sensitivity(n, norm=k) for w in workloads for n in (ROW, SWAP) for k in (1, 2)}
    monkeypatch.setattr(search, "_COLUMNS", 1)
    for (workload, neighbours, norm), value in true.items():
        bound = workload.sensitivity_bound(neighbours, norm=norm)
        assert value <= bound <= 12 * value
        if neighbours == SWAP:
            with pytest.raises(Refused, match="sensitivity_bound"):
                workload.sensitivity(neighbours, norm=norm)
    monkeypatch.undo()
    monkeypatch.setattr(search, "_CELLS", 1)
    for workload in workloads:
        with pytest.raises(Refused):
            workload.sensitivity(SWAP, norm=1)
        assert workload.sensitivity_bound(SWAP, norm=1) >= true[workload, SWAP, 1]


@pytest.mark.parametrize("neighbours", [UserStream(), Edge()])
def test_changes_of_unbounded_size_have_no_sensitivity(neighbours):
    with pytest.raises(NeighboursMismatch):
        Prefixes(PLANE, ["x"]).sensitivity(neighbours, norm=1)


@pytest.mark.parametrize("norm", [0, 3, True, "1", 1.5, float("nan")])
def test_other_norms_are_refused(norm):
    with pytest.raises(InvalidParameter, match="norm"):
        Prefixes(PLANE, ["x"]).sensitivity(ROW, norm=norm)


def test_a_missing_value_is_on_neither_side_of_a_halfspace():
    universe = Universe([("income", (0, 10, 20, None)), ("member", (False, True))])
    up, down = Halfspaces(universe, [({"income": 1, "member": 5}, 15), ({"income": -1, "member": -5}, -14)])
    assert up.table().tolist() == [[False, False], [False, True], [True, True], [False, False]]
    assert down.table().tolist() == [[True, True], [True, False], [False, False], [False, False]]


def test_halfspaces_do_not_round_at_the_border():
    universe = Universe([("x", (0.1, 0.2, 0.3)), ("y", (0.1, 0.2))])
    (query,) = Halfspaces(universe, [({"x": 1, "y": 1}, 0.3)])
    assert query.table().tolist() == [[False, True], [True, True], [True, True]]


def test_a_matrix_may_be_sparse_and_named():
    rows = sparse.csr_array(([2, 3], ([0, 1], [0, 11])), shape=(2, 12))
    workload = Matrix(PLANE, rows, names=["first", "last"])
    assert workload.names == ("first", "last")
    assert workload.answers(COUNTS).tolist() == [0, 33]
    assert workload.query(1).extent() == (0, 3)
    assert not workload.query(1).is_predicate
    assert workload.square_sensitivity(SWAP) == 13


def test_unions_keep_order_and_scale():
    workload = Union([Marginals(PLANE, [["x"]]), Prefixes(PLANE, ["y"])], [1, 0.5])
    assert workload.answers(COUNTS).tolist() == [3, 12, 21, 30, 9.0, 20.0, 33.0]
    assert workload.query(6).name == "0.5 * (y<=2)"
    assert workload.sensitivity(ROW, norm=1) == Fraction(5, 2)
    assert workload.sensitivity(ROW, norm=math.inf) == 1
    whole = Union([Marginals(PLANE, [["x"]]), Prefixes(PLANE, ["y"])], [1, 2])
    assert whole.answers(COUNTS).dtype == np.int64
    assert whole.query(6).evaluate(COUNTS) == 132
    assert whole.query(6).is_integral


@pytest.mark.parametrize(
    "make",
    [
        lambda: Marginals(PLANE, []),
        lambda: Marginals(PLANE, [["x"], ["x"]]),
        lambda: Marginals(PLANE, [["z"]]),
        lambda: Marginals.of_order(PLANE, 3),
        lambda: Marginals.of_order(PLANE, -1),
        lambda: Marginals("plane", [["x"]]),
        lambda: Prefixes(PLANE, []),
        lambda: Prefixes(PLANE, ["z"]),
        lambda: Ranges(PLANE, "x", []),
        lambda: Ranges(PLANE, "x", [(2, 1)]),
        lambda: Ranges(PLANE, "x", [(0, 9)]),
        lambda: Ranges(PLANE, "x", [3]),
        lambda: Rectangles(PLANE, [{"x": (0, 1, 2)}]),
        lambda: Halfspaces(PLANE, [({"x": float("nan")}, 0)]),
        lambda: Halfspaces(PLANE, [({"x": 1}, None)]),
        lambda: Halfspaces(Universe([("name", ("a", "b"))]), [({"name": 1}, 0)]),
        lambda: Halfspaces(PLANE, []),
        lambda: Parities(PLANE, [["x"]]),
        lambda: Parities(BITS, []),
        lambda: Parities(BITS, [["b0"], ["b0"]]),
        lambda: Parities(bits(63), [[f"b{i}" for i in range(63)]]),
        lambda: Parities.of_order(BITS, 4),
        lambda: Conjunctions(PLANE, []),
        lambda: Conjunctions(PLANE, [{"x": "0"}]),
        lambda: Conjunctions(PLANE, [{"x": 0}]),
        lambda: Conjunctions(PLANE, [{"x": [9]}]),
        lambda: Conjunctions.monotone(PLANE, 1),
        lambda: Conjunctions.of_width(PLANE, 3),
        lambda: Conjunctions.from_codes(PLANE, (1, 0), [[0, 0]]),
        lambda: Conjunctions.from_codes(PLANE, (0,), [[4]]),
        lambda: Weighted(PLANE, [(["x"], [1, 2])]),
        lambda: Weighted(PLANE, [(["x"], [1, 2, 3, math.inf])]),
        lambda: Weighted(PLANE, [(["x"], ["a", "b", "c", "d"])]),
        lambda: Weighted(PLANE, []),
        lambda: Predicates(PLANE, [(["x"], [0, 1, 1, 0])]),
        lambda: Predicates(PLANE, [(["x"], lambda x: x)]).answers(COUNTS),
        lambda: Predicates(PLANE, [(["x"], lambda x: True)]).answers(COUNTS),
        lambda: Matrix(PLANE, np.ones((2, 11))),
        lambda: Matrix(PLANE, np.full((1, 12), math.nan)),
        lambda: Matrix(PLANE, np.ones((1, 12)), names=["a", "b"]),
        lambda: Union([]),
        lambda: Union([Prefixes(PLANE, ["x"]), Prefixes(bits(2), ["b0"])]),
        lambda: Union([Prefixes(PLANE, ["x"])], [0]),
        lambda: Union([Prefixes(PLANE, ["x"])], [1, 2]),
        lambda: Union(["x"]),
        lambda: Queries(PLANE, []),
        lambda: Queries(PLANE, ["x"]),
        lambda: Queries(PLANE, [Prefixes(bits(2), ["b0"]).query(0)]),
        lambda: Prefixes(PLANE, ["x"]).query(4),
        lambda: Prefixes(PLANE, ["x"]).subset([-1]),
        lambda: Prefixes(PLANE, ["x"]).answers(np.arange(11)),
        lambda: Prefixes(PLANE, ["x"]).answers(["a"] * 12),
        lambda: Prefixes(PLANE, ["x"]).answers(np.full(12, 2**60)),
        lambda: Prefixes(PLANE, ["x"]).answers(Histogram.dense(BITS, np.ones(8, dtype=int))),
        lambda: Prefixes(PLANE, ["x"]).adjoint([1, 2, 3]),
        lambda: Prefixes(PLANE, ["x"]).adjoint([1, 2, 3, None]),
        lambda: Prefixes(PLANE, ["x"]).adjoint([2**62] * 4),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def test_halfspaces_with_too_many_digits_are_refused():
    with pytest.raises(Refused, match="Round"):
        Halfspaces(PLANE, [({"x": Fraction(1, 3**40)}, Fraction(1, 2**60))])


def test_workloads_and_queries_print_as_what_they_are():
    assert repr(Prefixes(PLANE, ["x"])) == "<Prefixes: 4 queries over x, y>"
    assert repr(Prefixes(PLANE, ["x"]).query(1)) == "<query x<=1>"
    assert Marginals(PLANE, [[]]).names == ("total",)
    assert Disjunctions(PLANE, [{}, {"x": [1, 2], "y": [0]}]).names == ("nothing", "x in (1, 2) or y=0")


# Functions that look at more than one cell ----------------------------------------


@pytest.mark.parametrize("values", [10, 2**19], ids=["a table", "one cell at a time"])
def test_a_function_never_sees_which_cells_are_taken(values):
    """`codes > codes.mean()` is no counting query if the codes are those of the data."""
    universe = Universe([("x", range(values)), ("y", range(2**24))])
    query = PredicateQuery(universe, (0,), "above the mean", holds=lambda x: x > x.mean())
    few = Histogram.from_records(universe, np.array([[1, 0]] * 3 + [[2, 0]] * 1000))
    more = Histogram.from_records(universe, np.array([[1, 0]] * 2 + [[2, 0]] * 1000 + [[9, 0]]))
    assert not few.is_dense
    assert abs(query.evaluate(few) - query.evaluate(more)) <= 1


def test_a_function_of_a_sparse_table_counts_what_the_dense_one_does():
    universe = Universe([("x", range(6)), ("y", range(5))])
    codes = np.array([[1, 0], [4, 3], [4, 3], [5, 4]])
    query = PredicateQuery(universe, (0, 1), "ahead", holds=lambda x, y: x > y)
    wide = Universe([*universe.attributes, ("z", range(2**25))])
    scattered = Histogram.from_records(wide, np.column_stack([codes, np.zeros(4, dtype=np.int64)]))
    assert not scattered.is_dense
    same = PredicateQuery(wide, (0, 1), "ahead", holds=lambda x, y: x > y)
    assert same.evaluate(scattered) == query.evaluate(Histogram.from_records(universe, codes)) == 4


# Queries stay what they were when they were checked ----------------------------------------


def test_a_mask_is_copied_and_checked():
    universe = Universe([("x", range(3))])
    mask = np.array([True, False, False])
    query = ProductQuery(universe, (0,), "first", masks=[mask])
    mask[:] = True
    assert query.evaluate([1, 10, 100]) == 1
    with pytest.raises(ValueError, match="read-only"):
        query.masks[0][1] = True
    for bad in (np.array([1, 0, 0]), np.array([True, False]), [[True, False, False]]):
        with pytest.raises(InvalidParameter, match="3 booleans"):
            ProductQuery(universe, (0,), "first", masks=[bad])
