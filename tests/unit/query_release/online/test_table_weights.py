"""Weights that fit noisy tables: few cells and many are summed alike."""

import numpy as np
import pytest

from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.online import table_weights

UNIVERSE = Universe([("a", range(2)), ("b", range(3)), ("c", range(5))])


@pytest.mark.parametrize(
    "sets", [[["a"]], [["c", "a"], ["b"]], [["a", "b"], ["b", "c"], ["a", "b", "c"], []]]
)
def test_few_cells_are_summed_as_many_are(sets):
    workload = Marginals(UNIVERSE, sets)
    generator = np.random.default_rng(1)  # noqa: TID251 - test data
    weights, vector = generator.random(UNIVERSE.shape), generator.normal(size=len(workload))
    answers, adjoint = table_weights._products(workload)
    assert answers != workload.answers, "so few cells are looked up"
    assert answers(weights) == pytest.approx(workload.answers(weights), rel=1e-12)
    assert adjoint(vector) == pytest.approx(workload.adjoint(vector), rel=1e-12, abs=1e-12)


def test_many_cells_are_left_to_the_workload(monkeypatch):
    monkeypatch.setattr(table_weights, "_FEW", 0)
    workload = Marginals(UNIVERSE, [["a"]])
    assert table_weights._products(workload) == (workload.answers, workload.adjoint)
