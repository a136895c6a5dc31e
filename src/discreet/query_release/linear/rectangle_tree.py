"""All boxes over two or three ordered attributes from a product of trees of noisy counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Public, frozen, public
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.universe import Universe
from discreet.query_release.linear.tree_release import TreeRelease, choose_trees
from discreet.query_release.linear.trees import CountTree, Trees
from discreet.query_release.tiny import list_pairs


@frozen
class RectangleTree(TreeRelease):
    """Count the rows of products of nested intervals with noise, and answer every box from all of them.

    Privacy: (epsilon, delta). A row is in one box for each choice of a level in every tree.
    Accuracy: error(beta) holds for the workload and all boxes at once. The estimates are those of least
    squares: for a product of trees they are made one attribute after the other.
    Time: O(cells), times a small power of the heights.

    Parameters
    ----------
    workload
        Boxes, or any queries about one to three ordered attributes; all their boxes are answered well.
    epsilon, delta, neighbours
        As in `Independent`.
    trees
        One tree an attribute, in the order of the universe; chosen by predicted error where left out.

    Examples
    --------
    >>> plane = Universe([("x", range(64)), ("y", range(64))])
    >>> boxes = Rectangles(plane, [{"x": (0, 9), "y": (5, 40)}])
    >>> tree, _ = RectangleTree(workload=boxes, epsilon=1, delta=0, neighbours=AddRemove("person")).trees
    >>> tree.degrees
    (64,)
    """

    most = 3
    trees: Public[Trees | None, Trees] = public(checks.each, checks.exactly, CountTree, default=None)

    def _complete(self) -> None:
        given: Any = self.trees
        if given is not None and tuple(tree.size for tree in given) != self._sizes:
            raise InvalidParameter(name="trees", rule=f"trees over {self._sizes} values", value=given)
        trees, noise = choose_trees(self, trees=given, sizes=self._sizes, known=False)
        self._set(trees=trees, noise=noise)

    @property
    def _trees(self) -> Trees:
        return self.trees


_PLANE = Universe([("x", range(16)), ("y", range(16))])
_EXAMPLE = Rectangles.every(_PLANE, ["x", "y"])
_SMALL = Universe([("x", (0, 1)), ("y", (0, 1))])
_BOXES = Rectangles(_SMALL, [{"x": (0, 0), "y": (0, 1)}])
_LINE = Universe([("x", (0, 1)), ("y", (0,))])
_POINT = Rectangles(Universe([("x", (0,)), ("y", (0,))]), [{"x": (0, 0), "y": (0, 0)}])
_SIDES = Rectangles(_LINE, [{"x": (0, 0), "y": (0, 0)}])


def _example() -> tuple[RectangleTree, Histogram]:
    mechanism = RectangleTree(workload=_EXAMPLE, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    return mechanism, Histogram.dense(_PLANE, np.arange(256) % 5)


def _tiny() -> Iterator[Tiny]:
    leaves, point, scaled = CountTree(2, (2,), (0, 1)), CountTree(1, (1,), (0, 1)), CountTree(1, (1,), (1, 2))
    for workload, trees, epsilon, delta, neighbours in (
        (_SIDES, (leaves, point), 4, 0, AddRemove("row")),
        (_SIDES, (leaves, point), 2, Fraction(1, 10), Replace("row")),
        (_POINT, (scaled, point), 6, 0, AddRemove("row")),
        (_BOXES, (leaves, leaves), 14, 0, AddRemove("row")),
    ):
        mechanism = RectangleTree(
            workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, trees=trees
        )
        yield Tiny(mechanism, list_pairs(workload.universe, neighbours, 1))


CARD = Card(
    title="Boxes from a product of trees of counts",
    theorem="(epsilon, delta)-differential privacy; error of all boxes polylogarithmic in the values",
    reference="[HRMS10]; [Roth10] Theorem 6",
    example=_example,
    tiny=_tiny,
)
