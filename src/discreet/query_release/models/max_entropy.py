"""Release by the most plausible table: measure the marginals once, fit a whole universe to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound, Refused
from discreet.core.fixed import Array
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Rng
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Tabled
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.fitting.entropy_fit import LogLinear, NoisyTables, total_of
from discreet.query_release.linear.joint_noise import Joint, smallest_noise, variance
from discreet.query_release.synopses.synopsis import WeightsLater
from discreet.query_release.tiny import list_pairs


class MaxEntropyWeights(WeightsLater):
    """Weights over a universe, fitted to noisy marginal tables when they are first asked for.

    Attributes
    ----------
    measured
        The tables that were measured.
    values
        The released numbers, cell by cell.
    """

    def __init__(self, measured: Marginals, values: Array, *, variance: float, rows: int | None) -> None:
        self.universe, self.measured = measured.universe, measured
        self.values, self._variance, self._rows = values, variance, rows
        self.transcript = (values.tobytes(), rows)

    def _compute(self) -> Array:
        total = total_of(self.measured, self.values) if self._rows is None else max(1, self._rows)
        noisy = NoisyTables(self.values.astype(np.float64), self._variance, float(total))
        return LogLinear(self.measured).fit(noisy)

    @property
    def departure(self) -> float:
        """The largest distance of a measured number from what the weights say.

        Where all noises are within measured_error(beta), every measured table is within this much more.
        """
        return float(np.abs(self.answers(self.measured) - self.values).max())


@frozen
class MaxEntropy(WorkloadRelease):
    """Measure every marginal table that the workload needs, and fit a weight for each cell of the universe.

    Privacy: (epsilon, delta), that of one joint measurement with the smaller of Laplace and Gaussian noise.
    [DR14] Theorem 3.6, [BW18] Theorem 8. The fit looks at released numbers only.
    Accuracy: measured_error(beta) bounds the noise of all measured counts, which the synopsis keeps. For the
    fitted answers there is no theorem, so no error(beta); they are at most `synopsis.departure` further off,
    and on real tables several times closer.
    Time: some thousand times the tables of a universe and their adjoint, when the first answer is asked for.

    Parameters
    ----------
    workload
        Queries over tables: marginals, conjunctions, ranges, or a list of queries over few attributes each.
    epsilon, delta, neighbours
        As in `Independent`.

    Examples
    --------
    >>> universe = Universe([("age", range(10)), ("smoker", (False, True)), ("sex", ("f", "m"))])
    >>> pairs = Marginals.of_order(universe, 2)
    >>> MaxEntropy(workload=pairs, epsilon=1, delta=1e-6, neighbours=AddRemove("person")).measured_error(0.05)
    20.0
    """

    noise: Joint = derived()

    def _complete(self) -> None:
        self.workload.universe.require_dense()
        if not isinstance(self.workload, Tabled):
            raise Refused(
                what=f"a workload of {type(self.workload).__name__}",
                why="its queries are not about tables of a few attributes",
                way_out="Release it with MWEM, or release the marginals and ask the synopsis",
            )
        measured, neighbours = self.measured, self.neighbours
        noise = smallest_noise(
            shift=max(1, math.floor(measured.sensitivity(neighbours, norm=1))),
            square=max(1, math.floor(measured.square_sensitivity(neighbours))) if self.delta else 1,
            size=len(measured),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=neighbours,
            judge=variance,  # the fit averages many of them
        )
        self._set(noise=noise)

    @property
    def measured(self) -> Marginals:
        """The tables that are measured: those that no other table of the workload contains."""
        return widest_tables(self.workload)

    @property
    def loss(self) -> Loss:
        """The loss of the measurement; counts that each move by one lose least."""
        if isinstance(self.noise, Laplace):
            return Composed(((DiscreteLaplaceLoss(1, self.noise.scale), self.noise.shift),))
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Refuse: how far the fitted answers are from the measured ones depends on the data and the noise."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the fitted answers",
            why="how far they are from the measured counts is known after the fit only",
            way_out="Add the synopsis' departure to measured_error, or see standard_errors for an estimate",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest noise on a measured count."""
        return self.noise.error(beta)

    def _draw(self, data: Any, rng: Rng) -> MaxEntropyWeights:
        histogram = self._histogram(data)
        values = self.noise.release(self.measured.answers(histogram), rng=rng).value
        rows = histogram.total if isinstance(self.neighbours, Replace) else None
        return MaxEntropyWeights(self.measured, values, variance=variance(self.noise), rows=rows)


@lru_cache(maxsize=256)
def widest_tables(workload: Tabled) -> Marginals:
    """Return the tables of a workload that are not part of another one."""
    wide = [axes for axes in workload.sets if not any(set(axes) < set(other) for other in workload.sets)]
    names = workload.universe.names
    return Marginals(workload.universe, [[names[axis] for axis in axes] for axes in wide])


_PEOPLE = Universe([("sex", ("f", "m")), ("age", tuple(range(20, 70, 5))), ("smoker", (False, True))])
_EXAMPLE = Marginals.of_order(_PEOPLE, 2)
_PAIR = Universe([("a", (0, 1))])
_EACH = Marginals(_PAIR, [["a"], []])


def _example() -> tuple[MaxEntropy, Histogram]:
    mechanism = MaxEntropy(workload=_EXAMPLE, epsilon=1, delta=1e-9, neighbours=AddRemove("person"))
    return mechanism, Histogram.dense(_PEOPLE, np.arange(40) * 7)


def _tiny() -> Iterator[Tiny]:
    for epsilon, delta, neighbours, rows in (
        (4, Fraction(0), AddRemove("row"), 2),
        (6, Fraction(0), Replace("row"), 2),
        (3, Fraction(1, 100), AddRemove("row"), 1),
    ):
        mechanism = MaxEntropy(workload=_EACH, epsilon=epsilon, delta=delta, neighbours=neighbours)
        yield Tiny(mechanism, list_pairs(_PAIR, neighbours, rows))


CARD = Card(
    title="Noisy marginals and the most plausible table that explains them",
    theorem="(epsilon, delta)-differential privacy; error the exact quantile of the largest measured noise",
    reference="[DR14] Theorems 3.6 and 3.22; [BW18] Theorem 8",
    example=_example,
    tiny=_tiny,
)
