"""Set cover as a private order of the sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above
from discreet.optimisation.common.repeated_choices import SequentialLoss, sequential_range, thesis_rate
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.greedy import Greedy
from discreet.optimisation.set_cover.systems import Assignment, OfElements, SetSystem


@frozen
class SetCover(OfElements):
    """Order the sets, those that cover most first, by and large; an element uses the first that holds it.

    Privacy: (epsilon, delta) for one element, by the exact curve of such sequences.
    Accuracy: with probability 1 - beta, at most error(beta) times as many sets are used as the fewest that
    cover all.
    Time: O(sets^2) and every incidence once.

    Parameters
    ----------
    family
        The public sets: a mapping, a sequence of collections, or a matrix of sets by elements.
    epsilon, delta
        The budget of one release. For a pure guarantee see `SetCoverSampled`.

    Examples
    --------
    >>> cover = SetCover(family=[[person] for person in range(5000)], epsilon=1, delta=1e-6)
    >>> round(float(cover.rate), 4)
    0.0917
    """

    delta: Exact = public(checks.probability)
    rate: Fraction = derived()

    def _complete(self) -> None:
        self._set(rate=sequential_range(self.epsilon, self.delta, count_choices(self.family)))

    @classmethod
    def as_printed(cls, *, family: Any, epsilon: checks.Number, delta: checks.Number) -> Self:
        """Return Algorithm 5 as printed: rate epsilon / (2 ln(e / delta)). Its true delta is far smaller."""
        made = cls(family=family, epsilon=epsilon, delta=delta)
        made._set(rate=thesis_rate(made.epsilon, made.delta))
        return made

    @property
    def loss(self) -> Loss:
        """The exact curve of so many choices."""
        return SequentialLoss(self.rate, count_choices(self.family))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: more than alpha times the fewest sets are used with probability <= beta."""
        return greedy_ratio(self.family, self.rate, checks.probability(beta=beta))

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        return self._assign(Greedy(self.family, self.rate).run(self.family.read(data), rng.perform))


def count_choices(system: SetSystem) -> int:
    """Count the choices that are made: the last set is none."""
    return max(1, len(system.names) - 1)


def greedy_ratio(system: SetSystem, rate: Fraction, beta: Fraction) -> float:
    """Return 1 + 2 ln n + 2 g, where no choice is more than g = ln(m^2 / beta) / rate short of the best.

    While the best set covers more than 2 g elements, the choice covers half as many as the best, and
    2 ln n + 1 such choices for each of the best cover's are enough. Then each of its sets has at most 2 g
    elements left.
    """
    n, m = len(system.elements), len(system.names)
    gap = (2 * math.log(m) - math.log(beta)) / float(rate)
    bound = above((1 + 2 * math.log(n) + 2 * gap) * (1 + 1e-12))
    return require_useful(
        bound, trivial=float(min(n, m)), least=1.0, what="the size of this cover", way_out=MORE
    )


def _tiny() -> Iterator[Tiny]:
    heavy = SetCover(family=(range(5), []), epsilon=1, delta=0.01)
    yield Tiny(heavy, [(tuple(range(count)), tuple(range(1, count))) for count in range(1, 6)])
    families: list[list[list[int]]] = [[[0, 1], [1, 2], [2]], [[0], [1], [0, 1], []]]
    for family in families:
        yield try_elements(SetCover(family=family, epsilon=1, delta=0.01), 2, tight=False)


CARD = Card(
    title="Set cover by greedy exponential choices",
    theorem="(epsilon, delta)-differential privacy for an element, exactly; a logarithm from the best",
    reference="[Roth10] Algorithm 5 and Theorems 54 and 55",
    example=lambda: (
        SetCover(family={"north": (1, 2, 3), "south": (3, 4)}, epsilon=1, delta=1e-6),
        (1, 4),
    ),
    tiny=_tiny,
)
