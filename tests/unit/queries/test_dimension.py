"""Formulas for VC and fat-shattering dimensions against a search over all sets of cells."""

import itertools

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, Refused
from discreet.queries import (
    Conjunctions,
    Disjunctions,
    Halfspaces,
    Marginals,
    Matrix,
    Parities,
    Predicates,
    Prefixes,
    Ranges,
    Rectangles,
    Universe,
    Weighted,
    fat_by_search,
    fat_shattering_dimension,
    vc_by_search,
    vc_dimension,
)


def grid(*sizes):
    return Universe(("abcdef"[i], range(size)) for i, size in enumerate(sizes))


def every_clause(family, universe, values):
    names = universe.names
    return family(
        universe,
        [
            dict(zip(chosen, picked, strict=True))
            for k in range(len(names) + 1)
            for chosen in itertools.combinations(names, k)
            for picked in itertools.product(values, repeat=k)
        ],
    )


EXACT = {
    "prefixes of one value": (Prefixes(grid(1), ["a"]), 0),
    "prefixes of two values": (Prefixes(grid(2), ["a"]), 1),
    "prefixes": (Prefixes(grid(7), ["a"]), 1),
    "intervals of one value": (Ranges.every(grid(1), ["a"]), 0),
    "intervals of two values": (Ranges.every(grid(2), ["a"]), 1),
    "intervals": (Ranges.every(grid(6), ["a"]), 2),
    "rectangles of two values a side": (Rectangles.every(grid(2, 2), ["a", "b"]), 2),
    "rectangles, mixed": (Rectangles.every(grid(2, 4), ["a", "b"]), 3),
    "rectangles in the plane": (Rectangles.every(grid(4, 4), ["a", "b"]), 4),
    "boxes": (Rectangles.every(grid(2, 3, 3), ["a", "b", "c"]), 5),
    "boxes, one side of one value": (Rectangles.every(grid(3, 1), ["a", "b"]), 2),
    "one marginal": (Marginals(grid(2, 3), [["a", "b"]]), 1),
    "the total": (Marginals(grid(2), [[]]), 0),
    "monotone conjunctions": (every_clause(Conjunctions, grid(2, 2, 2), [(1,)]), 3),
    "conjunctions": (every_clause(Conjunctions, grid(2, 2, 2), [(0,), (1,)]), 3),
    "monotone disjunctions": (every_clause(Disjunctions, grid(2, 2, 2), [(1,)]), 3),
    "disjunctions": (every_clause(Disjunctions, grid(2, 2), [(0,), (1,)]), 2),
    "parities": (Parities.every(grid(2, 2, 2, 2)), 4),
    "parities of a subspace": (Parities(grid(2, 2, 2), [[], ["a", "b"], ["c"], ["a", "b", "c"]]), 2),
}

ALL_HALFSPACES = Halfspaces(
    grid(3, 3),
    [({"a": x, "b": y}, t) for x in range(-2, 3) for y in range(-2, 3) for t in np.arange(-8, 9) / 2],
)

