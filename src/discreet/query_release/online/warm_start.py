"""What a warm start knows: where the hypothesis begins, and which questions need no gate.

A question about attributes that were measured together has an unbiased estimate whose noise is known. Its
distance from what the hypothesis says, plus a bound on that noise that holds for *all* boxes at once, bounds
the error of the hypothesis by public numbers. Where that is small enough, no test on the data is needed.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.errors import Refused
from discreet.core.fixed import Bools, Floats
from discreet.core.neighbours import Replace
from discreet.core.rounding import up
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.fitting.entropy_fit import normalise
from discreet.query_release.fitting.quasi_newton import minimise
from discreet.query_release.fitting.weights import Hypothesis, KeptTables, marginal_table
from discreet.query_release.linear.independent import NoisyAnswers
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.boxes import Boxes
from discreet.query_release.online.questions import Question
from discreet.query_release.synopses.marginal_tables import MarginalTables
from discreet.query_release.synopses.synopsis import Synopsis, Weights

CLOSE, FLAT = 0.03, 0.1
"""How much the flattest weights are preferred to a closer fit.

Close weights answer what was measured; flat ones say less that is wrong about everything else.
"""
STEPS = 300
UNIFORM = 1e-4
"""The part of the total that is spread over all cells, so that no weight is zero."""

_BLOCK = 1024  # boxes looked at together


def starting_weights(synopsis: Synopsis) -> Floats:
    """Return positive weights that a synopsis implies."""
    if isinstance(synopsis, MarginalTables):
        return fit_weights(synopsis, flatness=FLAT)
    if isinstance(synopsis, NoisyAnswers) and _is_whole(synopsis.workload):
        total = max(synopsis.total, 1.0)
        cells = onto_simplex(synopsis.marginal(synopsis.universe.names), total)
        return (1 - UNIFORM) * cells + UNIFORM * total / cells.size
    if isinstance(synopsis, Weights):
        total = max(synopsis.total, 1.0)
        return (1 - UNIFORM) * synopsis.weights + UNIFORM * total / synopsis.universe.size
    raise Refused(
        what=f"a warm start from a {type(synopsis).__name__}",
        why="it has no weight for every cell",
        way_out="Start from ResidualMarginals(...), or from a mechanism whose synopsis is a Weights",
    )


def _is_whole(workload: Workload) -> bool:
    """Tell whether a workload is the one table over all attributes."""
    everything = tuple(range(len(workload.universe.shape)))
    return isinstance(workload, Marginals) and workload.sets == (everything,)


class Known:
    """Bounds on the error of boxes, from measured residuals. Public.

    Parameters
    ----------
    mechanism, tables
        What was measured and how, and what came out.
    beta
        The probability that some bound fails, over all boxes together.

    Attributes
    ----------
    array
        Numbers over the universe, some negative, whose sums over boxes are the estimates.
    weights
        A hypothesis that fits the measured tables closely, and never changes: what boxes are answered by.
    """

    def __init__(self, mechanism: ResidualMarginals, tables: MarginalTables, *, beta: float) -> None:
        self.universe: Universe = tables.universe
        layout, noise = mechanism.layout, up(mechanism.noise.variance)
        self._sets = np.array([[axis in known for axis in self._axes] for known in tables.sets])
        self._residuals = np.array([[axis in kept for axis in self._axes] for kept in layout.sets])
        rounded = (1 - 1 / (mechanism.fineness + 1)) ** -2  # a multiplier k was cut down from below k + 1
        self._variances = noise * rounded / np.array(layout.strengths, dtype=np.float64)
        self._odds = math.log(4 * 2 ** max(len(known) for known in tables.sets) * len(tables.sets) / beta)
        self.weights = Hypothesis(self.universe, max(tables.total, 1.0), fit_weights(tables, flatness=CLOSE))
        self._tables = KeptTables(lambda axes: marginal_table(self.array, axes), self.universe.size)
        self.array = np.zeros(self.universe.shape)
        public = () if isinstance(mechanism.neighbours, Replace) and () not in layout.sets else None
        for kept in layout.sets if public is None else (public, *layout.sets):
            self.array += self._spread(kept, np.array(tables.table(kept)))

    @property
    def _axes(self) -> range:
        return range(len(self.universe.shape))

    def _spread(self, kept: tuple[int, ...], table: Floats) -> Floats:
        """Return the residual of a table, shared out evenly over the other attributes."""
        for axis in range(table.ndim):
            table -= table.mean(axis=axis, keepdims=True)
        narrow = [self.universe.shape[axis] if axis in kept else 1 for axis in self._axes]
        return table.reshape(narrow) / (self.universe.size / math.prod(narrow))

    def estimate(self, question: Question) -> float:
        """Return the estimate of a box in units of the grid."""
        return float(np.vdot(self._tables[question.axes], question.units))

    def noise(self, boxes: Boxes) -> Floats:
        """Bound the noise of the estimates of some boxes, all boxes at once; infinite where not measured.

        Time: that of the distinct kinds of boxes, and O(1) a predicate.

        A box with s of n codes has squared residual s - s^2 / n along an attribute, and mean s / n. The
        discrete Gaussian is sub-Gaussian with its own variance, so a union over both signs of all boxes over
        a set of attributes, intervals and others apart, gives the factor on the standard deviation.
        """
        kinds = np.column_stack([boxes.sizes, boxes.runs])
        distinct, which = np.unique(kinds, axis=0, return_inverse=True)
        bound = self._bound(distinct[:, :-1].astype(np.float64), distinct[:, -1] > 0)[which.ravel()]
        # The last entry is that of predicates that are no boxes.
        return np.append(bound, np.inf)[boxes.kinds]

    def _bound(self, sizes: Floats, runs: Bools) -> Floats:
        shape = np.array(self.universe.shape, dtype=np.float64)
        inner, mean = sizes - sizes**2 / shape, (sizes / shape) ** 2
        used = sizes < shape
        variance, covered = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.bool_)
        for start in range(0, len(sizes), _BLOCK):
            part = slice(start, start + _BLOCK)
            parts = np.where(self._residuals, inner[part, None], mean[part, None]).prod(axis=2)
            variance[part] = parts @ self._variances
            covered[part] = (~(used[part, None] & ~self._sets).any(axis=2)).any(axis=1)
        intervals, sets = np.log(shape * (shape + 1) / 2), shape * math.log(2)
        odds = self._odds + (used * np.where(runs[:, None], intervals, sets)).sum(axis=1)
        return np.where(covered, np.sqrt(2 * odds * np.maximum(variance, 0.0)) * (1 + 1e-9), np.inf)


def add_errors(off: Any, noise: Any, scale: int) -> Any:
    """Return how far a hypothesis may be off, in units: from the estimate, and that from the truth.

    Rounded up to 1 / 1024 of a unit, far beyond the last digits: these depend on where numbers lie in
    memory, and the same question has the same answer.
    """
    return np.ceil((off + noise * scale) * 1024) / 1024


def known_by(start: WorkloadRelease | None, synopsis: Any, *, beta: float) -> Known | None:
    """Return what a warm start knows about boxes, if it measured marginal tables."""
    if isinstance(start, ResidualMarginals) and isinstance(synopsis, MarginalTables):
        return Known(start, synopsis, beta=beta)
    return None


def all_marginals(universe: Universe, order: int) -> tuple[list[tuple[str, ...]], list[Fraction]]:
    """Return every set of one to `order` attributes, and weights that make each order count the same.

    Tables of many cells, and there are many of them, would otherwise outweigh the few small ones.
    """
    most, sets, weights = len(universe.names), [], []
    for size in range(1, min(order, most) + 1):
        for chosen in itertools.combinations(universe.names, size):
            cells = math.prod(universe.attribute(name).size for name in chosen)
            sets.append(chosen)
            weights.append(Fraction(1, cells * math.comb(most, size)))
    return sets, weights


def fit_weights(tables: MarginalTables, *, flatness: float) -> Floats:
    """Return positive weights with the estimated total that fit every estimated table and its subsets.

    The weights maximise entropy minus squared misfits over their variances: exponentials of sums of one table
    a set of attributes. Those are found by quasi-Newton steps on the dual, which is smooth and convex.
    """
    universe, total = tables.universe, max(tables.total, 1.0)
    names = universe.names
    workload = Marginals(universe, [[names[axis] for axis in axes] for axes in tables.layout.sets])
    wanted = tables.answers(workload)
    deviations = [tables.standard_errors([names[axis] for axis in axes]) for axes in tables.layout.sets]
    spread = np.maximum(np.concatenate([np.ravel(each) for each in deviations]), 0.5)

    def weights(dual: Floats) -> tuple[Floats, float]:
        return normalise(workload.adjoint(dual / spread), total)

    def objective(dual: Floats) -> tuple[float, Floats]:
        found, log_mass = weights(dual)
        misfit = (workload.answers(found) - wanted) / spread
        value = total * log_mass - float(dual @ (wanted / spread)) + flatness / 2 * float(dual @ dual)
        return value, misfit + flatness * dual

    best = minimise(objective, np.zeros(len(workload)), iterations=STEPS, still=1e-9)
    return (1 - UNIFORM) * weights(best)[0] + UNIFORM * total / universe.size
