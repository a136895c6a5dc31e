"""Junction trees against sums over the whole universe."""

import itertools

import numpy as np
import pytest

from discreet.query_release.fitting.junction import JunctionTree, cells, onto, order_axes, triangulate, wide

SHAPE = (3, 2, 4, 2, 3, 2)
GRAPHS = {
    "tree": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "loop": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (5,)],
    "triples": [(0, 1, 2), (2, 3, 4), (4, 5), (0, 5)],
    "nothing": [],
    "complete": list(itertools.combinations(range(6), 2)),
}


def dense(tree, logits):
    """Add up the cliques' logarithms over the whole universe."""
    whole = np.zeros(SHAPE)
    for clique, table in zip(tree.cliques, logits, strict=True):
        inside = table.transpose(np.argsort(clique))
        whole = whole + inside.reshape([SHAPE[a] if a in clique else 1 for a in range(len(SHAPE))])
    return whole


def made(sets, seed=0, spread=2.0):
    tree = JunctionTree.over(SHAPE, sets)
    rng = np.random.default_rng(seed)  # noqa: TID251
    return tree, [rng.normal(size=tree.table_shape(p)) * spread for p in range(len(tree.cliques))]


@pytest.mark.parametrize("sets", GRAPHS.values(), ids=GRAPHS)
def test_beliefs_are_the_sums_over_the_universe(sets):
    tree, logits = made(sets)
    whole = dense(tree, logits)
    log_sum, beliefs = tree.beliefs(logits)
    assert log_sum == pytest.approx(np.log(np.exp(whole).sum()), abs=1e-12)
    probabilities = np.exp(whole - log_sum)
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        gone = tuple(a for a in range(len(SHAPE)) if a not in clique)
        expected = probabilities.sum(axis=gone).transpose([sorted(clique).index(a) for a in clique])
        assert belief == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("sets", GRAPHS.values(), ids=GRAPHS)
def test_every_set_lies_in_a_clique_and_shared_attributes_run_along_the_tree(sets):
    tree = JunctionTree.over(SHAPE, sets)
    assert all(tree.home(axes) is not None for axes in sets)
    assert set(itertools.chain(*tree.cliques)) == set(range(len(SHAPE)))
    assert not any(set(a) < set(b) for a, b in itertools.permutations(tree.cliques, 2))
    assert all(parent < place for place, parent in enumerate(tree.parents))
    for axis in range(len(SHAPE)):
        # An attribute's cliques form one subtree: all but the topmost have it in common with their parent.
        holders = [p for p, clique in enumerate(tree.cliques) if axis in clique]
        assert sum(axis not in tree.separator(p) for p in holders) == 1


def test_a_loop_is_filled_in_with_small_cliques():
    tree = JunctionTree.over((10, 2, 10, 2), [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert sorted(map(sorted, tree.cliques)) == [[0, 1, 3], [1, 2, 3]]
    assert tree.cells == 80


def test_hopeless_cells_do_not_break_the_sums():
    tree, logits = made(GRAPHS["loop"])
    logits[0][...] = -5000.0
    logits[0].flat[3] = 0.0
    log_sum, beliefs = tree.beliefs(logits)
    assert np.isfinite(log_sum)
    assert all(np.isfinite(b).all() and b.sum() == pytest.approx(1) for b in beliefs)
    assert beliefs[0].flat[3] == pytest.approx(1)


def test_inputs_stay_as_they_were():
    tree, logits = made(GRAPHS["triples"])
    before = [table.copy() for table in logits]
    tree.beliefs(logits)
    assert all((a == b).all() for a, b in zip(before, logits, strict=True))


def test_the_order_of_axes_is_by_size():
    assert order_axes((5, 2, 9, 2), (0, 1, 2, 3)) == (1, 3, 0, 2)
    assert cells((5, 2, 9), (0, 2)) == 45
    table = np.arange(6.0).reshape(2, 3)
    assert onto(table, (7, 4), (4,)).tolist() == [3.0, 5.0, 7.0]
    assert wide(table, (7, 4), (7, 1, 4)).shape == (2, 1, 3)
    assert triangulate((2, 2), [(0, 1)]) == [(0, 1)]
