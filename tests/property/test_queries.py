"""Every family of linear queries against an explicit matrix made from its definition, row by row."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.neighbours import AddRemove, Bidder, Event, LocalReport, Replace
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
    Ranges,
    Rectangles,
    Union,
    Universe,
    Weighted,
)

ROW = AddRemove("row")
SWAP = Replace("row")
RANDOM = np.random.default_rng  # noqa: TID251  # test data
SIZES = st.integers(1, 4)
QUICK = settings(max_examples=15, deadline=None)


@st.composite
def universes(draw, sizes=SIZES, most=4):
    shape = draw(st.lists(sizes, min_size=1, max_size=most))
    names = "abcdef"[: len(shape)]
    return Universe((name, range(10, 10 + size)) for name, size in zip(names, shape, strict=True))


def subsets(universe, least=0):
    return st.lists(st.sampled_from(universe.names), min_size=least, unique=True)


# Each family draws a workload and says from its definition what a record of codes weighs. -------------


@st.composite
def marginals(draw):
    universe = draw(universes())
    if draw(st.booleans()):
        order = draw(st.integers(0, len(universe.shape)))
        sets = list(itertools.combinations(universe.names, order))
        workload = Marginals.of_order(universe, order)
    else:
        sets = draw(st.lists(subsets(universe).map(sorted), min_size=1, max_size=5, unique_by=tuple))
        workload = Marginals(universe, sets)
    cells = [
        (axes, codes)
        for axes in ([universe.names.index(name) for name in names] for names in sets)
        for codes in itertools.product(*(range(universe.shape[axis]) for axis in axes))
    ]
    return workload, [lambda r, a=axes, c=codes: tuple(r[i] for i in a) == c for axes, codes in cells]


@st.composite
def prefixes(draw):
    universe = draw(universes())
    names = sorted(draw(subsets(universe, least=1)))
    axes = [universe.names.index(name) for name in names]
    ends = [(axis, last) for axis in axes for last in range(universe.shape[axis])]
    return Prefixes(universe, names), [lambda r, a=axis, e=last: r[a] <= e for axis, last in ends]


@st.composite
def rectangles(draw):
    universe = draw(universes(most=3))
    kind = draw(st.sampled_from(["list", "every", "ranges", "every range"]))
    if kind == "list":
        boxes = []
        for _ in range(draw(st.integers(1, 5))):
            names = draw(subsets(universe))
            boxes.append({name: draw_range(draw, universe.attribute(name)) for name in names})
        workload = Rectangles(universe, boxes)
    elif kind == "every":
        names = sorted(draw(subsets(universe)))
        ranges = [
            list(itertools.combinations_with_replacement(universe.attribute(n).values, 2)) for n in names
        ]
        boxes = [dict(zip(names, ends, strict=True)) for ends in itertools.product(*ranges)]
        workload = Rectangles.every(universe, names)
    else:
        name = draw(st.sampled_from(universe.names))
        ends = list(itertools.combinations_with_replacement(universe.attribute(name).values, 2))
        if kind == "ranges":
            ends = draw(st.lists(st.sampled_from(ends), min_size=1, max_size=6))
        boxes = [{name: pair} for pair in ends]
        workload = Ranges(universe, name, ends) if kind == "ranges" else Ranges.every(universe, [name])
    places = {name: place for place, name in enumerate(universe.names)}
    return workload, [
        lambda r, b=box: all(low - 10 <= r[places[n]] <= high - 10 for n, (low, high) in b.items())
        for box in boxes
    ]


def draw_range(draw, attribute):
    low, high = sorted(draw(st.lists(st.sampled_from(attribute.values), min_size=2, max_size=2)))
    return low, high


@st.composite
def halfspaces(draw):
    universe = draw(universes(most=3))
    numbers = st.one_of(st.integers(-4, 4), st.fractions(-2, 2, max_denominator=7), st.just(0.1))
    listed = []
    for _ in range(draw(st.integers(1, 4))):
        normal = {name: draw(numbers) for name in draw(subsets(universe))}
        listed.append((normal, draw(st.integers(-60, 60))))
    places = {name: place for place, name in enumerate(universe.names)}

    def meaning(normal, threshold):
        exact = {n: Fraction(1, 10) if v == 0.1 else Fraction(v) for n, v in normal.items()}
        return lambda r: sum(v * (10 + r[places[n]]) for n, v in exact.items()) >= threshold

    return Halfspaces(universe, listed), [meaning(*each) for each in listed]


@st.composite
def parities(draw):
    universe = draw(universes(sizes=st.just(2)))
    kind = draw(st.sampled_from(["list", "order", "every"]))
    places = range(len(universe.shape))
    if kind == "list":
        sets = draw(st.lists(st.sets(st.sampled_from(places)), min_size=1, max_size=6, unique_by=frozenset))
        workload = Parities(universe, [[universe.names[i] for i in each] for each in sets])
    elif kind == "order":
        order = draw(st.integers(0, len(universe.shape)))
        sets, workload = list(itertools.combinations(places, order)), Parities.of_order(universe, order)
    else:
        sets = [s for k in range(len(places) + 1) for s in itertools.combinations(places, k)]
        workload = Parities.every(universe)
    return workload, [lambda r, s=tuple(each): (-1) ** sum(r[i] for i in s) for each in sets]


@st.composite
def clauses(draw):
    family, join = draw(st.sampled_from([(Conjunctions, all), (Disjunctions, any)]))
    kind = draw(st.sampled_from(["list", "monotone", "width", "codes"]))
    universe = draw(universes(sizes=st.just(2) if kind == "monotone" else st.integers(1, 4)))
    if kind == "list":
        listed = []
        for _ in range(draw(st.integers(1, 6))):
            names = draw(subsets(universe))
            values = {n: draw(st.lists(st.sampled_from(universe.attribute(n).values))) for n in names}
            listed.append(values)
        workload = family(universe, listed)
    elif kind == "codes":
        axes = universe.axes(draw(subsets(universe, least=1)))
        rows = [[draw(st.integers(0, universe.shape[a] - 1)) for a in axes] for _ in range(3)]
        listed = [{universe.names[a]: [10 + c] for a, c in zip(axes, row, strict=True)} for row in rows]
        workload = family.from_codes(universe, axes, rows)
    else:
        width = draw(st.integers(0, len(universe.shape)))
        make = family.monotone if kind == "monotone" else family.of_width
        workload = make(universe, width)
        values = [a.values[1:] if kind == "monotone" else a.values for a in universe.attributes]
        listed = [
            {universe.names[axis]: [value] for axis, value in zip(axes, chosen, strict=True)}
            for axes in itertools.combinations(range(len(universe.shape)), width)
            for chosen in itertools.product(*(values[axis] for axis in axes))
        ]
    places = {name: place for place, name in enumerate(universe.names)}
    return workload, [
        lambda r, c=clause: join(10 + r[places[n]] in allowed for n, allowed in c.items())
        for clause in listed
    ]


@st.composite
def weighted(draw):
    universe = draw(universes(most=3))
    whole = draw(st.booleans())
    number = st.integers(-5, 5) if whole else st.floats(-3, 3, allow_subnormal=False)
    listed, meanings = [], []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(subsets(universe))
        axes = [universe.names.index(name) for name in names]
        shape = [universe.shape[axis] for axis in axes]
        flat = draw(st.lists(number, min_size=math.prod(shape), max_size=math.prod(shape)))
        table = np.array(flat, dtype=np.int64 if whole else np.float64).reshape(shape)
        listed.append((names, table))
        meanings.append(lambda r, t=table, a=axes: t[tuple(r[i] for i in a)])
    return Weighted(universe, listed), meanings


@st.composite
def predicates(draw):
    universe = draw(universes(most=3))
    listed, meanings = [], []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(subsets(universe, least=1))
        axes = [universe.names.index(name) for name in names]
        modulus, shift = draw(st.integers(1, 4)), draw(st.integers(0, 3))

        def holds(*columns, m=modulus, s=shift):
            return sum((i + 1) * c for i, c in enumerate(columns)) % m == s

        if draw(st.booleans()):
            listed.append((names, holds))
        else:
            grid = np.indices([universe.shape[axis] for axis in axes])
            listed.append((names, np.asarray(holds(*grid))))
        meanings.append(lambda r, h=holds, a=axes: h(*(r[i] for i in a)))
    return Predicates(universe, listed), meanings


@st.composite
def matrices(draw):
    universe = draw(universes(most=3))
    rows = draw(st.integers(1, 4))
    entries = draw(
        st.sampled_from([st.integers(0, 1), st.integers(-3, 3), st.sampled_from([0.0, 0.1, -2.5])])
    )
    flat = draw(st.lists(entries, min_size=rows * universe.size, max_size=rows * universe.size))
    table = np.array(flat).reshape(rows, *universe.shape)
    return Matrix(universe, table.reshape(rows, -1)), [lambda r, t=row: t[r] for row in table]


FAMILIES = {
    "marginals": marginals(),
    "prefixes": prefixes(),
    "rectangles": rectangles(),
    "halfspaces": halfspaces(),
    "parities": parities(),
    "clauses": clauses(),
    "weighted": weighted(),
    "predicates": predicates(),
    "matrices": matrices(),
}


@st.composite
def unions(draw):
    pairs = [draw(FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))])]
    universe = pairs[0][0].universe
    more = Marginals.of_order(universe, 1)
    cells = [(axis, code) for axis, size in enumerate(universe.shape) for code in range(size)]
    pairs.append((more, [lambda r, a=axis, c=code: r[a] == c for axis, code in cells]))
    if draw(st.booleans()):
        return Union([p[0] for p in pairs]), [m for p in pairs for m in p[1]]
    weights = [Fraction(draw(st.sampled_from(["1", "2", "1/2", "3/4"]))) for _ in pairs]
    scaled = [
        lambda r, m=meaning, w=weight: float(w) * m(r)
        for (_, meanings), weight in zip(pairs, weights, strict=True)
        for meaning in meanings
    ]
    return Union([p[0] for p in pairs], weights), scaled


EVERY = {**FAMILIES, "unions": unions()}


def explicit(workload, meanings):
    records = list(itertools.product(*(range(size) for size in workload.universe.shape)))
    matrix = np.array([[float(meaning(record)) for record in records] for meaning in meanings])
    return matrix, np.array(records)


@pytest.mark.parametrize("family", EVERY)
def test_answers_and_adjoint_are_the_matrix_and_its_transpose(family):
    @QUICK
    @given(EVERY[family], st.integers(0, 2**32))
    def check(pair, seed):
        workload, meanings = pair
        matrix, records = explicit(workload, meanings)
        rng = RANDOM(seed)
        counts = rng.integers(0, 50, workload.universe.size)
        numbers = rng.integers(-9, 10, len(workload))
        assert len(workload) == len(meanings) == len(workload.names)
        for histogram in (
            Histogram.dense(workload.universe, counts),
            Histogram.sparse(workload.universe, records, counts),
            counts,
        ):
            found = workload.answers(histogram)
            if workload.is_integral:
                assert found.dtype == np.int64
                assert found.tolist() == (matrix @ counts).tolist()
            else:
                np.testing.assert_allclose(found, matrix @ counts, rtol=1e-12, atol=1e-10)
        back = workload.adjoint(numbers)
        assert back.shape == workload.universe.shape
        if workload.is_integral:
            assert back.dtype == np.int64
            assert back.reshape(-1).tolist() == (matrix.T @ numbers).tolist()
            assert int((back.reshape(-1) * counts).sum()) == int(found @ numbers)
        else:
            np.testing.assert_allclose(back.reshape(-1), matrix.T @ numbers, rtol=1e-12, atol=1e-10)
        real, vector = rng.normal(size=counts.shape), rng.normal(size=len(workload))
        np.testing.assert_allclose(workload.answers(real), matrix @ real, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(workload.adjoint(vector).ravel(), matrix.T @ vector, rtol=1e-9, atol=1e-9)

    check()


@pytest.mark.parametrize("family", EVERY)
def test_single_queries_are_the_rows_of_the_matrix(family):
    @QUICK
    @given(EVERY[family], st.integers(0, 2**32))
    def check(pair, seed):
        workload, meanings = pair
        matrix, records = explicit(workload, meanings)
        rng = RANDOM(seed)
        counts = rng.integers(0, 50, workload.universe.size)
        histograms = (
            Histogram.dense(workload.universe, counts),
            Histogram.sparse(workload.universe, records, counts),
        )
        for index, query in enumerate(workload):
            row = matrix[index]
            assert query.vector().shape == workload.universe.shape
            assert query.vector().reshape(-1).astype(float).tolist() == row.tolist()
            assert query.at(records).astype(float).tolist() == row.tolist()
            assert tuple(map(float, query.extent())) == (row.min(), row.max())
            assert query.is_predicate <= set(row.tolist()).issubset({0, 1})
            assert query.is_integral <= all(weight == int(weight) for weight in row)
            for histogram in histograms:
                answer = query.evaluate(histogram)
                assert isinstance(answer, int if query.is_integral else float)
                assert answer == pytest.approx(row @ counts, rel=1e-12, abs=1e-10)
        assert workload.block(0, len(workload), records).astype(float).tolist() == matrix.tolist()
        assert workload.is_predicates <= bool(np.isin(matrix, (0, 1)).all())
        chosen = rng.integers(0, len(workload), 3)
        some = workload.subset(chosen.tolist())
        np.testing.assert_allclose(some.answers(counts), matrix[chosen] @ counts, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(some.adjoint([1, 2, 3]).ravel(), matrix[chosen].T @ [1, 2, 3], atol=1e-10)

    check()


def brute_force(matrix, replaced, norm):
    columns = np.unique(matrix.T, axis=0)
    # Whole numbers as such, anything else as fractions: the comparison below must not round.
    scale = next((n for n in (1, 4) if (n * columns == np.rint(n * columns)).all()), 0)
    columns = (
        (scale * columns).astype(np.int64) if scale else np.vectorize(Fraction, otypes=[object])(columns)
    )
    largest = 0
    for other in columns if replaced else [0]:
        moves = np.abs(columns - other)
        found = moves.max() if norm == math.inf else (moves**norm).sum(axis=1).max()
        largest = max(largest, found)
    power = 1 if norm == math.inf else norm
    return Fraction(int(largest), scale**power) if scale else Fraction(largest)


@pytest.mark.parametrize("family", EVERY)
def test_sensitivities_are_the_largest_over_all_cells_and_all_pairs(family):
    @QUICK
    @given(EVERY[family])
    def check(pair):
        workload, meanings = pair
        matrix, _ = explicit(workload, meanings)
        for neighbours in (ROW, SWAP):
            for norm in (1, 2, math.inf):
                true = brute_force(matrix, neighbours == SWAP, norm)
                if norm == 2:
                    found = workload.square_sensitivity(neighbours)
                    root = workload.sensitivity(neighbours, norm=2)
                    assert root**2 >= found
                    assert float(root) == pytest.approx(math.sqrt(found), rel=1e-15)
                else:
                    found = workload.sensitivity(neighbours, norm=norm)
                if workload.is_integral or norm == math.inf:
                    assert found == true
                else:
                    assert true <= found <= true * (1 + Fraction(1, 10**12)) + Fraction(1, 1 << 900)
                bound = workload.sensitivity_bound(neighbours, norm=norm)
                assert bound == (root if norm == 2 else found)
                power = 1 if norm == math.inf else norm
                assert workload.bound_loosely(replaced=neighbours == SWAP, power=power) >= (
                    brute_force(matrix, neighbours == SWAP, power)
                )

    check()


@pytest.mark.parametrize("neighbours", [ROW, SWAP, Event(), Bidder(), LocalReport()], ids=str)
@QUICK
@given(st.sampled_from(sorted(FAMILIES)).flatmap(FAMILIES.get))
def test_no_pair_of_neighbours_exceeds_the_sensitivity_and_one_attains_it(neighbours, pair):
    workload, meanings = pair
    matrix, records = explicit(workload, meanings)
    cells = [tuple(map(int, record)) for record in records][:12]
    kept = matrix[:, :12]
    columns = dict(zip(cells, kept.T, strict=True))

    def answers(data):
        rows = [data] if isinstance(neighbours, LocalReport) else data
        return sum((columns[row] for row in rows), np.zeros(len(matrix)))

    moves = [np.abs(answers(a) - answers(b)).sum() for a, b in neighbours.pairs(cells, 1)]
    largest = max(moves, default=0.0)
    assert largest <= float(workload.sensitivity(neighbours, norm=1)) + 1e-9
    if len(cells) == len(records):
        assert largest == pytest.approx(float(workload.sensitivity(neighbours, norm=1)), rel=1e-9, abs=1e-12)


@QUICK
@given(universes(sizes=st.integers(1, 3), most=6), st.data())
def test_marginals_of_many_sets_share_their_sums_and_stay_exact(universe, data):
    """Plans with several steps and matrices: shrink the limits so that small tables use them all."""
    tables = pytest.importorskip("discreet.queries.tables")
    old = tables._SMALL, tables._TINY, tables._RUN, tables._POOLED
    tables._SMALL, tables._TINY, tables._RUN = data.draw(st.sampled_from([(1, 1, 2), (8, 2, 2), (64, 4, 4)]))
    tables._POOLED = data.draw(st.sampled_from([0, 64, old[-1]]))
    try:
        sets = data.draw(
            st.lists(
                st.lists(st.sampled_from(range(len(universe.shape))), unique=True).map(sorted).map(tuple),
                min_size=1,
                max_size=30,
                unique=True,
            )
        )
        plan = tables.TableLayout(universe.shape, sets)
        x = RANDOM(7).integers(0, 100, universe.shape)
        y = RANDOM(8).integers(-9, 9, plan.offsets[-1])
        codes = np.stack(np.nonzero(x), axis=1)
        for vector in (plan.of_array(x), plan.of_entries(codes, x[tuple(codes.T)])):
            assert vector.dtype == np.int64
            for place, axes in enumerate(sets):
                others = tuple(a for a in range(x.ndim) if a not in axes)
                assert plan.part(vector, place).tolist() == x.sum(axis=others).tolist()
        assert int((plan.adjoint(y) * x).sum()) == int(vector @ y)
        cells = np.zeros(universe.shape, dtype=np.int64)
        for place, axes in enumerate(sets):
            shape = [size if a in axes else 1 for a, size in enumerate(universe.shape)]
            cells += plan.part(y, place).reshape(shape)
        assert plan.adjoint(y).tolist() == cells.tolist()
    finally:
        tables._SMALL, tables._TINY, tables._RUN, tables._POOLED = old
