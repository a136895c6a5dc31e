"""The exponential mechanism over all cuts of a graph, exactly, without listing all of them.

Small graphs have few cuts, and all are scored. Otherwise every cut of cost at most T is listed, and the rest
is drawn by rejection. Under a packing of value p, a cut crosses a random tree k times with E[k] <= cost / p.
Take the convex function

    height(k) = exp(-rate k p)                        where k p >= T,
    height(k) = exp(-rate T) (1 + rate (T - k p))     where k p < T, the tangent at T.

By Jensen's inequality E[height(k)] >= exp(-rate cost) for every cut that costs more than T. So: draw a random
tree, k with probability proportional to (edges choose k) height(k), and k of its edges; these define one
cut, which comes up in proportion to E[height(k)]. Keep it with probability exp(-rate cost) / E[height(k)].
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.core.fixed import Integers
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import exp_bounds
from discreet.core.search import first_integer
from discreet.noise.oracle import uniform_below
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.min_cut.trees import (
    MOST_TREES,
    Packing,
    Sides,
    all_cut_costs,
    certified_minimum,
    cut_costs,
    cuts_up_to,
    packings,
)

SMALL = 18
"""Up to so many vertices all cuts are scored."""
_WANTED = 0.0  # log of the mass outside the list, in weights of the smallest cut, that is good enough

Side = tuple[int, ...]
"""The vertices that are not with vertex 0, in order; empty for no cut at all."""


@dataclass(frozen=True, slots=True)
class CutChoice(Primitive[Integers, Side]):
    """Choose a cut with probability proportional to exp(-rate cost); none if the smallest is below `floor`.

    The value is a symmetric matrix of integer weights. One edge that appears lowers all scores or none, each
    by its weight at most, so the spread of the scores is the weight of the edges that change.
    """

    rate: Fraction
    sensitivity: Fraction
    floor: int = 0

    def sample(self, value: Integers, rng: Rng) -> Side:
        """Choose one."""
        if len(value) > SMALL:
            least, packing = certified_minimum(value)
            return () if least < self.floor else ManyCuts(value, self.rate, least, packing).draw(rng)
        costs = all_cut_costs(value)
        if costs.min() < self.floor:
            return ()
        return _side(1 + ExponentialChoice(self.rate, self.sensitivity).sample(-costs, rng))

    def law(self, value: Integers) -> Iterator[tuple[Side, Fraction]]:
        """Yield every cut with its probability."""
        costs = all_cut_costs(value)
        if costs.min() < self.floor:
            yield (), Fraction(1)
            return
        for place, p in ExponentialChoice(self.rate, self.sensitivity).law(-costs):
            yield _side(1 + place), p

    def distance(self, value: Integers, other: Integers) -> Fraction:
        """Return the weight of the edges that differ."""
        return Fraction(int(np.abs(np.triu(value - other)).sum()))


class ManyCuts:
    """All cuts of a graph, those near the smallest in a list and the others to be drawn by rejection."""

    def __init__(self, weights: Integers, rate: Fraction, least: int, packing: Packing) -> None:
        packing, most = _pack_enough(weights, rate, least, packing)
        self._sides, costs = _list_cuts(most, weights, least, packing)
        self._rest = _Rest(weights, rate, least - 1, most, packing)
        self._scores = np.append(-costs, -(least - 1) - self._rest.behind)
        self._choice = ExponentialChoice(rate, Fraction(1))

    def draw(self, rng: Rng) -> Side:
        """Choose a listed cut, or the rest and then one of its cuts; start again where that is rejected."""
        while True:
            place = self._choice.sample(self._scores, rng)
            side = self._sides[place] if place < len(self._sides) else self._rest.draw(rng)
            if side is not None:
                return tuple(np.flatnonzero(side).tolist())


def _side(bits: int) -> Side:
    return tuple(v for v in range(1, bits.bit_length() + 1) if bits >> (v - 1) & 1)


def _list_cuts(most: int, weights: Integers, least: int, packing: Packing) -> tuple[Sides, Integers]:
    if most < least:
        return np.zeros((0, len(weights)), dtype=np.bool_), np.zeros(0, dtype=np.int64)
    return cuts_up_to(most, weights, packing)


def _pack_enough(weights: Integers, rate: Fraction, least: int, packing: Packing) -> tuple[Packing, int]:
    """Return a packing and how far to list, so that about as much lies outside the list as inside it.

    Where more trees cannot reach that, the run gets slower, not wrong.
    """
    best = packing, _find_limit(len(weights), rate, least, packing)
    for better in packings(weights):
        if outside_log_mass(len(weights), rate, best[0].value, least, best[1]) <= _WANTED:
            break
        if better.value > best[0].value:
            best = better, _find_limit(len(weights), rate, least, better)
        if 40 * better.value >= 19 * least or len(better.trees) >= MOST_TREES:
            break
    return best


def _find_limit(size: int, rate: Fraction, least: int, packing: Packing) -> int:
    """Return the smallest cost to list up to that leaves little outside, or all that the trees allow."""

    def is_enough(most: int) -> bool:
        return outside_log_mass(size, rate, packing.value, least, most) <= _WANTED

    allowed = max(least - 1, math.ceil(3 * packing.value) - 1)
    return first_integer(is_enough, low=least - 2, high=allowed)


def outside_log_mass(size: int, rate: Fraction, value: Fraction, least: int, most: int) -> float:
    """Bound the log of sum exp(-rate (cost - least)) over all cuts that cost more than `most`, from above.

    It holds for every graph with a packing of at least this value.
    """
    k = np.arange(1, size, dtype=np.float64)
    r, carried = float(rate), k * float(value)
    short = np.maximum(0.0, most - carried)
    logs = -r * (np.maximum(carried, most) - least) + np.log1p(r * short)
    chosen = gammaln(size) - gammaln(k + 1) - gammaln(size - k)
    total = float(logsumexp(logs + chosen))
    return total + 1e-11 * (1 + abs(total) + size + r * (abs(least) + abs(most)))


class _Rest:
    """Draws cuts that cost more than `most`. Weights are counted in units of exp(-rate start)."""

    def __init__(self, weights: Integers, rate: Fraction, start: int, most: int, packing: Packing) -> None:
        self._weights, self._rate, self._start, self._most = weights, rate, start, most
        self._trees = packing.trees
        edges = len(weights) - 1
        self._heights = _heights(edges, rate, packing.value, most, start)
        masses = (math.comb(edges, k + 1) * height for k, height in enumerate(self._heights))
        self._ends = list(accumulate(masses))
        bits = _bits(edges)
        log_mass = math.log(self._ends[-1]) - bits * math.log(2)
        # All outcomes here together weigh at most exp(-rate behind), and never much less.
        self.behind = math.floor((-log_mass - 1e-9 * (1 + abs(log_mass) + bits)) / float(rate))

    def draw(self, rng: Rng) -> Sides | None:
        """Propose a cut and return it, or None."""
        tree = self._trees[uniform_below(len(self._trees), rng)]
        crossed = 1 + bisect_right(self._ends, uniform_below(self._ends[-1], rng))
        side = tree.side(_subset(len(self._weights) - 1, crossed, rng))
        cost = int(cut_costs(side[None, :], self._weights)[0])
        if cost <= self._most:
            return None
        proposed = sum(self._heights[tree.crossings(side) - 1] for tree in self._trees)
        factor = Fraction(self._ends[-1] * len(self._trees), proposed)
        return side if _coin(self._rate * (cost - self._start - self.behind), factor, rng) else None


def _bits(edges: int) -> int:
    """Return the precision of heights: errors vanish even when every set of edges has one."""
    return edges + 128


def _heights(edges: int, rate: Fraction, value: Fraction, most: int, start: int) -> list[int]:
    """Return integers not below height(k) exp(rate start) 2**bits for k = 1, ..., edges."""
    bits = _bits(edges)
    at_most = exp_bounds(rate * (most - start), bits)[1]
    heights = []
    for k in range(1, edges + 1):
        carried = k * value
        if carried < most:
            heights.append(math.ceil(at_most * (1 + rate * (most - carried))))
        else:
            heights.append(exp_bounds(rate * (carried - start), bits)[1])
    return heights


def _subset(size: int, count: int, rng: Rng) -> set[int]:
    """Draw a uniform set of `count` of the places 1, ..., size (Floyd's method)."""
    chosen: set[int] = set()
    for top in range(size - count + 1, size + 1):
        place = 1 + uniform_below(top, rng)
        chosen.add(top if place in chosen else place)
    return chosen


def _coin(exponent: Fraction, factor: Fraction, rng: Rng) -> bool:
    """Return True with probability factor * exp(-exponent), which is at most 1."""
    guard = math.ceil(factor).bit_length()
    known = bits = 0
    while True:
        known, bits = known << 64 | rng.bits(64), bits + 64
        low, high = exp_bounds(exponent, bits + guard)
        if known + 1 <= math.floor(low * factor) >> guard:
            return True
        if known >= -(-math.ceil(high * factor) >> guard):
            return False
