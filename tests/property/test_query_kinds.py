"""Every kind of query that the door admits, against its definition in numbers of any size.

The kinds are read off the closed lists of the door: a new one without a generator here fails. Generators
repeat themselves, weigh cells negatively and by huge and tiny numbers, and put all of it into unions.
"""

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameter
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
    written,
)
from discreet.queries.histogram import MOST
from discreet.queries.kinds.groups import Groups
from discreet.queries.kinds.halfspaces import HalfspaceQuery
from discreet.queries.kinds.matrix import SparseQuery
from discreet.queries.kinds.parities import ParityQuery
from discreet.queries.query import LARGEST, ProductQuery

# The third attribute has one value; the last is in use in no query of more than two attributes.
SHAPE = (2, 3, 1, 2)
TINY = Universe((name, range(size)) for name, size in zip("abcd", SHAPE, strict=True))
CELLS = list(itertools.product(*map(range, SHAPE)))
ROW, SWAP = AddRemove("row"), Replace("row")
MANY = settings(max_examples=40, deadline=None)

WHOLE = st.sampled_from([0, 1, -1, 2, -3, 7, LARGEST, -LARGEST, LARGEST - 1])
REAL = st.sampled_from([0.0, 0.5, -0.1, 3.7, 1.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324])
TWO_VALUED = (0, 3)


def code_sets(axis, least=0):
    return st.lists(st.sampled_from(range(SHAPE[axis])), min_size=least, unique=True)


def axis_sets(among=range(4), least=0):
    return st.lists(st.sampled_from(list(among)), min_size=least, max_size=3, unique=True).map(sorted)


def names_of(axes):
    return ["abcd"[axis] for axis in axes]


def listed(each, most=4):
    """Lists whose entries may be repeated."""
    return st.lists(each, min_size=1, max_size=most).flatmap(
        lambda some: st.sampled_from([some, some + some[:1], some * 2])
    )


def draw_table(draw, axes):
    count = math.prod(SHAPE[axis] for axis in axes)
    numbers = draw(st.sampled_from([WHOLE, REAL, st.booleans()]))
    flat = draw(st.lists(numbers, min_size=count, max_size=count))
    return np.array(flat).reshape([SHAPE[axis] for axis in axes])


def read_table(table, axes):
    exact = {index: Fraction(table[index].item()) for index in np.ndindex(table.shape)}
    return [exact[tuple(cell[axis] for axis in axes)] for cell in CELLS]


# Single queries: a query, and by its definition what every cell weighs ------------------------------------


@st.composite
def products(draw):
    axes = draw(axis_sets())
    masks = [np.isin(np.arange(SHAPE[axis]), draw(code_sets(axis))) for axis in axes]
    complement = draw(st.booleans())
    inside = [all(mask[cell[axis]] for axis, mask in zip(axes, masks, strict=True)) for cell in CELLS]
    query = ProductQuery(TINY, tuple(axes), "product", masks=masks, complement=complement)
    return query, [Fraction(each != complement) for each in inside]


@st.composite
def tables(draw):
    axes = draw(axis_sets())
    table = draw_table(draw, axes)
    return TableQuery(TINY, tuple(axes), "table", table=table), read_table(table, axes)


@st.composite
def parities_of_one(draw):
    axes = draw(axis_sets(TWO_VALUED))
    signs = [Fraction((-1) ** sum(cell[axis] for axis in axes)) for cell in CELLS]
    return ParityQuery(TINY, tuple(axes), "parity"), signs


@st.composite
def sparse_ones(draw):
    cells = sorted(draw(st.sets(st.integers(0, len(CELLS) - 1))))
    numbers = draw(st.sampled_from([WHOLE, REAL]))
    weights = [draw(numbers) for _ in cells]
    kind = np.array([draw(numbers)]).dtype
    query = SparseQuery(
        TINY, "sparse", cells=np.array(cells, dtype=np.int64), weights=np.array(weights, kind)
    )
    row = [Fraction(0)] * len(CELLS)
    for cell, weight in zip(cells, weights, strict=True):
        row[cell] = Fraction(weight)
    return query, row


