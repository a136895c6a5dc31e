"""What every random step is drawn on, besides what tiny instances give it.

Tiny instances are small, and samplers branch: on arrays, on many candidates, on wide noise. So each primitive
is declared here with inputs for every such branch whose law can still be listed; a test refuses a primitive
that is not. Choices have 64 candidates, but for noisy maxima and permute-and-flip, whose laws grow faster.
Cuts of more than 18 vertices have too many outcomes; tests of their own compare sampler and law.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from discreet.analysts.games.bregman_choice import CappedChoice, Sides, Teams
from discreet.analysts.games.cells import CellChoice, Hits
from discreet.analysts.games.scores import BitRows
from discreet.audit.museum.protocol import Coin
from discreet.audit.museum.sparse_vector import NoisyAboveOnly
from discreet.audit.museum.streams import Toss
from discreet.core.rng import Primitive
from discreet.learning.experts.lazy_majority import KeepCoin
from discreet.local.distributions.square_wave import SquareWave
from discreet.local.frequencies.direct_response import DirectResponse
from discreet.local.frequencies.hadamard_response import HadamardResponse
from discreet.local.frequencies.local_hashing import LocalHashing
from discreet.local.frequencies.memoised_unary import MemoisedUnary, TurnBits
from discreet.local.frequencies.optimised_unary import OptimisedUnary
from discreet.local.frequencies.projective_response import ProjectiveResponse
from discreet.local.frequencies.subset_selection import SubsetSelection
from discreet.local.frequencies.symmetric_unary import SymmetricUnary
from discreet.local.laws.answers import AnswerKernel
from discreet.local.laws.coordinates import CoordinatesKernel
from discreet.local.laws.parities import ParityKernel
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.means.hybrid_mean import HybridMean
from discreet.local.means.piecewise_mean import PiecewiseMean
from discreet.local.means.sign_mean import SignMean
from discreet.local.steps import DrawReports
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
_LOCAL = (DirectResponse, SymmetricUnary, OptimisedUnary, LocalHashing, HadamardResponse, SubsetSelection)
_LAWS: tuple[tuple[type[Noise], Noise, Noise], ...] = (
    (DiscreteLaplace, DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(40))),
    (OneSidedGeometric, OneSidedGeometric(Fraction(2)), OneSidedGeometric(Fraction(40))),
    (DiscreteGaussian, DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(40**2))),
)


def list_inputs(kind: type[Primitive[Any, Any]], law: type[Noise] | None = None) -> Iterator[Input]:
    """Yield the inputs of a primitive; of one that adds noise, those with noise of one law."""
    noisy = (_noisy_inputs(narrow, wide) for its, narrow, wide in _LAWS if its is law)
    for step, value in chain(_other_inputs(), *noisy):
        if type(step) is kind:
            yield step, value


@cache
def _noisy_inputs(narrow: Noise, wide: Noise) -> tuple[Input, ...]:
    sums = (AddNoise(narrow, _ONE), AddNoise(wide, _ONE))
    columns = (10**30, np.zeros(64, dtype=np.int64), np.arange(4_000))
    return (
        *((add, value) for add in sums for value in columns),
        (NoisyComparison(narrow, _ONE), (0, 3)),
        (NoisyComparison(wide, _ONE), (10**30, 10**30 + 40)),
        (NoisyArgmax(narrow, _ONE), np.array([0, 2, 3, 1, 0, 3])),
        (NoisyArgmax(wide, _ONE), np.array([0, 30])),
        # The law of two numbers grows with the square of the scale: no wide noise.
        (NoisyArgmaxGap(narrow, _ONE), np.array([0, 2, 3, 1])),
        (FirstAbove(narrow, _ONE), np.stack([np.arange(64) % 3, np.full(64, 5)])),
        (FirstAbove(wide, _ONE), np.stack([np.arange(64) % 3, np.full(64, 80)])),
        (NoisyAboveOnly(narrow, _ONE), (0, 2)),
        (NoisyAboveOnly(wide, _ONE), (0, 40)),
    )


def _local_inputs() -> Iterator[Input]:
    """Yield local protocols on one value and on several people, whose reports are drawn another way."""
    for kind in (*_LOCAL, ProjectiveResponse):
        for epsilon, size in ((Fraction(1), 4), (Fraction(3), 5)):
            step = DrawReports(kind(epsilon=epsilon, domain=size).kernel)
            yield step, size - 1
            yield step, np.array([size - 1, 0])
    for mean in (SignMean, PiecewiseMean, HybridMean, SquareWave):
        step = DrawReports(mean(epsilon=2, lower=-1, upper=1, steps=4).kernel)
        yield step, 3
        yield step, np.array([4, 1])
    vectors = DrawReports(CoordinatesKernel.make(0, Fraction(2), 3, 2))
    yield vectors, 7
    yield vectors, np.array([[1, 2], [0, 1]])
    parities = DrawReports(ParityKernel(3, 2, Fraction(4)))
    yield parities, 5
    yield parities, np.array([6, 1])
    answers = DrawReports(AnswerKernel.make(3, Fraction(2), (0, 1, 4), 4))
    yield answers, 1
    yield answers, np.array([2, 0])
    repeated = MemoisedUnary(epsilon=3, once=1, domain=3).memos
    yield TurnBits(repeated), 5
    yield TurnBits(repeated), np.array([[2], [5]], dtype=np.uint8)
    search = DrawReports(PrefixKernel(4, Fraction(7), 2, 1, 1))  # two levels of one bit
    yield search, 2
    yield search, np.array([3, 1], dtype=np.uint64)


@cache
def _other_inputs() -> tuple[Input, ...]:
    base = tuple(Fraction(1 + k % 5, 2) for k in range(64))
    responses = [
        Respond(Fraction(epsilon), categories) for epsilon, categories in ((3, 5), (1, 2), (4, 1000))
    ]
    orders = (DegreeOrder(5, 5, Fraction(1, 2)), DegreeOrder(5, 3, Fraction(2), growing=True))
    places = np.arange(7)
    weights = np.triu((places[:, None] * places + 3) % 5 + 1, 1)
    wanted = sparse.csr_array(np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]))
    system = SetSystem(([0, 1, 2], [1, 3], [2, 3]))
    hits = Hits(BitRows(np.packbits(np.arange(64) < np.arange(0, 64, 8)[:, None], axis=1), 64))
    for row in (1, 2, 2, 4, 4, 4, 7):
        hits = hits.after(row, 1)
    return (
        (ExponentialChoice(Fraction(1, 16), _ONE), _SCORES),
        (ExponentialChoice(Fraction(1, 16), _ONE, base), _SCORES),
        (ExponentialChoice(Fraction(1, 16 << 40), _ONE), _SCORES << 40),
        (PeeledChoices(Fraction(1, 16), _ONE, 2), _SCORES),
        (PeeledChoices(Fraction(2), _ONE, 2), np.array([0, 1, 5, 0, 2, 1])),  # one takes up most of the board
        (FlippedChoice(Fraction(1, 8), _ONE), _SCORES[:20]),
        (FlippedChoice(Fraction(1, 8), _ONE), np.where(np.arange(32) % 8, -(10**6), _SCORES[:32])),
        *((respond, 1) for respond in responses),
        *((respond, np.arange(64) % respond.categories) for respond in responses),
        (Partition(3), 4),
        (Partition(7), 64),
        (RunCount(Fraction(1, 5)), None),
        (RunCount(Fraction(1, 10)), None),
        (Steps(6), None),
        (Steps(40), None),
        (UniformOrder(), 4),
        (UniformOrder(), 64),
        *((order, _EDGES) for order in orders),
        *((SampledOrder(order, _ONE), _EDGES) for order in orders),
        (ScoredOrder.of((1, 2, 2, 5, 1), Fraction(1, 2)), _EDGES),
        (ScoredOrder((0, 0, 1, 1, 1), (3, 1), _ONE, (1, 2), limit=2), _EDGES),
        (CutChoice(Fraction(1, 8), _ONE), weights + weights.T),
        (CutChoice(Fraction(1, 8), _ONE, floor=100), weights + weights.T),
        (SampledGreedy(2, _ONE, _ONE, 3 << 62), Coverage(wanted)),
        (SampledRun(Greedy(system, Fraction(1, 2)), _ONE), np.ones(4, dtype=np.bool_)),
        (CellChoice(Fraction(1, 4), _ONE), hits),
        (CappedChoice(Fraction(1, 8), 8, _ONE), Sides(_SCORES[:32])),
        (CappedChoice(Fraction(1, 8), 3, _ONE), Teams(_SCORES.reshape(16, 4) % 16)),
        (KeepCoin(Fraction(3, 4), Fraction(1, 8), _ONE), 0),
        (KeepCoin(Fraction(9, 10), Fraction(1, 8), _ONE), 5),
        (Coin(), 0),
        (Coin(), 1),
        (Toss(Fraction(1, 4)), 0),
        (Toss(Fraction(1, 4)), 1),
        *_local_inputs(),
    )


NOISY = tuple(dict.fromkeys(type(step) for step, _ in _noisy_inputs(*_LAWS[0][1:])))
"""Steps that add noise, each with inputs for narrow and for wide noise of a law."""
INPUTS = tuple(dict.fromkeys(type(step) for step, _ in _other_inputs()))
"""All other steps."""
