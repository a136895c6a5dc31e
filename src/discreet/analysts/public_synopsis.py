"""One synopsis of a public workload for everybody: what analysts ask is not even read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.analysts.apart import Apart, FittedWeights
from discreet.analysts.promises import Delivery, QueriesAndData
from discreet.analysts.tiny import BUDGET, COIN, COINS, LOUD, TWO, example_data, tiny_data
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.loss import Loss
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.base import write_as
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.joint_noise import variance
from discreet.query_release.linear.residual_marginals import FINENESS, ResidualMarginals
from discreet.query_release.online.warm_start import all_marginals


@frozen
class PublicSynopsis(Apart):
    """Publish a synopsis of a public workload once; everybody answers whatever they like from it.

    The table over all attributes is measured cell by cell; other tables by `ResidualMarginals`.

    Privacy: (epsilon, delta) for one row; nothing at all between analysts, whose questions are not read.
    Accuracy: measured_error(beta) for the noise of all cells of the public tables at once. Answers are those
    of weights fitted to them: error(beta) is known for one table and a public number of rows only.
    Time: that of `ResidualMarginals`, and one fit of a weight per cell; O(cells) for the one table.

    Parameters
    ----------
    workload
        The public marginal tables.
    caps
        The public limits of the query book.
    epsilon, delta
        The budget for the people in the data; delta above 0.
    neighbours
        The change of the data that is hidden.
    fineness
        As in `ResidualMarginals`; only audits want it coarse.
    """

    workload: Marginals = public(write_as, Marginals)
    delta: Exact = public(checks.probability)
    fineness: int = public(checks.integer, 1, default=FINENESS)
    universe: Universe = derived()
    tables: ResidualMarginals | Independent = derived()

    def _complete(self) -> None:
        tables, universe = self.workload, self.workload.universe
        universe.require_dense()
        given: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours}
        self._set(universe=universe)
        if tables.sets == (universe.axes(universe.names),):
            self._set(tables=Independent(workload=tables, **given))
            return
        weights = [Fraction(1, math.prod(universe.shape[a] for a in axes)) for axes in tables.sets]
        noisy = ResidualMarginals(workload=tables, weights=weights, fineness=self.fineness, **given)
        self._set(tables=noisy)

    @property
    def deviation(self) -> float:
        """The largest standard deviation of a cell of the public tables, rounded up."""
        if isinstance(self.tables, Independent):
            return math.sqrt(variance(self.tables.noise))
        names = self.universe.names
        sets = [[names[axis] for axis in axes] for axes in self.workload.sets]
        return max(self.tables.deviation(each) for each in sets)

    @property
    def loss(self) -> Loss:
        """That of the measured tables."""
        return self.tables.loss

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of all cells of the one public table, where the rows are counted.

        The nearest weights that add up to the rows are the noisy cells less one number, or zero. If no noise
        exceeds t that number is between -t and t, or the sum would be too small or too large.

        Raises
        ------
        NoBound
            Where weights are fitted to several tables, or the number of rows is noisy too.
        """
        bound = self.measured_error(beta)
        if isinstance(self.tables, Independent) and isinstance(self.neighbours, Replace):
            return 2 * bound
        raise NoBound(
            what="the answers of weights that are fitted to noisy tables",
            why="how far they are from the tables depends on the data and the noise",
            way_out="Use PrivateAnswers, whose bound is exact; measured_error is about the tables themselves",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Bound the largest noise of all cells of the public tables, but for a probability beta."""
        return self.tables.error(beta)

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        asked = self._check(data)
        tables = self.tables.release(asked.histogram, rng=rng).value
        rows = asked.histogram.total if isinstance(self.neighbours, Replace) else None
        shared = FittedWeights(tables, rows=rows, close=True)
        return Delivery(shared, tuple((name, ()) for name in asked.book.names))


@lru_cache(maxsize=1)
def _pairs(universe: Universe) -> Marginals:
    return Marginals(universe, all_marginals(universe, 2)[0])


def _example() -> tuple[PublicSynopsis, QueriesAndData]:
    asked = example_data()
    return PublicSynopsis(workload=_pairs(asked.book.universe), caps=asked.book.caps, **BUDGET), asked


def _tiny() -> Iterator[Tiny]:
    for sets in ([["x"]], [["x"], []]):
        mechanism = PublicSynopsis(workload=Marginals(COIN, sets), caps=TWO, **LOUD, fineness=1)
        yield Tiny(mechanism, tiny_data(COINS, 2))


CARD = Card(
    title="One synopsis of a public workload for all analysts, who learn nothing of each other",
    theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
    reference="[HRU13] Section 1; [XHZK23]",
    example=_example,
    tiny=_tiny,
)