@st.composite
def halfspaces_of_one(draw):
    axes = draw(axis_sets())
    terms = [[draw(st.sampled_from([0, 1, -2, 1 << 54, -(1 << 54)])) for _ in range(SHAPE[a])] for a in axes]
    threshold = draw(st.sampled_from([0, 1, -2, 1 << 54, 1 << 70, -(1 << 70)]))
    sums = [sum(t[cell[axis]] for axis, t in zip(axes, terms, strict=True)) for cell in CELLS]
    query = HalfspaceQuery(
        TINY, tuple(axes), "half", terms=[np.array(t, dtype=np.int64) for t in terms], threshold=threshold
    )
    return query, [Fraction(total >= threshold) for total in sums]


SINGLE = {
    ProductQuery: products(),
    TableQuery: tables(),
    ParityQuery: parities_of_one(),
    SparseQuery: sparse_ones(),
    HalfspaceQuery: halfspaces_of_one(),
}
ANY_QUERY = st.one_of(*SINGLE.values())

# Workloads: one, and its matrix by its definition ----------------------------------------------------------


def by_rule(workload, rules):
    return workload, [[Fraction(rule(cell)) for cell in CELLS] for rule in rules]


@st.composite
def marginals(draw):
    sets = draw(st.lists(axis_sets(), min_size=1, max_size=4, unique_by=tuple))
    rules = [
        lambda cell, a=axes, c=codes: tuple(cell[axis] for axis in a) == c
        for axes in sets
        for codes in itertools.product(*(range(SHAPE[axis]) for axis in axes))
    ]
    return by_rule(Marginals(TINY, map(names_of, sets)), rules)


@st.composite
def groups(draw):
    axes = draw(axis_sets())
    where = np.array(draw_table(draw, axes) != 0)
    groupings = []
    for _ in range(draw(st.integers(1, 3))):
        keys = draw(st.permutations(draw(axis_sets())))
        codes = [tuple(draw(listed(st.sampled_from(range(SHAPE[axis])), most=2))) for axis in keys]
        once = [tuple(dict.fromkeys(each)) for each in codes]
        if codes != once:  # a group that is listed twice was counted once in the sensitivity
            repeated = tuple(zip(keys, codes, strict=True))
            with pytest.raises(InvalidParameter, match="at most once"):
                Groups(TINY, axes=tuple(axes), where=where, groupings=[repeated])
        groupings.append(tuple(zip(keys, once, strict=True)))
    groupings = draw(st.sampled_from([groupings, groupings + groupings[:1]]))
    held = read_table(where, axes)
    rules = [
        lambda cell, k=grouping, c=codes: held[CELLS.index(cell)] * (tuple(cell[axis] for axis, _ in k) == c)
        for grouping in groupings
        for codes in itertools.product(*(codes for _, codes in grouping))
    ]
    return by_rule(Groups(TINY, axes=tuple(axes), where=where, groupings=groupings), rules)


@st.composite
def prefixes(draw):
    axes = draw(axis_sets(least=1))
    rules = [lambda cell, a=axis, e=end: cell[a] <= e for axis in axes for end in range(SHAPE[axis])]
    return by_rule(Prefixes(TINY, names_of(axes)), rules)


def draw_ends(draw, axis):
    first, last = sorted(draw(st.integers(0, SHAPE[axis] - 1)) for _ in range(2))
    return first, last


def box_rules(boxes):
    return [
        lambda cell, b=box: all(low <= cell["abcd".index(n)] <= high for n, (low, high) in b.items())
        for box in boxes
    ]


@st.composite
def rectangles(draw):
    if draw(st.booleans()):
        names = names_of(draw(axis_sets()))
        ends = [list(itertools.combinations_with_replacement(TINY.attribute(n).values, 2)) for n in names]
        boxes = [dict(zip(names, each, strict=True)) for each in itertools.product(*ends)]
        return by_rule(Rectangles.every(TINY, names), box_rules(boxes))
    boxes = [
        {"abcd"[axis]: draw_ends(draw, axis) for axis in axes} for axes in draw(listed(axis_sets(), most=3))
    ]
    return by_rule(Rectangles(TINY, boxes), box_rules(boxes))


