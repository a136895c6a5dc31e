"""Private minimum cut: raise all cuts a little, then choose one with the exponential mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import ApproxLoss, BoundedRangeLoss, Loss
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_down, up
from discreet.core.search import first_integer
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.graphs import OfGraph, Vertices, read_edges
from discreet.optimisation.min_cut.choice import SMALL, CutChoice, Side, outside_log_mass
from discreet.optimisation.min_cut.curve import smallest_cuts

CALIBRATIONS = ("tight", "thesis")
SLOW = 1e-5
"""How probable it may be, without a delta, that the smallest cut stays too small for a fast draw."""
MOST_WEIGHTS = 1 << 24
"""How many weights of the star one release may compare."""
_GROWTH = 4  # cuts are counted by n^(2 cost / smallest): at 4 ln(n) / rate, weights fall twice as fast
_FINE = 8  # one step of the star raises the smallest cut by at most 1 / (8 rate)
_SPARE = 8  # the star goes on for 8 / rate beyond the target, so that the end is hardly felt


@dataclass(frozen=True, slots=True)
class Cut:
    """Two sides of a graph.

    Attributes
    ----------
    side
        The vertices that are not with the first vertex; empty where the mechanism gave up.
    """

    side: frozenset[Hashable]

    @property
    def failed(self) -> bool:
        """Whether this is the answer FAIL: no cut at all."""
        return not self.side

    def separates(self, u: Hashable, v: Hashable) -> bool:
        """Tell whether two vertices lie on different sides."""
        return (u in self.side) != (v in self.side)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Public numbers. Costs are counted in units: an edge is `unit` of them."""

    unit: int
    raising: Fraction  # rate of the choice of the star's weight
    choosing: Fraction  # rate of the choice of the cut
    floor: int  # where the number of cuts is known to grow slowly enough
    target: int  # what the smallest cut is raised to
    last: int  # the heaviest star


