"""The kernels over a whole universe, against plain array arithmetic."""

import math
import tracemalloc

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, Refused
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.fitting import weights
from discreet.query_release.fitting.weights import Hypothesis, marginal_table, multiply_table, namespace

SHAPE = (3, 2, 5, 1, 4)
UNIVERSE = Universe((f"x{axis}", range(size)) for axis, size in enumerate(SHAPE))
AXES = [(), (0,), (4,), (1, 2), (0, 4), (0, 2, 3), (0, 1, 2, 3, 4)]


@pytest.fixture(params=[1, 7, 4096], ids=lambda run: f"run-{run}")
def _run_length(request, monkeypatch):
    monkeypatch.setattr(weights, "_RUN", request.param)


@pytest.fixture
def array():
    return np.random.default_rng(3).random(SHAPE)  # noqa: TID251


@pytest.mark.usefixtures("_run_length")
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_tables_and_products_are_those_of_plain_arrays(axes, array):
    others = tuple(axis for axis in range(5) if axis not in axes)
    np.testing.assert_allclose(marginal_table(array, axes), array.sum(axis=others))
    factors = np.random.default_rng(4).random([SHAPE[axis] for axis in axes])  # noqa: TID251
    expected = array * factors.reshape([size if axis in axes else 1 for axis, size in enumerate(SHAPE)])
    multiply_table(array, axes, factors)
    np.testing.assert_allclose(array, expected)


@pytest.mark.usefixtures("_run_length")
@pytest.mark.parametrize("axes", AXES[1:], ids=str)
def test_an_update_multiplies_and_keeps_the_total(axes, array):
    hypothesis = Hypothesis(UNIVERSE, 50, array)
    before = hypothesis.array.copy()
    powers = np.random.default_rng(5).normal(size=[SHAPE[axis] for axis in axes])  # noqa: TID251
    hypothesis.update(axes, powers)
    raised = before * np.exp(powers).reshape([size if a in axes else 1 for a, size in enumerate(SHAPE)])
    np.testing.assert_allclose(hypothesis.array, raised * 50 / raised.sum())
    np.testing.assert_allclose(hypothesis.table(axes), marginal_table(hypothesis.array, axes))


def test_tables_are_never_stale(array):
    hypothesis = Hypothesis(UNIVERSE, 1, array)
    before = hypothesis.table((1,)).copy()
    hypothesis.update((0,), [0, 1, 2])
    after = hypothesis.table((1,))
    np.testing.assert_allclose(after, marginal_table(hypothesis.array, (1,)))
    assert not np.allclose(before, after)
    hypothesis.array[...] = 1 / UNIVERSE.size
    hypothesis.forget()
    np.testing.assert_allclose(hypothesis.table((1,)), [0.5, 0.5])


def test_the_given_array_is_left_alone_and_copies_are_apart(array):
    kept = array.copy()
    hypothesis = Hypothesis(UNIVERSE, 7, array)
    other = hypothesis.copy()
    hypothesis.update((0,), [0, 1, 2])
    np.testing.assert_array_equal(array, kept)
    np.testing.assert_allclose(other.array, kept * 7 / kept.sum())
    np.testing.assert_allclose(other.table((0,)), marginal_table(other.array, (0,)))


def test_it_starts_uniform_and_answers_queries():
    hypothesis = Hypothesis(UNIVERSE, 120)
    query = TableQuery(UNIVERSE, (0, 1), "some", table=[[1, 0], [0, 0], [2, 1]])
    assert hypothesis.answer(query) == pytest.approx(4 * 120 / 6)
    assert "120" in repr(hypothesis)


def test_extreme_exponents_neither_overflow_nor_kill_all_weight():
    hypothesis = Hypothesis(UNIVERSE, 10)
    hypothesis.update((0,), [-1e6, 0, 1e6])
    assert hypothesis.array.sum() == pytest.approx(10)
    hypothesis.update((0,), [5e5, 0, 0])
    assert np.isfinite(hypothesis.array).all()
    empty = Hypothesis(Universe([("a", (0, 1))]), 1, np.array([0.0, 1.0]))
    empty.update((0,), [900, 0])
    np.testing.assert_allclose(empty.array, [0, 1])


def test_kept_tables_do_not_grow_without_bound(monkeypatch):
    monkeypatch.setattr(weights, "_SMALL", 8)
    hypothesis = Hypothesis(UNIVERSE, 1)
    assert hypothesis._tables._room == max(8, UNIVERSE.size // 4)
    for axes in AXES:
        np.testing.assert_allclose(hypothesis.table(axes), marginal_table(hypothesis.array, axes))
    assert sum(table.size for table in hypothesis._tables._tables.values()) <= max(8, UNIVERSE.size // 4)


def test_a_round_makes_nothing_of_the_size_of_the_universe():
    universe = Universe((f"b{i}", (0, 1)) for i in range(20))
    hypothesis = Hypothesis(universe, 1)
    tracemalloc.start()
    for axes in ((0, 1, 2), (17, 18, 19), (0, 10, 19)):
        hypothesis.table(axes)
        hypothesis.update(axes, np.ones((2, 2, 2)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < hypothesis.array.nbytes / 8


@pytest.mark.parametrize("axes", [(1, 0), (0, 0), (5,), (-1,)])
def test_axes_must_be_ascending_places(axes):
    with pytest.raises(InvalidParameter, match="axes"):
        Hypothesis(UNIVERSE, 1).table(axes)


@pytest.mark.parametrize("powers", [[0, 1], [0, 1, math.nan], [0, 1, math.inf], 3])
def test_exponents_must_be_finite_and_fit(powers):
    with pytest.raises(InvalidParameter, match="exponents"):
        Hypothesis(UNIVERSE, 1).update((0,), powers)


@pytest.mark.parametrize("array", [np.zeros(SHAPE), np.full(SHAPE, np.nan), -np.ones(SHAPE)])
def test_a_start_must_have_weight(array):
    with pytest.raises(InvalidParameter, match="array"):
        Hypothesis(UNIVERSE, 1, array)


def test_a_negative_weight_is_refused_although_the_sum_is_positive(array):
    array[0, 0, 0, 0, 0] = -0.1
    with pytest.raises(InvalidParameter, match="array"):
        Hypothesis(UNIVERSE, 1, array)


def test_a_universe_without_room_is_refused():
    with pytest.raises(Refused):
        Hypothesis(Universe((f"b{i}", (0, 1)) for i in range(40)), 1)


class Far(np.ndarray):
    """An array of another library: it says where it lives, and is brought back by `cpu`."""

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


class Near(np.ndarray):
    """An array that is brought back by `get`."""

    def get(self):
        return np.asarray(self)


@pytest.mark.parametrize("kind", [Far, Near])
def test_arrays_of_other_libraries_keep_their_kind(kind, array, monkeypatch):
    monkeypatch.setattr(weights, "namespace", lambda _: np)
    hypothesis = Hypothesis(UNIVERSE, 5, array.astype(np.float32).view(kind))
    hypothesis.update((0, 2), np.zeros((3, 5)))
    assert type(hypothesis.array) is kind and hypothesis.array.dtype == np.float32
    assert type(hypothesis.table((0,))) is np.ndarray and hypothesis.table((0,)).dtype == np.float64
    np.testing.assert_allclose(hypothesis.table((0,)).sum(), 5, rtol=1e-5)


def test_the_namespace_of_an_array_is_its_library():
    assert namespace(np.zeros(1)) is np
