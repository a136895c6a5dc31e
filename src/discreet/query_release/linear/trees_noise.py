"""The noise of a product of trees, and the attributes such a product is about."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Replace
from discreet.mechanisms.laplace import Laplace
from discreet.queries.tables import Axes
from discreet.queries.workload import Tabled, Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.joint_noise import Joint, gaussian_noise, variance
from discreet.query_release.linear.trees import CountTree, best_tree, sum_moves

Trees = tuple[CountTree, ...]


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


def box_square(trees: Trees, *, known: bool) -> float:
    """Bound the variance of any box for noise of variance one: a product, as the estimate is."""
    return math.prod(tree.range_square(known=known) for tree in trees)