@st.composite
def ranges(draw):
    axis = draw(st.integers(0, 3))
    bounds = [draw_ends(draw, axis) for _ in range(draw(st.integers(1, 4)))]
    bounds = draw(st.sampled_from([bounds, bounds * 2]))
    boxes = [{"abcd"[axis]: each} for each in bounds]
    return by_rule(Ranges(TINY, "abcd"[axis], bounds), box_rules(boxes))


def clauses(family, join):
    @st.composite
    def draw_clauses(draw):
        found = draw(
            listed(st.fixed_dictionaries({}, optional={n: code_sets("abcd".index(n)) for n in "abcd"}))
        )
        rules = [
            lambda cell, c=clause: join(cell["abcd".index(n)] in allowed for n, allowed in c.items())
            for clause in found
        ]
        return by_rule(family(TINY, found), rules)

    return draw_clauses()


@st.composite
def parities(draw):
    sets = draw(st.lists(axis_sets(TWO_VALUED), min_size=1, unique_by=tuple))
    rules = [lambda cell, a=axes: (-1) ** sum(cell[axis] for axis in a) for axes in sets]
    return by_rule(Parities(TINY, map(names_of, sets)), rules)


@st.composite
def matrices(draw):
    numbers = draw(st.sampled_from([WHOLE, REAL, st.booleans()]))
    rows = draw(listed(st.lists(numbers, min_size=len(CELLS), max_size=len(CELLS)), most=3))
    return Matrix(TINY, np.array(rows)), [list(map(Fraction, row)) for row in rows]


@st.composite
def lists_of_queries(draw):
    pairs = draw(listed(ANY_QUERY))
    return Queries(TINY, [query for query, _ in pairs]), [row for _, row in pairs]


@st.composite
def tables_of(draw, family, kinds):
    found = []
    for axes in draw(listed(axis_sets(), most=3)):
        table = draw_table(draw, axes)
        found.append((axes, table.astype(bool) if kinds == "b" else table))
    workload = family(TINY, [(names_of(axes), table) for axes, table in found])
    return workload, [read_table(table, axes) for axes, table in found]


@st.composite
def halfspaces(draw):
    numbers = st.sampled_from([0, 1, -2, Fraction(1, 3), 10**9])
    normals = st.fixed_dictionaries({}, optional=dict.fromkeys("abcd", numbers))
    found = draw(listed(st.tuples(normals, numbers), most=3))
    rules = [
        lambda cell, n=normal, t=threshold: sum(v * cell["abcd".index(k)] for k, v in n.items()) >= t
        for normal, threshold in found
    ]
    return by_rule(Halfspaces(TINY, found), rules)


def multiplied(row, weight):
    """A row times a weight: exactly where all of it is whole and small enough, else as floats."""
    if weight.denominator == 1 and all(w.denominator == 1 and abs(weight * w) <= LARGEST for w in row):
        return [weight * each for each in row]
    return [Fraction(float(weight) * float(each)) for each in row]


WEIGHTS = st.sampled_from([1, 2, LARGEST, Fraction(1, 3), Fraction("0.1"), Fraction(1, 10**200), 10**20])


@st.composite
def unions(draw, nested=1):
    parts = list(ALONE.values()) + ([unions(nested=nested - 1)] if nested else [])
    pairs = [draw(st.one_of(*parts)) for _ in range(draw(st.integers(1, 3)))]
    pairs = draw(st.sampled_from([pairs, pairs + pairs[:1]]))
    weights = [Fraction(draw(WEIGHTS)) for _ in pairs]
    safe = [  # what would leave the range of floats is tried by itself below
        w
        if all(abs(w * each) < 1e300 for row in rows for each in row) and (w > 1e-9 or nested)
        else Fraction(1)
        for w, (_, rows) in zip(weights, pairs, strict=True)
    ]
    matrix = [[w * each for each in row] for w, (_, rows) in zip(safe, pairs, strict=True) for row in rows]
    return Union([workload for workload, _ in pairs], safe), matrix


