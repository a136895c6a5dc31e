"""What a warm start knows: where the hypothesis begins, and which questions need no gate.

A question about attributes that were measured together has an unbiased estimate whose noise is known. Its
distance from what the hypothesis says, plus a bound on that noise that holds for *all* boxes at once, bounds
the error of the hypothesis by public numbers. Where that is small enough, no test on the data is needed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.errors import Refused
from discreet.core.fixed import Array, Bools, Floats
from discreet.core.neighbours import Replace
from discreet.core.rounding import up
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.fitting.weights import Hypothesis, KeptTables, marginal_table
from discreet.query_release.linear.independent import NoisyAnswers
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.boxes import Boxes
from discreet.query_release.online.lives import Journal
from discreet.query_release.online.misfit import centre_table, estimate_misfit
from discreet.query_release.online.one_box import OneBox
from discreet.query_release.online.own_errors import VERSION, OwnErrors, learn_own_errors
from discreet.query_release.online.questions import Question
from discreet.query_release.online.table_weights import CLOSE, FLAT, UNIFORM, fit_weights
from discreet.query_release.online.written_errors import read_own_errors, write_own_errors
from discreet.query_release.synopses.marginal_tables import MarginalTables
from discreet.query_release.synopses.synopsis import Synopsis, Weights

_BLOCK = 1024  # boxes looked at together
_ROOM = 1 << 18  # cells of tables that are made beforehand; more of them where the universe is larger
_TRIPLES = 3  # attributes: what they depend on together, and two of them, tells about more


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
        self._measured = mechanism, tables
        self.array = self._estimates(tables)
        _ = self._kept

    @property
    def _axes(self) -> range:
        return range(len(self.universe.shape))

    def _estimates(self, tables: MarginalTables) -> Floats:
        """Return numbers over the universe whose sums over boxes are what tables estimate."""
        mechanism, _ = self._measured
        sets, array = mechanism.layout.sets, np.zeros(self.universe.shape)
        if isinstance(mechanism.neighbours, Replace) and () not in sets:
            sets = ((), *sets)  # the number of rows, which is public
        for kept in sets:
            narrow = [self.universe.shape[axis] if axis in kept else 1 for axis in self._axes]
            table = centre_table(tables.table(kept)).reshape(narrow)
            array += table / (self.universe.size / math.prod(narrow))
        return array

    def estimate(self, question: Question) -> float:
        """Return the estimate of a box in units of the grid."""
        return float(np.vdot(self._tables[question.axes], question.units))

    def look_at(self, box: OneBox) -> tuple[float, float, float, float] | None:
        """Return what is known of one box: the answer, the estimate, its deviation, and a bound on its noise.

        As `spreads` and sums over all boxes at once give them; None where no measured table tells it.
        """
        tables = self._kept.get(box.axes)
        if tables is None:
            return None
        deviation = float(self._deviations(box.sizes)[0])
        bound = deviation * float(self._factors(box.sizes, box.runs)[0]) * (1 + 1e-9)
        said, estimate = (box.add_up(table) for table in tables)
        return said, estimate, deviation, bound

    @cached_property
    def _kept(self) -> dict[Axes, tuple[Array, Array]]:
        """Tables of weights and estimates over attributes that were measured together, while there is room.

        All are made at once, so that no question takes longer or shorter for another one.
        """
        kept: dict[Axes, tuple[Array, Array]] = {}
        room = max(_ROOM, self.universe.size)
        known = (tuple(np.flatnonzero(row).tolist()) for row in self._sets)
        subsets = {
            part
            for one in known
            for size in range(len(one) + 1)
            for part in itertools.combinations(one, size)
        }
        for axes in sorted(subsets, key=lambda axes: (len(axes), axes)):
            room -= math.prod(self.universe.shape[axis] for axis in axes)
            if room < 0:
                break
            kept[axes] = marginal_table(self.weights.array, axes), marginal_table(self.array, axes)
        return kept

    def noise(self, boxes: Boxes) -> Floats:
        """Bound the noise of the estimates of some boxes, all boxes at once; infinite where not measured.

        Time: that of the distinct kinds of boxes, and O(1) a predicate.

        A box with s of n codes has squared residual s - s^2 / n along an attribute, and mean s / n. The
        discrete Gaussian is sub-Gaussian with its own variance, so a union over both signs of all boxes over
        a set of attributes, intervals and others apart, gives the factor on the standard deviation.
        """
        return self.spreads(boxes)[1]

    def deviations(self, boxes: Boxes) -> Floats:
        """Return the standard deviations of the estimates of some boxes; infinite where not measured."""
        return self.spreads(boxes)[0]

    def own_errors(self, said: Floats, deviations: Floats) -> Floats:
        """Return how far answers may be off, each by itself at 95 %, in rows: calibrated, not proved.

        Rounded up as `add_errors` does, for the same reason.
        """
        return np.asarray(np.ceil(self.own.half_widths(said, deviations) * 1024) / 1024)

    @cached_property
    def own(self) -> OwnErrors:
        """What answers' own errors depend on, learnt from the first time on that it is asked for."""
        mechanism, tables = self._measured
        sets = mechanism.layout.sets
        misfit = 0.0
        if len(self.universe.shape) > max(len(known) for known in tables.sets) >= _TRIPLES:
            misfit = estimate_misfit(tables, dict(zip(sets, self._variances.tolist(), strict=True)))
        return learn_own_errors(
            mechanism,
            self.weights.array,
            self.array,
            estimate=self._estimates,
            deviate=self.deviations,
            misfit=misfit,
        )

    def recall(self, notes: Journal) -> None:
        """Take what was learnt in an earlier life about the same tables, or learn it and write it down."""
        mechanism, tables = self._measured
        seen = (VERSION, repr(mechanism), tables.noisy.tolist(), tables.rows)
        about = hashlib.sha256(repr(seen).encode()).hexdigest()
        for note in notes.read():
            own = read_own_errors(note, about)
            if own is not None:
                self.own = own
                return
        notes.append(write_own_errors(self.own, about))

    def spreads(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return `deviations` and `noise` of some boxes."""
        kinds = np.column_stack([boxes.sizes, boxes.runs])
        distinct, which = np.unique(kinds, axis=0, return_inverse=True)
        sizes, runs = distinct[:, :-1].astype(np.float64), distinct[:, -1] > 0
        found = self._deviations(sizes)
        bound = found * self._factors(sizes, runs) * (1 + 1e-9)
        # The last entry is that of predicates that are no boxes.
        places = np.append(which.ravel(), len(distinct))[boxes.kinds]
        return np.append(found, np.inf)[places], np.append(bound, np.inf)[places]

    def _deviations(self, sizes: Floats) -> Floats:
        shape = np.array(self.universe.shape, dtype=np.float64)
        inner, mean = sizes - sizes**2 / shape, (sizes / shape) ** 2
        used = sizes < shape
        variance, covered = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.bool_)
        for start in range(0, len(sizes), _BLOCK):
            part = slice(start, start + _BLOCK)
            parts = np.where(self._residuals, inner[part, None], mean[part, None]).prod(axis=2)
            variance[part] = parts @ self._variances
            covered[part] = (~(used[part, None] & ~self._sets).any(axis=2)).any(axis=1)
        return np.where(covered, np.sqrt(np.maximum(variance, 0.0)), np.inf)

    def _factors(self, sizes: Floats, runs: Bools) -> Floats:
        """Return how many standard deviations hold for all boxes at once."""
        shape = np.array(self.universe.shape, dtype=np.float64)
        intervals, sets = np.log(shape * (shape + 1) / 2), shape * math.log(2)
        used = sizes < shape
        odds = self._odds + (used * np.where(runs[:, None], intervals, sets)).sum(axis=1)
        return np.asarray(np.sqrt(2 * odds))


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
