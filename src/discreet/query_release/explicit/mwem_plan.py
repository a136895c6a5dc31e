"""What a round of MWEM may ask, a whole table or a single query, and how a budget is shared out among rounds.

Each round chooses and measures; the rows are counted once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core.errors import Refused
from discreet.core.fixed import Array
from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import up
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import ConcentratedGaussian, Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.tables import Axes
from discreet.queries.workload import Workload
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.linear.joint_noise import root_up, variance

_COUNTING = Fraction(1, 20)  # of the budget, for the number of rows where it is private
_CHOOSING = Fraction(1, 10)  # of rho; choosing well takes less than measuring well
_CHOOSING_PURE = Fraction(1, 4)  # of epsilon, which grows with the root of rho
_FAR = float(1 << 60)  # what is said beyond is cut off: floats must not leave 64 bits

SURE = 1e-6
"""Probability that some noise is larger than what counts as clearly missed."""

Noise = Laplace | ConcentratedGaussian


class Residual(NamedTuple):
    """How far a measurement is clearly missed: a table over some axes to move along, its square and range."""

    axes: Axes
    direction: Array
    square: float
    width: float


class Questions(ABC):
    """The candidates of a round. Public; true answers are integers.

    Attributes
    ----------
    count
        How many candidates there are.
    shift
        How far one row moves a score, at most.
    moved, square
        How far one row moves the measured numbers, in the L1 norm and squared in the L2 norm.
    widest
        The most numbers that one candidate has.
    reach, width
        The largest size of a weight, and the largest difference of two weights of one query.
    """

    count: int
    shift: int
    moved: int
    square: int
    widest: int
    reach: int
    width: int

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def predict(self, hypothesis: Hypothesis) -> Array:
        """Return the hypothesis' answers, rounded to whole numbers so that scores are whole."""
        said = np.rint(np.clip(self.workload.answers(hypothesis.array), -_FAR, _FAR))
        return np.asarray(said, dtype=np.int64)

    @abstractmethod
    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return how wrong every candidate is, less what the noise (its mean size) would leave of it."""

    @abstractmethod
    def numbers(self, truth: Array, choice: int) -> Array:
        """Return the true answers of one candidate."""

    @abstractmethod
    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Compare a measurement with the hypothesis; differences count from `slack` on."""


class WholeTables(Questions):
    """Every table of some marginals is a candidate. Its score is its L1 distance."""

    def __init__(self, workload: Marginals, neighbours: Neighbours) -> None:
        super().__init__(workload)
        self._tables = workload.tables
        self.count = len(workload.sets)
        self._cells = np.diff(self._tables.offsets)
        self.widest = int(self._cells.max())
        # A row is in one cell of a table; a replaced row leaves one and enters another.
        self.shift = 2 if isinstance(neighbours, Replace) and self.widest > 1 else 1
        self.moved = self.square = self.shift
        self.reach = self.width = 1

    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return the L1 distances of the tables, less what the noise of a measurement would leave of them."""
        off = np.add.reduceat(np.abs(truth - said), self._tables.offsets[:-1])
        return np.asarray(off - np.rint(noise * self._cells).astype(np.int64))

    def numbers(self, truth: Array, choice: int) -> Array:
        """Return one true table, laid flat."""
        return truth[self._tables.offsets[choice] : self._tables.offsets[choice + 1]]

    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Return the table of differences."""
        axes = self._tables.wanted[choice]
        shape = [hypothesis.universe.shape[axis] for axis in axes]
        off = _beyond(noisy.reshape(shape) - hypothesis.table(axes), slack)
        return Residual(axes, off, float((off * off).sum()), float(off.max() - off.min()))


class SingleQueries(Questions):
    """Every query is a candidate. Its score is its error."""

    widest = 1

    def __init__(self, workload: Workload, neighbours: Neighbours) -> None:
        super().__init__(workload)
        if not workload.is_integral:
            raise Refused(
                what="a workload with weights that are not whole numbers",
                why="scores and measurements are exact integers",
                way_out="Multiply the weights by a public factor and round them",
            )
        self.count = len(workload)
        self.shift = max(1, math.floor(workload.sensitivity_bound(neighbours, norm=math.inf)))
        self.moved, self.square = self.shift, self.shift**2
        self.reach = math.ceil(workload.largest_weight)
        self.width = 1 if workload.is_predicates else max(int(high - low) for low, high in workload.extents())

    def scores(self, truth: Array, said: Array, noise: float) -> Array:
        """Return the errors."""
        del noise  # the same for all
        return np.asarray(np.abs(truth - said))

    def numbers(self, truth: Array, choice: int) -> Array:
        """Return one true answer."""
        return truth[choice : choice + 1]

    def residual(self, hypothesis: Hypothesis, choice: int, noisy: Array, slack: float) -> Residual:
        """Return the query's weights times its difference."""
        query = self.workload.query(choice)
        table = np.asarray(query.table(), dtype=np.float64)
        off = float(_beyond(np.asarray(float(noisy[0]) - hypothesis.answer(query)), slack))
        return Residual(query.axes, off * table, off * off, abs(off) * float(table.max() - table.min()))