ALONE = {
    Marginals: marginals(),
    Groups: groups(),
    Prefixes: prefixes(),
    Rectangles: rectangles(),
    Ranges: ranges(),
    Conjunctions: clauses(Conjunctions, all),
    Disjunctions: clauses(Disjunctions, any),
    Parities: parities(),
    Matrix: matrices(),
    Queries: lists_of_queries(),
    Predicates: tables_of(Predicates, "b"),
    Weighted: tables_of(Weighted, "bif"),
    Halfspaces: halfspaces(),
}
EVERY = {**ALONE, Union: unions()}
named = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)


def test_every_kind_that_the_door_admits_is_generated():
    assert set(EVERY) == {*written._STRUCTURED, *written._COMPOUND}
    assert set(SINGLE) == set(written._QUERIES)


# What everything must agree on ---------------------------------------------------------------------------


def same(found, exact):
    return list(map(Fraction, np.ravel(found).tolist())) == list(exact)


def close(found, exact, size):
    return abs(Fraction(found) - exact) <= size * Fraction(1, 1 << 45) + Fraction(1, 1 << 1000)


def is_rounded(found, exact):
    return abs(found - exact) <= abs(exact) * Fraction(1, 1 << 51) + Fraction(1, 1 << 1074)


def dot(row, numbers):
    return sum(map(operator.mul, row, numbers), Fraction(0))


def size_of(row, numbers):
    return sum((abs(w * n) for w, n in zip(row, numbers, strict=True)), Fraction(0))


def check_query(query, row, counts, histograms):
    codes = np.array(CELLS)
    assert same(query.at(codes), row)
    assert same(query.vector(), row)
    assert same(query.extent(), (min(row), max(row)))
    assert query.is_predicate <= set(row).issubset({0, 1})
    assert query.is_integral <= all(weight.denominator == 1 for weight in row)
    for data in histograms:
        answer = query.evaluate(data)
        if query.is_integral:
            assert type(answer) is int and answer == dot(row, counts)
        else:
            assert close(answer, dot(row, counts), size_of(row, counts))


def check_answers(workload, matrix, counts, histograms):
    for data in histograms:
        found = workload.answers(data)
        if workload.is_integral:
            exact = [min(max(int(dot(row, counts)), -MOST), MOST) for row in matrix]
            assert found.dtype == np.int64 and found.tolist() == exact
        else:
            for answer, row in zip(found.tolist(), matrix, strict=True):
                assert close(answer, dot(row, counts), size_of(row, counts))


def check_adjoint(workload, matrix, numbers):
    back = workload.adjoint(np.array(numbers, dtype=np.int64)).ravel()
    for found, column in zip(back.tolist(), zip(*matrix, strict=True), strict=True):
        if workload.is_integral:
            assert found == dot(column, numbers)
        else:
            assert close(found, dot(column, numbers), size_of(column, numbers))


def brute_force(matrix, neighbours, power):
    """The largest norm of a column, or of a difference of two; of power 0 the largest entry of one."""
    columns = list(zip(*matrix, strict=True))
    others = [(Fraction(0),) * len(matrix)] if neighbours == ROW else columns
    measure = max if power == 0 else sum
    return max(
        measure(abs(a - b) ** (power or 1) for a, b in zip(left, right, strict=True))
        for left in columns
        for right in others
    )


