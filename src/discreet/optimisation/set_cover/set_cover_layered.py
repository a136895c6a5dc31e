"""Weighted set cover by one exponential choice a cost class: best in theory, for tiny families only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_down, up
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.labels import Weights, classes_of, require_count
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.systems import Assignment, OfElements, require_few

MOST = 6
"""The largest number of sets."""
_LARGEST = 1 << 60  # no order may cost more, or 64 bits would hold the scores of some data only
Sets = tuple[int, ...]
Layout = tuple[Sets, Sets]
"""The sets of the bucket, which are paid for in any case, and those behind it, in order."""


@frozen
class SetCoverLayered(OfElements):
    """Insert the cost classes one after the other, dearest first, behind the bucket, and let some join it.

    Privacy: (epsilon, 0) for one element. Given what came before, an element moves the scores of class j by a
    spread of at most 2^(j - i), where i is the class of its cheapest set, and not at all for j > i: all
    classes together cost less than twice the rate.
    Accuracy: with probability 1 - beta the cost is at most error(beta) times the least.
    Time: exponential in the number of sets, at most 6.

    Parameters
    ----------
    costs
        What each set costs: positive and public, in the order of the sets. Rounded up to powers of two times
        the smallest.
    family, epsilon
        As in `SetCover`.
    """

    measures = False
    costs: Weights = public(checks.each, checks.positive)

    def _complete(self) -> None:
        require_few(self.family, MOST)
        require_count(len(self.family.names), costs=self.costs)
        if sum(_prices(layers(self.costs))) > _LARGEST:
            raise InvalidParameter(
                name="costs",
                rule="within a factor of 2^60 together",
                value=f"2^{self._last}",
                hint="Use SetCoverSplit",
            )

    @property
    def rate(self) -> Fraction:
        """The exponent of a set of the class at hand: epsilon / (1 + 1/2 + 1/4 + ...)."""
        return shorten_down(self.epsilon / (2 - Fraction(1, 2**self._last)), 12)

    @property
    def _last(self) -> int:
        return max(layers(self.costs))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cover costs more than alpha times the least with probability <= beta.

        Rounding costs a factor of 2. In class j, the n_j sets of the best cover fill the bucket with
        probability at least 1 / (2 m^(3 n_j)); so each class adds at most
        (3 n_j ln m + ln(2 classes / beta)) / rate of its cost.
        """
        b, m, classes = checks.probability(beta=beta), len(self.costs), self._last + 1
        each = math.log(2 * classes) - math.log(b)
        ratio = 2 * (1 + (3 * math.log(m) + math.ldexp(each, classes)) / float(self.rate))
        trivial = up(sum(self.costs) / min(self.costs))
        return require_useful(
            ratio * (1 + 1e-12), trivial=trivial, least=1.0, what="the cost of this cover", way_out=MORE
        )

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        present = self.family.read(data)
        wanted = tuple(
            tuple(np.unique(self.family.holders(np.array([element]))).tolist())
            for element in np.flatnonzero(present).tolist()
        )
        classes = layers(self.costs)
        costs = _Costs(classes, wanted)
        layout: Layout = ((), ())
        for level in range(self._last + 1):
            found = list(extensions(layout, level, classes))
            scores = np.array([-costs.least(choice, level + 1) for choice in found], dtype=np.int64)
            step = ExponentialChoice(
                self.rate / 2 ** (self._last - level),
                Fraction(2 ** (self._last - level)),
                self._base(found, layout),
            )
            layout = found[rng.perform(step, scores)]
        return self._assign((*layout[0], *layout[1]))

    def _base(self, found: list[Layout], layout: Layout) -> tuple[Fraction, ...]:
        """Return the base weights: m^-2 for every set that joins the bucket, uniform over orders."""
        m = max(2, len(self.costs))
        weights = [Fraction(1, m ** (2 * (len(bucket) - len(layout[0])))) for bucket, _ in found]
        return tuple(weight / sum(weights) for weight in weights)


def layers(costs: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return the class of every set: 0 for the dearest, one more for every halving of the cost."""
    powers = classes_of(costs)
    return tuple(max(powers) - power for power in powers)


def _prices(classes: Sets) -> Sets:
    """Return what every set costs in units of the cheapest class."""
    last = max(classes)
    return tuple(1 << (last - level) for level in classes)


def extensions(layout: Layout, level: int, classes: Sets) -> Iterator[Layout]:
    """Yield every way to insert the sets of a class behind the bucket and let the first ones join it."""
    bucket, behind = layout
    mine = [place for place, its in enumerate(classes) if its == level]
    for order in itertools.permutations(mine):
        for joined in range(len(order) + 1):
            yield (*bucket, *order[:joined]), (*order[joined:], *behind)


class _Costs:
    """What extensions cost the elements of one release, in units of the cheapest class.

    They are kept for the release alone: a cache of the module would keep private elements.
    """

    def __init__(self, classes: Sets, wanted: tuple[Sets, ...]) -> None:
        self._classes, self._wanted, self._last = classes, wanted, max(classes)
        self._prices = _prices(classes)
        self._known: dict[tuple[Layout, int], int] = {}

    def least(self, layout: Layout, level: int) -> int:
        """Return the least cost of any extension by the classes from a level on; the bucket is paid for."""
        key = layout, level
        if key not in self._known:
            further = extensions(layout, level, self._classes)
            deeper = (self.least(each, level + 1) for each in further)
            self._known[key] = self._cost(layout) if level > self._last else min(deeper)
        return self._known[key]

    def _cost(self, layout: Layout) -> int:
        bucket, behind = layout
        paid = set(bucket)
        for holders in self._wanted:
            if not set(holders) & set(bucket) and holders:
                paid.add(min(holders, key=behind.index))
        return sum(self._prices[place] for place in paid)


def _tiny() -> Iterator[Tiny]:
    family = ([0, 1], [0], [1])
    yield try_elements(SetCoverLayered(family=family, costs=(1, 1, 1), epsilon=6), 2)
    yield try_elements(SetCoverLayered(family=family, costs=(2, 1, 1), epsilon=2), 2, tight=False)


CARD = Card(
    title="Weighted set cover by one exponential choice a cost class",
    theorem="(epsilon, 0)-differential privacy for an element; cost within log m / epsilon of the best",
    reference="[Roth10] Section 7.7.5",
    example=lambda: (
        SetCoverLayered(family={"a": (1, 2, 3), "b": (3, 4)}, costs=(2, 1), epsilon=1),
        (1, 4),
    ),
    tiny=_tiny,
)
