"""Adaptive release: choose the tables that the model gets most wrong, measure them, learn, and again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import Array
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_up
from discreet.mechanisms.scores import rate_within
from discreet.noise import AddNoise, DiscreteGaussian
from discreet.noise.selection import ExponentialChoice
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Tabled
from discreet.query_release.base import WorkloadRelease, write_as
from discreet.query_release.fitting.junction import Axes, closure, order_axes
from discreet.query_release.linear.joint_noise import root_up
from discreet.query_release.models.adaptive_plan import (
    AdaptivePlan,
    Candidate,
    candidates,
    penalty,
    plan,
    share_of,
    shares,
    sweep_error,
    weights,
)
from discreet.query_release.models.factored import coarsen
from discreet.query_release.models.factored_learner import Learner, MeasuredTable
from discreet.query_release.models.factored_synopsis import Factored

_FARTHEST = 1 << 60  # rows: larger distances are cut off there
_EVEN = 2 / 3
"""Precision in proportion to size**(2/3) makes the sum of the tables' absolute errors smallest."""

_WORTH_IT = 0.15
"""All wanted tables are measured once that alone would leave an error below this share of the rows."""


@frozen
class Adaptive(WorkloadRelease):
    """Answer marginals over a universe of any size from a factored model that is grown where it is wrong.

    Privacy: (epsilon, delta), by concentrated composition of a fixed list of steps. [CKS20], [DDR20].
    Accuracy: depends on the data, so there is no error(beta); `Factored.deviations` estimates it afterwards.
    measured_error(beta) is for the attributes' own tables, as measured.
    Time: a few seconds for 14 attributes and 64 tables; it grows with `cells` and `rounds`.

    Parameters
    ----------
    workload
        What must be answered well: marginals, or other queries that look at few attributes each.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    rounds, choices
        How many rounds there are, and how many tables are chosen and measured in each.
    cells
        How many numbers the model's cliques may hold. More is slower, and lets the model hold more sets.

    Examples
    --------
    >>> universe = Universe([("age", range(80)), ("smoker", (0, 1)), ("region", range(4))])
    >>> pairs = Marginals.of_order(universe, 2)
    >>> mechanism = Adaptive(workload=pairs, epsilon=1, delta=1e-6, neighbours=AddRemove("person"))
    >>> mechanism.guarantee.implies(epsilon=1, delta=1e-6)
    True
    """

    workload: Tabled = public(write_as, Tabled)
    delta: Exact = public(checks.probability)
    rounds: int = public(checks.integer, 1, default=10)
    choices: int = public(checks.integer, 1, default=4)
    cells: int = public(checks.integer, 1, default=100_000)

    @property
    def plan(self) -> AdaptivePlan:
        """What every step costs."""
        return plan(
            epsilon=self.epsilon,
            delta=self.delta,
            square=self._moved,
            steps=self.rounds,
            choices=self.choices,
            chooses=self._chooses,
        )

    @property
    def loss(self) -> Loss:
        """The loss of all steps together."""
        return self.plan.loss

    def error(self, beta: checks.Number) -> float:
        """Refuse: a model misses every dependence that it is not told of, so no bound holds on all data."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the answers of a model",
            why="what it was not told of it misses, and how much that is depends on the data",
            way_out="See measured_error for the attributes' own tables, standard_errors for an estimate",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Return alpha: all noise in the attributes' own tables is below alpha with probability 1 - beta.

        These are the first `measurements` of the synopsis; its answers are those of a model.
        """
        sizes = [self.workload.universe.shape[axis] for axis in self._singles]
        widest = max(share_of(self.plan.singles, share) for share in shares(sizes, _EVEN))
        return float(DiscreteGaussian(widest).reach(each_of(sum(sizes), beta)))

    # Public facts --------------------------------------------------------------------------------

    @property
    def _moved(self) -> int:
        """How many cells of one table change by one when a row does."""
        return 2 if isinstance(self.neighbours, Replace) else 1

    @property
    def _sets(self) -> tuple[Axes, ...]:
        shape = self.workload.universe.shape
        return tuple(order_axes(shape, axes) for axes in self.workload.sets if axes)

    @property
    def _singles(self) -> tuple[int, ...]:
        """The attributes of the workload; the first one where it asks for the total only."""
        return tuple(sorted(set(itertools.chain(*self._sets)))) or (0,)

    @property
    def _chooses(self) -> bool:
        """Whether there are more tables than are measured in a round."""
        return len(closure(self._sets)) > self.choices

    # The release ---------------------------------------------------------------------------------

    def _draw(self, data: Any, rng: Rng) -> Factored:
        return _Run(self, self._histogram(data), rng).run()