def check_sensitivity(workload, matrix):
    for neighbours, power in itertools.product((ROW, SWAP), (0, 1, 2)):
        true = brute_force(matrix, neighbours, power)
        norm = power or math.inf
        stated = workload.sensitivity(neighbours, norm=norm)
        if power == 2:
            assert stated**2 >= workload.square_sensitivity(neighbours)
            stated = workload.square_sensitivity(neighbours)
        size = max(abs(each) for row in matrix for each in row)
        exact = power == 0 or (workload.is_integral and len(matrix) * 4 * size**power <= 1 << 52)
        if exact:
            assert stated == true
        else:
            # Tiny next to the largest weight is as good as nothing, but never is it less.
            slack = (size * Fraction(1, 1 << 400)) ** power
            assert true <= stated <= true * (1 + Fraction(1, 10**9)) + slack
        bound = workload.sensitivity_bound(neighbours, norm=norm)
        assert bound ** (power or 1) >= true
        if power:
            assert workload.bound_loosely(replaced=neighbours == SWAP, power=power) >= true


def check_all(workload, matrix, counts, numbers):
    codes = np.array(CELLS)
    halves = [count // 2 for count in counts], [count - count // 2 for count in counts]
    histograms = (
        np.array(counts),
        Histogram.dense(TINY, counts),
        Histogram.sparse(TINY, codes, counts),
        Histogram.sparse(TINY, np.concatenate([codes, codes]), np.concatenate(halves)),
    )
    assert len(workload) == len(matrix) == len(workload.names)
    assert workload.is_predicates <= all(set(row).issubset({0, 1}) for row in matrix)
    assert workload.is_integral <= all(each.denominator == 1 for row in matrix for each in row)
    assert workload.largest_weight == max(abs(each) for row in matrix for each in row)
    assert same(workload.block(0, len(workload), codes), [each for row in matrix for each in row])
    assert {(Fraction(a), Fraction(b)) for a, b in workload.extents()} == {(min(r), max(r)) for r in matrix}
    for query, row in zip(workload, matrix, strict=True):
        check_query(query, row, counts, histograms)
    check_answers(workload, matrix, counts, histograms)
    check_adjoint(workload, matrix, numbers)
    check_sensitivity(workload, matrix)


@named
def test_everything_that_a_workload_says_is_its_matrix(kind):
    @MANY
    @given(EVERY[kind], st.data())
    def check(pair, data):
        workload, matrix = pair
        most = st.integers(0, 1 << 40) if workload.is_integral else st.integers(0, 3)
        counts = data.draw(st.lists(most, min_size=len(CELLS), max_size=len(CELLS)))
        numbers = data.draw(st.lists(st.integers(-2, 2), min_size=len(matrix), max_size=len(matrix)))
        fixed = written.write_workload(workload)
        # Products of floats are rounded once or twice; from then on everything must agree exactly.
        rows = workload.block(0, len(workload), np.array(CELLS)).tolist()
        kept = [list(map(Fraction, row)) for row in rows]
        for mine, theirs in zip(kept, matrix, strict=True):
            assert all(is_rounded(one, other) for one, other in zip(mine, theirs, strict=True))
        for each in (workload, fixed):
            check_all(each, kept, counts, numbers)
        assert fixed.names == workload.names

    check()


def test_what_is_tiny_next_to_the_largest_weight_is_not_forgotten():
    """A query of 1e300 everywhere hid the other one: replacing a row seemed to change nothing."""
    rows = [[1e300] * len(CELLS), [1e-300] + [0.0] * (len(CELLS) - 1)]
    for workload in (
        Matrix(TINY, np.array(rows)),
        Weighted(TINY, [(list("abcd"), np.array(r).reshape(SHAPE)) for r in rows]),
    ):
        check_sensitivity(workload, [list(map(Fraction, row)) for row in rows])


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
def test_a_query_times_a_number_is_a_query_of_its_own(kind):
    @MANY
    @given(SINGLE[kind], st.lists(WEIGHTS, min_size=1, max_size=2))
    def check(pair, weights):
        query, row = pair
        for weight in weights:
            if any(abs(Fraction(weight) * each) > 10**307 for each in row):
                with pytest.raises(InvalidParameter, match="finite"):
                    query.multiply(weight)
                return
            query, row = query.multiply(weight), multiplied(row, Fraction(weight))
        for each in (query, written.write_query(query)):
            check_query(each, row, [1] * len(CELLS), (Histogram.dense(TINY, [1] * len(CELLS)),))

    check()