@frozen
class MinCut(OfGraph[Cut]):
    """Split the vertices into two sides with few edges between them.

    Privacy: (epsilon, delta) for one edge. With delta 0 it is pure: two choices of bounded range. With
    delta > 0 the answer may be FAIL, with probability at most delta / (1 + e^epsilon).
    Accuracy: with probability 1 - beta the cut has at most error(beta) more edges than the smallest one.
    Time: up to 18 vertices all cuts are scored. Beyond, O(vertices^2) for each of the spanning trees that
    certify the list of near-minimum cuts. With delta 0 a run may be slow beyond use, with a probability
    below 1e-5, instead of answering FAIL. The time depends on the data.

    First the weight of a public star around the first vertex is chosen, so that the smallest cut of graph and
    star is large enough for near-minimum cuts to be few. Then a cut is chosen among all cuts.

    Parameters
    ----------
    vertices
        How many vertices there are, or their names. Public; two at least.
    epsilon, delta
        The budget of one release.
    calibration
        "tight", or "thesis" for equal rates and a target of 8 ln(n) / rate. Then delta must be 0.

    Examples
    --------
    >>> MinCut(vertices=1000, epsilon=10, delta=0).error(0.05)
    19.0
    """

    delta: Exact = public(checks.delta)
    calibration: str = public(checks.one_of, CALIBRATIONS, default="tight")

    def _complete(self) -> None:
        checks.integer(2, vertices=self.vertices.size)
        if self.calibration == "thesis" and self.delta > 0:
            raise InvalidParameter(name="delta", rule="0 with the thesis's calibration", value=self.delta)
        if self._plan.last > MOST_WEIGHTS:
            rule = f"such that at most {MOST_WEIGHTS:,} weights of the star have to be compared"
            hint = f"Use MinCutExhaustive for up to {SMALL} vertices"
            raise InvalidParameter(name="epsilon", rule=rule, value=self.epsilon, hint=hint)

    @classmethod
    def as_printed(cls, *, vertices: int | Iterable[Hashable] | Vertices, epsilon: checks.Number) -> Self:
        """Return Algorithm 1 with equal rates and a target of 8 ln(n) / rate; its true loss is epsilon."""
        return cls(vertices=vertices, epsilon=epsilon, delta=0, calibration="thesis")

    @property
    def loss(self) -> Loss:
        """Raising moves scores both ways and costs twice its rate; cut costs all move one way."""
        plan = self._plan
        raising, choosing = 2 * plan.raising * plan.unit, plan.choosing * plan.unit
        if self.delta > 0:
            return ApproxLoss(raising + choosing, self.delta)
        return Composed(((BoundedRangeLoss(raising), 1), (BoundedRangeLoss(choosing), 1)))

    @property
    def target(self) -> float:
        """How many edges the smallest cut is raised to, where it has fewer."""
        return up(Fraction(self._plan.target, self._plan.unit))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cut has more than alpha edges above the smallest with probability at most beta.

        FAIL counts as an error. Three things must go well: the star must not be too light, or too heavy, and
        the cut chosen must be near the smallest one of graph and star. No cut exceeds n^2 / 4 edges.
        """
        wanted = float(checks.probability(beta=beta)) * (1 - 1e-12)
        plan, size = self._plan, self.vertices.size
        light = wanted / 3
        least = plan.target - _depth(plan.raising, size, math.log(light))
        if self.delta > 0 and least < plan.floor:
            light, least = above(math.exp(_log_failure(self.epsilon, self.delta))), plan.floor
        spare = (wanted - light) / 2
        if spare <= 0:
            raise NoBound(
                what="the size of this cut",
                why=f"the probability of no cut at all may be {light:.3g}",
                way_out="Ask for a larger beta, or pass delta=0",
            )
        most = (size // 2) * (size - size // 2)
        raised = plan.target + (size - 2) + _overshoot(plan.raising, size, spare)
        # A graph and a star whose smallest cut is `least` or more have a packing of half of that or more.
        further = _behind(size, plan.choosing, least, spare, most * plan.unit)
        bound = float((raised + further) // plan.unit)
        return require_useful(bound, trivial=float(most), what="the size of this cut", way_out=MORE)

    def _draw(self, data: Any, rng: Rng) -> Cut:
        plan = self._plan
        adjacency = adjacency_of(read_edges(data, self.vertices), self.vertices.size)
        raised = smallest_cuts(adjacency.astype(np.bool_)).values(unit=plan.unit, last=plan.last)
        raise_to = ExponentialChoice(plan.raising, Fraction(2 * plan.unit))
        star = rng.perform(raise_to, -np.abs(raised - plan.target))
        weights = plan.unit * adjacency
        weights[0, 1:] += star
        weights[1:, 0] += star
        floor = plan.floor if self.delta > 0 else 0
        side: Side = rng.perform(CutChoice(plan.choosing, Fraction(plan.unit), floor), weights)
        return Cut(frozenset(map(self.vertices.name, side)))

    @property
    def _plan(self) -> _Plan:
        return _make_plan(self.vertices.size, self.epsilon, self.delta, self.calibration)


@lru_cache(maxsize=256)
def _make_plan(size: int, epsilon: Fraction, delta: Fraction, calibration: str) -> _Plan:
    thesis = calibration == "thesis"
    first = epsilon / (3 if thesis else 4)
    unit = math.ceil(_FINE * first * (size - 1))
    raising, choosing = shorten_down(first / unit, 12), shorten_down((epsilon - 2 * first) / unit, 12)
    growth = Fraction(math.log(size))
    floor = math.ceil(_GROWTH * growth / choosing)
    if thesis:
        target = math.ceil(8 * growth / raising)
    else:
        target = floor + _depth(raising, size, _log_failure(epsilon, delta) if delta > 0 else math.log(SLOW))
    return _Plan(unit, raising, choosing, floor, target, target + math.ceil(_SPARE / raising))


def _log_failure(epsilon: Fraction, delta: Fraction) -> float:
    """Return the logarithm of the probability of FAIL that delta pays for: delta / (1 + e^epsilon).

    It counts once where FAIL is the answer, and e^epsilon times where an answer is missing for it.
    """
    paid = up(epsilon)
    log = math.log(delta.numerator) - math.log(delta.denominator) - (paid + math.log1p(math.exp(-paid)))
    return log - 1e-12 * (1 - log)


def _depth(rate: Fraction, size: int, log_beta: float) -> int:
    """Return how far below the target the raised smallest cut is, but with probability e^log_beta.

    The smallest cut is a concave function of the star's weight: steps below the target are at least as high
    as steps above, so at depth x there are no more weights than at height x. A step is below `size` units.
    """
    return size - 2 + math.ceil(Fraction(1e-9 - log_beta - math.log1p(-math.exp(-_SPARE))) / rate)


def _overshoot(rate: Fraction, size: int, beta: float) -> int:
    """Return how far above the target, or the graph's own smallest cut, it is, but with probability beta.

    Steps are at least 1 and below `size` units high, so far up there may be `size` times as many weights.
    """
    r = float(rate)
    crowd = math.log(-math.expm1(-r * (size - 1)) / -math.expm1(-r)) - math.log1p(-math.exp(-_SPARE))
    return max(0, math.ceil((crowd - math.log(beta) + 1e-9) / r))


def _behind(size: int, rate: Fraction, least: int, beta: float, most: int) -> int:
    """Return how far above a smallest cut >= least the chosen cut is, but with probability beta."""
    if least <= 0:
        return most

    def is_rare(more: int) -> bool:
        return outside_log_mass(size, rate, Fraction(least, 2), least, least + more) <= math.log(beta)

    return first_integer(is_rare, low=-1, high=most)


def adjacency_of(edges: Integers, size: int) -> Integers:
    """Return a symmetric matrix with a 1 for every edge."""
    matrix = np.zeros((size, size), dtype=np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    return matrix


def _tiny() -> Iterator[Tiny]:
    graphs = [frozenset(edges) for edges in ((), ((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 2), (0, 2)))]
    pairs = list(itertools.pairwise(graphs))  # tests of their own enumerate all graphs up to five vertices
    yield Tiny(MinCut(vertices=3, epsilon=4, delta=0), pairs, tight=False)
    yield Tiny(MinCut(vertices=3, epsilon=4, delta=0.1), pairs, tight=False)


def _example() -> tuple[MinCut, Any]:
    """Return two halls of twelve people who all know each other, and three acquaintances across."""
    halls = [pair for hall in (range(12), range(12, 24)) for pair in itertools.combinations(hall, 2)]
    return MinCut(vertices=24, epsilon=20, delta=0), frozenset((*halls, (0, 12), (5, 17), (11, 23)))


CARD = Card(
    title="Minimum cut of a graph whose edges are private",
    theorem="(epsilon, 0)-differential privacy for one edge; O(log n / epsilon) edges above the smallest cut",
    reference="[Roth10] Algorithm 1 and Theorem 40, with the loss of Theorem 41 corrected",
    example=_example,
    tiny=_tiny,
)
