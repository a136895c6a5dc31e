"""Mechanisms that keep analysts apart altogether: what they share, and a synopsis that answers anything."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.analysts.promises import NOTHING, Asked, ManyAnalysts, OneAnalystToMany, read_asked
from discreet.analysts.query_book import Caps
from discreet.core import checks
from discreet.core.loss import ApproxLoss, Loss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.queries.universe import Universe
from discreet.release.base import about_rows
from discreet.release.synopsis import Synopsis, Weights
from discreet.release.tables import MarginalTables
from discreet.release.warm_start import starting_weights
from discreet.release.weights_later import WeightsLater


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Apart(ManyAnalysts):
    """Public parameters of a mechanism that keeps analysts apart, and what follows from them."""

    universe: Universe
    caps: Caps
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    promise = OneAnalystToMany()

    def _set_public(
        self,
        *,
        universe: Universe,
        caps: Caps,
        epsilon: checks.Number,
        delta: checks.Number,
        neighbours: Neighbours,
    ) -> None:
        self._set(
            universe=checks.instance(Universe, universe=universe),
            caps=checks.instance(Caps, caps=caps),
            epsilon=checks.positive(epsilon=epsilon),
            delta=checks.delta(delta=delta),
            neighbours=about_rows(neighbours),
        )

    @property
    def analyst_loss(self) -> Loss:
        """Nothing: the others' view does not depend on what one analyst asks."""
        return NOTHING

    @property
    def bought(self) -> Loss:
        """The pair the mechanism was built for; `loss` is the whole curve."""
        return PureLoss(self.epsilon) if self.delta == 0 else ApproxLoss(self.epsilon, self.delta)

    @property
    def words(self) -> str:
        """The pair in words."""
        pair = f"epsilon {float(self.epsilon):.6g} at delta {float(self.delta):.6g}"
        return f"{pair} for {self.neighbours}"

    def _check(self, data: Any) -> Asked:
        return read_asked(data, self.universe, self.caps, neighbours=self.neighbours)

    def _nothing_shared(self) -> Weights:
        return Weights(self.universe, np.zeros(self.universe.shape), transcript=())


class Fitted(WeightsLater):
    """Weights that fit measured tables, so that queries about anything else have an answer too."""

    def __init__(self, tables: Synopsis) -> None:
        self.universe, self.transcript, self._tables = tables.universe, tables.transcript, tables

    def _compute(self) -> Any:
        tables, names = self._tables, self.universe.names
        if isinstance(tables, MarginalTables) and any(len(axes) == len(names) for axes in tables.sets):
            return tables.nonnegative(names)  # nothing to fit: it is one table
        return starting_weights(tables)