BOUNDED = {
    "prefixes of two attributes": Prefixes(grid(4, 4), ["a", "b"]),
    "prefixes of three attributes": Prefixes(grid(3, 3, 3), ["a", "b", "c"]),
    "some intervals": Ranges(grid(5), "a", [(0, 1), (1, 3), (2, 2)]),
    "marginals of order 1": Marginals.of_order(grid(2, 3, 2), 1),
    "marginals of order 2": Marginals.of_order(grid(2, 2, 3), 2),
    "a marginal and the total": Marginals(grid(3), [[], ["a"]]),
    "conjunctions of width 2": Conjunctions.of_width(grid(2, 2, 2, 2), 2),
    "monotone conjunctions of width 2": Conjunctions.monotone(grid(2, 2, 2, 2), 2),
    "conjunctions of any sets": Conjunctions(
        grid(4), [{"a": s} for k in range(5) for s in itertools.combinations(range(4), k)]
    ),
    "one attribute and the empty set": Conjunctions(grid(2), [{"a": [0]}, {"a": [1]}, {}, {"a": []}]),
    "disjunctions of width 2": Disjunctions.of_width(grid(2, 2, 2), 2),
    "parities of order 2": Parities.of_order(grid(2, 2, 2, 2), 2),
    "halfspaces in the plane": ALL_HALFSPACES,
    "halfspaces on a line": Halfspaces(grid(4), [({"a": s}, t) for s in (1, -1) for t in range(-4, 5)]),
    "any predicates": Predicates(grid(2, 2), [(["a", "b"], lambda a, b: a == b), (["a"], lambda a: a == 1)]),
    "a matrix": Matrix(grid(3), np.eye(3)),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_formulas_agree_with_the_search(name):
    workload, value = EXACT[name]
    found = vc_dimension(workload)
    assert (found.value, found.exact) == (value, True)
    assert str(found).startswith(f"{value}: ")
    assert vc_by_search(workload) == value


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_not_below_the_search_and_not_far_above(name):
    workload = BOUNDED[name]
    found, true = vc_dimension(workload), vc_by_search(workload)
    assert not found.exact
    assert str(found).startswith("at most ")
    assert true <= found.value <= true + 2


def test_halfspaces_reach_the_bound_of_the_textbook():
    assert vc_by_search(ALL_HALFSPACES) == vc_dimension(ALL_HALFSPACES).value == 3


@pytest.mark.parametrize("gamma", [0.1, 0.5])
def test_predicates_are_fat_shattered_up_to_one_half(gamma):
    for workload, value in (EXACT["intervals"], EXACT["rectangles, mixed"]):
        assert fat_shattering_dimension(workload, gamma).value == value
        assert fat_by_search(workload, gamma) == value


def test_no_predicate_is_fat_shattered_above_one_half():
    workload, _ = EXACT["intervals"]
    found = fat_shattering_dimension(workload, 0.51)
    assert (found.value, found.exact) == (0, True)
    assert fat_by_search(workload, 0.51) == 0


def test_parities_are_fat_shattered_up_to_one():
    workload, value = EXACT["parities"]
    assert fat_shattering_dimension(workload, 1).value == fat_by_search(workload, 1) == value
    assert fat_shattering_dimension(workload, 1.01).value == fat_by_search(workload, 1.01) == 0


def test_real_valued_queries_are_fat_shattered_by_levels_between_their_weights():
    universe = grid(2)
    tables = [[0.0, 0.0], [0.0, 0.4], [0.6, 0.1], [0.7, 0.9]]
    workload = Weighted(universe, [(["a"], table) for table in tables])
    # A gap of 0.6 and one of 0.3 in all four combinations: widths up to 0.15.
    assert fat_by_search(workload, 0.15) == 2
    assert fat_by_search(workload, 0.16) == 1
    assert fat_by_search(workload, 0.45) == 1
    assert fat_by_search(workload, 0.46) == 0
    assert fat_shattering_dimension(workload, 0.15).value == 2
    assert not fat_shattering_dimension(workload, 0.15).exact
    with pytest.raises(InvalidParameter, match="of predicates"):
        vc_dimension(workload)
    with pytest.raises(InvalidParameter, match="of predicates"):
        vc_by_search(workload)


def test_as_many_clauses_as_there_are_monotone_ones_need_not_be_them():
    clauses = [{}, {"a": [0]}, {"b": [1]}, {"a": [1], "b": [1]}]
    assert not vc_dimension(Conjunctions(grid(2, 2), clauses)).exact


def test_a_search_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("discreet.queries.dimension._SETS", 3)
    with pytest.raises(Refused, match="too many cells"):
        vc_by_search(EXACT["intervals"][0])
    monkeypatch.undo()
    with pytest.raises(Refused, match="too many cells"):
        vc_by_search(Ranges.every(grid(400), ["a"]))
    with pytest.raises(InvalidParameter, match="gamma"):
        fat_by_search(EXACT["intervals"][0], 0)


def test_finite_classes_shatter_no_more_than_their_logarithm():
    """[Roth10] Observation 26, and a class that reaches it."""
    for name, (workload, _) in EXACT.items():
        assert 2 ** fat_shattering_dimension(workload, 0.25).value <= max(len(workload), 1), name
    everything = Predicates(
        grid(3), [(["a"], np.array(m, dtype=bool)) for m in itertools.product((0, 1), repeat=3)]
    )
    assert vc_by_search(everything) == 3 == np.log2(len(everything))
