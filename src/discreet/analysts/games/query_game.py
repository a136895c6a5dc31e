"""Offline, one query to many: a synopsis for all analysts that hides each single query from the others."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.analysts.games.bregman_choice import CappedChoice, Sides, Standing
from discreet.analysts.games.calibration import GameSizes
from discreet.analysts.games.play import SampledGame
from discreet.analysts.promises import OneQueryToMany, QueriesAndData
from discreet.analysts.tiny import BUDGET, COIN, COINS, TWO, example_data, tiny_data
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import Replace
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


def _tiny() -> Iterator[Tiny]:
    short = QueryGame(
        universe=COIN,
        caps=TWO,
        rows=2,
        epsilon=8,
        delta=0.01,
        analyst_epsilon=6,
        analyst_delta=0.01,
        rounds=3,
        density=2,
        neighbours=Replace("row"),
    )
    yield Tiny(short, tiny_data(COINS, 2), tight=False)


def _example() -> tuple[QueryGame, QueriesAndData]:
    asked = example_data()
    given = {"universe": asked.book.universe, "caps": asked.book.caps, **BUDGET}
    game = QueryGame(rows=2000, analyst_epsilon=1, analyst_delta=1e-6, rounds=200, density=96, **given)
    return game, asked


CARD = Card(
    title="One synopsis for many analysts that hides each query from the others",
    theorem="(epsilon, delta) for one row, and for one query towards all other analysts together",
    reference="[HRU13] Algorithm 3, corrected",
    example=_example,
    tiny=_tiny,
)