class _Run:
    """One release: the true tables, the measurements so far, and what was learned from them."""

    def __init__(self, mechanism: Adaptive, histogram: Histogram, rng: Rng) -> None:
        self.mechanism, self.rng, self.plan = mechanism, rng, mechanism.plan
        self.universe = mechanism.workload.universe
        self.sets = mechanism._sets  # noqa: SLF001 - its own mechanism
        self.closure = closure(self.sets) or ((mechanism._singles[0],),)  # noqa: SLF001
        self.weights = weights(self.closure, self.sets)
        self.truth = _true_tables(histogram, self.closure)
        self.done: list[MeasuredTable] = []
        singles: list[Candidate] = [((axis,), ()) for axis in mechanism._singles]  # noqa: SLF001
        self.learner = Learner(
            self.universe.shape,
            cells=mechanism.cells,
            singles=self._measure(singles, self.plan.singles, _EVEN),
            ordinal=[axis for axis in range(len(self.universe.shape)) if _is_ordinal(self.universe, axis)],
        )

    def run(self) -> Factored:
        """Go through the rounds."""
        sweeping = False
        for step in track(range(self.plan.steps), total=self.plan.steps, label="measuring"):
            if self.plan.range_ is None:
                self.learner.add(self._measure([(axes, ()) for axes in self.closure], self.plan.rounds, 0.0))
                continue
            sweeping = sweeping or (step == self.plan.steps // 2 and self._worth_sweeping())
            if sweeping:
                swept: list[Candidate] = [(axes, ()) for axes in self.sets]
                self.learner.keep_apart(self._measure(swept, self.plan.rounds, _EVEN))
            else:
                self.learner.add(self._measure(self._choose(), self.plan.rounds, 0.0))
        return Factored(self.universe, self.learner, self.done)

    def _measure(self, wanted: list[Candidate], variance: Fraction, power: float) -> list[MeasuredTable]:
        """Add noise to some tables, which share one precision."""
        exact = [coarsen(self.truth[axes], grain) for axes, grain in wanted]
        found = []
        for (axes, grain), table, share in zip(
            wanted, exact, shares([table.size for table in exact], power), strict=True
        ):
            own = share_of(variance, share)
            noisy = self.rng.perform(_noise(own, self.plan.square), table.reshape(-1))
            counts = np.asarray(noisy, dtype=np.int64).reshape(table.shape)
            found.append(MeasuredTable(axes, grain, counts, float(own)))
        self.done += found
        return found

    def _choose(self) -> list[Candidate]:
        """Choose tables by the exponential mechanism; none that contains another one of this round."""
        tables = {axes: self.learner.table(axes) for axes in self.closure}
        offered = candidates(self.closure, tables)
        variance = float(self.plan.rounds) * self.plan.choices
        scores = []
        for axes, grain in offered:
            guess = coarsen(tables[axes], grain)
            truth = coarsen(self.truth[axes], grain)
            # Cut off where products would leave 64 bits: that moves no two tables further apart.
            missed = min(_distance(truth, guess), _FARTHEST // self.weights[axes])
            known = 1.0 / (1.0 / variance + self.learner.precision((axes, grain)))
            scores.append(self.weights[axes] * (missed - penalty(guess, known)))
        return self._choose_among(offered, scores)

    def _choose_among(self, offered: list[Candidate], scores: list[int]) -> list[Candidate]:
        # A row changes each score by at most its weight, one up and another down.
        spread = 2 * self.plan.square * max(self.weights.values())
        choice = ExponentialChoice(rate_within(self.plan.range_ or Fraction(0), spread), Fraction(spread))
        chosen: list[Candidate] = []
        for _ in range(self.plan.choices):
            if not offered:
                break
            place = self.rng.perform(choice, np.array(scores, dtype=np.int64))
            taken = offered[place]
            chosen.append(taken)
            apart = [p for p, (axes, _) in enumerate(offered) if not _are_nested(axes, taken[0])]
            offered, scores = [offered[p] for p in apart], [scores[p] for p in apart]
        return chosen

    def _worth_sweeping(self) -> bool:
        """Tell, from what was released so far, whether to measure all wanted tables from now on."""
        left = self.plan.steps - self.plan.steps // 2
        tables = [self.learner.table(axes) for axes in self.sets]
        split = shares([table.size for table in tables], _EVEN)
        variances = [float(self.plan.rounds / share) / left for share in split]
        return sweep_error(tables, variances) < _WORTH_IT * self.learner.total


def _distance(truth: Array, guess: Array) -> int:
    """Return the L1 distance between true counts and a public guess, rounded cell by cell."""
    whole = np.rint(np.clip(guess, -float(_FARTHEST), float(_FARTHEST))).astype(np.int64)
    off = np.abs(truth - whole)
    # The counts add up to 62 bits at most; only a wild guess makes the sum longer.
    return int(off.sum()) if float(np.abs(guess).sum()) <= _FARTHEST else sum(map(int, off.flat))


def _true_tables(histogram: Histogram, sets: tuple[Axes, ...]) -> dict[Axes, Array]:
    """Return the exact counts over each set, with the axes in its order."""
    tables = _tables(histogram.universe, sets)
    answers = tables.answers(histogram)
    found = {}
    for place, axes in enumerate(sets):
        found[axes] = tables.table(answers, place).transpose([sorted(axes).index(axis) for axis in axes])
    return found


@lru_cache(maxsize=16)
def _tables(universe: Universe, sets: tuple[Axes, ...]) -> Marginals:
    return Marginals(universe, [[universe.names[axis] for axis in axes] for axes in sets])


def _are_nested(one: Axes, other: Axes) -> bool:
    return set(one) <= set(other) or set(other) <= set(one)


def _is_ordinal(universe: Universe, axis: int) -> bool:
    """Tell whether an attribute's declared values are numbers in order."""
    values = universe.attributes[axis].values
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(a < b for a, b in itertools.pairwise(values))


@lru_cache(maxsize=1024)
def _noise(variance: Fraction, square: int) -> AddNoise:
    return AddNoise(DiscreteGaussian(variance), sensitivity=shorten_up(root_up(square), 10), norm=2)


_EXAMPLE = Marginals.of_order(Universe([("age", range(20)), ("smoker", (0, 1)), ("region", range(4))]), 2)
_TINY = Marginals(Universe([("a", (0,))]), [["a"]])


def _example() -> tuple[Adaptive, Histogram]:
    counts = np.arange(160).reshape(_EXAMPLE.universe.shape) * 7 % 31
    mechanism = Adaptive(
        workload=_EXAMPLE,
        epsilon=1,
        delta=1e-6,
        neighbours=AddRemove("person"),
        rounds=3,
        choices=2,
        cells=2000,
    )
    return mechanism, Histogram.dense(_EXAMPLE.universe, counts)


def _tiny() -> Iterator[Tiny]:
    # One cell: what is hidden is whether a row is there. A further noisy number makes ten times the outcomes.
    none, one, two = (Histogram.dense(_TINY.universe, [count]) for count in range(3))
    mechanism = Adaptive(workload=_TINY, epsilon=4, delta=1e-3, neighbours=AddRemove("row"), rounds=1)
    yield Tiny(mechanism, [(none, one), (one, two)])


CARD = Card(
    title="Adaptive select, measure, generate over factored models",
    theorem="(epsilon, delta)-differential privacy; tables over universes of any size",
    reference="[MMSM22] Section 4; [CKS20]; [DDR20]",
    example=_example,
    tiny=_tiny,
)
