"""Offline, one analyst to many: a synopsis for all analysts that hides everything each of them asks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.analysts.games.bregman_choice import CappedChoice, Standing, Teams
from discreet.analysts.games.calibration import GameSizes
from discreet.analysts.games.play import SampledGame, example_game, tiny_games
from discreet.analysts.promises import OneAnalystToMany
from discreet.core.card import Card
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.noise.selection import ExponentialChoice


@frozen
class AnalystGame(SampledGame):
    """Publish one synopsis for the queries of many analysts; all that one of them asks stays hidden.

    Privacy: (epsilon, delta) for one row, by zCDP over two draws a round; and for all queries of one
    analyst (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 4, corrected.
    Accuracy: all but `density` analysts have no answer that is off by more than error(beta) rows.
    Time: O(rounds * (cells + places)).

    Parameters
    ----------
    universe, caps, rows, epsilon, delta, rounds, leftovers, neighbours
        As in `QueryGame`.
    analyst_epsilon, analyst_delta
        The budget for everything one analyst asks, towards all others together.
    density
        How many analysts must share the query player's attention: below the cap on their number.
    """

    promise = OneAnalystToMany()

    @property
    def field(self) -> GameSizes:
        """All sides of all places of an analyst are one group."""
        return GameSizes(
            rows=self.rows,
            cells=self.universe.size,
            groups=self.caps.analysts,
            members=2 * self.caps.queries,
            changed=1,
            draws=2,
        )

    def _start(self) -> Standing:
        return Teams(np.zeros((self.caps.analysts, self.caps.queries), dtype=np.int64))

    def _pick(self, standing: Standing, rate: Fraction, before: int, rng: Rng) -> int:
        """Draw an analyst from the capped weights of all, then one of their queries or complements."""
        moved = Fraction(2 * before)
        analyst = rng.perform(CappedChoice(rate, self.density, sensitivity=moved), standing)
        side = rng.perform(ExponentialChoice(rate, sensitivity=moved), np.array(standing.members(analyst)))
        complement, place = divmod(side, self.caps.queries)
        return complement * self.caps.places + analyst * self.caps.queries + place


CARD = Card(
    title="One synopsis for many analysts that hides all that each of them asks",
    theorem="(epsilon, delta) for one row, and for one analyst towards all others together",
    reference="[HRU13] Algorithm 4, corrected",
    example=lambda: example_game(AnalystGame, density=2),
    tiny=lambda: tiny_games(AnalystGame, density=1),
)
