"""Whom a mask hides is nowhere, and not where the number under it says; strangers' arrays are refused."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.optimisation.common.graphs import Vertices, read_edges
from discreet.optimisation.k_median.tiny import line
from discreet.optimisation.public_projects.agents import read_agents
from discreet.optimisation.set_cover.systems import SetSystem

SETS = SetSystem({"a": ["x"], "b": ["x", "y"], "c": ["y"]})


def hide(entries, mask, kind):
    return np.ma.masked_array(np.array(entries, dtype=kind), mask)


@pytest.mark.parametrize("kind", [int, float, object])
def test_people_under_a_mask_are_nowhere(kind):
    assert line(0, 1, 5).counts(hide([0, 2, 1], [0, 0, 1], kind)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("kind", [int, float, object])
def test_edges_with_an_end_under_a_mask_are_none(kind):
    ends = hide([[0, 1], [1, 2], [0, 2]], [[0, 0], [0, 1], [1, 1]], kind)
    assert read_edges(ends, Vertices(3)).tolist() == [[0, 1]]


@pytest.mark.parametrize("kind", [bool, int, float, object])
def test_wishes_under_a_mask_are_none(kind):
    wishes = hide([[1, 0, 1], [1, 1, 1]], [[0, 0, 1], [1, 0, 1]], kind)
    assert read_agents(wishes, 3, 1).begin().gains().tolist() == [1, 1, 0]


def test_elements_under_a_mask_are_not_there():
    assert SETS.read(hide([True, True], [0, 1], bool)).tolist() == [True, False]
    assert SETS.read(hide(["x", "y"], [1, 0], object)).tolist() == [False, True]
    assert SETS.read(hide(["x", "y"], [0, 0], str)).tolist() == [True, True]


class Everywhere(np.ndarray):
    def __ge__(self, other):
        raise RuntimeError("somebody was there")

    __gt__ = __iter__ = tolist = copy = __ge__


def test_strangers_classes_are_refused_by_their_type():
    stored = np.ones((2, 2), dtype=int).view(Everywhere)
    with pytest.raises(InvalidParameter, match="known class"):
        line(0, 1).counts(stored[0])
    with pytest.raises(InvalidParameter, match="a graph"):
        read_edges(stored, Vertices(3))
    with pytest.raises(InvalidParameter, match="known class"):
        read_agents(stored, 2, 1)
    with pytest.raises(InvalidParameter, match="known class"):
        SETS.read(np.ones(2, dtype=bool).view(Everywhere))
