"""Offline, one query to many: a synopsis for all analysts that hides each single query from the others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.analysts.games.bregman_choice import CappedChoice, Sides, Standing
from discreet.analysts.games.calibration import GameSizes
from discreet.analysts.games.play import SampledGame, example_game, tiny_games
from discreet.analysts.promises import OneQueryToMany
from discreet.core.card import Card
from discreet.core.parameters import frozen
from discreet.core.rng import Rng


@frozen
class QueryGame(SampledGame):
    """Publish one synopsis for the queries of many analysts; each query stays hidden from the other analysts.

    Privacy: (epsilon, delta) for one row, by zCDP over the query player's draws; and for one query of one
    analyst (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 3, corrected.
    Accuracy: all but `density` sides of queries are off by at most error(beta) rows.
    Time: O(rounds * (cells + places)).

    Parameters
    ----------
    universe
        What all queries are over.
    caps
        The public limits of the query book. Nothing depends on how much of it is used.
    rows
        The public number of rows.
    epsilon, delta
        The budget for the people in the data.
    analyst_epsilon, analyst_delta
        The budget for each query, towards all other analysts together.
    rounds, density
        How many cells are drawn, and how many sides of queries must share the query player's attention;
        balanced by the public quantities where left out.
    leftovers
        For how many badly answered queries each analyst gets private answers. The others see none of it.
    neighbours
        The change of the data that is hidden: `Replace`.
    """

    promise = OneQueryToMany()

    @property
    def field(self) -> GameSizes:
        """Each side of each place is a group of its own; one query has two sides."""
        return GameSizes(
            rows=self.rows,
            cells=self.universe.size,
            groups=2 * self.caps.places,
            members=1,
            changed=2,
            draws=1,
        )

    def _start(self) -> Standing:
        return Sides(np.zeros(self.caps.places, dtype=np.int64))

    def _pick(self, standing: Standing, rate: Fraction, before: int, rng: Rng) -> int:
        # Each of the earlier rounds moved a query's score by one at most, and its complement's back.
        step = CappedChoice(rate, self.density, sensitivity=Fraction(2 * before))
        return rng.perform(step, standing)


CARD = Card(
    title="One synopsis for many analysts that hides each query from the others",
    theorem="(epsilon, delta) for one row, and for one query towards all other analysts together",
    reference="[HRU13] Algorithm 3, corrected",
    example=lambda: example_game(QueryGame, density=96),
    tiny=lambda: tiny_games(QueryGame, density=2),
)
