"""All ranges of an ordered attribute from a tree of noisy counts."""

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
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.linear.tree_release import TreeRelease, choose_trees
from discreet.query_release.linear.trees import CountTree, Trees
from discreet.query_release.synopses.estimates import Curve
from discreet.query_release.tiny import list_pairs


@frozen
class RangeTree(TreeRelease):
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

    most = 1
    kind = Curve
    tree: Public[CountTree | None, CountTree] = public(checks.exactly, CountTree, default=None)

    def _complete(self) -> None:
        given: Any = self.tree
        (size,) = self._sizes
        if given is not None and given.size != size:
            raise InvalidParameter(name="tree", rule=f"a CountTree over {size} values", value=given)
        trees = None if given is None else (given,)
        (tree,), noise = choose_trees(self, trees=trees, sizes=(size,), known=self._is_known)
        self._set(tree=tree, noise=noise)

    @property
    def _trees(self) -> Trees:
        return (self.tree,)

    @property
    def _is_known(self) -> bool:
        return isinstance(self.neighbours, Replace)


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
        yield Tiny(mechanism, list_pairs(workload.universe, neighbours, 1))


CARD = Card(
    title="Ranges from a tree of counts",
    theorem="(epsilon, delta)-differential privacy; error of all ranges polylogarithmic in the values",
    reference="[HRMS10]; [Roth10] Theorem 6",
    example=_example,
    tiny=_tiny,
)
