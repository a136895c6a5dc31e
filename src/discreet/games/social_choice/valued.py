"""What games share in which everybody says what each outcome is worth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.fixed import Integers
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.games.common.game import Game, Money, Outcome
from discreet.games.common.utilities import read_unit, read_utilities
from discreet.mechanisms.reading import read_names


@frozen
class Valued(Game):
    """Rows of utilities between 0 and 1 come in; one of the outcomes comes out, and payments."""

    outcomes: Public[Sequence[Hashable], tuple[Hashable, ...]] = public(read_names)
    epsilon: Exact = public(checks.positive)
    grid: Exact = public(read_unit)

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what the outcome is worth for who values the outcomes so, less the payment."""
        worth = read_utilities([kind], len(self.outcomes), self.grid)[0]
        units = int(worth[self.outcomes.index(outcome.decision)])
        return units * self.grid - outcome.payments[player]

    def _read(self, data: Any) -> Integers:
        return read_utilities(data, len(self.outcomes), self.grid)
