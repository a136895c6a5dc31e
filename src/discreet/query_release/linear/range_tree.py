"""All ranges of an ordered attribute from a tree of noisy counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.joint_noise import Joint, sum_error
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.linear.trees_error import asked_spread
from discreet.query_release.linear.trees_noise import Trees, axes_of, choose_trees
from discreet.query_release.synopses.estimates import Curve
from discreet.query_release.tiny import list_pairs


@frozen
class RangeTree(WorkloadRelease):
    """Count the rows of nested intervals with noise, and answer every range from all of them together.

    Privacy: (epsilon, delta). A row is in one interval a level, so levels share the budget: Laplace noise for
    the sum of their multipliers or, where delta allows it and it is less, Gaussian noise for that of squares.
    Accuracy: error(beta) holds for the workload and all ranges at once. The estimates are those of least
    squares [HRMS10].
    Time: O(values).

    Parameters
    ----------
    workload
        Ranges, prefixes or any queries about one ordered attribute; all its ranges are answered well.
    epsilon, delta
        The budget; with delta 0 the noise is Laplace's.
    neighbours
        The change that is hidden. Under `Replace` the number of rows is public and taken as it is.
    tree
        The tree; where left out, the one with the smallest worst variance of a range.

    Examples
    --------
    >>> ages = Prefixes(Universe([("age", range(100))]), ["age"])
    >>> RangeTree(workload=ages, epsilon=1, delta=0, neighbours=AddRemove("person")).tree.degrees
    (100,)
    """

    tree: Public[CountTree | None, CountTree] = public(checks.exactly, CountTree, default=None)
    noise: Joint = derived()

    def _complete(self) -> None:
        (axis,) = axes_of(self.workload, most=1)
        size, known = self.workload.universe.shape[axis], isinstance(self.neighbours, Replace)
        given = _as_product(self.tree, size)
        (chosen,), noise = choose_trees(self, trees=given, sizes=(size,), known=known)
        self._set(tree=chosen, noise=noise)

    @property
    def is_noise_alone(self) -> bool:
        """Yes: estimates are unbiased, and linear in what was measured."""
        return True

    @property
    def loss(self) -> Loss:
        """The curve of the noise."""
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of the workload and of all ranges at once, but for a probability beta."""
        missed, known = checks.probability(beta=beta), isinstance(self.neighbours, Replace)
        asked = asked_spread(self.workload, axes_of(self.workload, most=1), (self.tree,), known=known)
        return sum_error(self.noise, missed, asked)

    def _draw(self, data: Any, rng: Rng) -> Curve:
        histogram, universe = self._histogram(data), self.workload.universe
        (axis,) = axes_of(self.workload, most=1)
        counts = histogram.marginal([universe.names[axis]]).counts()
        noisy = self.noise.release(self.tree.measure(counts, 0), rng=rng).value
        total = float(counts.sum()) if isinstance(self.neighbours, Replace) else None
        estimate = partial(self.tree.estimate, noisy, 0, total=total)
        return Curve(universe, (axis,), estimate, transcript=noisy.tobytes())


def _as_product(tree: CountTree | None, size: int) -> Trees | None:
    """Return a given tree as a product of one; it must be over as many values."""
    if tree is not None and tree.size != size:
        raise InvalidParameter(name="tree", rule=f"a CountTree over {size} values", value=tree)
    return None if tree is None else (tree,)


_AGES = Universe([("age", range(1000))])
_EXAMPLE = Prefixes(_AGES, ["age"])
_TWO = Prefixes(Universe([("a", (0, 1))]), ["a"])
_ONE = Prefixes(Universe([("a", (0,))]), ["a"])


def _example() -> tuple[RangeTree, Histogram]:
    mechanism = RangeTree(workload=_EXAMPLE, epsilon=1, delta=0, neighbours=AddRemove("person"))
    return mechanism, Histogram.dense(_AGES, np.arange(1000) % 7)


def _tiny() -> Iterator[Tiny]:
    flat, line, scaled = CountTree(2, (2,), (0, 1)), CountTree(1, (1,), (1, 1)), CountTree(1, (1,), (1, 2))
    for workload, tree, epsilon, delta, neighbours in (
        (_TWO, flat, 4, 0, AddRemove("row")),
        (_TWO, flat, 6, 0, Replace("row")),
        (_TWO, flat, 2, Fraction(1, 10), Replace("row")),
        (_ONE, line, 4, 0, AddRemove("row")),
        (_ONE, scaled, 6, 0, AddRemove("row")),
        (_ONE, line, 2, Fraction(1, 10), AddRemove("row")),
    ):
        mechanism = RangeTree(
            workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, tree=tree
        )
        yield Tiny(mechanism, list(list_pairs(workload.universe, neighbours, 1)))


CARD = Card(
    title="Ranges from a tree of counts",
    theorem="(epsilon, delta)-differential privacy; error of all ranges polylogarithmic in the values",
    reference="[HRMS10]; [Roth10] Theorem 6",
    example=_example,
    tiny=_tiny,
)
