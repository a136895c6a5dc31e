"""Set cover on a secret sample of the elements, with costs or without: pure privacy by one-sidedness."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_down, up
from discreet.optimisation.common.labels import MaybeWeights, require_count
from discreet.optimisation.common.repeated_choices import sampled_rate
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.greedy import GRID, Greedy, GreedyPlan, SampledRun
from discreet.optimisation.set_cover.set_cover_weighted import halving_plan
from discreet.optimisation.set_cover.systems import Assignment, OfElements

_PLANNED = Fraction(1, 20)
"""What the handicap of halving is planned with; privacy does not depend on it."""


@frozen
class SetCoverSampled(OfElements):
    """Forget some elements at random, then order the sets greedily by the others.

    Privacy: (epsilon, 0) for one element. An added element favours no order by more than exp(rate), and each
    is forgotten with probability exp(-epsilon): both together lose epsilon either way. After [GKKMS24].
    Accuracy: only the trivial bound is proved, all sets; in practice the best of the covers here.
    Time: O(sets^2) and every incidence once.

    Parameters
    ----------
    family, epsilon
        As in `SetCover`.
    costs
        What each set costs: positive and public, in the order of the sets. Equal where left out.

    Examples
    --------
    >>> cover = SetCoverSampled(family={"north": [1, 2, 3], "south": [3, 4]}, epsilon=1)
    >>> round(float(cover.rate), 4)
    1.3133
    """

    costs: MaybeWeights = public(checks.each, checks.positive, default=None)

    def _complete(self) -> None:
        if self.costs is not None:
            require_count(len(self.family.names), costs=self.costs)
        self._plan()  # refuses costs too far apart

    @property
    def rate(self) -> Fraction:
        """The exponent of one uncovered element: ln(1 + e^epsilon), rounded down."""
        return sampled_rate(self.epsilon)

    def error(self, beta: checks.Number) -> float:
        """Refuse, but where all covers cost the same: on sampled elements there is no theorem of ours."""
        checks.probability(beta=beta)
        sets, elements = len(self.family.names), len(self.family.elements)
        trivial = float(min(sets, elements)) if self.costs is None else up(sum(self.costs) / min(self.costs))
        if trivial <= 1:
            return 1.0
        raise NoBound(
            what="the cost of this cover",
            why="nothing is proved about it but that no cover costs more than all sets",
            way_out="Use SetCover or SetCoverWeighted, or compare the cover with a bound on public data",
        )

    def _plan(self) -> GreedyPlan:
        if self.costs is None:
            return Greedy(self.family, self.rate)
        return halving_plan(self.family, self.costs, shorten_down(self.rate / GRID, 12), _PLANNED)

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        order = rng.perform(SampledRun(self._plan(), self.epsilon), self.family.read(data))
        return self._assign(order)


def _tiny() -> Iterator[Tiny]:
    yield try_elements(SetCoverSampled(family=([0, 1], [1, 2], [2]), epsilon=1), 3, tight=False)
    yield try_elements(SetCoverSampled(family=([0], [0, 1]), epsilon=1, costs=(1, 2)), 2)


CARD = Card(
    title="Set cover on a secret sample of the elements",
    theorem="(epsilon, 0)-differential privacy for an element, with any public costs",
    reference="[GKKMS24]; [Roth10] Algorithms 5 and 6",
    example=lambda: (SetCoverSampled(family={"north": (1, 2, 3), "south": (3, 4)}, epsilon=1), (1, 4)),
    tiny=_tiny,
)
