"""Mechanisms that keep analysts apart altogether: what they share, and a synopsis that answers anything."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from discreet.analysts.promises import NOTHING, Leftover, ManyAnalysts, OneAnalystToMany
from discreet.core.errors import Refused
from discreet.core.fixed import Array
from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.base import require_rows
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.linear.independent import NoisyAnswers
from discreet.query_release.linear.joint_noise import Joint, smallest_noise
from discreet.query_release.online.table_weights import CLOSE, fit_weights
from discreet.query_release.online.warm_start import starting_weights
from discreet.query_release.synopses.marginal_tables import MarginalTables
from discreet.query_release.synopses.synopsis import Synopsis, WeightsLater


@frozen
class Apart(ManyAnalysts):
    """Public parameters of a mechanism that keeps analysts apart, and what follows from them."""

    promise = OneAnalystToMany()
    neighbours: Neighbours = public(require_rows)

    @property
    def analyst_loss(self) -> Loss:
        """Nothing: the others' view does not depend on what one analyst asks."""
        return NOTHING

    def _smallest_noise(self, steps: int) -> Joint:
        """Return the noise for as many numbers as the caps allow, each of which a row moves by some steps."""
        places = self.caps.places
        return smallest_noise(
            shift=places * steps,
            square=places * steps**2,
            size=places,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
        )


class Nothing(Synopsis):
    """What analysts share where they share nothing."""

    def __init__(self, universe: Universe) -> None:
        self.universe, self.transcript = universe, ()

    def answers(self, workload: Workload) -> NoReturn:
        """Refuse: there is nothing to answer from."""
        raise self._refuse()

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> NoReturn:
        """Refuse: there is nothing to make rows from."""
        raise self._refuse()

    @property
    def total(self) -> NoReturn:
        """Refuse: nothing was counted for all."""
        raise self._refuse()

    def _refuse(self) -> Refused:
        return Refused(
            what="an answer for all analysts",
            why="each of them receives her own answers only",
            way_out="Look at the delivery's answers to one analyst",
        )

    def __repr__(self) -> str:
        return "<nothing shared>"


def leftovers(places: Array, counts: Array) -> tuple[Leftover, ...]:
    """Return the private answers of one analyst."""
    return tuple(map(Leftover, places.tolist(), counts.astype(np.float64).tolist()))


class FittedWeights(WeightsLater):
    """Weights that fit measured tables, so that queries about anything else have an answer too.

    Parameters
    ----------
    tables
        What was measured: marginal tables, or the one table over all attributes cell by cell.
    rows
        The public number of rows, if there is one.
    close
        Whether the measured tables are what will be asked for: they are then fitted closely, at the cost of
        other questions.
    """

    def __init__(self, tables: Synopsis, *, rows: int | None = None, close: bool = False) -> None:
        self.universe, self.transcript, self._tables = tables.universe, tables.transcript, tables
        self._rows, self._close = rows, close

    def _compute(self) -> Any:
        tables, names = self._tables, self.universe.names
        if isinstance(tables, NoisyAnswers):  # nothing to fit: it is one table
            total = tables.total if self._rows is None else self._rows
            return onto_simplex(tables.marginal(names), max(total, 0.0))
        if isinstance(tables, MarginalTables) and any(len(axes) == len(names) for axes in tables.sets):
            return tables.nonnegative(names)
        if isinstance(tables, MarginalTables) and self._close:
            return fit_weights(tables, flatness=CLOSE)
        return starting_weights(tables)
