"""What every random step is drawn on, besides what tiny instances give it.

Tiny instances are small, and samplers branch: on arrays, on many candidates, on wide noise. So each primitive
is declared here with inputs for every such branch whose law can still be listed; a test refuses a primitive
that is not. Choices have 64 candidates, but for noisy maxima and permute-and-flip, whose laws grow faster.
Cuts of more than 18 vertices have too many outcomes; tests of their own compare sampler and law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from discreet.analysts.games.bregman_choice import CappedChoice, Sides, Teams
from discreet.analysts.games.cells import CellChoice, Hits
from discreet.analysts.games.scores import BitRows
from discreet.audit.museum.protocol import Coin
from discreet.audit.museum.sparse_vector import NoisyAboveOnly
from discreet.core.rng import Primitive
from discreet.mechanisms.randomized_response import Respond
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise import (
    AddNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    NoisyComparison,
    OneSidedGeometric,
)
from discreet.noise.selection import (
    ExponentialChoice,
    FlippedChoice,
    NoisyArgmax,
    NoisyArgmaxGap,
    PeeledChoices,
)
from discreet.optimisation.common.best_of_runs import RunCount
from discreet.optimisation.common.graphs import EdgeSet
from discreet.optimisation.common.orders import DegreeOrder, SampledOrder, UniformOrder
from discreet.optimisation.min_cut.choice import CutChoice
from discreet.optimisation.public_projects.agents import Coverage
from discreet.optimisation.public_projects.public_projects_sampled import SampledGreedy
from discreet.optimisation.set_cover.greedy import Greedy, SampledRun
from discreet.optimisation.set_cover.systems import SetSystem
from discreet.optimisation.vertex_cover.scored_orders import ScoredOrder
from discreet.query_release.median.median_thesis import Steps
from discreet.query_release.online.gate import FirstAbove

Input = tuple[Primitive[Any, Any], Any]
"""A random step, and what it is given."""

_ONE = Fraction(1)
_SCORES = np.arange(64) * 5 % 64
_EDGES = EdgeSet(np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [1, 3]]))
_LAWS: tuple[tuple[type[Noise], Noise, Noise], ...] = (
    (DiscreteLaplace, DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(40))),
    (OneSidedGeometric, OneSidedGeometric(Fraction(2)), OneSidedGeometric(Fraction(40))),
    (DiscreteGaussian, DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(40**2))),
)


def list_inputs(kind: type[Primitive[Any, Any]], law: type[Noise] | None = None) -> Iterator[Input]:
    """Yield the inputs of a primitive; of one that adds noise, those with noise of one law."""
    if kind in NOISY:
        for its, narrow, wide in _LAWS:
            if its is law:
                yield from NOISY[kind](narrow, wide)
    elif kind in INPUTS:
        yield from INPUTS[kind]()


def _sums(narrow: Noise, wide: Noise) -> Iterator[Input]:
    for noise in (narrow, wide):
        add = AddNoise(noise, _ONE)
        yield from ((add, 10**30), (add, np.zeros(64, dtype=np.int64)), (add, np.arange(4_000)))


def _comparisons(narrow: Noise, wide: Noise) -> Iterator[Input]:
    yield NoisyComparison(narrow, _ONE), (0, 3)
    yield NoisyComparison(wide, _ONE), (10**30, 10**30 + 40)


def _maxima(narrow: Noise, wide: Noise) -> Iterator[Input]:
    yield NoisyArgmax(narrow, _ONE), np.array([0, 2, 3, 1, 0, 3])
    yield NoisyArgmax(wide, _ONE), np.array([0, 30])


def _gaps(narrow: Noise, wide: Noise) -> Iterator[Input]:
    del wide  # the law of two numbers grows with the square of the scale
    yield NoisyArgmaxGap(narrow, _ONE), np.array([0, 2, 3, 1])


def _first_ones(narrow: Noise, wide: Noise) -> Iterator[Input]:
    for noise, bar in ((narrow, 5), (wide, 80)):
        yield FirstAbove(noise, _ONE), np.stack([np.arange(64) % 3, np.full(64, bar)])


def _first_values(narrow: Noise, wide: Noise) -> Iterator[Input]:
    yield NoisyAboveOnly(narrow, _ONE), (0, 2)
    yield NoisyAboveOnly(wide, _ONE), (0, 40)


NOISY: Mapping[type[Primitive[Any, Any]], Callable[[Noise, Noise], Iterator[Input]]] = {
    AddNoise: _sums,
    NoisyComparison: _comparisons,
    NoisyArgmax: _maxima,
    NoisyArgmaxGap: _gaps,
    FirstAbove: _first_ones,
    NoisyAboveOnly: _first_values,
}
"""Steps that add noise, each with inputs for narrow and for wide noise of a law."""


def _exponential_choices() -> Iterator[Input]:
    base = tuple(Fraction(1 + k % 5, 2) for k in range(64))
    yield ExponentialChoice(Fraction(1, 16), _ONE), _SCORES
    yield ExponentialChoice(Fraction(1, 16), _ONE, base), _SCORES
    yield ExponentialChoice(Fraction(1, 16 << 40), _ONE), _SCORES << 40


def _peelings() -> Iterator[Input]:
    yield PeeledChoices(Fraction(1, 16), _ONE, 2), _SCORES
    yield PeeledChoices(Fraction(2), _ONE, 2), np.array([0, 1, 5, 0, 2, 1])  # one takes up most of the board


def _flips() -> Iterator[Input]:
    yield FlippedChoice(Fraction(1, 8), _ONE), _SCORES[:20]
    yield FlippedChoice(Fraction(1, 8), _ONE), np.where(np.arange(32) % 8, -(10**6), _SCORES[:32])


def _responses() -> Iterator[Input]:
    for epsilon, categories in ((3, 5), (1, 2), (4, 1000)):
        respond = Respond(Fraction(epsilon), categories)
        yield respond, 1
        yield respond, np.arange(64) % categories


def _orders() -> Iterator[Input]:
    yield DegreeOrder(5, 5, Fraction(1, 2)), _EDGES
    yield DegreeOrder(5, 3, Fraction(2), growing=True), _EDGES


def _scored_orders() -> Iterator[Input]:
    yield ScoredOrder.of((1, 2, 2, 5, 1), Fraction(1, 2)), _EDGES
    yield ScoredOrder((0, 0, 1, 1, 1), (3, 1), _ONE, (1, 2), limit=2), _EDGES


def _cuts() -> Iterator[Input]:
    places = np.arange(7)
    weights = (places[:, None] * places + 3) % 5 + 1
    symmetric = np.triu(weights, 1) + np.triu(weights, 1).T
    yield CutChoice(Fraction(1, 8), _ONE), symmetric
    yield CutChoice(Fraction(1, 8), _ONE, floor=100), symmetric


def _greedy_runs() -> Iterator[Input]:
    wanted = sparse.csr_array(np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]))
    yield SampledGreedy(2, _ONE, _ONE, 3 << 62), Coverage(wanted)


def _covers() -> Iterator[Input]:
    system = SetSystem(([0, 1, 2], [1, 3], [2, 3]))
    yield SampledRun(Greedy(system, Fraction(1, 2)), _ONE), np.ones(4, dtype=np.bool_)


def _cells() -> Iterator[Input]:
    hits = Hits(BitRows(np.packbits(np.arange(64) < np.arange(0, 64, 8)[:, None], axis=1), 64))
    for row in (1, 2, 2, 4, 4, 4, 7):
        hits = hits.after(row, 1)
    yield CellChoice(Fraction(1, 4), _ONE), hits


def _capped_choices() -> Iterator[Input]:
    yield CappedChoice(Fraction(1, 8), 8, _ONE), Sides(_SCORES[:32])
    yield CappedChoice(Fraction(1, 8), 3, _ONE), Teams(_SCORES.reshape(16, 4) % 16)


INPUTS: Mapping[type[Primitive[Any, Any]], Callable[[], Iterator[Input]]] = {
    ExponentialChoice: _exponential_choices,
    PeeledChoices: _peelings,
    FlippedChoice: _flips,
    Respond: _responses,
    Partition: lambda: iter([(Partition(3), 4), (Partition(7), 64)]),
    RunCount: lambda: iter([(RunCount(Fraction(1, 5)), None), (RunCount(Fraction(1, 10)), None)]),
    Steps: lambda: iter([(Steps(6), None), (Steps(40), None)]),
    UniformOrder: lambda: iter([(UniformOrder(), 4), (UniformOrder(), 64)]),
    DegreeOrder: _orders,
    SampledOrder: lambda: iter([(SampledOrder(step, _ONE), edges) for step, edges in _orders()]),
    ScoredOrder: _scored_orders,
    CutChoice: _cuts,
    SampledGreedy: _greedy_runs,
    SampledRun: _covers,
    CellChoice: _cells,
    CappedChoice: _capped_choices,
    Coin: lambda: iter([(Coin(), 0), (Coin(), 1)]),
}
"""All other steps."""
