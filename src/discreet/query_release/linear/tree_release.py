"""Counts of a product of trees: the attributes it is about, its noise, and the release from it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.core.neighbours import Replace
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.mechanisms.laplace import Laplace
from discreet.queries.tables import Axes
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.joint_noise import (
    Joint,
    JointRelease,
    gaussian_noise,
    sum_error,
    variance,
)
from discreet.query_release.linear.trees import CountTree, Trees, best_tree, box_square, sum_moves
from discreet.query_release.linear.trees_error import asked_spread
from discreet.query_release.synopses.estimates import Estimates


def axes_of(workload: Workload, *, most: int) -> Axes:
    """Return the attributes that a workload looks at: at least one and at most a few."""
    sets = workload.sets if isinstance(workload, Tabled) else {query.axes for query in workload}
    axes = tuple(sorted(set().union(*sets)))
    if not 1 <= len(axes) <= most:
        few = "one ordered attribute" if most == 1 else f"at most {most} ordered attributes"
        raise InvalidParameter(name="workload", rule=f"about {few}", got=f"one about {len(axes)} attributes")
    return axes


def tree_noise(trees: Sequence[CountTree], *, power: int, mechanism: WorkloadRelease) -> Joint:
    """Return Laplace noise (`power` 1) or Gaussian noise (2) for all counts of a product of trees."""
    replaced = isinstance(mechanism.neighbours, Replace)
    size = math.prod(tree.nodes for tree in trees)
    most = max(1, sum_moves(trees, power=power, replaced=replaced))
    if power == 1:
        return Laplace(
            sensitivity=most, epsilon=mechanism.epsilon, size=size, neighbours=mechanism.neighbours
        )
    return gaussian_noise(
        square=most,
        size=size,
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        neighbours=mechanism.neighbours,
    )


def choose_trees(
    mechanism: WorkloadRelease, *, trees: Trees | None, sizes: Sequence[int], known: bool
) -> tuple[Trees, Joint]:
    """Return trees, the given ones or the best for each size, with the noise that leaves boxes the least."""
    candidates = []
    for power in (1, 2) if mechanism.delta else (1,):
        chosen = trees or tuple(best_tree(size, power=power, known=known) for size in sizes)
        candidates.append((chosen, tree_noise(chosen, power=power, mechanism=mechanism)))
    return min(candidates, key=lambda pair: box_square(pair[0], known=known) * variance(pair[1]))


@frozen
class TreeRelease(JointRelease):
    """Count the rows of products of nested intervals with noise, and answer from all of them together."""

    most: ClassVar[int]
    """How many attributes there may be."""
    kind: ClassVar[type[Estimates]] = Estimates
    """What the estimates are."""

    @property
    @abstractmethod
    def _trees(self) -> Trees:
        """One tree an attribute."""

    @property
    def _is_known(self) -> bool:
        """Whether the number of rows is public, and taken as it is."""
        return False

    @property
    def _axes(self) -> Axes:
        return axes_of(self.workload, most=self.most)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.workload.universe.shape[axis] for axis in self._axes)

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of the workload and of all boxes at once, but for a probability beta."""
        missed = checks.probability(beta=beta)
        spread = asked_spread(self.workload, self._axes, self._trees, known=self._is_known)
        return sum_error(self.noise, missed, spread)

    def _draw(self, data: Any, rng: Rng) -> Estimates:
        universe, trees = self.workload.universe, self._trees
        numbers = self._histogram(data).marginal([universe.names[axis] for axis in self._axes]).counts()
        total = float(numbers.sum()) if self._is_known else None
        for place, tree in enumerate(trees):
            numbers = tree.measure(numbers, place)
        noisy = self.noise.release(numbers.reshape(-1), rng=rng).value

        def estimate() -> Array:
            counts = noisy.reshape([tree.nodes for tree in trees])
            for place, tree in enumerate(trees):
                counts = tree.estimate(counts, place, total=total)
            return np.asarray(counts)

        return self.kind(universe, self._axes, estimate, transcript=noisy.tobytes())