@lru_cache(maxsize=64)
def questions(workload: Workload, neighbours: Neighbours) -> Questions:
    """Return whole tables for marginals, single queries for anything else."""
    workload.universe.require_dense()
    if isinstance(workload, Marginals):
        return WholeTables(workload, neighbours)
    return SingleQueries(workload, neighbours)


def _beyond(differences: Array, slack: float) -> Array:
    """Return how far beyond a slack every difference is."""
    return np.asarray(np.sign(differences) * np.maximum(np.abs(differences) - slack, 0.0))


@dataclass(frozen=True, slots=True)
class MWEMPlan:
    """The mechanisms of one release: all known before any data are seen.

    Attributes
    ----------
    choosing
        Chooses the candidate of a round; None where there is no choice.
    measuring
        The noise of a measured number; its size is that of the widest candidate.
    counting
        The noise of the number of rows; None where that is public.
    """

    choosing: Exponential | None
    measuring: Noise
    counting: Noise | None
    rounds: int

    @property
    def loss(self) -> Loss:
        """All rounds together."""
        parts: list[tuple[Loss, int]] = [(self.measuring.loss, self.rounds)]
        if self.choosing is not None:
            parts.append((self.choosing.loss, self.rounds))
        if self.counting is not None:
            parts.append((self.counting.loss, 1))
        return Composed(tuple(parts))

    def mean_noise(self) -> float:
        """Return about the mean size of one measured noise."""
        spread = math.sqrt(variance_of(self.measuring))
        return spread * math.sqrt(0.5 if isinstance(self.measuring, Laplace) else 2 / math.pi)

    def bound(self, reach: int, beta: float) -> float:
        """Bound the noise of all single measurements, plus `reach` times that of the count, but for beta."""
        each = resize(self.measuring, 1).error(beta / (2 * self.rounds))
        return each + (0.0 if self.counting is None else reach * self.counting.error(beta / 2))

    def slack(self, asked: Questions) -> float:
        """Return up to where a difference may be noise: surely for queries, by and large for tables."""
        return self.bound(asked.reach, SURE) if asked.widest == 1 else math.sqrt(variance_of(self.measuring))


def variance_of(noise: Noise) -> float:
    """Return the variance of one noise."""
    return up(noise.variance) if isinstance(noise, ConcentratedGaussian) else variance(noise)


@lru_cache(maxsize=256)
def resize(noise: Noise, size: int) -> Noise:
    """Return the same noise for another number of numbers."""
    if isinstance(noise, Laplace):
        return Laplace(
            sensitivity=noise.sensitivity, epsilon=noise.epsilon, size=size, neighbours=noise.neighbours
        )
    return ConcentratedGaussian(
        l2_sensitivity=noise.l2_sensitivity, rho=noise.rho, size=size, neighbours=noise.neighbours
    )


@lru_cache(maxsize=64)
def plan(
    asked: Questions, neighbours: Neighbours, rounds: int, epsilon: Fraction, delta: Fraction
) -> MWEMPlan:
    """Share out a budget: pure where delta is 0, else by zCDP."""
    pure = delta == 0
    whole = epsilon if pure else zcdp_rho(epsilon=epsilon, delta=delta)
    counted = Fraction(0) if isinstance(neighbours, Replace) else _COUNTING
    chosen = Fraction(0) if asked.count == 1 else _CHOOSING_PURE if pure else _CHOOSING

    def measure(share: Fraction, moved: int, square: int, size: int) -> Noise:
        if pure:
            return Laplace(sensitivity=moved, epsilon=whole * share, size=size, neighbours=neighbours)
        root = root_up(square)
        return Gaussian.for_rho(whole * share, l2_sensitivity=root, size=size, neighbours=neighbours)

    choosing = counting = None
    if chosen:
        part = whole * chosen / rounds
        given: dict[str, Any] = {"sensitivity": asked.shift, "size": asked.count, "neighbours": neighbours}
        choosing = Exponential(epsilon=part, **given) if pure else Exponential.for_rho(part, **given)
    if counted:
        counting = measure(counted, 1, 1, 1)
    measuring = measure((1 - counted - chosen) / rounds, asked.moved, asked.square, asked.widest)
    return MWEMPlan(choosing, measuring, counting, rounds)
