"""All boxes over two or three ordered attributes from a product of trees of noisy counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.joint_noise import Joint, sum_error
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.linear.trees_error import asked_spread
from discreet.query_release.linear.trees_noise import Trees, axes_of, choose_trees
from discreet.query_release.synopses.estimates import Estimates
from discreet.query_release.tiny import list_pairs

_MOST = 3


def _read_trees(trees: Trees) -> Trees:
    return tuple(checks.exactly(CountTree, trees=tree) for tree in checks.several(trees=trees))


@frozen
class RectangleTree(WorkloadRelease):
    """Count the rows of products of nested intervals with noise, and answer every box from all of them.

    Privacy: (epsilon, delta). A row is in one box for each choice of a level in every tree.
    Accuracy: error(beta) holds for the workload and all boxes at once. The estimates are those of least
    squares: for a product of trees they are made one attribute after the other.
    Time: O(cells), times a small power of the heights.

    Parameters
    ----------
    workload
        Boxes, or any queries about one to three ordered attributes; all their boxes are answered well.
    epsilon, delta
        The budget; with delta 0 the noise is Laplace's.
    neighbours
        The change that is hidden.
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

    trees: Public[Trees | None, Trees] = public(_read_trees, default=None)
    noise: Joint = derived()

    def _complete(self) -> None:
        sizes = tuple(self.workload.universe.shape[axis] for axis in axes_of(self.workload, most=_MOST))
        chosen, noise = choose_trees(self, trees=_fit(self.trees, sizes), sizes=sizes, known=False)
        self._set(trees=chosen, noise=noise)

    @property
    def is_noise_alone(self) -> bool:
        """Yes: estimates are unbiased, and linear in what was measured."""
        return True

    @property
    def loss(self) -> Loss:
        """The curve of the noise."""
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of the workload and of all boxes at once, but for a probability beta."""
        missed, axes = checks.probability(beta=beta), axes_of(self.workload, most=_MOST)
        return sum_error(self.noise, missed, asked_spread(self.workload, axes, self.trees, known=False))

    def _draw(self, data: Any, rng: Rng) -> Estimates:
        histogram, universe = self._histogram(data), self.workload.universe
        axes = axes_of(self.workload, most=_MOST)
        numbers = histogram.marginal([universe.names[axis] for axis in axes]).counts()
        for place, tree in enumerate(self.trees):
            numbers = tree.measure(numbers, place)
        noisy = self.noise.release(numbers.reshape(-1), rng=rng).value

        def estimate() -> NDArray[Any]:
            counts = noisy.reshape([tree.nodes for tree in self.trees])
            for place, tree in enumerate(self.trees):
                counts = tree.estimate(counts, place)
            return np.asarray(counts)

        return Estimates(universe, axes, estimate, transcript=noisy.tobytes())


def _fit(trees: Trees | None, sizes: tuple[int, ...]) -> Trees | None:
    """Return given trees, which must be over as many values."""
    if trees is not None and tuple(tree.size for tree in trees) != sizes:
        raise InvalidParameter(name="trees", rule=f"trees over {sizes} values", value=trees)
    return trees


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
        yield Tiny(mechanism, list(list_pairs(workload.universe, neighbours, 1)))


CARD = Card(
    title="Boxes from a product of trees of counts",
    theorem="(epsilon, delta)-differential privacy; error of all boxes polylogarithmic in the values",
    reference="[HRMS10]; [Roth10] Theorem 6",
    example=_example,
    tiny=_tiny,
)
