"""Weighted set cover: greedy choices at a price that is halved."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

from discreet.core import checks
from discreet.core.bounds import MORE, find_cheapest, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_down, up
from discreet.optimisation.common.labels import Weights, require_count
from discreet.optimisation.common.repeated_choices import SequentialLoss, sequential_range, thesis_rate
from discreet.optimisation.common.tiny import try_elements
from discreet.optimisation.set_cover.greedy import GRID, Halving
from discreet.optimisation.set_cover.systems import Assignment, OfElements, SetSystem

_LARGEST = 1 << 60


@frozen
class PlannedCover(OfElements):
    """What covers planned for a probability of failure share."""

    costs: Weights = public(checks.each, checks.positive)
    delta: Exact = public(checks.probability)
    beta: Exact = public(checks.probability, default=Fraction(1, 20))
    rate: Fraction = derived()

    def _complete(self) -> None:
        require_count(len(self.family.names), costs=self.costs)
        self._set(rate=shorten_down(sequential_range(self.epsilon, self.delta, self._rounds) / GRID, 12))
        self._plans()  # refuses costs and budgets that 64 bits cannot hold

    @property
    @abstractmethod
    def _rounds(self) -> int:
        """How many choices and halvings one element can be in."""

    @abstractmethod
    def _plans(self) -> list[Halving]:
        """Return what is run, each on elements of its own."""

    @property
    def loss(self) -> Loss:
        """The exact curve; the rounds are all choices and all halvings of the longest run."""
        return SequentialLoss(self.rate * GRID, self._rounds)

    @classmethod
    def for_error(cls, *, alpha: checks.Number, beta: checks.Number, **public: Any) -> Self:
        """Return the cheapest mechanism whose error(beta) is at most alpha, planned for this beta."""
        return find_cheapest(cls._for_budget(alpha, {**public, "beta": beta}), alpha=alpha, beta=beta)

    def _useful(self, bound: float, beta: checks.Number) -> float:
        """Return a bound; none for a beta below the one that was planned with."""
        planned = checks.probability(beta=beta) >= self.beta
        return require_useful(
            bound if planned else math.inf,
            trivial=up(sum(self.costs) / min(self.costs)),
            least=1.0,
            what="the cost of this cover",
            way_out=MORE if planned else f"Plan with this beta; it was planned with {float(self.beta):g}",
        )


@frozen
class SetCoverWeighted(PlannedCover):
    """Order sets with costs, by and large the ones that cover most for their price first.

    Privacy: (epsilon, delta) for one element, by the exact curve of such sequences; how often the price was
    halved could be published too.
    Accuracy: with probability 1 - beta the sets in use cost at most error(beta) times the cheapest cover.
    Time: O(sets^2) and every incidence once.

    Parameters
    ----------
    family
        The public sets: a mapping, a sequence of collections, or a matrix of sets by elements.
    costs
        What each set costs: positive and public, in the order of the sets.
    epsilon, delta
        The budget of one release. For a pure guarantee see `SetCoverSampled`.
    beta
        The probability with which the bound on the costs may fail; privacy does not depend on it.
    """

    @classmethod
    def as_printed(cls, *, epsilon: checks.Number, delta: checks.Number, **public: Any) -> Self:
        """Return Algorithm 6 with the printed rate, epsilon / (2 ln(e / delta))."""
        made = cls(epsilon=epsilon, delta=delta, **public)
        rate = shorten_down(thesis_rate(made.epsilon, made.delta) / GRID, 12)
        made._set(rate=rate)
        made._plans()
        return made

    @property
    def _rounds(self) -> int:
        return len(self.costs) + halvings(self.family, self.costs)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cover costs more than alpha times the least with probability <= beta.

        For a beta below the one that was planned with, there is none.
        """
        return self._useful(halving_ratio(*self._plans()), beta)

    def _plans(self) -> list[Halving]:
        return [halving_plan(self.family, self.costs, self.rate, self.beta)]

    def _draw(self, data: Any, rng: Rng) -> Assignment:
        (plan,) = self._plans()
        return self._assign(plan.run(self.family.read(data), rng.perform))


def halvings(system: SetSystem, costs: tuple[Fraction, ...]) -> int:
    """Return how often n is halved until it is below 1 / (largest cost over smallest)."""
    return math.floor(len(system.elements) * max(costs) / min(costs)).bit_length()


def halving_plan(system: SetSystem, costs: tuple[Fraction, ...], rate: Fraction, beta: Fraction) -> Halving:
    """Return the algorithm, with a handicap for halving such that beta is missed as seldom as planned.

    With m sets and h halvings there are at most m + h rounds. In each, halving too early has probability at
    most exp(-rate patience), and a set that scores below twice the handicap at most m times that.
    """
    n, m, times = len(system.elements), len(costs), halvings(system, costs)
    least = min(costs)
    offsets = tuple(math.floor(GRID * n * cost / least) for cost in costs)
    if max(offsets) > _LARGEST:
        raise InvalidParameter(
            name="costs",
            rule="within a factor of 2^50 / elements",
            value=f"2^{math.floor(max(costs) / least).bit_length() - 1}",
            hint="Use SetCoverSplit",
        )
    log = math.log(2 * m * (m + times)) - math.log(beta)
    patience = math.ceil(Fraction(above(log, 8)) / rate)
    if patience > _LARGEST:
        raise InvalidParameter(name="epsilon", rule="so large that scores fit in 64 bits", got="less")
    return Halving(system, rate, offsets, patience, times)


def halving_ratio(plan: Halving) -> float:
    """Return 4 (1 + floor(log2 n)) (1 + 2 T) + 2 for a handicap T."""
    stages = len(plan.system.elements).bit_length()
    handicap = 2 * Fraction(plan.patience, GRID) + Fraction(1, GRID)
    return up(4 * stages * (1 + handicap) + 2)


def _tiny() -> Iterator[Tiny]:
    cover = SetCoverWeighted(family=([0], [0, 1]), costs=(1, 2), epsilon=2, delta=0.05, beta=0.5)
    yield try_elements(cover, 2, tight=False)


CARD = Card(
    title="Weighted set cover at a halving price",
    theorem="(epsilon, delta)-differential privacy for an element; cost within log n log m of the best",
    reference="[Roth10] Algorithm 6 and Theorems 57 and 58",
    example=lambda: (
        SetCoverWeighted(family={"a": (1, 2, 3), "b": (3, 4)}, costs=(2, 1), epsilon=1, delta=1e-6),
        (1, 4),
    ),
    tiny=_tiny,
)
